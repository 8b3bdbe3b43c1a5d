//! Blocking and unblocking tasks.

use crate::board::refusal::Code;
use crate::board::rules::*;
use crate::board::task::Status;
use crate::board::testing::*;

#[test]
fn block_needs_reason_and_one_to_three_questions() {
    let mut bench = Bench::with_tasks(&["t"]);
    for (questions, accepted) in [(0, false), (1, true), (3, true), (4, false)] {
        let mut bench = bench.clone();
        let block = Block { questions: vec!["why?".to_owned(); questions], ..bench.block("t") };
        if accepted {
            bench.ok("planner-1", block);
        } else {
            assert_eq!(bench.refused("planner-1", block), Code::Incomplete, "{questions}");
        }
    }
    let silent = Block { reason: "  ".to_owned(), ..bench.block("t") };
    assert_eq!(bench.refused("planner-1", silent), Code::Incomplete);
    let empty = Block { questions: vec![String::new()], ..bench.block("t") };
    assert_eq!(bench.refused("planner-1", empty), Code::Incomplete);
}

#[test]
fn unblock_restores_state_and_reservation() {
    type Story = fn(&mut Bench);
    let stories: [(Story, Status, bool); 7] = [
        (|_| {}, Status::Idle, false),
        (|bench| drop(bench.claim("coder-1", "t")), Status::Idle, true),
        (|bench| drop(bench.rejected("coder-1", "t", REASONS[0])), Status::Idle, true),
        (|bench| bench.hand_in("coder-1", "t"), Status::ReadyForReview, false),
        (|bench| bench.approved("coder-1", "t"), Status::Approved, false),
        (
            |bench| bench.failed_to_merge("coder-1", "t", MergeFailure::RedGate),
            Status::IntegrationFailed,
            true,
        ),
        (
            |bench| {
                bench.claim("coder-1", "t");
                bench.ok("coder-1", bench.release("t"));
            },
            Status::Idle,
            false,
        ),
    ];
    for (tell, back, reserved) in stories {
        let mut bench = Bench::with_tasks(&["t"]);
        tell(&mut bench);
        let (from, epoch) = (bench.status("t"), bench.task("t").epoch);
        bench.ok("planner-1", bench.block("t"));
        let task = bench.task("t");
        assert_eq!(task.body().blocked_from, Some(from));
        assert_eq!(task.epoch, epoch + 1);
        assert!(task.lease.is_none() && task.review_lease.is_none());
        bench.ok("planner-1", bench.unblock("t"));
        let task = bench.task("t");
        assert_eq!((task.status, task.reserved_until.is_some()), (back, reserved), "from {from}");
        assert_eq!(task.body().answer.as_deref(), Some("do the simple thing"));
        assert!(task.body().blocked_reason.is_none() && task.body().blocked_questions.is_empty());
        if reserved {
            assert_eq!(bench.refused("coder-2", bench.begin("t")), Code::Reserved);
        }
        if matches!(back, Status::Idle | Status::IntegrationFailed) {
            bench.claim("coder-1", "t");
        }
    }
}

#[test]
fn blocked_draft_returns_as_a_draft() {
    let mut bench = Bench::new();
    let mut sketch = new_task("sketch", "x/");
    sketch.done_when.clear();
    sketch.scope.inside.clear();
    sketch.spec_ref = None;
    sketch.depends_on = vec![id("other")];
    let mut other = new_task("other", "y/");
    other.depends_on = vec![id("sketch")];
    let drafts = AddTasks {
        tasks: vec![sketch, other],
        finalize: false,
        specs_found: Vec::new(),
        ..plan_of(Vec::new())
    };
    bench.ok("planner-1", drafts);
    bench.ok("overseer-1", bench.block("sketch"));
    bench.ok("planner-1", bench.unblock("sketch"));
    assert_eq!(bench.status("sketch"), Status::Draft);
    bench.ok("planner-1", bench.abandon("sketch"));
}

#[test]
fn unblock_needs_answer_and_resets_rejections() {
    let mut bench = Bench::with_tasks(&["t"]);
    bench.rejected("coder-1", "t", REASONS[0]);
    bench.rejected("coder-1", "t", REASONS[1]);
    bench.ok("planner-1", bench.block("t"));
    let mute = Unblock { answer: " ".to_owned(), ..bench.unblock("t") };
    assert_eq!(bench.refused("planner-1", mute), Code::Incomplete);
    bench.ok("planner-1", bench.unblock("t"));
    assert_eq!(bench.rejected("coder-1", "t", REASONS[2])["status"], "REJECTED");
    assert_eq!(bench.task("t").body().consecutive_rejections, 1);
    assert_eq!(bench.task("t").review_cycles_total, 3);
}

#[test]
fn unblock_after_last_cycle_must_grant_more() {
    let mut bench = Bench::with_config(|config| config.max_review_cycles = 1);
    bench.add(&["t"]);
    bench.rejected("coder-1", "t", REASONS[0]);
    assert_eq!(bench.status("t"), Status::Blocked);
    assert_eq!(bench.refused("planner-1", bench.unblock("t")), Code::Limit);
    bench.ok("planner-1", Unblock { cycles: 2, ..bench.unblock("t") });
    assert_eq!(bench.status("t"), Status::Idle);
    assert_eq!(bench.task("t").body().max_review_cycles, Some(3));
    assert_eq!(bench.rejected("coder-1", "t", REASONS[1])["status"], "REJECTED");
    assert_eq!(bench.rejected("coder-1", "t", REASONS[2])["status"], "BLOCKED");
}

/// The unblocked task is reserved for its agent, so that agent must be able to claim it.
#[test]
fn an_answer_grants_another_iteration() {
    let mut bench = Bench::with_config(|config| config.max_coder_iterations = 1);
    bench.add(&["t"]);
    assert_eq!(bench.rejected("coder-1", "t", REASONS[0])["status"], "BLOCKED");
    bench.ok("planner-1", bench.unblock("t"));
    assert_eq!(bench.rejected("coder-1", "t", REASONS[1])["status"], "BLOCKED");
}

#[test]
fn two_failed_agents_exhaust_a_task() {
    let mut bench = Bench::with_config(|config| config.breaker_rejections = 1);
    bench.add(&["t", "u"]);
    bench.rejected("coder-1", "t", REASONS[0]);
    bench.ok("planner-1", bench.unblock("t"));
    // The same agent failing again is one agent.
    bench.rejected("coder-1", "t", REASONS[1]);
    assert_eq!(bench.task("t").failed_by, [agent("coder-1")]);
    bench.ok("planner-1", bench.unblock("t"));
    bench.tick(LEASE);
    bench.rejected("coder-2", "t", REASONS[2]);
    assert!(bench.task("t").hypothesis_exhausted());
    for by in ["planner-1", "human"] {
        let refusal = bench.refusal(by, Unblock { cycles: 9, ..bench.unblock("t") });
        assert_eq!(refusal.code, Code::HypothesisExhausted);
        assert!(refusal.hint.is_some_and(|hint| hint.contains("rescope")));
    }
    bench.ok("planner-1", bench.replace("t", "u"));
}

#[test]
fn only_limits_and_the_overseer_count_as_failure() {
    type Story = fn(&mut Bench);
    let stories: [(&str, Story, bool); 6] = [
        ("the overseer", |bench| drop(bench.ok("overseer-1", bench.block("t"))), true),
        ("the planner", |bench| drop(bench.ok("planner-1", bench.block("t"))), false),
        ("a person", |bench| drop(bench.ok("human", bench.block("t"))), false),
        ("its own agent", |bench| drop(bench.ok("coder-1", bench.block("t"))), false),
        ("a handoff", |bench| drop(bench.ok("coder-1", bench.hand_off("t"))), false),
        (
            "expiry",
            |bench| {
                bench.tick(LEASE);
                bench.claim("coder-2", "t");
            },
            false,
        ),
    ];
    for (who, tell, failed) in stories {
        let mut bench = Bench::with_tasks(&["t"]);
        bench.claim("coder-1", "t");
        tell(&mut bench);
        assert_eq!(bench.task("t").failed_by.contains(&agent("coder-1")), failed, "{who}");
    }
}

/// An answer does not take back paths that another task has acquired meanwhile.
#[test]
fn unblock_to_review_needs_its_paths_free() {
    let mut bench = Bench::new();
    let mut narrow = new_task("b", "b/");
    narrow.scope.inside.extend(patterns(&["a/part/"]));
    bench.ok("planner-1", plan_of(vec![new_task("a", "a/"), narrow]));
    bench.hand_in("coder-1", "a");
    bench.ok("planner-1", bench.block("a"));
    bench.tick(HOLD);
    bench.claim("coder-2", "b");
    assert_eq!(bench.refused("planner-1", bench.unblock("a")), Code::PathsOverlap);
    bench.ok("planner-1", bench.abandon("b"));
    bench.ok("planner-1", bench.unblock("a"));
    assert!(bench.task("a").is_live(&bench.now));
}
