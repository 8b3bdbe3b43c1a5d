//! A worktree that is liza's alone: brought to a commit again and again, without the user's hooks, and looked at in a way
//! that nothing in it can deceive.
//!
//! What runs there is hostile, so nothing is believed that it can write: neither the index of the worktree (liza has one of
//! its own) nor its settings. Whether a file is as it was is told by the file itself (`seen`). Git is started
//! by a command of the caller's, which ends whatever filters start.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::checkouts::{self, Checkout};
use super::command::{Git, GitError};
use super::content::copy_with_time;
use super::locks;
use super::repo::Repo;
use crate::board::CommitId;

/// Settings that decide what is checked out and what counts as changed are not left to the repository.
pub(super) fn settled(git: Git) -> Git {
    git.config("core.hooksPath=/dev/null")
        .config("core.sparseCheckout=false")
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
    /// How git is started.
    pub through: &'a [OsString],
}

/// A path of a commit, and what is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub path: PathBuf,
    pub kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    File { runs: bool },
    Link,
    Submodule,
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
        match self.record()? {
            Some(record) => Ok(record.admin_dir),
            None => Err(GitError::NoCheckout { dir: self.path.to_owned() }),
        }
    }

    /// A git that finds nothing by itself: where it works and with which index is said by us.
    fn git(&self, subcommand: &'static str) -> Result<Git, GitError> {
        let admin = self.admin_dir()?;
        // Settings for this worktree alone are nobody's but a gate's.
        remove_if_there(&admin.join("config.worktree"))?;
        Ok(settled(Git::acting(self.path, subcommand))
            .through(self.through)
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
        self.git("checkout")?
            .args(["--quiet", "--force", "--detach"])
            .end_of_options()
            .arg(commit.as_str())
            .run()?;
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
            let escaped: String = dir.trim_matches('/').chars().fold(String::new(), |mut text, c| {
                if "*?[]\\!# ".contains(c) {
                    text.push('\\');
                }
                text.push(c);
                text
            });
            git = git.arg(format!("--exclude=/{escaped}"));
        }
        git.run()?;
        Ok(())
    }

    /// Deletes it, with git's record of it and liza's index: it holds nothing of anybody's.
    pub fn remove(&self) -> Result<(), GitError> {
        let records = checkouts::recorded_at(self.repo, self.path)?;
        // Without this file it is no worktree any more, so that one half deleted is never used again.
        remove_if_there(&self.path.join(".git")).ok();
        delete(self.path)?;
        for record in records {
            delete(&record.admin_dir)?;
        }
        remove_if_there(self.index)?;
        remove_if_there(&self.index.with_extension("lock"))
    }
}

/// Every path of a commit.
pub fn entries(repo: &Repo, commit: &CommitId) -> Result<Vec<Entry>, GitError> {
    let listed = Git::reading(&repo.root, "ls-tree")
        .args(["-r", "-z", "--full-tree"])
        .end_of_options()
        .arg(commit.as_str())
        .run()?;
    let records = listed.split(|byte| *byte == 0).filter(|record| !record.is_empty());
    records
        .map(|record| {
            let unexpected = || GitError::unexpected("ls-tree", String::from_utf8_lossy(record));
            let at = record.iter().position(|byte| *byte == b'\t').ok_or_else(unexpected)?;
            let kind = match &record[..record.len().min(6)] {
                b"120000" => Kind::Link,
                b"160000" => Kind::Submodule,
                b"100755" => Kind::File { runs: true },
                _ => Kind::File { runs: false },
            };
            Ok(Entry { path: PathBuf::from(OsStr::from_bytes(&record[at + 1..])), kind })
        })
        .collect()
}

fn remove_if_there(path: &Path) -> Result<(), GitError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(GitError::io(path)(error)),
        _ => Ok(()),
    }
}

/// Deletes a file or a directory with all that is in it, directories that nobody may write to included.
fn delete(path: &Path) -> Result<(), GitError> {
    let gone = |result: io::Result<()>| match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    };
    match path.symlink_metadata() {
        Err(_) => return Ok(()),
        Ok(meta) if !meta.is_dir() => return gone(fs::remove_file(path)).map_err(GitError::io(path)),
        Ok(_) => {}
    }
    if gone(fs::remove_dir_all(path)).is_ok() {
        return Ok(());
    }
    let mut waiting = vec![path.to_owned()];
    while let Some(dir) = waiting.pop() {
        let _ = fs::set_permissions(&dir, fs::Permissions::from_mode(0o700));
        let below = fs::read_dir(&dir).into_iter().flatten().flatten();
        waiting.extend(
            below.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path()),
        );
    }
    gone(fs::remove_dir_all(path)).map_err(GitError::io(path))
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
