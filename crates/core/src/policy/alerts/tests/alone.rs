//! Alerts about one task.

use super::Desk;
use crate::board::result::ResultStatus;
use crate::board::rules::{
    AddTasks, MergeFailure, NewTask, RejectResult, RetireAgent, SubmitResult, Unchanged,
};
use crate::board::slice::SliceKind;
use crate::board::task::Kind as BoardKind;
use crate::board::testing::{Bench, LEASE, REASONS, agent, id, new_task, pause, plan_of, role, untouched};
use crate::policy::alerts::Kind;

/// The grace of a bench: one heartbeat of its configuration.
const GRACE: u64 = 60;

fn working() -> Desk {
    let mut bench = Bench::with_tasks(&["t1"]);
    bench.claim("coder-1", "t1");
    Desk::new(bench)
}

#[test]
fn expired_lease_is_reported_after_its_grace() {
    let mut desk = working();
    desk.bench.tick(LEASE);
    assert!(desk.of(Kind::LeaseExpired).is_empty(), "its holder may still renew");
    desk.bench.tick(GRACE - 1);
    assert!(desk.of(Kind::LeaseExpired).is_empty());
    assert_eq!(desk.report().due_in, Some(1));
    desk.tick_to_due();
    assert_eq!(desk.news(Kind::LeaseExpired), ["t1"]);
    desk.bench.tick(500);
    assert!(desk.news(Kind::LeaseExpired).is_empty(), "once");
    let renew = crate::board::rules::Renew { task: id("t1"), epoch: None };
    desk.bench.ok("coder-1", renew);
    // Without a check in between it still counts as a second expiry.
    desk.bench.tick(LEASE + GRACE);
    assert_eq!(desk.news(Kind::LeaseExpired), ["t1"]);
    assert!(desk.text(Kind::LeaseExpired).contains("coder-1"));
}

#[test]
fn halted_holders_expired_lease_is_not_reported() {
    for subject in [None, Some("t1"), Some("coder-1")] {
        let mut desk = working();
        desk.bench.tick(LEASE + GRACE);
        desk.bench.world.switches.set.insert(pause(subject));
        assert!(desk.of(Kind::LeaseExpired).is_empty(), "{subject:?}");
    }
    let mut desk = working();
    desk.bench.tick(LEASE + GRACE);
    desk.bench.world.switches.set.insert(pause(Some("coder-2")));
    assert_eq!(desk.of(Kind::LeaseExpired), ["t1"]);
}

#[test]
fn retired_or_new_incarnation_loses_its_lease() {
    let mut desk = working();
    desk.bench.register("coder-1", &["coder"]);
    assert!(desk.of(Kind::LeaseExpired).is_empty(), "it has its grace to claim again");
    desk.bench.tick(GRACE);
    assert_eq!(desk.of(Kind::LeaseExpired), ["t1"]);
    let mut desk = working();
    desk.bench.ok("human", RetireAgent { id: agent("coder-1") });
    assert_eq!(desk.of(Kind::LeaseExpired), ["t1"]);
}

#[test]
fn after_a_reboot_the_grace_counts_from_the_boot() {
    let mut desk = working();
    desk.bench.now.boot = "another".to_owned();
    desk.bench.now.monotonic = 10_000_000_000;
    assert!(desk.of(Kind::LeaseExpired).is_empty());
    desk.bench.tick(GRACE);
    assert_eq!(desk.of(Kind::LeaseExpired), ["t1"]);
}

#[test]
fn expired_review_lease_is_reported() {
    let mut bench = Bench::with_tasks(&["t1"]);
    bench.hand_in("coder-1", "t1");
    let start = bench.start_review("t1");
    bench.ok("reviewer-1", start);
    let mut desk = Desk::new(bench);
    desk.bench.tick(LEASE + GRACE - 1);
    assert!(desk.of(Kind::LeaseExpired).is_empty());
    desk.bench.tick(1);
    assert_eq!(desk.of(Kind::LeaseExpired), ["t1"]);
    assert!(desk.text(Kind::LeaseExpired).contains("review of t1 by reviewer-1"));
}

#[test]
fn every_block_is_reported_once() {
    let mut desk = working();
    assert!(desk.news(Kind::Blocked).is_empty());
    let block = desk.bench.block("t1");
    desk.bench.ok("coder-1", block.clone());
    assert_eq!(desk.news(Kind::Blocked), ["t1"]);
    assert!(desk.text(Kind::Blocked).contains("the spec is silent; asked: what now?"));
    desk.bench.tick(10_000);
    assert!(desk.news(Kind::Blocked).is_empty());
    let unblock = desk.bench.unblock("t1");
    desk.bench.ok("human", unblock);
    assert!(desk.of(Kind::Blocked).is_empty());
    // Without a look in between.
    desk.bench.ok("human", block);
    assert_eq!(desk.news(Kind::Blocked), ["t1"]);
}

#[test]
fn rejected_task_without_agent_is_orphaned() {
    let rejected = || {
        let mut bench = Bench::with_tasks(&["t1"]);
        bench.rejected("coder-1", "t1", REASONS[0]);
        Desk::new(bench)
    };
    let mut desk = rejected();
    desk.bench.tick(LEASE - 1);
    assert!(desk.of(Kind::OrphanedRejected).is_empty());
    assert_eq!(desk.report().due_in, Some(1));
    desk.tick_to_due();
    assert_eq!(desk.news(Kind::OrphanedRejected), ["t1"]);
    assert!(desk.news(Kind::OrphanedRejected).is_empty());
    // Rejected again, and orphaned again.
    desk.bench.rejected("coder-1", "t1", REASONS[1]);
    desk.bench.tick(LEASE);
    assert_eq!(desk.news(Kind::OrphanedRejected), ["t1"]);
    let mut desk = rejected();
    desk.bench.ok("human", RetireAgent { id: agent("coder-1") });
    assert!(desk.text(Kind::OrphanedRejected).contains("coder-1 is gone"));
    assert_eq!(desk.news(Kind::OrphanedRejected), ["t1"]);
    desk.bench.world.switches.set.insert(pause(None));
    assert!(desk.of(Kind::OrphanedRejected).is_empty());
    desk.news(Kind::OrphanedRejected);
    desk.bench.world.switches.set.clear();
    assert!(desk.news(Kind::OrphanedRejected).is_empty(), "the same story");
}

fn patient() -> Bench {
    let mut bench = Bench::with_config(|config| {
        config.breaker_rejections = 100;
        config.max_review_cycles = 100;
        config.max_coder_iterations = 100;
    });
    bench.add(&["t1"]);
    bench
}

#[test]
fn three_rejections_of_an_agent_are_a_loop() {
    let mut desk = Desk::new(patient());
    let reject = |desk: &mut Desk, coder: &str, number: usize| {
        desk.bench.rejected(coder, "t1", REASONS[number % REASONS.len()]);
    };
    reject(&mut desk, "coder-1", 0);
    reject(&mut desk, "coder-1", 1);
    assert!(desk.news(Kind::ReviewLoop).is_empty());
    reject(&mut desk, "coder-1", 2);
    assert_eq!(desk.news(Kind::ReviewLoop), ["t1"]);
    reject(&mut desk, "coder-1", 3);
    reject(&mut desk, "coder-1", 4);
    assert!(desk.news(Kind::ReviewLoop).is_empty(), "the same loop");
    reject(&mut desk, "coder-1", 5);
    assert_eq!(desk.news(Kind::ReviewLoop), ["t1"], "twice as long");
    // Another agent starts again at 1.
    desk.bench.tick(LEASE);
    reject(&mut desk, "coder-2", 6);
    assert!(desk.of(Kind::ReviewLoop).is_empty());
    reject(&mut desk, "coder-2", 7);
    reject(&mut desk, "coder-2", 8);
    assert_eq!(desk.news(Kind::ReviewLoop), ["t1"]);
}

#[test]
fn loop_ended_by_breaker_is_reported_with_block() {
    let mut desk = Desk::new(Bench::with_tasks(&["t1"]));
    for reason in &REASONS[..3] {
        assert!(desk.of(Kind::ReviewLoop).is_empty());
        desk.bench.rejected("coder-1", "t1", reason);
    }
    assert_eq!(desk.holds(), ["blocked t1", "review_loop t1"]);
}

#[test]
fn near_limits_are_reported() {
    let mut bench = Bench::with_config(|config| config.breaker_rejections = 100);
    bench.add(&["t1"]);
    let mut desk = Desk::new(bench);
    for (number, reason) in REASONS.iter().enumerate().take(4) {
        let near = number >= 3;
        assert_eq!(!desk.of(Kind::NearLimit).is_empty(), near, "{number} cycles");
        assert_eq!(!desk.news(Kind::NearLimit).is_empty(), number == 3, "{number} cycles");
        desk.bench.rejected("coder-1", "t1", reason);
    }
    assert!(desk.text(Kind::NearLimit).contains("4 of 5 review cycles"));
}

#[test]
fn iterations_come_near_their_limit_too() {
    let mut desk = Desk::new(patient());
    for iteration in 1..=10u32 {
        desk.bench.claim("coder-1", "t1");
        desk.bench.board.rest.config.max_coder_iterations = 10;
        let wanted = match iteration {
            8 | 10 => vec!["t1"],
            _ => Vec::new(),
        };
        assert_eq!(desk.news(Kind::NearLimit), wanted, "iteration {iteration}");
        desk.bench.board.rest.config.max_coder_iterations = 100;
        let release = desk.bench.release("t1");
        desk.bench.ok("coder-1", release);
    }
}

#[test]
fn near_limit_is_proportional_to_tasks_own_limit() {
    let near = |iterations: u32, cycles: u32, own: Option<(u32, u32)>| {
        let mut task = new_task("t1", "t1/");
        (task.max_coder_iterations, task.max_review_cycles) =
            own.map_or((None, None), |(iterations, cycles)| (Some(iterations), Some(cycles)));
        let mut bench = Bench::new();
        bench.ok("planner-1", AddTasks { ..plan_of(vec![task]) });
        bench.claim("coder-1", "t1");
        let (head, _) = bench.board.task_mut(&id("t1")).expect("t1").parts_mut();
        (head.iteration, head.review_cycles_total) = (iterations, cycles);
        Desk::new(bench).of(Kind::NearLimit).len()
    };
    assert_eq!(near(7, 2, None), 0);
    assert_eq!(near(8, 2, None), 1);
    assert_eq!(near(8, 3, None), 2);
    // 16 of 20 and 6 of 10.
    assert_eq!(near(15, 5, Some((20, 10))), 0);
    assert_eq!(near(16, 6, Some((20, 10))), 2);
    // 3 of 3 and 2 of 3; a first try is near nothing.
    assert_eq!(near(2, 1, Some((3, 3))), 0);
    assert_eq!(near(3, 2, Some((3, 3))), 2);
    assert_eq!(near(1, 1, Some((1, 1))), 0);
}

#[test]
fn every_failed_integration_is_reported() {
    let mut bench = Bench::with_tasks(&["t1"]);
    bench.failed_to_merge("coder-1", "t1", MergeFailure::TrivialConflict);
    let mut desk = Desk::new(bench);
    assert_eq!(desk.news(Kind::IntegrationFailed), ["t1"]);
    assert!(desk.text(Kind::IntegrationFailed).contains("it does not fit"));
    assert!(desk.news(Kind::IntegrationFailed).is_empty());
    // Merged again without a claim in between.
    let begin = desk.bench.begin_merge("t1");
    desk.bench.ok("reviewer-1", begin);
    let fail = desk.bench.fail_merge("t1", MergeFailure::TrivialConflict);
    desk.bench.ok("reviewer-1", fail);
    assert_eq!(desk.news(Kind::IntegrationFailed), ["t1"]);
}

#[test]
fn two_failed_agents_exhaust_the_hypothesis() {
    let mut desk = Desk::new(Bench::with_tasks(&["t1"]));
    for (agent, holds) in [("coder-1", false), ("coder-2", true)] {
        desk.bench.tick(LEASE);
        desk.bench.claim(agent, "t1");
        let block = desk.bench.block("t1");
        desk.bench.ok("overseer-1", block);
        assert_eq!(desk.of(Kind::HypothesisExhausted).len(), usize::from(holds), "{agent}");
        assert_eq!(desk.of(Kind::Blocked).len(), usize::from(!holds), "one word for one thing");
        if !holds {
            let unblock = desk.bench.unblock("t1");
            desk.bench.ok("human", unblock);
        }
    }
    assert_eq!(desk.news(Kind::HypothesisExhausted), ["t1"]);
    assert!(desk.news(Kind::HypothesisExhausted).is_empty());
    let abandon = desk.bench.abandon("t1");
    desk.bench.ok("human", abandon);
    assert!(desk.of(Kind::HypothesisExhausted).is_empty());
}

#[test]
fn claim_by_another_agent_is_reported() {
    let mut desk = working();
    assert!(desk.news(Kind::Reassigned).is_empty());
    desk.bench.tick(LEASE);
    desk.bench.claim("coder-2", "t1");
    assert_eq!(desk.news(Kind::Reassigned), ["t1"]);
    assert_eq!(desk.text(Kind::Reassigned), "t1 went from coder-1 to coder-2");
    let release = desk.bench.release("t1");
    desk.bench.ok("coder-2", release);
    desk.bench.claim("coder-2", "t1");
    assert!(desk.of(Kind::Reassigned).is_empty(), "its own again");
    desk.bench.tick(LEASE);
    desk.bench.claim("coder-1", "t1");
    desk.bench.tick(LEASE);
    desk.bench.claim("coder-2", "t1");
    assert_eq!(desk.news(Kind::Reassigned), ["t1"], "again");
}

#[test]
fn a_draft_is_stale_after_a_day() {
    let mut bench = Bench::new();
    let plan = AddTasks { finalize: false, ..plan_of(vec![new_task("t1", "t1/")]) };
    bench.ok("planner-1", plan);
    let mut desk = Desk::new(bench);
    desk.bench.tick(24 * 3600 - 1);
    assert!(desk.of(Kind::StaleDraft).is_empty());
    desk.bench.tick(1);
    assert_eq!(desk.news(Kind::StaleDraft), ["t1"]);
    assert!(desk.news(Kind::StaleDraft).is_empty());
}

#[test]
fn plan_that_waits_for_acceptance_is_reported_once() {
    let mut bench = Bench::new();
    bench.register("supervisor-1", &["supervisor"]);
    let plan = NewTask {
        kind: BoardKind::Report,
        role: role("supervisor"),
        slice_kind: Some(SliceKind::Work),
        scope: Default::default(),
        ..new_task("a-plan", "a/")
    };
    bench.ok("human", plan_of(vec![plan]));
    bench.claim("supervisor-1", "a-plan");
    let digest = "0123456789abcdef".repeat(4);
    let result = SubmitResult {
        task: id("a-plan"),
        epoch: None,
        status: ResultStatus::Complete,
        summary: "planned".to_owned(),
        blocked_reason: None,
        evidence: Vec::new(),
        digest: digest.clone(),
        found: Unchanged { head: untouched().head, changed: Vec::new(), untracked: Vec::new() },
    };
    bench.ok("supervisor-1", result);
    let mut desk = Desk::new(bench);
    desk.bench.tick(599);
    assert!(desk.of(Kind::PlanWaiting).is_empty());
    desk.bench.tick(1);
    assert_eq!(desk.news(Kind::PlanWaiting), ["a-plan"]);
    assert!(desk.text(Kind::PlanWaiting).contains("supervisor-1"));
    desk.bench.tick(600);
    assert!(desk.news(Kind::PlanWaiting).is_empty(), "once");
    let (task, reason, findings) = (id("a-plan"), REASONS[0].to_owned(), vec!["no criterion".to_owned()]);
    desk.bench.ok("human", RejectResult { task, digest, reason, findings });
    assert!(desk.of(Kind::PlanWaiting).is_empty());
}
