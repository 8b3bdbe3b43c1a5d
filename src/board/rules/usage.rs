//! What a session of an agent has cost, told by its runner.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::board::call::{Actor, Call};
use crate::board::ids::TaskId;
use crate::board::refusal::{Code, Refusal};
use crate::board::spent::Spent;
use crate::board::state::Board;
use crate::board::transition::{Needs, Rule};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordUsage {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    pub spent: Spent,
}

impl Rule for RecordUsage {
    fn check(&self, _: &Board, call: &Call) -> Result<(), Refusal> {
        if call.by.is_human() {
            return Refusal::new(Code::Identity, "sessions are agents'; no agent identity was given").err();
        }
        Ok(())
    }

    fn change(&self, board: &mut Board, call: &Call) -> Value {
        board.rest.spent.add(&self.spent);
        if let Actor::Agent { id, .. } = &call.by
            && let Some(agent) = board.rest.agents.get_mut(id)
        {
            agent.spent.add(&self.spent);
        }
        if let Some(task) = self.task.as_ref().and_then(|task| board.task_mut(task)) {
            let (_, body) = task.parts_mut();
            body.spent.add(&self.spent);
        }
        json!({ "agent": call.by.id(), "tokens": self.spent.tokens() })
    }

    fn needs(&self, board: &Board) -> Needs {
        match &self.task {
            Some(task) if board.task(task).is_some() => Needs::task(task),
            _ => Needs::Nothing,
        }
    }
}
