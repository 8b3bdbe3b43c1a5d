//! The worktree and branch of a task: finding, keeping and removing them.

use std::path::{Path, PathBuf};

use super::context::Context;
use super::error_code::ErrorCode;
use super::failure::{Failure, failure};
use super::prepared::{is_not_work, is_prepared};
use crate::board::intent::ClaimWork;
use crate::board::paths::{PathPattern, RepoPath, inside};
use crate::board::task::{Attempt, Handout, Scope};
use crate::board::verb::AnyVerb;
use crate::board::{Board, Call, Code, CommitId, Needs, TaskId, World, permitted};
use crate::git::commit::Signature;
use crate::git::content::{self, Filters};
use crate::git::{self, refs};
use crate::host::anchored_path::{FilesBelow, files_below};

/// The ref that keeps the commits of an attempt at a task; attempts are counted from 1.
pub fn attempt_ref(task: &TaskId, number: usize) -> String {
    format!("refs/liza/attempts/{task}/{number}")
}

/// The head of the integration branch.
pub fn integration_head(ctx: &Context, board: &Board) -> Result<CommitId, Failure> {
    let branch = &board.config().integration_branch;
    ctx.query()?.head_of_branch(branch)?.ok_or_else(|| {
        failure!(ErrorCode::GitNoIntegration, "the integration branch `{branch}` does not exist").hint(
            match &board.rest.integration.head {
                Some(head) => {
                    format!("it was last at {head}; bring it back with `git branch {branch} {head}`")
                }
                None => format!("make it with `git branch {branch}`"),
            },
        )
    })
}

/// The present attempt at a task; its body must be loaded.
pub fn attempt_of<'b>(board: &'b Board, task: &TaskId) -> Option<&'b Attempt> {
    board.task(task)?.body().attempt()
}

/// The head of a task's branch.
pub fn head_of(ctx: &Context, board: &Board, task: &TaskId) -> Result<Option<CommitId>, Failure> {
    match attempt_of(board, task) {
        Some(attempt) => Ok(ctx.query()?.head_of_branch(&attempt.branch)?),
        None => Ok(None),
    }
}

/// Everything uncommitted in a worktree, by path, without prepared files.
pub fn uncommitted(worktree: &Path, filters: Filters, prepared: &[String]) -> Result<Vec<String>, Failure> {
    let all = content::status(worktree, filters)?.into_iter();
    Ok(all.filter(|found| !is_not_work(prepared, found)).map(|found| found.path).collect())
}

/// Writes a commit with this author that is on no branch yet.
pub fn commit_by(
    ctx: &Context,
    who: &Signature,
    tree: &CommitId,
    parents: &[CommitId],
    message: &str,
) -> Result<CommitId, Failure> {
    let new = git::NewCommit { tree, parents, message, author: who, committer: who };
    Ok(git::commit_tree(&ctx.repo, &new)?)
}

/// The present worktree of a task, after checking it.
pub fn worktree_of(ctx: &Context, board: &Board, task: &TaskId) -> Result<(PathBuf, String), Failure> {
    let attempt = attempt_of(board, task).ok_or_else(|| {
        failure!(Code::Transition, "task `{task}` has no worktree: no agent has claimed it")
            .hint(format!("`liza task claim {task}` makes one"))
    })?;
    let path = ctx.root().join(&attempt.worktree);
    git::checkouts::check_sound(&ctx.repo, &path).map_err(|fault| {
        let branch = &attempt.branch;
        failure!(ErrorCode::GitWorktree, "the worktree of `{task}` cannot be used: {fault}")
            .hint(format!("its commits are on branch `{branch}`; `liza doctor` shows the remedy"))
    })?;
    Ok((path, attempt.branch.clone()))
}

/// The worktree as it is now, uncommitted work included, without prepared files.
pub fn handout(worktree: &Path, prepared: &[String]) -> Result<Handout, Failure> {
    let found = content::fingerprint(worktree, prepared)?;
    Ok(Handout { head: found.head, tree: found.tree, merge_head: found.merge_head })
}

/// Removes what a failed claim has made: the directory moves to the trash, the branch only if it holds nothing.
pub fn sweep(ctx: &Context, work: &ClaimWork) {
    if work.reuse {
        return;
    }
    let Ok(_one_at_a_time) = ctx.machine.lock_worktrees() else { return };
    let worktrees = ctx.worktrees();
    let path: PathBuf = ctx.root().join(&work.worktree);
    let _ = worktrees.heal();
    // Only what this claim made: the name has its epoch, or it was the first claim.
    let _ = worktrees.remove_to_trash(&path);
    let _ = refs::delete_branch_if_at(&ctx.repo, &work.branch, &work.start);
}

/// Before a task is released: keeps the uncommitted work of its worktree under a ref.
///
/// Does nothing for a caller that may not release the task. A failure here does not stop the release: the files stay
/// in the worktree too.
pub fn keep_uncommitted(ctx: &Context, task: &TaskId, letting_go: &dyn AnyVerb) -> Result<(), Failure> {
    let snapshot = ctx.read(&Needs::task(task))?;
    let actor = snapshot.board.identify(&ctx.credentials)?;
    if permitted(&snapshot.board, letting_go, &Call::new(actor, &ctx.now, &World::default())).is_err() {
        return Ok(());
    }
    match keep_now(ctx, &snapshot.board, task) {
        Ok(None) => {}
        Ok(Some(kept)) => {
            if !kept.saved.files.is_empty() {
                ctx.narrate(format!(
                    "uncommitted, so not on the branch: {}; kept as {1} (`git show {1}`)",
                    kept.saved.files.join(", "),
                    kept.refname
                ));
            }
            if !kept.saved.left_out.is_empty() {
                ctx.narrate(format!(
                    "not kept there, only in {}: {}",
                    kept.path.display(),
                    kept.saved.left_out
                ));
            }
        }
        Err(failure) => ctx.narrate(format!(
            "uncommitted work could not be kept under a ref ({failure}); it stays in the worktree"
        )),
    }
    Ok(())
}

/// Uncommitted work, and the ref that keeps it.
pub struct Kept {
    pub saved: Saved,
    pub refname: String,
    pub path: PathBuf,
}

/// Keeps the uncommitted work of a task's worktree under a ref, if there is any. Ignored files in the task's scope
/// count too.
pub fn keep_now(ctx: &Context, board: &Board, task: &TaskId) -> Result<Option<Kept>, Failure> {
    let Ok((path, _)) = worktree_of(ctx, board, task) else { return Ok(None) };
    let Some(known) = board.task(task) else { return Ok(None) };
    let epoch = known.epoch;
    let not_work = super::prepared::not_work(board, task);
    let scope = Some(&known.body().scope);
    let Some(saved) = snapshot_worktree(ctx, task.as_str(), &path, scope, &not_work)? else {
        return Ok(None);
    };
    let refname = refs::keep(&ctx.repo, &format!("refs/liza/wip/{task}/{epoch}"), &saved.commit)?;
    Ok(Some(Kept { saved, refname, path }))
}

/// At most this many files of an ignored directory are examined.
const MOST_LOOKED_AT: usize = 5_000;

/// The ignored files of a task: those of `ignored`, as git lists it, in the task's scope. Links are not followed.
pub fn ignored_in_scope(worktree: &Path, ignored: &[String], scope: &Scope) -> FilesBelow {
    // What cannot be named in a scope counts as inside.
    let is_in = |path: &str| {
        RepoPath::new(path)
            .map_or(true, |path| inside(&path, &scope.inside) && !inside(&path, &scope.outside))
    };
    let overlaps = |dir: &str| {
        let dir = dir.trim_end_matches('/');
        let is_excluded = RepoPath::new(&format!("{dir}/x")).is_ok_and(|path| inside(&path, &scope.outside));
        !is_excluded
            && PathPattern::new(&format!("{dir}/"))
                .map_or(true, |dir| scope.inside.iter().any(|pattern| pattern.overlaps(&dir).is_some()))
    };
    let mut found = FilesBelow::default();
    for path in ignored {
        if !path.ends_with('/') {
            found.files.extend(is_in(path).then(|| path.clone()));
        } else if overlaps(path) {
            let below = files_below(worktree, Path::new(path), MOST_LOOKED_AT, overlaps);
            found.files.extend(below.files.into_iter().filter(|file| is_in(file)));
            found.links.extend(below.links.into_iter().filter(|link| is_in(link)));
            found
                .left_out
                .extend(below.left_out.into_iter().filter(|(path, _)| is_in(path) || overlaps(path)));
        }
    }
    found
}

/// The content of a worktree as a commit without a ref.
pub struct Saved {
    pub commit: CommitId,
    /// The first few uncommitted files.
    pub files: Vec<String>,
    /// What could not be saved; empty if everything was.
    pub left_out: String,
}

/// Commits the whole present content of a worktree beside its branch, if anything in it is uncommitted. The caller
/// keeps the commit under a ref.
///
/// Includes ignored files in `scope`; leaves out `prepared` files.
pub fn snapshot_worktree(
    ctx: &Context,
    task: &str,
    path: &Path,
    scope: Option<&Scope>,
    prepared: &[String],
) -> Result<Option<Saved>, Failure> {
    let (mut dirty, mut ignored) = content::status_and_ignored(path, Filters::Run)?;
    dirty.retain(|found| !is_not_work(prepared, found));
    ignored.retain(|found| !is_prepared(prepared, found));
    let FilesBelow { files: mut ignored, links, left_out } =
        scope.map_or_else(FilesBelow::default, |scope| ignored_in_scope(path, &ignored, scope));
    ignored.extend(links);
    if dirty.is_empty() && ignored.is_empty() && left_out.is_empty() {
        return Ok(None);
    }
    let who = ctx.query()?.identity().at(ctx.now.wall.0);
    let message = format!("Uncommitted work on {task}");
    let kept = content::snapshot(&ctx.repo, path, &message, &who, &ignored, prepared)?;
    let ignored = ignored.into_iter().map(|path| format!("{path} (ignored by git)"));
    let files = dirty.into_iter().map(|found| found.path).chain(ignored).take(10).collect();
    let left_out = left_out.into_iter().map(|(path, why)| format!("`{path}` (ignored by git): {why}"));
    let left_out: Vec<String> =
        Some(kept.left_out).filter(|left| !left.is_empty()).into_iter().chain(left_out).collect();
    Ok(Some(Saved { commit: kept.commit, files, left_out: left_out.join("; ") }))
}
