//! Merging as a command, and `merge --all`. The merged content is tested in src/flow/tests/merging.rs.

use serde_json::{Value, json};

use crate::support::{Who, World};

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

    /// A file that both coders may change, on integration before they start.
    pub fn with_shared_file(file: &str, text: &str) -> Self {
        let team = Self::new();
        team.world.write(file, text);
        team.world.git(&["add", file]);
        team.world.git(&["commit", "-q", "-m", "shared"]);
        team.world.human(&["integration", "advance", "main", "--reason", "shared ground"]).ok();
        team
    }

    /// Two approved tasks that start from the same base and each write the shared file.
    pub fn approve_conflicting_tasks(&self, file: &str, first: &str, second: &str) {
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

    /// The merge conflicts: exit 11, integration unchanged, the new status in `data`.
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
fn merge_commit_names_task_and_reviewer() {
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
    // No git identity is configured here.
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
    let team = Team::with_shared_file("shared.sh", "one\n");
    team.approve_conflicting_tasks("shared.sh", "first\n", "second\n");
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
fn conflict_exits_11_and_is_resolved_when_asked() {
    let team = Team::with_shared_file("lib.py", "import os\n\nprint(os.name)\n");
    team.approve_conflicting_tasks(
        "lib.py",
        "import os\nimport sys\n\nprint(os.name)\n",
        "import os\nimport re\n\nprint(os.name)\n",
    );
    let world = &team.world;
    world.liza(&team.reviewer, &["merge", "t1"]).ok();
    let data = team.conflicts("t2", "integration_failed");
    assert_eq!(data["status"], "INTEGRATION_FAILED");
    let data = world.json(&team.reviewer, &["merge", "t2", "--resolve-trivial"]).ok().data();
    assert_eq!(data["outcome"], "merged");
}

#[test]
fn void_approval_and_lost_branch_have_exit_codes() {
    let Team { world, one, reviewer, .. } = Team::new();
    world.approved(&one, &reviewer, "t1", "a.sh", "echo a\n");
    let head = world.git(&["rev-parse", "integration"]);
    world.git(&["branch", "-q", "-D", "integration"]);
    world.json(&reviewer, &["merge", "t1"]).exits(8);
    world.git(&["branch", "integration", &head]);
    world.write_and_commit(&world.path(".worktrees/t1"), &[("a.sh", "sneaky\n")]);
    let ran = world.json(&reviewer, &["merge", "t1"]).exits(3);
    assert_eq!((ran.code().as_str(), &ran.data()["status"]), ("stale.approval_void", &json!("REJECTED")));
}

#[test]
fn conflicting_sync_exits_11_with_the_files() {
    let team = Team::with_shared_file("shared.sh", "one\n");
    let Team { world, one, .. } = &team;
    world.task("t1", &["shared.sh"]);
    let worktree = world.claim(one, "t1");
    world.liza(one, &["task", "sync", "t1"]).ok();
    world.write("shared.sh", "theirs\n");
    world.git(&["commit", "-q", "-a", "-m", "theirs"]);
    world.human(&["integration", "advance", "main", "--reason", "upstream"]).ok();
    world.write_and_commit(&worktree, &[("shared.sh", "mine\n")]);
    let ran = world.json(one, &["task", "sync", "t1"]).exits(11);
    assert_eq!((ran.code().as_str(), &ran.data()["conflicts"]), ("git.conflict", &json!(["shared.sh"])));
}
