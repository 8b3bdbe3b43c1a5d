//! Every name under `.liza`, once.

use std::path::{Path, PathBuf};

use crate::board::TaskId;

/// The directory of the board, in the root of the main repository.
pub const DIRECTORY: &str = ".liza";
/// Where the worktrees are.
pub const WORKTREES: &str = ".worktrees";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    dir: PathBuf,
}

impl Layout {
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into() }
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }
    pub fn state(&self) -> PathBuf {
        self.dir.join("state.yaml")
    }
    pub fn lock(&self) -> PathBuf {
        self.dir.join("state.yaml.lock")
    }
    pub fn log(&self) -> PathBuf {
        self.dir.join("log.yaml")
    }
    pub fn image(&self, revision: u64) -> PathBuf {
        self.images().join(format!("{revision}.yaml"))
    }
    pub fn images(&self) -> PathBuf {
        self.dir.join("images")
    }
    pub fn edits(&self) -> PathBuf {
        self.dir.join("edits")
    }
    pub fn archive(&self) -> PathBuf {
        self.dir.join("archive")
    }
    /// Found by the lower-cased id, because ids are compared ignoring case.
    pub fn archived(&self, id: &TaskId) -> PathBuf {
        self.archive().join(format!("{}.yaml", id.folded()))
    }
    pub fn runs(&self) -> PathBuf {
        self.dir.join("runs")
    }
    /// What one round of work on a task left behind.
    pub fn round(&self, id: &TaskId, epoch: u64, iteration: u32) -> PathBuf {
        self.runs().join(id.as_str()).join(format!("{epoch}-{iteration}"))
    }
    /// What a runner asks of its agent; shown to it by its next command.
    pub fn ask(&self, agent: &str) -> PathBuf {
        self.dir.join("asks").join(agent)
    }
    /// The last words of gates, and what is kept of former ones.
    pub fn gates(&self) -> PathBuf {
        self.dir.join("gates")
    }
    /// Held by whoever has gates run in this private worktree.
    pub fn gates_lock(&self, place: usize) -> PathBuf {
        self.dir.join("locks").join(format!("gates-{place}.lock"))
    }
    /// The work graph as a file: a view, never the truth.
    pub fn graph(&self, id: &str) -> PathBuf {
        self.dir.join("graphs").join(format!("{id}.json"))
    }
    /// The table of locks as a file: a view. The locks of processes stand beside it as `*.lock`.
    pub fn lock_table(&self) -> PathBuf {
        self.dir.join("locks").join("locks.json")
    }
    /// What the gates said last about a task.
    pub fn gate_results(&self, id: &TaskId) -> PathBuf {
        self.dir.join("gates").join(format!("{id}.gate.json"))
    }
    pub fn tokens(&self) -> PathBuf {
        self.dir.join("tokens")
    }
    pub fn trash(&self) -> PathBuf {
        self.dir.join("trash")
    }
    pub fn bundles(&self) -> PathBuf {
        self.dir.join("bundles")
    }
    pub fn reports(&self) -> PathBuf {
        self.dir.join("reports")
    }
    pub fn specs(&self) -> PathBuf {
        self.dir.join("specs")
    }
    pub fn templates(&self) -> PathBuf {
        self.dir.join("templates")
    }
    pub fn schema(&self) -> PathBuf {
        self.dir.join("schema")
    }
    /// There once a person asked for git hooks.
    pub fn hooks_wanted(&self) -> PathBuf {
        self.dir.join("hooks")
    }
    pub fn worktree_lock(&self) -> PathBuf {
        self.dir.join("worktree.lock")
    }
    pub fn merge_lock(&self) -> PathBuf {
        self.dir.join("merge.lock")
    }
    /// Held by the one watcher of this board.
    pub fn watch_lock(&self) -> PathBuf {
        self.dir.join("watch.lock")
    }
    /// Held by whoever looks after agents, patterns and the sprint: a watcher or a run.
    pub fn oversight_lock(&self) -> PathBuf {
        self.dir.join("oversight.lock")
    }
    /// What runners see of their agents, a file each.
    pub fn overseer(&self) -> PathBuf {
        self.dir.join("overseer")
    }
    pub fn alerts_log(&self) -> PathBuf {
        self.dir.join("alerts.log")
    }
    /// Which alerts were told and still hold. Disposable: without it some are told twice.
    pub fn alerts_told(&self) -> PathBuf {
        self.dir.join("alerts.told")
    }
    /// There when a checkpoint has waited for a person for too long.
    pub fn escalation(&self) -> PathBuf {
        self.dir.join("ESCALATION")
    }

    /// Directories that `init` makes.
    pub fn directories(&self) -> Vec<PathBuf> {
        let mut all: Vec<PathBuf> = [
            "archive",
            "runs",
            "gates",
            "graphs",
            "bundles",
            "locks",
            "specs",
            "templates",
            "schema",
            "images",
            "edits",
            "reports",
            "tokens",
            "trash",
        ]
        .iter()
        .map(|name| self.dir.join(name))
        .collect();
        all.insert(0, self.dir.clone());
        all
    }
}
