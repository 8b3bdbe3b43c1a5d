//! Review leases and verdicts: who may judge, what a verdict needs, and the limits of sending work back.

use crate::board::refusal::{Class, Code};
use crate::board::review::{Feedback, IssueStatus, PriorStatus, Severity};
use crate::board::rules::*;
use crate::board::task::{Kind, Status};
use crate::board::testing::*;

fn under_review() -> Bench {
    let mut bench = Bench::with_tasks(&["t"]);
    bench.hand_in("coder-1", "t");
    bench.ok("reviewer-1", bench.start_review("t"));
    bench
}

fn prior(issue: &str, status: IssueStatus) -> PriorStatus {
    PriorStatus { id: issue.to_owned(), status }
}

#[test]
fn implementer_cannot_judge_own_task() {
    let mut bench = Bench::with_tasks(&["t", "u"]);
    bench.hand_in("both-1", "t");
    assert_eq!(bench.refused("both-1", bench.start_review("t")), Code::Tier0SelfApproval);
    assert_eq!(bench.refused("both-1", bench.approve("t")), Code::Tier0SelfApproval);
    assert_eq!(bench.refused("both-1", bench.reject("t", REASONS[0])), Code::Tier0SelfApproval);
    // An earlier attempt counts too, even if another agent finished the task.
    bench.claim("both-1", "u");
    bench.ok("both-1", bench.hand_off("u"));
    bench.hand_in("coder-1", "u");
    assert_eq!(bench.refused("both-1", bench.start_review("u")), Code::Tier0SelfApproval);
    // The spelling of the id does not matter.
    let (head, _) = bench.board.task_mut(&id("t")).expect("there").parts_mut();
    head.implementers = vec![agent("Both-1")];
    assert_eq!(bench.refused("both-1", bench.start_review("t")), Code::Tier0SelfApproval);
    assert_eq!(bench.refused("both-1", bench.approve("t")), Code::Tier0SelfApproval);
    // The rule applies to a person too.
    let mut person = Bench::with_tasks(&["t"]);
    person.hand_in("human", "t");
    assert_eq!(person.refused("human", person.start_review("t")), Code::Tier0SelfApproval);
    person.ok("reviewer-1", person.start_review("t"));
}

#[test]
fn committing_reviewer_stays_an_implementer() {
    let mut bench = Bench::with_tasks(&["t"]);
    bench.claim("coder-1", "t");
    bench.ok("coder-1", bench.checkpoint("t"));
    let mut submit = bench.submit("t");
    submit.evidence.authors = vec!["Stranger".to_owned(), "REVIEWER-1".to_owned()];
    bench.ok("coder-1", submit);
    assert_eq!(bench.refused("reviewer-1", bench.start_review("t")), Code::Tier0SelfApproval);
    bench.ok("reviewer-2", bench.start_review("t"));
    bench.ok("reviewer-2", bench.reject("t", REASONS[0]));
    // The next attempt starts without those commits, and the reviewer still counts as an implementer.
    bench.tick(LEASE);
    bench.hand_in("coder-2", "t");
    assert_eq!(bench.refused("reviewer-1", bench.start_review("t")), Code::Tier0SelfApproval);
}

#[test]
fn review_lease_is_exclusive_until_expiry() {
    let mut bench = under_review();
    assert_eq!(bench.refused("reviewer-2", bench.start_review("t")), Code::Held);
    bench.ok("reviewer-1", RenewReview { task: id("t") });
    assert_eq!(bench.refused("reviewer-2", RenewReview { task: id("t") }), Code::LeaseLost);
    bench.tick(LEASE);
    // The lease has expired but no reviewer has claimed the review: its holder may continue.
    let mut late = bench.clone();
    late.ok("reviewer-1", late.approve("t"));
    bench.ok("reviewer-2", bench.start_review("t"));
    assert_eq!(bench.refused("reviewer-1", bench.approve("t")), Code::LeaseLost);
    bench.ok("reviewer-2", ReleaseReview { task: id("t") });
    assert_eq!(bench.refused("reviewer-2", bench.approve("t")), Code::LeaseLost);
    assert_eq!(bench.status("t"), Status::ReadyForReview);
}

#[test]
fn verdict_must_name_the_current_commit() {
    let mut bench = under_review();
    let mut other = bench.approve("t");
    other.commit = commit(5);
    assert_eq!(bench.refused("reviewer-1", other), Code::Commit);
    for head in [None, Some(commit(5))] {
        let mut moved = bench.approve("t");
        moved.branch_head = head.clone();
        assert_eq!(bench.refused("reviewer-1", moved), Code::Commit);
        let mut moved = bench.reject("t", REASONS[0]);
        moved.branch_head = head;
        assert_eq!(bench.refused("reviewer-1", moved).class(), Class::Stale);
    }
}

#[test]
fn an_approval_needs_tests_and_no_grave_issue() {
    let mut bench = under_review();
    for severity in [Severity::Critical, Severity::Major] {
        let mut approve = bench.approve("t");
        approve.feedback.issues = vec![finding(severity)];
        assert_eq!(bench.refused("reviewer-1", approve), Code::IssuesOpen);
    }
    let mut minor = bench.approve("t");
    minor.feedback.issues = vec![finding(Severity::Minor), finding(Severity::Nitpick)];
    bench.clone().ok("reviewer-1", minor);

    for (kind, code) in [(Kind::Code, Some(Code::TestsMissing)), (Kind::Docs, None)] {
        let mut bench = Bench::new();
        let mut task = new_task("t", "t/");
        task.kind = kind;
        bench.ok("planner-1", plan_of(vec![task]));
        bench.claim("coder-1", "t");
        bench.ok("coder-1", bench.checkpoint("t"));
        let mut submit = bench.submit("t");
        // As submitted before this check existed.
        submit.evidence.tests.clear();
        submit.edition = Edition::FIRST;
        bench.ok("coder-1", submit);
        bench.ok("reviewer-1", bench.start_review("t"));
        match code {
            Some(code) => assert_eq!(bench.refused("reviewer-1", bench.approve("t")), code),
            None => drop(bench.ok("reviewer-1", bench.approve("t"))),
        }
    }
}

#[test]
fn protected_paths_need_explicit_approval() {
    let mut bench = Bench::with_tasks(&["t"]);
    bench.claim("coder-1", "t");
    bench.ok("coder-1", bench.checkpoint("t"));
    let mut submit = bench.submit("t");
    submit.evidence.protected = vec!["t/lib.rs".to_owned()];
    bench.ok("coder-1", submit);
    bench.ok("reviewer-1", bench.start_review("t"));
    assert_eq!(bench.refused("reviewer-1", bench.approve("t")), Code::ProtectedPaths);
    bench.ok("reviewer-1", Approve { allow_protected: true, ..bench.approve("t") });
    assert!(bench.task("t").body().approval.as_ref().is_some_and(|given| given.protected_paths_allowed));
}

#[test]
fn approval_resolves_unnamed_issues() {
    let mut bench = Bench::with_tasks(&["t"]);
    bench.rejected("coder-1", "t", REASONS[0]);
    bench.hand_in("coder-1", "t");
    bench.ok("reviewer-1", bench.start_review("t"));
    let mut kept = bench.approve("t");
    kept.feedback.prior = vec![prior("i1", IssueStatus::Partial)];
    assert_eq!(bench.refused("reviewer-1", kept), Code::IssuesOpen);
    let mut unknown = bench.approve("t");
    unknown.feedback.prior = vec![prior("i9", IssueStatus::Resolved)];
    assert_eq!(bench.refused("reviewer-1", unknown), Code::UnknownRecord);
    bench.ok("reviewer-1", bench.approve("t"));
    let body = bench.task("t").body();
    assert!(body.issues.iter().all(|issue| !issue.is_open()));
    assert_eq!(body.consecutive_rejections, 0);
}

#[test]
fn rejection_needs_reason_and_issues() {
    let mut bench = under_review();
    type Spoil = fn(&mut Feedback);
    let cases: [(Code, Spoil); 5] = [
        (Code::Incomplete, |feedback| feedback.summary.clear()),
        (Code::FeedbackIncomplete, |feedback| feedback.issues.clear()),
        (Code::FeedbackIncomplete, |feedback| feedback.issues[0].line = 0),
        (Code::FeedbackIncomplete, |feedback| feedback.issues[0].file = "../x".to_owned()),
        (Code::Incomplete, |feedback| feedback.issues[0].issue = " ".to_owned()),
    ];
    for (code, spoil) in cases {
        let mut reject = bench.reject("t", REASONS[0]);
        spoil(&mut reject.feedback);
        assert_eq!(bench.refused("reviewer-1", reject), code);
    }
    let outcome = bench.ok("reviewer-1", bench.reject("t", REASONS[0]));
    assert_eq!(outcome["status"], "REJECTED");
    let body = bench.task("t").body();
    assert!(body.rejection_feedback.as_ref().is_some_and(|text| text.contains("must fix major src/a.rs:7")));
}

#[test]
fn from_round_two_earlier_issues_are_answered() {
    let mut bench = Bench::with_tasks(&["t"]);
    bench.rejected("coder-1", "t", REASONS[0]);
    bench.hand_in("coder-1", "t");
    bench.ok("reviewer-1", bench.start_review("t"));
    let mut silent = bench.reject("t", REASONS[1]);
    silent.feedback.prior.clear();
    silent.feedback.issues[0].issue = "the public name says nothing".to_owned();
    let refusal = bench.refusal("reviewer-1", silent);
    assert_eq!(refusal.code, Code::FeedbackIncomplete);
    assert!(refusal.message.contains("i1"));
    // An issue that is still open is enough; no new one is needed.
    let mut still = bench.reject("t", REASONS[1]);
    still.feedback.issues.clear();
    still.feedback.prior = vec![prior("i1", IssueStatus::Open)];
    bench.ok("reviewer-1", still);
    assert_eq!(bench.task("t").body().issues.len(), 1);
    assert_eq!(bench.task("t").review_cycles_total, 2);
}

#[test]
fn the_same_reason_twice_blocks() {
    let mut bench = Bench::with_tasks(&["t"]);
    bench.rejected("coder-1", "t", "The parser panics on empty input (line 12)");
    let outcome = bench.rejected("coder-1", "t", "the parser panics on empty input (line 48)");
    assert_eq!(outcome["status"], "BLOCKED");
    let task = bench.task("t");
    assert_eq!(task.body().blocked_from, Some(Status::Rejected));
    assert_eq!(task.failed_by, [agent("coder-1")]);
    assert!(task.body().blocked_reason.as_ref().is_some_and(|why| why.contains("Same rejection reason")));
    assert_eq!(task.review_cycles_total, 2);
}

#[test]
fn third_rejection_in_a_row_blocks_the_task() {
    let mut bench = Bench::with_tasks(&["t"]);
    for reason in &REASONS[..2] {
        assert_eq!(bench.rejected("coder-1", "t", reason)["status"], "REJECTED");
    }
    let mut third = bench.clone();
    assert_eq!(third.rejected("coder-1", "t", REASONS[2])["status"], "BLOCKED");
    // The count of rejections is per agent: another agent begins at 0, while all rejections count as cycles.
    bench.tick(LEASE);
    for reason in &REASONS[2..4] {
        assert_eq!(bench.rejected("coder-2", "t", reason)["status"], "REJECTED");
    }
    assert_eq!(bench.task("t").review_cycles_total, 4);
    let outcome = bench.rejected("coder-2", "t", REASONS[4]);
    assert_eq!(outcome["status"], "BLOCKED");
    assert_eq!(bench.task("t").failed_by, [agent("coder-2")]);
}

#[test]
fn limits_of_cycles_and_iterations_at_their_edge() {
    for (cycles, iterations, phrase) in [(2, 9, "Max review cycles (2)"), (9, 2, "Max iterations (2)")] {
        let mut bench = Bench::with_config(|config| {
            config.max_review_cycles = cycles;
            config.max_coder_iterations = iterations;
        });
        bench.add(&["t"]);
        assert_eq!(bench.rejected("coder-1", "t", REASONS[0])["status"], "REJECTED");
        let outcome = bench.rejected("coder-1", "t", REASONS[1]);
        assert_eq!(outcome["status"], "BLOCKED");
        assert!(outcome["blocked_reason"].to_string().contains(phrase), "{outcome}");
    }
}

#[test]
fn a_discussion_blocks_with_its_questions() {
    let mut bench = under_review();
    let mut mute = bench.discuss("t");
    mute.feedback.questions.clear();
    assert_eq!(bench.refused("reviewer-1", mute), Code::Incomplete);
    let mut many = bench.discuss("t");
    many.feedback.questions = vec!["why?".to_owned(); 4];
    assert_eq!(bench.refused("reviewer-1", many), Code::Incomplete);
    let epoch = bench.task("t").epoch;
    bench.ok("reviewer-1", bench.discuss("t"));
    let task = bench.task("t");
    assert_eq!((task.status, task.epoch), (Status::Blocked, epoch + 1));
    assert_eq!(task.body().blocked_from, Some(Status::ReadyForReview));
    assert!(task.failed_by.is_empty());
    bench.ok("planner-1", bench.unblock("t"));
    assert_eq!(bench.status("t"), Status::ReadyForReview);
}
