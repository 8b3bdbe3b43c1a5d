//! Editing a task: who may, when, what is recorded, and how earlier verdicts change.

use crate::board::Role;
use crate::board::refusal::Code;
use crate::board::rules::*;
use crate::board::task::{Kind, Risk, Status};
use crate::board::testing::*;

fn edit(bench: &Bench, name: &str, change: impl FnOnce(&mut NewTask)) -> EditTask {
    let before = NewTask::of(bench.task(name));
    let mut after = before.clone();
    change(&mut after);
    EditTask {
        before: Box::new(before),
        after: Box::new(after),
        spec_found: true,
        pin: None,
        strict: true,
        slices: true,
    }
}

pub(super) fn other_title(bench: &Bench, name: &str) -> EditTask {
    edit(bench, name, |task| task.title = "other words".to_owned())
}

fn other_criteria(bench: &Bench, name: &str) -> EditTask {
    edit(bench, name, |task| task.done_when = vec!["it also works at night".to_owned()])
}

#[test]
fn draft_idle_and_blocked_tasks_are_editable() {
    let mut bench = Bench::new();
    bench.ok("planner-1", AddTasks { finalize: false, ..plan_of(vec![new_task("draft", "draft/")]) });
    bench.add(&["idle", "stuck"]);
    bench.claim("coder-1", "stuck");
    assert_eq!(bench.refused("planner-1", other_title(&bench, "stuck")), Code::Transition, "it is worked on");
    bench.ok("coder-1", bench.block("stuck"));
    for name in ["draft", "idle", "stuck"] {
        let change = other_title(&bench, name);
        assert_eq!(bench.refused("coder-1", change.clone()), Code::Role);
        bench.ok("planner-1", change);
        bench.ok("human", edit(&bench, name, |task| task.priority = 7));
        assert_eq!((bench.task(name).body().title.as_str(), bench.task(name).priority), ("other words", 7));
    }
}

#[test]
fn old_and_new_values_are_on_record() {
    let mut bench = Bench::with_tasks(&["t"]);
    let old = serde_json::to_string(&bench.task("t").body().done_when).unwrap();
    let outcome = bench.ok("planner-1", other_criteria(&bench, "t"));
    let line = bench.task("t").body().history.last().expect("a line").clone();
    assert_eq!((line.event.as_str(), line.agent.as_str()), ("edited", "planner-1"));
    assert_eq!(line.changes.len(), 1);
    assert_eq!((line.changes[0].field.as_str(), &line.changes[0].old), ("done_when", &old));
    assert_eq!(line.changes[0].new, r#"["it also works at night"]"#);
    assert_eq!(outcome["changes"][0]["field"], "done_when");
    assert_eq!(outcome["judged_anew"], false, "no agent has worked on it");
}

#[test]
fn edited_criteria_void_earlier_verdicts() {
    let into = |how: fn(&mut Bench)| {
        let mut bench = Bench::with_tasks(&["t"]);
        how(&mut bench);
        bench.ok("planner-1", bench.block("t"));
        bench
    };
    let ways: [fn(&mut Bench); 4] = [
        |bench| bench.hand_in("coder-1", "t"),
        |bench| bench.approved("coder-1", "t"),
        |bench| bench.awaiting_red_team("coder-1", "t"),
        |bench| bench.failed_to_merge("coder-1", "t", MergeFailure::RedGate),
    ];
    for way in ways {
        let mut bench = into(way);
        let handed_in = bench.task("t").review_commit.clone();
        assert!(handed_in.is_some());
        // A change of only the title keeps the verdicts.
        assert_eq!(bench.ok("human", other_title(&bench, "t"))["judged_anew"], false);
        assert_eq!(bench.task("t").review_commit, handed_in);
        assert_eq!(bench.ok("planner-1", other_criteria(&bench, "t"))["judged_anew"], true);
        let task = bench.task("t");
        let body = task.body();
        assert_eq!((&task.review_commit, &task.approvals, &task.red_team), (&None, &None, &None));
        assert!(body.approval.is_none() && body.submission.is_none() && body.integration_failure.is_none());
        assert_eq!(task.status, Status::Blocked);
        bench.ok("planner-1", bench.unblock("t"));
        assert_eq!(bench.status("t"), Status::Idle);
        assert_eq!(bench.task("t").assigned_to, Some(agent("coder-1")));
        assert_eq!(bench.refused("coder-2", bench.begin("t")), Code::Reserved);
        bench.claim("coder-1", "t");
    }
}

#[test]
fn edits_of_any_judged_field_void_verdicts() {
    let changes: [fn(&mut NewTask); 8] = [
        |task| task.description = "and delete nothing".to_owned(),
        |task| task.risk = Risk::High,
        |task| task.kind = Kind::Config,
        |task| task.depends_on = vec![id("u")],
        |task| task.role = Role::new("test_engineer").expect("a role"),
        |task| task.scope.inside = patterns(&["t/", "elsewhere/"]),
        |task| task.spec_ref = Some("specs/other.md".to_owned()),
        |task| task.checklist = vec!["is it fast?".to_owned()],
    ];
    for change in changes {
        let mut bench = Bench::with_tasks(&["t", "u"]);
        bench.approved("coder-1", "t");
        bench.ok("planner-1", bench.block("t"));
        assert_eq!(bench.ok("planner-1", edit(&bench, "t", change))["judged_anew"], true);
        assert_eq!(bench.task("t").review_commit, None);
    }
}

#[test]
fn exhausted_task_can_only_be_rescoped() {
    let mut bench = Bench::with_tasks(&["t"]);
    for coder in ["coder-1", "coder-2"] {
        let (head, _) = bench.board.task_mut(&id("t")).expect("it").parts_mut();
        head.failed_by.push(agent(coder));
    }
    let refusal = bench.refusal("planner-1", other_title(&bench, "t"));
    assert_eq!(refusal.code, Code::HypothesisExhausted);
    assert!(refusal.hint.expect("a hint").contains("liza task rescope t"));
}

#[test]
fn edit_of_a_changed_task_is_refused() {
    let mut bench = Bench::with_tasks(&["t"]);
    let mine = other_title(&bench, "t");
    bench.ok("human", edit(&bench, "t", |task| task.priority = 3));
    assert_eq!(bench.refused("planner-1", mine), Code::Edited);
    assert_eq!(bench.refused("planner-1", edit(&bench, "t", |_| ())), Code::Value, "nothing would change");
}

#[test]
fn edit_cannot_remove_required_fields() {
    let mut bench = Bench::with_tasks(&["t", "u", "w"]);
    let refused = |bench: &mut Bench, change: fn(&mut NewTask)| {
        let what = edit(bench, "t", change);
        bench.refused("planner-1", what)
    };
    assert_eq!(refused(&mut bench, |task| task.done_when.clear()), Code::Incomplete);
    assert_eq!(refused(&mut bench, |task| task.title = " ".to_owned()), Code::Incomplete);
    assert_eq!(refused(&mut bench, |task| task.depends_on = vec![id("nowhere")]), Code::DependencyMissing);
    bench.ok("planner-1", edit(&bench, "u", |task| task.depends_on = vec![id("t")]));
    assert_eq!(refused(&mut bench, |task| task.depends_on = vec![id("u")]), Code::Cycle);
    let lost = EditTask { spec_found: false, ..other_title(&bench, "t") };
    assert_eq!(bench.refused("planner-1", lost), Code::Incomplete);
    // Owned paths follow the scope unless they were named separately.
    bench.ok("planner-1", edit(&bench, "t", |task| task.scope.inside = patterns(&["new/"])));
    assert_eq!(bench.task("t").owns, patterns(&["new/"]));
    // An edit cannot add paths of another task to a task that holds its paths.
    bench.claim("coder-1", "t");
    bench.ok("coder-1", bench.block("t"));
    bench.claim("coder-2", "w");
    let grown = edit(&bench, "t", |task| task.owns = patterns(&["w/"]));
    assert_eq!(bench.refused("planner-1", grown), Code::PathsOverlap);
}
