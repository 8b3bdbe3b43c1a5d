//! Reviews: a sealed checkout, verdicts on one commit, and never by an implementer.

use std::path::Path;

use serde_json::{Value, json};

use crate::board::CommitId;
use crate::board::history::Assumption;
use crate::board::rules::{ReleaseReview, RenewReview};
use crate::flow::review::{VerdictKind, verdict};
use crate::flow::testing::{Actor, Answer, Scene, checkpoint, feedback, finding, paths, task_id};
use crate::policy::wake::{Trigger, wakes};

fn with_reviewer() -> (Scene, Actor, Actor) {
    let scene = Scene::new();
    let coder = scene.agent("coder", "coder-1");
    let reviewer = scene.agent("code_reviewer", "reviewer-1");
    (scene, coder, reviewer)
}

/// The same coder claims t1 again, changes the file and submits.
#[track_caller]
fn submit_again(scene: &Scene, coder: &Actor, text: &str) -> String {
    let worktree = scene.claim(coder, "t1");
    scene.checkpoint(coder, "t1", &["a.sh"]);
    scene.write_and_commit(&worktree, &[("a.sh", text)]);
    coder.submit("t1").unwrap()["review_commit"].as_str().unwrap().to_owned()
}

fn approve_with(actor: &Actor, commit: &str, prior: &[(&str, &str)]) -> Answer {
    let prior: Vec<Value> =
        prior.iter().map(|(issue, status)| json!({ "issue": issue, "status": status })).collect();
    let feedback = feedback(json!({ "summary": "good now", "prior": prior }));
    actor.verdict(VerdictKind::Approve, "t1", commit, feedback)
}

#[test]
fn checkout_is_exactly_the_commit_and_detached() {
    let (scene, coder, reviewer) = with_reviewer();
    let commit = scene.submitted(&coder, "t1", "a.sh", "echo a\n");
    let data = reviewer.review("t1").unwrap();
    let checkout = Path::new(data["checkout"].as_str().unwrap()).to_owned();
    assert!(checkout.is_absolute() && checkout.ends_with(".worktrees/.review/t1"));
    assert_eq!(data["review_commit"], commit);
    assert_eq!(scene.git_in(&checkout, &["rev-parse", "HEAD"]), commit);
    assert_eq!(scene.git_in(&checkout, &["rev-parse", "--abbrev-ref", "HEAD"]), "HEAD");
    // A reviewer's changes never reach the branch, and the next claim gives a clean checkout.
    scene.write_and_commit(&checkout, &[("a.sh", "tampered\n")]);
    reviewer.review("t1").unwrap();
    assert_eq!(scene.git_in(&checkout, &["rev-parse", "HEAD"]), commit);
    assert_eq!(std::fs::read_to_string(checkout.join("a.sh")).unwrap(), "echo a\n");
    reviewer.approve("t1", &commit).unwrap();
    reviewer.merge("t1").unwrap();
    assert_eq!(scene.git(&["show", "integration:a.sh"]), "echo a");
}

#[test]
fn rejection_without_a_usable_finding_is_refused() {
    let (scene, coder, reviewer) = with_reviewer();
    let commit = scene.submitted(&coder, "t1", "a.sh", "echo a\n");
    reviewer.review("t1").unwrap();
    let refused = |code: &str, review: Value| {
        scene.refused(code, || reviewer.verdict(VerdictKind::Reject, "t1", &commit, feedback(review)))
    };
    refused("refused.feedback_incomplete", json!({ "summary": "bad" }));
    refused("refused.incomplete", json!({ "summary": "", "issues": [finding("major", "a.sh", "x")] }));
    let in_line_0 = json!({ "severity": "major", "file": "a.sh", "line": 0, "issue": "text" });
    refused("refused.feedback_incomplete", json!({ "summary": "bad", "issues": [in_line_0] }));
    let outside = finding("major", "../a.sh", "text");
    refused("refused.feedback_incomplete", json!({ "summary": "bad", "issues": [outside] }));
    refused("refused.incomplete", json!({ "summary": "bad", "issues": [finding("major", "a.sh", " ")] }));
    let unknown = json!({ "issue": "i9", "status": "open" });
    refused("refused.unknown_record", json!({ "summary": "bad", "prior": [unknown] }));
}

#[test]
fn rejected_work_continues_in_second_iteration() {
    let (scene, coder, reviewer) = with_reviewer();
    let commit = scene.submitted(&coder, "t1", "a.sh", "echo a\n");
    let issues = [finding("major", "a.sh", "no default: it fails"), finding("nitpick", "a.sh", "spacing")];
    let data = reviewer.reject("t1", &commit, "empty names crash", &issues, &[]).unwrap();
    assert_eq!((&data["status"], &data["issues"]), (&json!("REJECTED"), &json!(["i1", "i2"])));
    assert_eq!(scene.show("t1")["rejection_reason"], "empty names crash");
    // Another coder may not claim it while it is reserved; the same coder continues where it was.
    let other = scene.agent("coder", "coder-2");
    scene.refused("stale.reserved", || other.claim("t1"));
    let data = coder.claim("t1").unwrap();
    assert_eq!((&data["iteration"], &data["branch"]), (&json!(2), &json!("task/t1")));
    let worktree = scene.path(".worktrees/t1");
    assert_eq!(data["worktree"], worktree.to_str().unwrap());
    assert_eq!(scene.git_in(&worktree, &["rev-parse", "HEAD"]), commit);
    // A new iteration needs a new checkpoint, which need not repeat the files of the first.
    scene.refused("refused.checkpoint_missing", || coder.submit("t1"));
    scene.checkpoint(&coder, "t1", &["a.sh"]);
    scene.write_and_commit(&worktree, &[("a.sh", "echo ${1:-World}\n")]);
    let second = coder.submit("t1").unwrap()["review_commit"].as_str().unwrap().to_owned();
    reviewer.review("t1").unwrap();
    // A rejection must answer prior issues, and an approval may leave none open.
    let unanswered =
        json!({ "summary": "still not quoted", "issues": [finding("minor", "a.sh", "quote it")] });
    let failure = scene.refused("refused.feedback_incomplete", || {
        reviewer.verdict(VerdictKind::Reject, "t1", &second, feedback(unanswered))
    });
    assert_eq!(failure.details["issues"], json!(["i1", "i2"]));
    scene.refused("refused.issues_open", || approve_with(&reviewer, &second, &[("i1", "partial")]));
    approve_with(&reviewer, &second, &[("i2", "open")]).unwrap();
    let task = scene.show("t1");
    assert_eq!(task["status"], "APPROVED");
    assert_eq!(
        (&task["issues"][0]["status"], &task["issues"][1]["status"]),
        (&json!("resolved"), &json!("open"))
    );
    assert!(task["rejection_reason"].is_null());
    assert_eq!(task["reviews"].as_array().unwrap().len(), 2);
    scene.sound();
}

#[test]
fn approval_with_an_open_finding_is_refused() {
    let (scene, coder, reviewer) = with_reviewer();
    let commit = scene.submitted(&coder, "t1", "a.sh", "echo a\n");
    reviewer.review("t1").unwrap();
    let open = json!({ "summary": "ok", "issues": [finding("critical", "a.sh", "boom")] });
    scene.refused("refused.issues_open", || {
        reviewer.verdict(VerdictKind::Approve, "t1", &commit, feedback(open))
    });
}

#[test]
fn same_reason_twice_blocks() {
    let (scene, coder, reviewer) = with_reviewer();
    let commit = scene.submitted(&coder, "t1", "a.sh", "1\n");
    let issues = [finding("major", "a.sh", "x")];
    reviewer.reject("t1", &commit, "The error from the parser is swallowed", &issues, &[]).unwrap();
    let commit = submit_again(&scene, &coder, "2\n");
    let same = "the error from the parser is swallowed!";
    let data = reviewer.reject("t1", &commit, same, &[], &[("i1", "open")]).unwrap();
    assert_eq!(data["status"], "BLOCKED");
    assert!(data["blocked_reason"].as_str().unwrap().contains("Same rejection reason"), "{data}");
    let task = scene.show("t1");
    assert_eq!(task["failed_by"], json!(["coder-1"]));
    assert!((1..=3).contains(&task["blocked_questions"].as_array().unwrap().len()));
    // Back to its agent with an answer; the count starts again.
    scene.person().unblock("t1", "log it", 0).unwrap();
    scene.claim(&coder, "t1");
    scene.sound();
}

#[test]
fn three_rejections_block_and_two_failures_exhaust() {
    let (scene, coder, reviewer) = with_reviewer();
    let reasons = ["no default for names", "tests do not run on BSD", "documentation contradicts code"];
    let mut commit = scene.submitted(&coder, "t1", "a.sh", "0\n");
    for (number, reason) in reasons.iter().enumerate() {
        let earlier = format!("i{number}");
        let prior = [(earlier.as_str(), "resolved")];
        let prior = if number > 0 { &prior[..] } else { &[] };
        let issues = [finding("major", "a.sh", reason)];
        let data = reviewer.reject("t1", &commit, reason, &issues, prior).unwrap();
        let wanted = if number == 2 { "BLOCKED" } else { "REJECTED" };
        assert_eq!(data["status"], wanted, "round {}: {data}", number + 1);
        if number < 2 {
            commit = submit_again(&scene, &coder, &format!("{}\n", number + 1));
        }
    }
    assert_eq!(scene.show("t1")["review_cycles_total"], 3);
    // A second agent fails too: then only replanning helps.
    let person = scene.person();
    person.unblock("t1", "try once more", 0).unwrap();
    coder.release("t1", "").unwrap();
    let second = scene.agent("coder", "coder-2");
    scene.claim(&second, "t1");
    assert_eq!(scene.show("t1")["review_cycles_current"], 0);
    assert_eq!(scene.show("t1")["review_cycles_total"], 3);
    let mut plan = checkpoint(&["a.sh"]);
    plan.assumptions =
        ["1", "2", "3", "4"].map(|text| Assumption { text: text.to_owned(), critical: true }).to_vec();
    assert_eq!(second.checkpoint("t1", plan).unwrap()["status"], "BLOCKED");
    scene.refused("refused.hypothesis_exhausted", || person.unblock("t1", "a", 0));
    let woken = wakes(&scene.board(), person.ctx().now.wall);
    assert_eq!(woken[0].trigger, Trigger::HypothesisExhausted);
    scene.sound();
}

#[test]
fn max_review_cycles_block_and_more_can_be_granted() {
    let (scene, coder, reviewer) = with_reviewer();
    scene.edit_state("max_review_cycles: 5", "max_review_cycles: 1");
    let commit = scene.submitted(&coder, "t1", "a.sh", "0\n");
    let data = reviewer.reject("t1", &commit, "wrong", &[finding("major", "a.sh", "x")], &[]).unwrap();
    assert_eq!(data["status"], "BLOCKED", "{data}");
    scene.refused("refused.limit", || scene.person().unblock("t1", "a", 0));
    scene.person().unblock("t1", "a", 2).unwrap();
    let commit = submit_again(&scene, &coder, "1\n");
    let data = reviewer.reject("t1", &commit, "another reason altogether", &[], &[("i1", "open")]).unwrap();
    assert_eq!(data["status"], "REJECTED", "{data}");
}

#[test]
fn discussed_task_returns_to_review_once_answered() {
    let (scene, coder, reviewer) = with_reviewer();
    let commit = scene.submitted(&coder, "t1", "a.sh", "echo a\n");
    reviewer.review("t1").unwrap();
    let discuss = |questions: &[&str]| {
        let review = feedback(json!({ "summary": "spec is silent", "questions": questions }));
        reviewer.verdict(VerdictKind::Discuss, "t1", &commit, review)
    };
    scene.refused("refused.incomplete", || discuss(&[]));
    assert_eq!(discuss(&["Empty names?"]).unwrap()["status"], "BLOCKED");
    scene.person().unblock("t1", "not allowed", 0).unwrap();
    assert_eq!(scene.status_of("t1"), "READY_FOR_REVIEW");
    scene.approve(&reviewer, "t1", &commit);
}

#[test]
fn code_task_without_tests_is_not_approved() {
    let (scene, coder, reviewer) = with_reviewer();
    for (id, kind, file) in [("c1", "code", "c1.sh"), ("d1", "docs", "d1.md")] {
        scene.task_with(id, &[file], json!({ "kind": kind }));
        let worktree = scene.claim(&coder, id);
        if kind == "code" {
            scene.refused("refused.tests_missing", || coder.checkpoint(id, checkpoint(&[file])));
            coder.release(id, "").unwrap();
            continue;
        }
        scene.checkpoint(&coder, id, &[file]);
        let commit = scene.write_and_commit(&worktree, &[(file, "x\n")]);
        coder.submit(id).unwrap();
        reviewer.review(id).unwrap();
        scene.refused("stale.lease_lost", || scene.person().approve(id, &commit));
        reviewer.approve(id, &commit).unwrap();
    }
    // liza.yaml says what counts as a test.
    scene.write("liza.yaml", "tests: ['checks/']\n");
    scene.task("e1", &["e1.sh", "tests/", "checks/"]);
    let worktree = scene.claim(&coder, "e1");
    let wrong = ["e1.sh", "tests/test_e1.sh"];
    scene.refused("refused.tests_missing", || coder.checkpoint("e1", checkpoint(&wrong)));
    scene.checkpoint(&coder, "e1", &["e1.sh", "checks/e1.sh"]);
    let commit = scene.write_and_commit(&worktree, &[("e1.sh", "x\n"), ("checks/e1.sh", "x\n")]);
    coder.submit("e1").unwrap();
    reviewer.review("e1").unwrap();
    reviewer.approve("e1", &commit).unwrap();
}

#[test]
fn protected_paths_need_an_explicit_approval() {
    let (scene, coder, reviewer) = with_reviewer();
    scene.task("t1", &["tests/", "CLAUDE.md", ".github/workflows/", "sub/AGENTS.md"]);
    let worktree = scene.claim(&coder, "t1");
    let files = ["CLAUDE.md", ".github/workflows/ci.yml", "sub/AGENTS.md", "tests/x.sh"];
    scene.checkpoint(&coder, "t1", &files);
    let commit = scene.write_and_commit(&worktree, &files.map(|file| (file, "x\n")));
    coder.submit("t1").unwrap();
    reviewer.review("t1").unwrap();
    let failure = scene.refused("refused.protected_paths", || reviewer.approve("t1", &commit));
    let mut listed = paths(&failure);
    listed.sort();
    assert_eq!(listed, [".github/workflows/ci.yml", "CLAUDE.md", "sub/AGENTS.md"]);
    let submission = &scene.show("t1")["submission"];
    assert!(submission["protected"].to_string().contains("CLAUDE.md"), "{submission}");
    let commit = CommitId::new(&commit).unwrap();
    let fine = feedback(json!({ "summary": "fine" }));
    verdict(&reviewer.ctx(), VerdictKind::Approve, &task_id("t1"), commit, fine, true).unwrap();
    assert_eq!(scene.show("t1")["approval"]["protected_paths_allowed"], true);
}

#[test]
fn implementer_cannot_review_own_task() {
    let scene = Scene::new();
    let both = scene.agent_with(&["coder", "code_reviewer"], "both-1");
    let coder = scene.agent("coder", "coder-1");
    let commit = scene.submitted(&both, "t1", "a.sh", "echo a\n");
    // With both roles.
    scene.tier0(&both, "tier0.self_approval", |both| both.review("t1"));
    scene.tier0(&both, "tier0.self_approval", |both| both.approve("t1", &commit));
    let bad = feedback(json!({ "summary": "r", "issues": [finding("major", "a.sh", "x")] }));
    scene.tier0(&both, "tier0.self_approval", |both| both.verdict(VerdictKind::Reject, "t1", &commit, bad));
    // Under a new incarnation of the same id.
    let reborn = scene.agent("code_reviewer", "both-1");
    scene.tier0(&reborn, "tier0.self_approval", |reborn| reborn.review("t1"));
    // A coder may not give verdicts at all, not even on other agents' work.
    scene.tier0(&coder, "tier0.role_boundary", |coder| coder.review("t1"));
    scene.tier0(&coder, "tier0.role_boundary", |coder| coder.approve("t1", &commit));
    scene.tier0(&coder, "tier0.role_boundary", |coder| coder.merge("t1"));
    // A person who implemented may not review, like an agent.
    let person = scene.person();
    let commit = scene.submitted(&person, "t2", "b.sh", "echo b\n");
    scene.tier0(&person, "tier0.self_approval", |person| person.review("t2"));
    scene.tier0(&person, "tier0.self_approval", |person| person.approve("t2", &commit));
    // What was not submitted cannot be approved, what was not approved cannot be merged.
    scene.task("t3", &["c.sh"]);
    scene.tier0(&person, "tier0.skipped_state", |person| person.approve("t3", &commit));
    scene.tier0(&person, "tier0.unapproved_merge", |person| person.merge("t2"));
    assert_eq!(scene.violations(), 11);
    scene.sound();
}

#[test]
fn every_contributor_is_an_implementer() {
    let scene = Scene::new();
    let one = scene.agent_with(&["coder", "code_reviewer"], "one");
    let two = scene.agent_with(&["coder", "code_reviewer"], "two");
    let three = scene.agent("code_reviewer", "three");
    scene.task("t1", &["a.sh", "tests/"]);
    // `one` only started it; `two` finished; a commit has the name of `three`.
    scene.claim(&one, "t1");
    one.hand_off("t1", "s", "n").unwrap();
    let worktree = scene.claim(&two, "t1");
    scene.checkpoint(&two, "t1", &["a.sh", "tests/x.sh"]);
    scene.write_and_commit(&worktree, &[("tests/x.sh", "echo ok\n")]);
    crate::git::testing::write_in(&worktree, "a.sh", "echo a\n");
    scene.git_in(&worktree, &["add", "-A"]);
    scene.git_in(&worktree, &["commit", "-q", "-m", "mine", "--author", "Three <x@example.org>"]);
    two.submit("t1").unwrap();
    for actor in [&one, &two, &three] {
        scene.tier0(actor, "tier0.self_approval", |actor| actor.review("t1"));
    }
    assert_eq!(scene.show("t1")["implementers"], json!(["one", "two", "three"]));
    scene.person().review("t1").unwrap();
}

#[test]
fn verdict_is_about_the_commit_under_review() {
    let (scene, coder, reviewer) = with_reviewer();
    let commit = scene.submitted(&coder, "t1", "a.sh", "echo a\n");
    let other = scene.agent("code_reviewer", "reviewer-2");
    scene.refused("stale.lease_lost", || reviewer.approve("t1", &commit));
    reviewer.review("t1").unwrap();
    scene.refused("stale.held", || other.review("t1"));
    scene.refused("stale.lease_lost", || other.approve("t1", &commit));
    let main = scene.git(&["rev-parse", "main"]);
    scene.refused("stale.commit", || reviewer.approve("t1", &main));
    // The branch moves after the submission: its former head gets no verdict.
    scene.write_and_commit(&scene.path(".worktrees/t1"), &[("a.sh", "sneaky\n")]);
    scene.refused("stale.commit", || reviewer.approve("t1", &commit));
    reviewer.commit(RenewReview { task: task_id("t1") }).unwrap();
    reviewer.commit(ReleaseReview { task: task_id("t1") }).unwrap();
    other.review("t1").unwrap();
}
