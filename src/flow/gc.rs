//! Collects what finished work left behind: worktrees, branches, refs, run files, and finally the trash.
//!
//! A branch or ref is removed only with proof that its work is in integration. Work that did not land is never
//! dropped: its branch moves to `refs/liza/attempts`, everything else stays. Only emptying the trash deletes files.

use super::archive::{end_time, ended_before};
use super::prelude::*;
use super::worktrees::{self, Known, PruneOptions, PruneReport, task_of};
use crate::git::branch_checked_out_at;
use crate::git::landed::{Proof, proof};
use crate::store::trash::{RECORD, Removed, TREE, bytes_of};

#[derive(Debug, Clone, Copy)]
pub struct GcOptions {
    pub dry_run: bool,
    pub keep_days: u64,
    pub save: bool,
}

/// The decision about one branch or ref, and its reason.
#[derive(Debug, Serialize)]
pub struct RefDecision {
    #[serde(rename = "ref")]
    pub name: String,
    pub commit: CommitId,
    pub task: TaskId,
    pub action: Action,
    /// The proof that the work landed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proof: Option<Proof>,
    /// The ref that keeps work that did not land.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept_as: Option<String>,
    pub why: String,
    /// Why it stays, as a heading.
    #[serde(skip)]
    pub stays: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    Removed,
    /// From the branches to the attempts.
    Moved,
    Kept,
}

impl Action {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Removed => "removed",
            Self::Moved => "moved",
            Self::Kept => "kept",
        }
    }
}

/// Bytes of one kind of data, before and after.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Size {
    pub before: u64,
    pub after: u64,
    pub freed: u64,
}

#[derive(Debug, Serialize)]
pub struct Report {
    pub dry_run: bool,
    pub worktrees: PruneReport,
    pub refs: Vec<RefDecision>,
    /// Tasks whose run files moved to the trash.
    pub runs: Vec<TaskId>,
    /// Trash entries that were deleted for good.
    pub deleted: Vec<Removed>,
    pub sizes: BTreeMap<&'static str, Size>,
    /// Bytes freed by this command.
    pub freed: u64,
}

pub fn gc(ctx: &Context, options: &GcOptions) -> Result<Report> {
    // Commits that bypassed review prove nothing.
    ctx.integration_in_place(&ctx.read(&Needs::Nothing)?.board)?;
    let before = sizes(ctx);
    // An entry that this command moves to the trash is never deleted by it, whatever the clock says.
    let old = old_trash(ctx, options.keep_days)?;
    let prune = PruneOptions { dry_run: options.dry_run, save: options.save, keep_merged: None };
    let worktrees = worktrees::prune(ctx, prune, None)?;
    crash::point("gc.pruned");
    let snapshot = ctx.read(&Needs::Everything)?;
    let mut known = Known::new(&snapshot.board);
    let refs = collect_refs(ctx, options, &snapshot.board, &mut known)?;
    crash::point("gc.refs");
    let runs = collect_runs(ctx, options, &mut known)?;
    let deleted = delete(ctx, old, options.dry_run)?;
    let after =
        if options.dry_run { expected_sizes(ctx, &before, &worktrees, &runs, &deleted) } else { sizes(ctx) };
    let size = |(kind, before): (&'static str, u64)| {
        let after = after.get(kind).copied().unwrap_or(0);
        (kind, Size { before, after, freed: before.saturating_sub(after) })
    };
    let sizes: BTreeMap<&'static str, Size> = before.into_iter().map(size).collect();
    let sum = |part: fn(&Size) -> u64| sizes.values().map(part).sum::<u64>();
    let freed = sum(|size| size.before).saturating_sub(sum(|size| size.after));
    Ok(Report { dry_run: options.dry_run, worktrees, refs, runs, deleted, sizes, freed })
}

fn sizes(ctx: &Context) -> BTreeMap<&'static str, u64> {
    BTreeMap::from([
        ("worktrees", bytes_of(ctx.machine.worktrees())),
        ("runs", bytes_of(&ctx.machine.runs())),
        ("trash", bytes_of(ctx.machine.trash())),
    ])
}

/// The expected sizes: moving to the trash frees nothing until the trash is emptied.
fn expected_sizes(
    ctx: &Context,
    before: &BTreeMap<&'static str, u64>,
    worktrees: &PruneReport,
    runs: &[TaskId],
    deleted: &[Removed],
) -> BTreeMap<&'static str, u64> {
    let at = |kind: &str| before.get(kind).copied().unwrap_or(0);
    let pruned: u64 = worktrees.pruned.iter().map(|worktree| worktree.bytes).sum();
    let deleted_at_once: u64 =
        worktrees.pruned.iter().filter(|worktree| worktree.deleted).map(|worktree| worktree.bytes).sum();
    let run_bytes: u64 = runs.iter().map(|id| bytes_of(&ctx.machine.runs_of(id))).sum();
    let gone: u64 = deleted.iter().map(|removed| removed.bytes).sum();
    BTreeMap::from([
        ("worktrees", at("worktrees").saturating_sub(pruned)),
        ("runs", at("runs").saturating_sub(run_bytes)),
        ("trash", (at("trash") + pruned - deleted_at_once + run_bytes).saturating_sub(gone)),
    ])
}

/// The refs that liza makes for a task, by the word after `refs/liza/`.
const TASK_REFS: [&str; 4] = ["attempts", "merges", "submitted", "wip"];

fn collect_refs(
    ctx: &Context,
    options: &GcOptions,
    board: &Board,
    known: &mut Known<'_>,
) -> Result<Vec<RefDecision>> {
    let present = integration_head(ctx, board)?;
    // The value that liza recorded, even if the ref moved since.
    let head = board.rest.integration.head.clone().unwrap_or(present);
    let mut decisions = Vec::new();
    for (name, commit) in
        refs::list(&ctx.repo, "refs/liza")?.into_iter().chain(refs::list(&ctx.repo, "refs/heads/task")?)
    {
        let Some((id, branch)) = owner(&name) else { continue };
        if board.intent_of(&id).is_some() {
            continue;
        }
        let Some((task, _)) = known.find(ctx, &id)? else { continue };
        if !task.status.is_terminal() || branch.as_ref().is_some_and(|branch| !is_own(task, branch)) {
            continue;
        }
        let at = RefAt { name: &name, branch: branch.as_deref(), commit };
        decisions.push(decide(ctx, options, &head, task, at)?);
    }
    Ok(decisions)
}

/// The task a ref belongs to, and the branch if it is one.
fn owner(refname: &str) -> Option<(TaskId, Option<String>)> {
    if let Some(branch) = refname.strip_prefix("refs/heads/") {
        let id = task_of(branch.strip_prefix("task/")?)?;
        return Some((id, Some(branch.to_owned())));
    }
    let (kind, rest) = refname.strip_prefix("refs/liza/")?.split_once('/')?;
    let id = rest.split('/').next()?;
    TASK_REFS.contains(&kind).then(|| TaskId::new(id).ok()).flatten().map(|id| (id, None))
}

/// Whether liza made this branch for the task: an earlier board or a person may have used the name before.
fn is_own(task: &Task, branch: &str) -> bool {
    task.body().attempts.iter().any(|attempt| attempt.branch == branch)
}

struct RefAt<'r> {
    name: &'r str,
    branch: Option<&'r str>,
    commit: CommitId,
}

fn decide(
    ctx: &Context,
    options: &GcOptions,
    head: &CommitId,
    task: &Task,
    at: RefAt<'_>,
) -> Result<RefDecision> {
    let mut decision = RefDecision {
        name: at.name.to_owned(),
        commit: at.commit.clone(),
        task: task.id.clone(),
        action: Action::Kept,
        proof: None,
        kept_as: None,
        why: String::new(),
        stays: "ended lately",
    };
    if !ended_before(task, options.keep_days, ctx.now.wall) {
        decision.why = format!("{} ended {}; kept for {} days", task.id, end_time(task), options.keep_days);
        return Ok(decision);
    }
    if let Some(branch) = at.branch
        && let Some(path) = branch_checked_out_at(&ctx.repo, branch)?
    {
        decision.why = format!("it is checked out in {}", path.display());
        decision.stays = "checked out";
        return Ok(decision);
    }
    let merge = task.body().merge.as_ref().and_then(|merge| merge.commit.as_ref());
    let found = match proof(&ctx.repo, ctx.query()?, &at.commit, head, merge) {
        Ok(found) => found,
        Err(error) => {
            decision.why = format!("liza cannot determine whether it landed: {error}");
            decision.stays = "did not land";
            return Ok(decision);
        }
    };
    decision.proof = found;
    match (found, at.branch) {
        (Some(found), _) => {
            if !options.dry_run {
                refs::delete_if_at(&ctx.repo, at.name, &at.commit)?;
            }
            decision.action = Action::Removed;
            decision.why = found.words().to_owned();
        }
        (None, Some(branch)) => {
            let kept = keep_attempt(ctx, task, branch, &at.commit, options.dry_run)?;
            crash::point("gc.kept");
            if !options.dry_run {
                refs::delete_if_at(&ctx.repo, at.name, &at.commit)?;
            }
            decision.action = Action::Moved;
            decision.why = format!("its work did not land; it is kept as {kept}");
            decision.kept_as = Some(kept);
        }
        (None, None) => {
            decision.why = "its work did not land: it may be the only copy".to_owned();
            decision.stays = "did not land";
        }
    }
    Ok(decision)
}

/// Keeps an attempt's commit under the attempt's own number, where a claim looks for it; returns the ref.
fn keep_attempt(
    ctx: &Context,
    task: &Task,
    branch: &str,
    commit: &CommitId,
    dry_run: bool,
) -> Result<String> {
    let attempts = &task.body().attempts;
    let number = 1 + attempts.iter().rposition(|attempt| attempt.branch == branch).unwrap_or(attempts.len());
    let name = attempt_ref(&task.id, number);
    if dry_run {
        return Ok(refs::kept_as(&ctx.repo, &name, commit)?);
    }
    Ok(refs::keep(&ctx.repo, &name, commit)?)
}

/// Moves run files of archived tasks to the trash once they are old enough.
fn collect_runs(ctx: &Context, options: &GcOptions, known: &mut Known<'_>) -> Result<Vec<TaskId>> {
    let mut collected = Vec::new();
    for id in ctx.machine.tasks_with_runs() {
        let Some((task, true)) = known.find(ctx, &id)? else { continue };
        if !ended_before(task, options.keep_days, ctx.now.wall) {
            continue;
        }
        if !options.dry_run {
            ctx.machine.put_into_trash(&ctx.machine.runs_of(&id), &format!("runs-{id}"))?;
        }
        collected.push(id);
    }
    Ok(collected)
}

/// Deletes old entries of the trash.
pub fn empty_trash(ctx: &Context, days: u64, dry_run: bool) -> Result<Vec<Removed>> {
    let old = old_trash(ctx, days)?;
    delete(ctx, old, dry_run)
}

fn old_trash(ctx: &Context, days: u64) -> Result<Vec<Removed>> {
    let ahead = clock_ahead(ctx);
    if days > 0 && ahead > days.saturating_mul(86_400) / 2 {
        ctx.narrate(format!(
            "the clock moved {} days ahead since the last record in the log; liza deletes nothing from the trash by age now",
            ahead / 86_400
        ));
        return Ok(Vec::new());
    }
    let now = ctx.now.wall;
    let mut old = ctx.machine.removed()?;
    old.retain(|removed| removed.older_than(days, now) && !is_only_copy(ctx, removed));
    Ok(old)
}

/// Whether a trash entry holds commits of a submodule that exist nowhere else. It stays, however old.
fn is_only_copy(ctx: &Context, removed: &Removed) -> bool {
    let (record, tree) = (removed.path.join(RECORD), removed.path.join(TREE));
    let Some(held) = submodules::only_here(&ctx.repo, &record, &tree) else { return false };
    ctx.narrate(format!("`{}` stays in the trash: it holds {held}", removed.name));
    true
}

/// By how many seconds the wall clock has gained on the steady one since the last record of this boot. A machine that
/// slept looks the same, so only a large gain matters.
fn clock_ahead(ctx: &Context) -> u64 {
    let last = || {
        let length = ctx.store.read(&Needs::Nothing).ok()?.board.journal.length;
        let text = ctx.store.read_log_text(length).ok()?;
        Record::parse(text.trim_end().rsplit('\n').next()?, 0).ok()
    };
    match last() {
        Some(record) if record.at.boot == ctx.now.boot => {
            let steady = ctx.now.monotonic.saturating_sub(record.at.monotonic) / NANOS_PER_SECOND;
            u64::try_from(ctx.now.wall.since(record.at.wall)).unwrap_or(0).saturating_sub(steady)
        }
        _ => 0,
    }
}

fn delete(ctx: &Context, old: Vec<Removed>, dry_run: bool) -> Result<Vec<Removed>> {
    if !dry_run {
        ctx.machine.finish_deletions()?;
        for removed in &old {
            ctx.machine.delete_removed(removed)?;
        }
    }
    Ok(old)
}
