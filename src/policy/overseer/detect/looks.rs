//! What detectors look at: one session without the time it was paused.

use crate::policy::overseer::snapshot::{AgentSnapshot, present_session};

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

/// Whether nothing came of the work in all this time. The steps count, not the ends: a tree that went and came back is
/// another matter.
pub fn no_progress(window: &[&AgentSnapshot]) -> bool {
    window.windows(2).all(|pair| !pair[1].progress_since(pair[0]))
}

/// How much a counter grew.
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
