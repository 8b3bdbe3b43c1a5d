//! What agents and people tell each other through the board.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ids::{AgentId, Role, TaskId};
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

/// A word from somebody to an agent, to everybody of a role, or to a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Message {
    /// `message-N`: counted over the whole life of the board.
    pub id: String,
    pub time: Wall,
    pub from: AgentId,
    /// An agent's id, `human`, or `role:NAME`.
    pub to: Recipient,
    #[serde(rename = "type")]
    pub kind: MessageKind,
    pub subject: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub body: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub payload: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_reply_to: Option<String>,
    /// Higher is more urgent; 50 for a nudge, 100 for a halt.
    #[serde(default)]
    pub priority: i64,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub requires_response: bool,
    /// Until then an answer is expected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub respond_by: Option<Wall>,
    /// The message that answered it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered_by: Option<String>,
    /// Those of its receivers that have been shown it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seen_by: Vec<AgentId>,
}

/// To whom a message goes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub enum Recipient {
    /// One agent, or the person.
    One(AgentId),
    /// Everybody who has the role, now or later.
    Role(Role),
}

impl Recipient {
    pub fn parse(text: &str) -> Result<Self, String> {
        match text.strip_prefix("role:") {
            Some(role) => Role::new(role).map(Self::Role).map_err(|why| why.to_string()),
            None => AgentId::new(text).map(Self::One).map_err(|why| why.to_string()),
        }
    }
}

impl Recipient {
    /// Whether a message to it goes to an agent of this name and these roles.
    pub fn includes(&self, id: &AgentId, roles: &[Role]) -> bool {
        match self {
            Self::One(one) => one.is_same(id),
            Self::Role(role) => roles.contains(role),
        }
    }
}

impl std::fmt::Display for Recipient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::One(agent) => write!(f, "{agent}"),
            Self::Role(role) => write!(f, "role:{role}"),
        }
    }
}

impl TryFrom<String> for Recipient {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text)
    }
}

impl From<Recipient> for String {
    fn from(to: Recipient) -> Self {
        to.to_string()
    }
}

macro_rules! message_kinds {
    ($($variant:ident $name:literal),* $(,)?) => {
        /// The closed list of what agents say to each other.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum MessageKind { $($variant),* }

        impl MessageKind {
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }

            pub fn parse(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|kind| kind.as_str() == text)
            }
        }
    };
}

message_kinds! {
    TaskAssignment "task_assignment",
    TaskComplete "task_complete",
    TaskBlocked "task_blocked",
    TaskFailed "task_failed",
    RequestInput "request_input",
    ProvideInput "provide_input",
    RequestClarification "request_clarification",
    ProvideClarification "provide_clarification",
    SubmitForReview "submit_for_review",
    ReviewFeedback "review_feedback",
    ReviewApproved "review_approved",
    Nudge "nudge",
    Halt "halt",
    Resume "resume",
    Escalate "escalate",
}

impl MessageKind {
    /// Whether it tells somebody to stop or to go on: only people and overseers say that, it comes before everything else
    /// and is always told whole.
    pub fn is_order(self) -> bool {
        matches!(self, Self::Nudge | Self::Halt | Self::Resume)
    }

    /// The kind of the answer to a message of this kind.
    pub fn answer(self) -> Self {
        match self {
            Self::RequestClarification => Self::ProvideClarification,
            _ => Self::ProvideInput,
        }
    }
}

impl Message {
    /// Bytes of what was written.
    pub fn size(&self) -> usize {
        let payload: usize = self.payload.iter().map(|(key, value)| key.len() + value.len()).sum();
        self.subject.len() + self.body.len() + payload
    }

    /// Whether an answer is expected and there is none.
    pub fn is_unanswered(&self) -> bool {
        self.requires_response && self.answered_by.is_none()
    }

    /// Whether the answer is late.
    pub fn is_overdue(&self, now: Wall) -> bool {
        self.is_unanswered() && self.respond_by.is_some_and(|due| due < now)
    }

    /// The N of `message-N`; 0 for an id that is none of ours.
    pub fn number(&self) -> u64 {
        message_number(&self.id).unwrap_or(0)
    }
}

/// The N of `message-N`.
pub fn message_number(id: &str) -> Option<u64> {
    id.strip_prefix("message-")?.parse().ok()
}

/// The number after the last `<stem>-N` in use.
pub fn next_number<'a>(stem: &str, ids: impl Iterator<Item = &'a str>) -> u64 {
    ids.filter_map(|id| id.strip_prefix(stem)?.strip_prefix('-')?.parse::<u64>().ok()).max().unwrap_or(0) + 1
}
