//! A failure that is its provider's and not one agent's: all seats of that provider are stopped, or rest until it is over.

use super::super::event::FailureNote;
use super::super::prelude::*;
use super::TeamRun;
use crate::board::breaker::CrashClass;

impl TeamRun<'_> {
    pub(super) fn heed_failure(&mut self, agent: &AgentId, note: &FailureNote, text: &str) {
        let seats = self.team.seats.iter().map(|seat| &seat.agent);
        let same = |other: &&AgentId| self.providers.get(*other) == self.providers.get(agent);
        let all: Vec<AgentId> = seats.filter(same).cloned().collect();
        match note.class {
            // Those that work are judged by their own words.
            CrashClass::Login => {
                for other in all.iter().filter(|other| *other != agent) {
                    let is_out = self.team.out.contains_key(other) || self.flights.contains_key(other);
                    if !is_out {
                        self.put_out(other, text.to_owned(), None);
                    }
                }
            }
            CrashClass::Quota => {
                if let Some(flight) = self.flights.get_mut(agent) {
                    flight.parked = true;
                }
                let rest = note.until.map_or(0, |until| until.since(crate::host::now().wall).max(0));
                let until = Instant::now() + Duration::from_secs(rest.unsigned_abs());
                self.resting_until.extend(all.into_iter().map(|agent| (agent, until)));
                let when = note.until.map_or(String::new(), |until| format!(" until {until}"));
                self.tell_once(
                    Kind::Waiting,
                    format!("{} is not started{when}; others go on", note.provider),
                );
            }
            _ => {}
        }
    }
}
