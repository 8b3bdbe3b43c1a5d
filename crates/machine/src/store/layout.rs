//! The paths of all the board's files under `.liza`. Those of the machine are in `machine`.

use std::path::{Path, PathBuf};

use crate::board::TaskId;

/// The directory of the board, in the root of the main repository.
pub const DIRECTORY: &str = ".liza";
/// The directory of the worktrees.
pub const WORKTREES: &str = ".worktrees";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Layout {
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
    pub fn pending_edits(&self) -> PathBuf {
        self.edits().join("pending")
    }
    pub fn edit_bases(&self) -> PathBuf {
        self.edits().join("bases")
    }
    pub fn edit_base(&self, revision: u64) -> PathBuf {
        self.edit_bases().join(format!("{revision}.yaml"))
    }
    pub fn archive(&self) -> PathBuf {
        self.dir.join("archive")
    }
    /// Named by the lower-cased id, because ids are compared ignoring case.
    pub fn archived(&self, id: &TaskId) -> PathBuf {
        self.archive().join(format!("{}.yaml", id.folded()))
    }
    /// All archived tasks in one file: derived, never the truth.
    pub fn archive_index(&self) -> PathBuf {
        self.archive().join(".index")
    }
    /// The work graph as a file: a view, never the truth.
    pub fn graph(&self, id: &str) -> PathBuf {
        self.dir.join("graphs").join(format!("{id}.json"))
    }
    /// The table of locks as a file: a view. The locks of processes are beside it as `*.lock`.
    pub fn lock_table(&self) -> PathBuf {
        self.dir.join("locks").join("locks.json")
    }
    /// What tasks of kind report delivered.
    pub fn results(&self) -> PathBuf {
        self.dir.join("results")
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
    /// The texts of specs that tasks are pinned to, by hash.
    pub fn spec_texts(&self) -> PathBuf {
        self.dir.join("spec_texts")
    }
    pub fn templates(&self) -> PathBuf {
        self.dir.join("templates")
    }
    pub fn schema(&self) -> PathBuf {
        self.dir.join("schema")
    }
    pub fn alerts_log(&self) -> PathBuf {
        self.dir.join("alerts.log")
    }
    /// Alerts that were sent and still hold. Disposable: without it some are sent twice.
    pub fn reported_alerts(&self) -> PathBuf {
        self.dir.join("alerts.told")
    }
    /// Exists when a CHECKPOINT switch has waited too long for a person.
    pub fn escalation(&self) -> PathBuf {
        self.dir.join("ESCALATION")
    }

    /// Directories that `init` makes.
    pub fn directories(&self) -> Vec<PathBuf> {
        let mut all = vec![self.dir.clone(), self.archive(), self.dir.join("graphs"), self.bundles()];
        all.extend([
            self.specs(),
            self.templates(),
            self.schema(),
            self.images(),
            self.edits(),
            self.reports(),
        ]);
        all
    }
}
