//! Tasks that need two approvals: each reviewer once, no implementer among them, and all about one commit.

use crate::board::invariants::violations;
use crate::board::records::AnomalyKind;
use crate::board::review::{Finding, IssueStatus, PriorStatus, Severity};
use crate::board::rules::{Approve, Reject, VoidApproval};
use crate::board::task::Status;
use crate::board::testing::{Bench, REASONS, agent, commit, finding, id};
use crate::board::{Code, Task};

/// `t` submitted by coder-1, without an approval.
fn handed_in() -> Bench {
    let mut bench = Bench::with_tasks(&["t"]);
    bench.hand_in("coder-1", "t");
    bench
}

fn two(bench: &Bench) -> Approve {
    Approve { quorum: 2, ..bench.approve("t") }
}

#[track_caller]
fn approve(bench: &mut Bench, by: &str) {
    bench.ok(by, bench.start_review("t"));
    bench.ok(by, two(bench));
}

fn names(task: &Task) -> Vec<String> {
    let approvals = task.approvals.iter().flat_map(|approvals| &approvals.by);
    approvals.map(|approval| approval.reviewer.to_string()).collect()
}

#[test]
fn two_different_reviewers_approve_the_task() {
    let mut bench = handed_in();
    approve(&mut bench, "reviewer-1");
    let task = bench.task("t");
    assert_eq!((task.status, names(task)), (Status::ReadyForReview, vec!["reviewer-1".to_owned()]));
    assert!(task.review_lease.is_none() && task.body().approval.is_none());
    assert_eq!(bench.refused("reviewer-1", bench.start_review("t")), Code::AlreadyApproved);
    assert_eq!(bench.refused("reviewer-1", bench.begin_merge("t")), Code::Tier0UnapprovedMerge);
    assert_eq!(bench.refused("coder-1", bench.start_review("t")), Code::Tier0Role);
    approve(&mut bench, "reviewer-2");
    let task = bench.task("t");
    assert_eq!(task.status, Status::Approved);
    assert_eq!(names(task), ["reviewer-1", "reviewer-2"]);
    assert_eq!(
        task.body().approval.as_ref().map(|last| last.reviewer.to_string()).as_deref(),
        Some("reviewer-2")
    );
    bench.merge("t");
    assert_eq!(names(bench.task("t")).len(), 2);
    assert_eq!(violations(&bench.board), []);
}

#[test]
fn person_counts_as_one_reviewer() {
    let mut bench = handed_in();
    approve(&mut bench, "human");
    assert_eq!(bench.refused("human", bench.start_review("t")), Code::AlreadyApproved);
    approve(&mut bench, "reviewer-2");
    assert_eq!(bench.status("t"), Status::Approved);
}

#[test]
fn changed_quorum_counts_from_next_approval() {
    // Lowered: nothing changes by itself, and the next approval is enough.
    let mut bench = handed_in();
    bench.ok("reviewer-1", bench.start_review("t"));
    bench.ok("reviewer-1", Approve { quorum: 3, ..bench.approve("t") });
    assert_eq!(bench.status("t"), Status::ReadyForReview);
    assert_eq!(bench.refused("reviewer-1", bench.start_review("t")), Code::AlreadyApproved);
    bench.ok("reviewer-2", bench.start_review("t"));
    bench.ok("reviewer-2", Approve { quorum: 1, ..bench.approve("t") });
    assert_eq!(bench.status("t"), Status::Approved);
    assert_eq!(names(bench.task("t")).len(), 2);
    // Raised: more approvals are needed.
    let mut bench = handed_in();
    approve(&mut bench, "reviewer-1");
    bench.ok("reviewer-2", bench.start_review("t"));
    bench.ok("reviewer-2", Approve { quorum: 3, ..bench.approve("t") });
    assert_eq!(bench.status("t"), Status::ReadyForReview);
    bench.ok("human", bench.start_review("t"));
    bench.ok("human", Approve { quorum: 3, ..bench.approve("t") });
    assert_eq!(bench.status("t"), Status::Approved);
}

#[test]
fn disagreeing_reviewers_block_for_the_planner() {
    let mut bench = handed_in();
    bench.ok("reviewer-1", bench.start_review("t"));
    let mut approval = two(&bench);
    approval.feedback.summary = "reads well".to_owned();
    bench.ok("reviewer-1", approval);
    bench.ok("reviewer-2", bench.start_review("t"));
    let outcome = bench.ok("reviewer-2", bench.reject("t", REASONS[0]));
    let positions = outcome["positions"].as_array().expect("positions");
    assert_eq!(
        (positions[0]["verdict"].as_str(), positions[1]["verdict"].as_str()),
        (Some("approve"), Some("request_changes"))
    );
    assert_eq!(positions[1]["issues"].as_array().map(Vec::len), Some(1));
    let task = bench.task("t");
    let body = task.body();
    assert_eq!((task.status, body.blocked_from), (Status::Blocked, Some(Status::ReadyForReview)));
    assert!(
        body.blocked_reason
            .as_deref()
            .is_some_and(|reason| reason.starts_with("reviewers disagree: reviewer-1"))
    );
    let question = &body.blocked_questions[0];
    for part in ["reviewer-1 approves it: reads well", "reviewer-2 rejects it", REASONS[0]] {
        assert!(question.contains(part), "{part} in {question}");
    }
    assert!(body.blocked_questions.len() <= 3 && task.approvals.is_none());
    // After the answer any reviewer may judge it again: approve or reject.
    bench.ok("planner-1", bench.unblock("t"));
    assert_eq!(bench.status("t"), Status::ReadyForReview);
    bench.ok("reviewer-1", bench.start_review("t"));
    bench.ok("reviewer-1", bench.reject("t", REASONS[1]));
    assert_eq!(bench.status("t"), Status::Rejected);
    assert_eq!(violations(&bench.board), []);
}

/// A critical issue by reviewer-2, and the submission after it.
fn objected_to() -> Bench {
    let mut bench = handed_in();
    bench.ok("reviewer-2", bench.start_review("t"));
    let mut reject = bench.reject("t", REASONS[0]);
    reject.feedback.issues = vec![finding(Severity::Critical)];
    bench.ok("reviewer-2", reject);
    bench.hand_in("coder-1", "t");
    bench
}

#[track_caller]
fn is_open(bench: &Bench, which: &str) -> bool {
    let issues = &bench.task("t").body().issues;
    issues.iter().find(|issue| issue.id == which).expect("an issue").is_open()
}

/// A rejection by reviewer-2 with another issue, silent about the first.
fn other_issue(bench: &Bench) -> Reject {
    let mut reject = bench.reject("t", REASONS[1]);
    let text = "no timeout on the socket".to_owned();
    reject.feedback.issues = vec![Finding { line: 400, issue: text, ..finding(Severity::Major) }];
    reject.feedback.prior = Vec::new();
    reject
}

#[test]
fn partial_approval_closes_no_unnamed_issue() {
    let mut bench = objected_to();
    approve(&mut bench, "reviewer-1");
    assert!(is_open(&bench, "i1"));
    bench.ok("reviewer-2", bench.start_review("t"));
    assert_eq!(bench.refused("reviewer-2", other_issue(&bench)), Code::FeedbackIncomplete);
    // The last approval closes it.
    let mut enough = bench.clone();
    enough.ok("reviewer-2", two(&enough));
    assert_eq!(enough.status("t"), Status::Approved);
    assert!(!is_open(&enough, "i1"));
    // A voided approval does not.
    enough.ok("reviewer-1", VoidApproval { task: id("t"), branch_head: Some(commit(77)) });
    assert!(is_open(&enough, "i1"));
    assert_eq!(violations(&enough.board), []);
}

#[test]
fn contradicted_approval_reopens_its_issues() {
    let mut bench = objected_to();
    bench.ok("reviewer-1", bench.start_review("t"));
    let mut approval = two(&bench);
    approval.feedback.prior = vec![PriorStatus { id: "i1".to_owned(), status: IssueStatus::Resolved }];
    bench.ok("reviewer-1", approval);
    assert!(!is_open(&bench, "i1"));
    bench.ok("reviewer-2", bench.start_review("t"));
    bench.ok("reviewer-2", other_issue(&bench));
    assert_eq!(bench.status("t"), Status::Blocked);
    assert!(is_open(&bench, "i1") && is_open(&bench, "i2"));
    let deadlock = bench.board.rest.anomalies.last().expect("an anomaly");
    assert_eq!(deadlock.kind, AnomalyKind::ReviewDeadlock);
    assert!(deadlock.details["assessment"].starts_with("reviewers disagree"));
    assert_eq!(violations(&bench.board), []);
}

#[test]
fn position_includes_issues_kept_open() {
    let mut bench = objected_to();
    approve(&mut bench, "reviewer-1");
    bench.ok("reviewer-2", bench.start_review("t"));
    let mut reject = other_issue(&bench);
    reject.feedback.issues = Vec::new();
    reject.feedback.prior = vec![PriorStatus { id: "i1".to_owned(), status: IssueStatus::Open }];
    let outcome = bench.ok("reviewer-2", reject);
    let held = outcome["positions"][1]["issues"][0].as_str().unwrap_or_default();
    assert!(held.starts_with("[i1] critical"), "{outcome}");
}

#[test]
fn new_submission_has_no_approvals() {
    let mut bench = handed_in();
    approve(&mut bench, "reviewer-1");
    bench.ok("planner-1", bench.block("t"));
    bench.ok("planner-1", bench.unblock("t"));
    assert_eq!(names(bench.task("t")), ["reviewer-1"], "the commit is the same");
    approve(&mut bench, "reviewer-2");
    let void = VoidApproval { task: id("t"), branch_head: Some(commit(77)) };
    bench.ok("reviewer-1", void);
    assert_eq!((bench.status("t"), names(bench.task("t")).len()), (Status::Rejected, 0));
    bench.hand_in("coder-1", "t");
    approve(&mut bench, "reviewer-1");
    assert_eq!(bench.status("t"), Status::ReadyForReview);
}

#[test]
fn wrong_approval_count_is_an_invalid_board() {
    let mut bench = handed_in();
    approve(&mut bench, "reviewer-1");
    approve(&mut bench, "reviewer-2");
    let sound = bench.board.clone();
    let mut spoil = |change: &dyn Fn(&mut crate::board::quorum::Approvals)| {
        bench.board = sound.clone();
        let (head, _) = bench.board.task_mut(&id("t")).expect("t").parts_mut();
        change(head.approvals.as_mut().expect("approvals"));
        assert!(violations(&bench.board).iter().any(|found| found.invariant == "I6"));
        bench.refused("reviewer-1", bench.begin_merge("t"))
    };
    assert_eq!(spoil(&|approvals| approvals.needed = 3), Code::Tier0UnapprovedMerge);
    assert_eq!(spoil(&|approvals| drop(approvals.by.pop())), Code::Tier0UnapprovedMerge);
    assert_eq!(spoil(&|approvals| approvals.by[1] = approvals.by[0].clone()), Code::Tier0UnapprovedMerge);
    assert_eq!(spoil(&|approvals| approvals.by[0].reviewer = agent("coder-1")), Code::Tier0SelfApproval);
    assert_eq!(spoil(&|approvals| approvals.by[0].commit = commit(5)), Code::ApprovalVoid);
}
