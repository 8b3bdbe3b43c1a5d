//! Brings a person's commit into integration.

use super::branches::{failed_move, no_private_paths, no_unnamed_repositories, not_checked_out};
use super::gates::{Question, judge};
use super::prelude::*;

/// How often to start again because merges were faster.
const TRIES: usize = 20;

/// Brings a commit that liza did not make into integration: fast-forward if possible, else merged.
pub fn advance(ctx: &Context, rev: &Revision, reason: &str) -> Result<(Moved, u64)> {
    let snapshot = ctx.read(&Needs::Nothing)?;
    let branch = snapshot.board.config().integration_branch.clone();
    let commit = ctx.resolve_here(rev)?.ok_or_else(|| {
        failure!(Code::Value, "`{rev}` does not name a commit")
            .hint("a branch, a tag or a commit id of this repository")
    })?;
    // Refuse what can be refused before starting any work.
    allowed(ctx, &commit)?;
    not_checked_out(ctx, &branch)?;
    let begin = BeginMove {
        kind: MoveKind::Advance,
        branch: branch.clone(),
        reason: reason.to_owned(),
        owner: host::this_process(),
        checkout: None,
        audited: false,
    };
    carry_out(ctx, begin, |time| {
        let old = allowed(ctx, &commit)?;
        let query = ctx.query()?;
        let new = if !query.is_ancestor(&old, &commit)? {
            merged(ctx, &old, &commit, reason, time)?
        } else if gated_in_between(ctx, &old, &commit)? {
            joined(ctx, &query.tree_of(&commit)?, &old, &commit, reason, time)?
        } else {
            commit.clone()
        };
        Ok(RefMove { branch: branch.clone(), old: Some(old), new })
    })
}

/// Whether integration may move to this commit. Returns its present commit.
fn allowed(ctx: &Context, commit: &CommitId) -> Result<CommitId> {
    let board = ctx.read(&Needs::Nothing)?.board;
    let branch = &board.config().integration_branch;
    let query = ctx.query()?;
    let old = integration_head(ctx, &board)?;
    // A person accepts a head that was moved by hand, or one built on it, by naming it.
    let accepts = commit == &old
        && (board.rest.integration.head.as_ref() != Some(&old)
            || !super::verify::integration_is_accounted_for(ctx, &board));
    if query.is_ancestor(commit, &old)? && !accepts {
        return Err(failure!(Code::NothingSubmitted, "`{branch}` contains {} already", commit.short()));
    }
    let mut known = old.clone();
    if let Some(moved) = super::moved::integration_was_moved(ctx, &board)? {
        // Such a head is accepted as it is or with a fix on top, or moved back; no other work may build on unreviewed
        // commits.
        let stands_on_it = query.is_ancestor(&old, commit)?;
        let returns = *commit == moved.from && stands_on_it;
        if stands_on_it && !returns && moved.lost > 0 {
            let what = format!("accepting this would drop merged work: {}", moved.message());
            return Err(Failure::new(Code::NotAncestor, what).hint(moved.remedy()));
        }
        if !stands_on_it {
            ctx.integration_in_place(&board)?;
        }
        known = moved.from;
    }
    no_private_paths(ctx, &known, commit)?;
    no_unnamed_repositories(ctx, &known, commit)?;
    query.check_objects(&old, commit)?;
    Ok(old)
}

/// Whether more than one commit would enter the first-parent history at once while only the last of them is gated.
fn gated_in_between(ctx: &Context, old: &CommitId, commit: &CommitId) -> Result<bool> {
    // Moved back to where liza left it: every step was gated when it was made.
    if ctx.read(&Needs::Nothing)?.board.rest.integration.head.as_ref() == Some(commit) {
        return Ok(false);
    }
    let gated = ctx.project_config()?.gates.iter().any(Gate::is_required);
    Ok(gated && old != commit && ctx.query()?.commit_info(commit)?.parents.first() != Some(old))
}

fn merged(ctx: &Context, old: &CommitId, commit: &CommitId, reason: &str, time: i64) -> Result<CommitId> {
    match merge_tree(&ctx.repo, old, commit)? {
        MergeTree::Clean(tree) => joined(ctx, &tree, old, commit, reason, time),
        MergeTree::Conflict { files, .. } => {
            let files: Vec<String> = files.into_iter().map(|file| file.path).collect();
            Err(failure!(ErrorCode::GitConflict, "it conflicts with integration in {}", files.join(", "))
                .hint("merge integration into that commit first, resolve there, then advance to the result")
                .detail("files", files))
        }
    }
}

fn joined(
    ctx: &Context,
    tree: &CommitId,
    old: &CommitId,
    commit: &CommitId,
    reason: &str,
    time: i64,
) -> Result<CommitId> {
    let who = ctx.query()?.identity().at(time);
    let reason: String =
        reason.chars().map(|c| if crate::text::is_unseen(c) { ' ' } else { c }).take(100).collect();
    let message = format!("Advance integration: {reason}\n\nLiza-Advance: {commit}\n");
    commit_by(ctx, &who, tree, &[old.clone(), commit.clone()], &message)
}

/// The gate report on the new commit. If integration is already there, it is integration that is red.
fn judged(ctx: &Context, step: &RefMove) -> Result<GateReport> {
    let report = judge(ctx, &Question::new(Moment::Advance, &step.new))?;
    if step.old.as_ref() == Some(&step.new) && report.lacking().is_some_and(|(_, why)| why == Lacking::Failed)
    {
        return Err(super::merge::red_head(ctx, &report));
    }
    Ok(report)
}

fn carry_out(ctx: &Context, begin: BeginMove, step: impl Fn(i64) -> Result<RefMove>) -> Result<(Moved, u64)> {
    let owner = begin.owner.clone();
    let begun = ctx.commit(begin)?;
    let id = begun.outcome.intent;
    let time = begun.board.intent(id).map_or(ctx.now.wall.0, |intent| intent.time.0);
    crash::point("move.begun");
    let moved: Result<(Moved, u64)> = (|| {
        for turn in 1.. {
            let step = step(time)?;
            let refname = refs::of_branch(&step.branch)?;
            refs::pin(&ctx.repo, &format!("refs/liza/moves/{id}"), &step.new)?;
            let gates = Some(judged(ctx, &step)?);
            crash::point("move.gated");
            ctx.commit_step(RecordMove { intent: id, owner: owner.clone(), step: step.clone(), gates })?;
            crash::point("move.recorded");
            not_checked_out(ctx, &step.branch)?;
            let expected = step.old.as_ref().map_or(Expected::Absent, Expected::At);
            match refs::update(&ctx.repo, &refname, &step.new, expected) {
                Ok(()) => break,
                // A merge was faster: try again on its result.
                Err(RefError::Moved { .. }) if turn < TRIES => {
                    ctx.narrate(format!("`{}` moved meanwhile; starting again on its new head", step.branch));
                }
                Err(error) => return Err(error.into()),
            }
        }
        crash::point("move.moved");
        ctx.sync()?;
        Ok(ctx.commit_step(FinishMove { intent: id, owner: owner.clone() })?.done())
    })();
    moved.map_err(|failure| failed_move(ctx, id, owner, failure))
}
