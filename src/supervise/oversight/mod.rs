//! What `watch` and `run` look after beside the board itself: agents that get nowhere, patterns across tasks, the end of
//! the sprint. Whichever of them runs does it; of several, one.

mod agents;
mod patterns;
mod person;
mod sprint;

use super::prelude::*;

/// The result of one look, for the run or watcher that shows it.
#[derive(Debug, Default)]
pub struct Looked {
    /// What was done, a line each.
    pub done: Vec<String>,
    /// What a person was asked.
    pub questions: Vec<String>,
    /// What could not be looked at or done.
    pub troubles: Vec<String>,
    /// When to look again although nothing changes.
    pub again_in: Option<Duration>,
}

impl Looked {
    fn and(mut self, other: Self) -> Self {
        self.done.extend(other.done);
        self.questions.extend(other.questions);
        self.troubles.extend(other.troubles);
        self.again_in = self.again_in.into_iter().chain(other.again_in).min();
        self
    }
}

/// What is known from one look to the next.
#[derive(Default)]
pub struct Oversight {
    agents: agents::Agents,
    patterns: patterns::Patterns,
    sprint: sprint::SprintEnd,
    /// Held while this process is the one that looks.
    one_of_it: Option<SideLock>,
}

impl Oversight {
    /// Looks at whatever is due. `ctx.now` is this moment; `revision` is that of the board, which is read only if something
    /// calls for it.
    pub fn look(&mut self, ctx: &Context, revision: u64) -> Looked {
        if self.one_of_it.is_none() {
            self.one_of_it = ctx.machine.lock_oversight(ctx.now.wall).ok();
        }
        if self.one_of_it.is_none() {
            return Looked::default();
        }
        let looked = self.agents.look(ctx, revision);
        looked.and(self.patterns.look(ctx, revision)).and(self.sprint.look(ctx, revision))
    }
}
