//! Taking something back out of the trash.

use std::path::PathBuf;

use crate::git::{WorktreeError, Worktrees};
use crate::store::lock::SideLock;
use crate::store::trash::{Kind, ORIGIN, Removed, TREE};

use super::context::Context;
use super::failure::Failure;

const WORKTREE_PATIENCE: std::time::Duration = std::time::Duration::from_secs(300);

/// Moves a removed thing back to where it was, if that place is free. Gives the place.
pub fn restore(ctx: &Context, name: &str) -> Result<PathBuf, Failure> {
    ctx.store.refuse_other_version()?;
    let _one_at_a_time = SideLock::acquire(&ctx.store.layout().worktree_lock(), WORKTREE_PATIENCE)?;
    let removed = ctx.store.removed()?.into_iter().find(|removed| removed.name == name).ok_or_else(|| {
        Failure::new("refused.unknown_record", format!("there is no `{name}` in the trash"))
            .hint("`liza trash list` shows what there is")
    })?;
    let Some(origin) = removed.origin.clone() else {
        return Err(files_are(&removed, "where it came from is not known"));
    };
    match removed.kind {
        Kind::Worktree | Kind::Record => restore_worktree(ctx, &removed, &origin)?,
        Kind::Files if removed.path.join(TREE).symlink_metadata().is_ok() => {
            if origin.symlink_metadata().is_ok() {
                return Err(taken(&removed, &origin));
            }
            std::fs::rename(removed.path.join(TREE), &origin)
                .map_err(|error| Failure::io("move back", &removed.path, &error))?;
            let _ = std::fs::remove_file(removed.path.join(ORIGIN));
            let _ = std::fs::remove_dir(&removed.path);
        }
        Kind::Files => return Err(files_are(&removed, "nothing in it can be put back as it was")),
    }
    Ok(origin)
}

fn restore_worktree(ctx: &Context, removed: &Removed, origin: &std::path::Path) -> Result<(), Failure> {
    let (home, trash) = (ctx.worktrees_dir(), ctx.store.layout().trash());
    match Worktrees::new(&ctx.repo, &home, &trash).restore(&removed.path, origin) {
        Ok(()) => Ok(()),
        Err(WorktreeError::PathTaken { .. }) => Err(taken(removed, origin)),
        Err(WorktreeError::NotRestorable { why }) => Err(files_are(removed, &why)),
        Err(error) => Err(error.into()),
    }
}

fn taken(removed: &Removed, origin: &std::path::Path) -> Failure {
    Failure::new("refused.place_taken", format!("{} is in use again", origin.display()))
        .hint(format!("the files are in {}; copy what you need", removed.path.display()))
        .detail("path", removed.path.display().to_string())
}

fn files_are(removed: &Removed, why: &str) -> Failure {
    Failure::new("refused.not_restorable", format!("`{}` cannot be put back: {why}", removed.name))
        .hint(format!("the files are in {}; copy what you need", removed.path.display()))
        .detail("path", removed.path.display().to_string())
}
