//! Ending what a dead process began: forward if its effect is there, back if it is not.

use crate::board::intent::{Intent, MergeWork, RefMove, Work};
use crate::board::rules::{
    CancelApply, CancelClaim, CancelMerge, CancelMove, FinishApply, FinishMerge, FinishMove, TakeOver,
};
use crate::board::{Needs, Process, Transition};
use crate::store::StoreError;

use super::claim::sweep;
use super::context::Context;
use super::failure::Failure;

/// Ends every intent whose process is dead. Returns how many it ended. Runs no gate and makes no merge.
pub fn recover(ctx: &Context) -> Result<usize, Failure> {
    let snapshot = ctx.store.read(&Needs::Nothing)?;
    let dead: Vec<Intent> = snapshot
        .board
        .rest
        .intents
        .iter()
        .filter(|intent| !crate::host::lives(&intent.owner))
        .cloned()
        .collect();
    let mut ended = 0;
    for intent in dead {
        let owner = crate::host::this_process();
        let take = TakeOver { intent: intent.id, former: intent.owner.clone(), owner: owner.clone() };
        match ctx.commit_as_liza(take) {
            Ok(_) => {}
            // Somebody else was faster; then it is ended, or will be.
            Err(StoreError::Refused(_)) => continue,
            Err(error) => return Err(error.into()),
        }
        crate::host::crash::point("recover.taken");
        let outcome = match end(ctx, &intent, &owner) {
            Ok(outcome) => outcome,
            // A worktree that cannot follow now stops nothing else; the next command tries again.
            Err(failure) if matches!(intent.work, Work::Apply(_)) => {
                ctx.narrate(format!("a bundle apply that was left half done waits: {}", failure.message));
                continue;
            }
            Err(failure) => return Err(failure),
        };
        match ctx.commit_as_liza(outcome.transition) {
            Ok(_) => {
                ended += 1;
                ctx.narrate(outcome.told);
            }
            Err(StoreError::Refused(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(ended)
}

/// Ends what a dead process left half done on this task, before anybody looks at its worktree.
pub fn before(ctx: &Context, task: &crate::board::TaskId) -> Result<(), Failure> {
    let snapshot = ctx.store.read(&Needs::Nothing)?;
    let dead = snapshot.board.intent_of(task).is_some_and(|intent| !crate::host::lives(&intent.owner));
    if dead && ctx.acts_for_somebody().is_ok() {
        recover(ctx)?;
    }
    Ok(())
}

struct Ending {
    transition: Transition,
    told: String,
}

fn end(ctx: &Context, intent: &Intent, owner: &Process) -> Result<Ending, Failure> {
    let reason = format!("process {} died", intent.owner.pid);
    let task = intent.task.as_ref().map_or(String::new(), |task| format!(" of `{task}`"));
    let ended = |transition: Transition, how: &str| {
        let told = format!(
            "a {}{task} by {} was left half done ({reason}); it was {how}",
            intent.work.verb(),
            intent.by
        );
        Ok(Ending { transition, told })
    };
    if let Some(step) = intent.work.step()
        && let Ok(refname) = crate::git::refs::of_branch(&step.branch)
    {
        crate::git::refs::clear_dead_lock(&ctx.repo, &refname, &step.new);
    }
    match &intent.work {
        Work::Claim(work) => {
            sweep(ctx, work);
            let cancel = CancelClaim { intent: intent.id, owner: owner.clone(), reason: reason.clone() };
            ended(cancel.into(), "undone")
        }
        Work::Merge(MergeWork { step, .. }) => match step {
            Some(RefMove { branch, old: Some(old), new }) if contains(ctx, branch, new)? => {
                sync(ctx)?;
                let finish = FinishMerge {
                    intent: intent.id,
                    owner: owner.clone(),
                    merge_commit: new.clone(),
                    onto: old.clone(),
                    drift: super::merge::drift(ctx, intent, old),
                };
                ended(finish.into(), "finished: the branch had moved already")
            }
            _ => {
                let cancel = CancelMerge { intent: intent.id, owner: owner.clone(), reason: reason.clone() };
                ended(cancel.into(), "cancelled: the branch had not moved; merge again")
            }
        },
        Work::Apply(work) if contains(ctx, &work.step.branch, &work.step.new)? => {
            super::bundle::follow(ctx, work)?;
            sync(ctx)?;
            let finish = FinishApply { intent: intent.id, owner: owner.clone() };
            ended(finish.into(), "finished: the branch had moved already, and the files follow")
        }
        Work::Apply(_) => ended(
            CancelApply { intent: intent.id, owner: owner.clone(), reason: reason.clone() }.into(),
            "cancelled: the branch had not moved; apply the bundle again",
        ),
        Work::Advance(work) | Work::Deliver(work) => match &work.step {
            Some(step) if contains(ctx, &step.branch, &step.new)? => {
                sync(ctx)?;
                let finish = FinishMove { intent: intent.id, owner: owner.clone() };
                ended(finish.into(), "finished: the branch had moved already")
            }
            _ => ended(
                CancelMove { intent: intent.id, owner: owner.clone(), reason: reason.clone() }.into(),
                "cancelled: the branch had not moved",
            ),
        },
    }
}

/// The move is on disk before the board says so.
fn sync(ctx: &Context) -> Result<(), Failure> {
    crate::git::refs::sync_filesystem(&ctx.repo.common_dir)
        .map_err(|error| Failure::io("sync", &ctx.repo.common_dir, &error))
}

/// Whether the branch is at that commit or has gone on from it.
pub fn contains(ctx: &Context, branch: &str, commit: &crate::board::CommitId) -> Result<bool, Failure> {
    let query = ctx.query()?;
    match query.head_of_branch(branch)? {
        Some(head) if query.has_commit(commit) => Ok(&head == commit || query.is_ancestor(commit, &head)?),
        _ => Ok(false),
    }
}
