//! Which recipients have not read a message yet.

use super::agent::Agent;
use super::ids::{AgentId, Role};
use super::records::{Message, Recipient};
use super::state::Board;

impl Board {
    /// The roles of an agent; a person has none.
    fn roles_of(&self, id: &AgentId) -> &[Role] {
        self.agent(id).map_or(&[], |agent| &agent.roles)
    }

    /// Whether the message goes to this agent, or to the person. An agent's message to its own role goes to the other agents.
    pub fn is_for(&self, message: &Message, id: &AgentId) -> bool {
        match &message.to {
            Recipient::One(_) => message.to.includes(id, &[]),
            Recipient::Role(_) => !message.from.is_same(id) && message.to.includes(id, self.roles_of(id)),
        }
    }

    /// The messages that this agent, or the person, has not seen: orders to stop or continue first, then by urgency,
    /// then by age.
    pub fn unseen_by(&self, id: &AgentId) -> Vec<&Message> {
        let mut unseen: Vec<&Message> = self
            .rest
            .messages
            .iter()
            .filter(|message| self.is_for(message, id) && !message.seen_by.contains(id))
            .collect();
        unseen.sort_by_key(|message| std::cmp::Reverse((message.kind.is_order(), message.priority)));
        unseen
    }

    /// Whether a recipient has not seen the message yet. A message to a role that one agent has seen does not wait for
    /// absent agents of the role; they find the message for as long as the board keeps it.
    pub fn is_unseen(&self, message: &Message) -> bool {
        match &message.to {
            Recipient::One(id) => !message.seen_by.iter().any(|seen| seen.is_same(id)),
            Recipient::Role(role) => {
                message.seen_by.is_empty()
                    || self.rest.agents.iter().any(|(id, agent)| {
                        agent.is_active()
                            && agent.has(role)
                            && !message.from.is_same(id)
                            && !message.seen_by.contains(id)
                    })
            }
        }
    }

    /// Whether messages to this address have no reader: the agent has retired, or no agent has the role.
    pub fn is_absent(&self, to: &Recipient) -> bool {
        match to {
            Recipient::One(id) => !id.is_human() && !self.agent(id).is_some_and(Agent::is_active),
            Recipient::Role(role) => {
                !self.rest.agents.values().any(|agent| agent.is_active() && agent.has(role))
            }
        }
    }

    /// Whether the message went to a planner, by name or by role.
    pub fn asks_planner(&self, message: &Message) -> bool {
        match &message.to {
            Recipient::One(id) => self.roles_of(id).contains(&Role::planner()),
            Recipient::Role(role) => *role == Role::planner(),
        }
    }
}
