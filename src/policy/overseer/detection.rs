//! The seven ways of getting nowhere, one small detector each.

use serde::Serialize;

use crate::board::AgentId;
use crate::board::oversight::{Action, Behaviour, Gravity};

use super::config::OverseerConfig;
use super::snapshot::AgentSnapshot;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Detection {
    pub behaviour: Behaviour,
    pub agent: AgentId,
    pub severity: Gravity,
    pub confidence: f64,
    /// Numbers and names, each a line that a person can check.
    pub evidence: Vec<String>,
    pub suggested: Action,
}

/// Everything that is the matter with one session; `history` is of that session, the oldest first.
pub fn detect(_history: &[AgentSnapshot], _config: &OverseerConfig) -> Vec<Detection> {
    Vec::new()
}
