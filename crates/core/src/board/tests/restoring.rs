//! A former revision restored: decisions come back, facts stay.

use crate::board::refusal::Code;
use crate::board::rules::*;
use crate::board::state::Board;
use crate::board::task::{Left, Status};
use crate::board::testing::*;
use crate::board::violations;

use super::matrix::in_state;

fn back(bench: &Bench, then: &Board) -> RestoreRevision {
    RestoreRevision::between(&bench.board, then, &bench.now)
}

#[test]
fn restore_works_between_all_states() {
    let mut changed = 0;
    for then in Status::ALL {
        for now in Status::ALL {
            let former = in_state(then).board;
            let mut bench = in_state(now);
            let before = bench.task("t").clone();
            let restore = back(&bench, &former);
            if restore.is_empty() {
                continue;
            }
            let human = bench.actor("human");
            if bench.attempt(human, restore, None).is_err() {
                assert_eq!(bench.task("t"), &before, "{then} on {now}");
                continue;
            }
            changed += 1;
            assert_eq!(violations(&bench.board), Vec::new(), "{then} on {now}");
            let after = bench.task("t");
            assert_ne!(now, Status::Merged, "{then}: what has landed has landed");
            assert!(!matches!(after.status, Status::Merged | Status::Working), "{then} on {now}");
            assert!(after.lease.is_none() && after.review_lease.is_none(), "{then} on {now}");
            assert!(after.epoch > before.epoch || before.epoch == 0, "{then} on {now}: fenced");
            // Facts are the current ones.
            let (was, is) = (before.body(), after.body());
            assert_eq!((&was.attempts, &was.reviews), (&is.attempts, &is.reviews));
            // An approval stays only where it is needed.
            let rests = matches!(after.status, Status::Approved | Status::IntegrationFailed)
                || is.blocked_from == Some(Status::Approved);
            assert_eq!(is.approval, was.approval.clone().filter(|_| rests), "{then} on {now}");
            assert_eq!(before.implementers, after.implementers);
            assert_eq!(is.history.len(), was.history.len() + 1);
        }
    }
    assert!(changed > 40, "only {changed} pairs changed anything");
}

#[test]
fn restore_keeps_only_current_verdicts() {
    let mut bench = Bench::with_tasks(&["t1", "t2"]);
    bench.approved("coder-1", "t1");
    let then = bench.board.clone();
    bench.ok("human", bench.abandon("t1"));
    bench.ok("human", back(&bench, &then));
    assert_eq!(bench.status("t1"), Status::Approved);
    assert!(bench.task("t1").holds_paths);

    let moved = VoidApproval { task: id("t1"), branch_head: Some(commit(77)) };
    bench.ok("reviewer-2", moved);
    assert_eq!(bench.status("t1"), Status::Rejected);
    bench.ok("human", back(&bench, &then));
    assert_eq!(bench.status("t1"), Status::Idle);
    assert_eq!(bench.task("t1").body().left, Some(Left::Released));
    assert_eq!(bench.refused("reviewer-2", bench.begin_merge("t1")), Code::Tier0UnapprovedMerge);
}

#[test]
fn an_approval_that_was_undone_does_not_come_back() {
    for by_way_of in [None, Some("abandoned"), Some("blocked")] {
        let mut bench = Bench::with_tasks(&["t1", "t2"]);
        let idle = bench.board.clone();
        bench.approved("coder-1", "t1");
        let approved = bench.board.clone();
        match by_way_of {
            Some("abandoned") => bench.ok("human", bench.abandon("t1")),
            Some(_) => bench.ok("human", bench.block("t1")),
            None => serde_json::Value::Null,
        };
        bench.ok("human", back(&bench, &idle));
        assert_eq!(bench.status("t1"), Status::Idle);
        assert!(bench.task("t1").body().approval.is_none(), "{by_way_of:?}");
        let again = back(&bench, &approved);
        if !again.is_empty() {
            bench.ok("human", again);
        }
        assert_eq!(bench.status("t1"), Status::Idle, "{by_way_of:?}");
        assert_eq!(bench.refused("reviewer-2", bench.begin_merge("t1")), Code::Tier0UnapprovedMerge);
        // The earlier verdict stays in the task's reviews.
        assert_eq!(bench.task("t1").body().reviews.len(), 1);
    }
}

#[test]
fn restore_keeps_unchanged_work_running() {
    let mut bench = Bench::with_tasks(&["t1", "t2"]);
    bench.claim("coder-1", "t1");
    let then = bench.board.clone();
    bench.ok("human", bench.abandon("t2"));
    let epoch = bench.task("t1").epoch;
    bench.ok("human", back(&bench, &then));
    assert_eq!((bench.status("t1"), bench.task("t1").epoch), (Status::Working, epoch));
    assert_eq!(bench.status("t2"), Status::Idle);
    assert!(back(&bench, &then).is_empty());
}

#[test]
fn restore_refuses_invalid_requests() {
    let mut bench = Bench::with_tasks(&["t1", "t2"]);
    let then = bench.board.clone();
    bench.ok("human", bench.abandon("t1"));
    let restore = back(&bench, &then);
    for by in ["planner-1", "coder-1", "reviewer-1", "overseer-1"] {
        assert_eq!(bench.refused(by, restore.clone()), Code::HumanOnly, "{by}");
    }
    // The restore was computed for an older revision.
    bench.ok("human", bench.note("meanwhile"));
    assert_eq!(bench.refused("human", restore), Code::IntentGone);
    // Git work is in progress.
    bench.ok("coder-1", bench.begin("t2"));
    assert_eq!(bench.refused("human", back(&bench, &then)), Code::IntentOpen);
    bench.ok("human", bench.cancel("t2"));
    // Values that were never on the board are refused.
    let good = back(&bench, &then);
    for to in [Status::Merged, Status::Working] {
        let mut wrong = good.clone();
        wrong.tasks[0].to = to;
        assert_eq!(bench.refused("human", wrong), Code::Transition, "{to}");
    }
    for to in [Status::Approved, Status::ReadyForReview, Status::Blocked, Status::Superseded] {
        let mut wrong = good.clone();
        wrong.tasks[0].to = to;
        assert_eq!(bench.refused("human", wrong), Code::Transition, "{to}");
    }
    let mut wrong = good.clone();
    let mut config = bench.board.config().clone();
    config.integration_branch = "elsewhere".to_owned();
    wrong.config = Some(config);
    assert_eq!(bench.refused("human", wrong), Code::EditRefused);
    let mut wrong = good.clone();
    wrong.tasks[0].text.id = id("missing");
    assert_eq!(bench.refused("human", wrong), Code::UnknownTask);
    bench.ok("human", good);
}

#[test]
fn paths_that_others_own_now_are_not_taken_back() {
    let mut bench = Bench::with_tasks(&["t1"]);
    bench.approved("coder-1", "t1");
    let then = bench.board.clone();
    bench.ok("human", bench.abandon("t1"));
    let rival = NewTask { owns: bench.task("t1").owns.clone(), ..new_task("t2", "src/t1/") };
    bench.ok("planner-1", plan_of(vec![rival]));
    bench.claim("coder-2", "t2");
    bench.ok("human", back(&bench, &then));
    assert_eq!((bench.status("t1"), bench.task("t1").holds_paths), (Status::Idle, false));
    assert_eq!(bench.refused("coder-1", bench.begin("t1")), Code::PathsOverlap);
}
