//! A person releases the paths of a task: the work stays, the holder is fenced, and other tasks may start.

use serde_json::json;

use crate::board::history::Event;
use crate::board::refusal::Code;
use crate::board::rules::*;
use crate::board::task::{Left, Status};
use crate::board::testing::*;

/// `t` and `rival`, which own the same directory.
fn rivals() -> Bench {
    let mut bench = Bench::new();
    bench.ok("planner-1", plan_of(vec![new_task("t", "t/"), new_task("rival", "t/")]));
    bench
}

#[test]
fn lock_release_frees_paths_and_fences_holder() {
    let mut bench = rivals();
    bench.claim("coder-1", "t");
    let epoch = bench.task("t").epoch;
    assert_eq!(bench.refused("coder-2", bench.begin("rival")), Code::PathsOverlap);
    let outcome = bench.ok("human", bench.unlock("t"));
    assert_eq!(outcome["fenced"], "coder-1");
    assert_eq!(outcome["paths"], json!(["t/"]));
    let task = bench.task("t");
    assert_eq!((task.status, task.epoch, task.holds_paths), (Status::Idle, epoch + 1, false));
    assert!(task.lease.is_none() && task.reserved_until.is_none());
    assert_eq!(task.body().left, Some(Left::Released));
    assert_eq!(task.body().attempts.len(), 1, "the work stays");
    let last = task.body().history.last().expect("a line");
    assert_eq!((last.event, last.detail.as_deref()), (Event::PathsGivenBack, Some("its agent is gone")));
    let late = Submit { epoch: Some(epoch), ..bench.submit("t") };
    assert_eq!(bench.refused("coder-1", late), Code::Epoch);
    let late = WriteCheckpoint { epoch: Some(epoch), ..bench.checkpoint("t") };
    assert_eq!(bench.refused("coder-1", late), Code::Epoch);
    bench.claim("coder-2", "rival");
    // Now the other task has to wait.
    assert_eq!(bench.refused("coder-1", bench.begin("t")), Code::PathsOverlap);
}

#[test]
fn expired_lease_release_fences_no_agent() {
    let mut bench = rivals();
    bench.claim("coder-1", "t");
    bench.tick(LEASE + 1);
    let outcome = bench.ok("human", bench.unlock("t"));
    assert_eq!(outcome["fenced"], json!(null));
    assert_eq!(outcome["agent"], "coder-1");
}

#[test]
fn lock_release_frees_paths_of_blocked_task() {
    let mut bench = rivals();
    bench.hand_in("coder-1", "t");
    bench.ok("planner-1", bench.block("t"));
    assert_eq!(bench.refused("coder-2", bench.begin("rival")), Code::PathsOverlap);
    bench.ok("human", bench.unlock("t"));
    assert_eq!(bench.status("t"), Status::Blocked);
    assert_eq!(bench.refused("human", bench.unlock("t")), Code::Transition, "there is nothing left to take");
    bench.claim("coder-2", "rival");
    // The task would be READY_FOR_REVIEW again, with paths that another task now holds.
    assert_eq!(bench.refused("planner-1", bench.unblock("t")), Code::PathsOverlap);
    bench.ok("planner-1", bench.abandon("rival"));
    bench.ok("planner-1", bench.unblock("t"));
    assert_eq!(bench.status("t"), Status::ReadyForReview);
    assert!(bench.task("t").is_live(&bench.now));
}

#[test]
fn lock_release_ends_a_reservation() {
    let mut bench = rivals();
    bench.rejected("coder-1", "t", REASONS[0]);
    bench.ok("human", bench.unlock("t"));
    assert_eq!(bench.status("t"), Status::Rejected);
    bench.claim("coder-2", "rival");
    bench.ok("planner-1", bench.abandon("rival"));
    bench.claim("coder-2", "t");
}

#[test]
fn released_task_keeps_paths_until_lock_release() {
    let mut bench = rivals();
    bench.claim("coder-1", "t");
    bench.ok("coder-1", bench.release("t"));
    assert_eq!(bench.refused("coder-2", bench.begin("rival")), Code::PathsOverlap);
    bench.ok("human", bench.unlock("t"));
    assert_eq!(bench.status("t"), Status::Idle);
    bench.claim("coder-2", "rival");
}

#[test]
fn lock_release_needs_a_reason_and_held_paths() {
    let mut bench = rivals();
    assert_eq!(bench.refused("human", bench.unlock("t")), Code::Transition);
    bench.claim("coder-1", "t");
    let mute = ReleaseLock { reason: " ".to_owned(), ..bench.unlock("t") };
    assert_eq!(bench.refused("human", mute), Code::Incomplete);
    let mut bench = rivals();
    bench.ok("coder-1", bench.begin("t"));
    assert_eq!(bench.refused("human", bench.unlock("t")), Code::IntentOpen);
}
