//! The circuit breaker: what has gone wrong in the same way too often, and what was said about it. It observes: no task
//! is changed by it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::call::SwitchKind;
use super::ids::{AgentId, TaskId};
use super::time::Wall;

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Breaker {
    #[serde(default)]
    pub tier0_violations: u64,
    /// Agents' commands that ended badly, the last of them; the log has all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub crashes: Vec<Crash>,
    /// Every time it tripped, in order; the open ones are those without a resolution.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trips: Vec<Trip>,
}

impl Breaker {
    pub fn open(&self) -> impl Iterator<Item = &Trip> {
        self.trips.iter().filter(|trip| trip.resolved.is_none())
    }
}

/// How many crashes the board remembers.
pub const CRASHES_KEPT: usize = 100;

/// How many trips the board remembers, those that are open apart; the log has all.
pub const TRIPS_KEPT: usize = 100;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Crash {
    pub time: Wall,
    pub agent: AgentId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    pub text: String,
}

/// A way in which things go wrong that no single task shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    RetryCluster,
    DebtAccumulation,
    AssumptionCascade,
    WorkaroundPattern,
    SpecGapCluster,
    ExternalOutage,
    PlanningChurn,
    BlockedReplacementChain,
    CrashLoop,
    /// Gates are red, or work is rejected, on many tasks for the same reason.
    SameFailure,
}

impl Pattern {
    pub const ALL: [Self; 10] = [
        Self::RetryCluster,
        Self::DebtAccumulation,
        Self::AssumptionCascade,
        Self::WorkaroundPattern,
        Self::SpecGapCluster,
        Self::ExternalOutage,
        Self::PlanningChurn,
        Self::BlockedReplacementChain,
        Self::CrashLoop,
        Self::SameFailure,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::RetryCluster => "retry_cluster",
            Self::DebtAccumulation => "debt_accumulation",
            Self::AssumptionCascade => "assumption_cascade",
            Self::WorkaroundPattern => "workaround_pattern",
            Self::SpecGapCluster => "spec_gap_cluster",
            Self::ExternalOutage => "external_outage",
            Self::PlanningChurn => "planning_churn",
            Self::BlockedReplacementChain => "blocked_replacement_chain",
            Self::CrashLoop => "crash_loop",
            Self::SameFailure => "same_failure",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Response {
    /// A person is told.
    Warning,
    /// CHECKPOINT is set.
    Checkpoint,
    /// ABORT is set.
    Halt,
}

impl Response {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Warning => "warning",
            Self::Checkpoint => "checkpoint",
            Self::Halt => "halt",
        }
    }

    /// The switch that is set for everybody.
    pub fn switch(self) -> Option<SwitchKind> {
        match self {
            Self::Warning => None,
            Self::Checkpoint => Some(SwitchKind::Checkpoint),
            Self::Halt => Some(SwitchKind::Abort),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Trip {
    /// `trip-N`.
    pub id: String,
    pub time: Wall,
    pub pattern: Pattern,
    pub response: Response,
    /// Names what it is about, so that the same thing trips it once.
    pub key: String,
    pub summary: String,
    pub evidence: Vec<TripEvidence>,
    /// Tasks, specs, services and files it is about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub affected: Vec<String>,
    /// When its response was carried out. From then on its switch is a person's: it is not set again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered: Option<Wall>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved: Option<Resolution>,
}

/// One thing that happened, of those that together are a pattern.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TripEvidence {
    /// The record or event it comes from: `anomaly-3`, `rejected`, `crash`, …
    pub source: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    pub agent: AgentId,
    pub time: Wall,
    pub text: String,
}

/// What a person decided about it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Resolution {
    pub by: AgentId,
    pub time: Wall,
    pub note: String,
}
