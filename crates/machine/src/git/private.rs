//! A worktree that is liza's alone: brought to a commit again and again, without the user's hooks, and looked at in a way
//! that nothing in it can deceive.
//!
//! What runs there is hostile, so nothing is believed that it can write: neither the index of the worktree (liza has one of
//! its own) nor its settings. Whether a file is as it was is told by the file itself (`seen`). Git is started
//! by a command of the caller's, which ends whatever filters start.

use std::os::unix::fs::PermissionsExt;

use super::checkouts::{self, Checkout};
use super::prelude::*;
use super::{content::copy_with_time, locks, query::EntryKind};
use crate::host::place::Place;

/// Settings that decide what is checked out and what counts as changed are not left to the repository.
pub(super) fn settled(git: Git) -> Git {
    git.config("core.sparseCheckout=false")
        .config("core.splitIndex=false")
        .config("core.untrackedCache=false")
        .config("core.trustctime=true")
        .config("core.checkStat=default")
        .config("core.ignoreStat=false")
        .config("core.fileMode=true")
        .config("core.symlinks=true")
        .config("core.preloadIndex=false")
        .config("submodule.recurse=false")
        .config("advice.detachedHead=false")
}

/// A private worktree, as it is used.
#[derive(Debug, Clone, Copy)]
pub struct Private<'a> {
    pub repo: &'a Repo,
    pub path: &'a Path,
    /// Liza's own index of it.
    pub index: &'a Path,
    /// The board that nothing git starts here may act on.
    pub board: &'a Path,
}

/// A path of a commit, and what is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub path: PathBuf,
    pub kind: EntryKind,
}

impl Private<'_> {
    /// Whether it can be used again, after the locks of a dead git are taken away.
    pub fn is_usable(&self) -> Result<bool, GitError> {
        if checkouts::check_sound(self.repo, self.path).is_err() {
            return Ok(false);
        }
        let Some(record) = self.record()? else { return Ok(false) };
        locks::clear_dead(self.path, &record.admin_dir);
        Ok(!record.admin_dir.join("index.lock").exists())
    }

    pub fn is_sound(&self) -> bool {
        checkouts::check_sound(self.repo, self.path).is_ok() && matches!(self.record(), Ok(Some(_)))
    }

    fn record(&self) -> Result<Option<Checkout>, GitError> {
        let mut records = checkouts::recorded_at(self.repo, self.path)?;
        Ok(if records.len() == 1 { records.pop() } else { None })
    }

    fn admin_dir(&self) -> Result<PathBuf, GitError> {
        let record = self.record()?.ok_or_else(|| GitError::NoCheckout { dir: self.path.to_owned() })?;
        Ok(record.admin_dir)
    }

    /// A git that finds nothing by itself: where it works and with which index is said by us.
    fn git(&self, subcommand: &'static str) -> Result<Git, GitError> {
        let admin = self.admin_dir()?;
        // Settings for this worktree alone are nobody's but a gate's.
        remove_if_there(&admin.join("config.worktree"))?;
        Ok(settled(Git::acting(self.path, subcommand))
            .held_for_gate(self.board)
            .env("GIT_DIR", &admin)
            .env("GIT_COMMON_DIR", &self.repo.common_dir)
            .env("GIT_WORK_TREE", self.path)
            .env("GIT_INDEX_FILE", self.index)
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_ALLOW_PROTOCOL", "none"))
    }

    pub fn head(&self) -> Result<CommitId, GitError> {
        let git = self.git("rev-parse")?.args(["--verify", "--quiet"]).end_of_options();
        let line = git.arg("HEAD^{commit}").run_line()?;
        CommitId::new(&line).map_err(|_| GitError::unexpected("rev-parse", line))
    }

    /// Brings every tracked file to what the commit has; only those that differ are written.
    pub fn put_at(&self, commit: &CommitId) -> Result<(), GitError> {
        // Nobody else uses this index, so whoever left a lock on it is dead.
        remove_if_there(&self.index.with_extension("lock"))?;
        let git = self.git("checkout")?.args(["--quiet", "--force", "--detach"]);
        git.end_of_options().arg(commit.as_str()).run()?;
        fs::set_permissions(self.index, fs::Permissions::from_mode(0o600)).map_err(GitError::io(self.index))
    }

    /// Gives the worktree the index that belongs to it, whatever it has now.
    pub fn hand_over_index(&self) -> Result<(), GitError> {
        let index = self.admin_dir()?.join("index");
        let new = index.with_extension("liza");
        remove_if_there(&new)?;
        copy_with_time(self.index, &new)?;
        fs::rename(&new, &index).map_err(GitError::io(&index))
    }

    /// Removes what git does not track, ignored files and repositories inside too, except the directories in `keep`.
    pub fn clean(&self, keep: &[String]) -> Result<(), GitError> {
        let mut git = self.git("clean")?.args(["--quiet", "-ffdx"]);
        for dir in keep {
            // A name, from the top of the tree, and no pattern.
            let escape = |c: char| "*?[]\\!# ".contains(c).then_some('\\').into_iter().chain([c]);
            let escaped: String = dir.trim_matches('/').chars().flat_map(escape).collect();
            git = git.arg(format!("--exclude=/{escaped}"));
        }
        git.run().map(|_| ())
    }

    /// Deletes it, with git's record of it and liza's index: it holds nothing of anybody's.
    pub fn remove(&self) -> Result<(), GitError> {
        let records = checkouts::recorded_at(self.repo, self.path)?;
        // Without this file it is no worktree any more, so that one half deleted is never used again.
        remove_if_there(&self.path.join(".git")).ok();
        delete(&self.repo.root, self.path)?;
        for record in records {
            delete(&self.repo.common_dir, &record.admin_dir)?;
        }
        remove_if_there(self.index)?;
        remove_if_there(&self.index.with_extension("lock"))
    }
}

/// Every path of a commit.
pub fn entries(repo: &Repo, commit: &CommitId) -> Result<Vec<Entry>, GitError> {
    let git = Git::reading(&repo.root, "ls-tree").args(["-r", "-z", "--full-tree"]);
    let listed = git.end_of_options().arg(commit.as_str()).run()?;
    let entry = |record: &[u8]| {
        let unexpected = || GitError::unexpected("ls-tree", String::from_utf8_lossy(record));
        let at = record.iter().position(|byte| *byte == b'\t').ok_or_else(unexpected)?;
        let mode = std::str::from_utf8(&record[..record.len().min(6)]).ok();
        let mode = mode.and_then(|mode| i32::from_str_radix(mode, 8).ok()).ok_or_else(unexpected)?;
        let path = PathBuf::from(OsStr::from_bytes(&record[at + 1..]));
        Ok(Entry { path, kind: EntryKind::of(mode) })
    };
    records(&listed).map(entry).collect()
}

fn remove_if_there(path: &Path) -> Result<(), GitError> {
    GitError::if_there(path, fs::remove_file(path)).map(|_| ())
}

/// Deletes a file or a directory with all that is in it, directories that nobody may write to included.
fn delete(base: &Path, path: &Path) -> Result<(), GitError> {
    GitError::if_there(path, Place::at(base, path).and_then(|place| place.delete())).map(|_| ())
}

/// Whether a path relative to `root` stays inside of it once links are followed, as far as it is there.
pub fn leads_inside(root: &Path, relative: &Path) -> bool {
    let plain = relative.components().all(|part| matches!(part, std::path::Component::Normal(_)));
    if !plain || relative.as_os_str().as_bytes().is_empty() {
        return false;
    }
    let mut at = root.to_owned();
    relative.components().all(|part| {
        at.push(part);
        !at.symlink_metadata().is_ok_and(|meta| meta.file_type().is_symlink())
    })
}
