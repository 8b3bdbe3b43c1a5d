//! A provider's failure: the run stops all seats of that provider, or lets them rest until it is over.

use super::super::event::FailureNote;
use super::super::prelude::*;
use super::TeamRun;
use crate::board::breaker::CrashClass;

impl TeamRun<'_> {
    pub(super) fn handle_failure(&mut self, agent: &AgentId, note: &FailureNote, text: &str) {
        let seats = self.team.seats.iter().map(|seat| &seat.agent);
        let same = |other: &&AgentId| self.providers.get(*other) == self.providers.get(agent);
        let all: Vec<AgentId> = seats.filter(same).cloned().collect();
        match note.class {
            // Agents at work report their own failures.
            CrashClass::Login => {
                for other in all.iter().filter(|other| *other != agent) {
                    let is_out = self.team.out.contains_key(other) || self.runners.contains_key(other);
                    if !is_out {
                        self.stop_seat(other, text.to_owned(), None);
                    }
                }
            }
            CrashClass::Quota => {
                if let Some(running) = self.runners.get_mut(agent) {
                    running.parked = true;
                }
                let rest = note.until.map_or(0, |until| until.since(crate::host::now().wall).max(0));
                let until = Instant::now() + Duration::from_secs(rest.unsigned_abs());
                self.resting_until.extend(all.into_iter().map(|agent| (agent, until)));
                let when = note.until.map_or(String::new(), |until| format!(" until {until}"));
                self.emit_once(
                    Kind::Waiting,
                    format!("no agent of {} starts{when}; other providers go on", note.provider),
                );
            }
            _ => {}
        }
    }
}
