//! Updates a task's files after a bundle moved its branch.

use super::listed;
use crate::board::intent::ApplyWork;
use crate::flow::leftovers::git_dir;
use crate::flow::prelude::*;
use crate::git::tree::{index_lock, is_on_branch, settle};

/// Finishes what a dead process started, if it had moved the branch already: updates the files, except those changed
/// since.
pub fn follow(ctx: &Context, work: &ApplyWork) -> Result<()> {
    let worktree = ctx.root().join(&work.worktree);
    let Some(old) = &work.step.old else { return Ok(()) };
    let query = ctx.query()?;
    // A worktree that is gone, or on another branch now, need not follow.
    if checkouts::check_sound(&ctx.repo, &worktree).is_err()
        || !is_on_branch(&worktree, &work.step.branch)?
        || query.head_of_branch(&work.step.branch)?.as_ref() != Some(&work.step.new)
    {
        return Ok(());
    }
    // A git that died with the command has left its lock.
    crate::git::locks::clear_dead(&worktree, &git_dir(ctx, &worktree));
    if let Some(lock) = index_lock(&worktree)? {
        let (path, lock) = (worktree.display(), lock.display());
        return Err(failure!(ErrorCode::StaleWorktree, "the index of {path} is locked: {lock}")
            .hint("if a git command works there, wait for it; otherwise move this file away"));
    }
    let theirs = settle(&ctx.repo, query, &worktree, old, &work.step.new)?;
    if !theirs.is_empty() {
        let (path, theirs) = (worktree.display(), listed(&theirs));
        ctx.narrate(format!(
            "in {path}, another process changed these files, so they stay as they are: {theirs}"
        ));
    }
    Ok(())
}
