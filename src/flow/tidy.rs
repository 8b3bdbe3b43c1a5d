//! Removes worktrees that are no longer needed: the checkout of a review after its verdict, that of a merged task
//! once newer ones are merged. Their content is in integration, or was only read; anything else stays for `liza gc`
//! to name.

use super::merged::{finish_deletions, merged_with_worktree, newest_merged};
use super::prelude::*;
use super::prepared::is_not_work;
use super::worktrees::{self, PruneOptions};
use crate::git::reviewed;
use crate::policy::worktrees::KeepMerged;

/// Removes the checkout of a review of `commit` when no reviewer reads there any more. The command is already done,
/// so a failure is only reported.
pub fn after_review(ctx: &Context, board: &Board, task: &TaskId, commit: Option<&CommitId>) {
    let path = ctx.machine.worktrees().join(".review").join(task.as_str());
    let is_read = board.task(task).is_some_and(|task| task.judged_by().is_some());
    if is_read || path.symlink_metadata().is_err() || is_current_directory(ctx, &path) {
        return;
    }
    report_failure(ctx, delete_review_checkout(ctx, &path, commit));
}

fn delete_review_checkout(ctx: &Context, path: &Path, commit: Option<&CommitId>) -> Result<()> {
    let _one_at_a_time = ctx.machine.lock_worktrees()?;
    // The checkout was just made again, for the next reviewer.
    if ctx.machine.is_checkout_locked(path) {
        return Ok(());
    }
    let record = checkouts::list(&ctx.repo)?.into_iter().find(|record| record.path.as_deref() == Some(path));
    let Some(record) = record.filter(|record| ctx.worktrees().is_ours(record)) else { return Ok(()) };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let prepared = super::prepared::noted(&ctx.repo, path);
    let query = ctx.query()?;
    let submitted = match commit {
        Some(commit) => vec![commit.clone()],
        None => {
            let all = refs::list(&ctx.repo, &format!("refs/liza/submitted/{name}"))?;
            all.into_iter().map(|(_, at)| at).collect()
        }
    };
    let is_submitted = |head: CommitId| submitted.contains(&head);
    let is_only_read = checkouts::check_sound(&ctx.repo, path).is_ok()
        && content::head(path).is_ok_and(is_submitted)
        && submodules::only_here(&ctx.repo, &record.admin_dir, path).is_none()
        && (reviewed::holds_only_commit(query, path)
            || content::status(path, Filters::Run)
                .is_ok_and(|dirty| dirty.iter().all(|found| is_not_work(&prepared, found))));
    match is_only_read {
        true => ctx.worktrees().delete(path).map(|_| ())?,
        // Files that a reviewer wrote there are kept for a while.
        false => {
            if let Ok(head) = content::head(path)
                && !is_submitted(head.clone())
            {
                refs::keep(&ctx.repo, &format!("refs/liza/wip/{name}/head-{}", head.short()), &head)?;
            }
            worktrees::remove(ctx, path).map(|_| ())?;
        }
    }
    Ok(())
}

/// Whether this process, or an ancestor, has its current directory in a directory.
fn is_current_directory(ctx: &Context, path: &Path) -> bool {
    let inside = |cwd: PathBuf| cwd.starts_with(path);
    let above: Vec<u32> = match &ctx.credentials {
        Credentials::Descendant { of, .. } => of.ancestors.iter().map(|process| process.pid).collect(),
        _ => Vec::new(),
    };
    std::env::current_dir().map_or(true, inside)
        || above.into_iter().any(|pid| fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(inside))
}

/// Merges, and meanwhile removes worktrees of tasks merged before, except the newest: looking at their files takes as long as half
/// a merge, which mostly waits for git and the disk. A failure is only reported.
pub fn beside_merge<T>(ctx: &Context, merge: impl FnOnce() -> T) -> T {
    let other = ctx.in_other_thread();
    let make_room = || {
        let ctx = other();
        delete_older(&ctx, &ctx.read(&Needs::Nothing)?.board, 1)
    };
    let (merged, done) = host::both(merge, make_room);
    report_failure(ctx, done);
    merged
}

/// Removes what the merge ends the need for.
pub fn after_merge(ctx: &Context, board: &Board, task: &TaskId, commit: &CommitId) {
    after_review(ctx, board, task, Some(commit));
    report_failure(ctx, delete_older(ctx, board, 0));
}

/// Removes the worktrees of merged tasks, except the newest; `coming`: how many more are about to be merged.
fn delete_older(ctx: &Context, board: &Board, coming: usize) -> Result<()> {
    let KeepMerged::Newest(keep) = ctx.project_config()?.worktrees.keep_merged else { return Ok(()) };
    let keep = keep.saturating_sub(coming);
    let (merged, going) = merged_with_worktree(ctx, board);
    if going {
        let _one_at_a_time = ctx.machine.lock_worktrees()?;
        finish_deletions(ctx)?;
    }
    if merged.len() <= keep {
        return Ok(());
    }
    let keep = KeepMerged::Newest(keep);
    let newest = newest_merged(ctx, &ctx.read(&Needs::Tasks(merged.clone()))?.board, keep);
    let older: Vec<TaskId> = merged.into_iter().filter(|id| !newest.contains(id)).collect();
    let options = PruneOptions { keep_merged: Some(keep), ..PruneOptions::default() };
    worktrees::prune(ctx, options, Some(&older)).map(|_| ())
}

fn report_failure(ctx: &Context, done: Result<()>) {
    if let Err(failure) = done {
        ctx.narrate(format!("could not remove unneeded worktrees: {}", failure.message));
    }
}
