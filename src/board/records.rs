//! What agents and people tell each other through the board.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ids::{AgentId, TaskId};
use super::time::Wall;

/// A person's or an agent's remark; only a person's counts as an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Note {
    pub id: String,
    pub time: Wall,
    pub by: AgentId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processed_by: Option<AgentId>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Anomaly {
    pub id: String,
    #[serde(rename = "type")]
    pub kind: AnomalyKind,
    pub task_id: TaskId,
    pub logged_by: AgentId,
    pub timestamp: Wall,
    pub details: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processed_by: Option<AgentId>,
}

macro_rules! anomaly_kinds {
    ($($variant:ident $name:literal [$($detail:literal),*]),* $(,)?) => {
        /// The closed list of things that may go wrong in a way worth recording.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum AnomalyKind { $($variant),* }

        impl AnomalyKind {
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }

            /// The details without which it says nothing.
            pub fn required(self) -> &'static [&'static str] {
                match self { $(Self::$variant => &[$($detail),*]),* }
            }
        }
    };
}

anomaly_kinds! {
    RetryLoop "retry_loop" ["count", "error_pattern"],
    TradeOff "trade_off" ["what", "why", "debt_created"],
    SpecAmbiguity "spec_ambiguity" ["question"],
    ExternalBlocker "external_blocker" ["blocker_service"],
    AssumptionViolated "assumption_violated" ["assumption", "reality"],
    ScopeDeviation "scope_deviation" ["what"],
    Workaround "workaround" ["what", "root_cause"],
    DebtCreated "debt_created" ["what"],
    SpecChanged "spec_changed" ["spec"],
    HypothesisExhaustion "hypothesis_exhaustion" ["root_cause"],
    SpecGap "spec_gap" ["spec", "gap"],
    ReviewDeadlock "review_deadlock" ["assessment"],
    IntegrationConflict "integration_conflict" ["files"],
    SystemAmbiguity "system_ambiguity" ["question"],
    Tier0Violation "tier0_violation" ["rule"],
}

impl AnomalyKind {
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.as_str() == text)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Urgency {
    Deferred,
    Immediate,
}

/// Work that somebody noticed while doing other work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Discovery {
    pub id: String,
    pub time: Wall,
    pub by: AgentId,
    pub task_id: TaskId,
    pub text: String,
    pub severity: super::review::Severity,
    pub urgency: Urgency,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processed_by: Option<AgentId>,
}

/// What one agent leaves for whoever takes the task up next.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Handoff {
    pub task_id: TaskId,
    pub time: Wall,
    pub by: AgentId,
    pub epoch: u64,
    pub summary: String,
    pub next_action: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SpecChange {
    pub id: String,
    pub time: Wall,
    pub by: AgentId,
    pub spec: String,
    pub change: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub affects: Vec<TaskId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processed_by: Option<AgentId>,
}

/// A word from one agent to another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Message {
    pub id: String,
    pub time: Wall,
    pub from: AgentId,
    pub to: AgentId,
    pub text: String,
}

/// The number after the last `<stem>-N` in use.
pub fn next_number<'a>(stem: &str, ids: impl Iterator<Item = &'a str>) -> u64 {
    ids.filter_map(|id| id.strip_prefix(stem)?.strip_prefix('-')?.parse::<u64>().ok()).max().unwrap_or(0) + 1
}
