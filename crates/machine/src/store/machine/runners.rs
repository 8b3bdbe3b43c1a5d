//! Which processes run agents and gates now: each runner, each run and each gate worktree has a lock that the
//! kernel releases, and its holder writes its identity into the lock file.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::board::{AgentId, Descent, Hidden, Process};
use crate::host::Ancestry;
use crate::store::StoreError;
use crate::store::files::{make_private_dir, names_in, read_whole};
use crate::store::lock::SideLock;

use super::Machine;

/// Name prefix of the locks of processes that run gates or validations.
const JUDGING: &str = "gates-";
const RUNNER: &str = "runner-";
/// The kernel's first pid namespace has this number on every machine.
const FIRST_PID_NAMESPACE: &str = "pid:[4026531836]";
const MOST_CHECKS: usize = 64;

/// A process that asks whether a lock is held holds it for a moment.
const ASKED_AFTER: Duration = Duration::from_secs(2);

/// The locks of this process for its intents, by file.
static HELD_INTENTS: Mutex<BTreeMap<PathBuf, SideLock>> = Mutex::new(BTreeMap::new());

/// Removes the lock files of this process, which is about to end.
pub fn release_intents() {
    for path in HELD_INTENTS.lock().unwrap_or_else(PoisonError::into_inner).keys() {
        let _ = std::fs::remove_file(path);
    }
}

impl Machine {
    pub(super) fn locks_dir(&self) -> PathBuf {
        self.home.join("locks")
    }

    fn run_lock(&self) -> PathBuf {
        self.locks_dir().join("run.lock")
    }

    fn runner_lock(&self, agent: &AgentId) -> PathBuf {
        self.locks_dir().join(format!("{RUNNER}{agent}.lock"))
    }

    fn gates_lock(&self, place: usize) -> PathBuf {
        self.locks_dir().join(format!("{JUDGING}{place}.lock"))
    }

    /// Acquires the lock for running this agent; none if another process holds it.
    pub fn take_runner(&self, agent: &AgentId) -> Result<Option<SideLock>, StoreError> {
        self.take_at(&self.runner_lock(agent))
    }

    /// Acquires the lock for running the team of this board; none if another process holds it.
    pub fn take_run(&self) -> Result<Option<SideLock>, StoreError> {
        self.take_at(&self.run_lock())
    }

    /// Acquires the lock for running gates in this private worktree. It identifies its holder: while gates run,
    /// a descendant of the holder was started by one of them.
    pub fn take_gate_place(&self, place: usize) -> Result<SideLock, StoreError> {
        self.take_noted(&self.gates_lock(place))
    }

    /// The same for a validation, which needs no worktree of its own; none if the lock cannot be acquired.
    pub fn take_check(&self) -> Option<SideLock> {
        let path = |number: usize| self.locks_dir().join(format!("{JUDGING}check-{number}.lock"));
        (1..=MOST_CHECKS).find_map(|number| self.take_noted(&path(number)).ok())
    }

    fn take_noted(&self, path: &Path) -> Result<SideLock, StoreError> {
        make_private_dir(&self.locks_dir())?;
        let held = SideLock::at_once(path, &crate::host::now().wall.to_string())?;
        held.note(&this_process());
        Ok(held)
    }

    fn take_at(&self, path: &Path) -> Result<Option<SideLock>, StoreError> {
        make_private_dir(&self.locks_dir())?;
        match SideLock::acquire(path, Duration::ZERO) {
            Ok(held) => {
                held.note(&this_process());
                Ok(Some(held))
            }
            Err(StoreError::Busy { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn intent_lock(&self, owner: &Process) -> PathBuf {
        let namespace: String = owner.namespace.chars().filter(char::is_ascii_alphanumeric).collect();
        self.locks_dir().join(format!("intent-{namespace}-{}-{}.lock", owner.pid, owner.started))
    }

    /// Shows all other processes, for as long as this process lives, that it works on its intents: by a lock
    /// that the kernel releases with the process. That also works in another pid namespace, where the pid means
    /// nothing.
    pub fn hold_intents(&self, owner: &Process) -> Result<(), StoreError> {
        let path = self.intent_lock(owner);
        let mut held = HELD_INTENTS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Entry::Vacant(free) = held.entry(path) {
            make_private_dir(&self.locks_dir())?;
            let lock = SideLock::acquire(free.key(), ASKED_AFTER)?;
            free.insert(lock);
        }
        Ok(())
    }

    /// Whether a process still works on its intents.
    pub fn works_on_intents(&self, owner: &Process) -> bool {
        let here = crate::host::this_process();
        if *owner == here {
            return true;
        }
        match SideLock::is_held(&self.intent_lock(owner)) {
            Ok(held) => held,
            // The process held no lock, or its file was removed: in this namespace the process table decides.
            Err(_) => owner.namespace == here.namespace && crate::host::lives(owner),
        }
    }

    /// Lock files of processes that ended without removing them.
    pub fn dead_intent_locks(&self) -> Vec<PathBuf> {
        let names = names_in(&self.locks_dir()).unwrap_or_default();
        let ours = names.into_iter().filter(|name| name.starts_with("intent-"));
        let paths = ours.map(|name| self.locks_dir().join(name));
        paths.filter(|path| matches!(SideLock::is_held(path), Ok(false))).collect()
    }

    /// Removes the lock file of a process that has ended.
    pub fn forget_intents(&self, owner: &Process) {
        let _ = std::fs::remove_file(self.intent_lock(owner));
    }

    /// Whether gates run anywhere on this board.
    pub fn gates_run(&self) -> bool {
        self.judging(|_| true)
    }

    /// Whether gates run in the private worktree of this name.
    pub fn gates_run_at(&self, place: &str) -> bool {
        place.parse().is_ok_and(|place| is_held(&self.gates_lock(place)))
    }

    /// What liza needs to know about the ancestors of this process.
    pub fn descent(&self, shows_nothing: bool) -> Descent {
        let ancestry = match crate::host::ancestors() {
            Ok(ancestry) => ancestry,
            Err(hidden) => return Descent { hidden: Some(hidden), ..Descent::default() },
        };
        let marked = |mark| crate::host::gate_mark(&self.home) == Some(mark);
        Descent {
            gate: ancestry.mark.is_some_and(marked) || self.is_of_gate(&ancestry, shows_nothing),
            unseen: self.unseen_agent(&ancestry.processes),
            orphan: self.is_orphan(&ancestry.processes),
            hidden: self.has_hidden_locks().then_some(Hidden::Locks),
            mark: ancestry.mark,
            below_git: ancestry.below_git,
            ancestors: ancestry.processes,
        }
    }

    /// Whether this process sees another locks directory than the one on disk.
    fn has_hidden_locks(&self) -> bool {
        // In the first pid namespace all ancestors are visible without the locks.
        !crate::host::this_process().namespace.starts_with(FIRST_PID_NAMESPACE)
            && crate::host::is_mounted_over(&self.home, "locks")
    }

    /// Whether a gate or a validation of this board started this process: an ancestor holds such a command, or
    /// runs one and inherited this process because the holder was killed.
    fn is_of_gate(&self, above: &Ancestry, shows_nothing: bool) -> bool {
        // Compared by the directory itself: a mount in between changes its path.
        let identity = |path: &Path| path.metadata().ok().map(|meta| (meta.dev(), meta.ino()));
        if !above.gates_of.is_empty() {
            let here = identity(&self.home);
            if above
                .gates_of
                .iter()
                .any(|board| board == &self.home || (identity(board) == here && here.is_some()))
            {
                return true;
            }
        }
        let namespace = crate::host::this_process().namespace;
        self.judging(|judge| {
            (judge.namespace != namespace && shows_nothing) || above.processes.contains(judge)
        })
    }

    /// Whether a process that matches runs gates.
    fn judging(&self, matches: impl Fn(&Process) -> bool) -> bool {
        self.noted_locks(JUDGING).any(|(_, path, judge)| matches(&judge) && is_held(&path))
    }

    /// Locks with this name prefix: the rest of the name, the file, and the last holder noted in it.
    fn noted_locks(&self, start: &str) -> impl Iterator<Item = (String, PathBuf, Process)> {
        let dir = self.locks_dir();
        names_in(&dir).unwrap_or_default().into_iter().filter_map(move |name| {
            let path = dir.join(&name);
            Some((name.strip_prefix(start)?.to_owned(), path.clone(), noted(&path)?))
        })
    }

    /// Whether a runner of this agent runs, even in a pid namespace that is not visible from here.
    pub fn is_running(&self, agent: &AgentId, recorded: Option<&Process>) -> bool {
        let Some(recorded) = recorded else { return false };
        crate::host::lives(recorded)
            && (recorded.namespace == crate::host::this_process().namespace
                || is_held(&self.runner_lock(agent)))
    }

    /// An agent whose runner runs and is, or may be, an ancestor of this process: the runner is in another pid
    /// namespace, or its lock says so. Where the board knows the runner, the board decides; removing an agent
    /// from the board does not turn its processes into a person.
    fn unseen_agent(&self, ancestors: &[Process]) -> Option<AgentId> {
        let here = crate::host::this_process();
        self.noted_locks(RUNNER).find_map(|(name, path, runner)| {
            let hidden = runner.boot != here.boot || runner.namespace != here.namespace;
            let agent = AgentId::new(name.strip_suffix(".lock")?).ok()?;
            (ancestors.contains(&runner) || (hidden && is_held(&path))).then_some(agent)
        })
    }

    /// Whether the runners' locks name one of these processes as a runner of this board.
    pub fn has_runner_among(&self, ancestors: &[Process]) -> bool {
        self.noted_locks(RUNNER).any(|(.., runner)| ancestors.contains(&runner))
    }

    /// Whether this process descends from a run without a runner in between: then its agent detached it, and
    /// that agent's runner is gone.
    fn is_orphan(&self, ancestors: &[Process]) -> bool {
        let Some(run) = noted(&self.run_lock()) else { return false };
        let Some(at) = ancestors.iter().position(|ancestor| *ancestor == run) else { return false };
        // The run's own children: the runners it starts act for a person until they have an identity, and so
        // does what the run starts itself, such as git and its hooks.
        let child = if at == 0 { crate::host::this_pid() } else { ancestors[at - 1].pid };
        let own_git = crate::host::is_program(child, "git")
            && (crate::host::is_in_group_of(child, run.pid) || !self.gates_run());
        !crate::host::is_runner(child) && !own_git
    }
}

fn this_process() -> String {
    serde_json::to_string(&crate::host::this_process()).unwrap_or_default()
}

pub(super) fn is_held(path: &Path) -> bool {
    matches!(SideLock::acquire_existing(path), Err(StoreError::Busy { .. }))
}

fn noted(path: &Path) -> Option<Process> {
    let (bytes, _) = read_whole(path, 4096).ok()?;
    serde_json::from_slice(&bytes).ok()
}
