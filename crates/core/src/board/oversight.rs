//! Interventions of the overseer, with their evidence.

use super::names::{Named, named};
use super::prelude::*;

/// A behaviour of an agent that makes no progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Behaviour {
    InfiniteLoop,
    RepeatedFailures,
    Stagnation,
    TokenExhaustion,
    Timeout,
    Oscillation,
    ScopeCreep,
    /// A problem that an agent or a person reported; no detector finds it.
    Reported,
}

impl Behaviour {
    /// The behaviours that detectors look for.
    pub const ALL: [Self; 7] = [
        Self::InfiniteLoop,
        Self::RepeatedFailures,
        Self::Stagnation,
        Self::TokenExhaustion,
        Self::Timeout,
        Self::Oscillation,
        Self::ScopeCreep,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::InfiniteLoop => "infinite_loop",
            Self::RepeatedFailures => "repeated_failures",
            Self::Stagnation => "stagnation",
            Self::TokenExhaustion => "token_exhaustion",
            Self::Timeout => "timeout",
            Self::Oscillation => "oscillation",
            Self::ScopeCreep => "scope_creep",
            Self::Reported => "reported",
        }
    }

    /// Whether another agent, or the same agent after a restart, could continue where this one has to stop.
    pub fn is_exhaustion(self) -> bool {
        matches!(self, Self::TokenExhaustion | Self::Timeout)
    }
}

impl Named for Behaviour {
    const ALL: &'static [Self] = &Self::ALL;
    fn name(self) -> &'static str {
        self.as_str()
    }
}

impl std::str::FromStr for Behaviour {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if text == Self::Reported.as_str() { Ok(Self::Reported) } else { named(text) }
    }
}

words! {
    /// The kind of intervention.
    #[derive(PartialOrd, Ord, Hash)]
    pub enum Action {
        Nudge = "nudge",
        Halt = "halt",
        Escalate = "escalate",
    }
}

impl Action {
    /// A halt is the strongest action: it follows a question that no person answered.
    pub fn strength(self) -> u8 {
        match self {
            Self::Nudge => 0,
            Self::Escalate => 1,
            Self::Halt => 2,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Gravity {
    Warning,
    Critical,
}

record! {
    /// An intervention against an agent, and its reason.
    pub struct Intervention {
        /// `intervention-N`.
        pub id: String,
        pub time: Wall,
        pub agent: AgentId,
        /// The agent's incarnation: interventions against a former one do not count for this one.
        pub incarnation: u64,
        pub task_id: Option<TaskId>,
        pub epoch: Option<u64>,
        pub behaviour: Behaviour,
        pub action: Action,
        pub severity: Gravity,
        /// From 0 to 1.
        pub confidence: f64,
        always pub evidence: Vec<String>,
        /// Who intervened: the person whose watcher or run noticed, or an overseer agent.
        pub by: AgentId,
    }
}

impl Intervention {
    /// The N of the id.
    pub fn number(&self) -> u64 {
        self.id.rsplit_once('-').and_then(|(_, number)| number.parse().ok()).unwrap_or(0)
    }

    /// Whether the intervention is about this incarnation of the agent.
    pub fn is_about(&self, agent: &AgentId, incarnation: u64) -> bool {
        &self.agent == agent && self.incarnation == incarnation
    }

    /// Whether the intervention is about this incarnation of the agent, on this task.
    pub fn concerns(&self, agent: &AgentId, incarnation: u64, task: Option<&TaskId>) -> bool {
        self.is_about(agent, incarnation) && self.task_id.as_ref() == task
    }
}

/// The limits for the evidence of one observation.
pub const EVIDENCE_LINES: usize = 20;
pub const EVIDENCE_CHARS: usize = 500;

/// How many interventions the board keeps; the journal has all.
pub const INTERVENTIONS_KEPT: usize = 100;
