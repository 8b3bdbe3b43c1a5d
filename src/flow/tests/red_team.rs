//! The red team's turn between approval and merge.

use serde_json::json;

use crate::flow::review::VerdictKind;
use crate::flow::testing::{Actor, Scene, feedback, finding};

struct Turn {
    scene: Scene,
    coder: Actor,
    reviewer: Actor,
    red: Actor,
    /// The commit of `t1`, of high risk, that was approved.
    commit: String,
}

fn turn() -> Turn {
    let scene = Scene::new();
    scene.write("liza.yaml", "version: 1\nred_team: { from: high }\n");
    let coder = scene.agent("coder", "coder-1");
    let reviewer = scene.agent("code_reviewer", "reviewer-1");
    let red = scene.agent("red_team", "red-1");
    scene.task_with("t1", &["t1.sh", "tests/test_t1.sh"], json!({ "risk": "high" }));
    let commit = scene.submit_work(&coder, "t1", "t1.sh", "echo a\n");
    scene.approve(&reviewer, "t1", &commit);
    Turn { scene, coder, reviewer, red, commit }
}

#[test]
fn red_team_finding_reopens_the_task() {
    let Turn { scene, coder, reviewer, red, commit } = turn();
    red.review("t1").unwrap();
    let bare = feedback(json!({ "summary": "it smells" }));
    scene.refused("refused.feedback_incomplete", || red.verdict(VerdictKind::Reject, "t1", &commit, bare));
    let issue = finding("major", "t1.sh", "run it with an empty argument");
    red.reject("t1", &commit, "empty input crashes it", &[issue], &[]).unwrap();
    let task = scene.show("t1");
    assert_eq!((&task["status"], &task["review_cycles_total"]), (&json!("REJECTED"), &json!(1)));
    assert_eq!((task.get("approval"), task.get("red_team")), (None, None));
    assert_eq!(
        (&task["issues"][0]["status"], &task["reviews"][1]["red_team"]),
        (&json!("open"), &json!(true))
    );
    assert!(task["issues"][0].to_string().contains("run it with an empty argument"), "{task}");
    scene.tier0(&reviewer, "tier0.unapproved_merge", |reviewer| reviewer.merge("t1"));

    // The next round has its own turn.
    let worktree = scene.claim(&coder, "t1");
    scene.checkpoint(&coder, "t1", &["t1.sh"]);
    let commit = scene.write_and_commit(&worktree, &[("t1.sh", "echo b\n")]);
    coder.submit("t1").unwrap();
    scene.approve(&reviewer, "t1", &commit);
    scene.refused("refused.red_team", || reviewer.merge("t1"));
    red.review("t1").unwrap();
    let holds = feedback(json!({ "summary": "holds now" }));
    red.verdict(VerdictKind::Approve, "t1", &commit, holds).unwrap();
    reviewer.merge("t1").unwrap();
    scene.sound();
}

/// The branch moves during the turn: neither its verdict nor the approval counts.
#[test]
fn moved_branch_voids_turn_and_approval() {
    let Turn { scene, reviewer, red, commit, .. } = turn();
    red.review("t1").unwrap();
    scene.write_and_commit(&scene.path(".worktrees/t1"), &[("t1.sh", "echo sneaked in\n")]);
    scene.refused("stale.commit", || red.approve("t1", &commit));
    let failure = reviewer.merge("t1").err().expect("a void approval");
    assert_eq!(failure.code.as_str(), "stale.approval_void");
    assert_eq!(scene.status_of("t1"), "REJECTED");
    assert_eq!(scene.show("t1").get("red_team"), None);
    scene.sound();
}
