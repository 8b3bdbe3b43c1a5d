//! Worktrees that have served go at once: the checkout of a review with its verdict, that of a merged task once newer ones are
//! merged. What is in them is in integration, or was read only; anything else stays for `liza gc` to name.

use super::prelude::*;
use super::prepare::is_prepared;
use super::worktrees::{self, Place, PruneOptions, Purpose, task_of};
use crate::git::landed::proof;
use crate::git::reviewed;
use crate::policy::worktrees::KeepMerged;

/// The checkout of a review goes when nobody reads there any more. A follow-up to a command that is done: trouble is told only.
pub fn after_review(ctx: &Context, board: &Board, task: &TaskId) {
    let path = ctx.machine.worktrees().join(".review").join(task.as_str());
    let is_read = board.task(task).is_some_and(|task| task.judged_by().is_some());
    if is_read || path.symlink_metadata().is_err() || is_stood_in(ctx, &path) {
        return;
    }
    tell(ctx, delete_reading_place(ctx, &path));
}

fn delete_reading_place(ctx: &Context, path: &Path) -> Result<()> {
    let _one_at_a_time = ctx.machine.lock_worktrees()?;
    // Made anew this moment, for the next reviewer.
    if ctx.machine.is_checkout_locked(path) {
        return Ok(());
    }
    let record = checkouts::list(&ctx.repo)?.into_iter().find(|record| record.path.as_deref() == Some(path));
    let Some(record) = record.filter(|record| ctx.worktrees().is_ours(record)) else { return Ok(()) };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let prepared = super::prepare::noted(ctx, path);
    let query = ctx.query()?;
    let submitted = query.targets_below(&format!("refs/liza/submitted/{name}"))?;
    let is_submitted = |head: CommitId| submitted.iter().any(|(_, at)| *at == head);
    let is_only_read = checkouts::check_sound(&ctx.repo, path).is_ok()
        && content::head(path).is_ok_and(is_submitted)
        && submodules::only_here(&ctx.repo, &record.admin_dir, path).is_none()
        && (reviewed::holds_only_commit(query, path)
            || content::status(path, Filters::Run)
                .is_ok_and(|dirty| dirty.iter().all(|found| is_prepared(&prepared, &found.path))));
    match is_only_read {
        true => ctx.worktrees().delete(path).map(|_| ())?,
        // What a reviewer wrote there is kept for a while.
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

/// Whether this process, or one it descends from, stands in a directory.
fn is_stood_in(ctx: &Context, path: &Path) -> bool {
    let inside = |cwd: PathBuf| cwd.starts_with(path);
    let above: Vec<u32> = match &ctx.credentials {
        Credentials::Descendant { of, .. } => of.ancestors.iter().map(|process| process.pid).collect(),
        _ => Vec::new(),
    };
    std::env::current_dir().map_or(true, inside)
        || above.into_iter().any(|pid| fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(inside))
}

/// Worktrees of merged tasks go, except the newest. Trouble is told only.
pub fn after_merge(ctx: &Context, board: &Board, task: &TaskId) {
    after_review(ctx, board, task);
    tell(ctx, delete_older(ctx, board));
}

fn delete_older(ctx: &Context, board: &Board) -> Result<()> {
    let KeepMerged::Newest(keep) = ctx.project_config()?.worktrees.keep_merged else { return Ok(()) };
    let (standing, going) = standing(ctx, board);
    if going {
        let _one_at_a_time = ctx.machine.lock_worktrees()?;
        finish_deletions(ctx)?;
    }
    if standing.len() <= keep {
        return Ok(());
    }
    let newest = newest_merged(ctx, &ctx.read(&Needs::Tasks(standing.clone()))?.board)?;
    let older: Vec<TaskId> = standing.into_iter().filter(|id| !newest.contains(id)).collect();
    worktrees::prune(ctx, PruneOptions::default(), Some(&older)).map(|_| ())
}

/// Merged tasks of the board that have a worktree, and whether a deletion was left half done.
fn standing(ctx: &Context, board: &Board) -> (Vec<TaskId>, bool) {
    let mut found = BTreeSet::new();
    let mut going = false;
    for entry in fs::read_dir(ctx.machine.worktrees()).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        going |= name.starts_with(crate::git::worktree::GOING);
        found.extend(task_of(&name).filter(|_| !name.starts_with('.')));
    }
    let is_merged = |id: &TaskId| board.task(id).is_some_and(|task| task.status == Status::Merged);
    (found.into_iter().filter(is_merged).collect(), going)
}

/// The merged tasks whose worktrees stay. The bodies of merged tasks that have one must be loaded; without `keep_merged` it is
/// every task.
pub fn newest_merged(ctx: &Context, board: &Board) -> Result<Vec<TaskId>> {
    let (mut standing, _) = standing(ctx, board);
    let KeepMerged::Newest(keep) = ctx.project_config()?.worktrees.keep_merged else { return Ok(standing) };
    if standing.len() > keep {
        let when = |id: &TaskId| {
            let task = board.task(id).filter(|task| !task.is_light());
            task.and_then(|task| task.body().merge.as_ref()).map_or(i64::MAX, |merge| merge.time.0)
        };
        standing.sort_by_key(|id| std::cmp::Reverse((when(id), id.clone())));
        standing.truncate(keep);
    }
    Ok(standing)
}

/// Whether the work of a merged task is on integration, as liza left it.
pub fn has_landed(ctx: &Context, board: &Board, task: &Task, head: &CommitId) -> Result<bool> {
    let Some(integration) = &board.rest.integration.head else { return Ok(false) };
    let merge = task.body().merge.as_ref().map(|merge| &merge.commit);
    Ok(proof(&ctx.repo, ctx.query()?, head, integration, merge).ok().flatten().is_some())
}

/// Keeps files of a task that git ignores, before its worktree is deleted.
pub fn keep_ignored(ctx: &Context, place: &Place) -> Result<Vec<String>> {
    let (Some(task), Purpose::Task) = (&place.task, place.purpose) else { return Ok(Vec::new()) };
    let snapshot = ctx.read(&Needs::task(task))?;
    let Some(known) = snapshot.board.task(task) else { return Ok(Vec::new()) };
    let scope = &known.body().scope;
    let prepared = place.prepared();
    let saved = super::attempt::snapshot_worktree(ctx, task.as_str(), &place.path, Some(scope), prepared)?;
    let Some(saved) = saved else { return Ok(Vec::new()) };
    if !saved.left_out.is_empty() {
        let path = place.path.display();
        return Err(failure!(
            ErrorCode::GitUnsaved,
            "not everything in {path} could be saved: {}",
            saved.left_out
        )
        .hint("make those files readable, or take them out yourself, then try again"));
    }
    let Some(head) = &place.head else { return Ok(Vec::new()) };
    Ok(vec![refs::keep(&ctx.repo, &worktrees::wip_ref(task.as_str(), place, head), &saved.commit)?])
}

/// Ends deletions that a process did not survive. The caller holds the lock on worktrees.
pub fn finish_deletions(ctx: &Context) -> Result<()> {
    let home = ctx.machine.worktrees();
    ctx.worktrees().finish_deletions(home)?;
    Ok(ctx.worktrees().finish_deletions(&home.join(".review"))?)
}

fn tell(ctx: &Context, done: Result<()>) {
    if let Err(failure) = done {
        ctx.narrate(format!("worktrees that are not needed any more stay for now: {}", failure.message));
    }
}
