//! Leases and the clock: the exact instant, reboots, pauses, wall time set back.

use crate::board::refusal::Code;
use crate::board::rules::*;
use crate::board::task::Status;
use crate::board::testing::*;
use crate::board::time::{NANOS_PER_SECOND, Wall};

fn claimed() -> Bench {
    let mut bench = Bench::with_tasks(&["t"]);
    bench.claim("coder-1", "t");
    bench.ok("coder-1", bench.checkpoint("t"));
    bench
}

#[test]
fn lease_is_expired_at_its_exact_instant() {
    let lease = LEASE * NANOS_PER_SECOND;
    for (nanos, code) in [(lease - 1, Some(Code::Held)), (lease, None), (lease + 1, None)] {
        let mut bench = claimed();
        bench.tick_nanos(nanos);
        match code {
            Some(code) => assert_eq!(bench.refused("coder-2", bench.begin("t")), code),
            None => drop(bench.ok("coder-2", bench.begin("t"))),
        }
    }
    for (nanos, free) in [(lease - 1, false), (lease, true), (lease + 1, true)] {
        let mut review = Bench::with_tasks(&["t"]);
        review.hand_in("coder-1", "t");
        review.ok("reviewer-1", review.start_review("t"));
        review.tick_nanos(nanos);
        let taken = review.attempt(review.actor("reviewer-2"), review.start_review("t"), None);
        assert_eq!(taken.is_ok(), free);
    }
}

/// Expiry alone transfers nothing: the holder may work until another agent claims.
#[test]
fn expired_holder_may_work_until_another_claims() {
    let mut bench = claimed();
    bench.tick(LEASE * 5);
    let mut renewed = bench.clone();
    renewed.ok("coder-1", Renew { task: id("t"), epoch: Some(1) });
    assert_eq!(renewed.refused("coder-2", renewed.begin("t")), Code::Held);
    let mut submitted = bench.clone();
    submitted.ok("coder-1", submitted.submit("t"));
    assert_eq!(submitted.status("t"), Status::ReadyForReview);
    bench.claim("coder-2", "t");
    assert_eq!(bench.refused("coder-1", bench.submit("t")), Code::LeaseLost);
    assert_eq!(bench.refused("coder-1", Renew { task: id("t"), epoch: Some(1) }), Code::Epoch);
    assert_eq!(bench.task("t").epoch, 2);
}

#[test]
fn another_boot_ends_every_lease_and_reservation() {
    let mut bench = claimed();
    bench.now.boot = "next".to_owned();
    bench.now.monotonic = 1;
    bench.claim("coder-2", "t");
    let mut reserved = Bench::with_tasks(&["t"]);
    reserved.rejected("coder-1", "t", REASONS[0]);
    reserved.now.boot = "next".to_owned();
    reserved.now.monotonic = 1;
    reserved.claim("coder-2", "t");
}

#[test]
fn a_changed_wall_clock_changes_no_lease() {
    for jump in [-3 * 86_400, 2 * 3600] {
        let mut bench = claimed();
        bench.now.wall = Wall(bench.now.wall.0 + jump);
        assert_eq!(bench.refused("coder-2", bench.begin("t")), Code::Held);
        bench.tick(LEASE);
        bench.claim("coder-2", "t");
    }
}

#[test]
fn any_work_on_a_task_renews_its_lease() {
    let mut bench = claimed();
    bench.tick(LEASE - 1);
    bench.ok("coder-1", bench.checkpoint("t"));
    bench.tick(LEASE - 1);
    assert_eq!(bench.refused("coder-2", bench.begin("t")), Code::Held);
    bench.tick(1);
    bench.ok("coder-2", bench.begin("t"));
}

/// Any report of an agent renews its own lease, and no other agent's.
#[test]
fn any_report_of_an_agent_renews_its_lease() {
    let mut bench = claimed();
    bench.tick(LEASE - 1);
    bench.ok("coder-1", bench.note("still here"));
    bench.tick(LEASE - 1);
    assert_eq!(bench.refused("coder-2", bench.begin("t")), Code::Held);
    bench.ok("both-1", bench.note("me too"));
    bench.tick(1);
    bench.claim("coder-2", "t");
    // A report of the former incarnation renews nothing.
    let mut bench = claimed();
    bench.register("coder-1", &["coder"]);
    let before = bench.task("t").clone();
    bench.tick(1);
    bench.ok("coder-1", bench.note("new here"));
    assert_eq!(bench.task("t"), &before);
}

#[test]
fn pause_stops_takeovers_and_resume_adds_time() {
    let mut bench = claimed();
    bench.add(&["r"]);
    bench.rejected("coder-2", "r", REASONS[0]);
    bench.world.switches.set.insert(pause(None));
    bench.tick(LEASE * 3);
    for name in ["t", "r"] {
        assert_eq!(bench.refused("both-1", bench.begin(name)), Code::Switched);
    }
    bench.ok("coder-1", Renew { task: id("t"), epoch: None });
    bench.world.switches.set.clear();
    bench.ok("human", ExtendLeases { seconds: LEASE * 3 });
    assert_eq!(bench.refused("both-1", bench.begin("t")), Code::Held);
    assert_eq!(bench.refused("both-1", bench.begin("r")), Code::Reserved);
    bench.tick(LEASE - 1);
    assert_eq!(bench.refused("both-1", bench.begin("r")), Code::Reserved);
    bench.tick(1);
    bench.claim("both-1", "r");
}

/// A pause of one agent may last longer than another task's hold: paths claimed since then stay claimed.
#[test]
fn resume_retakes_no_paths_held_by_others() {
    let mut bench = Bench::new();
    bench.ok("planner-1", plan_of(vec![new_task("a", "src/"), new_task("b", "src/b/")]));
    bench.claim("coder-1", "a");
    bench.ok("coder-1", bench.block("a"));
    bench.tick(HOLD);
    bench.claim("coder-2", "b");
    bench.ok("human", ExtendLeases { seconds: HOLD * 4 });
    assert!(!bench.task("a").is_live(&bench.now));
    assert!(bench.task("b").is_live(&bench.now));
    // If no other task claimed them, the paths are held again.
    let mut bench = Bench::with_tasks(&["a"]);
    bench.claim("coder-1", "a");
    bench.ok("coder-1", bench.block("a"));
    bench.tick(HOLD);
    bench.ok("human", ExtendLeases { seconds: HOLD });
    assert!(bench.task("a").is_live(&bench.now));
}
