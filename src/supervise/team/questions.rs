//! Questions to a person about an agent: the run shows them while it waits for the answer.

use super::super::prelude::*;
use super::TeamRun;
use crate::flow::oversight;

impl TeamRun<'_> {
    /// Shows each question once when it is asked and once when it is answered, whichever process asked.
    pub(super) fn emit_questions(&mut self, board: &Board) {
        let has_escalation = board.rest.interventions.iter().any(|one| one.action == Action::Escalate);
        if !has_escalation && self.team.questions.is_empty() {
            return;
        }
        // The run reports an unreadable liza.yaml elsewhere.
        let Ok(config) = self.ctx.project_config() else { return };
        let waiting = oversight::waiting(self.ctx, board, &config.overseer);
        let before = std::mem::replace(&mut self.team.questions, waiting.clone());
        let is_in = |all: &[Question], id: &str| all.iter().any(|one| one.id == id);
        for question in before.iter().filter(|one| !is_in(&waiting, &one.id)) {
            let text = format!("no longer waits for an answer about {} ({})", question.agent, question.id);
            self.emit(Event::notice(text).agent(&question.agent));
        }
        for question in waiting.iter().filter(|one| !is_in(&before, &one.id)) {
            self.emit(Event::asking(question));
        }
    }
}
