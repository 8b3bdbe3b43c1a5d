//! Checkouts for reading: of a review, or of what is to be tried.

use super::remove;
use crate::flow::prelude::*;
use crate::store::lock::SideLock;

/// A clean checkout for reading, at exactly this commit. With a `log` it is prepared, and the log has the result.
pub(in crate::flow) fn detached_checkout(
    ctx: &Context,
    dir: &Path,
    name: &str,
    commit: &CommitId,
    owner: &str,
    log: Option<&Path>,
) -> Result<PathBuf> {
    let path = dir.join(name);
    let one_at_a_time = lock_when_written(ctx, &path)?;
    let sound = checkouts::check_sound(&ctx.repo, &path).is_ok()
        && content::head(&path).is_ok_and(|head| &head == commit)
        && content::status(&path, Filters::Run).is_ok_and(|dirty| {
            let prepared = crate::flow::prepared::noted(&ctx.repo, &path);
            dirty.iter().all(|found| crate::flow::prepared::is_not_work(&prepared, found))
        });
    if sound {
        return Ok(path);
    }
    ctx.machine.make_worktrees_dir(dir)?;
    ctx.worktrees().remove_to_trash(&path)?;
    ctx.worktrees().add_detached(&path, commit, owner)?;
    let _being_written = ctx.machine.lock_checkout(&path)?;
    drop(one_at_a_time);
    crash::point("checkout.registered");
    let made = ctx.check_out(&path, commit).and_then(|()| match log {
        Some(log) => {
            let prepared = crate::flow::prepare::prepare(ctx, &ctx.project_config()?.worktrees, &path, log)?;
            if prepared.is_empty() {
                Ok(())
            } else {
                crate::flow::prepared::note(&ctx.repo, &path, &prepared)
            }
        }
        None => Ok(()),
    });
    if let Err(failure) = made {
        let _one_at_a_time = ctx.machine.lock_worktrees()?;
        let _ = remove(ctx, &path);
        return Err(failure);
    }
    Ok(path)
}

/// Acquires the worktrees lock when no living process writes the files of this one.
fn lock_when_written(ctx: &Context, path: &Path) -> Result<SideLock> {
    loop {
        let one_at_a_time = ctx.machine.lock_worktrees()?;
        if !ctx.machine.is_checkout_locked(path) {
            return Ok(one_at_a_time);
        }
        // The waiting process holds no lock that others need.
        drop(one_at_a_time);
        ctx.machine.lock_checkout(path)?;
    }
}

impl Context {
    /// Writes the files of a worktree that was just registered. Reports it if it takes long.
    pub(in crate::flow) fn check_out(&self, path: &Path, commit: &CommitId) -> Result<()> {
        let say = || {
            let files = self.query().ok().and_then(|query| query.count_files(commit).ok());
            let files = files.map_or("the files".to_owned(), |files| plural(files, "file"));
            self.narrate(format!("checking out {files} into {} …", path.display()));
        };
        Ok(self.worktrees().check_out(path, commit, say)?)
    }
}
