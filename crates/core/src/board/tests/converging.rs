//! How review rounds end: issues keep their ids, and histories show why two agents disagree. Each case stands beside
//! one that is nearly the same.

use serde_json::Value;

use crate::board::convergence::{Drift, FileDrift, Hunk};
use crate::board::gates::{GateOutcome, GateReport, GateStatus, Moment};
use crate::board::records::AnomalyKind;
use crate::board::refusal::Code;
use crate::board::review::{Finding, IssueStatus, PriorStatus, Severity, Standing};
use crate::board::review_result::Disagreement;
use crate::board::review_result::Ending;
use crate::board::rules::*;
use crate::board::task::{Risk, Status};
use crate::board::testing::*;

const FILE: &str = "t/lib.rs";

fn scene() -> Bench {
    let mut bench = Bench::with_config(|config| {
        config.breaker_rejections = 90;
        config.lease_seconds = 1000;
        config.max_review_cycles = 90;
        config.max_coder_iterations = 90;
    });
    bench.add(&["t"]);
    bench
}

fn at(severity: Severity, line: u32, text: &str) -> Finding {
    Finding { file: FILE.to_owned(), line, issue: text.to_owned(), ..finding(severity) }
}

fn major(line: u32, text: &str) -> Finding {
    at(Severity::Major, line, text)
}

fn minor(line: u32, text: &str) -> Finding {
    at(Severity::Minor, line, text)
}

fn prior(pairs: &[(&str, IssueStatus)]) -> Vec<PriorStatus> {
    pairs.iter().map(|(id, status)| PriorStatus { id: (*id).to_owned(), status: *status }).collect()
}

const OPEN: IssueStatus = IssueStatus::Open;
const RESOLVED: IssueStatus = IssueStatus::Resolved;

/// The changes since the review before: these hunks in the one file.
fn since(bench: &Bench, hunks: &[(u32, u32, u32, u32)]) -> Vec<Drift> {
    let Some(last) = bench.task("t").body().reviews.last() else { return Vec::new() };
    let hunk =
        |(old_start, old_lines, new_start, new_lines)| Hunk { old_start, old_lines, new_start, new_lines };
    let files = vec![FileDrift {
        from: FILE.to_owned(),
        to: Some(FILE.to_owned()),
        hunks: hunks.iter().copied().map(hunk).collect(),
    }];
    vec![Drift { since: last.commit.clone(), changed: vec![FILE.to_owned()], files }]
}

/// Submits a tree and starts its review.
fn hand_in(bench: &mut Bench, tree: u64) {
    bench.claim("coder-1", "t");
    bench.ok("coder-1", bench.checkpoint("t"));
    let mut submit = bench.submit("t");
    submit.evidence.tree = Some(commit(tree));
    bench.ok("coder-1", submit);
    bench.ok("reviewer-1", bench.start_review("t"));
}

/// The rejection of a round, with a reason that no other round has.
fn rejection(bench: &Bench, findings: Vec<Finding>, priors: &[(&str, IssueStatus)]) -> Reject {
    let round = bench.task("t").review_cycles_total as usize;
    let mut reject = bench.reject("t", REASONS[round % REASONS.len()]);
    reject.feedback.issues = findings;
    reject.feedback.prior = prior(priors);
    reject
}

fn round(bench: &mut Bench, tree: u64, findings: Vec<Finding>, priors: &[(&str, IssueStatus)]) -> Value {
    hand_in(bench, tree);
    let reject = rejection(bench, findings, priors);
    bench.ok("reviewer-1", reject)
}

#[track_caller]
fn blocked_as(bench: &Bench, class: Disagreement) {
    let body = bench.task("t").body();
    assert_eq!(bench.status("t"), Status::Blocked, "{:?}", body.issues);
    let result = body.review_result.as_ref().expect("a result");
    assert_eq!((result.ending, result.disagreement), (Ending::Limit, Some(class)), "{result:?}");
    let positions = result.positions.as_ref().expect("two positions");
    assert!(!positions.coder.is_empty() && !positions.reviewer.is_empty());
    let reason = body.blocked_reason.as_deref().unwrap_or_default();
    // A limit is named in the words of the contract, any other end by its class.
    let begins = match class {
        Disagreement::Unknown => "Max ".to_owned(),
        class => format!("{}: ", class.as_str()),
    };
    assert!(reason.starts_with(&begins), "{reason}");
    assert!((1..=3).contains(&body.blocked_questions.len()));
    let last = bench.board.rest.anomalies.last().expect("an anomaly");
    assert_eq!(last.kind, AnomalyKind::ReviewDeadlock);
    assert_eq!(last.details["assessment"], reason);
}

fn standings(bench: &Bench, id: &str) -> Vec<(Standing, bool)> {
    let issue = bench.task("t").body().issues.iter().find(|issue| issue.id == id).expect("an issue").clone();
    issue.rounds.iter().map(|said| (said.standing, said.reopened)).collect()
}

// Identity.

#[test]
fn issue_is_matched_through_moves_and_rewording() {
    let mut bench = scene();
    round(
        &mut bench,
        1,
        vec![major(10, "the empty list is not handled"), minor(40, "a typo in the comment")],
        &[],
    );
    hand_in(&mut bench, 2);
    // Thirty lines were added above it, and a line below it changed.
    let mut reject = rejection(&bench, vec![major(40, "no handling of empty lists")], &[("i2", RESOLVED)]);
    reject.drift = since(&bench, &[(2, 0, 3, 30), (40, 1, 70, 1)]);
    let outcome = bench.ok("reviewer-1", reject);
    assert_eq!(outcome["issues"], serde_json::json!([]), "no second name: {outcome}");
    assert_eq!(outcome["same_as"][0]["issue"], "i1");
    let body = bench.task("t").body();
    assert_eq!(body.issues.len(), 2);
    assert_eq!((body.issues[0].line, body.issues[1].line), (40, 70));
    assert_eq!(standings(&bench, "i1"), [(Standing::New, false), (Standing::StillPresent, false)]);
    let feedback = body.rejection_feedback.clone().unwrap_or_default();
    assert!(feedback.contains("[i1] must fix major t/lib.rs:40 (still there since round 1)"), "{feedback}");
    assert!(feedback.contains("Now said as: no handling of empty lists"), "{feedback}");
    assert!(!feedback.contains("[i2]"), "{feedback}");
}

#[test]
fn same_words_on_distant_line_are_another_issue() {
    let mut bench = scene();
    round(&mut bench, 1, vec![major(10, "no test for the error path")], &[]);
    let outcome = round(&mut bench, 2, vec![major(400, "no test for the error path")], &[("i1", RESOLVED)]);
    assert_eq!(outcome["issues"], serde_json::json!(["i2"]));
    // Another complaint about the same line is another issue, and so is the same complaint about another file.
    let mut elsewhere = major(10, "no test for the error path");
    elsewhere.file = "t/other.rs".to_owned();
    let findings = vec![major(400, "the name of the variable says nothing"), elsewhere];
    let outcome = round(&mut bench, 3, findings, &[("i2", RESOLVED)]);
    assert_eq!(outcome["issues"], serde_json::json!(["i3", "i4"]));
}

#[test]
fn a_renamed_file_keeps_its_issues() {
    let mut bench = scene();
    round(&mut bench, 1, vec![major(10, "the empty list is not handled")], &[]);
    hand_in(&mut bench, 2);
    let mut moved = major(12, "the empty list is not handled yet");
    moved.file = "t/moved.rs".to_owned();
    let mut reject = rejection(&bench, vec![moved], &[]);
    reject.drift = since(&bench, &[(1, 0, 2, 2)]);
    reject.drift[0].files[0].to = Some("t/moved.rs".to_owned());
    assert_eq!(bench.ok("reviewer-1", reject)["same_as"][0]["issue"], "i1");
    assert_eq!(bench.task("t").body().issues[0].file, "t/moved.rs");
}

#[test]
fn issue_raised_again_is_marked_said_resolved() {
    let mut bench = scene();
    round(&mut bench, 1, vec![major(10, "the empty list is not handled")], &[]);
    let findings = vec![major(10, "The empty list is not handled!")];
    let outcome = round(&mut bench, 2, findings, &[("i1", RESOLVED)]);
    assert_eq!(outcome["same_as"][0]["said_resolved"], true, "{outcome}");
    assert_eq!(standings(&bench, "i1"), [(Standing::New, false), (Standing::StillPresent, false)]);
    // An issue that was resolved in one round and is raised in the next is reopened.
    round(&mut bench, 3, vec![minor(90, "a typo in the comment")], &[("i1", RESOLVED)]);
    assert_eq!(standings(&bench, "i1")[2], (Standing::Resolved, false));
    let story = bench.task("t").body().issues[0].story();
    assert_eq!(story, "round 1 new, round 2 still present, round 3 resolved");
    let mut approve_round = bench.clone();
    hand_in(&mut approve_round, 4);
    let mut approve = approve_round.approve("t");
    approve.feedback.issues = vec![minor(10, "the empty list is hardly handled")];
    approve_round.ok("reviewer-1", approve);
    assert_eq!(
        standings(&approve_round, "i2")[1],
        (Standing::Resolved, false),
        "an approval resolves the rest"
    );
    assert_eq!(standings(&approve_round, "i1").len(), 3, "a small wish is not the grave issue of before");
    assert_eq!(standings(&approve_round, "i3"), [(Standing::New, false)]);
    round(&mut bench, 4, vec![major(10, "the empty list is not handled")], &[("i2", RESOLVED)]);
    assert_eq!(standings(&bench, "i1")[3], (Standing::StillPresent, true));
}

#[test]
fn minor_finding_does_not_answer_grave_issue() {
    let grave = at(Severity::Critical, 10, "the permission is not checked before the delete");
    let mut bench = scene();
    round(&mut bench, 1, vec![grave.clone()], &[]);
    hand_in(&mut bench, 2);
    for small in [
        minor(12, "the permission is not checked before the preview"),
        minor(10, "the permission is not checked before the delete"),
    ] {
        let reject = rejection(&bench, vec![small.clone()], &[]);
        assert_eq!(bench.refused("reviewer-1", reject), Code::FeedbackIncomplete);
        let mut said = bench.clone();
        let reject = rejection(&said, vec![small], &[("i1", RESOLVED)]);
        said.ok("reviewer-1", reject);
        assert_eq!(standings(&said, "i2"), [(Standing::New, false)]);
        assert_eq!(standings(&said, "i1")[1], (Standing::Resolved, false));
    }
    // Only a review that names the issue by its id lowers its severity: another blocking finding does not.
    let mut graver = bench.clone();
    graver.ok("reviewer-1", rejection(&graver, vec![major(10, &grave.issue)], &[]));
    assert_eq!(graver.task("t").body().issues[0].severity, Severity::Critical);
    bench.ok("reviewer-1", rejection(&bench, vec![minor(10, &grave.issue)], &[("i1", OPEN)]));
    let issues = &bench.task("t").body().issues;
    assert_eq!((issues.len(), issues[0].severity), (1, Severity::Minor));
}

#[test]
fn other_words_on_another_line_are_another_issue() {
    let mut bench = scene();
    round(&mut bench, 1, vec![major(10, "the permission is not checked before the delete")], &[]);
    hand_in(&mut bench, 2);
    let rename = rejection(&bench, vec![major(12, "the permission is not checked before the rename")], &[]);
    assert_eq!(bench.refused("reviewer-1", rename), Code::FeedbackIncomplete);
    // A finding at the other end of the rewritten lines is another issue too, and so is one about the whole file.
    let mut far = rejection(&bench, vec![major(58, "the permission is not checked before the rename")], &[]);
    far.drift = since(&bench, &[(1, 60, 1, 60)]);
    assert_eq!(bench.refused("reviewer-1", far.clone()), Code::FeedbackIncomplete);
    far.drift = since(&bench, &[(9, 3, 9, 3)]);
    far.feedback.issues[0].issue = "the permission is not checked before the delete".to_owned();
    assert_eq!(bench.refused("reviewer-1", far), Code::FeedbackIncomplete);
    let mut whole = major(1, "the permission is not checked before the rename");
    whole.line_end = Some(500);
    let whole = rejection(&bench, vec![whole], &[]);
    assert_eq!(bench.refused("reviewer-1", whole), Code::FeedbackIncomplete);
}

#[test]
fn similar_issue_elsewhere_reopens_nothing() {
    let mut bench = scene();
    round(&mut bench, 1, vec![major(10, "the error of open() is ignored")], &[]);
    round(&mut bench, 2, vec![major(50, "the cache is never emptied")], &[("i1", RESOLVED)]);
    let read = || vec![major(14, "the error of read() is ignored")];
    let outcome = round(&mut bench, 3, read(), &[("i2", RESOLVED)]);
    assert_eq!((&outcome["status"], &outcome["issues"]), (&"REJECTED".into(), &serde_json::json!(["i3"])));
    assert_eq!(standings(&bench, "i1").len(), 2);
    // The latest wording is shown.
    let again = vec![major(14, "the error of read() is ignored and the file stays open")];
    round(&mut bench, 4, again, &[]);
    let body = bench.task("t").body();
    assert!(body.issues[2].last_words().contains("stays open"), "{:?}", body.issues[2]);
    let held = crate::board::disagreement::positions(body, &[]).reviewer;
    assert_eq!(held, "i3 major t/lib.rs:14: the error of read() is ignored and the file stays open");
}

#[test]
fn an_issue_is_named_once() {
    let mut bench = scene();
    round(&mut bench, 1, vec![major(10, "the empty list is not handled")], &[]);
    hand_in(&mut bench, 2);
    let reject = rejection(&bench, Vec::new(), &[("i1", OPEN), ("i1", RESOLVED)]);
    assert_eq!(bench.refused("reviewer-1", reject), Code::FeedbackIncomplete);
}

// Oscillating.

#[test]
fn issues_that_come_back_are_oscillating() {
    let mut bench = scene();
    round(&mut bench, 1, vec![major(10, "the cache must not be shared")], &[]);
    round(&mut bench, 2, vec![major(50, "every call opens a connection of its own")], &[("i1", RESOLVED)]);
    assert_eq!(bench.status("t"), Status::Rejected);
    round(&mut bench, 3, Vec::new(), &[("i1", OPEN), ("i2", RESOLVED)]);
    blocked_as(&bench, Disagreement::Oscillating);
    let question = &bench.task("t").body().blocked_questions[0];
    for part in ["Round 3", "shared", "Round 2", "connection of its own"] {
        assert!(question.contains(part), "{part} in {question}");
    }
    assert_eq!(standings(&bench, "i1")[2], (Standing::StillPresent, true));
}

#[test]
fn content_that_comes_back_is_oscillating() {
    let mut bench = scene();
    for (tree, text) in [(1, "too clever"), (2, "too long by far"), (1, "the loop is unreadable")] {
        let resolved: Vec<String> =
            bench.task("t").body().issues.iter().map(|issue| issue.id.clone()).collect();
        let priors: Vec<(&str, IssueStatus)> = resolved.iter().map(|id| (id.as_str(), RESOLVED)).collect();
        round(&mut bench, tree, vec![major(10, text)], &priors);
    }
    blocked_as(&bench, Disagreement::Oscillating);
}

#[test]
fn issues_that_stay_open_are_not_oscillating() {
    let mut bench = scene();
    // {i1}, {i1, i2}, {i1}: i2 came and went, i1 never left.
    round(&mut bench, 1, vec![major(10, "the cache must not be shared")], &[]);
    round(&mut bench, 2, vec![major(50, "every call opens a connection")], &[("i1", OPEN)]);
    round(&mut bench, 3, Vec::new(), &[("i1", OPEN), ("i2", RESOLVED)]);
    assert_eq!(bench.status("t"), Status::Rejected);
    // The same content twice in a row is not oscillating either.
    round(&mut bench, 3, Vec::new(), &[("i1", IssueStatus::Partial)]);
    assert_eq!(bench.status("t"), Status::Rejected);
    assert!(bench.task("t").body().review_result.is_none(), "the rounds go on");
}

#[test]
fn answer_resets_the_signs_of_disagreement() {
    let mut bench = scene();
    round(&mut bench, 1, vec![major(10, "the cache must not be shared")], &[]);
    round(&mut bench, 2, vec![major(50, "every call opens a connection")], &[("i1", RESOLVED)]);
    round(&mut bench, 1, Vec::new(), &[("i1", OPEN), ("i2", RESOLVED)]);
    blocked_as(&bench, Disagreement::Oscillating);
    bench.ok("planner-1", bench.unblock("t"));
    assert!(bench.task("t").body().review_result.is_none());
    round(&mut bench, 2, Vec::new(), &[("i1", OPEN)]);
    assert_eq!(bench.status("t"), Status::Rejected);
}

// Scope creep.

/// Three rounds in which the coder does everything asked for; `third` is the demand of the last round, `hunks` what
/// changed before it.
fn creeping(third: Finding, hunks: &[(u32, u32, u32, u32)], i2: IssueStatus) -> Bench {
    let mut bench = scene();
    round(&mut bench, 1, vec![major(10, "the parser panics")], &[]);
    hand_in(&mut bench, 2);
    let mut reject = rejection(&bench, vec![major(100, "logging is missing")], &[("i1", RESOLVED)]);
    reject.drift = since(&bench, &[(10, 1, 10, 1)]);
    bench.ok("reviewer-1", reject);
    hand_in(&mut bench, 3);
    let mut reject = rejection(&bench, vec![third], &[("i2", i2)]);
    reject.drift = since(&bench, hunks);
    bench.ok("reviewer-1", reject);
    bench
}

#[test]
fn new_demands_about_old_lines_are_scope_creep() {
    let bench = creeping(major(200, "metrics should be exported"), &[(100, 1, 100, 1)], RESOLVED);
    blocked_as(&bench, Disagreement::ScopeCreep);
    let questions = bench.task("t").body().blocked_questions.join("\n");
    assert!(questions.contains("logging is missing") && questions.contains("metrics"), "{questions}");
}

#[test]
fn justified_findings_are_no_scope_creep() {
    // The line changed since the review before.
    let bench = creeping(major(100, "metrics should be exported"), &[(99, 3, 99, 4)], RESOLVED);
    assert_eq!(bench.status("t"), Status::Rejected);
    // A criterion covers it ("it works").
    let bench = creeping(major(200, "export of metrics does not work"), &[(100, 1, 100, 1)], RESOLVED);
    assert_eq!(bench.status("t"), Status::Rejected);
    // An earlier issue is still open.
    let bench = creeping(major(200, "metrics should be exported"), &[(100, 1, 100, 1)], OPEN);
    assert_eq!(bench.status("t"), Status::Rejected);
    // A minor wish is no demand.
    let bench = creeping(minor(200, "metrics should be exported"), &[(100, 1, 100, 1)], RESOLVED);
    assert_eq!(bench.status("t"), Status::Rejected);
}

// Subjective.

fn gates(bench: &Bench, status: GateStatus) -> Acceptance {
    let commit = bench.task("t").review_commit.clone().expect("a commit");
    let report = GateReport {
        required: vec!["test".to_owned()],
        results: vec![GateOutcome::new("test", status)],
        ..GateReport::empty(Moment::Approve, commit.clone(), commit)
    };
    Acceptance { gates: report, red_team_from: None, quorum: 1 }
}

/// A second round after which only these findings are open.
fn tasteful(first: Finding, second: Vec<Finding>) -> (Bench, Reject) {
    let mut bench = scene();
    round(&mut bench, 1, vec![first], &[]);
    hand_in(&mut bench, 2);
    let mut reject = rejection(&bench, second, &[("i1", OPEN)]);
    reject.acceptance = Some(gates(&bench, GateStatus::Pass));
    (bench, reject)
}

#[test]
fn minor_issues_twice_are_accepted_with_notes() {
    let (mut bench, reject) = tasteful(minor(10, "I would name it otherwise"), vec![minor(60, "too terse")]);
    let outcome = bench.ok("reviewer-1", reject);
    assert_eq!(outcome["status"], "APPROVED", "{outcome}");
    assert_eq!(outcome["accepted_with_notes"], serde_json::json!(["i1", "i2"]));
    let body = bench.task("t").body();
    let approval = body.approval.as_ref().expect("an approval");
    assert_eq!(
        (approval.reviewer.as_str(), &approval.notes[..]),
        ("reviewer-1", &["i1".to_owned(), "i2".to_owned()][..])
    );
    let result = body.review_result.as_ref().expect("a result");
    assert_eq!((result.ending, result.disagreement), (Ending::Approved, Some(Disagreement::Subjective)));
    assert_eq!(result.accepted_with_notes, ["i1", "i2"]);
    assert!(body.reviews.last().is_some_and(|review| review.accepted_with_notes));
    let detail = body.history.last().and_then(|line| line.detail.clone()).unwrap_or_default();
    assert!(detail.contains("accepted with notes (i1, i2)"), "{detail}");
    assert!(body.issues.iter().all(|issue| issue.is_open()), "what was wished for stays on record");
}

#[test]
fn acceptance_with_notes_needs_what_approval_needs() {
    let small = || minor(10, "I would name it otherwise");
    let sent_back = |bench: &mut Bench, reject: Reject| {
        let outcome = bench.ok("reviewer-1", reject);
        assert_eq!(outcome["status"], "REJECTED", "{outcome}");
        assert!(bench.task("t").body().approval.is_none());
    };
    // The project has not enabled acceptance with notes.
    let (mut bench, mut reject) = tasteful(small(), Vec::new());
    reject.acceptance = None;
    sent_back(&mut bench, reject);
    // A required gate is red, could not run, or ran on another commit.
    for status in [GateStatus::Fail, GateStatus::CouldNotRun] {
        let (mut bench, mut reject) = tasteful(small(), Vec::new());
        reject.acceptance = Some(gates(&bench, status));
        sent_back(&mut bench, reject);
    }
    let (mut bench, mut reject) = tasteful(small(), Vec::new());
    if let Some(acceptance) = &mut reject.acceptance {
        acceptance.gates.commit = commit(7);
    }
    sent_back(&mut bench, reject);
    // A grave issue is open, in this round or in the one before.
    let (mut bench, reject) = tasteful(small(), vec![major(60, "it loses data")]);
    sent_back(&mut bench, reject);
    let (mut bench, mut reject) = tasteful(major(10, "it loses data"), vec![minor(60, "too terse")]);
    reject.feedback.prior = prior(&[("i1", RESOLVED)]);
    sent_back(&mut bench, reject);
    // The checklist has an answer "no".
    let (mut bench, mut reject) = tasteful(small(), Vec::new());
    reject.of_risk = vec!["Is it documented?".to_owned()];
    reject.feedback.checklist = vec![crate::board::checklist::GivenAnswer {
        item: crate::board::checklist::ItemName::Number(1),
        answer: crate::board::checklist::Answer::No,
        note: None,
    }];
    sent_back(&mut bench, reject);
    // Minor issues in only one round are not enough.
    let mut bench = scene();
    hand_in(&mut bench, 1);
    let mut reject = rejection(&bench, vec![small()], &[]);
    reject.acceptance = Some(gates(&bench, GateStatus::Pass));
    sent_back(&mut bench, reject);
}

#[test]
fn acceptance_with_notes_skips_no_safeguard() {
    for (tests, protected) in [(false, false), (true, true)] {
        let mut bench = scene();
        for number in 1..=2 {
            bench.claim("coder-1", "t");
            bench.ok("coder-1", bench.checkpoint("t"));
            let mut submit = bench.submit("t");
            if !tests {
                // As submitted before this check existed.
                submit.evidence.tests.clear();
                submit.edition = Edition::FIRST;
            }
            if protected {
                submit.evidence.protected = vec![FILE.to_owned()];
            }
            bench.ok("coder-1", submit);
            bench.ok("reviewer-1", bench.start_review("t"));
            let mut reject = rejection(&bench, vec![minor(10, "I would name it otherwise")], &[]);
            reject.acceptance = Some(gates(&bench, GateStatus::Pass));
            assert_eq!(bench.ok("reviewer-1", reject)["status"], "REJECTED", "round {number}");
        }
    }
    let (mut bench, mut reject) = tasteful(minor(10, "I would name it otherwise"), Vec::new());
    if let Some(acceptance) = &mut reject.acceptance {
        acceptance.red_team_from = Some(Risk::Low);
    }
    bench.ok("reviewer-1", reject);
    assert!(bench.task("t").awaits_red_team());
    // And an implementer cannot accept its own task this way.
    let (mut bench, reject) = tasteful(minor(10, "I would name it otherwise"), Vec::new());
    let (head, _) = bench.board.task_mut(&id("t")).expect("there").parts_mut();
    head.implementers.push(agent("reviewer-2"));
    assert!(bench.refused("reviewer-2", reject).is_tier0());
}

// Spec gap.

fn ambiguity(kind: AnomalyKind, pairs: &[(&str, &str)]) -> LogAnomaly {
    LogAnomaly { kind, task: id("t"), details: details(pairs) }
}

#[test]
fn an_open_question_about_the_spec_is_a_spec_gap() {
    for (kind, pairs, asked) in [
        (AnomalyKind::SpecAmbiguity, vec![("question", "May a name be empty?")], "May a name be empty?"),
        (AnomalyKind::SystemAmbiguity, vec![("question", "Which host?")], "Which host?"),
        (
            AnomalyKind::SpecGap,
            vec![("spec", "specs/a.md"), ("gap", "rounding")],
            "specs/a.md does not say: rounding. What holds?",
        ),
    ] {
        let mut bench = scene();
        hand_in(&mut bench, 1);
        bench.ok("coder-1", ambiguity(kind, &pairs));
        let reject = rejection(&bench, vec![major(10, "empty names crash")], &[]);
        bench.ok("reviewer-1", reject);
        blocked_as(&bench, Disagreement::SpecGap);
        assert_eq!(bench.task("t").body().blocked_questions, [asked]);
    }
}

#[test]
fn a_question_that_was_asked_before_is_a_spec_gap() {
    let mut bench = scene();
    hand_in(&mut bench, 1);
    let mut discuss = bench.discuss("t");
    discuss.feedback.questions = vec!["Is an empty name allowed in the greeting?".to_owned()];
    bench.ok("reviewer-1", discuss);
    bench.ok("planner-1", bench.unblock("t"));
    bench.ok("reviewer-1", bench.start_review("t"));
    let reject = rejection(&bench, vec![major(10, "is an empty name allowed in the greeting")], &[]);
    bench.ok("reviewer-1", reject);
    blocked_as(&bench, Disagreement::SpecGap);
    assert_eq!(bench.task("t").body().blocked_questions, ["Is an empty name allowed in the greeting?"]);
}

#[test]
fn settled_or_unrelated_question_is_no_spec_gap() {
    // Reported before the first submission; of another kind; processed; of another task.
    let mut bench = scene();
    bench.add(&["u"]);
    bench.ok("coder-1", ambiguity(AnomalyKind::SpecAmbiguity, &[("question", "Empty names?")]));
    bench.tick(5);
    hand_in(&mut bench, 1);
    bench.ok(
        "coder-1",
        ambiguity(AnomalyKind::TradeOff, &[("what", "a"), ("why", "b"), ("debt_created", "c")]),
    );
    bench.ok("coder-1", ambiguity(AnomalyKind::SpecAmbiguity, &[("question", "Empty names?")]));
    let ids = vec![bench.board.rest.anomalies.last().expect("one").id.clone()];
    bench.ok("planner-1", MarkProcessed { ids });
    let other =
        LogAnomaly { task: id("u"), ..ambiguity(AnomalyKind::SpecAmbiguity, &[("question", "Host?")]) };
    bench.ok("coder-1", other);
    let reject = rejection(&bench, vec![major(10, "empty names crash")], &[]);
    assert_eq!(bench.ok("reviewer-1", reject)["status"], "REJECTED");
}

#[test]
fn only_involved_agents_raise_a_spec_gap() {
    let asks = || ambiguity(AnomalyKind::SpecAmbiguity, &[("question", "May a name be empty?")]);
    for (who, counts) in [
        ("coder-2", false),
        ("reviewer-2", false),
        ("planner-1", true),
        ("reviewer-1", true),
        ("human", true),
    ] {
        let mut bench = scene();
        hand_in(&mut bench, 1);
        bench.ok(who, asks());
        let reject = rejection(&bench, vec![major(10, "empty names crash")], &[]);
        let outcome = bench.ok("reviewer-1", reject);
        assert_eq!(outcome["status"] == "BLOCKED", counts, "{who}: {outcome}");
        assert!(bench.task("t").failed_by.is_empty(), "{who}");
    }
    let creeping = creeping(major(200, "metrics should be exported"), &[(100, 1, 100, 1)], RESOLVED);
    assert!(creeping.task("t").failed_by.is_empty());
}

// Limits and endings.

#[test]
fn reviewers_time_is_not_the_coders_failure() {
    let mut bench = scene();
    hand_in(&mut bench, 1);
    bench.tick(7200);
    bench.ok("reviewer-2", bench.start_review("t"));
    let mut reject = rejection(&bench, vec![minor(10, "a typo")], &[]);
    reject.max_seconds = Some(900);
    assert_eq!(bench.clone().ok("reviewer-2", reject.clone())["status"], "REJECTED", "reviewer-1 was gone");
    bench.tick(7200);
    bench.ok("reviewer-2", reject);
    blocked_as(&bench, Disagreement::Unknown);
    assert!(bench.task("t").failed_by.is_empty(), "{:?}", bench.task("t").body().review_result);
}

#[test]
fn limit_without_sign_shows_both_positions() {
    let mut bench = scene();
    let (_, body) = bench.board.task_mut(&id("t")).expect("there").parts_mut();
    body.max_review_cycles = Some(2);
    round(&mut bench, 1, vec![major(10, "the empty list is not handled")], &[]);
    hand_in(&mut bench, 2);
    let mut reject = rejection(&bench, Vec::new(), &[("i1", OPEN)]);
    reject.drift = since(&bench, &[(10, 1, 10, 1)]);
    bench.ok("reviewer-1", reject);
    blocked_as(&bench, Disagreement::Unknown);
    let result = bench.task("t").body().review_result.clone().expect("a result");
    let positions = result.positions.expect("positions");
    assert_eq!(positions.coder, "The parser accepts empty input; changed since round 1: t/lib.rs");
    assert_eq!(positions.reviewer, "i1 major t/lib.rs:10: the empty list is not handled");
    assert!(bench.task("t").body().blocked_questions[0].contains(&positions.reviewer));
}

#[test]
fn time_limit_excludes_waiting() {
    let mut bench = scene();
    bench.tick(5000);
    round(&mut bench, 1, vec![major(10, "the empty list is not handled")], &[]);
    // No agent claims the task for a long time.
    bench.tick(100_000);
    bench.claim("coder-1", "t");
    bench.tick(400);
    bench.ok("coder-1", bench.checkpoint("t"));
    bench.tick(400);
    bench.ok("coder-1", bench.submit("t"));
    bench.tick(100_000);
    bench.ok("reviewer-1", bench.start_review("t"));
    bench.tick(199);
    let mut reject = rejection(&bench, vec![major(90, "errors vanish")], &[("i1", RESOLVED)]);
    reject.max_seconds = Some(1000);
    assert_eq!(bench.clone().ok("reviewer-1", reject.clone())["status"], "REJECTED");
    bench.tick(1);
    bench.ok("reviewer-1", reject);
    blocked_as(&bench, Disagreement::Unknown);
    let result = bench.task("t").body().review_result.clone().expect("a result");
    assert_eq!((result.work_seconds, result.review_seconds, result.rounds), (800, 200, 2));
    assert!(result.why.is_some_and(|why| why.contains("Max time for work and review (1000 s)")));
}

#[test]
fn review_result_has_one_of_four_endings() {
    let ending = |bench: &Bench| bench.task("t").body().review_result.as_ref().map(|result| result.ending);
    let mut bench = scene();
    // Before the first claim there are no rounds to end.
    let mut unclaimed = bench.clone();
    unclaimed.ok("planner-1", unclaimed.block("t"));
    assert_eq!(ending(&unclaimed), None);
    bench.claim("coder-1", "t");
    bench.tick(30);
    bench.ok("coder-1", bench.block("t"));
    assert_eq!(ending(&bench), Some(Ending::ProducerBlocked));
    let result = bench.task("t").body().review_result.clone().expect("a result");
    assert_eq!((result.rounds, result.verdict, result.work_seconds), (0, None, 30));
    bench.ok("planner-1", bench.unblock("t"));
    assert_eq!(ending(&bench), None);

    hand_in(&mut bench, 1);
    let mut discussed = bench.clone();
    discussed.ok("reviewer-1", discussed.discuss("t"));
    assert_eq!(ending(&discussed), Some(Ending::NeedsDiscussion));
    discussed.ok("planner-1", discussed.unblock("t"));
    assert_eq!(ending(&discussed), None);

    let mut approved = bench.clone();
    approved.ok("reviewer-1", approved.approve("t"));
    assert_eq!(ending(&approved), Some(Ending::Approved));
    approved.ok("reviewer-1", VoidApproval { task: id("t"), branch_head: Some(commit(4)) });
    assert_eq!(ending(&approved), None);

    let reject = rejection(&bench, vec![major(10, "the empty list is not handled")], &[]);
    bench.ok("reviewer-1", reject);
    assert_eq!(ending(&bench), None);
    bench.claim("coder-1", "t");
    bench.ok("coder-1", bench.block("t"));
    assert_eq!(ending(&bench), Some(Ending::ProducerBlocked));
    bench.ok("planner-1", bench.unblock("t"));
    let (_, body) = bench.board.task_mut(&id("t")).expect("there").parts_mut();
    body.max_review_cycles = Some(2);
    round(&mut bench, 2, Vec::new(), &[("i1", OPEN)]);
    assert_eq!(ending(&bench), Some(Ending::Limit));
    let more = Unblock { cycles: 1, ..bench.unblock("t") };
    bench.ok("planner-1", more);
    bench.claim("coder-1", "t");
    assert_eq!(ending(&bench), None);
}
