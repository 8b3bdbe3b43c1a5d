//! The runs that are kept: their summaries, whether a process is at work on them, and their removal.

use std::fs::{File, TryLockError};

use super::{Lab, agent, mcp, worktree};
use crate::experiment::{Outcome, Summary, artifacts};
use crate::flow::prelude::*;
use crate::host::place::Place;
use crate::store::files::paths_in;

const LARGEST_SUMMARY: u64 = 4 * 1024 * 1024;

/// A run as it lies on the disk.
#[derive(Debug, Clone, Serialize)]
pub struct Kept {
    #[serde(flatten)]
    pub summary: Summary,
    #[serde(serialize_with = "crate::text::serialize_path")]
    pub dir: PathBuf,
    /// A process works on it now.
    pub running: bool,
    /// Its worktree is still there.
    #[serde(serialize_with = "crate::text::serialize_path", skip_serializing_if = "Option::is_none")]
    pub worktree: Option<PathBuf>,
}

impl Kept {
    /// Whether it tried this text.
    pub fn idea_is(&self, text: &str) -> bool {
        read_whole(&self.dir.join(artifacts::IDEA), LARGEST_SUMMARY)
            .is_ok_and(|(bytes, _)| bytes == text.as_bytes())
    }

    /// The artifacts of the run, by name.
    pub fn artifacts(&self) -> Vec<String> {
        let mut names: Vec<String> = paths_in(&self.dir)
            .iter()
            .filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned()))
            .collect();
        names.sort();
        names
    }

    /// Where Codex's own log is, if the coder was Codex through MCP.
    pub fn rollout_path(&self) -> Option<String> {
        let (bytes, _) = read_whole(&self.dir.join(artifacts::CODEX_TRANSCRIPT), 64 * 1024 * 1024).ok()?;
        let lines = bytes.split(|byte| *byte == b'\n');
        let sessions = lines.filter_map(|line| serde_json::from_slice::<mcp::Configured>(line).ok());
        sessions.map(|session| session.rollout_path).next_back()
    }
}

/// The lock of a run's directory; the kernel gives it back whatever becomes of the process.
pub fn lock(dir: &Path) -> Result<File> {
    let file = File::open(dir).map_err(|error| Failure::io("open", dir, &error))?;
    file.try_lock().map_err(|error| {
        let why = match error {
            TryLockError::Error(error) => error.to_string(),
            TryLockError::WouldBlock => "another process works on it".to_owned(),
        };
        failure!(ErrorCode::BusyLock, "the run in {} cannot be used: {why}", dir.display())
    })?;
    Ok(file)
}

/// Whether a process works on it. Two that ask at the same time do not take each other for one.
fn is_locked(dir: &Path) -> bool {
    File::open(dir).is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// Every run that is kept, in the order of their starts. One without a final summary that no process works on was interrupted.
pub fn all(lab: &Lab) -> Result<Vec<Kept>> {
    let mut found = Vec::new();
    for dir in paths_in(&lab.runs) {
        let Ok((bytes, _)) = read_whole(&dir.join(artifacts::SUMMARY), LARGEST_SUMMARY) else { continue };
        let Ok(mut summary) = serde_json::from_slice::<Summary>(&bytes) else { continue };
        // Paths and refs are made of the id: one that is not the name of its directory is not liza's.
        if dir.file_name() != Some(summary.run_id.as_ref()) {
            continue;
        }
        let running = summary.status == Outcome::Running && is_locked(&dir);
        if summary.status == Outcome::Running && !running {
            // The process may have written its last summary meanwhile.
            let again = read_whole(&dir.join(artifacts::SUMMARY), LARGEST_SUMMARY).ok();
            summary = again.and_then(|(bytes, _)| serde_json::from_slice(&bytes).ok()).unwrap_or(summary);
            if summary.status == Outcome::Running {
                summary.status = Outcome::Interrupted;
                summary.error.get_or_insert_with(|| format!("its process ended during: {}", summary.phase));
            }
        }
        let worktree = Some(lab.worktrees.join(&summary.run_id)).filter(|path| path.is_dir());
        found.push(Kept { summary, dir, running, worktree });
    }
    let key = |kept: &Kept| (kept.summary.started, kept.summary.started_nanos, kept.summary.run_id.clone());
    found.sort_by_key(key);
    Ok(found)
}

/// The run of this id, or the last one of the idea of this id.
pub fn find(lab: &Lab, name: &str) -> Result<Kept> {
    let all = all(lab)?;
    let found = all.iter().rev().find(|kept| kept.summary.run_id == name || kept.summary.idea == name);
    found.cloned().ok_or_else(|| {
        let known: Vec<&str> = all.iter().rev().map(|kept| kept.summary.run_id.as_str()).take(8).collect();
        let hint = match known.is_empty() {
            true => "`liza experiment run IDEAS` starts some".to_owned(),
            false => format!("name one of {}", list_words(known)),
        };
        failure!(Code::Value, "there is no run `{}`", shown_line(name)).hint(hint)
    })
}

/// What became of the worktrees of runs that are over.
#[derive(Debug, Default, Serialize)]
pub struct Pruned {
    /// The runs whose worktree is gone.
    pub pruned: Vec<String>,
    pub stay: Vec<Staying>,
}

/// A worktree that was not removed.
#[derive(Debug, Serialize)]
pub struct Staying {
    pub run_id: String,
    pub why: String,
}

/// Removes the worktrees of runs that ended at least so long ago, each after its work is kept under a ref. Artifacts stay.
pub fn prune(lab: &Lab, older_than: Duration, dry_run: bool) -> Result<Pruned> {
    let now = host::now().wall;
    let mut done = Pruned::default();
    let recorded: BTreeSet<PathBuf> =
        checkouts::list(&lab.repo)?.into_iter().filter_map(|record| record.path).collect();
    for kept in all(lab)? {
        // Only git's record of it may be left.
        let path = &lab.worktrees.join(&kept.summary.run_id);
        if kept.running || (kept.worktree.is_none() && !recorded.contains(path)) {
            continue;
        }
        let ended = kept.summary.ended.unwrap_or(kept.summary.started);
        if u64::try_from(now.since(ended)).unwrap_or(0) < older_than.as_secs() {
            continue;
        }
        let removed = if dry_run { Ok(()) } else { remove_one(lab, &kept, path) };
        let run_id = kept.summary.run_id;
        match removed {
            Ok(()) => done.pruned.push(run_id),
            Err(failure) => done.stay.push(Staying { run_id, why: failure.message }),
        }
    }
    Ok(done)
}

fn remove_one(lab: &Lab, kept: &Kept, path: &Path) -> Result<()> {
    let _lock = lock(&kept.dir)?;
    if kept.worktree.is_some() && !is_over(lab, kept, path)? {
        worktree::keep_rest(lab, path, &kept.summary)?;
    }
    worktree::remove(lab, path)?;
    remove_scratch(lab, &kept.dir);
    Ok(())
}

/// Whether there is nothing to keep: it was interrupted while it was made, or while it was removed.
fn is_over(lab: &Lab, kept: &Kept, path: &Path) -> Result<bool> {
    if checkouts::check_sound(&lab.repo, path).is_ok() {
        return Ok(false);
    }
    let is_kept = refs::value(&lab.repo, &worktree::ref_of(&kept.summary.run_id))?.is_some();
    Ok(is_kept || paths_in(path).iter().all(|path| path.file_name().is_some_and(|name| name == ".git")))
}

/// Scratch directories that a run which was killed has left.
fn remove_scratch(lab: &Lab, run_dir: &Path) {
    let begins = agent::scratch_name(run_dir);
    for dir in paths_in(&lab.runs) {
        if dir.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&begins)) {
            let _ = Place::at(&lab.runs, &dir).and_then(|place| place.delete());
        }
    }
}
