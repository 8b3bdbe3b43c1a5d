//! A session has nearly used up its tokens or time. The agent does nothing wrong; what is left is for saving the work.
//!
//! A limit of the role is kept by the runner, which asks for a handoff when it is reached. To halt shortly before would
//! only prevent that handoff, so there the overseer nudges the agent twice and does no more. It halts only for its own
//! limits: they hold where the role has none and has not said that there shall be none.

use super::{measure::Measure, session_snapshots::SessionSnapshots};
use crate::policy::{overseer::*, prelude::*};

const WARNING_PER_CENT: u128 = 75;
const CRITICAL_PER_CENT: u128 = 90;

/// The use of one resource.
struct Share {
    behaviour: Behaviour,
    used: u64,
    /// None without a limit.
    limit: Option<u64>,
    /// The runner ends the session at this limit.
    of_role: bool,
    /// The overseer does not warn below this amount.
    from: u64,
    what: &'static str,
}

impl Share {
    /// The amount that is this percentage of the limit.
    fn at(&self, limit: u64, per_cent: u128) -> u64 {
        let share = (u128::from(limit) * per_cent).div_ceil(100);
        u64::try_from(share).unwrap_or(u64::MAX).max(self.from)
    }

    fn measure(&self, what: &'static str) -> Measure {
        let measure = |limit| Measure::new(self.behaviour, what, self.used, self.at(limit, WARNING_PER_CENT));
        let unlimited = || Measure { behaviour: self.behaviour, what, now: self.used, alarm: None };
        self.limit.map_or_else(unlimited, measure)
    }

    fn detect(&self, latest: &AgentSnapshot) -> Option<Detection> {
        let (used, limit, what) = (self.used, self.limit?, self.what);
        let per_cent = u128::from(used) * 100 / u128::from(limit.max(1));
        let mut evidence = vec![
            format!("{used} of {limit} {what} are used, {per_cent} %"),
            format!("{} {what} are left", limit.saturating_sub(used)),
        ];
        if self.of_role {
            evidence.push("at the limit its runner asks for a handoff and ends the session".to_owned());
        }
        if used < self.at(limit, CRITICAL_PER_CENT) {
            return Some(Detection::warning(self.behaviour, latest, 1.0, evidence));
        }
        let critical = Detection::critical(self.behaviour, latest, 1.0, evidence);
        Some(if self.of_role { Detection { suggested: Action::Nudge, ..critical } } else { critical })
    }
}

fn of_tokens(latest: &AgentSnapshot, config: &OverseerConfig) -> Share {
    let own = latest.token_limit.filter(|limit| *limit > 0);
    let general = !latest.no_token_limit && config.max_tokens > 0;
    let limit = own.or(general.then_some(config.max_tokens));
    let from = if own.is_some() { 0 } else { config.token_warning_threshold.saturating_add(1) };
    let (behaviour, used) = (Behaviour::TokenExhaustion, latest.tokens);
    Share { behaviour, used, limit, of_role: own.is_some(), from, what: "tokens" }
}

fn of_time(latest: &AgentSnapshot, config: &OverseerConfig) -> Share {
    let own = latest.wall_limit.filter(|limit| *limit > 0);
    let general = !latest.no_wall_limit && config.timeout_seconds > 0;
    let limit = own.or(general.then_some(config.timeout_seconds));
    let (behaviour, used) = (Behaviour::Timeout, latest.elapsed_seconds);
    Share { behaviour, used, limit, of_role: own.is_some(), from: 0, what: "seconds" }
}

pub fn measure_tokens(looks: &SessionSnapshots<'_>, config: &OverseerConfig) -> Measure {
    of_tokens(looks.latest(), config)
        .measure("tokens of the session; reported from three quarters of what it may use")
}

pub fn measure_time(looks: &SessionSnapshots<'_>, config: &OverseerConfig) -> Measure {
    of_time(looks.latest(), config)
        .measure("seconds of the session; reported from three quarters of its time")
}

pub fn detect_tokens(looks: &SessionSnapshots<'_>, config: &OverseerConfig) -> Option<Detection> {
    of_tokens(looks.latest(), config).detect(looks.latest())
}

pub fn detect_time(looks: &SessionSnapshots<'_>, config: &OverseerConfig) -> Option<Detection> {
    of_time(looks.latest(), config).detect(looks.latest())
}
