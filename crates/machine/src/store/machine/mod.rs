//! What belongs to this machine and not to the board: worktrees, files of runs, tokens, gates, the trash, and
//! the locks of processes. It would stay here if the board were kept elsewhere.

mod runners;

pub use runners::release_intents;

use std::collections::BTreeSet;
use std::fs::Metadata;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use crate::board::{AgentId, TaskId, Wall};
use crate::host::anchored_path;

use super::error::{IoContext, StoreError};
use super::files::{
    FileIdentity, beside, is_odd, make_private_dir, names_in, paths_in, read_whole, replace,
    replace_disposable,
};
use super::handle::patience_or;
use super::layout::WORKTREES;
use super::lock::SideLock;

/// Locks that exist once per machine.
const WORKTREES_LOCK: &str = "worktree.lock";
const MERGE_LOCK: &str = "merge.lock";
const WATCH_LOCK: &str = "watch.lock";
const OVERSIGHT_LOCK: &str = "oversight.lock";
pub(super) const LOCKS: [&str; 4] = [WORKTREES_LOCK, MERGE_LOCK, WATCH_LOCK, OVERSIGHT_LOCK];

/// Making a worktree of a large repository takes long; other processes wait up to this time.
const WORKTREE_PATIENCE: Duration = Duration::from_secs(300);
const LARGEST_ASK: u64 = 4096;
const LARGEST_GIT_SETTINGS: u64 = 16 * 1024 * 1024;

#[derive(Debug, Clone)]
pub struct Machine {
    home: PathBuf,
    worktrees: PathBuf,
    trash: PathBuf,
}

impl Machine {
    /// `home` is the directory of these files, `root` that of the repository.
    pub fn new(home: impl Into<PathBuf>, root: &Path) -> Self {
        let home = home.into();
        Self { worktrees: root.join(WORKTREES), trash: home.join("trash"), home }
    }

    /// The directory of all these files. Processes that run gates name this machine's part of a board by it.
    pub fn home(&self) -> &Path {
        &self.home
    }

    fn directories(&self) -> [PathBuf; 5] {
        [self.runs(), self.gates(), self.locks_dir(), self.tokens(), self.trash.clone()]
    }

    /// Makes the directories that `init` makes.
    pub fn make_directories(&self) -> Result<(), StoreError> {
        self.directories().iter().try_for_each(|dir| make_private_dir(dir))
    }

    /// A name for a file that is made here and then linked elsewhere.
    pub fn scratch_file(&self, name: &std::ffi::OsStr) -> PathBuf {
        beside(&self.home.join(name))
    }

    /// The file of this machine that a record names by its path from the root; none if it is outside.
    pub fn file_at(&self, path: PathBuf) -> Option<PathBuf> {
        let below = path.strip_prefix(&self.home).ok()?;
        let plain = below.components().all(|part| matches!(part, Component::Normal(_)));
        (plain && below != Path::new("")).then_some(path)
    }

    /// Every file and directory with its permissions; links are not followed, the trash is skipped.
    pub fn files(&self) -> Vec<(PathBuf, Metadata)> {
        walkdir::WalkDir::new(&self.home)
            .into_iter()
            .filter_entry(|entry| entry.path().parent() != Some(&self.trash))
            .flatten()
            .filter_map(|entry| Some((entry.path().to_owned(), entry.metadata().ok()?)))
            .filter(|(_, meta)| meta.is_dir() || meta.is_file())
            .collect()
    }

    /// Links, pipes and the like at the path of a file or directory of this machine, and which of the two
    /// belongs there.
    pub fn odd_files(&self) -> Vec<(PathBuf, &'static str)> {
        let files = LOCKS.map(|name| (self.home.join(name), "file"));
        let dirs = self.directories().into_iter().chain([self.observations(), self.worktrees.clone()]);
        let dirs = dirs.map(|path| (path, "directory"));
        files.into_iter().chain(dirs).filter(is_odd).collect()
    }
}

/// Git settings that a person accepted.
impl Machine {
    fn git_settings_file(&self, name: &str) -> Option<PathBuf> {
        let plain = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        plain.then(|| self.home.join("git").join(format!("{name}.json")))
    }

    /// The record of this name; none if it cannot be read.
    pub fn git_settings(&self, name: &str) -> Option<Vec<u8>> {
        read_whole(&self.git_settings_file(name)?, LARGEST_GIT_SETTINGS).ok().map(|(bytes, _)| bytes)
    }

    pub fn keep_git_settings(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        make_private_dir(&self.home.join("git"))?;
        self.git_settings_file(name).map_or(Ok(()), |path| replace(&path, bytes))
    }
}

/// Worktrees and the trash.
impl Machine {
    /// Where the worktrees are.
    pub fn worktrees(&self) -> &Path {
        &self.worktrees
    }

    pub fn trash(&self) -> &Path {
        &self.trash
    }

    /// Makes `.worktrees`, or a directory in it. Refuses a link at that path: liza would make and delete files
    /// elsewhere.
    pub fn make_worktrees_dir(&self, dir: &Path) -> Result<(), StoreError> {
        let root = self.worktrees.parent().unwrap_or(&self.worktrees);
        anchored_path::make_directories(root, dir).doing("make the directory", dir)
    }

    pub fn make_trash(&self) -> Result<(), StoreError> {
        anchored_path::make_directories(&self.home, &self.trash).doing("make the directory", &self.trash)
    }

    /// Acquires the lock under which worktrees are made and removed, one at a time.
    pub fn lock_worktrees(&self) -> Result<SideLock, StoreError> {
        self.lock_worktrees_within(patience_or(WORKTREE_PATIENCE))
    }

    pub fn lock_worktrees_within(&self, patience: Duration) -> Result<SideLock, StoreError> {
        SideLock::acquire(&self.home.join(WORKTREES_LOCK), patience)
    }

    /// Locks a checkout for reading while its files are written, because another process may want the same
    /// checkout. Locks the directory itself, so that no lock file remains; none if there is no directory.
    pub fn lock_checkout(&self, path: &Path) -> Result<Option<SideLock>, StoreError> {
        SideLock::of_directory(path, patience_or(WORKTREE_PATIENCE))
    }

    pub fn is_checkout_locked(&self, path: &Path) -> bool {
        matches!(SideLock::of_directory(path, Duration::ZERO), Err(StoreError::Busy { .. }))
    }
}

/// Work that one process does at a time.
impl Machine {
    pub fn lock_merging(&self, patience: Duration) -> Result<SideLock, StoreError> {
        SideLock::acquire(&self.home.join(MERGE_LOCK), patience)
    }

    /// Acquires the lock of the board's only watcher.
    pub fn lock_watching(&self, since: Wall) -> Result<SideLock, StoreError> {
        SideLock::at_once(&self.home.join(WATCH_LOCK), &since.to_string())
    }

    /// Acquires the lock of the process that oversees agents, patterns and the sprint: a watcher or a run.
    pub fn lock_oversight(&self, since: Wall) -> Result<SideLock, StoreError> {
        SideLock::at_once(&self.home.join(OVERSIGHT_LOCK), &since.to_string())
    }

    /// Whether a watcher or a run oversees the agents.
    pub fn is_overseen(&self) -> bool {
        runners::is_held(&self.home.join(OVERSIGHT_LOCK))
    }
}

/// Files that agents and gates wrote while they worked.
impl Machine {
    pub fn runs(&self) -> PathBuf {
        self.home.join("runs")
    }

    pub fn runs_of(&self, task: &TaskId) -> PathBuf {
        self.runs().join(task.as_str())
    }

    /// Files of an agent that belong to no task.
    pub fn runs_of_agent(&self, agent: &AgentId) -> PathBuf {
        self.runs().join(format!(".{agent}"))
    }

    /// Files of one round of work on a task.
    pub fn round(&self, task: &TaskId, epoch: u64, iteration: u32) -> PathBuf {
        self.runs_of(task).join(format!("{epoch}-{iteration}"))
    }

    /// The directories of all rounds of a task.
    pub fn rounds(&self, task: &TaskId) -> Vec<PathBuf> {
        paths_in(&self.runs_of(task))
    }

    /// The tasks that have run files, by name.
    pub fn tasks_with_runs(&self) -> Vec<TaskId> {
        let names = names_in(&self.runs()).unwrap_or_default();
        names.iter().filter_map(|name| TaskId::new(name).ok()).collect()
    }

    /// The results of gates, their logs, and kept former results.
    pub fn gates(&self) -> PathBuf {
        self.home.join("gates")
    }

    /// The environment for an agent's gates, written by the agent's runner.
    pub fn gate_environment(&self, agent: &AgentId) -> PathBuf {
        self.gates().join("environments").join(format!("{agent}.json"))
    }

    /// Where an agent that cannot run a gate itself asks its runner to run it.
    pub fn gate_requests(&self, agent: &AgentId) -> PathBuf {
        self.gates().join("requests").join(agent.as_str())
    }

    /// The tasks and trees that have gate results.
    pub fn names_with_gate_results(&self) -> BTreeSet<String> {
        let names = names_in(&self.gates()).unwrap_or_default();
        names.iter().filter_map(|name| Some(name.strip_suffix(".gate.json")?.to_owned())).collect()
    }

    /// The last results of the gates on a task or a tree.
    pub fn gate_results(&self, name: &str) -> PathBuf {
        self.gates().join(format!("{name}.gate.json"))
    }
}

/// Agents.
impl Machine {
    fn tokens(&self) -> PathBuf {
        self.home.join("tokens")
    }

    pub fn token_file(&self, agent: &AgentId) -> PathBuf {
        self.tokens().join(agent.as_str())
    }

    pub fn token_files(&self) -> Vec<PathBuf> {
        paths_in(&self.tokens())
    }

    pub fn is_token(&self, path: &Path) -> bool {
        path.parent() == Some(&self.tokens())
    }

    pub fn write_token(&self, agent: &AgentId, token: &str) -> Result<PathBuf, StoreError> {
        make_private_dir(&self.tokens())?;
        let path = self.token_file(agent);
        replace(&path, format!("{token}\n").as_bytes())?;
        Ok(path)
    }

    fn ask_file(&self, agent: &str) -> PathBuf {
        self.home.join("asks").join(agent)
    }

    /// Leaves a message that the agent's next command shows. If it cannot be written, nothing stops.
    pub fn ask(&self, agent: &str, text: &str) {
        let path = self.ask_file(agent);
        if path.parent().is_some_and(|dir| make_private_dir(dir).is_ok()) {
            let _ = replace(&path, text.as_bytes());
        }
    }

    /// The message of the agent's runner for the agent.
    pub fn asked_of(&self, agent: &AgentId) -> Option<String> {
        let (bytes, _) = read_whole(&self.ask_file(agent.as_str()), LARGEST_ASK).ok()?;
        Some(String::from_utf8_lossy(&bytes).trim().to_owned())
    }

    pub fn withdraw_ask(&self, agent: &str) {
        let _ = std::fs::remove_file(self.ask_file(agent));
    }

    fn observations(&self) -> PathBuf {
        self.home.join("overseer")
    }

    /// What the agent's runner has observed of the agent.
    pub fn observation_file(&self, agent: &AgentId) -> PathBuf {
        self.observations().join(format!("{agent}.json"))
    }

    /// Publishes what the runner observed of an agent. If it cannot be written, nothing stops.
    pub fn write_observation(&self, agent: &AgentId, text: &str) {
        let path = self.observation_file(agent);
        if path.parent().is_some_and(|dir| make_private_dir(dir).is_ok()) {
            let _ = replace_disposable(&path, text.as_bytes());
        }
    }

    /// The agents that have observations, each with the identity of the file.
    pub fn observed(&self) -> Vec<(AgentId, FileIdentity)> {
        let of_file = |path: PathBuf| {
            let agent = AgentId::new(path.file_name()?.to_str()?.strip_suffix(".json")?).ok()?;
            Some((agent, FileIdentity::at(&path).ok()?))
        };
        let mut found: Vec<_> = paths_in(&self.observations()).into_iter().filter_map(of_file).collect();
        found.sort_by(|one, other| one.0.cmp(&other.0));
        found
    }
}

/// Git hooks of this repository.
impl Machine {
    fn hooks_file(&self) -> PathBuf {
        self.home.join("hooks")
    }

    /// Whether a person asked for git hooks.
    pub fn wants_hooks(&self) -> bool {
        std::fs::symlink_metadata(self.hooks_file()).is_ok()
    }

    pub fn want_hooks(&self, why: &str) -> Result<(), StoreError> {
        replace(&self.hooks_file(), why.as_bytes())
    }

    pub fn want_no_hooks(&self) -> Result<(), StoreError> {
        let path = self.hooks_file();
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error).doing("remove", &path),
            _ => Ok(()),
        }
    }
}
