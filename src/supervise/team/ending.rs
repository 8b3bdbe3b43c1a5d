//! The end of a run: runners are asked to end, asked again, then killed, each after its grace time.

use super::super::prelude::*;
use super::flight::{Flight, Wake};
use super::{Outcome, TeamRun};

impl TeamRun<'_> {
    /// Kills runners that were asked twice and had their time; says when even those are not waited for any more.
    pub(super) fn kill_what_stays(&self) -> bool {
        let Some(at) = self.kill_at.filter(|at| Instant::now() >= *at) else { return false };
        self.flights.values().for_each(Flight::kill);
        Instant::now() >= at + at_once()
    }

    /// The first signal asks all runners to end; after the second the run waits only briefly, after the third not at all.
    pub(super) fn stop(&mut self, signal: i32) {
        self.signals += 1;
        self.stopping = Some(Outcome::Signal(signal));
        self.flights.values().for_each(Flight::ask_to_end);
        self.kill_at = match self.signals {
            1 => None,
            2 => Some(Instant::now() + at_once()),
            _ => self.kill_at.map(|at| at.min(Instant::now())),
        };
        if !self.flights.is_empty() {
            self.tell(Event::notice(match self.signals {
                1 => "stopping: agents are asked to end and their work is kept; once more ends them at once",
                _ => "agents are ended at once; their work is kept",
            }));
        }
    }

    /// Waits until all have ended; a signal cuts it short.
    fn wait_for_flights(&mut self, patience: Duration) {
        let deadline = Instant::now() + patience;
        loop {
            self.flights.retain(|_, flight| !flight.is_over());
            if self.flights.is_empty() || Instant::now() >= deadline {
                return;
            }
            if let Ok(Wake::Signal(_)) = self.rx.recv_timeout(Duration::from_millis(20)) {
                return;
            }
        }
    }
}

impl Drop for TeamRun<'_> {
    /// Whatever ends a run, its agents have the time they are given to end, unless they had it already.
    fn drop(&mut self) {
        if self.flights.is_empty() {
            return;
        }
        let patience = if self.kill_at.is_some() { Duration::ZERO } else { 2 * self.grace + at_once() };
        self.flights.values().for_each(Flight::ask_to_end);
        self.wait_for_flights(patience);
        self.flights.values().for_each(Flight::kill);
        self.wait_for_flights(Duration::from_secs(1));
        let runners = self.runners();
        self.orphans.end_all(&runners);
    }
}
