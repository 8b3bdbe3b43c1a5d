//! Reviews that end: disagreements are named, and their result is recorded.

use serde_json::{Value, json};

use crate::board::records::AnomalyKind;
use crate::board::rules::LogAnomaly;
use crate::flow::review::VerdictKind;
use crate::flow::testing::{Actor, Scene, feedback, finding, task_id};

struct Pair {
    scene: Scene,
    coder: Actor,
    reviewer: Actor,
}

/// Lines that differ from each other.
fn lines(range: std::ops::Range<u32>) -> String {
    range.map(|number| format!("step_{number}\n")).collect()
}

fn finding_at(line: u32, severity: &str, text: &str) -> Value {
    json!({ "severity": severity, "file": "a.sh", "line": line, "issue": text })
}

impl Pair {
    fn new() -> Self {
        let scene = Scene::new();
        let coder = scene.agent("coder", "coder-1");
        let reviewer = scene.agent("code_reviewer", "reviewer-1");
        Self { scene, coder, reviewer }
    }

    #[track_caller]
    fn first(&self, text: &str) -> String {
        self.scene.submitted(&self.coder, "t1", "a.sh", text)
    }

    #[track_caller]
    fn again(&self, text: &str) -> String {
        let worktree = self.scene.claim(&self.coder, "t1");
        self.scene.checkpoint(&self.coder, "t1", &["a.sh"]);
        self.scene.write_and_commit(&worktree, &[("a.sh", text)]);
        self.coder.submit("t1").unwrap()["review_commit"].as_str().unwrap().to_owned()
    }

    #[track_caller]
    fn reject(&self, commit: &str, reason: &str, issues: &[Value], prior: &[(&str, &str)]) -> Value {
        self.reviewer.reject("t1", commit, reason, issues, prior).unwrap()
    }

    fn result(&self) -> Value {
        self.scene.show("t1")["review_result"].clone()
    }
}

#[test]
fn demands_about_unchanged_lines_are_scope_creep() {
    let pair = Pair::new();
    let text = |first: &str, second: &str| format!("{first}\n{}{second}\n{}", lines(0..20), lines(20..60));
    let commit = pair.first(&text("one", "two"));
    pair.reject(&commit, "it crashes", &[finding_at(1, "major", "no default for the argument")], &[]);
    let commit = pair.again(&text("one_fixed", "two"));
    let colours = finding_at(22, "major", "colours would be friendlier");
    let data = pair.reject(&commit, "it looks dull", &[colours], &[("i1", "resolved")]);
    assert_eq!(data["status"], "REJECTED");
    let commit = pair.again(&text("one_fixed", "two_fixed"));
    let french = finding_at(50, "major", "translate everything into French");
    let data = pair.reject(&commit, "no one abroad can read it", &[french], &[("i2", "resolved")]);
    assert_eq!(
        (&data["status"], &data["disagreement"]),
        (&json!("BLOCKED"), &json!("scope_creep")),
        "{data}"
    );
    let task = pair.scene.show("t1");
    assert!(task["blocked_reason"].as_str().unwrap().starts_with("scope_creep: "), "{task}");
    let question = task["blocked_questions"][0].as_str().unwrap();
    assert!(question.contains("i2 major a.sh:22") && question.contains("i3 major a.sh:50"), "{question}");
    assert_eq!(pair.result()["ending"], "limit");
    pair.scene.sound();
}

#[test]
fn unanswered_question_blocks_the_next_rejection() {
    let pair = Pair::new();
    let commit = pair.first("one\n");
    let details = [("question".to_owned(), "May a name be empty?".to_owned())].into();
    let asked = LogAnomaly { kind: AnomalyKind::SpecAmbiguity, task: task_id("t1"), details };
    pair.coder.commit(asked).unwrap();
    let data = pair.reject(&commit, "empty names crash", &[finding("major", "a.sh", "no default")], &[]);
    assert_eq!((&data["status"], &data["disagreement"]), (&json!("BLOCKED"), &json!("spec_gap")), "{data}");
    assert_eq!(pair.scene.show("t1")["blocked_questions"], json!(["May a name be empty?"]));
}

#[test]
fn review_result_lasts_until_work_goes_on() {
    let pair = Pair::new();
    let (scene, person) = (&pair.scene, pair.scene.person());
    let ending = || pair.result()["ending"].clone();
    let commit = pair.first("one\n");
    pair.reviewer.review("t1").unwrap();
    let silent = feedback(json!({ "summary": "spec is silent", "questions": ["Which?"] }));
    pair.reviewer.verdict(VerdictKind::Discuss, "t1", &commit, silent).unwrap();
    assert_eq!(ending(), "needs_discussion");
    assert_eq!(pair.result()["rounds"], 1);
    person.unblock("t1", "the first", 0).unwrap();
    assert!(ending().is_null());
    pair.reject(&commit, "it crashes", &[finding("major", "a.sh", "no default")], &[]);
    scene.claim(&pair.coder, "t1");
    pair.coder.block("t1", "no access", &["Who has it?"]).unwrap();
    assert_eq!(ending(), "producer_blocked");
    person.unblock("t1", "you do now", 0).unwrap();
    let commit = pair.again("two\n");
    let data = pair.reject(&commit, "it crashes!", &[], &[("i1", "open")]);
    assert_eq!(data["disagreement"], "unknown", "{data}");
    assert_eq!(ending(), "limit");
    let positions = pair.result()["positions"].clone();
    assert_eq!(positions["reviewer"], "i1 major a.sh:1: no default");
    assert_eq!(positions["coder"], "the files say what the spec asks for; changed since round 1: a.sh");
    person.unblock("t1", "handle it", 0).unwrap();
    let commit = pair.again("three\n");
    assert!(ending().is_null());
    scene.approve(&pair.reviewer, "t1", &commit);
    assert_eq!(ending(), "approved");
    assert_eq!(pair.result()["verdict"], "approve");
    pair.reviewer.merge("t1").unwrap();
    assert_eq!(ending(), "approved");
    scene.sound();
}

#[test]
fn unresolved_critical_issue_is_never_a_note() {
    let pair = Pair::new();
    let scene = &pair.scene;
    let commit = pair.first(&lines(0..40));
    let grave = finding_at(10, "critical", "the caller's permission is not checked before the delete");
    pair.reject(&commit, "the delete is open to all", &[grave], &[]);
    let mut steps = lines(0..40);
    for (word, prior) in
        [("preview", &[("i1", "open")][..]), ("listing", &[("i1", "open"), ("i2", "resolved")])]
    {
        steps.push_str(&format!("step_{word}\n"));
        let commit = pair.again(&steps);
        let text = format!("the caller's permission is not checked before the {word}");
        let small = finding_at(12, "minor", &text);
        let reason = format!("a small wish about the {word}");
        pair.reviewer.review("t1").unwrap();
        let unanswered = feedback(json!({ "summary": reason, "issues": [&small] }));
        let failure = scene.refused("refused.feedback_incomplete", || {
            pair.reviewer.verdict(VerdictKind::Reject, "t1", &commit, unanswered)
        });
        assert!(failure.message.contains("i1"), "{failure:?}");
        let data = pair.reject(&commit, &reason, &[small], prior);
        assert_ne!(data["status"], "APPROVED", "{data}");
        let task = scene.show("t1");
        assert_eq!((&task["issues"][0]["severity"], &task["approval"]), (&json!("critical"), &Value::Null));
    }
    scene.sound();
}

#[test]
fn minor_issues_reject_without_accept_minor() {
    let pair = Pair::new();
    pair.scene.write("liza.yaml", "version: 1\nreview: {accept_minor: false}\n");
    let commit = pair.first("one\n");
    pair.reject(&commit, "names could be better", &[finding("minor", "a.sh", "call it first")], &[]);
    let commit = pair.again("two\n");
    let data = pair.reject(&commit, "and a little air", &[], &[("i1", "open")]);
    assert_eq!(data["status"], "REJECTED", "{data}");
    assert!(pair.scene.show("t1")["approval"].is_null());
}

/// Two reviewers have to approve high-risk work.
#[test]
fn two_reviewers_accept_minor_issues_as_notes() {
    let Pair { scene, coder, reviewer: one } = Pair::new();
    scene.write("liza.yaml", "version: 1\nreview: { quorum: { high: 2 } }\n");
    let two = scene.agent("code_reviewer", "reviewer-2");
    scene.task_with("t1", &["a.sh", "tests/test_t1.sh"], json!({ "risk": "high" }));
    let commit = scene.submit_work(&coder, "t1", "a.sh", "echo a\n");
    let dull = [finding("nitpick", "a.sh", "the name of the helper is dull")];
    one.reject("t1", &commit, "names could be nicer", &dull, &[]).unwrap();
    let pair = Pair { scene, coder, reviewer: one };
    let commit = pair.again("echo b\n");
    let blank = [finding("nitpick", "a.sh", "a blank line is missing")];
    let data = two.reject("t1", &commit, "the layout is not what I like", &blank, &[("i1", "resolved")]);
    let data = data.unwrap();
    assert_eq!((&data["status"], &data["accepted_with_notes"]), (&json!("READY_FOR_REVIEW"), &json!(["i2"])));
    let data = pair.reject(&commit, "the blank line please", &[], &[("i2", "open")]);
    assert_eq!(
        (&data["status"], &data["accepted_with_notes"]),
        (&json!("APPROVED"), &json!(["i2"])),
        "{data}"
    );
    pair.reviewer.merge("t1").unwrap();
    pair.scene.sound();
}
