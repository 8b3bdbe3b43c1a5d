//! A queue of goals, and specs that are pinned with tasks.

use crate::board::goals::{PinnedSpec, SpecPin};
use crate::board::rules::*;
use crate::board::state::GoalStatus;
use crate::board::testing::*;
use crate::board::{Code, Status};

fn goal(text: &str) -> AddGoal {
    AddGoal { goal: text.to_owned(), spec_ref: "goal".to_owned(), routing: None, audited: true }
}

/// Work on a task from its claim to its merge.
fn merge(bench: &mut Bench, name: &str) {
    bench.hand_in("coder-1", name);
    let review = bench.start_review(name);
    bench.ok("reviewer-1", review);
    let approve = bench.approve(name);
    bench.ok("reviewer-1", approve);
    bench.merge(name);
}

fn pin(text: &str) -> PinnedSpec {
    PinnedSpec { of: "specs/a.md".to_owned(), hash: text.to_owned() }
}

#[test]
fn second_goal_starts_when_the_first_is_reached() {
    let mut bench = Bench::with_tasks(&["t"]);
    assert_eq!(bench.refused("planner-1", goal("more")), Code::HumanOnly);
    merge(&mut bench, "t");
    // The goal counts as reached without `goal complete`: no task is open and one was merged.
    let added = bench.ok("human", goal("more"));
    assert_eq!((&added["goal"], &added["status"]), (&"goal-2".into(), &"IN_PROGRESS".into()));
    let board = &bench.board;
    assert_eq!((board.rest.goal.id.as_str(), board.rest.goals[0].status), ("goal-2", GoalStatus::Complete));
    assert!(!board.is_planned() && board.has_former_goals());
    assert_eq!(bench.refused("human", CompleteGoal { audited: true }), Code::Transition);
    bench.ok("human", plan_of(vec![new_task("u", "u/")]));
    assert_eq!((bench.task("t").goal.as_deref(), bench.task("u").goal.as_deref()), (None, Some("goal-2")));
    merge(&mut bench, "u");
    bench.ok("human", CompleteGoal { audited: true });
    // Archived tasks are counted for their own goal.
    bench.ok("human", ArchiveTasks { tasks: vec![id("t")] });
    assert_eq!((bench.board.rest.archived, bench.board.archived_of_goal()), (1, 0));
    bench.ok("human", ArchiveTasks { tasks: vec![id("u")] });
    assert_eq!((bench.board.rest.archived, bench.board.archived_of_goal()), (2, 1));
}

#[test]
fn queued_goals_start_in_order() {
    let mut bench = Bench::with_tasks(&["t"]);
    for (text, ahead) in [("second", 1), ("third", 2)] {
        let added = bench.ok("human", goal(text));
        assert_eq!((&added["status"], &added["ahead"]), (&"QUEUED".into(), &ahead.into()));
    }
    assert_eq!(bench.refused("human", StartGoal { audited: true }), Code::Transition);
    let abandon = |goal: &str| AbandonGoal { goal: goal.to_owned(), reason: "not needed".to_owned() };
    bench.ok("human", abandon("goal-1"));
    assert_eq!(bench.status("t"), Status::Abandoned);
    assert_eq!(bench.refused("human", plan_of(vec![new_task("u", "u/")])), Code::Transition);
    assert_eq!(bench.ok("human", StartGoal { audited: true })["goal"], "goal-2");
    bench.ok("human", abandon("goal-3"));
    assert_eq!(bench.refused("human", abandon("goal-3")), Code::Transition);
    let ids: Vec<&str> = bench.board.all_goals().map(|goal| goal.id.as_str()).collect();
    assert_eq!(ids, ["goal-3", "goal-1", "goal-2"]);
    assert_eq!(bench.board.next_goal_id(), "goal-4");
}

#[test]
fn single_jobs_neither_plan_nor_complete_a_goal() {
    let mut bench = Bench::new();
    let single = AddTasks { single: true, ..plan_of(vec![new_task("job", "job/")]) };
    bench.ok("human", single);
    assert!(!bench.board.is_planned() && bench.board.is_of_current_goal(bench.task("job")));
    merge(&mut bench, "job");
    assert_eq!(bench.refused("human", CompleteGoal { audited: true }), Code::Transition);
}

#[test]
fn changed_spec_is_pinned_for_unstarted_tasks() {
    let mut bench = Bench::new();
    let tasks: Vec<NewTask> = ["idle", "busy", "other"]
        .into_iter()
        .map(|name| {
            let file = if name == "other" { "specs/b.md" } else { "specs/a.md#part" };
            NewTask { spec_ref: Some(file.to_owned()), ..new_task(name, &format!("src/{name}.rs")) }
        })
        .collect();
    let pins = tasks.iter().map(|task| SpecPin { task: task.id.clone(), spec: pin("one") }).collect();
    bench.ok("human", AddTasks { pins, ..plan_of(tasks) });
    bench.claim("coder-1", "busy");
    let change = ChangeSpec {
        spec: "specs/a.md".to_owned(),
        change: "more".to_owned(),
        affects: Vec::new(),
        pin: Some(pin("two")),
    };
    assert_eq!(bench.refused("coder-1", change.clone()), Code::Role);
    let changed = bench.ok("planner-1", change);
    assert_eq!(changed["pinned"], serde_json::json!(["idle"]));
    assert_eq!(changed["under_way"], serde_json::json!(["busy"]));
    let hash = |name: &str| bench.task(name).body().spec.as_ref().map(|spec| spec.hash.clone());
    assert_eq!([hash("idle"), hash("busy"), hash("other")].map(Option::unwrap), ["two", "one", "one"]);
    assert_eq!(bench.board.rest.spec_changes[0].affects, [id("idle"), id("busy")]);
}
