//! Branches moved for people: a commit of theirs into integration, integration to where they want it.

use serde_json::Value;

use crate::board::gates::{GateReport, Lacking, Moment};
use crate::board::intent::RefMove;
use crate::board::rules::{BeginMove, CancelMove, FinishMove, MoveKind, RecordMove};
use crate::board::{CommitId, Needs};
use crate::git::{Expected, MergeTree, NewCommit, commit_tree, merge_tree, refs};
use crate::host::crash;
use crate::store::layout::{DIRECTORY, WORKTREES};

use super::claim::integration_head;
use super::context::Context;
use super::failure::Failure;
use super::gates::{Question, judge};
use super::merge::{after_the_move, moved_all_the_same, not_checked_out};

/// Brings a commit that liza did not make into integration: fast-forward if possible, else merged.
pub fn advance(ctx: &Context, rev: &str, reason: &str) -> Result<(Value, u64), Failure> {
    let snapshot = ctx.read(&Needs::Nothing)?;
    let branch = snapshot.board.config().integration_branch.clone();
    let query = ctx.query()?;
    let commit = query.resolve(rev)?.ok_or_else(|| unknown_commit(rev))?;
    let old = integration_head(ctx, &snapshot.board)?;
    // A head that somebody put there by hand, or one that stands on such, is accepted by naming it.
    let accepts = commit == old
        && (snapshot.board.rest.integration.head.as_ref() != Some(&old)
            || !super::verify::integration_is_accounted_for(ctx, &snapshot.board));
    if query.is_ancestor(&commit, &old)? && !accepts {
        return Err(Failure::new("refused.empty", format!("`{branch}` contains {} already", commit.short())));
    }
    if let Some(moved) = super::moved::integration_was_moved(ctx, &snapshot.board)? {
        // Accepted as it stands, or put back where it was; nothing is built on what nobody has looked at.
        let returns = commit == moved.from && query.is_ancestor(&old, &commit)?;
        if accepts && moved.lost > 0 {
            return Err(Failure::new(
                "refused.not_ancestor",
                format!("accepting this would drop merged work: {}", moved.told()),
            )
            .hint(moved.remedy()));
        }
        if !accepts && !returns {
            ctx.integration_in_place(&snapshot.board)?;
        }
    }
    let known = snapshot.board.rest.integration.head.as_ref().filter(|_| accepts).unwrap_or(&old);
    no_private_paths(ctx, known, &commit)?;
    not_checked_out(ctx, &branch)?;
    let begin = BeginMove {
        kind: MoveKind::Advance,
        branch: branch.clone(),
        reason: reason.to_owned(),
        owner: crate::host::this_process(),
    };
    carry_out(ctx, begin, |time| {
        let new = if query.is_ancestor(&old, &commit)? {
            commit.clone()
        } else {
            merged(ctx, &old, &commit, reason, time)?
        };
        Ok(RefMove { branch: branch.clone(), old: Some(old.clone()), new })
    })
}

/// Brings integration to another branch, by default the one the repository is on.
pub fn deliver(ctx: &Context, to: &str) -> Result<(Value, u64), Failure> {
    let snapshot = ctx.read(&Needs::Nothing)?;
    let source = snapshot.board.config().integration_branch.clone();
    ctx.integration_in_place(&snapshot.board)?;
    let query = ctx.query()?;
    let head = integration_head(ctx, &snapshot.board)?;
    if to == source {
        return Err(Failure::usage(format!("`{to}` is the integration branch itself"))
            .hint("name another one with --to"));
    }
    let old = query.head_of_branch(to)?;
    if old.as_ref() == Some(&head) {
        return Err(Failure::new("refused.empty", format!("`{to}` is at the head of `{source}` already")));
    }
    if let Err(failure) = not_checked_out(ctx, to) {
        // In the user's own checkout only the user moves anything.
        return Err(Failure::new("refused.checked_out", failure.message)
            .hint(format!("bring it there yourself: git merge --ff-only {source}")));
    }
    if let Some(old) = &old
        && !query.is_ancestor(old, &head)?
    {
        return Err(Failure::new(
            "refused.not_ancestor",
            format!("`{to}` has commits that `{source}` does not have"),
        )
        .hint(format!("take them in first: `liza integration advance {to} --reason …`")));
    }
    let begin = BeginMove {
        kind: MoveKind::Deliver,
        branch: to.to_owned(),
        reason: format!("deliver {source} to {to}"),
        owner: crate::host::this_process(),
    };
    carry_out(ctx, begin, |_| Ok(RefMove { branch: to.to_owned(), old: old.clone(), new: head.clone() }))
}

fn unknown_commit(rev: &str) -> Failure {
    Failure::new("refused.value", format!("`{rev}` does not name a commit"))
        .hint("a branch, a tag or a commit id of this repository")
}

/// Whether a path of the repository is liza's own, however it is spelled.
pub fn is_private(path: &str) -> bool {
    let first = path.split('/').next().unwrap_or_default().to_ascii_lowercase();
    first == DIRECTORY || first == WORKTREES
}

/// State of liza itself must never travel through git: it would turn back time when an old branch is merged.
pub fn no_private_paths(ctx: &Context, from: &CommitId, to: &CommitId) -> Result<(), Failure> {
    let query = ctx.query()?;
    let base = query.merge_base(from, to)?.unwrap_or_else(|| from.clone());
    let private: Vec<String> = query
        .changed_paths(&base, to)?
        .into_iter()
        .map(|change| change.path)
        .filter(|path| is_private(path))
        .collect();
    if private.is_empty() {
        return Ok(());
    }
    Err(Failure::new("refused.scope", format!("it changes liza's own files: {}", private.join(", ")))
        .hint("take them out of that commit; .liza and .worktrees are never committed"))
}

fn merged(
    ctx: &Context,
    old: &CommitId,
    commit: &CommitId,
    reason: &str,
    time: i64,
) -> Result<CommitId, Failure> {
    match merge_tree(&ctx.repo, old, commit)? {
        MergeTree::Clean(tree) => {
            let who = ctx.query()?.identity().at(time);
            let reason: String =
                reason.chars().map(|c| if crate::text::is_unseen(c) { ' ' } else { c }).take(100).collect();
            let message = format!("Advance integration: {reason}\n\nLiza-Advance: {commit}\n");
            let new = NewCommit {
                tree: &tree,
                parents: &[old.clone(), commit.clone()],
                message: &message,
                author: &who,
                committer: &who,
            };
            Ok(commit_tree(&ctx.repo, &new)?)
        }
        MergeTree::Conflict { files, .. } => {
            let files: Vec<String> = files.into_iter().map(|file| file.path).collect();
            Err(Failure::new(
                "git.conflict",
                format!("it conflicts with integration in {}", files.join(", ")),
            )
            .hint("merge integration into that commit first, resolve there, then advance to the result")
            .detail("files", files))
        }
    }
}

/// What the gates say about where integration is to go. If it stands there already, it is integration that is red.
fn judged(ctx: &Context, step: &RefMove) -> Result<GateReport, Failure> {
    let report = judge(ctx, &Question::new(Moment::Advance, &step.new))?;
    if step.old.as_ref() == Some(&step.new) && report.lacking().is_some_and(|(_, why)| why == Lacking::Failed)
    {
        return Err(super::merge::red_head(ctx, &report));
    }
    Ok(report)
}

fn carry_out(
    ctx: &Context,
    begin: BeginMove,
    step: impl Fn(i64) -> Result<RefMove, Failure>,
) -> Result<(Value, u64), Failure> {
    let (owner, kind) = (begin.owner.clone(), begin.kind);
    let begun = ctx.commit(begin)?;
    let id = begun.outcome["intent"].as_u64().unwrap_or_default();
    let time = begun.board.intent(id).map_or(ctx.now.wall.0, |intent| intent.time.0);
    crash::point("move.begun");
    let moved: Result<(Value, u64), Failure> = (|| {
        let step = step(time)?;
        let refname = refs::of_branch(&step.branch)?;
        refs::pin(&ctx.repo, &format!("refs/liza/moves/{id}"), &step.new)?;
        let gates = if kind == MoveKind::Advance { Some(judged(ctx, &step)?) } else { None };
        crash::point("move.gated");
        ctx.commit_step(RecordMove { intent: id, owner: owner.clone(), step: step.clone(), gates })?;
        crash::point("move.recorded");
        not_checked_out(ctx, &step.branch)?;
        let expected = step.old.as_ref().map_or(Expected::Absent, Expected::At);
        refs::update(&ctx.repo, &refname, &step.new, expected)?;
        crash::point("move.moved");
        refs::sync_filesystem(&ctx.repo.common_dir)
            .map_err(|error| Failure::io("sync", &ctx.repo.common_dir, &error))?;
        let finished = ctx.commit_step(FinishMove { intent: id, owner: owner.clone() })?;
        Ok((finished.outcome, finished.board.revision))
    })();
    match moved {
        Ok(answer) => Ok(answer),
        Err(failure) => {
            if let Some(step) = moved_all_the_same(ctx, id) {
                return Err(after_the_move(&step, failure));
            }
            let reason = failure.message.clone();
            let _ = ctx.commit_as_liza(CancelMove { intent: id, owner, reason });
            Err(failure)
        }
    }
}
