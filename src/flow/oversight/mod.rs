//! Runners' observations of their agents. The files are disposable: without them the overseer judges nothing.

mod acts;
mod answers;
mod overview;
mod sight;

use crate::flow::prelude::*;
use crate::policy::overseer::Ring;
use crate::wire::to_json_line;

pub use acts::{Order, ask, issue};
pub use answers::{allow_to_continue, waiting};
pub use overview::{AgentView, Explained, explain, live_observations, overview};
pub use sight::{InWorktree, OnBoard, Subject, WorkArea, in_worktree, on_board};

/// More than a thousand snapshots of an agent with long names.
const LARGEST_RING: usize = 2 * 1024 * 1024;

/// How often agents are examined, within safe bounds.
pub fn interval(config: &OverseerConfig) -> Duration {
    let seconds = config.check_interval_seconds;
    Duration::from_secs_f64(if seconds.is_finite() { seconds.clamp(0.05, 3600.0) } else { 10.0 })
}

/// Publishes the observations of an agent.
pub fn keep(ctx: &Context, agent: &AgentId, ring: &Ring) {
    ctx.machine.write_observation(agent, &to_json_line(ring));
}

/// Removes the observations of an ended session.
pub fn forget(ctx: &Context, agent: &AgentId) {
    let _ = fs::remove_file(ctx.machine.observation_file(agent));
}

/// Observation files of agents without a runner.
pub fn without_runner(ctx: &Context, board: &Board) -> Vec<PathBuf> {
    let runs =
        |agent: &AgentId| board.agent(agent).and_then(|known| known.runner.as_ref()).is_some_and(host::lives);
    let left = ctx.machine.observed().into_iter().filter(|(agent, _)| !runs(agent));
    left.map(|(agent, _)| ctx.machine.observation_file(&agent)).collect()
}

/// The published observations of an agent; none if unreadable. The agent's own processes could have written them.
pub fn ring(ctx: &Context, agent: &AgentId) -> Option<Ring> {
    let (bytes, _) = read_whole(&ctx.machine.observation_file(agent), LARGEST_RING as u64).ok()?;
    let ring: Ring = read_foreign(&bytes, Limits::of_bytes(LARGEST_RING)).ok()?;
    ring.snapshots.iter().all(|one| &one.agent == agent).then_some(ring)
}
