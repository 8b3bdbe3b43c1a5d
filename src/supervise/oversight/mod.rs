//! Duties of `watch` and `run`: agents without progress, patterns across tasks, the end of the sprint. If several such
//! processes run, one of them does it.

mod agents;
mod patterns;
mod person;
mod sprint;

use super::prelude::*;

/// The result of one look, for the run or watcher that shows it.
#[derive(Debug, Default)]
pub struct Looked {
    /// The acts, one line each.
    pub done: Vec<String>,
    /// Questions that were put to a person.
    pub questions: Vec<String>,
    /// Failures to look or to act.
    pub troubles: Vec<String>,
    /// When to look again if the board does not change.
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

/// The state that is kept between two looks.
#[derive(Default)]
pub struct Oversight {
    agents: agents::Agents,
    patterns: patterns::Patterns,
    sprint: sprint::SprintEnd,
    /// The lock of the process that looks.
    one_of_it: Option<SideLock>,
}

impl Oversight {
    /// Does all looks that are due. `ctx.now` is the present time; `revision` is the board's, which is read only if a look is
    /// due.
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
