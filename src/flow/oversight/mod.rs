//! What runners observe of their agents, and who may see it. The files are disposable: without them nothing is
//! judged.

mod acts;
mod answers;
mod picture;
mod sight;

use crate::flow::prelude::*;
use crate::policy::overseer::Ring;
use crate::wire::to_json_line;

pub use acts::{Word, ask, order};
pub use answers::{let_go_on, waiting};
pub use picture::{Explained, Seen, explain, looked_at, picture};
pub use sight::{InWorktree, OnBoard, Subject, WorkArea, in_worktree, on_board};

/// More than a thousand snapshots of an agent with long names.
const LARGEST_RING: usize = 2 * 1024 * 1024;

/// How often agents are examined, within safe bounds.
pub fn interval(config: &OverseerConfig) -> Duration {
    let seconds = config.check_interval_seconds;
    Duration::from_secs_f64(if seconds.is_finite() { seconds.clamp(0.05, 3600.0) } else { 10.0 })
}

/// Publishes what was observed of an agent.
pub fn keep(ctx: &Context, agent: &AgentId, ring: &Ring) {
    ctx.machine.write_observation(agent, &to_json_line(ring));
}

/// Removes the observations of an ended session.
pub fn forget(ctx: &Context, agent: &AgentId) {
    let _ = fs::remove_file(ctx.machine.observation_file(agent));
}

/// Observations of agents that no runner runs any more.
pub fn of_the_dead(ctx: &Context, board: &Board) -> Vec<PathBuf> {
    let runs =
        |agent: &AgentId| board.agent(agent).and_then(|known| known.runner.as_ref()).is_some_and(host::lives);
    let left = ctx.machine.observed().into_iter().filter(|(agent, _)| !runs(agent));
    left.map(|(agent, _)| ctx.machine.observation_file(&agent)).collect()
}

/// What was observed of an agent; none if it cannot be read. Its own processes could have written there.
pub fn ring(ctx: &Context, agent: &AgentId) -> Option<Ring> {
    let (bytes, _) = read_whole(&ctx.machine.observation_file(agent), LARGEST_RING as u64).ok()?;
    let ring: Ring = read_foreign(&bytes, Limits::of_bytes(LARGEST_RING)).ok()?;
    ring.snapshots.iter().all(|one| &one.agent == agent).then_some(ring)
}
