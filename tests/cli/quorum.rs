//! Tasks that need two approvals, and what happens when the reviewers disagree.

use serde_json::{Value, json};

use crate::support::{HUMAN, Who, World};
use crate::team::{EVERY_ROLE, answer, configure, events, named, scripted};

struct Scene {
    world: World,
    coder: Who,
    one: Who,
    two: Who,
}

fn scene() -> Scene {
    let world = World::new();
    world.write("liza.yaml", "version: 1\nreview: { quorum: { high: 2 } }\n");
    let coder = world.register("coder", "coder-1");
    let one = world.register("code_reviewer", "reviewer-1");
    let two = world.register("code_reviewer", "reviewer-2");
    Scene { world, coder, one, two }
}

impl Scene {
    #[track_caller]
    fn submitted(&self, id: &str, risk: &str) -> String {
        let file = format!("{id}.sh");
        self.world.task_with(id, &[&file, &format!("tests/test_{id}.sh")], &["--risk", risk]);
        self.world.submit_work(&self.coder, id, &file, "echo a\n")
    }
}

fn reject<'a>(id: &'a str, commit: &'a str) -> Vec<&'a str> {
    let mut args = vec!["review", "reject", id, "--commit", commit, "--reason", "empty input crashes it"];
    args.extend(["--issue", "major:t1.sh:1:run it with an empty argument"]);
    args
}

#[test]
fn merge_names_both_approving_reviewers() {
    let scene = scene();
    let Scene { world, coder, one, two } = &scene;
    let commit = scene.submitted("t1", "high");
    let shown = world.liza(one, &["review", "show", "t1", "--no-diff"]).ok().stdout;
    assert!(shown.contains("approvals: 0 of 2"), "{shown}");
    world.liza(one, &["review", "claim", "t1"]).ok();
    let approve = ["review", "approve", "t1", "--commit", &commit, "--summary", "fine"];
    let said = world.liza(one, &approve).ok().stdout;
    assert!(said.contains("1 of 2 approvals"), "{said}");

    // The first approval is recorded but not enough: the review is free for another reviewer.
    let row = world.row("t1");
    assert_eq!((&row["status"], &row["reviewer"]), (&json!("READY_FOR_REVIEW"), &Value::Null));
    assert_eq!(row["approvals"]["needed"], 2);
    assert_eq!(row["approvals"]["by"][0]["reviewer"], "reviewer-1");
    let status = world.human(&["status"]).ok().stdout;
    assert!(status.contains("1 of 2 approvals (reviewer-1); ready for another reviewer"), "{status}");
    let error = world.refused(one, &["review", "claim", "t1"], 1, "refused.already_approved");
    assert!(error["hint"].as_str().unwrap().contains("liza review claim t1"), "{error}");
    world.refused(one, &approve, 3, "stale.lease_lost");
    assert_eq!(world.json(one, &["next", "--role", "code_reviewer"]).ok().data(), Value::Null);
    world.tier0(one, &["merge", "t1"], "tier0.unapproved_merge");
    world.tier0(coder, &["review", "claim", "t1"], "tier0.role_boundary");
    // A lower quorum in liza.yaml approves nothing by itself, and does not let the same reviewer claim again.
    world.write("liza.yaml", "version: 1\n");
    world.refused(one, &["review", "claim", "t1"], 1, "refused.already_approved");
    world.tier0(one, &["merge", "t1"], "tier0.unapproved_merge");
    world.write("liza.yaml", "version: 1\nreview: { quorum: { high: 2 } }\n");

    let offered = world.json(two, &["next", "--role", "code_reviewer"]).ok().data();
    assert_eq!(offered["task"], "t1");
    let said = world.liza(two, &approve).ok().stdout;
    assert!(said.contains("t1 is APPROVED"), "{said}");
    let merged = world.json(one, &["merge", "t1"]).ok().data();
    let message = world.git(&["log", "-1", "--format=%B", merged["merge_commit"].as_str().unwrap()]);
    assert!(message.contains("Reviewed-by: reviewer-1\nReviewed-by: reviewer-2\n"), "{message}");
    // Tasks of lower risk need one approval.
    let commit = scene.submitted("t2", "low");
    world.approve(one, "t2", &commit);
    assert_eq!(world.status_of("t2"), "APPROVED");
    assert_eq!(world.show("t2").get("approvals"), None);
    world.sound();
}

#[test]
fn planner_sees_both_sides_of_a_disagreement() {
    let scene = scene();
    let Scene { world, coder, one, two } = &scene;
    let planner = world.register("planner", "planner-1");
    let commit = scene.submitted("t1", "high");
    world.approve(one, "t1", &commit);
    world.liza(two, &["review", "claim", "t1"]).ok();
    let data = world.json(two, &reject("t1", &commit)).ok().data();
    assert_eq!(data["status"], "BLOCKED");
    let position = |at: usize, key: &str| data["positions"][at][key].clone();
    assert_eq!((position(0, "reviewer"), position(0, "verdict")), (json!("reviewer-1"), json!("approve")));
    assert_eq!((position(0, "summary"), position(0, "issues")), (json!("fine"), json!([])));
    assert_eq!(
        (position(1, "reviewer"), position(1, "verdict")),
        (json!("reviewer-2"), json!("request_changes"))
    );
    assert_eq!(position(1, "issues"), json!(["[i1] major t1.sh:1: run it with an empty argument"]));
    let task = world.show("t1");
    let reason = task["blocked_reason"].as_str().unwrap();
    assert!(reason.starts_with("reviewers disagree: reviewer-1 approved"), "{reason}");
    assert_eq!(task.get("approvals"), None);
    let wake = world.json(&planner, &["next", "--role", "planner"]).ok().data();
    assert_eq!((&wake["trigger"], &wake["about"]), (&json!("blocked"), &json!(["t1"])));
    let shown = world.liza(&planner, &["task", "show", "t1"]).ok().stdout;
    for part in [
        "reviewer-1 approves it: fine",
        "reviewer-2 rejects it: empty input crashes it",
        "run it with an empty argument",
    ] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    // After the answer the review is repeated: the task goes back to its coder, and the next submission has no approvals.
    world.liza(&planner, &["task", "unblock", "t1", "--answer", "reviewer-2 is right"]).ok();
    world.liza(two, &["review", "claim", "t1"]).ok();
    let again = [&reject("t1", &commit)[..], &["--prior", "i1=resolved"]].concat();
    world.liza(two, &again).ok();
    assert_eq!(world.status_of("t1"), "REJECTED");
    let worktree = world.claim(coder, "t1");
    world.checkpoint(coder, "t1", &["t1.sh"]);
    let commit = world.write_and_commit(&worktree, &[("t1.sh", "echo b\n")]);
    world.liza(coder, &["task", "submit", "t1"]).ok();
    world.approve(two, "t1", &commit);
    assert_eq!(world.row("t1")["approvals"]["by"].as_array().map(Vec::len), Some(1));
    world.approve(one, "t1", &commit);
    world.liza(one, &["merge", "t1"]).ok();
    world.sound();
}

const QUORUM: &str = "run: { grace_seconds: 1 }\nreview: { quorum: { low: 2, medium: 2, high: 2 } }\n";

fn add(world: &World, id: &str) {
    world.task_with(id, &[&format!("{id}.txt"), &format!("tests/test_{id}.sh")], &["--risk", "high"]);
}

#[test]
fn two_reviewers_of_a_team_both_approve() {
    let world = scripted(EVERY_ROLE);
    configure(
        &world,
        &format!("{QUORUM}team:\n  - {{ role: coder }}\n  - {{ role: code_reviewer, count: 2 }}\n"),
    );
    add(&world, "risky");
    let ran = world.json(&HUMAN, &["run"]).ok();
    let data = answer(&ran)["data"].clone();
    assert_eq!((&data["outcome"], &data["counts"]["MERGED"]), (&json!("complete"), &json!(1)), "{data}");
    let approvals = world.show("risky")["approvals"].clone();
    let mut by: Vec<&str> =
        approvals["by"].as_array().unwrap().iter().filter_map(|given| given["reviewer"].as_str()).collect();
    by.sort_unstable();
    assert_eq!(by, ["code-reviewer-1", "code-reviewer-2"]);
    let reported = events(&ran);
    assert_eq!(named(&reported, "approved").len(), 2, "{}", ran.stdout);
    world.sound();
    world.human(&["doctor"]).ok();
}

#[test]
fn run_status_and_doctor_report_low_quorum() {
    let world = scripted(EVERY_ROLE);
    configure(&world, &format!("{QUORUM}team:\n  - {{ role: coder }}\n  - {{ role: code_reviewer }}\n"));
    add(&world, "risky");
    let findings = world.json(&HUMAN, &["doctor"]).stdout;
    assert!(findings.contains("review.quorum asks for 2 reviewers"), "{findings}");
    let ran = world.json(&HUMAN, &["run"]);
    let data = answer(&ran)["data"].clone();
    assert_eq!(data["outcome"], "stuck", "{data}");
    let cause = &data["causes"][0];
    assert_eq!((&cause["kind"], &cause["task"]), (&json!("missing_role"), &json!("risky")), "{data}");
    let why = cause["why"].as_str().unwrap();
    assert!(why.contains("code-reviewer-1 approved it; 2 different reviewers have to"), "{why}");
    let status = world.human(&["status"]).ok().stdout;
    assert!(status.contains("no other registered reviewer may judge it"), "{status}");
    // A person counts as another reviewer.
    let commit = world.show("risky")["review_commit"].as_str().unwrap().to_owned();
    world.approve(&HUMAN, "risky", &commit);
    world.human(&["merge", "risky"]).ok();
    world.sound();
}

#[test]
fn rubber_stamp_reviewer_alerts_once() {
    let Scene { world, coder, one, .. } = &scene();
    let reported = || {
        let data = world.json(&HUMAN, &["watch", "--once"]).ok().data();
        let alerts = data["alerts"].as_array().cloned().unwrap_or_default();
        alerts.into_iter().filter(|alert| alert["kind"] == "rubber_stamp").collect::<Vec<Value>>()
    };
    for number in 0..10 {
        let id = format!("t{number}");
        world.approved(coder, one, &id, &format!("{id}.sh"), "echo a\n");
    }
    let alerts = reported();
    assert_eq!(alerts.len(), 1, "{alerts:?}");
    assert_eq!(alerts[0]["subject"], "reviewer-1");
    let text = alerts[0]["text"].as_str().unwrap();
    assert!(text.contains("10 of 10 verdicts are approvals; no issue raised in 10"), "{text}");
    assert!(world.state().contains("rubber_stamp reviewer-1") && world.state().contains("role:planner"));
    let revision = world.revision();
    assert!(reported().is_empty(), "the same is reported once");
    assert_eq!(world.revision(), revision);
    world.sound();
}
