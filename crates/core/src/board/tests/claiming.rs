//! Claiming a task: reservation, takeover, repeated claims, and undone claims.

use crate::board::intent::Work;
use crate::board::refusal::{Class, Code};
use crate::board::rules::*;
use crate::board::task::{Left, Status};
use crate::board::testing::*;

/// The start of the branch an open claim would make, and whether the former worktree is used.
fn planned(bench: &Bench, name: &str) -> (String, u64, bool) {
    let intent = bench.board.intent_of(&id(name)).expect("open");
    match &intent.work {
        Work::Claim(work) => {
            let start = if work.start == commit(99) { 99 } else { 1 };
            (work.branch.clone(), start, work.reuse)
        }
        other => panic!("not a claim: {other:?}"),
    }
}

#[test]
fn rejected_task_is_reserved_for_its_agent() {
    let mut rejected = Bench::with_tasks(&["t"]);
    rejected.rejected("coder-1", "t", REASONS[0]);
    assert_eq!(rejected.refused("coder-2", rejected.begin("t")), Code::Reserved);

    let mut own = rejected.clone();
    own.claim("coder-1", "t");

    let mut released = rejected.clone();
    released.ok("coder-1", released.release("t"));
    assert_eq!(released.status("t"), Status::Rejected);
    released.claim("coder-2", "t");

    let mut retired = rejected.clone();
    retired.ok("coder-1", RetireAgent { id: agent("coder-1") });
    retired.claim("coder-2", "t");

    let mut late = rejected.clone();
    late.tick(LEASE - 1);
    assert_eq!(late.refused("coder-2", late.begin("t")), Code::Reserved);
    late.tick(1);
    late.claim("coder-2", "t");
}

#[test]
fn failed_integration_reservation_expires() {
    let mut bench = Bench::with_tasks(&["t"]);
    bench.failed_to_merge("coder-1", "t", MergeFailure::TrivialConflict);
    assert_eq!(bench.refused("coder-2", bench.begin("t")), Code::Reserved);
    bench.tick(LEASE);
    bench.ok("coder-2", bench.begin("t"));
    assert!(bench.task("t").integration_fix);
    assert_eq!(planned(&bench, "t"), ("task/t.2".to_owned(), 99, false));
}

/// The approver may fix the work it approved: then the old approval is void, and the approver may not review again.
#[test]
fn approver_who_repairs_becomes_implementer() {
    let mut bench = Bench::with_tasks(&["t"]);
    bench.hand_in("coder-1", "t");
    bench.ok("both-1", bench.start_review("t"));
    bench.ok("both-1", bench.approve("t"));
    bench.ok("both-1", bench.begin_merge("t"));
    bench.ok("both-1", bench.fail_merge("t", MergeFailure::RedGate));
    bench.tick(LEASE);
    bench.ok("both-1", bench.begin("t"));
    let mut undone = bench.clone();
    undone.ok("human", undone.cancel("t"));
    assert_eq!(undone.status("t"), Status::IntegrationFailed);
    undone.ok("reviewer-1", undone.begin_merge("t"));

    bench.ok("both-1", bench.finish("t"));
    assert!(bench.task("t").body().approval.is_none());
    bench.ok("both-1", bench.checkpoint("t"));
    bench.ok("both-1", bench.submit("t"));
    assert_eq!(bench.refused("both-1", bench.start_review("t")), Code::Tier0SelfApproval);
}

#[test]
fn same_agent_keeps_worktree_and_iterations() {
    let mut bench = Bench::with_tasks(&["t"]);
    bench.rejected("coder-1", "t", REASONS[0]);
    bench.ok("coder-1", bench.begin("t"));
    assert_eq!(planned(&bench, "t"), ("task/t".to_owned(), 99, true));
    bench.ok("coder-1", bench.finish("t"));
    let task = bench.task("t");
    assert_eq!((task.iteration, task.review_cycles_current, task.review_cycles_total), (2, 1, 1));
    assert_eq!(task.body().attempts.len(), 1);
    assert_eq!(task.body().attempts[0].epoch, task.epoch);
}

#[test]
fn another_agent_gets_a_new_branch_name() {
    let mut bench = Bench::with_tasks(&["t"]);
    bench.rejected("coder-1", "t", REASONS[0]);
    bench.tick(LEASE);
    bench.ok("coder-2", bench.begin("t"));
    assert_eq!(planned(&bench, "t"), ("task/t.2".to_owned(), 1, false));
    bench.ok("coder-2", bench.finish("t"));
    let task = bench.task("t");
    assert_eq!((task.iteration, task.review_cycles_current, task.review_cycles_total), (1, 0, 1));
    assert_eq!(task.body().consecutive_rejections, 0);
    assert_eq!(task.body().attempts.len(), 2);
    assert_eq!(task.implementers, [agent("coder-1"), agent("coder-2")]);
}

/// Where the next agent's branch starts: at the former head after a handoff, a release or for a repair; else at the base.
#[test]
fn next_agent_starts_from_kept_or_fresh_branch() {
    type Story = fn(&mut Bench);
    let stories: [(&str, Story, u64); 6] = [
        (
            "handoff",
            |bench| {
                bench.claim("coder-1", "t");
                bench.ok("coder-1", bench.hand_off("t"));
            },
            99,
        ),
        (
            "release",
            |bench| {
                bench.claim("coder-1", "t");
                bench.ok("coder-1", bench.release("t"));
            },
            99,
        ),
        (
            "release of a reserved task",
            |bench| {
                bench.rejected("coder-1", "t", REASONS[0]);
                bench.ok("coder-1", bench.release("t"));
            },
            99,
        ),
        (
            "expiry",
            |bench| {
                bench.claim("coder-1", "t");
                bench.tick(LEASE);
            },
            1,
        ),
        (
            "block",
            |bench| {
                bench.claim("coder-1", "t");
                bench.ok("planner-1", bench.block("t"));
                bench.ok("planner-1", bench.unblock("t"));
                bench.tick(LEASE);
            },
            1,
        ),
        (
            "repair",
            |bench| {
                bench.failed_to_merge("coder-1", "t", MergeFailure::RedGate);
                bench.tick(LEASE);
            },
            99,
        ),
    ];
    for (story, tell, start) in stories {
        let mut bench = Bench::with_tasks(&["t"]);
        tell(&mut bench);
        bench.ok("coder-2", bench.begin("t"));
        let (branch, found, reuse) = planned(&bench, "t");
        assert_eq!((found, reuse), (start, false), "{story}");
        assert_eq!(branch, format!("task/t.{}", bench.task("t").epoch), "{story}");
        bench.ok("coder-2", bench.finish("t"));
        assert_eq!(bench.task("t").body().left, None, "{story}");
    }
}

#[test]
fn first_attempt_has_the_plain_branch_name() {
    let mut bench = Bench::with_tasks(&["t"]);
    bench.ok("planner-1", bench.block("t"));
    bench.ok("planner-1", bench.unblock("t"));
    bench.ok("coder-1", bench.begin("t"));
    assert_eq!(planned(&bench, "t").0, "task/t");
    // The worktree of an undone claim is never used.
    bench.ok("human", bench.cancel("t"));
    bench.ok("coder-1", bench.begin("t"));
    assert_eq!(planned(&bench, "t"), ("task/t.3".to_owned(), 1, false));
}

#[test]
fn undone_claim_restores_state_and_keeps_epoch() {
    type Story = fn(&mut Bench);
    let stories: [Story; 5] = [
        |_| {},
        |bench| {
            bench.rejected("coder-1", "t", REASONS[0]);
            bench.tick(LEASE);
        },
        |bench| {
            bench.failed_to_merge("coder-1", "t", MergeFailure::RedGate);
            bench.tick(LEASE);
        },
        |bench| {
            bench.claim("coder-1", "t");
            bench.ok("coder-1", bench.hand_off("t"));
        },
        |bench| {
            bench.claim("coder-1", "t");
            bench.tick(LEASE);
        },
    ];
    for tell in stories {
        let mut bench = Bench::with_tasks(&["t"]);
        tell(&mut bench);
        let former = bench.task("t").clone();
        bench.ok("coder-2", bench.begin("t"));
        bench.ok("human", bench.cancel("t"));
        let mut head = bench.task("t").head().clone();
        assert_eq!(head.epoch, former.epoch + 1);
        head.epoch -= 1;
        if let Some(lease) = &mut head.lease {
            assert_eq!(lease.epoch, former.epoch + 1);
            lease.epoch -= 1;
        }
        assert_eq!(&head, former.head());
        assert_eq!(bench.task("t").body().left, former.body().left);
        assert_eq!(bench.task("t").body().approval, former.body().approval);
        assert!(bench.board.rest.intents.is_empty());
    }
}

/// No agent holds two tasks, not even after an undone takeover.
#[test]
fn undone_takeover_frees_task_if_holder_moved_on() {
    let mut bench = Bench::with_tasks(&["t", "u"]);
    bench.claim("coder-1", "t");
    bench.tick(LEASE);
    bench.ok("coder-2", bench.begin("t"));
    bench.claim("coder-1", "u");
    bench.ok("human", bench.cancel("t"));
    let task = bench.task("t");
    assert_eq!((task.status, task.lease.is_none()), (Status::Idle, true));
    assert_eq!(task.body().left, Some(Left::Released));
}

#[test]
fn open_claim_intent_refuses_other_actors() {
    let mut bench = Bench::with_tasks(&["t"]);
    bench.ok("coder-1", bench.begin("t"));
    assert_eq!(bench.status("t"), Status::Working);
    let begin = bench.begin("t");
    let refusal = bench.refusal("coder-2", begin);
    assert_eq!((refusal.code, refusal.code.class()), (Code::IntentOpen, Class::Stale));
    assert!(refusal.message.contains("coder-1"), "{}", refusal.message);
    bench.tick(LEASE * 10);
    assert_eq!(bench.refused("coder-2", bench.begin("t")), Code::IntentOpen);
    for by in ["planner-1", "human"] {
        assert_eq!(bench.refused(by, bench.abandon("t")), Code::IntentOpen);
        assert_eq!(bench.refused(by, bench.block("t")), Code::IntentOpen);
    }
    assert_eq!(bench.refused("coder-1", bench.checkpoint("t")), Code::IntentOpen);
}

/// A process that was thought dead and comes back is refused: its intent belongs to another process.
#[test]
fn only_its_owner_ends_an_intent() {
    let mut bench = Bench::with_tasks(&["t"]);
    bench.ok("coder-1", bench.begin("t"));
    let intent = bench.intent("t");
    let stranger = FinishClaim { owner: process(2), ..bench.finish("t") };
    assert_eq!(bench.refused("coder-1", stranger.clone()), Code::IntentGone);
    bench.ok("coder-2", TakeOver { intent, former: process(1), owner: process(2) });
    // Two processes noticed the death: only one of them takes over.
    assert_eq!(
        bench.refused("coder-2", TakeOver { intent, former: process(1), owner: process(3) }),
        Code::IntentGone
    );
    assert_eq!(bench.refused("coder-1", bench.finish("t")), Code::IntentGone);
    assert_eq!(bench.refused("coder-1", bench.cancel("t")), Code::IntentGone);
    let mut late = bench.finish("t");
    bench.ok("coder-2", CancelClaim { owner: process(2), ..bench.cancel("t") });
    late.owner = process(2);
    assert_eq!(bench.refused("coder-1", late), Code::IntentGone);
}

#[test]
fn a_claim_needs_its_dependencies_merged() {
    let mut bench = Bench::new();
    let mut after = new_task("after", "after/");
    after.depends_on = vec![id("before")];
    bench.ok("planner-1", plan_of(vec![new_task("before", "before/"), after]));
    let begin = bench.begin("after");
    let refusal = bench.refusal("coder-2", begin);
    assert_eq!(refusal.code, Code::DependencyUnmet);
    assert!(refusal.message.contains("before"));
    bench.approved("coder-1", "before");
    assert_eq!(bench.refused("coder-2", bench.begin("after")), Code::DependencyUnmet);
    bench.merge("before");
    bench.claim("coder-2", "after");
}

#[test]
fn owned_paths_are_exclusive_from_claim_to_end() {
    let mut bench = Bench::new();
    bench.ok("planner-1", plan_of(vec![new_task("a", "src/"), new_task("b", "src/b.rs")]));
    bench.claim("coder-1", "a");
    let begin = bench.begin("b");
    let refusal = bench.refusal("coder-2", begin);
    assert_eq!(refusal.code, Code::PathsOverlap);
    assert!(refusal.message.contains("src/b.rs") && refusal.message.contains("`a`"));
    // A release of the task does not release its paths.
    bench.ok("coder-1", bench.release("a"));
    assert_eq!(bench.refused("coder-2", bench.begin("b")), Code::PathsOverlap);
    bench.ok("planner-1", bench.abandon("a"));
    bench.claim("coder-2", "b");
}

#[test]
fn blocked_task_releases_and_retakes_paths() {
    let mut bench = Bench::new();
    bench.ok("planner-1", plan_of(vec![new_task("a", "src/"), new_task("b", "src/b.rs")]));
    bench.claim("coder-1", "a");
    bench.ok("coder-1", bench.block("a"));
    bench.tick(HOLD - 1);
    assert_eq!(bench.refused("coder-2", bench.begin("b")), Code::PathsOverlap);
    bench.tick(1);
    bench.claim("coder-2", "b");
    bench.ok("planner-1", bench.unblock("a"));
    assert_eq!(bench.refused("coder-1", bench.begin("a")), Code::PathsOverlap);
    bench.ok("planner-1", bench.abandon("b"));
    bench.claim("coder-1", "a");
}

#[test]
fn agent_holds_one_task_at_a_time() {
    let mut bench = Bench::with_tasks(&["t", "u"]);
    for by in ["coder-1", "human"] {
        let mut bench = bench.clone();
        bench.claim(by, "t");
        assert_eq!(bench.refused(by, bench.begin("u")), Code::HoldsAnother);
        bench.tick(LEASE * 2);
        assert_eq!(bench.refused(by, bench.begin("u")), Code::HoldsAnother);
    }
    // For leases a new incarnation is another agent.
    bench.claim("coder-1", "t");
    bench.register("coder-1", &["coder"]);
    bench.claim("coder-1", "u");
}

#[test]
fn an_agent_has_only_so_many_iterations() {
    let mut bench = Bench::with_config(|config| config.max_coder_iterations = 2);
    bench.add(&["t"]);
    bench.claim("coder-1", "t");
    bench.tick(LEASE);
    bench.claim("coder-1", "t");
    assert_eq!(bench.task("t").iteration, 2);
    bench.tick(LEASE);
    assert_eq!(bench.refused("coder-1", bench.begin("t")), Code::Limit);
    bench.claim("coder-2", "t");
    assert_eq!(bench.task("t").iteration, 1);
}

#[test]
fn a_task_may_have_a_limit_of_its_own() {
    let mut bench = Bench::with_config(|config| config.max_coder_iterations = 1);
    let mut patient = new_task("t", "t/");
    patient.max_coder_iterations = Some(3);
    bench.ok("planner-1", plan_of(vec![patient]));
    for iteration in 1..=3 {
        bench.claim("coder-1", "t");
        assert_eq!(bench.task("t").iteration, iteration);
        bench.tick(LEASE);
    }
    assert_eq!(bench.refused("coder-1", bench.begin("t")), Code::Limit);
}
