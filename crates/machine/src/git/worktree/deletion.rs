//! Deletes worktrees of which nothing is the only copy, and finishes deletions of processes that died.

use super::*;
use crate::git::door;
use crate::host::Contents;

/// Name prefix of a worktree that is being deleted.
pub const GOING: &str = ".going-";

/// How the deletion of a worktree ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deletion {
    Done,
    /// There was nothing to delete.
    Nothing,
    /// Its files were changed after they had been examined: it stays.
    Changed,
}

impl Worktrees<'_> {
    /// Deletes a worktree and git's record of it: the caller knows that nothing in it is the only copy, because it
    /// examined the files when they were these, or later.
    ///
    /// Renames both first, so that a process that dies halfway leaves nothing that looks complete
    /// ([`Worktrees::finish_deletions`]).
    pub fn delete(&self, path: &Path, examined: Contents) -> Result<Deletion, GitError> {
        let records = checkouts::recorded_at(self.repo, path)?;
        let (failed, going_path) = (GitError::io(path), going(path));
        let (here, going) = (self.anchored(path)?, self.anchored(&going_path)?);
        delete_directory(&going, path)?;
        let (moved, going, going_path) = match here.rename_to(&going) {
            Ok(Some(moved)) => (moved, going, going_path),
            Ok(None) => (true, here, path.to_owned()),
            Err(error) => return Err(failed(error)),
        };
        // Under its new name no process finds it by its path.
        if moved && Contents::of(&going_path) != examined {
            if going_path != path {
                going.rename_to(&self.anchored(path)?).map_err(failed)?;
            }
            return Ok(Deletion::Changed);
        }
        crash::point("worktree.going");
        for record in &records {
            self.delete_record(record)?;
        }
        crash::point("worktree.unrecorded");
        going.delete().map_err(failed)?;
        door::forget_checkout(path);
        Ok(if moved || !records.is_empty() { Deletion::Done } else { Deletion::Nothing })
    }

    /// Moves git's record of a worktree out of git's sight before it deletes it: no command would know whose half a record is.
    fn delete_record(&self, record: &Checkout) -> Result<(), GitError> {
        let dir = self.going_records();
        let failed = |error| GitError::io(&record.admin_dir)(error);
        anchored_path::make_directories(&self.repo.common_dir, &dir).map_err(failed)?;
        let (from, to) = (self.anchored(&record.admin_dir)?, self.anchored(&dir.join(&record.name))?);
        to.delete().and_then(|()| from.move_to(&to)).and_then(|_| to.delete()).map_err(failed)?;
        self.anchored(&dir)?.remove_empty();
        Ok(())
    }

    /// Where records are that are being deleted.
    pub(super) fn going_records(&self) -> PathBuf {
        self.repo.common_dir.join("liza-going")
    }

    /// Deletes what a process that died in [`Worktrees::delete`] left in this directory.
    ///
    /// A worktree whose record is still there may have been changed since it was examined: it gets its name back, or goes to the
    /// trash if the name is taken.
    pub fn finish_deletions(&self, dir: &Path) -> Result<(), GitError> {
        for entry in GitError::if_there(dir, fs::read_dir(dir))?.into_iter().flatten().flatten() {
            let (name, path) = (entry.file_name(), entry.path());
            let Some(former) = name.as_bytes().strip_prefix(GOING.as_bytes()) else { continue };
            let was = dir.join(OsStr::from_bytes(former));
            let going = self.anchored(&path)?;
            // A file or a link of that name is not liza's.
            if going.kind().map_err(GitError::io(&path))? != Some(anchored_path::Kind::Directory) {
                continue;
            }
            if checkouts::recorded_at(self.repo, &was)?.is_empty() {
                going.delete().map_err(GitError::io(&path))?;
            } else if was.symlink_metadata().is_err() {
                going.rename_to(&self.anchored(&was)?).map_err(GitError::io(&path))?;
            } else {
                let bin = self.bin_of(&String::from_utf8_lossy(former), &was)?;
                self.move_to(&path, &bin.join(TREE))?;
            }
        }
        let records = self.going_records();
        if records.symlink_metadata().is_ok() {
            self.anchored(&records)?.delete().map_err(GitError::io(&records))?;
        }
        Ok(())
    }
}

/// The name under which a worktree is deleted.
fn going(path: &Path) -> PathBuf {
    let mut name = OsString::from(GOING);
    name.push(path.file_name().unwrap_or_default());
    path.with_file_name(name)
}

/// Deletes what a deletion left; a file or a link of that name is not liza's.
fn delete_directory(going: &AnchoredPath, path: &Path) -> Result<(), GitError> {
    match going.kind().map_err(GitError::io(path))? {
        Some(anchored_path::Kind::Directory) => going.delete().map_err(GitError::io(path)),
        _ => Ok(()),
    }
}
