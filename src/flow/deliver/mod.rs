//! Brings integration to a person's branch, with the files of its checkout.
//!
//!  a  plan the delivery, and refuse everything that git would refuse (`plan`);
//!  b  merge commits that only the target has into integration, through its gates (`advance`);
//!  c  intent on the board, the commit pinned, the move recorded;
//!  d  index and files of the checkout, as `git merge --ff-only` does it; git refuses before it writes;
//!  e  compare-and-swap of the branch;
//!  f  sync, and the outcome on the board.
//!
//! A process that dies in d leaves files between two commits: they are restored, or if the index is updated, the branch follows.

mod plan;
mod request;

use super::branches::failed_move;
use super::prelude::*;
use crate::board::intent::MoveWork;
use crate::git::checkouts::standing_on;
use crate::git::fast_forward::{arrived, bring, has_arrived, take_back};
use crate::git::locks::clear_dead;
pub use plan::{Delivered, Plan, Wanted, plan};
pub use request::{PullRequest, open, request};

/// Carries out the plan.
pub fn deliver(ctx: &Context, plan: &Plan) -> Result<(Delivered, u64)> {
    let mut gates = Vec::new();
    let mut head = plan.head.clone();
    if let (true, Some(old)) = (plan.has_own_commits, &plan.old) {
        let reason = format!("deliver to {}: its own commits first", plan.branch);
        let rev = Revision::new(old.as_str()).map_err(|why| Failure::usage(why.to_string()))?;
        let (moved, _) = super::advance::advance(ctx, &rev, &reason)?;
        (gates, head) = (moved.gates, moved.new);
        crash::point("deliver.advanced");
        plan::refuse_other_config(ctx, plan, old, &head)?;
    }
    let (moved, revision) = carry_out(ctx, plan, &head)?;
    Ok((Delivered { new: moved.new, gates, dry_run: false, ..plan.foreseen() }, revision))
}

fn carry_out(ctx: &Context, plan: &Plan, head: &CommitId) -> Result<(Moved, u64)> {
    let owner = host::this_process();
    let checkout = plan.checkout.as_ref().map(|path| path.display().to_string());
    let begin = BeginMove {
        kind: MoveKind::Deliver,
        branch: plan.branch.clone(),
        reason: format!("deliver {} to {}", plan.source, plan.branch),
        owner: owner.clone(),
        checkout,
        audited: true,
    };
    let begun = ctx.commit(begin)?;
    let id = begun.outcome.intent;
    crash::point("move.begun");
    let step = RefMove { branch: plan.branch.clone(), old: plan.old.clone(), new: head.clone() };
    let moved: Result<(Moved, u64)> = (|| {
        let refname = refs::of_branch(&step.branch)?;
        refs::pin(&ctx.repo, &format!("refs/liza/moves/{id}"), &step.new)?;
        crash::point("move.pinned");
        let record = RecordMove { intent: id, owner: owner.clone(), step: step.clone(), gates: None };
        ctx.commit_step(record)?;
        crash::point("move.recorded");
        let from = plan::start(ctx, step.old.as_ref())?;
        if let Some(checkout) = &plan.checkout {
            plan::refuse_obstacles(ctx, &plan.branch, checkout, &from, &step.new)?;
            files(ctx, checkout, &from, &step.new)?;
            crash::point("deliver.files");
        }
        stands_as_planned(ctx, plan)
            .and_then(|()| {
                let expected = step.old.as_ref().map_or(Expected::Absent, Expected::At);
                let why = format!("liza deliver: {} from {}", step.new.short(), plan.source);
                Ok(refs::update_saying(&ctx.repo, &refname, &step.new, expected, Some(&why))?)
            })
            .map_err(|failure| match &plan.checkout {
                Some(checkout) => back(ctx, checkout, &from, &step.new, failure),
                None => failure,
            })?;
        crash::point("move.moved");
        if let Some(checkout) = &plan.checkout
            && let Err(error) = arrived(&ctx.repo, checkout, &from)
        {
            ctx.narrate(format!("the branch is delivered; what follows a merge failed: {error}"));
        }
        ctx.sync()?;
        Ok(ctx.commit_step(FinishMove { intent: id, owner: owner.clone() })?.done())
    })();
    moved.map_err(|failure| failed_move(ctx, id, owner, failure))
}

/// Writes the files of the checkout; undoes what git started and could not finish.
fn files(ctx: &Context, checkout: &Path, from: &CommitId, to: &CommitId) -> Result<()> {
    let say = || ctx.narrate(format!("writing the files of {}", checkout.display()));
    bring(checkout, from, to, say).map_err(|error| back(ctx, checkout, from, to, error.into()))
}

fn back(ctx: &Context, checkout: &Path, from: &CommitId, to: &CommitId, failure: Failure) -> Failure {
    let left = ctx.query().and_then(|query| Ok(take_back(&ctx.repo, query, checkout, from, to)?));
    let there = match left {
        Ok(left) if left.is_empty() => "branch and files are as before".to_owned(),
        Ok(left) => format!("the branch is as before; look at these files: {}", list_words(&left)),
        Err(error) => format!("the branch is as before; look at the files there: {error}"),
    };
    let place = checkout.display();
    Failure { message: format!("{}; in {place}, {there}", failure.message), ..failure }
}

/// Checks that the branch is checked out where it was, and nowhere else.
fn stands_as_planned(ctx: &Context, plan: &Plan) -> Result<()> {
    let now: Vec<PathBuf> =
        standing_on(&ctx.repo, &plan.branch)?.into_iter().map(|standing| standing.path).collect();
    if now.iter().eq(plan.checkout.iter()) {
        return Ok(());
    }
    Err(failure!(Code::CheckedOut, "`{}` was checked out elsewhere meanwhile", plan.branch)
        .hint("run the command again"))
}

/// Finishes a delivery of a dead process whose branch has not moved: forward if its files have arrived. Returns
/// whether the branch has moved now.
pub fn end(ctx: &Context, work: &MoveWork, step: &RefMove) -> Result<bool> {
    let Some(checkout) = work.checkout.as_ref().map(PathBuf::from) else { return Ok(false) };
    let here = standing_on(&ctx.repo, &step.branch)?.into_iter().find(|standing| standing.path == checkout);
    let at = ctx.query()?.head_of_branch(&step.branch)?;
    let (Some(standing), true) = (here, at == step.old) else {
        // The person has continued from there; the files are the person's now.
        ctx.narrate(format!("the delivery to {} was left half done; look at its files", checkout.display()));
        return Ok(false);
    };
    // A git that died with the command has left its lock.
    clear_dead(&checkout, &standing.git_dir);
    if let Some(lock) = crate::git::tree::index_lock(&checkout)? {
        return Err(failure!(
            ErrorCode::StaleWorktree,
            "the index of {} is locked: {}",
            checkout.display(),
            lock.display()
        )
        .hint("wait for the git that is at work there; if none is, move this file away"));
    }
    let from = plan::start(ctx, step.old.as_ref())?;
    if has_arrived(&ctx.repo, &checkout, &from, &step.new)? {
        let expected = step.old.as_ref().map_or(Expected::Absent, Expected::At);
        refs::update(&ctx.repo, &refs::of_branch(&step.branch)?, &step.new, expected)?;
        return Ok(true);
    }
    let theirs = take_back(&ctx.repo, ctx.query()?, &checkout, &from, &step.new)?;
    if !theirs.is_empty() {
        let (place, theirs) = (checkout.display(), list_words(&theirs));
        ctx.narrate(format!("in {place}, these were changed meanwhile and stay as they are: {theirs}"));
    }
    Ok(false)
}

/// Reports a conflict with the target to the planner, once, as a note of the person who met it.
pub fn report_conflict_to_planner(ctx: &Context, failure: Failure) -> Failure {
    if failure.code != ErrorCode::GitConflict {
        return failure;
    }
    let text = format!("`liza deliver` stops: {}. Plan a task that brings both together.", failure.message);
    let known = ctx.store.read(&Needs::Nothing).is_ok_and(|snapshot| {
        snapshot.board.rest.human_notes.iter().any(|note| note.text == text && note.processed_by.is_none())
    });
    if !known && let Err(why) = ctx.commit_step(AddNote { text, task: None }) {
        ctx.narrate(format!("the planner could not be notified: {}", why.message));
    }
    failure
}
