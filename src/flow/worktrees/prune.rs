//! Removes worktrees that are no longer needed, and first keeps what only they have.

use super::*;
use crate::flow::attempt::snapshot_worktree;
use crate::git::worktree::Deletion;
use crate::store::lock::SideLock;

/// What happened to one worktree.
#[derive(Debug, Clone, Serialize)]
pub struct Pruned {
    #[serde(serialize_with = "crate::text::serialize_path")]
    pub path: PathBuf,
    pub task: Option<TaskId>,
    pub bytes: u64,
    /// Its new path; absent in a dry run, and if it was deleted.
    #[serde(serialize_with = "crate::text::serialize_path")]
    pub trash: Option<PathBuf>,
    pub why: String,
    /// Whether it is deleted: its content is on integration, or it was a checkout for reading.
    pub deleted: bool,
    /// Refs that keep its content beside its branch.
    pub kept: Vec<String>,
}

#[derive(Debug, Clone, Copy, Default)]
pub struct PruneOptions {
    pub dry_run: bool,
    /// Save uncommitted work under a ref; it is then no reason to stay.
    pub save: bool,
    /// Instead of `worktrees.keep_merged` of liza.yaml.
    pub keep_merged: Option<KeepMerged>,
}

#[derive(Debug, Default, Serialize)]
pub struct PruneReport {
    pub pruned: Vec<Pruned>,
    pub stay: Vec<ListedWorktree>,
}

/// Moves every removable worktree into the trash; only those of `only`, if given.
pub fn prune(ctx: &Context, options: PruneOptions, only: Option<&[TaskId]>) -> Result<PruneReport> {
    let one_at_a_time = ctx.machine.lock_worktrees()?;
    let snapshot = ctx.read(&only.map_or(Needs::Everything, |only| Needs::Tasks(only.to_vec())))?;
    prune_on(ctx, &snapshot.board, options, only, &one_at_a_time)
}

/// The same on a board that was read already, with the bodies of these tasks.
pub fn prune_on(
    ctx: &Context,
    board: &Board,
    options: PruneOptions,
    only: Option<&[TaskId]>,
    _: &SideLock,
) -> Result<PruneReport> {
    if !options.dry_run {
        crate::flow::merged::finish_deletions(ctx)?;
    }
    let mut report = PruneReport::default();
    for mut worktree in sized(ctx, board, only, options.keep_merged)? {
        let mut examined = None;
        // Others were deleted since it was examined. And for a removal, git itself must judge files that pass through a filter.
        if (worktree.dirty || worktree.prunable) && !options.dry_run {
            examined = Some(host::Contents::of(&worktree.path));
            let records = checkouts::list(&ctx.repo)?;
            let record = record_of(&records, &worktree.path);
            examine_content(&ctx.repo, &mut worktree, record, Filters::Run);
        }
        if !worktree.prunable_with(options.save) {
            report.stay.push(worktree);
            continue;
        }
        let mut pruned = Pruned {
            path: worktree.path.clone(),
            task: worktree.task.clone(),
            bytes: worktree.bytes,
            trash: None,
            why: worktree.ended.clone().unwrap_or_default(),
            deleted: worktree.landed && !worktree.dirty && leads_nowhere_else(ctx, &worktree)?,
            kept: Vec::new(),
        };
        if !options.dry_run {
            pruned.kept = save(ctx, &worktree)?;
            if pruned.deleted && !worktree.untouched {
                match keep_ignored(ctx, board, &worktree) {
                    Err(failure) if failure.code == ErrorCode::GitUnsaved && !options.save => {
                        report.stay.push(worktree.kept_back(failure.message));
                        continue;
                    }
                    kept => pruned.kept.extend(kept?),
                }
            }
            crash::point("prune.saved");
            if let (true, Some(examined)) = (pruned.deleted, examined) {
                if ctx.worktrees().delete(&worktree.path, examined)? == Deletion::Changed {
                    let why = "its files were changed while liza examined it".to_owned();
                    report.stay.push(worktree.kept_back(why));
                    continue;
                }
            } else {
                pruned.trash = remove(ctx, &worktree.path)?;
            }
            crash::point("prune.moved");
        }
        report.pruned.push(pruned);
    }
    Ok(report)
}

/// Whether the worktree is at the head of its branch, which has landed; a checkout for reading has no branch.
fn leads_nowhere_else(ctx: &Context, worktree: &ListedWorktree) -> Result<bool> {
    match (&worktree.branch, worktree.purpose) {
        (_, Purpose::Review) => Ok(true),
        (Some(branch), _) => Ok(ctx.query()?.head_of_branch(branch)? == worktree.head),
        (None, _) => Ok(false),
    }
}

/// Keeps ignored files of a task, before its worktree is deleted.
fn keep_ignored(ctx: &Context, board: &Board, worktree: &ListedWorktree) -> Result<Vec<String>> {
    let (Some(task), Purpose::Task) = (&worktree.task, worktree.purpose) else { return Ok(Vec::new()) };
    let Some(known) = board.task(task) else { return Ok(Vec::new()) };
    let scope = &known.body().scope;
    let prepared = &worktree.prepared;
    let saved = snapshot_worktree(ctx, task.as_str(), &worktree.path, Some(scope), prepared)?;
    let Some(saved) = saved else { return Ok(Vec::new()) };
    if !saved.left_out.is_empty() {
        let path = worktree.path.display();
        return Err(failure!(
            ErrorCode::GitUnsaved,
            "not everything in {path} could be saved: {}",
            saved.left_out
        )
        .hint("move away, or delete, what cannot be saved, then try again"));
    }
    let Some(head) = &worktree.head else { return Ok(Vec::new()) };
    Ok(vec![refs::keep(&ctx.repo, &wip_ref(task.as_str(), worktree, head), &saved.commit)?])
}

/// Moves a worktree and git's record of it into the trash.
pub fn remove(ctx: &Context, path: &Path) -> Result<Option<PathBuf>> {
    ctx.machine.make_trash()?;
    Ok(ctx.worktrees().remove_to_trash(path)?)
}

/// Keeps what only this worktree has: uncommitted files, and a head that is on no branch.
pub fn save(ctx: &Context, worktree: &ListedWorktree) -> Result<Vec<String>> {
    let mut kept = Vec::new();
    let Some(head) = &worktree.head else { return Ok(kept) };
    // What gates leave is no work.
    if worktree.purpose == Purpose::Gate {
        return Ok(kept);
    }
    let name = worktree.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let task = worktree.task.as_ref().map_or(name.clone(), ToString::to_string);
    if worktree.dirty
        && let Some(saved) = snapshot_worktree(ctx, &task, &worktree.path, None, &worktree.prepared)?
    {
        if !saved.left_out.is_empty() {
            let (path, left) = (worktree.path.display(), saved.left_out);
            return Err(failure!(ErrorCode::GitUnsaved, "not everything in {path} could be saved: {left}")
                .hint("make those files readable or move them away, then try again"));
        }
        kept.push(refs::keep(&ctx.repo, &wip_ref(&task, worktree, head), &saved.commit)?);
    }
    if worktree.branch.is_none() && !is_kept(ctx, head)? {
        let refname = format!("refs/liza/wip/{task}/head-{}", head.short());
        kept.push(refs::keep(&ctx.repo, &refname, head)?);
    }
    Ok(kept)
}

/// The ref that keeps the uncommitted work of a worktree. Two worktrees of one task may be at the same head: each has
/// its own ref.
pub fn wip_ref(task: &str, worktree: &ListedWorktree, head: &CommitId) -> String {
    let name = worktree.path.file_name().unwrap_or_default().to_string_lossy();
    format!("refs/liza/wip/{task}/{}-{}-{}", worktree.purpose.as_str(), in_ref(&name), head.short())
}

/// A directory's name as a part of a ref name.
fn in_ref(name: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let plain: String = name.chars().map(|c| if allowed(c) { c } else { '_' }).collect();
    plain.replace("..", "__")
}

/// Whether a branch or a ref of liza keeps this commit.
fn is_kept(ctx: &Context, commit: &CommitId) -> Result<bool> {
    let query = ctx.query()?;
    for prefix in ["refs/liza", "refs/heads"] {
        for (_, at) in refs::list(&ctx.repo, prefix)? {
            if &at == commit || query.is_ancestor(commit, &at)? {
                return Ok(true);
            }
        }
    }
    Ok(false)
}
