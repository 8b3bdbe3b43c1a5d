//! Stalled tasks, and why they are stalled.

use super::Desk;
use crate::board::rules::RetireAgent;
use crate::board::testing::{Bench, LEASE, REASONS, agent, id, new_task, pause, plan_of};
use crate::policy::alerts::Kind;

const LONG: u64 = 15 * 60;

fn retire(desk: &mut Desk, names: &[&str]) {
    for name in names {
        desk.bench.ok("human", RetireAgent { id: agent(name) });
    }
}

fn desk(tasks: &[&str]) -> Desk {
    Desk::new(Bench::with_tasks(tasks))
}

#[test]
fn unstaffed_role_is_reported_once() {
    let mut desk = desk(&["t1", "t2"]);
    retire(&mut desk, &["coder-1", "coder-2", "both-1"]);
    desk.bench.tick(LONG - 1);
    assert!(desk.of(Kind::Stalled).is_empty());
    assert_eq!(desk.report().due_in, Some(1));
    desk.tick_to_due();
    assert_eq!(desk.news(Kind::Stalled), ["coder"]);
    let text = desk.text(Kind::Stalled);
    assert!(text.starts_with("unstaffed: ") && text.contains("t1, t2"), "{text}");
    assert!(desk.news(Kind::Stalled).is_empty());
    // Removed, and back again.
    desk.bench.register("coder-9", &["coder"]);
    assert!(desk.news(Kind::Stalled).is_empty());
    retire(&mut desk, &["coder-9"]);
    assert_eq!(desk.news(Kind::Stalled), ["coder"]);
}

#[test]
fn idle_agent_of_the_role_is_reported_as_waiting() {
    let mut desk = desk(&["t1"]);
    desk.bench.tick(LONG - 1);
    assert!(desk.of(Kind::Stalled).is_empty());
    desk.bench.tick(1);
    assert!(desk.text(Kind::Stalled).starts_with("waiting: ready for a coder"));
    // Tasks that wait for busy agents are not stalled.
    desk.bench.add(&["t2", "t3", "t4"]);
    for (name, task) in [("coder-1", "t2"), ("coder-2", "t3"), ("both-1", "t4")] {
        desk.bench.claim(name, task);
    }
    desk.bench.tick(LEASE - 1);
    assert!(desk.of(Kind::Stalled).is_empty());
    // Neither are tasks that wait for an agent that has just become free.
    for (name, task) in [("coder-1", "t2"), ("coder-2", "t3"), ("both-1", "t4")] {
        let block = desk.bench.block(task);
        desk.bench.ok(name, block);
    }
    assert!(desk.of(Kind::Stalled).is_empty());
    desk.bench.tick(LONG);
    assert_eq!(desk.of(Kind::Stalled), ["coder"]);
}

#[test]
fn expired_lease_without_takeover_is_a_stall() {
    let mut desk = desk(&["t1"]);
    desk.bench.claim("coder-1", "t1");
    desk.bench.tick(LEASE + LONG - 1);
    assert_eq!(desk.holds(), ["lease_expired t1"]);
    desk.bench.tick(1);
    assert_eq!(desk.holds(), ["lease_expired t1", "stalled coder"]);
}

#[test]
fn halt_reboot_and_watcher_start_are_no_stall() {
    let mut desk = desk(&["t1"]);
    desk.bench.tick(10 * LONG);
    assert_eq!(desk.of(Kind::Stalled), ["coder"]);
    desk.awake_since = desk.bench.now.wall;
    assert!(desk.of(Kind::Stalled).is_empty());
    desk.tick_to_due();
    assert_eq!(desk.of(Kind::Stalled), ["coder"]);
    for subject in [None, Some("t1")] {
        desk.bench.world.switches.set = [pause(subject)].into();
        assert!(desk.of(Kind::Stalled).is_empty(), "{subject:?}");
    }
}

#[test]
fn task_refused_to_all_agents_is_reported() {
    let mut bench = Bench::with_tasks(&["t1"]);
    bench.hand_in("both-1", "t1");
    let mut desk = Desk::new(bench);
    retire(&mut desk, &["reviewer-1", "reviewer-2"]);
    desk.bench.tick(LONG);
    assert_eq!(desk.of(Kind::Stalled), ["t1"]);
    let text = desk.text(Kind::Stalled);
    assert!(text.starts_with("refused: ") && text.contains("both-1"), "{text}");
    desk.bench.register("reviewer-1", &["code_reviewer"]);
    assert!(desk.of(Kind::Stalled).is_empty(), "it has just come");
}

#[test]
fn paths_held_by_resting_work_are_reported() {
    let mut bench = Bench::new();
    bench.ok("planner-1", plan_of(vec![new_task("t1", "src/"), new_task("t2", "src/a.rs")]));
    bench.claim("coder-1", "t1");
    let mut desk = Desk::new(bench);
    // Held by a working agent: no stall.
    for _ in 0..20 {
        desk.bench.tick(LEASE - 1);
        let renew = crate::board::rules::Renew { task: id("t1"), epoch: None };
        desk.bench.ok("coder-1", renew);
        assert!(desk.of(Kind::Stalled).is_empty());
    }
    let release = desk.bench.release("t1");
    desk.bench.ok("coder-1", release);
    desk.bench.tick(LONG);
    let report = desk.report();
    let texts: Vec<&str> = report
        .alerts
        .iter()
        .filter(|alert| alert.kind == Kind::Stalled)
        .map(|alert| alert.text.as_str())
        .collect();
    assert!(texts.iter().any(|text| text.starts_with("held: t1, on which no agent works")), "{texts:?}");
}

#[test]
fn unused_reservation_is_reported() {
    let mut bench = Bench::with_config(|config| config.lease_seconds = 4 * LONG);
    bench.add(&["t1"]);
    bench.rejected("coder-1", "t1", REASONS[0]);
    let mut desk = Desk::new(bench);
    desk.bench.tick(LONG - 1);
    assert!(desk.of(Kind::Stalled).is_empty());
    desk.bench.tick(1);
    assert_eq!(desk.of(Kind::Stalled), ["coder-1"]);
    assert!(desk.text(Kind::Stalled).starts_with("held: reserved for coder-1"));
    // The agent works on another task first: no stall.
    desk.bench.add(&["t2"]);
    desk.bench.claim("coder-1", "t2");
    assert!(desk.of(Kind::Stalled).is_empty());
}

#[test]
fn only_the_root_of_a_chain_is_reported() {
    let mut bench = Bench::new();
    let mut second = new_task("t2", "two/");
    second.depends_on = vec![id("t1")];
    bench.ok("planner-1", plan_of(vec![new_task("t1", "one/"), second]));
    let mut desk = Desk::new(bench);
    desk.bench.tick(LONG);
    let text = desk.text(Kind::Stalled);
    assert!(text.contains("t1") && !text.contains("t2"), "{text}");
    // The dependency will never be merged.
    let abandon = desk.bench.abandon("t1");
    desk.bench.ok("human", abandon);
    assert!(desk.of(Kind::Stalled).is_empty(), "just now");
    desk.bench.tick(LONG);
    assert!(desk.text(Kind::Stalled).starts_with("waiting: t1 will never be merged (ABANDONED)"));
}

#[test]
fn unplanned_goal_is_reported() {
    let mut desk = Desk::new(Bench::new());
    desk.bench.tick(LONG - 1);
    assert!(desk.of(Kind::Stalled).is_empty());
    desk.bench.tick(1);
    assert_eq!(desk.of(Kind::Stalled), ["planner"]);
    assert!(desk.text(Kind::Stalled).starts_with("waiting: ready for a planner"));
    retire(&mut desk, &["planner-1"]);
    assert!(desk.text(Kind::Stalled).starts_with("unstaffed: "));
    // A blocked task waits for an answer, and is reported as blocked.
    desk.bench.register("planner-2", &["planner"]);
    desk.bench.ok("planner-2", plan_of(vec![new_task("t1", "one/")]));
    let block = desk.bench.block("t1");
    desk.bench.ok("human", block);
    desk.bench.tick(LONG);
    assert!(desk.of(Kind::Stalled).is_empty());
}
