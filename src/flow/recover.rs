//! Finishes what a dead process started: forward if its effect is there, back if not.

use super::attempt::sweep;
use super::branches::contains;
use super::prelude::*;

/// Finishes every intent whose process is dead. Returns how many. Runs no gate and makes no merge.
pub fn recover(ctx: &Context) -> Result<usize> {
    let snapshot = ctx.store.read(&Needs::Nothing)?;
    let dead: Vec<Intent> = snapshot
        .board
        .rest
        .intents
        .iter()
        .filter(|intent| !ctx.machine.works_on_intents(&intent.owner))
        .cloned()
        .collect();
    let mut ended = 0;
    for intent in dead {
        let owner = host::this_process();
        let take = TakeOver { intent: intent.id, former: intent.owner.clone(), owner: owner.clone() };
        match ctx.commit_as_liza(take) {
            Ok(_) => {}
            // Another process was faster; then it is finished, or will be.
            Err(StoreError::Refused(_)) => continue,
            Err(error) => return Err(error.into()),
        }
        crash::point("recover.taken");
        let outcome = match end(ctx, &intent, &owner) {
            Ok(outcome) => outcome,
            // A worktree that cannot be updated now delays nothing else; the next command tries again.
            Err(failure) if matches!(intent.work, Work::Apply(_) | Work::Deliver(_)) => {
                let verb = intent.work.verb();
                ctx.narrate(format!(
                    "could not finish the {verb} of a dead process yet: {}",
                    failure.message
                ));
                continue;
            }
            Err(failure) => return Err(failure),
        };
        match ctx.commit_any_as_liza(outcome.transition) {
            Ok(_) => {
                ended += 1;
                ctx.machine.forget_intents(&intent.owner);
                ctx.narrate(outcome.message);
            }
            Err(StoreError::Refused(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(ended)
}

/// Finishes the work of a dead process on this task, before a command examines its worktree.
pub fn before(ctx: &Context, task: &TaskId) -> Result<()> {
    let snapshot = ctx.store.read(&Needs::Nothing)?;
    let dead =
        snapshot.board.intent_of(task).is_some_and(|intent| !ctx.machine.works_on_intents(&intent.owner));
    if dead && ctx.refuse_gate_process().is_ok() {
        recover(ctx)?;
    }
    Ok(())
}

struct Ending {
    transition: Transition,
    message: String,
}

fn end(ctx: &Context, intent: &Intent, owner: &Process) -> Result<Ending> {
    let reason = format!("process {} died", intent.owner.pid);
    let task = intent.task.as_ref().map_or(String::new(), |task| format!(" of `{task}`"));
    let left = format!("a {}{task} by {} was left unfinished ({reason})", intent.work.verb(), intent.by);
    let ended = |transition: Transition, how: &str| {
        Ok(Ending { transition, message: format!("{left}; it was {how}") })
    };
    if let Some(step) = intent.work.step()
        && let Ok(refname) = refs::of_branch(&step.branch)
    {
        refs::clear_dead_lock(&ctx.repo, &refname, &step.new);
    }
    let (id, owner) = (intent.id, owner.clone());
    match &intent.work {
        Work::Claim(work) => {
            sweep(ctx, work);
            ended(CancelClaim { intent: id, owner, reason }.into(), "undone")
        }
        Work::Merge(MergeWork { step, .. }) => match step {
            Some(RefMove { branch, old: Some(old), new }) if contains(ctx, branch, new)? => {
                ctx.sync()?;
                let drift = super::branches::drift(ctx, intent, old);
                let (merge_commit, onto) = (new.clone(), old.clone());
                let finish = FinishMerge { intent: id, owner, merge_commit, onto, drift };
                ended(finish.into(), "finished: the branch had moved already")
            }
            _ => ended(
                CancelMerge { intent: id, owner, reason }.into(),
                "cancelled: the branch had not moved; merge again",
            ),
        },
        Work::Apply(work) if contains(ctx, &work.step.branch, &work.step.new)? => {
            super::bundle::follow(ctx, work)?;
            ctx.sync()?;
            let finish = FinishApply { intent: id, owner };
            ended(finish.into(), "finished: the branch had moved already, and the files follow")
        }
        Work::Apply(_) => ended(
            CancelApply { intent: id, owner, reason }.into(),
            "cancelled: the branch had not moved; apply the bundle again",
        ),
        Work::Advance(work) | Work::Deliver(work) => match &work.step {
            Some(step)
                if contains(ctx, &step.branch, &step.new)? || super::deliver::end(ctx, work, step)? =>
            {
                ctx.sync()?;
                ended(FinishMove { intent: id, owner }.into(), "finished: the branch had moved already")
            }
            _ => {
                ended(CancelMove { intent: id, owner, reason }.into(), "cancelled: the branch had not moved")
            }
        },
    }
}
