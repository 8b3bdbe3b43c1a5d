//! Approved work lands on integration: exactly the approved commit, or nothing.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::board::rules::MergeResult;
use crate::flow::merge::MergeOptions;
use crate::flow::testing::json as json_of;
use crate::flow::testing::{Actor, Scene, checkpoint, paths};
use crate::flow::verify::verify;

pub struct Team {
    pub scene: Scene,
    pub one: Actor,
    pub two: Actor,
    pub reviewer: Actor,
}

impl Team {
    pub fn new() -> Self {
        let scene = Scene::new();
        let one = scene.agent("coder", "coder-1");
        let two = scene.agent("coder", "coder-2");
        let reviewer = scene.agent("code_reviewer", "reviewer-1");
        Self { scene, one, two, reviewer }
    }

    /// A file that both may change, on integration before the work starts.
    pub fn sharing(file: &str, text: &str) -> Self {
        let team = Self::new();
        team.scene.write(file, text);
        team.scene.git(&["add", file]);
        team.scene.git(&["commit", "-q", "-m", "shared"]);
        team.scene.person().advance("main", "shared ground").unwrap();
        team
    }

    /// Two approved tasks that start from the same base and each write the shared file.
    pub fn rivals(&self, file: &str, first: &str, second: &str) {
        let scene = &self.scene;
        for (actor, id, text) in [(&self.one, "t1", first), (&self.two, "t2", second)] {
            let own = format!("tests/test_{id}.sh");
            scene.task_with(id, &[file, &own], json!({ "owns": [own] }));
            let worktree = scene.claim(actor, id);
            scene.checkpoint(actor, id, &[file, &own]);
            scene.write_and_commit(&worktree, &[(file, text), (&own, "echo ok\n")]);
        }
        for (actor, id) in [(&self.one, "t1"), (&self.two, "t2")] {
            let data = actor.submit(id).unwrap();
            scene.approve(&self.reviewer, id, data["review_commit"].as_str().unwrap());
        }
    }

    pub fn head(&self) -> String {
        self.scene.git(&["rev-parse", "integration"])
    }

    /// The merge ends in a conflict: integration is unchanged.
    #[track_caller]
    pub fn conflicts(&self, id: &str, outcome: &str) -> Value {
        let before = self.head();
        let merged = self.reviewer.merge(id).unwrap();
        assert_eq!(self.head(), before);
        assert_eq!(merged.end.outcome.as_str(), outcome, "{:?}", merged.end);
        json_of(merged.end)
    }

    /// The merge lands; returns its answer.
    #[track_caller]
    pub fn lands(&self, id: &str) -> Value {
        let merged = self.reviewer.merge(id).unwrap();
        assert_eq!(merged.end.outcome, MergeResult::Merged, "{:?}", merged.end);
        json_of(merged.end)
    }
}

const IMPORTS: &str = "import os\n\nprint(os.name)\n";
const WITH_SYS: &str = "import os\nimport sys\n\nprint(os.name)\n";
const WITH_RE: &str = "import os\nimport re\n\nprint(os.name)\n";

#[test]
fn configured_git_identity_signs_the_merge() {
    let Team { scene, one, reviewer, .. } = Team::new();
    scene.git(&["config", "user.name", "Ada"]);
    scene.git(&["config", "user.email", "ada@example.org"]);
    let merge = scene.merged(&one, &reviewer, "t1", "a.sh", "echo a\n");
    assert_eq!(scene.git(&["log", "-1", "--format=%an <%ae>", &merge]), "Ada <ada@example.org>");
}

#[test]
fn logic_conflict_blocks_with_the_hunks() {
    let team = Team::sharing("shared.sh", "one\ntwo\nthree\n");
    team.rivals("shared.sh", "one\nTWO by the first\nthree\n", "one\nTWO by the second\nthree\n");
    let scene = &team.scene;
    team.lands("t1");
    let data = team.conflicts("t2", "blocked");
    assert_eq!((&data["status"], &data["files"]), (&json!("BLOCKED"), &json!(["shared.sh"])));
    assert_eq!(data["hunks"][0]["file"], "shared.sh");
    let board = scene.board();
    let anomaly = serde_json::to_value(&board.rest.anomalies[0]).unwrap();
    assert_eq!((&anomaly["type"], &anomaly["task_id"]), (&json!("integration_conflict"), &json!("t2")));
    let details = anomaly["details"].to_string();
    assert!(details.contains("TWO by the first") && details.contains("TWO by the second"), "{details}");
    let task = scene.show("t2");
    assert!((1..=3).contains(&task["blocked_questions"].as_array().unwrap().len()));
    scene.refused("refused.transition", || team.reviewer.merge("t2"));
    assert_eq!(scene.git(&["show", "integration:shared.sh"]), "one\nTWO by the first\nthree");
    scene.sound();
}

#[test]
fn trivial_conflict_is_resolved_only_on_request() {
    let team = Team::sharing("lib.py", IMPORTS);
    team.rivals("lib.py", WITH_SYS, WITH_RE);
    let scene = &team.scene;
    team.lands("t1");
    let data = team.conflicts("t2", "integration_failed");
    assert_eq!(data["status"], "INTEGRATION_FAILED");
    assert!(scene.show("t2")["integration_failure"]["reason"].as_str().unwrap().contains("lib.py"));
    let options = MergeOptions { resolve_trivial: true, resolved: None };
    assert_eq!(team.reviewer.merge_with("t2", &options).unwrap().end.outcome, MergeResult::Merged);
    let merged = scene.git(&["show", "integration:lib.py"]);
    for line in ["import os", "import sys", "import re", "print(os.name)"] {
        assert_eq!(merged.matches(line).count(), 1, "{line} in {merged}");
    }
    scene.sound();
}

#[test]
fn integration_fix_claim_merges_integration() {
    let team = Team::sharing("lib.py", IMPORTS);
    team.rivals("lib.py", WITH_SYS, WITH_RE);
    let Team { scene, one, two, reviewer } = &team;
    team.lands("t1");
    team.conflicts("t2", "integration_failed");
    // Reserved for its coder; once released, any coder may claim it.
    scene.refused("stale.reserved", || one.claim("t2"));
    two.release("t2", "").unwrap();
    assert_eq!(scene.status_of("t2"), "INTEGRATION_FAILED");
    let data = one.claim("t2").unwrap();
    assert_eq!((&data["integration_fix"], &data["conflicts"]), (&json!(true), &json!(["lib.py"])));
    let worktree = PathBuf::from(data["worktree"].as_str().unwrap());
    assert!(worktree.ends_with(".worktrees/t2.3") || data["branch"] != "task/t2", "{data}");
    let state = scene.git_in(&worktree, &["status", "--porcelain"]);
    assert!(state.contains("AA lib.py") || state.contains("UU lib.py"), "{state}");
    // The former attempt stays; a checkpoint is possible in the middle of the merge.
    assert_eq!(scene.git(&["rev-parse", "refs/liza/attempts/t2/1"]), scene.git(&["rev-parse", "task/t2"]));
    scene.checkpoint(one, "t2", &["lib.py", "tests/test_t2.sh"]);
    let both = "import os\nimport re\nimport sys\n\nprint(os.name)\n";
    let commit = scene.write_and_commit(&worktree, &[("lib.py", both)]);
    one.submit("t2").unwrap();
    // The first implementer still counts as one.
    assert_eq!(scene.show("t2")["implementers"], json!(["coder-2", "coder-1"]));
    scene.approve(reviewer, "t2", &commit);
    team.lands("t2");
    assert_eq!(format!("{}\n", scene.git(&["show", "integration:lib.py"])), both);
    scene.sound();
}

#[test]
fn sync_merges_integration_into_the_worktree() {
    let team = Team::sharing("shared.sh", "one\n");
    let Team { scene, one, two, reviewer } = &team;
    scene.task_with("t1", &["shared.sh", "a.sh", "tests/test_t1.sh"], json!({ "owns": ["a.sh"] }));
    let worktree = scene.claim(one, "t1");
    scene.checkpoint(one, "t1", &["shared.sh", "a.sh", "tests/test_t1.sh"]);
    scene.merged(two, reviewer, "t2", "b.sh", "echo b\n");
    scene.write_and_commit(&worktree, &[("a.sh", "echo a\n"), ("tests/test_t1.sh", "echo ok\n")]);
    let (data, conflicted) = one.sync("t1").unwrap();
    assert!(!conflicted);
    assert_eq!((&data["base_commit"], &data["conflicts"]), (&json!(team.head()), &json!([])));
    assert!(worktree.join("b.sh").is_file());
    // Merged changes are not the task's own.
    scene.write("shared.sh", "theirs\n");
    scene.git(&["commit", "-q", "-a", "-m", "theirs"]);
    scene.person().advance("main", "upstream").unwrap();
    scene.write_and_commit(&worktree, &[("shared.sh", "mine\n")]);
    let (data, conflicted) = one.sync("t1").unwrap();
    assert!(conflicted);
    assert_eq!(data["conflicts"], json!(["shared.sh"]));
    scene.refused("refused.worktree_dirty", || one.submit("t1"));
    scene.write_and_commit(&worktree, &[("shared.sh", "both\n")]);
    let data = one.submit("t1").unwrap();
    assert_eq!(data["files"], json!(["a.sh", "shared.sh", "tests/test_t1.sh"]));
    scene.approve(reviewer, "t1", data["review_commit"].as_str().unwrap());
    team.lands("t1");
    assert_eq!(scene.git(&["show", "integration:shared.sh"]), "both");
    scene.sound();
}

#[test]
fn branch_move_after_approval_voids_approval() {
    let team = Team::new();
    let Team { scene, one, reviewer, .. } = &team;
    let commit = scene.approved(one, reviewer, "t1", "a.sh", "echo a\n");
    let head = team.head();
    scene.write_and_commit(&scene.path(".worktrees/t1"), &[("a.sh", "sneaky\n")]);
    let failure = reviewer.merge("t1").err().expect("a void approval");
    assert_eq!(
        (failure.code.as_str(), &failure.data.unwrap()["status"]),
        ("stale.approval_void", &json!("REJECTED"))
    );
    assert_eq!(team.head(), head);
    assert_eq!(scene.status_of("t1"), "REJECTED");
    // Its coder submits the present head, and it is reviewed again.
    scene.claim(one, "t1");
    scene.checkpoint(one, "t1", &["a.sh"]);
    let data = one.submit("t1").unwrap();
    assert_ne!(data["review_commit"], json!(commit));
    scene.tier0(reviewer, "tier0.unapproved_merge", |reviewer| reviewer.merge("t1"));
    scene.approve(reviewer, "t1", data["review_commit"].as_str().unwrap());
    team.lands("t1");
    // A missing branch voids the approval too, and the work is not lost with it.
    let commit = scene.approved(one, reviewer, "t2", "b.sh", "echo b\n");
    scene.git_in(&scene.path(".worktrees/t2"), &["checkout", "-q", "--detach"]);
    scene.git(&["branch", "-q", "-D", "task/t2"]);
    let failure = reviewer.merge("t2").err().expect("a void approval");
    assert!(failure.code.as_str().starts_with("stale."), "{failure:?}");
    scene.git(&["gc", "-q", "--prune=now"]);
    assert_eq!(scene.git(&["cat-file", "-t", &commit]), "commit");
    let checks = verify(&scene.person().ctx()).unwrap();
    assert!(checks.iter().any(|check| !check.ok && check.detail.contains("task/t2")));
    scene.git(&["branch", "task/t2", &commit]);
    scene.sound();
}

#[test]
fn merge_repeats_on_moved_integration() {
    let team = Team::new();
    let Team { scene, one, reviewer, .. } = &team;
    scene.approved(one, reviewer, "t1", "a.sh", "echo a\n");
    scene.write("upstream.txt", "x\n");
    scene.git(&["add", "upstream.txt"]);
    scene.git(&["commit", "-q", "-m", "upstream"]);
    scene.person().advance("main", "upstream").unwrap();
    let data = team.lands("t1");
    assert_eq!(data["drift"], 1);
    let merge = data["merge_commit"].as_str().unwrap();
    assert_eq!(scene.git(&["rev-parse", &format!("{merge}^1")]), scene.git(&["rev-parse", "main"]));
    assert_eq!(scene.git(&["show", "integration:upstream.txt"]), "x");
    scene.sound();
}

#[test]
fn checked_out_integration_is_not_moved() {
    let team = Team::new();
    let Team { scene, one, reviewer, .. } = &team;
    scene.approved(one, reviewer, "t1", "a.sh", "echo a\n");
    scene.git(&["checkout", "-q", "integration"]);
    let failure = scene.refused("refused.checked_out", || reviewer.merge("t1"));
    assert!(failure.hint.as_ref().unwrap().contains("git switch"), "{failure:?}");
    assert!(!scene.path("a.sh").exists());
    scene.git(&["checkout", "-q", "main"]);
    // Nor in a linked worktree.
    let linked = scene.outside("linked");
    scene.git(&["worktree", "add", "-q", linked.to_str().unwrap(), "integration"]);
    scene.refused("refused.checked_out", || reviewer.merge("t1"));
    scene.git_in(&linked, &["checkout", "-q", "--detach"]);
    team.lands("t1");
    assert!(!linked.join("a.sh").exists());
}

#[test]
fn every_attempt_survives_a_garbage_collection() {
    let team = Team::sharing("shared.sh", "one\n");
    team.rivals("shared.sh", "first\n", "second\n");
    let Team { scene, two, reviewer, .. } = &team;
    team.lands("t1");
    team.conflicts("t2", "blocked");
    let mut kept: Vec<String> = vec![team.head()];
    for id in ["t1", "t2"] {
        kept.push(scene.show(id)["review_commit"].as_str().unwrap().to_owned());
    }
    scene.git_in(&scene.path(".worktrees/t2"), &["reset", "-q", "--hard", "HEAD~1"]);
    scene.git(&["reflog", "expire", "--expire=now", "--all"]);
    scene.git(&["gc", "-q", "--prune=now"]);
    for commit in &kept {
        assert_eq!(scene.git(&["cat-file", "-t", commit]), "commit");
    }
    scene.git(&["fsck", "--no-dangling"]);
    scene.merged(two, reviewer, "t3", "c.sh", "echo c\n");
    scene.sound();
}

#[test]
fn liza_files_never_travel_through_git() {
    let Team { scene, one, .. } = Team::new();
    scene.task("t1", &["**"]);
    let worktree = scene.claim(&one, "t1");
    one.checkpoint("t1", checkpoint(&["**"])).unwrap();
    crate::git::testing::write_in(&worktree, ".liza/state.yaml", "evil\n");
    crate::git::testing::write_in(&worktree, ".worktrees/x", "evil\n");
    scene.git_in(&worktree, &["add", "-f", ".liza", ".worktrees"]);
    scene.git_in(&worktree, &["commit", "-q", "-m", "evil"]);
    let failure = scene.refused("refused.scope", || one.submit("t1"));
    assert_eq!(paths(&failure).len(), 2, "{failure:?}");
}
