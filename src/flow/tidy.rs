//! Removes worktrees that are no longer needed: the checkout of a review after its verdict, that of a merged task
//! once newer ones are merged. Their content is in integration, or was only read; anything else stays for `liza gc`
//! to name.

use super::merged::{merged_with_worktree, newest_merged};
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
    let examined = host::Contents::of(path);
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
        // What a reviewer changes meanwhile stays, for `liza gc` to name.
        true => ctx.worktrees().delete(path, examined).map(|_| ())?,
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
/// a merge, which mostly waits for git and the disk. Gates need the same lock, so with gates this waits until after the merge.
pub fn beside_merge<T>(ctx: &Context, board: &Board, merge: impl FnOnce() -> T) -> T {
    // Read here, so that the two threads do not read the board in turns.
    let Ok(Some(older)) = older(ctx, board, 1) else { return merge() };
    let other = ctx.in_other_thread();
    // What fails is tried, and reported, after the merge.
    host::both(merge, || older.delete(&other())).0
}

/// Removes what the merge ends the need for.
pub fn after_merge(ctx: &Context, board: &Board, task: &TaskId, commit: &CommitId) {
    after_review(ctx, board, task, Some(commit));
    let older = older(ctx, board, 0);
    report_failure(ctx, older.and_then(|older| older.map_or(Ok(()), |older| older.delete(ctx))));
}

/// Merged tasks whose worktrees may be removed.
struct Older {
    /// With their bodies.
    board: Board,
    tasks: Vec<TaskId>,
    keep: KeepMerged,
}

/// All merged tasks that have a worktree but the newest; `coming`: how many more are about to be merged.
fn older(ctx: &Context, board: &Board, coming: usize) -> Result<Option<Older>> {
    let config = ctx.project_config()?;
    let KeepMerged::Newest(keep) = config.worktrees.keep_merged else { return Ok(None) };
    if coming > 0 && !config.gates.is_empty() {
        return Ok(None);
    }
    let keep = keep.saturating_sub(coming);
    let (mut tasks, deletion_was_interrupted) = merged_with_worktree(ctx, board);
    if tasks.len() <= keep && !deletion_was_interrupted {
        return Ok(None);
    }
    let board = ctx.read(&Needs::Tasks(tasks.clone()))?.board;
    let keep = KeepMerged::Newest(keep);
    let newest = newest_merged(ctx, &board, keep);
    tasks.retain(|id| !newest.contains(id));
    Ok(Some(Older { board, tasks, keep }))
}

impl Older {
    fn delete(&self, ctx: &Context) -> Result<()> {
        let one_at_a_time = ctx.machine.lock_worktrees()?;
        let options = PruneOptions { keep_merged: Some(self.keep), ..PruneOptions::default() };
        let report = worktrees::prune_on(ctx, &self.board, options, Some(&self.tasks), &one_at_a_time)?;
        for kept in report.stay.iter().filter(|worktree| worktree.kept_back) {
            ctx.narrate(format!("{} stays for now: {}", kept.path.display(), kept.why));
        }
        Ok(())
    }
}

fn report_failure(ctx: &Context, done: Result<()>) {
    if let Err(failure) = done {
        ctx.narrate(format!("could not remove unneeded worktrees: {}", failure.message));
    }
}
