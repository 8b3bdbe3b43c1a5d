//! Patch bundles through the binary: made, checked, reviewed and applied, on real branches and worktrees.

mod applying;
mod conflicts;
mod hostile;
mod reviewing;
mod round_trip;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::{Who, World};

/// A board whose integration holds some files under `work/`, two coders and a reviewer.
pub struct Scene {
    pub world: World,
    pub coder: Who,
    pub other: Who,
    pub reviewer: Who,
}

pub const TEXT: &str = "one\ntwo\nthree\nfour\nfive\n";

impl Scene {
    pub fn new() -> Self {
        Self::with(&[("work/a.txt", TEXT.as_bytes()), ("work/b.txt", b"b\n")], "")
    }

    /// With these files in integration, and this in liza.yaml.
    pub fn with(files: &[(&str, &[u8])], config: &str) -> Self {
        let world = World::bare_repo();
        for (name, bytes) in files {
            put(&world.root, name, bytes);
        }
        world.commit_all("files");
        world.human(&["init", "Bundles"]).ok();
        // Tasks of kind docs carry any file here.
        world.write("liza.yaml", &format!("code: []\n{config}"));
        let coder = world.register("coder", "coder-1");
        let other = world.register("coder", "coder-2");
        let reviewer = world.register("code_reviewer", "reviewer-1");
        Self { world, coder, other, reviewer }
    }

    /// A claimed task that may change everything below `work/`, after its checkpoint.
    pub fn claim_with_checkpoint(&self, who: &Who, id: &str) -> PathBuf {
        self.claim_with_checkpoint_in(who, id, "work/")
    }

    pub fn claim_with_checkpoint_in(&self, who: &Who, id: &str, dir: &str) -> PathBuf {
        self.world.task_with(id, &[dir], &["--kind", "docs"]);
        let worktree = self.world.claim(who, id);
        self.world.checkpoint(who, id, &[dir]);
        worktree
    }

    /// A bundle of a task that changes a file; the task is then abandoned, so that its paths are free.
    pub fn bundle(&self, id: &str, files: &[(&str, &str)]) -> PathBuf {
        let worktree = self.claim_with_checkpoint(&self.coder, id);
        self.world.write_and_commit(&worktree, files);
        let path = self.made(id);
        self.world.human(&["task", "abandon", id, "--reason", "only its bundle is wanted"]).ok();
        path
    }

    pub fn made(&self, id: &str) -> PathBuf {
        let data = self.world.json(&self.coder, &["bundle", "create", id]).ok().data();
        PathBuf::from(data["path"].as_str().expect("a path"))
    }

    pub fn tree(&self, rev: &str) -> String {
        self.world.git(&["rev-parse", &format!("{rev}^{{tree}}")])
    }

    /// State that a refused command must not change: board, branches, worktree, the user's checkout.
    pub fn everything(&self, worktree: &Path) -> [String; 4] {
        [
            self.world.state(),
            self.world.git(&["for-each-ref", "refs/heads"]),
            self.world.git_in(worktree, &["status", "--porcelain", "--untracked-files=all"]),
            self.world.git(&["status", "--porcelain"]),
        ]
    }

    /// A bundle with only the documented keys and these patches.
    pub fn written(&self, patches: Value) -> PathBuf {
        let path = self.world.home().join("by-hand.patchbundle.json");
        std::fs::write(&path, documented(patches).to_string()).expect("a bundle");
        path
    }
}

pub fn documented(patches: Value) -> Value {
    json!({
        "version": 1,
        "metadata": {
            "id": "PB-20260220-007", "intent": "by hand", "author": "agent-1",
            "timestamp": "2026-02-20T10:30:00Z", "touched_modules": [], "risk_level": "low",
        },
        "patches": patches,
        "expected_checks": { "compile": false, "test": false, "replay": false, "diagnostics_count": null },
        "reviewer_checklist": ["It reads well"],
    })
}

pub fn put(dir: &Path, name: &str, bytes: &[u8]) {
    let path = dir.join(name);
    std::fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
    std::fs::write(path, bytes).expect("a file");
}

pub fn text(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}
