//! Identities: made by a person or a runner, one incarnation at a time.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::board::agent::{Agent, AgentStatus, BUILT_IN_ROLES, Process};
use crate::board::call::{Actor, Call};
use crate::board::grants::Grants;
use crate::board::ids::{AgentId, Role};
use crate::board::refusal::{Code, Refusal};
use crate::board::state::Board;
use crate::board::transition::{Needs, Rule};

use super::common::human_only;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RegisterAgent {
    pub id: AgentId,
    pub roles: Vec<Role>,
    pub token_hash: String,
    /// Roles that liza.yaml defines beside the built-in ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub configured_roles: Vec<Role>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runner: Option<Process>,
    /// The id was chosen because nobody had it: taking over somebody's identity by accident is refused.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fresh: bool,
    /// What the role registry allows it.
    #[serde(default, skip_serializing_if = "Grants::is_default")]
    pub grants: Grants,
    /// The runner recorded for this id was seen alive.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub former_runner_lives: bool,
}

impl Rule for RegisterAgent {
    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        human_only(call, "register agents")?;
        if self.id.is_reserved() {
            return Refusal::new(Code::IdReserved, format!("`{}` cannot be the id of an agent", self.id))
                .hint("choose another --id")
                .err();
        }
        if self.fresh && board.agent(&self.id).is_some() {
            return Refusal::new(Code::IdTaken, format!("there is an agent `{}` already", self.id)).err();
        }
        let clash = board.rest.agents.keys().find(|known| {
            known.as_str() != self.id.as_str() && known.as_str().eq_ignore_ascii_case(self.id.as_str())
        });
        if let Some(known) = clash {
            return Refusal::new(
                Code::IdTaken,
                format!("there is an agent `{known}`; ids are compared ignoring case"),
            )
            .err();
        }
        if self.roles.is_empty() {
            return Refusal::new(Code::Incomplete, "an agent needs a role")
                .hint("--role coder, for example")
                .err();
        }
        for role in &self.roles {
            // A runner supervises; whoever could register as one would have its rights.
            let known = BUILT_IN_ROLES.contains(&role.as_str()) || self.configured_roles.contains(role);
            if !known || role.as_str() == "runner" {
                return Refusal::new(Code::UnknownRole, format!("there is no role `{role}`"))
                    .hint(format!("roles: {}; more can be defined in liza.yaml", BUILT_IN_ROLES.join(", ")))
                    .err();
            }
        }
        if self.former_runner_lives {
            return Refusal::new(Code::AgentRunning, format!("the runner of `{}` is alive", self.id))
                .hint("stop it first, or register another id")
                .err();
        }
        Ok(())
    }

    fn change(&self, board: &mut Board, call: &Call) -> Value {
        let former = board.agent(&self.id);
        let incarnation = former.map_or(1, |agent| agent.incarnation + 1);
        let spent = former.map(|agent| agent.spent).unwrap_or_default();
        board.rest.agents.insert(
            self.id.clone(),
            Agent {
                roles: self.roles.clone(),
                incarnation,
                token_hash: self.token_hash.clone(),
                status: AgentStatus::Active,
                registered_at: call.now.wall,
                heartbeat: call.now.wall,
                runner: self.runner.clone(),
                grants: self.grants.clone(),
                spent,
            },
        );
        json!({ "id": self.id, "roles": self.roles, "incarnation": incarnation })
    }

    fn needs(&self, _: &Board) -> Needs {
        Needs::Nothing
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RetireAgent {
    pub id: AgentId,
}

impl Rule for RetireAgent {
    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        match board.agent(&self.id) {
            None => Err(unknown_agent(&self.id)),
            Some(agent) if !agent.is_active() => {
                Refusal::new(Code::Transition, format!("agent `{}` is retired already", self.id)).err()
            }
            Some(_) if call.by.id() == self.id => Ok(()),
            Some(_) => human_only(call, "retire another agent"),
        }
    }

    fn change(&self, board: &mut Board, _: &Call) -> Value {
        if let Some(agent) = board.rest.agents.get_mut(&self.id) {
            // Its runner stays on record: what runs under it still is this agent, and nobody else.
            agent.status = AgentStatus::Retired;
        }
        json!({ "id": self.id, "status": AgentStatus::Retired })
    }

    fn needs(&self, _: &Board) -> Needs {
        Needs::Nothing
    }
}

fn unknown_agent(id: &AgentId) -> Refusal {
    Refusal::new(Code::UnknownAgent, format!("there is no agent `{id}` on this board"))
        .hint("`liza agent list` shows them")
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Heartbeat {}

impl Rule for Heartbeat {
    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        match &call.by {
            Actor::Human => {
                Refusal::new(Code::Identity, "a heartbeat is an agent's; no agent identity was given")
                    .hint("set LIZA_AGENT_ID and LIZA_AGENT_TOKEN_FILE")
                    .err()
            }
            Actor::Agent { id, .. } => board.agent(id).map(|_| ()).ok_or_else(|| unknown_agent(id)),
        }
    }

    fn change(&self, _: &mut Board, call: &Call) -> Value {
        // That somebody acted is noted for every transition alike.
        json!({ "id": call.by.id(), "heartbeat": call.now.wall })
    }

    fn needs(&self, _: &Board) -> Needs {
        Needs::Nothing
    }
}
