//! The snapshots that detectors read: those of one session, without the time it was paused.

use crate::policy::overseer::config::OverseerConfig;
use crate::policy::overseer::snapshot::{AgentSnapshot, present_session};
use crate::policy::prelude::*;

/// Wall time and session time are counted in whole seconds and change at different moments; only a larger difference is
/// a pause.
const PAUSE_SHOWS_AFTER: i64 = 2;

/// Snapshots of one session, oldest first, without those during a pause.
pub struct SessionSnapshots<'h> {
    looks: Vec<&'h AgentSnapshot>,
}

impl<'h> SessionSnapshots<'h> {
    /// None if there is nothing to compare, or the session is paused.
    pub fn at(history: &'h [AgentSnapshot]) -> Option<Self> {
        let mut looks: Vec<&AgentSnapshot> = Vec::new();
        let mut paused = false;
        // The first snapshot with the current session time.
        let mut stands_since = None;
        for look in present_session(history) {
            let Some(last) = looks.last() else {
                stands_since = Some(look.time);
                looks.push(look);
                continue;
            };
            if look.elapsed_seconds < last.elapsed_seconds {
                // A clock that runs backwards belongs to another session.
                looks.clear();
            }
            if looks.last().is_none_or(|last| last.elapsed_seconds != look.elapsed_seconds) {
                stands_since = Some(look.time);
            }
            paused = stands_since.is_some_and(|since| look.time.since(since) >= PAUSE_SHOWS_AFTER);
            if !paused {
                looks.push(look);
            }
        }
        (!paused && looks.len() >= 2).then_some(Self { looks })
    }

    pub fn latest(&self) -> &'h AgentSnapshot {
        self.looks[self.looks.len() - 1]
    }

    pub fn all(&self) -> &[&'h AgentSnapshot] {
        &self.looks
    }

    /// The last `count` snapshots; none if there are fewer.
    pub fn last(&self, count: usize) -> Option<&[&'h AgentSnapshot]> {
        let count = count.max(2);
        self.looks.len().checked_sub(count).map(|from| &self.looks[from..])
    }
}

/// Whether the agent made no progress in all this time, step by step: a tree that changed and returned counts as
/// change. If no snapshot read the files, their state is unknown and nothing is reported.
pub fn no_progress(window: &[&AgentSnapshot]) -> bool {
    freshly_seen(window) && window.windows(2).all(|pair| !pair[1].progress_since(pair[0]))
}

/// Whether the last snapshot really read the files, and did not copy an earlier state. If an earlier snapshot of the
/// window is a copy, its changes show in the next one that is not.
pub fn freshly_seen(window: &[&AgentSnapshot]) -> bool {
    match window {
        [.., before, latest] => match latest.tree_seen_at {
            Some(_) => is_fresh(before, latest),
            // An agent without a worktree changes no files.
            None => latest.tree.is_none() && !writes(&latest.role),
        },
        _ => false,
    }
}

/// Whether the files were read between these snapshots.
pub fn is_fresh(before: &AgentSnapshot, look: &AgentSnapshot) -> bool {
    look.tree_seen_at.is_some_and(|seen| seen >= before.time)
}

/// Whether this role changes files. For a role that the project added, yes.
pub fn writes(role: &Role) -> bool {
    !role.judges() && !matches!(role.as_str(), "planner" | "overseer" | "supervisor" | "operator" | "auditor")
}

/// From this share of one processor on, a process computes, such as a build or a test; a provider that only talks needs
/// less.
const WORK_PER_CENT: u128 = 20;

/// Whether the agent's processes computed in this time.
pub fn busy(window: &[&AgentSnapshot], config: &OverseerConfig) -> bool {
    u128::from(grown(window, |look| look.cpu_ms)) * 100 >= millis(window, config) * WORK_PER_CENT
}

/// The duration of these snapshots, at least one millisecond.
fn millis(window: &[&AgentSnapshot], config: &OverseerConfig) -> u128 {
    // The session time is in whole seconds, so it may be off by half a second. Snapshots may be closer to each other.
    let planned = config.interval() * window.len().saturating_sub(1) as f64 * 1000.0;
    let passed = grown(window, |look| look.elapsed_seconds).saturating_mul(1000).saturating_sub(500);
    u128::from(passed.max(planned as u64).max(1))
}

/// An agent that polls waits between its calls: never this many calls per second.
const ASKS_PER_SECOND: u128 = 2;

/// Whether the same call comes too fast for polling.
pub fn hammers(window: &[&AgentSnapshot], config: &OverseerConfig) -> bool {
    let calls = u128::from(grown(window, |look| look.repeated_calls));
    calls * 1000 > millis(window, config) * ASKS_PER_SECOND
}

/// Whether a child process was there all the time. One snapshot without it does not matter.
pub fn children_stay(window: &[&AgentSnapshot]) -> bool {
    window.iter().filter(|look| !look.has_children()).count() <= 1
}

pub fn grown(window: &[&AgentSnapshot], counter: impl Fn(&AgentSnapshot) -> u64) -> u64 {
    match (window.first(), window.last()) {
        (Some(first), Some(last)) => counter(last).saturating_sub(counter(first)),
        _ => 0,
    }
}

/// `5 looks, 40 s`.
pub fn span(window: &[&AgentSnapshot]) -> String {
    format!("{} snapshots, {} s", window.len(), grown(window, |look| look.elapsed_seconds))
}
