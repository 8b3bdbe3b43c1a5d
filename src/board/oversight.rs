//! What the overseer saw and did: kept with its evidence.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ids::{AgentId, TaskId};
use super::time::Wall;

/// A way of working that leads nowhere.
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
}

impl Behaviour {
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
        }
    }

    /// Somebody else, or the same agent anew, could simply go on where this one has to stop.
    pub fn is_exhaustion(self) -> bool {
        matches!(self, Self::TokenExhaustion | Self::Timeout)
    }
}

/// What is done about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    Nudge,
    Halt,
    Escalate,
}

impl Action {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Nudge => "nudge",
            Self::Halt => "halt",
            Self::Escalate => "escalate",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Gravity {
    Warning,
    Critical,
}

/// Something that was done about an agent, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Intervention {
    /// `intervention-N`.
    pub id: String,
    pub time: Wall,
    pub agent: AgentId,
    /// Of the agent: what was done about a former one says nothing about this one.
    pub incarnation: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<u64>,
    pub behaviour: Behaviour,
    pub action: Action,
    pub severity: Gravity,
    /// From 0 to 1.
    pub confidence: f64,
    pub evidence: Vec<String>,
    /// Whoever did it: the person whose watcher or run noticed, or an agent that oversees.
    pub by: AgentId,
}

/// The board remembers so many; the log remembers all.
pub const INTERVENTIONS_KEPT: usize = 100;
