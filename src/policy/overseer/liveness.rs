//! Whether an agent lives, from several signs that may contradict each other.

use serde::Serialize;

use super::config::OverseerConfig;
use super::snapshot::AgentSnapshot;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    Live,
    /// Nothing is heard of it, and something of it works.
    Quiet,
    /// Nothing is heard of it and nothing of it works; it may wait for an answer.
    Suspect,
    Dead,
}

/// What is known beside the snapshots.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Signals {
    /// Its runner's process lives; unknown if it has none.
    pub runner_lives: Option<bool>,
    pub lease_expired: bool,
    /// Since it was last heard of on the board.
    pub seconds_since_heartbeat: u64,
    /// Since its last snapshot was taken.
    pub seconds_since_snapshot: Option<u64>,
    pub holds_work: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Liveness {
    pub grade: Grade,
    /// The signs that decided, in words.
    pub because: Vec<String>,
}

pub fn liveness(_history: &[AgentSnapshot], _signals: &Signals, _config: &OverseerConfig) -> Liveness {
    Liveness { grade: Grade::Live, because: Vec::new() }
}
