//! The kept snapshots of one agent, and facts that must be known for longer.

use super::config::OverseerConfig;
use super::detect::at_this_look;
use super::episode;
use super::snapshot::{AgentSnapshot, present_session};
use crate::policy::prelude::*;

/// The snapshots of one agent, oldest first.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Ring {
    pub snapshots: Vec<AgentSnapshot>,
}

impl Ring {
    /// Adds a snapshot, with the facts that must outlive the ring.
    pub fn push(&mut self, mut snapshot: AgentSnapshot, config: &OverseerConfig) {
        let before = self.snapshots.last().filter(|before| before.same_session(&snapshot)).cloned();
        let fewest = before.as_ref().map_or(snapshot.processes, |before| before.fewest_processes);
        snapshot.fewest_processes = fewest.min(snapshot.processes);
        snapshot.still_seconds = before.as_ref().map_or(0, |before| snapshot.still_after(before));
        snapshot.episodes = Vec::new();
        self.snapshots.push(snapshot);
        let too_many = self.snapshots.len().saturating_sub(config.snapshots_kept());
        self.snapshots.drain(..too_many);
        let found = at_this_look(&self.snapshots, config);
        if let Some(latest) = self.snapshots.last_mut() {
            latest.episodes = episode::at_look(before.as_ref(), latest, &found, config.loop_window());
        }
    }

    /// The snapshots of the current session.
    pub fn session(&self) -> &[AgentSnapshot] {
        present_session(&self.snapshots)
    }
}
