//! The limits of a board.

use super::prelude::*;

record! {
    pub struct Config {
        pub integration_branch: String,
        #[serde(default = "defaults::max_coder_iterations")]
        pub max_coder_iterations: u32,
        #[serde(default = "defaults::max_review_cycles")]
        pub max_review_cycles: u32,
        /// How often a task may be handed off, or taken over from an expired lease, without a submission.
        #[serde(default = "defaults::max_handoffs", skip_serializing_if = "is_usual_max_handoffs")]
        pub max_handoffs: u32,
        /// Rejections of one agent in a row that block a task.
        #[serde(default = "defaults::breaker_rejections")]
        pub breaker_rejections: u32,
        #[serde(default = "defaults::lease_seconds")]
        pub lease_seconds: u64,
        #[serde(default = "defaults::heartbeat_seconds")]
        pub heartbeat_seconds: u64,
        /// Critical assumptions a checkpoint may make.
        #[serde(default = "defaults::assumption_budget")]
        pub assumption_budget: u32,
        /// Two rejection reasons at least this alike count as the same.
        #[serde(default = "defaults::same_reason_ratio")]
        pub same_reason_ratio: f64,
        /// How long a blocked task keeps its paths.
        #[serde(default = "defaults::blocked_hold_seconds")]
        pub blocked_hold_seconds: u64,
        #[serde(default = "defaults::validation_timeout_seconds")]
        pub validation_timeout_seconds: u64,
        /// How many agents `run` keeps busy; this number never limits a claim.
        #[serde(default = "defaults::max_parallel")]
        pub max_parallel: u32,
    }
}

mod defaults {
    pub fn max_coder_iterations() -> u32 {
        10
    }
    pub fn max_review_cycles() -> u32 {
        5
    }
    pub fn max_handoffs() -> u32 {
        10
    }
    pub fn breaker_rejections() -> u32 {
        3
    }
    pub fn lease_seconds() -> u64 {
        1800
    }
    pub fn heartbeat_seconds() -> u64 {
        60
    }
    pub fn assumption_budget() -> u32 {
        3
    }
    pub fn same_reason_ratio() -> f64 {
        0.85
    }
    pub fn blocked_hold_seconds() -> u64 {
        3600
    }
    pub fn validation_timeout_seconds() -> u64 {
        600
    }
    pub fn max_parallel() -> u32 {
        4
    }
}

/// This limit is newer than the others: a board without it keeps its text.
fn is_usual_max_handoffs(max: &u32) -> bool {
    *max == defaults::max_handoffs()
}

impl Config {
    pub fn new(integration_branch: &str) -> Self {
        Self {
            integration_branch: integration_branch.to_owned(),
            max_coder_iterations: defaults::max_coder_iterations(),
            max_review_cycles: defaults::max_review_cycles(),
            max_handoffs: defaults::max_handoffs(),
            breaker_rejections: defaults::breaker_rejections(),
            lease_seconds: defaults::lease_seconds(),
            heartbeat_seconds: defaults::heartbeat_seconds(),
            assumption_budget: defaults::assumption_budget(),
            same_reason_ratio: defaults::same_reason_ratio(),
            blocked_hold_seconds: defaults::blocked_hold_seconds(),
            validation_timeout_seconds: defaults::validation_timeout_seconds(),
            max_parallel: defaults::max_parallel(),
        }
    }

    /// Every invalid limit, as the field and the reason.
    pub fn problems(&self) -> Vec<(&'static str, String)> {
        let mut found = Vec::new();
        let mut zero = |field: &'static str, is_zero: bool| {
            if is_zero {
                found.push((field, "must be at least 1".to_owned()));
            }
        };
        zero("config.max_coder_iterations", self.max_coder_iterations == 0);
        zero("config.max_review_cycles", self.max_review_cycles == 0);
        zero("config.max_handoffs", self.max_handoffs == 0);
        zero("config.breaker_rejections", self.breaker_rejections == 0);
        zero("config.lease_seconds", self.lease_seconds == 0);
        zero("config.heartbeat_seconds", self.heartbeat_seconds == 0);
        zero("config.validation_timeout_seconds", self.validation_timeout_seconds == 0);
        zero("config.max_parallel", self.max_parallel == 0);
        // A holder that renews on time must never lose its lease to a single late heartbeat.
        if self.lease_seconds.saturating_mul(2) < self.heartbeat_seconds.saturating_mul(3) {
            found.push((
                "config.lease_seconds",
                format!(
                    "must be at least 1.5 times heartbeat_seconds ({}), so that one late heartbeat loses nothing",
                    self.heartbeat_seconds
                ),
            ));
        }
        if !(0.0..=1.0).contains(&self.same_reason_ratio) {
            found.push(("config.same_reason_ratio", "must lie between 0 and 1".to_owned()));
        }
        found
    }
}
