//! Branches before and after a move.

use super::prelude::*;
use crate::git::branch_checked_out_at;
use crate::store::{DIRECTORY, WORKTREES};

/// Whether the branch is at that commit or a descendant of it.
pub fn contains(ctx: &Context, branch: &str, commit: &CommitId) -> Result<bool> {
    let query = ctx.query()?;
    match query.head_of_branch(branch)? {
        Some(head) if query.has_commit(commit) => Ok(&head == commit || query.is_ancestor(commit, &head)?),
        _ => Ok(false),
    }
}

/// The recorded move of an intent, unless it certainly was not made: a failure may have come after the move.
pub fn move_happened(ctx: &Context, intent: u64) -> Option<RefMove> {
    let snapshot = ctx.store.read(&Needs::Nothing).ok()?;
    let step = snapshot.board.intent(intent)?.work.step()?.clone();
    contains(ctx, &step.branch, &step.new).unwrap_or(true).then_some(step)
}

/// Handles a failed move of a branch: a move that happened anyway stays on record, any other is cancelled.
pub fn failed_move(ctx: &Context, intent: u64, owner: Process, failure: Failure) -> Failure {
    if let Some(step) = move_happened(ctx, intent) {
        return recording_failed(&step, failure);
    }
    let reason = failure.message.clone();
    let _ = ctx.commit_as_liza(CancelMove { intent, owner, reason });
    failure
}

/// A moved branch is never moved back: its intent stays open, and the next command records the move.
pub fn recording_failed(step: &RefMove, failure: Failure) -> Failure {
    let at = format!("`{}` is at {}", step.branch, step.new.short());
    failure!(ErrorCode::IoDurabilityUnknown, "{at}, but this could not be recorded: {failure}")
        .hint("the next liza command records it; check the disk before you rely on it")
}

/// Moving a branch that is checked out would make that checkout differ from its branch.
pub fn not_checked_out(ctx: &Context, branch: &str) -> Result<()> {
    match branch_checked_out_at(&ctx.repo, branch)? {
        None => Ok(()),
        Some(path) => Err(failure!(Code::CheckedOut, "the branch `{branch}` is checked out in {}", path.display())
        .hint("switch to another branch there (`git switch -`), or detach (`git switch --detach`), then merge again")
        .detail("path", path.display().to_string())),
    }
}

/// How many commits integration gained since the task's base.
pub fn drift(ctx: &Context, intent: &Intent, onto: &CommitId) -> u64 {
    let count = || -> Option<u64> {
        let task = intent.task.as_ref()?;
        let snapshot = ctx.store.read(&Needs::task(task)).ok()?;
        let base = snapshot.board.task(task)?.body().attempt()?.base_commit.clone();
        Some(ctx.query().ok()?.commits_between(&base, onto).ok()?.len() as u64)
    };
    count().unwrap_or(0)
}

/// Whether a path of the repository is liza's own, however it is spelled.
pub fn is_private(path: &str) -> bool {
    let first = path.split('/').next().unwrap_or_default().to_ascii_lowercase();
    first == DIRECTORY || first == WORKTREES
}

/// A nested repository without an entry in `.gitmodules` would be merged as a commit id, without its files.
pub fn no_unnamed_repositories(ctx: &Context, from: &CommitId, to: &CommitId) -> Result<()> {
    let query = ctx.query()?;
    let base = query.merge_base(from, to)?.unwrap_or_else(|| from.clone());
    let inside = query.unnamed_repositories(&base, to)?;
    if inside.is_empty() {
        return Ok(());
    }
    let what = format!("nested repositories that .gitmodules does not list: {}", inside.join(", "));
    Err(failure!(Code::Scope, "{what}").hint(
        "only a commit id would be merged, none of their files: remove their `.git` and add the files, or make them submodules (`git submodule add`)",
    ))
}

/// Liza's own state must never be committed: merging an old branch would restore old state.
pub fn no_private_paths(ctx: &Context, from: &CommitId, to: &CommitId) -> Result<()> {
    let query = ctx.query()?;
    let base = query.merge_base(from, to)?.unwrap_or_else(|| from.clone());
    let changed = query.changed_paths(&base, to)?.into_iter().map(|change| change.path);
    let private: Vec<String> = changed.filter(|path| is_private(path)).collect();
    if private.is_empty() {
        return Ok(());
    }
    Err(failure!(Code::Scope, "it changes liza's own files: {}", private.join(", "))
        .hint("remove them from that commit; .liza and .worktrees are never committed"))
}
