//! What is done about an agent that goes in circles. The word to the agent and the record of why are one change.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::board::call::Call;
use crate::board::ids::{AgentId, Role, TaskId};
use crate::board::oversight::{Action, Behaviour, Gravity, INTERVENTIONS_KEPT, Intervention};
use crate::board::records::next_number;
use crate::board::refusal::{Code, Refusal};
use crate::board::state::Board;
use crate::board::transition::{Needs, Rule};

use super::message::{Draft, post};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Intervene {
    pub agent: AgentId,
    /// The agent as it was seen: a new incarnation is somebody else.
    pub incarnation: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<u64>,
    pub behaviour: Behaviour,
    pub action: Action,
    pub severity: Gravity,
    pub confidence: f64,
    pub evidence: Vec<String>,
    /// What is said: to the agent, and to the planner if it is halted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<Draft>,
}

impl Rule for Intervene {
    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        if !call.by.has_role(board, &Role::overseer()) {
            return Refusal::new(Code::Role, format!("`{}` does not oversee", call.by.id()))
                .hint("tell the planner: `liza message send --to role:planner …`")
                .err();
        }
        match board.agent(&self.agent) {
            Some(agent) if agent.incarnation == self.incarnation && agent.is_active() => Ok(()),
            Some(_) => Refusal::new(
                Code::Transition,
                format!("`{}` was registered anew or retired since it was looked at", self.agent),
            )
            .hint("look again: `liza overseer`")
            .err(),
            None => {
                Refusal::new(Code::UnknownAgent, format!("there is no agent `{}` on this board", self.agent))
                    .hint("`liza agent list` shows them")
                    .err()
            }
        }
    }

    fn change(&self, board: &mut Board, call: &Call) -> Value {
        let past = &mut board.rest.interventions;
        let id =
            format!("intervention-{}", next_number("intervention", past.iter().map(|one| one.id.as_str())));
        past.push(Intervention {
            id: id.clone(),
            time: call.now.wall,
            agent: self.agent.clone(),
            incarnation: self.incarnation,
            task_id: self.task.clone(),
            epoch: self.epoch,
            behaviour: self.behaviour,
            action: self.action,
            severity: self.severity,
            confidence: self.confidence,
            evidence: self.evidence.clone(),
            by: call.by.id(),
        });
        let too_many = past.len().saturating_sub(INTERVENTIONS_KEPT);
        past.drain(..too_many);
        let messages: Vec<String> =
            self.messages.iter().map(|draft| post(board, call, call.by.id(), draft)).collect();
        json!({ "id": id, "agent": self.agent, "action": self.action, "messages": messages })
    }

    fn needs(&self, _: &Board) -> Needs {
        Needs::Nothing
    }

    fn drafts(&self) -> &[Draft] {
        &self.messages
    }
}
