//! Who calls, when, and in what circumstances: everything a rule is told besides the board and the transition.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::agent::{Agent, Process};
use super::ids::{AgentId, Role, TaskId};
use super::refusal::{Code, Refusal};
use super::state::Board;
use super::task::Status;
use super::time::Stamp;

/// Who acts. An agent here has shown its token; without any identity it is the human.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Actor {
    Human,
    Agent { id: AgentId, incarnation: u64 },
}

impl Actor {
    pub fn id(&self) -> AgentId {
        match self {
            Self::Human => AgentId::human(),
            Self::Agent { id, .. } => id.clone(),
        }
    }

    pub fn incarnation(&self) -> u64 {
        match self {
            Self::Human => 0,
            Self::Agent { incarnation, .. } => *incarnation,
        }
    }

    pub fn is_human(&self) -> bool {
        matches!(self, Self::Human)
    }

    /// The human may act in every role, one after the other; Tier 0 binds him all the same.
    pub fn has_role(&self, board: &Board, role: &Role) -> bool {
        match self {
            Self::Human => true,
            Self::Agent { id, .. } => board.agent(id).is_some_and(|agent| agent.has(role)),
        }
    }

    pub fn has_any_role(&self, board: &Board, roles: &[Role]) -> bool {
        roles.iter().any(|role| self.has_role(board, role))
    }
}

/// What a caller shows to be believed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credentials {
    Human,
    Agent {
        id: AgentId,
        token_hash: String,
    },
    /// A process of this descent. Whoever descends from an agent's runner is that agent, whatever else it shows: a
    /// variable can be unset, a parent cannot.
    Descendant {
        of: Descent,
        shown: Box<Credentials>,
    },
}

/// What is known about where a process comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Descent {
    /// The nearest first.
    pub ancestors: Vec<Process>,
    /// An agent with a living runner that could be an ancestor and cannot be seen from here.
    pub unseen: Option<AgentId>,
    /// It was set free by an agent whose runner is gone, and belongs to nobody now.
    pub orphan: bool,
    /// It was started by a gate or a validation: a test of somebody's tree, which acts for nobody.
    pub gate: bool,
}

impl Credentials {
    /// Whether a gate started it.
    pub fn is_of_gate(&self) -> bool {
        matches!(self, Self::Descendant { of, .. } if of.gate)
    }

    /// Nothing is shown that would make it an agent; its descent may.
    pub fn shows_nothing(&self) -> bool {
        match self {
            Self::Human => true,
            Self::Agent { .. } => false,
            Self::Descendant { shown, .. } => shown.shows_nothing(),
        }
    }
}

/// Why what a gate started may change nothing, whatever it shows: it runs what a coder wrote, and could otherwise approve
/// that itself.
pub fn of_nobody() -> Refusal {
    Refusal::new(Code::Identity, "this process was started by a gate; it acts for nobody")
        .hint("tests that use liza do so on a board of their own, in a directory of their own")
}

impl Board {
    /// Believes a caller, or says why not. An id without a valid token is never taken for the human.
    pub fn identify(&self, credentials: &Credentials) -> Result<Actor, Refusal> {
        let (id, token_hash) = match credentials {
            Credentials::Human => return Ok(Actor::Human),
            Credentials::Agent { id, token_hash } => (id, token_hash),
            Credentials::Descendant { of, .. } if of.gate => return Err(of_nobody()),
            Credentials::Descendant { of, shown } => {
                return match self.runs_under(&of.ancestors) {
                    Some((id, agent)) if agent.is_active() => {
                        Ok(Actor::Agent { id: id.clone(), incarnation: agent.incarnation })
                    }
                    Some((id, _)) => Refusal::new(
                        Code::Identity,
                        format!("this process belongs to the runner of `{id}`, and that agent is retired"),
                    )
                    .hint("stop; a person may register it again")
                    .err(),
                    None if shown.shows_nothing() => self.check_free(of).map(|()| Actor::Human),
                    None => self.identify(shown),
                };
            }
        };
        let Some(agent) = self.agent(id) else {
            return Refusal::new(Code::Identity, format!("agent `{id}` is not registered on this board"))
                .hint("ask a person to run `liza agent register --role ROLE`")
                .err();
        };
        if !agent.is_active() {
            return Refusal::new(Code::Identity, format!("agent `{id}` is retired"))
                .hint("ask a person to register it again")
                .err();
        }
        if &agent.token_hash != token_hash {
            return Refusal::new(
                Code::Identity,
                format!(
                    "the token does not belong to the present incarnation ({}) of `{id}`",
                    agent.incarnation
                ),
            )
            .hint("this agent was registered again since; stop, or use the token of the new registration")
            .err();
        }
        Ok(Actor::Agent { id: id.clone(), incarnation: agent.incarnation })
    }

    /// A process is a person's only if it is certain that it is no agent's.
    fn check_free(&self, of: &Descent) -> Result<(), Refusal> {
        if of.orphan {
            return Refusal::new(
                Code::Identity,
                "this process was set free by an agent whose runner is gone",
            )
            .hint("it is nobody's now; stop")
            .err();
        }
        let Some(id) = &of.unseen else { return Ok(()) };
        Refusal::new(
            Code::Identity,
            format!("whether this process belongs to the runner of `{id}` cannot be seen from here"),
        )
        .hint("act from where that runner was started, or show an agent's token")
        .err()
    }

    /// The agent whose runner is the nearest of these processes. A retired one counts: who retires itself does not
    /// become a person by it.
    pub fn runs_under(&self, ancestors: &[Process]) -> Option<(&AgentId, &Agent)> {
        ancestors.iter().find_map(|ancestor| {
            self.rest.agents.iter().find(|(_, agent)| agent.runner.as_ref() == Some(ancestor))
        })
    }
}

/// A kill switch: a file whose existence is what counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum SwitchKind {
    Pause,
    Checkpoint,
    Abort,
}

impl SwitchKind {
    pub const ALL: [Self; 3] = [Self::Abort, Self::Checkpoint, Self::Pause];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pause => "PAUSE",
            Self::Checkpoint => "CHECKPOINT",
            Self::Abort => "ABORT",
        }
    }
}

/// A switch that is set, and what it is set for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Switch {
    pub kind: SwitchKind,
    /// A task or an agent; absent means everybody.
    pub subject: Option<String>,
    pub reason: String,
}

/// The switches that are set at this moment.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Switches {
    pub set: BTreeSet<Switch>,
}

impl Switches {
    /// The strongest switch for everybody.
    pub fn global(&self) -> Option<&Switch> {
        self.set.iter().filter(|switch| switch.subject.is_none()).max_by_key(|switch| switch.kind)
    }

    /// The strongest switch that stops `agent` from working on `task`.
    pub fn stopping(&self, agent: &AgentId, task: Option<&TaskId>) -> Option<&Switch> {
        self.set
            .iter()
            .filter(|switch| match &switch.subject {
                None => true,
                Some(subject) => {
                    subject.eq_ignore_ascii_case(agent.as_str())
                        || task.is_some_and(|task| subject.eq_ignore_ascii_case(task.as_str()))
                }
            })
            .max_by_key(|switch| switch.kind)
    }
}

/// What is remembered of a task that has left the board.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Archived {
    pub status: Status,
    #[serde(default)]
    pub superseded_by: Vec<TaskId>,
}

/// What stands outside the board and yet decides: kept in the log record, so that a replay sees the same.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct World {
    #[serde(default, skip_serializing_if = "no_switches")]
    pub switches: Switches,
    /// Archived tasks among those the transition names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub archived: BTreeMap<TaskId, Archived>,
}

fn no_switches(switches: &Switches) -> bool {
    switches.set.is_empty()
}

/// Guards that the model test switches off one at a time, to show that it would notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guard {
    SelfApproval,
    PathOverlap,
    Epoch,
    Dependency,
    Checkpoint,
    Quorum,
}

/// Which guards are on. Outside tests there is no way to have fewer than all.
#[derive(Debug, Clone, Copy)]
pub struct Guards {
    off: Option<Guard>,
}

impl Guards {
    pub const ALL: Self = Self { off: None };

    #[cfg(test)]
    pub fn without(guard: Guard) -> Self {
        Self { off: Some(guard) }
    }

    pub fn on(self, guard: Guard) -> bool {
        self.off != Some(guard)
    }
}

#[derive(Debug, Clone)]
pub struct Call<'a> {
    pub by: Actor,
    pub now: &'a Stamp,
    pub world: &'a World,
    pub guards: Guards,
}

impl<'a> Call<'a> {
    pub fn new(by: Actor, now: &'a Stamp, world: &'a World) -> Self {
        Self { by, now, world, guards: Guards::ALL }
    }

    /// Refuses while a switch stops this caller (or this task).
    pub fn check_switches(&self, task: Option<&TaskId>) -> Result<(), Refusal> {
        let Some(switch) = self.world.switches.stopping(&self.by.id(), task) else { return Ok(()) };
        let scope = match &switch.subject {
            None => String::new(),
            Some(subject) => format!(" for {subject}"),
        };
        let reason = if switch.reason.is_empty() { String::new() } else { format!(": {}", switch.reason) };
        Refusal::new(Code::Switched, format!("{} is set{scope}{reason}", switch.kind.as_str()))
            .hint("save your work and wait; a person ends it with `liza resume`")
            .detail("switch", switch.kind.as_str())
            .err()
    }
}
