//! A worktree of liza's own: moved to a commit again and again, without the user's hooks, and checked in a way that
//! nothing in it can deceive.
//!
//! Programs that run there are hostile, so liza trusts nothing that they can write: neither the worktree's index
//! (liza has its own) nor its settings. The file itself shows whether it is unchanged (`seen`). The caller supplies
//! the command that starts git and ends the processes that filters start.

use std::os::unix::fs::PermissionsExt;

use super::checkouts::{self, Checkout};
use super::prelude::*;
use super::{content::copy_with_time, locks, query::EntryKind};
use crate::host::anchored_path::AnchoredPath;

/// Fixes the settings that decide what is checked out and what counts as changed; the repository's own do not apply.
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

/// A private worktree.
#[derive(Debug, Clone, Copy)]
pub struct Private<'a> {
    pub repo: &'a Repo,
    pub path: &'a Path,
    /// Liza's own index of the worktree.
    pub index: &'a Path,
    /// The board that programs started by git here may not act on.
    pub board: &'a Path,
}

/// A path of a commit, and its entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub path: PathBuf,
    pub kind: EntryKind,
}

impl Private<'_> {
    /// Whether the worktree can be used again, after removing the locks of a dead git.
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

    /// A git that discovers nothing by itself: liza names its repository, worktree and index.
    fn git(&self, subcommand: &'static str) -> Result<Git, GitError> {
        let admin = self.admin_dir()?;
        // Only a gate could have written settings for this worktree alone.
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

    /// Makes every tracked file as in the commit; writes only those that differ.
    pub fn put_at(&self, commit: &CommitId) -> Result<(), GitError> {
        // Only liza uses this index, so a lock on it is left from a dead process.
        remove_if_there(&self.index.with_extension("lock"))?;
        let git = self.git("checkout")?.args(["--quiet", "--force", "--detach"]);
        git.end_of_options().arg(commit.as_str()).run()?;
        fs::set_permissions(self.index, fs::Permissions::from_mode(0o600)).map_err(GitError::io(self.index))
    }

    /// Replaces the worktree's own index by a copy of liza's.
    pub fn hand_over_index(&self) -> Result<(), GitError> {
        let index = self.admin_dir()?.join("index");
        let new = index.with_extension("liza");
        remove_if_there(&new)?;
        copy_with_time(self.index, &new)?;
        fs::rename(&new, &index).map_err(GitError::io(&index))
    }

    /// Removes untracked files, ignored ones and nested repositories included, except the directories in `keep`.
    pub fn clean(&self, keep: &[String]) -> Result<(), GitError> {
        let mut git = self.git("clean")?.args(["--quiet", "-ffdx"]);
        for dir in keep {
            // A literal name, from the top of the tree, not a pattern.
            let escape = |c: char| "*?[]\\!# ".contains(c).then_some('\\').into_iter().chain([c]);
            let escaped: String = dir.trim_matches('/').chars().flat_map(escape).collect();
            git = git.arg(format!("--exclude=/{escaped}"));
        }
        git.run().map(|_| ())
    }

    /// Deletes the worktree, git's record of it and liza's index: none of it holds work.
    pub fn remove(&self) -> Result<(), GitError> {
        let records = checkouts::recorded_at(self.repo, self.path)?;
        // Without this file it is no longer a worktree, so a half-deleted one is never used again.
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

/// Deletes a file or a directory with its content, read-only directories included.
fn delete(base: &Path, path: &Path) -> Result<(), GitError> {
    GitError::if_there(path, AnchoredPath::at(base, path).and_then(|path| path.delete())).map(|_| ())
}

/// Whether a path relative to `root` stays inside `root` once links are followed, as far as the path exists.
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
