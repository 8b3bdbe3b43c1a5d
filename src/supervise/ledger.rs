//! The usage of a session, and how much of it is on the board. The runner records usage while the session goes on, so
//! that little is lost if the runner dies; at the end it records only the rest.

use super::output::{Gauge, in_unit_of};
use super::prelude::*;
use crate::board::spent::Spent;

/// Shared by the session, its lease renewer and its runner.
#[derive(Clone)]
pub struct Ledger {
    task: Option<TaskId>,
    kind: SessionKind,
    /// The round of the task when the session started.
    round: Option<u32>,
    booked: Arc<Mutex<Spent>>,
}

impl Ledger {
    pub fn new(task: Option<TaskId>, kind: SessionKind, round: Option<u32>) -> Self {
        Self { task, kind, round, booked: Arc::default() }
    }

    /// Whether the session used something since the last record. Time alone is recorded with the rest.
    fn has_more(&self, usage: &Usage) -> bool {
        let booked = self.booked.lock().unwrap_or_else(PoisonError::into_inner);
        let rest = spent(usage, Duration::ZERO).since(&booked);
        !Spent { sessions: 0, seconds: 0, ..rest }.is_nothing()
    }

    /// Records on the board what was used since the last record; the first record also counts the session.
    pub fn book(
        &self,
        usage: &Usage,
        took: Duration,
        commit: impl FnOnce(RecordUsage) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut booked = self.booked.lock().unwrap_or_else(PoisonError::into_inner);
        let rest = spent(usage, took).since(&booked);
        if rest.is_nothing() {
            return Ok(());
        }
        commit(RecordUsage { task: self.task.clone(), kind: self.kind, round: self.round, spent: rest })?;
        booked.add(&rest);
        Ok(())
    }

    /// The caps as used by other sessions and earlier sessions of this agent. No usage is booked while the board is read.
    pub fn without_this_session<E>(
        &self,
        read: impl FnOnce() -> Result<Vec<CapUse>, E>,
    ) -> Result<Vec<CapUse>, E> {
        let booked = self.booked.lock().unwrap_or_else(PoisonError::into_inner);
        let mut uses = read()?;
        for cap in &mut uses {
            cap.used = (cap.used - in_unit_of(cap, booked.tokens(), booked.cost_usd)).max(0.0);
        }
        Ok(uses)
    }
}

fn spent(used: &Usage, took: Duration) -> Spent {
    let cost = used.cost_usd.filter(|cost| cost.is_finite() && *cost > 0.0);
    Spent {
        sessions: 1,
        turns: used.turns,
        tool_calls: used.tool_calls,
        input_tokens: used.input_tokens,
        output_tokens: used.output_tokens,
        cached_tokens: used.cached_tokens,
        cost_usd: cost.unwrap_or(0.0),
        // Rounded to whole seconds.
        seconds: (took + Duration::from_millis(500)).as_secs(),
    }
}

/// The usage that the lease renewer records while the session goes on.
pub struct Booking {
    pub ledger: Ledger,
    pub gauge: Gauge,
    pub began: Instant,
    pub every: Duration,
}

impl Booking {
    pub fn is_due(&self) -> bool {
        self.ledger.has_more(&self.gauge.usage())
    }

    /// If the board cannot be changed now, the next call records it.
    pub fn book(&self, ctx: &crate::flow::Context) {
        let commit = |record: RecordUsage| ctx.commit_step(record).map(|_| ());
        let _ = self.ledger.book(&self.gauge.usage(), self.began.elapsed(), commit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::caps::Unit;

    fn usage(tokens: u64, cost: f64) -> Usage {
        Usage { input_tokens: tokens, turns: 1, cost_usd: Some(cost), ..Usage::default() }
    }

    #[test]
    fn only_new_usage_is_booked_and_session_once() {
        let ledger = Ledger::new(None, SessionKind::Plan, None);
        let mut sum = Spent::default();
        let mut commits = 0;
        for (tokens, cost, seconds) in [(10, 0.5, 3), (10, 0.5, 4), (40, 0.75, 9), (30, 0.25, 12)] {
            let took = Duration::from_secs(seconds);
            let booked = ledger.book(&usage(tokens, cost), took, |record| {
                commits += 1;
                sum.add(&record.spent);
                Ok(())
            });
            assert!(booked.is_ok());
        }
        assert_eq!(commits, 4);
        assert_eq!((sum.sessions, sum.turns, sum.input_tokens, sum.seconds), (1, 1, 40, 12));
        assert!((sum.cost_usd - 0.75).abs() < 1e-9, "{sum:?}");
        assert!(!ledger.has_more(&usage(40, 0.75)) && ledger.has_more(&usage(41, 0.75)));
        // Usage that could not be recorded is recorded the next time.
        let failed = ledger.book(&usage(50, 0.75), Duration::from_secs(12), |_| {
            Err(Failure::new(crate::flow::ErrorCode::IoDiskFull, "the disk is full"))
        });
        assert!(failed.is_err() && ledger.has_more(&usage(50, 0.75)));
    }

    #[test]
    fn booked_usage_counts_once_against_cap() {
        let ledger = Ledger::new(None, SessionKind::Plan, None);
        let cap = |unit, used| CapUse {
            setting: "spend.run.tokens",
            unit,
            subject: "run".to_owned(),
            used,
            cap: 100.0,
        };
        assert!(ledger.book(&usage(40, 0.5), Duration::ZERO, |_| Ok(())).is_ok());
        let found = ledger
            .without_this_session(|| Ok::<_, Failure>(vec![cap(Unit::Tokens, 70.0), cap(Unit::Usd, 2.0)]))
            .expect("caps");
        assert_eq!(found.iter().map(|cap| cap.used).collect::<Vec<_>>(), [30.0, 1.5]);
    }
}
