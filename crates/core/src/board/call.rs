//! Who calls, when, and in what circumstances: the input of a rule besides the board and the transition.

use std::collections::BTreeMap;

use super::agent::{Agent, Process};
use super::prelude::*;
use super::refusal::{Code, Refusal};
use super::state::Board;
use super::task::Status;

pub use super::origin::{Descent, Hidden, Mark};
pub use super::switch::{Switch, SwitchKind, Switches};

/// Who acts: an agent that has shown its token, the human if the caller has no identity, or liza itself without a
/// request, when it ends the work of a dead process, enforces deadlines, trips the breaker or archives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Actor {
    Human,
    Liza,
    Agent { id: AgentId, incarnation: u64 },
}

impl Actor {
    pub fn id(&self) -> AgentId {
        match self {
            Self::Human => AgentId::human(),
            Self::Liza => AgentId::liza(),
            Self::Agent { id, .. } => id.clone(),
        }
    }

    pub fn incarnation(&self) -> u64 {
        match self {
            Self::Human | Self::Liza => 0,
            Self::Agent { incarnation, .. } => *incarnation,
        }
    }

    pub fn is_human(&self) -> bool {
        matches!(self, Self::Human)
    }

    pub fn is_liza(&self) -> bool {
        matches!(self, Self::Liza)
    }

    /// A person may act in every role, one after the other, but not break a Tier 0 rule.
    pub fn has_role(&self, board: &Board, role: &Role) -> bool {
        match self {
            Self::Human => true,
            Self::Liza => false,
            Self::Agent { id, .. } => board.agent(id).is_some_and(|agent| agent.has(role)),
        }
    }

    pub fn has_any_role(&self, board: &Board, roles: &[Role]) -> bool {
        roles.iter().any(|role| self.has_role(board, role))
    }
}

/// What a caller shows to be authenticated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credentials {
    Human,
    /// Liza acts by itself. A command line cannot claim this identity.
    Liza,
    Agent {
        id: AgentId,
        token_hash: String,
    },
    /// A process of this descent. A descendant of an agent's runner is that agent, whatever credentials it shows: a
    /// process can unset a variable, but not its parent.
    Descendant {
        of: Descent,
        shown: Box<Credentials>,
    },
}

impl Credentials {
    /// Whether a gate started it.
    pub fn is_of_gate(&self) -> bool {
        matches!(self, Self::Descendant { of, .. } if of.gate)
    }

    /// What it inherited from the command of an agent or a gate, of whichever board.
    pub fn mark(&self) -> Option<Mark> {
        match self {
            Self::Descendant { of, .. } => of.mark,
            Self::Human | Self::Liza | Self::Agent { .. } => None,
        }
    }

    /// Nothing is shown that would make it an agent; its descent may.
    pub fn shows_nothing(&self) -> bool {
        match self {
            Self::Human => true,
            Self::Liza | Self::Agent { .. } => false,
            Self::Descendant { shown, .. } => shown.shows_nothing(),
        }
    }
}

/// The refusal for processes started by a gate or by a git command of liza, whatever credentials they show: they run a
/// coder's code, which could otherwise approve itself.
pub fn gate_process_refusal() -> Refusal {
    refusal!(
        Code::Identity,
        "this process was started by a gate or by git for liza; it may not change the board"
    )
    .hint("tests that use liza do so on a board of their own, in a directory of their own")
}

/// Why a process whose origin cannot be seen may change nothing, whatever it shows: its clock cannot be compared, and it
/// may belong to any agent.
pub fn of_hidden_origin(hidden: Hidden) -> Refusal {
    refusal!(Code::Identity, "liza cannot see who calls: {}", hidden.what())
        .hint("run the command where the kernel's /proc is mounted as usual and without `unshare`")
}

impl Board {
    /// Authenticates the caller. An id without a valid token is never taken for the human.
    pub fn identify(&self, credentials: &Credentials) -> Result<Actor, Refusal> {
        let (id, token_hash) = match credentials {
            Credentials::Human => return Ok(Actor::Human),
            Credentials::Liza => return Ok(Actor::Liza),
            Credentials::Agent { id, token_hash } => (id, token_hash),
            Credentials::Descendant { of, .. } if of.gate => return Err(gate_process_refusal()),
            Credentials::Descendant { of, shown } => {
                if let Some(hidden) = of.hidden {
                    return Err(of_hidden_origin(hidden));
                }
                if self.is_started_by_git_of_agent(of) {
                    return Err(gate_process_refusal());
                }
                return match self.runner_of(of) {
                    Some((id, agent)) if agent.is_active() => {
                        Ok(Actor::Agent { id: id.clone(), incarnation: agent.incarnation })
                    }
                    Some((id, _)) => Err(refusal!(
                        Code::Identity,
                        "this process belongs to the runner of `{id}`, and that agent is retired"
                    )
                    .hint("stop; a person may register it again")),
                    None if shown.shows_nothing() => self.check_free(of).map(|()| Actor::Human),
                    None => self.check_hidden_token(of).and_then(|()| self.identify(shown)),
                };
            }
        };
        let Some(agent) = self.agent(id) else {
            return Err(refusal!(Code::Identity, "agent `{id}` is not registered on this board")
                .hint("ask a person to run `liza agent register --role ROLE`"));
        };
        if !agent.is_active() {
            return Err(
                refusal!(Code::Identity, "agent `{id}` is retired").hint("ask a person to register it again")
            );
        }
        if &agent.token_hash != token_hash {
            return Err(refusal!(
                Code::Identity,
                "the token does not belong to the present incarnation ({}) of `{id}`",
                agent.incarnation
            )
            .hint("this agent was registered again since; stop, or use the token of the new registration"));
        }
        Ok(Actor::Agent { id: id.clone(), incarnation: agent.incarnation })
    }

    /// A process is a person's only if it is certain that it is no agent's.
    fn check_free(&self, of: &Descent) -> Result<(), Refusal> {
        if of.orphan {
            return Err(refusal!(
                Code::Identity,
                "this process was set free by an agent whose runner is gone"
            )
            .hint("it belongs to no agent now; stop"));
        }
        self.check_mark(of)?;
        let Some(id) = &of.unseen else { return Ok(()) };
        Err(refusal!(
            Code::Identity,
            "whether this process belongs to the runner of `{id}` cannot be seen from here"
        )
        .hint("act from where that runner was started, or show an agent's token"))
    }

    /// A process that cannot see its runner shows its own agent's token. One that was started by an agent and has changed
    /// what shows whose it is may show any token it found.
    fn check_hidden_token(&self, of: &Descent) -> Result<(), Refusal> {
        if of.unseen.is_none() || of.mark.is_none() {
            return self.check_mark(of);
        }
        Err(refusal!(Code::Identity, "this process was started by an agent and hides which one")
            .hint("run the command as the agent's runner started it"))
    }

    /// A mark of which this board knows no runner is that of an agent whose runner has ended, was made smaller, or belongs to an
    /// agent or a gate of another board. None of these is a person here, or may use a token that it found.
    fn check_mark(&self, of: &Descent) -> Result<(), Refusal> {
        if of.mark.is_none() || of.mark == self.rest.made_below || self.revision == 0 {
            return Ok(());
        }
        Err(refusal!(
            Code::Identity,
            "an agent or a gate started this process, and its runner is not at work on this board"
        )
        .hint("stop; a person types the command in a terminal of their own"))
    }

    /// Whether git is between this process and an agent's runner: any agent may have installed the hook or filter.
    fn is_started_by_git_of_agent(&self, of: &Descent) -> bool {
        let is_runner =
            |process: &Process| self.rest.agents.values().any(|agent| agent.runner.as_ref() == Some(process));
        let runner = of.ancestors.iter().position(is_runner);
        runner.zip(of.below_git).is_some_and(|(runner, git)| git < runner)
    }

    /// The agent this process belongs to: by its nearest ancestor that is a runner, or by the mark of one.
    fn runner_of(&self, of: &Descent) -> Option<(&AgentId, &Agent)> {
        let marked = |mark: &Mark| {
            let of_mark =
                |agent: &Agent| agent.runner.as_ref().is_some_and(|runner| Mark::of(runner) == *mark);
            self.rest.agents.iter().find(|(_, agent)| of_mark(agent))
        };
        self.runs_under(&of.ancestors).or_else(|| of.mark.as_ref().and_then(marked))
    }

    /// The agent whose runner is the nearest of these processes. A retired one counts: who retires itself does not
    /// become a person by it.
    pub fn runs_under(&self, ancestors: &[Process]) -> Option<(&AgentId, &Agent)> {
        ancestors.iter().find_map(|ancestor| {
            self.rest.agents.iter().find(|(_, agent)| agent.runner.as_ref() == Some(ancestor))
        })
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
    Audit,
    PlanFirst,
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
        Err(refusal!(Code::Switched, "{} is set{scope}{reason}", switch.kind.as_str())
            .hint(match switch.kind {
                SwitchKind::Pause => "save your work and wait; a person ends it with `liza resume`",
                SwitchKind::Checkpoint => {
                    "save your work and wait; a person reads the summary in .liza/reports and ends it with `liza resume`"
                }
                SwitchKind::Abort => {
                    "save your work and stop; to go on, a person types `liza resume`, and then `liza run`"
                }
            })
            .detail("switch", switch.kind.as_str()))
    }
}
