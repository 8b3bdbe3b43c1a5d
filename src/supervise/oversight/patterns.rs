//! Patterns across tasks: the circuit breaker trips, reports the trip, and sets the switch of its response.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::flow::breaker;
use crate::policy::breaker::BreakerConfig;

use super::super::prelude::*;
use super::Looked;

/// How often the breaker reads whole tasks: their heads do not show all, such as a red gate before a verdict.
const WHOLE: Duration = Duration::from_secs(60);

#[derive(Default)]
pub struct Patterns {
    /// The revision and monotonic time of the last look, brief or whole.
    looked: Option<(u64, u64)>,
    /// The same for the last look at whole tasks, and the outline of the board then.
    whole: Option<(u64, u64, u64)>,
    /// The last valid settings of liza.yaml.
    config: BreakerConfig,
}

impl Patterns {
    /// Looks only at a changed board: time alone makes no pattern.
    pub fn look(&mut self, ctx: &Context, revision: u64) -> Looked {
        let mut looked = Looked::default();
        let now = ctx.now.monotonic;
        if let Some((seen, at)) = self.looked {
            let due =
                self.whole.filter(|(of, ..)| *of != revision).map(|(_, _, at)| time_left(at, now, WHOLE));
            if seen == revision && due.is_none_or(|due| !due.is_zero()) {
                looked.again_in = due;
                return looked;
            }
            let rest = time_left(at, now, breaker_rest());
            if !rest.is_zero() {
                looked.again_in = Some(rest);
                return looked;
            }
        }
        self.looked = Some((revision, now));
        match self.evaluate(ctx, revision) {
            Ok(done) => looked.done = done,
            Err(failure) => {
                // Look again after the rest, even if the board has not changed by then.
                self.looked = Some((u64::MAX, now));
                looked.again_in = Some(breaker_rest());
                looked.troubles.push(format!("the breaker could not read the tasks: {}", failure.message));
            }
        }
        looked
    }

    fn evaluate(&mut self, ctx: &Context, revision: u64) -> Result<Vec<String>, Failure> {
        let now = ctx.now.monotonic;
        let board = ctx.read(&Needs::Nothing)?.board;
        let seen = outline(&board);
        let whole_is_due =
            self.whole.is_none_or(|(_, outline, at)| outline != seen || time_left(at, now, WHOLE).is_zero());
        if !whole_is_due && !breaker::is_unfinished(&board.rest.circuit_breaker) {
            return Ok(Vec::new());
        }
        if let Ok(config) = ctx.project_config() {
            self.config = config.breaker;
        }
        let done = breaker::look(ctx, &self.config)?;
        self.whole = Some((revision, seen, now));
        Ok(done)
    }
}

fn time_left(since: u64, now: u64, span: Duration) -> Duration {
    let gone = Duration::from_nanos(now.saturating_sub(since));
    span.saturating_sub(gone)
}

/// A hash that changes with nearly all events that patterns consist of, but not with heartbeats.
fn outline(board: &Board) -> u64 {
    let mut hasher = DefaultHasher::new();
    let rest = &board.rest;
    for anomaly in &rest.anomalies {
        (&anomaly.id, anomaly.processed_by.as_ref().map(|by| by.as_str())).hash(&mut hasher);
    }
    for crash in &rest.circuit_breaker.crashes {
        (crash.time.0, crash.agent.as_str()).hash(&mut hasher);
    }
    for trip in &rest.circuit_breaker.trips {
        (&trip.id, trip.resolved.is_some()).hash(&mut hasher);
    }
    for task in &board.tasks {
        (task.id.as_str(), task.status, task.review_cycles_total, task.superseded_by.len()).hash(&mut hasher);
    }
    hasher.finish()
}
