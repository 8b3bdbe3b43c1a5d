//! Finished tasks leave the board, and tasks that depend on them are not affected.

use crate::board::call::Archived;
use crate::board::refusal::Code;
use crate::board::rules::{ArchiveTasks, MarkProcessed, dependency_met};
use crate::board::task::Status;
use crate::board::testing::*;
use crate::board::{TaskId, World};

fn archive(names: &[&str]) -> ArchiveTasks {
    ArchiveTasks { tasks: names.iter().map(|name| id(name)).collect() }
}

#[test]
fn only_planner_or_person_archives_finished() {
    let mut bench = Bench::with_tasks(&["done", "dropped", "open"]);
    bench.approved("coder-1", "done");
    assert_eq!(bench.refused("human", archive(&["done"])), Code::Transition);
    bench.merge("done");
    let abandon = bench.abandon("dropped");
    bench.ok("planner-1", abandon);
    for agent in ["coder-1", "reviewer-1", "overseer-1"] {
        assert_eq!(bench.refused(agent, archive(&["done"])), Code::Role);
    }
    assert_eq!(bench.refused("human", archive(&["done", "open"])), Code::Transition);
    assert_eq!(bench.refused("human", archive(&["done", "never"])), Code::UnknownTask);
    let outcome = bench.ok("planner-1", archive(&["done", "dropped"]));
    assert_eq!(outcome["archived"], serde_json::json!(["done", "dropped"]));
    assert_eq!(bench.board.tasks.len(), 1);
    assert_eq!(bench.board.rest.archived, 2);
}

#[test]
fn replaced_task_waits_for_its_replacements() {
    let mut bench = Bench::with_tasks(&["old", "newer", "newest"]);
    for (name, by) in [("old", "newer"), ("newer", "newest")] {
        let replace = bench.replace(name, by);
        bench.ok("planner-1", replace);
    }
    // The chain goes through a replacement that is itself superseded.
    assert_eq!(bench.refused("human", archive(&["old"])), Code::StillNeeded);
    assert_eq!(bench.refused("human", archive(&["newer"])), Code::StillNeeded);
    let abandon = bench.abandon("newest");
    bench.ok("planner-1", abandon);
    bench.ok("human", archive(&["newer"]));
    bench.ok("human", archive(&["old", "newest"]));
}

#[test]
fn archived_record_numbers_are_not_reused() {
    let mut bench = Bench::with_tasks(&["t1"]);
    for text in ["one", "two", "three"] {
        let note = bench.note(text);
        bench.ok("human", note);
    }
    let mark = |ids: &[&str]| MarkProcessed { ids: ids.iter().map(|id| (*id).to_owned()).collect() };
    bench.ok("planner-1", mark(&["note-1", "note-3"]));
    let outcome = bench.ok("human", archive(&[]));
    assert_eq!(outcome["records"], 1);
    let left: Vec<&str> = bench.board.rest.human_notes.iter().map(|note| note.id.as_str()).collect();
    assert_eq!(left, ["note-2", "note-3"], "the last one keeps its number from being given twice");
    let note = bench.note("four");
    assert_eq!(bench.ok("human", note)["id"], "note-4");
    bench.ok("human", archive(&[]));
    assert_eq!(bench.board.rest.human_notes.len(), 2);
}

#[test]
fn replacement_chains_end_and_cycles_do_not() {
    let bench = Bench::empty();
    let mut world = World::default();
    let mut know = |name: &str, status: Status, by: &[&str]| {
        let superseded_by: Vec<TaskId> = by.iter().map(|by| id(by)).collect();
        world.archived.insert(id(name), Archived { status, superseded_by });
    };
    for number in 0..500 {
        know(&format!("c{number}"), Status::Superseded, &[&format!("c{}", number + 1)]);
    }
    know("c500", Status::Merged, &[]);
    // Both branches lead to the same end; walking each of them would never end.
    for number in 0..60 {
        let next = format!("d{}", number + 1);
        know(&format!("d{number}"), Status::Superseded, &[&next, &next, "c499"]);
    }
    know("d60", Status::Merged, &[]);
    know("round", Status::Superseded, &["back"]);
    know("back", Status::Superseded, &["c0", "round"]);
    know("given-up", Status::Superseded, &["c0", "gone"]);
    know("gone", Status::Abandoned, &[]);
    know("lost", Status::Superseded, &["nowhere"]);
    know("empty", Status::Superseded, &[]);
    for (name, met) in [
        ("c0", true),
        ("d0", true),
        ("round", false),
        ("back", false),
        ("given-up", false),
        ("gone", false),
        ("lost", false),
        ("empty", false),
    ] {
        assert_eq!(dependency_met(&bench.board, &world, &id(name)), met, "{name}");
    }
}
