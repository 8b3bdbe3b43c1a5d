//! Taking paths back from a task that holds them without anybody who would let them go.

use super::prelude::*;
use super::{attempt, views};

/// What came of it, and the revision since which it is so.
pub fn release(ctx: &Context, task: &TaskId, reason: &str) -> Result<(PathsGivenBack, u64)> {
    let what = ReleaseLock { task: task.clone(), reason: reason.to_owned() };
    warn_of_living_holder(ctx, task)?;
    attempt::keep_uncommitted(ctx, task, &what)?;
    let committed = ctx.commit(what)?;
    views::refresh(ctx);
    Ok(committed.done())
}

/// An agent that works on it right now is not asked: it will find itself refused.
fn warn_of_living_holder(ctx: &Context, task: &TaskId) -> Result<()> {
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
