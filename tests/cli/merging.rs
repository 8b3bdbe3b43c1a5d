//! Approved work lands on integration: the very commit that was approved, or nothing.

use serde_json::{Value, json};

use crate::support::{HUMAN, Who, World};

pub struct Team {
    pub world: World,
    pub one: Who,
    pub two: Who,
    pub reviewer: Who,
}

impl Team {
    pub fn new() -> Self {
        let world = World::new();
        let one = world.register("coder", "coder-1");
        let two = world.register("coder", "coder-2");
        let reviewer = world.register("code_reviewer", "reviewer-1");
        Self { world, one, two, reviewer }
    }

    /// A file that both may change, on integration before anybody starts.
    pub fn sharing(file: &str, text: &str) -> Self {
        let team = Self::new();
        team.world.write(file, text);
        team.world.git(&["add", file]);
        team.world.git(&["commit", "-q", "-m", "shared"]);
        team.world.human(&["integration", "advance", "main", "--reason", "shared ground"]).ok();
        team
    }

    /// Two approved tasks that start from the same base and each write the shared file.
    pub fn rivals(&self, file: &str, first: &str, second: &str) {
        for (who, id, text) in [(&self.one, "t1", first), (&self.two, "t2", second)] {
            let own = format!("tests/test_{id}.sh");
            self.world.task_with(id, &[file, &own], &["--owns", &own]);
            self.world.claim(who, id);
            self.world.checkpoint(who, id, &[file, &own]);
            let worktree = self.world.path(&format!(".worktrees/{id}"));
            self.world.write_and_commit(&worktree, &[(file, text), (&own, "echo ok\n")]);
        }
        for (who, id) in [(&self.one, "t1"), (&self.two, "t2")] {
            let data = self.world.json(who, &["task", "submit", id]).ok().data();
            self.world.approve(&self.reviewer, id, data["review_commit"].as_str().unwrap());
        }
    }

    pub fn head(&self) -> String {
        self.world.git(&["rev-parse", "integration"])
    }

    /// The merge ends in a conflict: exit 11, integration as it was, the new state in `data`.
    #[track_caller]
    pub fn conflicts(&self, id: &str, outcome: &str) -> Value {
        let before = self.head();
        let ran = self.world.json(&self.reviewer, &["merge", id]).exits(11);
        assert_eq!(ran.code(), "git.conflict");
        assert_eq!(self.head(), before);
        let data = ran.data();
        assert_eq!(data["outcome"], outcome, "{data}");
        assert!(ran.json()["error"]["hint"].as_str().unwrap().contains(&format!("liza merge {id}")));
        data
    }
}

#[test]
fn a_merge_commit_says_who_and_what() {
    let Team { world, one, reviewer, .. } = Team::new();
    let before = world.git(&["rev-parse", "integration"]);
    let commit = world.approved(&one, &reviewer, "t1", "a.sh", "echo a\n");
    let data = world.json(&reviewer, &["merge", "t1"]).ok().data();
    assert_eq!((&data["outcome"], &data["gates"]), (&json!("merged"), &json!([])));
    let merge = data["merge_commit"].as_str().unwrap();
    assert_eq!(world.git(&["rev-parse", "integration"]), merge);
    assert_eq!(world.git(&["log", "-1", "--format=%P", merge]), format!("{before} {commit}"));
    let trailers = world.git(&["log", "-1", "--format=%(trailers:only)", merge]);
    for line in ["Liza-Task: t1", "Reviewed-by: reviewer-1", "Liza-Gates: none"] {
        assert!(trailers.contains(line), "{line} in {trailers}");
    }
    // Nobody configured a git identity here.
    assert_eq!(world.git(&["log", "-1", "--format=%an <%ae>", merge]), "Liza <liza@localhost>");
    let task = world.show("t1");
    assert_eq!((&task["status"], &task["merge"]["commit"]), (&json!("MERGED"), &json!(merge)));
    assert_eq!(task["actual_outputs"], json!(["a.sh", "tests/test_t1.sh"]));
    world.refused(&reviewer, &["merge", "t1"], 1, "refused.transition");
    world.refused(&reviewer, &["merge", "nope"], 1, "refused.unknown_task");
    // The branch and the worktree are still there.
    assert_eq!(world.git(&["rev-parse", "task/t1"]), commit);
    assert!(world.path(".worktrees/t1").is_dir());
    world.sound();
}

#[test]
fn a_configured_identity_is_used() {
    let Team { world, one, reviewer, .. } = Team::new();
    world.git(&["config", "user.name", "Ada"]);
    world.git(&["config", "user.email", "ada@example.org"]);
    let merge = world.merge_task(&one, &reviewer, "t1", "a.sh", "echo a\n");
    assert_eq!(world.git(&["log", "-1", "--format=%an <%ae>", &merge]), "Ada <ada@example.org>");
}

#[test]
fn a_logic_conflict_blocks_with_the_hunks() {
    let team = Team::sharing("shared.sh", "one\ntwo\nthree\n");
    team.rivals("shared.sh", "one\nTWO by the first\nthree\n", "one\nTWO by the second\nthree\n");
    let world = &team.world;
    world.liza(&team.reviewer, &["merge", "t1"]).ok();
    let data = team.conflicts("t2", "blocked");
    assert_eq!((&data["status"], &data["files"]), (&json!("BLOCKED"), &json!(["shared.sh"])));
    assert_eq!(data["hunks"][0]["file"], "shared.sh");
    let inbox = world.json(&HUMAN, &["inbox"]).ok().data();
    let anomaly = &inbox["anomalies"][0];
    assert_eq!((&anomaly["type"], &anomaly["task_id"]), (&json!("integration_conflict"), &json!("t2")));
    let details = anomaly["details"].to_string();
    assert!(details.contains("TWO by the first") && details.contains("TWO by the second"), "{details}");
    let task = world.show("t2");
    assert!((1..=3).contains(&task["blocked_questions"].as_array().unwrap().len()));
    world.refused(&team.reviewer, &["merge", "t2"], 1, "refused.transition");
    assert_eq!(world.git(&["show", "integration:shared.sh"]), "one\nTWO by the first\nthree");
    world.sound();
}

#[test]
fn a_trivial_conflict_is_resolved_only_when_asked() {
    let team = Team::sharing("lib.py", "import os\n\nprint(os.name)\n");
    team.rivals(
        "lib.py",
        "import os\nimport sys\n\nprint(os.name)\n",
        "import os\nimport re\n\nprint(os.name)\n",
    );
    let world = &team.world;
    world.liza(&team.reviewer, &["merge", "t1"]).ok();
    let data = team.conflicts("t2", "integration_failed");
    assert_eq!(data["status"], "INTEGRATION_FAILED");
    assert!(world.show("t2")["integration_failure"]["reason"].as_str().unwrap().contains("lib.py"));
    let data = world.json(&team.reviewer, &["merge", "t2", "--resolve-trivial"]).ok().data();
    assert_eq!(data["outcome"], "merged");
    let merged = world.git(&["show", "integration:lib.py"]);
    for line in ["import os", "import sys", "import re", "print(os.name)"] {
        assert_eq!(merged.matches(line).count(), 1, "{line} in {merged}");
    }
    world.sound();
}

#[test]
fn an_integration_fix_starts_with_integration_taken_in() {
    let team = Team::sharing("lib.py", "import os\n\nprint(os.name)\n");
    team.rivals(
        "lib.py",
        "import os\nimport sys\n\nprint(os.name)\n",
        "import os\nimport re\n\nprint(os.name)\n",
    );
    let Team { world, one, two, reviewer } = &team;
    world.liza(reviewer, &["merge", "t1"]).ok();
    team.conflicts("t2", "integration_failed");
    // Reserved for its coder; given back, any coder may take it.
    world.refused(one, &["task", "claim", "t2"], 3, "stale.reserved");
    world.liza(two, &["task", "release", "t2"]).ok();
    assert_eq!(world.status_of("t2"), "INTEGRATION_FAILED");
    let data = world.json(one, &["task", "claim", "t2"]).ok().data();
    assert_eq!((&data["integration_fix"], &data["conflicts"]), (&json!(true), &json!(["lib.py"])));
    let worktree = std::path::PathBuf::from(data["worktree"].as_str().unwrap());
    assert!(worktree.ends_with(".worktrees/t2.3") || data["branch"] != "task/t2", "{data}");
    let state = world.git_in(&worktree, &["status", "--porcelain"]);
    assert!(state.contains("AA lib.py") || state.contains("UU lib.py"), "{state}");
    // The former attempt stays; the checkpoint is possible in the middle of the merge.
    assert_eq!(world.git(&["rev-parse", "refs/liza/attempts/t2/1"]), world.git(&["rev-parse", "task/t2"]));
    world.checkpoint(one, "t2", &["lib.py", "tests/test_t2.sh"]);
    let both = "import os\nimport re\nimport sys\n\nprint(os.name)\n";
    let commit = world.write_and_commit(&worktree, &[("lib.py", both)]);
    world.liza(one, &["task", "submit", "t2"]).ok();
    // The first implementer is still one.
    assert_eq!(world.show("t2")["implementers"], json!(["coder-2", "coder-1"]));
    world.approve(reviewer, "t2", &commit);
    world.liza(reviewer, &["merge", "t2"]).ok();
    assert_eq!(format!("{}\n", world.git(&["show", "integration:lib.py"])), both);
    world.sound();
}

#[test]
fn sync_takes_integration_into_the_worktree() {
    let team = Team::sharing("shared.sh", "one\n");
    let Team { world, one, two, reviewer } = &team;
    world.task_with("t1", &["shared.sh", "a.sh", "tests/test_t1.sh"], &["--owns", "a.sh"]);
    let worktree = world.claim(one, "t1");
    world.checkpoint(one, "t1", &["shared.sh", "a.sh", "tests/test_t1.sh"]);
    world.merge_task(two, reviewer, "t2", "b.sh", "echo b\n");
    world.write_and_commit(&worktree, &[("a.sh", "echo a\n"), ("tests/test_t1.sh", "echo ok\n")]);
    let data = world.json(one, &["task", "sync", "t1"]).ok().data();
    assert_eq!((&data["base_commit"], &data["conflicts"]), (&json!(team.head()), &json!([])));
    assert!(worktree.join("b.sh").is_file());
    // What came in that way is not the task's own change.
    world.write("shared.sh", "theirs\n");
    world.git(&["commit", "-q", "-a", "-m", "theirs"]);
    world.human(&["integration", "advance", "main", "--reason", "upstream"]).ok();
    world.write_and_commit(&worktree, &[("shared.sh", "mine\n")]);
    let ran = world.json(one, &["task", "sync", "t1"]).exits(11);
    assert_eq!((ran.code().as_str(), &ran.data()["conflicts"]), ("git.conflict", &json!(["shared.sh"])));
    world.refused(one, &["task", "submit", "t1"], 1, "refused.worktree_dirty");
    world.write_and_commit(&worktree, &[("shared.sh", "both\n")]);
    let data = world.json(one, &["task", "submit", "t1"]).ok().data();
    assert_eq!(data["files"], json!(["a.sh", "shared.sh", "tests/test_t1.sh"]));
    world.approve(reviewer, "t1", data["review_commit"].as_str().unwrap());
    world.liza(reviewer, &["merge", "t1"]).ok();
    assert_eq!(world.git(&["show", "integration:shared.sh"]), "both");
    world.sound();
}

#[test]
fn a_branch_that_moved_after_the_approval_voids_it() {
    let Team { world, one, reviewer, .. } = Team::new();
    let commit = world.approved(&one, &reviewer, "t1", "a.sh", "echo a\n");
    let head = world.git(&["rev-parse", "integration"]);
    world.write_and_commit(&world.path(".worktrees/t1"), &[("a.sh", "sneaky\n")]);
    let ran = world.json(&reviewer, &["merge", "t1"]).exits(3);
    assert_eq!((ran.code().as_str(), &ran.data()["status"]), ("stale.approval_void", &json!("REJECTED")));
    assert_eq!(world.git(&["rev-parse", "integration"]), head);
    assert_eq!(world.status_of("t1"), "REJECTED");
    // Its coder submits what stands there, and it is reviewed anew.
    world.claim(&one, "t1");
    world.checkpoint(&one, "t1", &["a.sh"]);
    let data = world.json(&one, &["task", "submit", "t1"]).ok().data();
    assert_ne!(data["review_commit"], json!(commit));
    world.tier0(&reviewer, &["merge", "t1"], "tier0.unapproved_merge");
    world.approve(&reviewer, "t1", data["review_commit"].as_str().unwrap());
    world.liza(&reviewer, &["merge", "t1"]).ok();
    // A branch that is gone is no approval either, and the work is not lost with it.
    let commit = world.approved(&one, &reviewer, "t2", "b.sh", "echo b\n");
    world.git_in(&world.path(".worktrees/t2"), &["checkout", "-q", "--detach"]);
    world.git(&["branch", "-q", "-D", "task/t2"]);
    world.json(&reviewer, &["merge", "t2"]).exits(3);
    world.git(&["gc", "-q", "--prune=now"]);
    assert_eq!(world.git(&["cat-file", "-t", &commit]), "commit");
    assert!(world.human(&["verify"]).exits(6).stderr.contains("task/t2"));
    world.git(&["branch", "task/t2", &commit]);
    world.sound();
}

#[test]
fn integration_that_moved_meanwhile_is_merged_onto() {
    let Team { world, one, reviewer, .. } = Team::new();
    world.approved(&one, &reviewer, "t1", "a.sh", "echo a\n");
    world.write("upstream.txt", "x\n");
    world.git(&["add", "upstream.txt"]);
    world.git(&["commit", "-q", "-m", "upstream"]);
    world.human(&["integration", "advance", "main", "--reason", "upstream"]).ok();
    let data = world.json(&reviewer, &["merge", "t1"]).ok().data();
    assert_eq!(data["drift"], 1);
    let merge = data["merge_commit"].as_str().unwrap();
    assert_eq!(world.git(&["rev-parse", &format!("{merge}^1")]), world.git(&["rev-parse", "main"]));
    assert_eq!(world.git(&["show", "integration:upstream.txt"]), "x");
    world.sound();
}

#[test]
fn a_checked_out_integration_branch_is_not_moved() {
    let Team { world, one, reviewer, .. } = Team::new();
    world.approved(&one, &reviewer, "t1", "a.sh", "echo a\n");
    world.git(&["checkout", "-q", "integration"]);
    let error = world.refused(&reviewer, &["merge", "t1"], 1, "refused.checked_out");
    assert!(error["hint"].as_str().unwrap().contains("git switch"), "{error}");
    assert!(!world.path("a.sh").exists());
    world.git(&["checkout", "-q", "main"]);
    // Nor in a linked worktree, nor while it is being rebased there.
    let linked = world.home().join("linked");
    world.git(&["worktree", "add", "-q", linked.to_str().unwrap(), "integration"]);
    world.refused(&reviewer, &["merge", "t1"], 1, "refused.checked_out");
    world.git_in(&linked, &["checkout", "-q", "--detach"]);
    world.liza(&reviewer, &["merge", "t1"]).ok();
    assert!(!linked.join("a.sh").exists());
}

#[test]
fn merge_all_takes_the_most_urgent_first() {
    let Team { world, one, two, reviewer } = Team::new();
    assert_eq!(world.json(&reviewer, &["merge", "--all"]).ok().data()["merges"], json!([]));
    for (id, priority, who) in [("low", "1", &one), ("high", "9", &two), ("mid", "5", &one)] {
        let (file, test) = (format!("{id}.sh"), format!("tests/test_{id}.sh"));
        world.task_with(id, &[&file, &test], &["--priority", priority]);
        let commit = world.submit_work(who, id, &file, "x\n");
        world.approve(&reviewer, id, &commit);
    }
    let data = world.json(&reviewer, &["merge", "--all"]).ok().data();
    let order: Vec<&str> =
        data["merges"].as_array().unwrap().iter().filter_map(|merge| merge["task"].as_str()).collect();
    assert_eq!(order, ["high", "mid", "low"]);
    assert!(data["merges"].as_array().unwrap().iter().all(|merge| merge["outcome"] == "merged"));
    world.refused(&reviewer, &["merge"], 2, "usage.arguments");
    world.sound();
}

#[test]
fn merge_all_goes_on_past_a_conflict() {
    let team = Team::sharing("shared.sh", "one\n");
    team.rivals("shared.sh", "first\n", "second\n");
    let Team { world, one, reviewer, .. } = &team;
    world.approved(one, reviewer, "t3", "c.sh", "echo c\n");
    let ran = world.json(reviewer, &["merge", "--all"]).exits(11);
    let merges = ran.data()["merges"].clone();
    let outcomes: Vec<&str> =
        merges.as_array().unwrap().iter().filter_map(|merge| merge["outcome"].as_str()).collect();
    assert_eq!(outcomes, ["merged", "blocked", "merged"]);
    assert_eq!(world.git(&["show", "integration:c.sh"]), "echo c");
    world.sound();
}

#[test]
fn every_attempt_survives_a_garbage_collection() {
    let team = Team::sharing("shared.sh", "one\n");
    team.rivals("shared.sh", "first\n", "second\n");
    let Team { world, two, reviewer, .. } = &team;
    world.liza(reviewer, &["merge", "t1"]).ok();
    team.conflicts("t2", "blocked");
    let mut kept: Vec<String> = vec![team.head()];
    for id in ["t1", "t2"] {
        kept.push(world.show(id)["review_commit"].as_str().unwrap().to_owned());
    }
    world.git_in(&world.path(".worktrees/t2"), &["reset", "-q", "--hard", "HEAD~1"]);
    world.git(&["reflog", "expire", "--expire=now", "--all"]);
    world.git(&["gc", "-q", "--prune=now"]);
    for commit in &kept {
        assert_eq!(world.git(&["cat-file", "-t", commit]), "commit");
    }
    world.git(&["fsck", "--no-dangling"]);
    world.merge_task(two, reviewer, "t3", "c.sh", "echo c\n");
    world.sound();
}

#[test]
fn liza_files_never_travel_through_git() {
    let Team { world, one, .. } = Team::new();
    world.task("t1", &["**"]);
    let worktree = world.claim(&one, "t1");
    world.checkpoint(&one, "t1", &["**"]);
    crate::support::write(&worktree, ".liza/state.yaml", "evil\n");
    crate::support::write(&worktree, ".worktrees/x", "evil\n");
    world.git_in(&worktree, &["add", "-f", ".liza", ".worktrees"]);
    world.git_in(&worktree, &["commit", "-q", "-m", "evil"]);
    let error = world.refused(&one, &["task", "submit", "t1"], 1, "refused.scope");
    assert_eq!(crate::support::paths(&error).len(), 2, "{error}");
}
