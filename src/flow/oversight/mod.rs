//! What runners see of their agents, and who may look at it. What is kept is disposable: without it nothing is judged.

mod acts;
mod answers;
mod picture;
mod sight;

use std::path::PathBuf;
use std::time::Duration;

use crate::board::{AgentId, Board};
use crate::policy::overseer::{OverseerConfig, Ring};
use crate::store::files::{self, FileIdentity, read_whole};
use crate::store::layout::Layout;
use crate::wire::{Limits, read_foreign, to_json_line};

use super::context::Context;

pub use acts::{Ordered, Word, ask, order};
pub use answers::{let_go_on, waiting};
pub use picture::{Explained, Seen, explain, looked_at, picture};
pub use sight::{InWorktree, OnBoard, Place, Subject, in_worktree, on_board};

/// More than a thousand snapshots of an agent with long names.
const LARGEST_RING: usize = 2 * 1024 * 1024;

/// How often agents are looked at, whatever somebody wrote.
pub fn interval(config: &OverseerConfig) -> Duration {
    let seconds = config.check_interval_seconds;
    Duration::from_secs_f64(if seconds.is_finite() { seconds.clamp(0.05, 3600.0) } else { 10.0 })
}

fn path_of(layout: &Layout, agent: &AgentId) -> PathBuf {
    layout.overseer().join(format!("{agent}.json"))
}

/// Puts what was seen of an agent where others find it.
pub fn keep(ctx: &Context, agent: &AgentId, ring: &Ring) {
    let layout = ctx.store.layout();
    // Whoever cannot write it down goes on all the same.
    if files::make_private_dir(&layout.overseer()).is_ok() {
        let _ = files::replace_disposable(&path_of(layout, agent), to_json_line(ring).as_bytes());
    }
}

/// The session is over, and with it what was seen of it.
pub fn forget(ctx: &Context, agent: &AgentId) {
    let _ = std::fs::remove_file(path_of(ctx.store.layout(), agent));
}

/// Agents of whom something was seen, with what tells one writing from the next.
pub fn watched(ctx: &Context) -> Vec<(AgentId, FileIdentity)> {
    let entries = std::fs::read_dir(ctx.store.layout().overseer()).into_iter().flatten().flatten();
    let mut found: Vec<(AgentId, FileIdentity)> = entries
        .filter_map(|entry| {
            let agent = AgentId::new(entry.file_name().to_str()?.strip_suffix(".json")?).ok()?;
            Some((agent, FileIdentity::at(&entry.path()).ok()?))
        })
        .collect();
    found.sort_by(|one, other| one.0.cmp(&other.0));
    found
}

/// What is left of agents whom nobody runs any more.
pub fn of_the_dead(ctx: &Context, board: &Board) -> Vec<PathBuf> {
    let runs = |agent: &AgentId| {
        board.agent(agent).and_then(|known| known.runner.as_ref()).is_some_and(crate::host::lives)
    };
    let left = watched(ctx).into_iter().filter(|(agent, _)| !runs(agent));
    left.map(|(agent, _)| path_of(ctx.store.layout(), &agent)).collect()
}

/// What was seen of an agent; nothing, if it cannot be read. Its own processes could have written there.
pub fn ring(ctx: &Context, agent: &AgentId) -> Option<Ring> {
    let (bytes, _) = read_whole(&path_of(ctx.store.layout(), agent), LARGEST_RING as u64).ok()?;
    let ring: Ring = read_foreign(&bytes, Limits::of_bytes(LARGEST_RING)).ok()?;
    ring.snapshots.iter().all(|one| &one.agent == agent).then_some(ring)
}
