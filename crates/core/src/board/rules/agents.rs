//! Registration of agents: by a person or a runner, one incarnation at a time.

use super::prelude::*;

logged! {
    pub struct RegisterAgent {
        pub id: AgentId,
        always pub roles: Vec<Role>,
        pub token_hash: String,
        /// Roles that liza.yaml defines besides the built-in ones.
        pub configured_roles: Vec<Role>,
        pub runner: Option<Process>,
        /// The id was generated as unused: the registration is refused if another agent has taken it meanwhile.
        pub fresh: bool,
        /// The agent's permissions in the role registry.
        #[serde(default, skip_serializing_if = "Grants::is_default")]
        pub grants: Grants,
        /// The runner recorded for this id is alive.
        pub former_runner_lives: bool,
    }
}

outcome!(Registered { id: AgentId, roles: Vec<Role>, incarnation: u64 });

impl Verb for RegisterAgent {
    const OPERATION: Option<Operation> = None;
    type Outcome = Registered;

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        human_only(call, "register agents")?;
        if self.id.is_reserved() {
            return Err(refusal!(Code::IdReserved, "`{}` cannot be the id of an agent", self.id)
                .hint("choose another --id"));
        }
        if self.fresh && board.agent(&self.id).is_some() {
            return Err(refusal!(Code::IdTaken, "an agent `{}` exists already", self.id));
        }
        let clash = board.rest.agents.keys().find(|known| {
            known.as_str() != self.id.as_str() && known.as_str().eq_ignore_ascii_case(self.id.as_str())
        });
        if let Some(known) = clash {
            return Err(refusal!(Code::IdTaken, "an agent `{known}` exists; ids are compared ignoring case"));
        }
        if self.roles.is_empty() {
            return Err(refusal!(Code::Incomplete, "an agent needs a role").hint("--role coder, for example"));
        }
        for role in &self.roles {
            // A runner supervises; an agent registered as a runner would have its rights.
            let known = BUILT_IN_ROLES.contains(&role.as_str()) || self.configured_roles.contains(role);
            if !known || role.as_str() == "runner" {
                return Err(refusal!(Code::UnknownRole, "there is no role `{role}`").hint(format!(
                    "roles: {}; more can be defined in liza.yaml",
                    BUILT_IN_ROLES.join(", ")
                )));
            }
        }
        if self.former_runner_lives {
            return Err(refusal!(Code::AgentRunning, "the runner of `{}` is alive", self.id)
                .hint("stop it first, or register another id"));
        }
        Ok(())
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
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
        Registered { id: self.id.clone(), roles: self.roles.clone(), incarnation }
    }
}

logged! {
    pub struct RetireAgent {
        pub id: AgentId,
    }
}

outcome!(Retired { id: AgentId, status: AgentStatus });

impl Verb for RetireAgent {
    const OPERATION: Option<Operation> = None;
    type Outcome = Retired;

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        match board.agent(&self.id) {
            None => Err(unknown_agent(board, &self.id)),
            Some(agent) if !agent.is_active() => {
                Err(refusal!(Code::Transition, "agent `{}` is retired already", self.id))
            }
            Some(_) if call.by.id() == self.id => Ok(()),
            Some(_) => human_only(call, "retire another agent"),
        }
    }

    fn change(&self, board: &mut Board, _: &Call) -> Self::Outcome {
        if let Some(agent) = board.rest.agents.get_mut(&self.id) {
            // The board still names its runner: processes of that runner still act as this agent and no other.
            agent.status = AgentStatus::Retired;
        }
        Retired { id: self.id.clone(), status: AgentStatus::Retired }
    }
}

fn unknown_agent(board: &Board, id: &AgentId) -> Refusal {
    refusal!(Code::UnknownAgent, "there is no agent `{id}` on this board").hint(board.hint_for_agent(id))
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Heartbeat {}

outcome!(Seen { id: AgentId, heartbeat: Wall });

impl Verb for Heartbeat {
    const OPERATION: Option<Operation> = None;
    type Outcome = Seen;

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        match &call.by {
            Actor::Human | Actor::Liza => Err(refusal!(
                Code::Identity,
                "only an agent sends heartbeats, and this command has no agent identity"
            )
            .hint("set LIZA_AGENT_ID and LIZA_AGENT_TOKEN_FILE")),
            Actor::Agent { id, .. } => board.agent(id).map(|_| ()).ok_or_else(|| unknown_agent(board, id)),
        }
    }

    fn change(&self, _: &mut Board, call: &Call) -> Self::Outcome {
        // `apply` records the heartbeat, as for every transition.
        Seen { id: call.by.id(), heartbeat: call.now.wall }
    }
}
