//! New tasks and drafts: required fields, cycles, and edits by hand.

use crate::board::call::Archived;
use crate::board::refusal::Code;
use crate::board::rules::*;
use crate::board::task::Status;
use crate::board::testing::*;

fn waiting(name: &str, on: &[&str]) -> NewTask {
    let mut task = new_task(name, &format!("{name}/"));
    task.depends_on = on.iter().map(|other| id(other)).collect();
    task
}

fn drafts(tasks: Vec<NewTask>) -> AddTasks {
    AddTasks { finalize: false, ..plan_of(tasks) }
}

fn finalize(names: &[&str]) -> Finalize {
    let tasks: Vec<_> = names.iter().map(|name| id(name)).collect();
    Finalize { specs_found: tasks.clone(), tasks, pins: Vec::new() }
}

#[test]
fn task_ids_are_unique_ignoring_case() {
    let mut bench = Bench::with_tasks(&["parser"]);
    assert_eq!(bench.refused("planner-1", plan_of(vec![new_task("PARSER", "x/")])), Code::IdTaken);
    let twice = plan_of(vec![new_task("a", "x/"), new_task("A", "y/")]);
    assert_eq!(bench.refused("planner-1", twice), Code::IdTaken);
    bench.world.archived.insert(id("old"), Archived { status: Status::Merged, superseded_by: Vec::new() });
    assert_eq!(bench.refused("planner-1", plan_of(vec![new_task("old", "x/")])), Code::IdTaken);
    bench.ok("planner-1", plan_of(vec![waiting("new", &["old"])]));
    bench.claim("coder-1", "new");
}

#[test]
fn a_plan_is_all_or_nothing() {
    let mut bench = Bench::new();
    let mut incomplete = new_task("b", "b/");
    incomplete.done_when.clear();
    assert_eq!(bench.refused("planner-1", plan_of(vec![new_task("a", "a/"), incomplete])), Code::Incomplete);
    assert_eq!(bench.refused("planner-1", plan_of(Vec::new())), Code::Incomplete);
    assert!(bench.board.tasks.is_empty());
}

#[test]
fn everything_a_draft_lacks_is_named_at_once() {
    let mut bench = Bench::new();
    let mut sketch = new_task("t", "t/");
    sketch.done_when.clear();
    sketch.spec_ref = None;
    sketch.scope.inside.clear();
    bench.ok("planner-1", drafts(vec![sketch, new_task("u", "u/")]));
    let refusal = bench.refusal("planner-1", finalize(&["t"]));
    assert_eq!(refusal.code, Code::Incomplete);
    for part in ["done_when", "spec_ref", "scope"] {
        assert!(refusal.message.contains(part), "{}", refusal.message);
    }
    let no_file = Finalize { tasks: vec![id("u")], specs_found: Vec::new(), pins: Vec::new() };
    assert!(bench.refusal("planner-1", no_file).message.contains("specs/vision.md"));
    assert_eq!(bench.refused("planner-1", finalize(&["u", "t"])), Code::Incomplete);
    assert_eq!(bench.status("u"), Status::Draft);
    bench.ok("planner-1", finalize(&["u"]));
    assert_eq!(bench.refused("planner-1", finalize(&["u"])), Code::Transition);
    assert_eq!(bench.refused("planner-1", finalize(&[])), Code::Incomplete);
}

#[test]
fn missing_dependency_or_cycle_is_refused() {
    let mut bench = Bench::new();
    assert_eq!(bench.refused("planner-1", plan_of(vec![waiting("a", &["b"])])), Code::DependencyMissing);
    assert_eq!(bench.refused("planner-1", drafts(vec![waiting("a", &["a"])])), Code::Cycle);
    let circle = vec![waiting("a", &["b"]), waiting("b", &["c"]), waiting("c", &["a"])];
    let refusal = bench.refusal("planner-1", plan_of(circle.clone()));
    assert_eq!(refusal.code, Code::Cycle);
    assert!(refusal.message.contains("a → b → c → a"), "{}", refusal.message);
    bench.ok("planner-1", drafts(circle));
    assert_eq!(bench.refused("planner-1", finalize(&["a", "b", "c"])), Code::Cycle);
}

/// A cycle of drafts affects no other task, and ends once one of the drafts is abandoned.
#[test]
fn cycle_of_drafts_stops_no_other_task() {
    let mut bench = Bench::new();
    bench.ok("planner-1", drafts(vec![waiting("a", &["b"]), waiting("b", &["a"]), waiting("c", &[])]));
    bench.ok("planner-1", finalize(&["c"]));
    bench.ok("planner-1", plan_of(vec![waiting("d", &["c"])]));
    assert_eq!(bench.refused("planner-1", plan_of(vec![waiting("e", &["a"])])), Code::Cycle);
    bench.ok("planner-1", bench.abandon("a"));
    bench.ok("planner-1", finalize(&["b"]));
    assert_eq!(bench.refused("coder-1", bench.begin("b")), Code::DependencyUnmet);
}

/// A task that depends on a superseded task waits for its replacement, and that edge counts for cycles.
#[test]
fn a_circle_through_a_replacement_is_found() {
    let mut bench = Bench::new();
    bench.ok("planner-1", plan_of(vec![waiting("x", &[])]));
    bench.ok("planner-1", drafts(vec![waiting("r", &["n"]), waiting("n", &["x"])]));
    let replace = bench.replace("x", "r");
    assert_eq!(bench.refused("planner-1", replace), Code::Cycle);

    let mut bench = Bench::new();
    bench.ok("planner-1", plan_of(vec![waiting("x", &[])]));
    bench.ok("planner-1", drafts(vec![waiting("r", &["n"])]));
    bench.ok("planner-1", bench.replace("x", "r"));
    bench.ok("planner-1", drafts(vec![waiting("n", &["x"])]));
    assert_eq!(bench.refused("planner-1", finalize(&["n"])), Code::Cycle);
}

#[test]
fn person_may_rewrite_unstarted_tasks() {
    let mut bench = Bench::with_tasks(&["t", "u"]);
    let edit_of = |bench: &Bench, name: &str| TaskEdit::of(bench.task(name));
    let mut edit = edit_of(&bench, "t");
    edit.title = "Another title".to_owned();
    edit.priority = 7;
    bench.ok("human", AdoptEdit { tasks: vec![edit], ..AdoptEdit::default() });
    assert_eq!(bench.task("t").priority, 7);

    let mut empty = edit_of(&bench, "t");
    empty.done_when.clear();
    let adopt = AdoptEdit { tasks: vec![empty], ..AdoptEdit::default() };
    assert_eq!(bench.refused("human", adopt), Code::EditRefused);

    // A released task keeps its paths, so its scope cannot grow over another task's paths.
    bench.claim("coder-1", "t");
    let begun = AdoptEdit { tasks: vec![edit_of(&bench, "t")], ..AdoptEdit::default() };
    assert_eq!(bench.refused("human", begun), Code::EditRefused);
    bench.ok("coder-1", bench.release("t"));
    bench.claim("coder-2", "u");
    let mut wide = edit_of(&bench, "t");
    wide.owns = patterns(&["t/", "u/"]);
    let adopt = AdoptEdit { tasks: vec![wide], ..AdoptEdit::default() };
    assert_eq!(bench.refused("human", adopt), Code::EditRefused);
}

#[test]
fn limits_may_be_edited_but_not_into_nonsense() {
    let mut bench = Bench::new();
    let mut config = bench.board.config().clone();
    config.max_review_cycles = 9;
    bench.ok("human", AdoptEdit { config: Some(config.clone()), ..AdoptEdit::default() });
    assert_eq!(bench.board.config().max_review_cycles, 9);
    let mut zero = config.clone();
    zero.lease_seconds = 0;
    assert_eq!(
        bench.refused("human", AdoptEdit { config: Some(zero), ..AdoptEdit::default() }),
        Code::EditRefused
    );
    let mut branch = config;
    branch.integration_branch = "main".to_owned();
    let adopt = AdoptEdit { config: Some(branch), ..AdoptEdit::default() };
    assert_eq!(bench.refused("human", adopt), Code::EditRefused);
}
