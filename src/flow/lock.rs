//! Takes paths back from a task whose holder will not release them.

use super::prelude::*;
use super::{attempt, views};

/// Returns the outcome, and the revision that has it.
pub fn release(ctx: &Context, task: &TaskId, reason: &str) -> Result<(PathsGivenBack, u64)> {
    let what = ReleaseLock { task: task.clone(), reason: reason.to_owned() };
    warn_of_living_holder(ctx, task)?;
    attempt::keep_uncommitted(ctx, task, &what)?;
    let committed = ctx.commit(what)?;
    views::refresh(ctx);
    Ok(committed.done())
}

/// Warns about an agent that may still work on the task: its next command will be refused.
fn warn_of_living_holder(ctx: &Context, task: &TaskId) -> Result<()> {
    let board = ctx.read(&Needs::Nothing)?.board;
    let held = board.task(task).and_then(|task| task.lease.as_ref());
    if let Some(lease) = held.filter(|lease| ctx.is_human() && !lease_over(&board, lease, &ctx.now)) {
        ctx.narrate(format!(
            "`{}` may still work on {task} (its lease lasts until {}); liza refuses its next submission as stale",
            lease.agent, lease.expires.at
        ));
    }
    Ok(())
}
