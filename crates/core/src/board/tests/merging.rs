//! Landing work: only what was approved, only the move that was recorded.

use crate::board::intent::RefMove;
use crate::board::records::AnomalyKind;
use crate::board::refusal::Code;
use crate::board::rules::*;
use crate::board::task::Status;
use crate::board::testing::*;
use crate::board::violations;

fn approved() -> Bench {
    let mut bench = Bench::with_tasks(&["t"]);
    bench.approved("coder-1", "t");
    bench
}

#[test]
fn implementers_approval_lands_nothing() {
    let mut bench = approved();
    // However it got on the board: an approval by an implementer lands nothing.
    let (head, _) = bench.board.task_mut(&id("t")).expect("there").parts_mut();
    head.implementers.push(agent("reviewer-1"));
    assert_eq!(bench.refused("reviewer-2", bench.begin_merge("t")), Code::Tier0SelfApproval);
    // Ids are unique ignoring case, so another spelling is the same agent.
    let (head, _) = bench.board.task_mut(&id("t")).expect("there").parts_mut();
    head.implementers.pop();
    head.implementers.push(agent("Reviewer-1"));
    assert_eq!(bench.refused("reviewer-2", bench.begin_merge("t")), Code::Tier0SelfApproval);
    assert_eq!(violations(&bench.board)[0].invariant, "I6");
    let (head, body) = bench.board.task_mut(&id("t")).expect("there").parts_mut();
    head.implementers.pop();
    body.approval = None;
    assert_eq!(bench.refused("reviewer-2", bench.begin_merge("t")), Code::Tier0UnapprovedMerge);
}

#[test]
fn a_branch_that_moved_voids_the_approval() {
    let mut bench = approved();
    for head in [None, Some(commit(4))] {
        let moved = BeginMerge { branch_head: head.clone(), ..bench.begin_merge("t") };
        assert_eq!(bench.refused("reviewer-1", moved), Code::ApprovalVoid);
        let void = VoidApproval { task: id("t"), branch_head: head };
        for by in ["coder-1", "planner-1", "auditor-1", "overseer-1"] {
            assert_eq!(bench.refused(by, void.clone()), Code::Tier0Role, "{by}");
        }
    }
    let holds = VoidApproval { task: id("t"), branch_head: bench.task("t").review_commit.clone() };
    assert_eq!(bench.refused("reviewer-1", holds), Code::Transition);
    bench.ok("reviewer-1", VoidApproval { task: id("t"), branch_head: Some(commit(4)) });
    let task = bench.task("t");
    assert_eq!(task.status, Status::Rejected);
    assert!(task.body().approval.is_none() && task.reserved_until.is_some());
    assert_eq!(bench.refused("reviewer-1", bench.begin_merge("t")), Code::Tier0UnapprovedMerge);
    bench.claim("coder-1", "t");
}

#[test]
fn only_the_recorded_move_can_have_happened() {
    let mut bench = approved();
    bench.ok("reviewer-1", bench.begin_merge("t"));
    assert_eq!(bench.refused("reviewer-1", bench.begin_merge("t")), Code::IntentOpen);
    assert_eq!(bench.refused("reviewer-1", bench.finish_merge("t")), Code::IntentGone);
    bench.ok("reviewer-1", bench.record_move("t"));
    let other = FinishMerge { merge_commit: commit(51), ..bench.finish_merge("t") };
    assert_eq!(bench.refused("reviewer-1", other), Code::IntentGone);
    let elsewhere = FinishMerge { onto: commit(2), ..bench.finish_merge("t") };
    assert_eq!(bench.refused("reviewer-1", elsewhere), Code::IntentGone);
    let stranger = FinishMerge { owner: process(2), ..bench.finish_merge("t") };
    assert_eq!(bench.refused("reviewer-1", stranger), Code::IntentGone);
    let intent = bench.intent("t");
    bench.ok("human", TakeOver { intent, former: process(1), owner: process(2) });
    assert_eq!(bench.refused("reviewer-1", bench.finish_merge("t")), Code::IntentGone);
    bench.ok("human", FinishMerge { owner: process(2), ..bench.finish_merge("t") });
    let task = bench.task("t");
    assert_eq!(task.status, Status::Merged);
    assert!(!task.holds_paths && task.body().merge.is_some());
    assert_eq!(task.body().actual_outputs, ["t/lib.rs"]);
    assert_eq!(bench.board.rest.integration.head, Some(commit(50)));
}

#[test]
fn a_switch_set_meanwhile_stops_the_move() {
    let mut bench = approved();
    bench.ok("reviewer-1", bench.begin_merge("t"));
    bench.world.switches.set.insert(pause(None));
    assert_eq!(bench.refused("reviewer-1", bench.record_move("t")), Code::Switched);
    let cancel = CancelMerge { intent: bench.intent("t"), owner: process(1), reason: "paused".to_owned() };
    bench.ok("reviewer-1", cancel);
    assert_eq!(bench.status("t"), Status::Approved);
    bench.world.switches.set.clear();
    bench.merge("t");
}

#[test]
fn failed_merge_sets_status_by_its_cause() {
    for (failure, status, outcome, anomalies) in [
        (MergeFailure::RedGate, Status::IntegrationFailed, "integration_failed", 0),
        (MergeFailure::TrivialConflict, Status::IntegrationFailed, "integration_failed", 1),
        (MergeFailure::LogicConflict, Status::Blocked, "blocked", 1),
    ] {
        let mut bench = approved();
        bench.ok("reviewer-1", bench.begin_merge("t"));
        let answer = bench.ok("reviewer-1", bench.fail_merge("t", failure));
        assert_eq!((bench.status("t"), answer["outcome"].as_str()), (status, Some(outcome)));
        assert_eq!(bench.board.rest.anomalies.len(), anomalies, "{failure:?}");
        for anomaly in &bench.board.rest.anomalies {
            assert_eq!(anomaly.kind, AnomalyKind::IntegrationConflict);
            assert_eq!(anomaly.details["files"], "t/lib.rs");
        }
        assert!(bench.task("t").body().approval.is_some(), "what was approved stays approved");
        assert_eq!(bench.task("t").reserved_until.is_some(), status == Status::IntegrationFailed);
        if status == Status::IntegrationFailed {
            bench.merge("t");
        }
    }
}

#[test]
fn persons_conflict_resolution_follows_the_same_rules() {
    let mut bench = Bench::with_tasks(&["t"]);
    bench.failed_to_merge("coder-1", "t", MergeFailure::LogicConflict);
    assert_eq!(bench.refused("human", bench.begin_merge("t")), Code::Transition);
    let resolved = BeginMerge { resolved: Some(commit(60)), ..bench.begin_merge("t") };
    assert_eq!(bench.refused("reviewer-1", resolved.clone()), Code::HumanOnly);
    bench.ok("human", resolved);
    bench.ok("human", bench.record_move("t"));
    bench.ok("human", bench.finish_merge("t"));
    let body = bench.task("t").body();
    assert_eq!(bench.status("t"), Status::Merged);
    assert!(body.blocked_reason.is_none() && body.blocked_questions.is_empty());
}

/// A blocked task that gave its paths back does not get them back by a merge that fails.
#[test]
fn a_failed_resolution_takes_no_paths_from_others() {
    for (failure, status) in
        [(MergeFailure::LogicConflict, Status::Blocked), (MergeFailure::RedGate, Status::IntegrationFailed)]
    {
        for given_back in [true, false] {
            let mut bench = Bench::new();
            let mut wide = new_task("u", "u/");
            wide.scope.inside.extend(patterns(&["t/"]));
            bench.ok("planner-1", plan_of(vec![new_task("t", "t/"), wide]));
            bench.failed_to_merge("coder-1", "t", MergeFailure::LogicConflict);
            if given_back {
                bench.tick(HOLD);
                bench.claim("coder-2", "u");
            }
            let resolved = BeginMerge { resolved: Some(commit(60)), ..bench.begin_merge("t") };
            bench.ok("human", resolved);
            bench.ok("human", bench.fail_merge("t", failure));
            let task = bench.task("t");
            assert_eq!(task.status, status);
            assert_eq!(task.is_live(&bench.now), !given_back, "{failure:?}");
            if status == Status::IntegrationFailed {
                assert!(task.holds_paths_until.is_none() && task.body().blocked_reason.is_none());
            }
        }
    }
}

#[test]
fn advance_is_recorded_before_the_branch_moves() {
    let mut bench = Bench::new();
    let begin = |reason: &str| BeginMove {
        kind: MoveKind::Advance,
        branch: "integration".to_owned(),
        reason: reason.to_owned(),
        owner: process(1),
        checkout: None,
        audited: false,
    };
    assert_eq!(bench.refused("human", begin("")), Code::Incomplete);
    let intent = bench.ok("human", begin("upstream"))["intent"].as_u64().expect("a number");
    assert_eq!(bench.refused("human", begin("again")), Code::IntentOpen);
    assert_eq!(bench.refused("human", FinishMove { intent, owner: process(1) }), Code::IntentGone);
    let step = RefMove { branch: "integration".to_owned(), old: Some(commit(1)), new: commit(70) };
    let foreign = RecordMove { intent, owner: process(2), step: step.clone(), gates: None };
    assert_eq!(bench.refused("human", foreign), Code::IntentGone);
    bench.ok("human", RecordMove { intent, owner: process(1), step, gates: None });
    let mut cancelled = bench.clone();
    cancelled.ok("human", CancelMove { intent, owner: process(1), reason: "no".to_owned() });
    assert_eq!(cancelled.board.rest.integration.head, Some(commit(1)));
    bench.ok("human", FinishMove { intent, owner: process(1) });
    assert_eq!(bench.board.rest.integration.head, Some(commit(70)));
    assert!(bench.board.rest.intents.is_empty());
}
