//! A runner that has done its piece of work and may get the next one, so that it need not be started and registered again.

use super::super::prelude::*;
use super::TeamRun;
use super::flight::Found;
use crate::policy::run::Start;
use crate::store::files::FileIdentity;

/// How long a runner without work is kept while others work.
const KEPT: Duration = Duration::from_secs(5);

impl TeamRun<'_> {
    /// A runner has done what it was given.
    pub(super) fn freed(&mut self, agent: &AgentId) {
        let Some(mut flight) = self.flights.remove(agent) else { return };
        self.judge(&flight, None);
        flight.free();
        self.flights.insert(agent.clone(), flight);
    }

    /// Gives this to the runner of that agent, if one is free for it. A runner that knows other settings than liza.yaml has
    /// now leaves; until then its seat is taken.
    pub(super) fn hand_over(&mut self, start: &Start, found: Option<Found>) -> bool {
        let settings = settings(self.ctx);
        let Some(flight) = self.flights.get_mut(&start.agent) else { return false };
        if flight.settings == settings {
            flight.hand(start.clone(), found);
        } else {
            flight.dismiss();
        }
        true
    }

    /// Lets runners go that have nothing to do: all of them if no other runner works. Says whether some are still there.
    pub(super) fn dismiss_free(&mut self, others_work: bool) -> bool {
        for flight in self.flights.values_mut() {
            if flight.free_since.is_some_and(|since| !others_work || since.elapsed() >= KEPT) {
                flight.dismiss();
            }
        }
        !self.flights.is_empty()
    }
}

/// Which liza.yaml there is.
pub(super) fn settings(ctx: &Context) -> Option<FileIdentity> {
    FileIdentity::at(&ctx.root().join("liza.yaml")).ok()
}
