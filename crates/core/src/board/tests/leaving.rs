//! Release, handoff, abandon, rescope: ends of a claim and ends of a task.

use serde_json::json;

use crate::board::call::Archived;
use crate::board::refusal::Code;
use crate::board::rules::Transition;
use crate::board::rules::*;
use crate::board::task::{Left, Status};
use crate::board::testing::*;

fn chain(bench: &mut Bench) {
    let mut second = new_task("second", "second/");
    second.depends_on = vec![id("first")];
    let mut third = new_task("third", "third/");
    third.depends_on = vec![id("second")];
    bench.ok("planner-1", plan_of(vec![new_task("first", "first/"), second, third]));
}

#[test]
fn a_release_keeps_the_work_and_ends_the_claim() {
    for by in ["coder-1", "overseer-1", "human"] {
        let mut bench = Bench::with_tasks(&["t"]);
        bench.claim("coder-1", "t");
        let epoch = bench.task("t").epoch;
        bench.ok(by, bench.release("t"));
        let task = bench.task("t");
        assert_eq!((task.status, task.epoch), (Status::Idle, epoch + 1));
        assert_eq!(task.body().left, Some(Left::Released));
        assert_eq!(task.body().attempts.len(), 1);
        assert!(task.holds_paths);
        bench.claim("coder-2", "t");
    }
}

#[test]
fn a_handoff_says_what_was_done_and_what_comes_next() {
    let mut bench = Bench::with_tasks(&["t"]);
    bench.claim("coder-1", "t");
    let mute = HandOff { summary: String::new(), ..bench.hand_off("t") };
    assert_eq!(bench.refused("coder-1", mute), Code::Incomplete);
    let aimless = HandOff { next_action: " ".to_owned(), ..bench.hand_off("t") };
    assert_eq!(bench.refused("coder-1", aimless), Code::Incomplete);
    let epoch = bench.task("t").epoch;
    bench.ok("coder-1", bench.hand_off("t"));
    assert_eq!(bench.task("t").body().left, Some(Left::HandedOff));
    let left = &bench.board.rest.handoff[0];
    assert_eq!((left.summary.as_str(), left.epoch), ("half done", epoch));
}

#[test]
fn abandon_lists_stranded_tasks() {
    let mut bench = Bench::new();
    chain(&mut bench);
    let mute = Abandon { task: id("first"), reason: String::new() };
    assert_eq!(bench.refused("planner-1", mute), Code::Incomplete);
    let outcome = bench.ok("planner-1", bench.abandon("first"));
    assert_eq!(outcome["stranded"], json!(["second", "third"]));
    assert_eq!(bench.refused("coder-1", bench.begin("second")), Code::DependencyUnmet);
}

#[test]
fn abandoned_replacement_strands_dependents() {
    let mut bench = Bench::new();
    chain(&mut bench);
    bench.add(&["better"]);
    bench.ok("planner-1", bench.replace("first", "better"));
    let outcome = bench.ok("planner-1", bench.abandon("better"));
    assert_eq!(outcome["stranded"], json!(["second", "third"]));
}

#[test]
fn dependents_wait_for_replacements() {
    let mut bench = Bench::new();
    chain(&mut bench);
    let rescope = Rescope {
        task: id("first"),
        into: vec![new_task("left", "left/"), new_task("right", "right/")],
        existing: Vec::new(),
        reason: "it was two things".to_owned(),
        specs_found: vec![id("left"), id("right")],
        pins: Vec::new(),
        strict: true,
        slices: true,
    };
    bench.ok("planner-1", rescope);
    assert_eq!(bench.status("first"), Status::Superseded);
    assert_eq!(bench.task("first").superseded_by, [id("left"), id("right")]);
    assert_eq!(bench.task("left").body().parent, Some(id("first")));
    for part in ["left", "right"] {
        assert_eq!(bench.refused("coder-1", bench.begin("second")), Code::DependencyUnmet);
        bench.approved("coder-2", part);
        bench.merge(part);
    }
    bench.claim("coder-1", "second");
}

#[test]
fn replacements_are_followed_into_the_archive() {
    let mut bench = Bench::new();
    chain(&mut bench);
    bench.add(&["better"]);
    bench.ok("planner-1", bench.replace("first", "better"));
    bench.board.tasks.retain(|task| task.id != id("better"));
    let begin: Transition = bench.begin("second").into();
    assert_eq!(begin.verb().asks_archive(&bench.board), [id("first")]);
    assert_eq!(bench.refused("coder-1", begin.clone()), Code::DependencyUnmet);
    let merged = Archived { status: Status::Merged, superseded_by: Vec::new() };
    bench.world.archived.insert(id("better"), merged);
    bench.ok("coder-1", begin);
}

#[test]
fn rescope_refuses_missing_or_invalid_parts() {
    let mut bench = Bench::new();
    chain(&mut bench);
    let rescope = |into: Vec<NewTask>, existing: &[&str], reason: &str| Rescope {
        task: id("first"),
        specs_found: into.iter().map(|new| new.id.clone()).collect(),
        into,
        existing: existing.iter().map(|name| id(name)).collect(),
        reason: reason.to_owned(),
        pins: Vec::new(),
        strict: true,
        slices: true,
    };
    let waiting = |on: &str| {
        let mut new = new_task("new", "new/");
        new.depends_on = vec![id(on)];
        vec![new]
    };
    for (what, code) in [
        (rescope(Vec::new(), &[], "why"), Code::Incomplete),
        (rescope(vec![new_task("new", "new/")], &[], ""), Code::Incomplete),
        (rescope(Vec::new(), &["first"], "why"), Code::Value),
        (rescope(Vec::new(), &["nowhere"], "why"), Code::UnknownTask),
        (rescope(vec![new_task("SECOND", "new/")], &[], "why"), Code::IdTaken),
        (rescope(waiting("first"), &[], "why"), Code::Cycle),
        // `second` depends on `first`, which would depend on `second`.
        (rescope(Vec::new(), &["second"], "why"), Code::Cycle),
        (rescope(waiting("third"), &[], "why"), Code::Cycle),
        (rescope(waiting("nowhere"), &[], "why"), Code::DependencyMissing),
    ] {
        assert_eq!(bench.refused("planner-1", what.clone()), code, "{what:?}");
    }
    bench.ok("planner-1", bench.abandon("third"));
    assert_eq!(bench.refused("planner-1", rescope(Vec::new(), &["third"], "why")), Code::Value);
}

#[test]
fn an_ended_task_owns_nothing_and_fences_its_holder() {
    for end in ["abandon", "rescope"] {
        let mut bench = Bench::with_tasks(&["t", "u"]);
        bench.claim("coder-1", "t");
        let epoch = bench.task("t").epoch;
        match end {
            "abandon" => bench.ok("planner-1", bench.abandon("t")),
            _ => bench.ok("planner-1", bench.replace("t", "u")),
        };
        let task = bench.task("t");
        assert!(task.status.is_terminal() && task.lease.is_none() && !task.holds_paths);
        assert_eq!(task.epoch, epoch + 1);
        assert_eq!(bench.refused("coder-1", bench.submit("t")), Code::Transition);
        bench.claim("coder-1", "u");
    }
}
