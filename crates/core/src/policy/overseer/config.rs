//! `overseer:` in liza.yaml.

use std::{fmt::Display, ops::RangeInclusive};

use crate::policy::prelude::*;
use crate::policy::settings::whole;

settings! {
    pub struct OverseerConfig {
        pub enabled: bool = true,
        /// Seconds between two snapshots of an agent.
        pub check_interval_seconds: f64 = 10.0,
        /// How many snapshots are kept for each agent.
        #[serde(deserialize_with = "whole")]
        pub snapshot_history_size: usize = 20,
        /// The tokens that a session may use if its role has no limit; 0 means no limit.
        #[serde(deserialize_with = "whole")]
        pub max_tokens: u64 = 150_000,
        /// Below this many tokens, `max_tokens` causes no warning.
        #[serde(deserialize_with = "whole")]
        pub token_warning_threshold: u64 = 100_000,
        /// The seconds that a session may last if its role has no limit; 0 means no limit.
        #[serde(deserialize_with = "whole")]
        pub timeout_seconds: u64 = 1800,
        #[serde(deserialize_with = "whole")]
        pub nudge_cooldown_seconds: u64 = 60,
        /// The most nudges for one agent, over all its work; after that a person is asked.
        #[serde(deserialize_with = "whole")]
        pub max_nudges_per_agent: u32 = 5,
        /// If false, the overseer asks a person instead of halting an agent.
        pub halt_on_critical: bool = true,
        /// Seconds a person has to answer a question about an agent. An agent that still behaves that way afterwards is halted;
        /// without `halt_on_critical` the question is asked again.
        #[serde(deserialize_with = "whole")]
        pub answer_seconds: u64 = 300,
        /// This many snapshots in a row of the same call or file are a loop.
        #[serde(deserialize_with = "whole")]
        pub loop_detection_window: usize = 5,
        #[serde(deserialize_with = "whole")]
        pub stagnation_token_threshold: u64 = 10_000,
        #[serde(deserialize_with = "whole")]
        pub failure_increase_threshold: u64 = 5,
        /// After this time without any sign, an agent that holds work is suspected to be stuck. The overseer does
        /// nothing about it.
        #[serde(deserialize_with = "whole")]
        pub suspect_after_seconds: u64 = 900,
    }
}

const INTERVALS: RangeInclusive<f64> = 0.05..=3600.0;
const RINGS: RangeInclusive<usize> = 2..=1000;
/// At most a week: a project that wants no automatic halt sets `halt_on_critical: false`.
const ANSWERS: RangeInclusive<u64> = 1..=604_800;

fn within<N: PartialOrd + Display>(name: &str, value: N, range: &RangeInclusive<N>) -> Result<(), String> {
    if range.contains(&value) {
        return Ok(());
    }
    let (least, most) = (range.start(), range.end());
    Err(format!("`overseer.{name}` is {value}; it has to be from {least} to {most}"))
}

impl OverseerConfig {
    /// Refuses settings that contradict each other.
    pub fn check(&self) -> Result<(), String> {
        within("check_interval_seconds", self.check_interval_seconds, &INTERVALS)?;
        within("snapshot_history_size", self.snapshot_history_size, &RINGS)?;
        if !(2..=self.snapshot_history_size).contains(&self.loop_detection_window) {
            return Err(format!(
                "`overseer.loop_detection_window` is {}; it has to be from 2 to `snapshot_history_size`, {}: the \
                 detectors see no further back than the history",
                self.loop_detection_window, self.snapshot_history_size
            ));
        }
        within("answer_seconds", self.answer_seconds, &ANSWERS)
    }

    /// How many snapshots the ring keeps.
    pub(super) fn snapshots_kept(&self) -> usize {
        self.snapshot_history_size.clamp(*RINGS.start(), *RINGS.end())
    }

    pub(super) fn interval(&self) -> f64 {
        // `clamp` would let NaN through.
        self.check_interval_seconds.max(*INTERVALS.start()).min(*INTERVALS.end())
    }

    pub(super) fn loop_window(&self) -> usize {
        self.loop_detection_window.max(2)
    }

    /// How long an agent has to react to a nudge before it is halted for the same behaviour: one window.
    pub fn patience_seconds(&self) -> u64 {
        (self.interval() * self.loop_window() as f64).ceil() as u64
    }

    /// The time that the kept snapshots cover.
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
    fn numbers_are_read_as_the_document_writes_them() {
        let read = |text: &str| serde_json::from_str::<OverseerConfig>(text);
        let config = read(
            r#"{"check_interval_seconds": 10.0, "nudge_cooldown_seconds": 60.0, "max_nudges_per_agent": 5.0,
            "max_tokens": 150000, "loop_detection_window": 5.0}"#,
        );
        assert_eq!(config.expect("settings"), OverseerConfig::default());
        for wrong in ["60.5", "-1", "-1.0", "1e300", "true", r#""60""#] {
            assert!(read(&format!(r#"{{"nudge_cooldown_seconds": {wrong}}}"#)).is_err(), "{wrong}");
        }
        assert!(read(r#"{"max_nudges_per_agent": 5000000000.0}"#).is_err());
    }

    #[test]
    fn invalid_overseer_value_is_refused_by_name() {
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
