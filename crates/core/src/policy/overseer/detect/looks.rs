//! What detectors look at: one session without the time it was paused.

use crate::policy::overseer::config::OverseerConfig;
use crate::policy::overseer::snapshot::{AgentSnapshot, present_session};
use crate::policy::prelude::*;

/// Wall time and the session's own are counted in whole seconds and turn over at different moments; only so many seconds
/// of one without the other are a pause.
const PAUSE_SHOWS_AFTER: i64 = 2;

/// Looks at one session, the oldest first; those during a pause are left out.
pub struct Looks<'h> {
    looks: Vec<&'h AgentSnapshot>,
}

impl<'h> Looks<'h> {
    /// None if there is nothing to compare, or the session is paused.
    pub fn at(history: &'h [AgentSnapshot]) -> Option<Self> {
        let mut looks: Vec<&AgentSnapshot> = Vec::new();
        let mut paused = false;
        // When the clock of the session was first seen where it stands.
        let mut stands_since = None;
        for look in present_session(history) {
            let Some(last) = looks.last() else {
                stands_since = Some(look.time);
                looks.push(look);
                continue;
            };
            if look.elapsed_seconds < last.elapsed_seconds {
                // No clock runs backwards: what was before is of something else.
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

    /// The last so many; none if there were not that many.
    pub fn last(&self, count: usize) -> Option<&[&'h AgentSnapshot]> {
        let count = count.max(2);
        self.looks.len().checked_sub(count).map(|from| &self.looks[from..])
    }
}

/// Whether the agent made no progress in all this time. The steps count, not the ends: a tree that went and came back is
/// another matter. Where no look read the files, nothing is known of them and nothing is reported.
pub fn no_progress(window: &[&AgentSnapshot]) -> bool {
    freshly_seen(window) && window.windows(2).all(|pair| !pair[1].progress_since(pair[0]))
}

/// Whether the files were looked at for the last of these looks, and not only copied from an earlier one. If an earlier
/// look of the window is a copy, what changed meanwhile shows at the next that is none.
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

/// Whether the files were looked at since the look before.
pub fn is_fresh(before: &AgentSnapshot, look: &AgentSnapshot) -> bool {
    look.tree_seen_at.is_some_and(|seen| seen >= before.time)
}

/// Whether files are what comes of this role's work. Of a role that the project added, it is supposed.
pub fn writes(role: &Role) -> bool {
    !role.judges() && !matches!(role.as_str(), "planner" | "overseer" | "supervisor" | "operator" | "auditor")
}

/// From this share of one processor on something is computed, such as a build or a test; a provider that only talks needs
/// less.
const WORK_PER_CENT: u128 = 20;

/// Whether its processes computed something in this time.
pub fn busy(window: &[&AgentSnapshot], config: &OverseerConfig) -> bool {
    u128::from(grown(window, |look| look.cpu_ms)) * 100 >= millis(window, config) * WORK_PER_CENT
}

/// How long these looks took, at least one millisecond.
fn millis(window: &[&AgentSnapshot], config: &OverseerConfig) -> u128 {
    // The session's clock counts whole seconds: half of one more or less. Looks may be closer to each other.
    let planned = config.interval() * window.len().saturating_sub(1) as f64 * 1000.0;
    let passed = grown(window, |look| look.elapsed_seconds).saturating_mul(1000).saturating_sub(500);
    u128::from(passed.max(planned as u64).max(1))
}

/// An agent that waits asks, and waits before it asks again: never so many times in a second.
const ASKS_PER_SECOND: u128 = 2;

/// Whether the same call comes too fast to be a way of waiting for something.
pub fn hammers(window: &[&AgentSnapshot], config: &OverseerConfig) -> bool {
    let calls = u128::from(grown(window, |look| look.repeated_calls));
    calls * 1000 > millis(window, config) * ASKS_PER_SECOND
}

/// Whether something that the agent started was there all the time. One look without it decides nothing.
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
    format!("{} looks, {} s", window.len(), grown(window, |look| look.elapsed_seconds))
}
