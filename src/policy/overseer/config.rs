//! `overseer:` in liza.yaml.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OverseerConfig {
    pub enabled: bool,
    /// How often agents are looked at.
    pub check_interval_seconds: f64,
    /// How many looks are remembered for each agent.
    pub snapshot_history_size: usize,
    /// What a session may use where its role has no limit of its own.
    pub max_tokens: u64,
    pub token_warning_threshold: u64,
    pub timeout_seconds: u64,
    pub nudge_cooldown_seconds: u64,
    pub max_nudges_per_agent: u32,
    /// Without it, what would halt an agent is put before a person.
    pub halt_on_critical: bool,
    /// So many looks in a row at the same thing are a loop.
    pub loop_detection_window: usize,
    pub stagnation_token_threshold: u64,
    pub failure_increase_threshold: u64,
}

impl Default for OverseerConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            check_interval_seconds: 10.0,
            snapshot_history_size: 20,
            max_tokens: 150_000,
            token_warning_threshold: 100_000,
            timeout_seconds: 1800,
            nudge_cooldown_seconds: 60,
            max_nudges_per_agent: 5,
            halt_on_critical: true,
            loop_detection_window: 5,
            stagnation_token_threshold: 10_000,
            failure_increase_threshold: 5,
        }
    }
}
