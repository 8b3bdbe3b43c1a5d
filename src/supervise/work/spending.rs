//! What sessions cost: put on the board when they end, and held against the caps before they begin.

use crate::board::TaskId;
use crate::board::rules::RecordUsage;
use crate::board::spent::{CapUse, SessionKind, Spent};
use crate::flow::Failure;
use crate::flow::briefing::Assignment;

use super::super::event::{Event, Kind};
use super::super::output::cap_words;
use super::super::runner::{Runner, said};
use super::super::session::Ended;
use super::task_of;

impl Runner {
    /// Whatever ended the session. Where the board cannot be told, the file beside its output still says it.
    pub(super) fn record_usage(&self, assignment: &Assignment, round: Option<u32>, ended: &Ended) {
        let used = &ended.usage;
        let kind = match assignment {
            Assignment::Task { .. } => SessionKind::Work,
            Assignment::Review { .. } => SessionKind::Review,
            Assignment::Plan { .. } => SessionKind::Plan,
        };
        let cost = used.cost_usd.filter(|cost| cost.is_finite() && *cost > 0.0);
        let record = RecordUsage {
            task: task_of(assignment).cloned(),
            kind,
            round,
            spent: Spent {
                sessions: 1,
                turns: used.turns,
                tool_calls: used.tool_calls,
                input_tokens: used.input_tokens,
                output_tokens: used.output_tokens,
                cached_tokens: used.cached_tokens,
                cost_usd: cost.unwrap_or(0.0),
                // Half a second and more is one.
                seconds: (ended.took + std::time::Duration::from_millis(500)).as_secs(),
            },
        };
        if let Err(failure) = self.ctx.commit(record) {
            let text = format!("what the session used is not on the board: {}", said(&failure));
            let mut event = Event::new(Kind::Notice, text);
            event.task = task_of(assignment).map(TaskId::to_string);
            self.tell(event);
        }
    }

    /// Why nothing more may be spent on this, if so.
    pub(super) fn cap_used_up(&self, task: Option<&TaskId>) -> Result<Option<String>, Failure> {
        let uses = crate::flow::spend::uses(&self.ctx, &self.agent, task)?;
        Ok(uses.iter().find(|cap| CapUse::is_reached(cap)).map(cap_words))
    }
}
