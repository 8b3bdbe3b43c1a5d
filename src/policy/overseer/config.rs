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
    /// What a session may use where its role has no limit of its own; 0 means no limit.
    pub max_tokens: u64,
    /// Below so many tokens nobody is warned by `max_tokens`.
    pub token_warning_threshold: u64,
    /// How long a session may last where its role has no limit of its own; 0 means no limit.
    pub timeout_seconds: u64,
    pub nudge_cooldown_seconds: u64,
    /// For one agent on one task; after that a person is asked.
    pub max_nudges_per_agent: u32,
    /// Without it, what would halt an agent is put before a person.
    pub halt_on_critical: bool,
    /// Seconds a person has to answer a question about an agent. An agent that still behaves that way afterwards is halted;
    /// without `halt_on_critical` the question is asked again.
    pub answer_seconds: u64,
    /// So many looks in a row at the same thing are a loop.
    pub loop_detection_window: usize,
    pub stagnation_token_threshold: u64,
    pub failure_increase_threshold: u64,
    /// After so long without any sign an agent that holds work is suspected to be stuck. It is not touched for that.
    pub suspect_after_seconds: u64,
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
            answer_seconds: 300,
            loop_detection_window: 5,
            stagnation_token_threshold: 10_000,
            failure_increase_threshold: 5,
            suspect_after_seconds: 900,
        }
    }
}

const INTERVALS: std::ops::RangeInclusive<f64> = 0.05..=3600.0;
const RINGS: std::ops::RangeInclusive<usize> = 2..=1000;
/// At most a week: a project that wants no automatic halt sets `halt_on_critical: false`.
const ANSWERS: std::ops::RangeInclusive<u64> = 1..=604_800;

impl OverseerConfig {
    /// What of it cannot be meant.
    pub fn check(&self) -> Result<(), String> {
        if !INTERVALS.contains(&self.check_interval_seconds) {
            return Err(format!(
                "`overseer.check_interval_seconds` is {}; it has to be from {} to {}",
                self.check_interval_seconds,
                INTERVALS.start(),
                INTERVALS.end()
            ));
        }
        if !RINGS.contains(&self.snapshot_history_size) {
            return Err(format!(
                "`overseer.snapshot_history_size` is {}; it has to be from {} to {}",
                self.snapshot_history_size,
                RINGS.start(),
                RINGS.end()
            ));
        }
        if !(2..=self.snapshot_history_size).contains(&self.loop_detection_window) {
            return Err(format!(
                "`overseer.loop_detection_window` is {}; it has to be from 2 to `snapshot_history_size`, {}: nobody sees \
                 further back than is remembered",
                self.loop_detection_window, self.snapshot_history_size
            ));
        }
        if !ANSWERS.contains(&self.answer_seconds) {
            return Err(format!(
                "`overseer.answer_seconds` is {}; it has to be from {} to {}",
                self.answer_seconds,
                ANSWERS.start(),
                ANSWERS.end()
            ));
        }
        Ok(())
    }

    /// How many looks the ring keeps.
    pub(super) fn kept(&self) -> usize {
        self.snapshot_history_size.clamp(*RINGS.start(), *RINGS.end())
    }

    pub(super) fn interval(&self) -> f64 {
        // Not `clamp`: that lets NaN through.
        self.check_interval_seconds.max(*INTERVALS.start()).min(*INTERVALS.end())
    }

    pub(super) fn loop_window(&self) -> usize {
        self.loop_detection_window.max(2)
    }

    /// How long an agent has to do something about a nudge before it is halted for the same: one window.
    pub fn patience_seconds(&self) -> u64 {
        (self.interval() * self.loop_window() as f64).ceil() as u64
    }

    /// How far back looks go.
    pub(super) fn remembered_seconds(&self) -> u64 {
        (self.interval() * self.snapshot_history_size as f64).ceil() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_the_documented_ones_and_hold() {
        let config = OverseerConfig::default();
        assert_eq!(config.check(), Ok(()));
        assert_eq!((config.check_interval_seconds, config.snapshot_history_size), (10.0, 20));
        assert_eq!((config.max_tokens, config.token_warning_threshold), (150_000, 100_000));
        assert_eq!((config.timeout_seconds, config.suspect_after_seconds), (1800, 900));
        assert_eq!((config.nudge_cooldown_seconds, config.max_nudges_per_agent), (60, 5));
        assert!(config.enabled && config.halt_on_critical);
        assert_eq!(config.answer_seconds, 300);
        assert_eq!((config.loop_detection_window, config.stagnation_token_threshold), (5, 10_000));
        assert_eq!((config.failure_increase_threshold, config.patience_seconds()), (5, 50));
    }

    #[test]
    fn what_cannot_be_meant_is_refused_by_name() {
        let wrong = |change: &dyn Fn(&mut OverseerConfig)| {
            let mut config = OverseerConfig::default();
            change(&mut config);
            config.check().expect_err("it cannot be meant")
        };
        assert!(wrong(&|config| config.check_interval_seconds = 0.0).contains("check_interval_seconds"));
        assert!(wrong(&|config| config.check_interval_seconds = f64::NAN).contains("check_interval_seconds"));
        assert!(wrong(&|config| config.snapshot_history_size = 1).contains("snapshot_history_size"));
        assert!(wrong(&|config| config.loop_detection_window = 21).contains("loop_detection_window"));
        assert!(wrong(&|config| config.loop_detection_window = 0).contains("loop_detection_window"));
        assert!(wrong(&|config| config.answer_seconds = 0).contains("answer_seconds"));
        assert!(wrong(&|config| config.answer_seconds = 604_801).contains("answer_seconds"));
    }
}
