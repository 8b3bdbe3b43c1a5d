//! Notes, anomalies, discoveries, handoffs and messages: what agents and people report through the board.

use std::collections::BTreeMap;

use super::names::{Named, named};
use super::prelude::*;

impl Note {
    /// Whether the note is a person's: written by a person's command, or typed into the file and then adopted by one.
    pub fn is_answer(&self) -> bool {
        self.by.is_human() && self.typed.is_none()
    }
}

record! {
    /// A person's or an agent's remark; only a person's counts as an answer.
    pub struct Note {
        pub id: String,
        pub time: Wall,
        pub by: AgentId,
        pub task_id: Option<TaskId>,
        pub text: String,
        pub processed_by: Option<AgentId>,
        /// The edit of the file that holds this note: until a person's command has applied that edit, the note is no
        /// answer.
        pub typed: Option<String>,
    }

    pub struct Anomaly {
        pub id: String,
        #[serde(rename = "type")]
        pub kind: AnomalyKind,
        pub task_id: TaskId,
        pub logged_by: AgentId,
        pub timestamp: Wall,
        pub details: BTreeMap<String, String>,
        pub processed_by: Option<AgentId>,
    }
}

macro_rules! anomaly_kinds {
    ($($variant:ident $name:literal [$($detail:literal),*]),* $(,)?) => {
        /// The closed list of problems that an agent may report.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum AnomalyKind { $($variant),* }

        impl AnomalyKind {
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }

            /// The details that an anomaly of this kind must have.
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

impl Named for AnomalyKind {
    const ALL: &'static [Self] = Self::ALL;
    fn name(self) -> &'static str {
        self.as_str()
    }
}

impl std::str::FromStr for AnomalyKind {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        named(text).map_err(|_| {
            let known =
                Self::ALL.iter().map(|kind| format!("{} ({})", kind.as_str(), kind.required().join(", ")));
            format!("types and the details they need: {}", known.collect::<Vec<_>>().join("; "))
        })
    }
}

words! {
    pub enum Urgency {
        Deferred = "deferred",
        Immediate = "immediate",
    }
}

named_by!(Urgency);

record! {
    /// Work that an agent noticed while it did other work.
    pub struct Discovery {
        pub id: String,
        pub time: Wall,
        pub by: AgentId,
        pub task_id: TaskId,
        pub text: String,
        pub severity: super::review::Severity,
        pub urgency: Urgency,
        pub processed_by: Option<AgentId>,
    }

    /// What one agent leaves for the agent that claims the task next.
    pub struct Handoff {
        pub task_id: TaskId,
        pub time: Wall,
        pub by: AgentId,
        pub epoch: u64,
        pub summary: String,
        pub next_action: String,
        /// What git and the board showed about the work at that time; absent in older handoffs.
        pub package: Option<HandoffPackage>,
    }

    /// Facts that liza adds to a handoff.
    #[derive(Eq, Default)]
    pub struct HandoffPackage {
        /// Paths that the branch changes against integration.
        pub files_changed: Vec<String>,
        /// The commits, oldest first, each with its subject.
        pub commits: Vec<String>,
        /// Results of validation and gates that liza observed.
        pub test_results: Vec<String>,
        /// Messages about the task that no receiver has read or answered.
        pub open_messages: Vec<String>,
        pub warnings: Vec<String>,
    }

    pub struct SpecChange {
        pub id: String,
        pub time: Wall,
        pub by: AgentId,
        pub spec: String,
        pub change: String,
        pub affects: Vec<TaskId>,
        pub processed_by: Option<AgentId>,
    }

    /// A message from an agent, a person or liza to an agent, to all agents of a role, or to a person.
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
        pub task_id: Option<TaskId>,
        pub in_reply_to: Option<String>,
        /// Higher is more urgent; 50 for a nudge, 100 for a halt.
        #[serde(default)]
        pub priority: i64,
        pub requires_response: bool,
        /// The time until which an answer is expected.
        pub respond_by: Option<Wall>,
        /// The id of the answer.
        pub answered_by: Option<String>,
        /// The recipients that have seen the message.
        pub seen_by: Vec<AgentId>,
    }
}

impl HandoffPackage {
    /// The non-empty parts, by name.
    pub fn parts(&self) -> Vec<(&'static str, &[String])> {
        let all: [(&str, &[String]); 5] = [
            ("files changed", &self.files_changed),
            ("commits", &self.commits),
            ("test results", &self.test_results),
            ("open messages", &self.open_messages),
            ("warnings", &self.warnings),
        ];
        all.into_iter().filter(|(_, lines)| !lines.is_empty()).collect()
    }
}

/// The recipient of a message.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub enum Recipient {
    /// One agent, or the person.
    One(AgentId),
    /// All agents that have the role, also those registered later.
    Role(Role),
}

impl std::str::FromStr for Recipient {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = match text.strip_prefix("role:") {
            Some(role) => Role::new(role).map(Self::Role),
            None => AgentId::new(text).map(Self::One),
        };
        parsed.map_err(|why| format!("{why}; a recipient is an agent's id, role:ROLE, or human"))
    }
}

impl Recipient {
    /// Whether the recipient is this agent or one of these roles.
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
        text.parse()
    }
}

impl From<Recipient> for String {
    fn from(to: Recipient) -> Self {
        to.to_string()
    }
}

words! {
    /// The closed list of message types.
    #[derive(PartialOrd, Ord)]
    pub enum MessageKind {
        TaskAssignment = "task_assignment",
        TaskComplete = "task_complete",
        TaskBlocked = "task_blocked",
        TaskFailed = "task_failed",
        RequestInput = "request_input",
        ProvideInput = "provide_input",
        RequestClarification = "request_clarification",
        ProvideClarification = "provide_clarification",
        SubmitForReview = "submit_for_review",
        ReviewFeedback = "review_feedback",
        ReviewApproved = "review_approved",
        Nudge = "nudge",
        Halt = "halt",
        Resume = "resume",
        Escalate = "escalate",
    }
}

named_by!(MessageKind);

impl MessageKind {
    /// Whether the message orders an agent to stop or to continue: only people and overseers may send an order; it
    /// comes before all other messages and is never shortened.
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
    /// The size of the texts in bytes.
    pub fn size(&self) -> usize {
        self.subject.len() + self.body.len() + payload_size(&self.payload)
    }

    /// Whether an answer is expected and missing.
    pub fn is_unanswered(&self) -> bool {
        self.requires_response && self.answered_by.is_none()
    }

    /// Whether the answer is late.
    pub fn is_overdue(&self, now: Wall) -> bool {
        self.is_unanswered() && self.respond_by.is_some_and(|due| due < now)
    }

    /// The N of `message-N`; 0 for any other id.
    pub fn number(&self) -> u64 {
        message_number(&self.id).unwrap_or(0)
    }
}

/// Bytes of keys and values.
pub fn payload_size(payload: &BTreeMap<String, String>) -> usize {
    payload.iter().map(|(key, value)| key.len() + value.len()).sum()
}

/// The N of `message-N`.
pub fn message_number(id: &str) -> Option<u64> {
    id.strip_prefix("message-")?.parse().ok()
}

/// The number after the last `<stem>-N` in use.
pub fn next_number<'a>(stem: &str, ids: impl Iterator<Item = &'a str>) -> u64 {
    ids.filter_map(|id| id.strip_prefix(stem)?.strip_prefix('-')?.parse::<u64>().ok()).max().unwrap_or(0) + 1
}

/// The id after the last `<stem>-N` in use.
pub fn next_id<'a>(stem: &str, ids: impl Iterator<Item = &'a str>) -> String {
    format!("{stem}-{}", next_number(stem, ids))
}

logged! {
    /// A message before it has a number.
    pub struct Draft {
        pub to: Recipient,
        #[serde(rename = "type")]
        pub kind: MessageKind,
        pub subject: String,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        pub body: String,
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        pub payload: BTreeMap<String, String>,
        pub task_id: Option<TaskId>,
        pub in_reply_to: Option<String>,
        #[serde(default)]
        pub priority: i64,
        pub requires_response: bool,
        pub respond_by: Option<Wall>,
    }
}

impl Draft {
    /// A message with this text that has no subject task, answers no message and needs no answer.
    pub fn new(to: Recipient, kind: MessageKind, subject: String, body: String) -> Self {
        let (payload, task_id, in_reply_to, priority) = (BTreeMap::new(), None, None, 0);
        let (requires_response, respond_by) = (false, None);
        Self {
            to,
            kind,
            subject,
            body,
            payload,
            task_id,
            in_reply_to,
            priority,
            requires_response,
            respond_by,
        }
    }

    /// The message that liza puts on the board.
    pub fn sent(&self, id: String, time: Wall, from: AgentId) -> Message {
        let draft = self.clone();
        Message {
            id,
            time,
            from,
            to: draft.to,
            kind: draft.kind,
            subject: draft.subject,
            body: draft.body,
            payload: draft.payload,
            task_id: draft.task_id,
            in_reply_to: draft.in_reply_to,
            priority: draft.priority,
            requires_response: draft.requires_response,
            respond_by: draft.respond_by,
            answered_by: None,
            seen_by: Vec::new(),
        }
    }
}
