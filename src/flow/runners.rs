//! Who runs agents now: each runner and each run holds a lock that the kernel gives back, and says in it who it is.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::board::{AgentId, Process};
use crate::store::StoreError;
use crate::store::files::read_whole;
use crate::store::layout::Layout;
use crate::store::lock::SideLock;

const DIRECTORY: &str = "locks";
const RUN: &str = "run.lock";
/// How the locks of those begin who have gates or validations run.
const JUDGING: &str = "gates-";
const MOST_CHECKS: usize = 64;

fn lock_of(dir: &Path, agent: &AgentId) -> PathBuf {
    dir.join(DIRECTORY).join(format!("runner-{agent}.lock"))
}

/// The right to run this agent, or nothing while somebody has it.
pub fn take(dir: &Path, agent: &AgentId) -> Result<Option<SideLock>, StoreError> {
    take_at(dir, &lock_of(dir, agent))
}

/// The right to run the team of this board.
pub fn take_run(dir: &Path) -> Result<Option<SideLock>, StoreError> {
    take_at(dir, &dir.join(DIRECTORY).join(RUN))
}

/// The right to have gates run in this private worktree. Whoever has it is known by it: while gates run, what descends from
/// there was started by one of them.
pub(super) fn take_place(dir: &Path, place: usize, since: &str) -> Result<SideLock, StoreError> {
    take_noted(dir, &Layout::new(dir).gates_lock(place), since)
}

/// The same for a validation, which needs no place of its own; none if it cannot be had.
pub(super) fn take_check(dir: &Path) -> Option<SideLock> {
    let since = crate::host::now().wall.to_string();
    let path = |number: usize| dir.join(DIRECTORY).join(format!("{JUDGING}check-{number}.lock"));
    (1..=MOST_CHECKS).find_map(|number| take_noted(dir, &path(number), &since).ok())
}

fn take_noted(dir: &Path, path: &Path, since: &str) -> Result<SideLock, StoreError> {
    crate::store::files::make_private_dir(&dir.join(DIRECTORY))?;
    let held = SideLock::at_once(path, since)?;
    held.note(&serde_json::to_string(&crate::host::this_process()).unwrap_or_default());
    Ok(held)
}

/// Whether gates run anywhere on this board.
pub(super) fn gates_run(dir: &Path) -> bool {
    judging(dir, |_| true)
}

/// Whether gates run in the private worktree of this name.
pub(super) fn place_is_taken(dir: &Path, place: &str) -> bool {
    place.parse().is_ok_and(|place| is_held(&Layout::new(dir).gates_lock(place)))
}

/// Whether this process was started by a gate or a validation of this board: one of those it descends from holds such a
/// command, or has it run and got this process because the holder was killed. Where ancestors cannot be seen and gates
/// run, it may be.
pub(super) fn of_gate(dir: &Path, ancestors: Option<&[Process]>, shows_nothing: bool) -> bool {
    let Some(above) = ancestors else { return shows_nothing && judging(dir, |_| true) };
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let here = real(dir);
    if above.iter().any(|above| crate::host::holds_gate_of(above.pid).is_some_and(|of| real(&of) == here)) {
        return true;
    }
    let namespace = crate::host::this_process().namespace;
    judging(dir, |judge| (judge.namespace != namespace && shows_nothing) || above.contains(judge))
}

/// Whether somebody has gates run of whom this holds.
fn judging(dir: &Path, whoever: impl Fn(&Process) -> bool) -> bool {
    let entries = std::fs::read_dir(dir.join(DIRECTORY)).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(JUDGING))
        .any(|entry| noted(&entry.path()).is_some_and(|judge| whoever(&judge)) && is_held(&entry.path()))
}

fn take_at(dir: &Path, path: &Path) -> Result<Option<SideLock>, StoreError> {
    crate::store::files::make_private_dir(&dir.join(DIRECTORY))?;
    match SideLock::acquire(path, Duration::ZERO) {
        Ok(held) => {
            let who = serde_json::to_string(&crate::host::this_process()).unwrap_or_default();
            held.note(&who);
            Ok(Some(held))
        }
        Err(StoreError::Busy { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

fn is_held(path: &Path) -> bool {
    matches!(SideLock::acquire_existing(path), Err(StoreError::Busy { .. }))
}

fn noted(path: &Path) -> Option<Process> {
    let (bytes, _) = read_whole(path, 4096).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// Whether a runner of this agent is at work, also one in a pid namespace that cannot be seen from here.
pub fn is_running(dir: &Path, agent: &AgentId, recorded: Option<&Process>) -> bool {
    let Some(recorded) = recorded else { return false };
    crate::host::lives(recorded)
        && (recorded.namespace == crate::host::this_process().namespace || is_held(&lock_of(dir, agent)))
}

/// An agent whose runner is at work and might be an ancestor of this process, but cannot be seen from here: it is in
/// another pid namespace, or the ancestors cannot be told at all.
pub(super) fn unseen(dir: &Path, ancestors_known: bool) -> Option<AgentId> {
    let here = crate::host::this_process();
    let entries = std::fs::read_dir(dir.join(DIRECTORY)).ok()?;
    entries.flatten().find_map(|entry| {
        let name = entry.file_name();
        let agent = name.to_str()?.strip_prefix("runner-")?.strip_suffix(".lock")?;
        let runner = noted(&entry.path())?;
        let hidden = runner.boot == here.boot && (!ancestors_known || runner.namespace != here.namespace);
        let agent = AgentId::new(agent).ok()?;
        (hidden && is_held(&entry.path())).then_some(agent)
    })
}

/// Whether one of these processes is a runner of this board, as the runners' locks say.
pub(super) fn run_one_of(dir: &Path, ancestors: &[Process]) -> bool {
    let Ok(entries) = std::fs::read_dir(dir.join(DIRECTORY)) else { return false };
    entries
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("runner-"))
        .filter_map(|entry| noted(&entry.path()))
        .any(|runner| ancestors.contains(&runner))
}

/// Whether this process came to a run without a runner in between: then an agent set it free whose runner is gone.
pub(super) fn is_orphan(dir: &Path, ancestors: &[Process]) -> bool {
    let Some(run) = noted(&dir.join(DIRECTORY).join(RUN)) else { return false };
    let Some(at) = ancestors.iter().position(|ancestor| *ancestor == run) else { return false };
    // The runners it starts are its children, and act for a person until they have an identity; so does what it runs
    // itself, such as git and its hooks.
    let child = if at == 0 { std::process::id() } else { ancestors[at - 1].pid };
    let own_git = crate::host::is_program(child, "git")
        && (crate::host::is_in_group_of(child, run.pid) || !gates_run(dir));
    !crate::host::is_runner(child) && !own_git
}
