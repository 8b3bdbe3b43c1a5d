//! Taking paths back from a task that holds them without anybody who would let them go.

use crate::board::rules::{ReleaseLock, lease_over};
use crate::board::{Needs, TaskId, Transition};

use super::claim;
use super::context::Context;
use super::failure::Failure;
use super::views;

/// What came of it, and the revision since which it is so.
pub fn release(ctx: &Context, task: &TaskId, reason: &str) -> Result<(serde_json::Value, u64), Failure> {
    let what = Transition::from(ReleaseLock { task: task.clone(), reason: reason.to_owned() });
    warn_of_living_holder(ctx, task)?;
    claim::keep_uncommitted(ctx, task, &what)?;
    let committed = ctx.commit(what)?;
    views::refresh(ctx);
    Ok((committed.outcome.clone(), committed.board.revision))
}

/// An agent that works on it right now is not asked: it will find itself refused.
fn warn_of_living_holder(ctx: &Context, task: &TaskId) -> Result<(), Failure> {
    let board = ctx.read(&Needs::Nothing)?.board;
    let held = board.task(task).and_then(|task| task.lease.as_ref());
    if let Some(lease) = held.filter(|lease| ctx.is_human() && !lease_over(&board, lease, &ctx.now)) {
        ctx.narrate(format!(
            "`{}` may still be at work on {task} (its lease runs until {}): whatever it hands in from now on is refused as stale",
            lease.agent, lease.expires.at
        ));
    }
    Ok(())
}
