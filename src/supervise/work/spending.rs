//! The cost of sessions: recorded on the board when they end, and compared with the caps before they start.

use super::super::ledger::Ledger;
use super::super::output::cap_words;
use super::super::prelude::*;
use super::super::runner::{Runner, failure_text};
use super::super::session::Ended;

pub(super) fn kind_of(assignment: &Assignment) -> SessionKind {
    match assignment {
        Assignment::Task { .. } => SessionKind::Work,
        Assignment::Review { .. } => SessionKind::Review,
        Assignment::Plan { .. } => SessionKind::Plan,
    }
}

impl Runner {
    /// Records the usage, however the session ended. If the board cannot be changed, the file beside the session's output still
    /// has it.
    pub(super) fn record_usage(&self, assignment: &Assignment, ledger: &Ledger, ended: &Ended) {
        let commit = |record: RecordUsage| self.ctx.commit(record).map(|_| ());
        if let Err(failure) = ledger.book(&ended.usage, ended.took, commit) {
            let text = format!("could not record the session's usage: {}", failure_text(&failure));
            self.emit(Event::notice(text).about(assignment.task()));
        }
    }

    /// The message of a used-up cap for this task, if any.
    pub(super) fn cap_used_up(&self, task: Option<&TaskId>) -> Result<Option<String>, Failure> {
        let uses = crate::flow::spend::uses(&self.ctx, &self.agent, task)?;
        Ok(uses.iter().find(|cap| CapUse::is_reached(cap)).map(cap_words))
    }
}
