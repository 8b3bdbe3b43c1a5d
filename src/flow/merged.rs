//! Which worktrees of merged tasks stay, and which may be removed.

use super::ownership::REVIEWS;
use super::prelude::*;
use crate::git::landed::proof;
use crate::policy::worktrees::KeepMerged;

/// The task that a name such as `t1` or `t1.3` belongs to.
pub fn task_of_name(name: &str) -> Option<TaskId> {
    TaskId::new(name.split('.').next().unwrap_or_default()).ok()
}

/// Merged tasks of the board that have a worktree, and whether a deletion was interrupted.
pub fn merged_with_worktree(ctx: &Context, board: &Board) -> (Vec<TaskId>, bool) {
    let mut found = BTreeSet::new();
    let mut going = false;
    for entry in fs::read_dir(ctx.machine.worktrees()).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        going |= name.starts_with(crate::git::worktree::GOING);
        found.extend(task_of_name(&name).filter(|_| !name.starts_with('.')));
    }
    let is_merged = |id: &TaskId| board.task(id).is_some_and(|task| task.status == Status::Merged);
    (found.into_iter().filter(is_merged).collect(), going)
}

/// The merged tasks whose worktrees stay. The bodies of merged tasks that have one must be loaded.
pub fn newest_merged(ctx: &Context, board: &Board, keep: KeepMerged) -> Vec<TaskId> {
    let (mut merged, _) = merged_with_worktree(ctx, board);
    let KeepMerged::Newest(keep) = keep else { return merged };
    if merged.len() > keep {
        let when = |id: &TaskId| {
            let task = board.task(id).filter(|task| !task.is_light());
            task.and_then(|task| task.body().merge.as_ref()).map_or(i64::MAX, |merge| merge.time.0)
        };
        merged.sort_by_key(|id| std::cmp::Reverse((when(id), id.clone())));
        merged.truncate(keep);
    }
    merged
}

/// Whether the work of a merged task is on integration, as liza left it.
pub fn has_landed(ctx: &Context, board: &Board, task: &Task, head: &CommitId) -> Result<bool> {
    let Some(integration) = &board.rest.integration.head else { return Ok(false) };
    let merge = task.body().merge.as_ref().and_then(|merge| merge.commit.as_ref());
    Ok(proof(&ctx.repo, ctx.query()?, head, integration, merge).ok().flatten().is_some())
}

/// Finishes deletions of a process that died. The caller holds the worktrees lock.
pub fn finish_deletions(ctx: &Context) -> Result<()> {
    let home = ctx.machine.worktrees();
    ctx.worktrees().finish_deletions(home)?;
    Ok(ctx.worktrees().finish_deletions(&home.join(REVIEWS))?)
}
