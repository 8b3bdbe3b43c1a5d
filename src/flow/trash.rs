//! Restores an entry of the trash.

use super::prelude::*;
use crate::git::WorktreeError;
use crate::store::trash::{Kind, Removed, TREE};

/// Moves a trash entry back to its original path, if that is free. Returns the path.
pub fn restore(ctx: &Context, name: &str) -> Result<PathBuf> {
    ctx.store.refuse_other_version()?;
    let _one_at_a_time = ctx.machine.lock_worktrees()?;
    let removed =
        ctx.machine.removed()?.into_iter().find(|removed| removed.name == name).ok_or_else(|| {
            failure!(Code::UnknownRecord, "there is no `{name}` in the trash")
                .hint("`liza trash list` lists the entries")
        })?;
    let Some(origin) = removed.origin.clone() else {
        return Err(files_are(&removed, "its original path is unknown"));
    };
    match removed.kind {
        Kind::Worktree | Kind::Record => restore_worktree(ctx, &removed, &origin)?,
        Kind::Files if removed.path.join(TREE).symlink_metadata().is_ok() => {
            if origin.symlink_metadata().is_ok() {
                return Err(origin_in_use(&removed, &origin));
            }
            if !origin.starts_with(ctx.root()) {
                return Err(files_are(&removed, "it came from outside this repository"));
            }
            ctx.machine.take_out_of_trash(&removed, ctx.root(), &origin)?;
        }
        Kind::Files => return Err(files_are(&removed, "liza cannot restore its content")),
    }
    Ok(origin)
}

fn restore_worktree(ctx: &Context, removed: &Removed, origin: &Path) -> Result<()> {
    match ctx.worktrees().restore(&removed.path, origin) {
        Ok(()) => Ok(()),
        Err(WorktreeError::PathTaken { .. }) => Err(origin_in_use(removed, origin)),
        Err(WorktreeError::NotRestorable { why }) => Err(files_are(removed, &why)),
        Err(error) => Err(error.into()),
    }
}

fn origin_in_use(removed: &Removed, origin: &Path) -> Failure {
    with_trash_path(removed, failure!(ErrorCode::RefusedPlaceTaken, "{} is in use again", origin.display()))
}

fn files_are(removed: &Removed, why: &str) -> Failure {
    with_trash_path(
        removed,
        failure!(ErrorCode::RefusedNotRestorable, "cannot restore `{}`: {why}", removed.name),
    )
}

fn with_trash_path(removed: &Removed, failure: Failure) -> Failure {
    let path = removed.path.display();
    failure.hint(format!("the files are in {path}; copy what you need")).detail("path", path.to_string())
}
