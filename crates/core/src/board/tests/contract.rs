//! Sentences of the contract, one test each: what a checkpoint and a verdict must say, and what happens at limits.

use crate::board::assumptions::Held;
use crate::board::history::Assumption;
use crate::board::refusal::Code;
use crate::board::rules::*;
use crate::board::task::{Handout, Kind, Status};
use crate::board::testing::*;

/// A task under review whose coder made these assumptions.
fn under_review(assumptions: &[(&str, bool)]) -> Bench {
    let mut bench = Bench::with_tasks(&["t"]);
    bench.claim("coder-1", "t");
    let mut write = bench.checkpoint("t");
    write.checkpoint.assumptions = assumptions
        .iter()
        .map(|(text, critical)| Assumption { text: (*text).to_owned(), critical: *critical })
        .collect();
    bench.ok("coder-1", write);
    bench.ok("coder-1", bench.submit("t"));
    bench.ok("reviewer-1", bench.start_review("t"));
    bench
}

#[test]
fn intent_without_anything_observable_is_refused() {
    let mut bench = Bench::with_tasks(&["t"]);
    bench.claim("coder-1", "t");
    let mut write = bench.checkpoint("t");
    write.checkpoint.intent = "improve the code".to_owned();
    assert_eq!(bench.refused("coder-1", write.clone()), Code::CheckpointWeak);
    // Older journal records are replayed by their own rules.
    bench.clone().ok("coder-1", WriteCheckpoint { edition: Edition::FIRST, ..write.clone() });
    write.checkpoint.intent = "Implement greeting function with --name argument".to_owned();
    bench.ok("coder-1", write);
}

#[test]
fn approval_answers_every_assumption() {
    let mut bench = under_review(&[("input is UTF-8", false), ("the API is stable", true)]);
    let mut silent = bench.approve("t");
    silent.feedback.assumptions.pop();
    let refusal = bench.refusal("reviewer-1", silent.clone());
    assert_eq!(refusal.code, Code::FeedbackIncomplete);
    assert!(refusal.message.contains("2. the API is stable"), "{refusal}");
    assert!(refusal.hint.is_some_and(|hint| hint.contains("--assumption \"2=held\"")));
    bench.clone().ok("reviewer-1", Approve { edition: Edition::FIRST, ..silent });
    let mut unsure = bench.approve("t");
    unsure.feedback.assumptions[0].answer = Held::NotChecked;
    assert_eq!(bench.refused("reviewer-1", unsure.clone()), Code::FeedbackIncomplete);
    unsure.feedback.assumptions[0].note = Some("no such input here".to_owned());
    bench.ok("reviewer-1", unsure);
    let review = bench.task("t").body().reviews.last().expect("a review").clone();
    let said: Vec<_> = review.assumptions.iter().map(|one| (one.critical, one.answer)).collect();
    assert_eq!(said, [(false, Held::NotChecked), (true, Held::Held)]);
}

#[test]
fn violated_critical_assumption_forbids_approval() {
    let mut bench = under_review(&[("input is UTF-8", false), ("the API is stable", true)]);
    let mut approve = bench.approve("t");
    approve.feedback.assumptions[0].answer = Held::Violated;
    bench.clone().ok("reviewer-1", approve.clone());
    approve.feedback.assumptions[1].answer = Held::Violated;
    assert_eq!(bench.refused("reviewer-1", approve.clone()), Code::IssuesOpen);
    let mut reject = bench.reject("t", "the API has changed");
    reject.feedback.assumptions.clear();
    assert_eq!(bench.refused("reviewer-1", reject.clone()), Code::FeedbackIncomplete);
    reject.feedback.assumptions = approve.feedback.assumptions;
    bench.ok("reviewer-1", reject);
    let feedback = bench.task("t").body().rejection_feedback.clone().unwrap_or_default();
    assert!(feedback.contains("assumption violated: the API is stable"), "{feedback}");
}

#[test]
fn verdict_without_assumptions_needs_no_answers() {
    let mut bench = under_review(&[]);
    let approve = bench.approve("t");
    assert!(approve.feedback.assumptions.is_empty());
    bench.ok("reviewer-1", approve);
}

#[test]
fn code_checkpoint_announces_a_test_file() {
    let mut bench = Bench::with_tasks(&["t"]);
    bench.claim("coder-1", "t");
    let none = WriteCheckpoint { tests: TestFiles::default(), ..bench.checkpoint("t") };
    assert_eq!(bench.refused("coder-1", none.clone()), Code::TestsMissing);
    for tests in [
        TestFiles { announced_before: true, ..TestFiles::default() },
        TestFiles { committed: true, ..TestFiles::default() },
    ] {
        bench.clone().ok("coder-1", WriteCheckpoint { tests, ..none.clone() });
    }
    bench.clone().ok("coder-1", WriteCheckpoint { edition: Edition::FIRST, ..none });
}

#[test]
fn coder_announces_test_files_once_more() {
    let mut bench = Bench::with_tasks(&["t"]);
    bench.claim("coder-1", "t");
    bench.ok("coder-1", WriteCheckpoint { edition: Edition::FIRST, ..bench.checkpoint("t") });
    let mut submit = bench.submit("t");
    submit.evidence.tests.clear();
    assert_eq!(bench.refused("coder-1", submit), Code::TestsMissing);
    // The work has begun: only test files may still be announced, once.
    let worked_on = Handout { head: commit(9), ..untouched() };
    let late = WriteCheckpoint { found: worked_on, ..bench.checkpoint("t") };
    let more = TestFiles { others: vec!["t/other.rs".to_owned()], ..late.tests.clone() };
    assert_eq!(
        bench.refused("coder-1", WriteCheckpoint { tests: more, ..late.clone() }),
        Code::CheckpointLate
    );
    let has_some = TestFiles { committed: true, ..late.tests.clone() };
    assert_eq!(
        bench.refused("coder-1", WriteCheckpoint { tests: has_some, ..late.clone() }),
        Code::CheckpointLate
    );
    bench.ok("coder-1", late.clone());
    assert_eq!(bench.refused("coder-1", late), Code::CheckpointLate);
    bench.ok("coder-1", bench.submit("t"));
}

#[test]
fn docs_task_with_code_in_its_change_is_refused() {
    for (kind, code) in [(Kind::Docs, true), (Kind::Config, true), (Kind::Spec, true), (Kind::Code, false)] {
        let mut bench = Bench::new();
        let mut task = new_task("t", "t/");
        task.kind = kind;
        bench.ok("planner-1", plan_of(vec![task]));
        bench.claim("coder-1", "t");
        bench.ok("coder-1", bench.checkpoint("t"));
        let mut submit = bench.submit("t");
        submit.evidence.code = vec!["t/lib.rs".to_owned()];
        if code {
            let refusal = bench.refusal("coder-1", submit.clone());
            assert_eq!(refusal.code, Code::KindMismatch);
            assert!(refusal.message.contains("t/lib.rs"), "{refusal}");
            submit.evidence.code.clear();
        }
        bench.ok("coder-1", submit);
    }
}

#[test]
fn handoff_is_not_an_iteration() {
    let mut bench = Bench::with_config(|config| config.max_coder_iterations = 1);
    bench.ok("planner-1", plan_of(vec![new_task("t", "t/")]));
    bench.claim("coder-1", "t");
    for _ in 0..3 {
        bench.ok("coder-1", bench.hand_off("t"));
        bench.claim("coder-1", "t");
        assert_eq!(bench.task("t").iteration, 1);
    }
    bench.ok("coder-1", bench.release("t"));
    assert_eq!(bench.refused("coder-1", bench.begin("t")), Code::Limit);
}

#[test]
fn handoffs_beyond_the_limit_block_the_task() {
    let mut bench = Bench::with_config(|config| config.max_handoffs = 3);
    bench.ok("planner-1", plan_of(vec![new_task("t", "t/")]));
    for (number, coder) in [(1, "coder-1"), (2, "coder-2"), (3, "coder-1")] {
        bench.claim(coder, "t");
        let status = bench.ok(coder, bench.hand_off("t"))["status"].clone();
        assert_eq!(status, if number < 3 { "IDLE" } else { "BLOCKED" }, "handoff {number}");
    }
    let body = bench.task("t").body();
    assert_eq!(body.blocked_reason.as_deref(), Some("Max handoffs (3) reached without a submission"));
    assert_eq!(body.blocked_questions, LIMIT_QUESTIONS);
    assert!(bench.task("t").failed_by.is_empty());
    // An answer resets the count.
    bench.ok("planner-1", bench.unblock("t"));
    bench.claim("coder-1", "t");
    assert_eq!(bench.ok("coder-1", bench.hand_off("t"))["status"], "IDLE");
    assert_eq!(crate::board::Config::new("integration").max_handoffs, 10);
}

#[test]
fn iterations_used_up_by_expiry_block_the_task() {
    let mut bench = Bench::with_config(|config| config.max_coder_iterations = 2);
    bench.ok("planner-1", plan_of(vec![new_task("t", "t/")]));
    for _ in 0..2 {
        bench.claim("coder-1", "t");
        bench.tick(LEASE);
    }
    let block = BlockAtLimit { task: id("t"), agent: agent("coder-1") };
    let early = BlockAtLimit { task: id("t"), agent: agent("coder-2") };
    assert_eq!(bench.refused("coder-1", bench.begin("t")), Code::Limit);
    assert_eq!(bench.refused("coder-1", block.clone()), Code::HumanOnly);
    assert_eq!(bench.refused("liza", early), Code::Limit);
    bench.ok("liza", block);
    let body = bench.task("t").body();
    assert_eq!(body.blocked_reason.as_deref(), Some("Max iterations (2) reached without approval"));
    assert_eq!(body.blocked_questions, LIMIT_QUESTIONS);
    bench.ok("planner-1", bench.unblock("t"));
    bench.claim("coder-1", "t");
}

#[test]
fn takeovers_from_expired_leases_are_limited() {
    let mut bench = Bench::with_config(|config| config.max_handoffs = 2);
    bench.ok("planner-1", plan_of(vec![new_task("t", "t/")]));
    for coder in ["coder-1", "coder-2", "coder-1"] {
        bench.claim(coder, "t");
        bench.tick(LEASE);
    }
    assert_eq!(bench.refused("coder-2", bench.begin("t")), Code::Limit);
    bench.clone().ok("coder-2", BeginClaim { edition: Edition::FIRST, ..bench.begin("t") });
    bench.ok("liza", BlockAtLimit { task: id("t"), agent: agent("coder-2") });
    assert_eq!(bench.status("t"), Status::Blocked);
}

#[test]
fn limit_reads_as_in_the_contract() {
    let mut bench = Bench::with_config(|config| config.max_coder_iterations = 1);
    bench.ok("planner-1", plan_of(vec![new_task("t", "t/")]));
    bench.hand_in("coder-1", "t");
    bench.ok("reviewer-1", bench.start_review("t"));
    bench.ok("reviewer-1", bench.reject("t", "empty names crash"));
    let body = bench.task("t").body();
    assert_eq!(body.blocked_reason.as_deref(), Some("Max iterations (1) reached without approval"));
    assert!(body.blocked_questions.contains(&LIMIT_QUESTIONS[0].to_owned()));
}
