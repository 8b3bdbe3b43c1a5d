//! Refusals: why a command was refused, and what to do instead. A refusal changes nothing and is no program error.

use serde_json::{Map, Value};

/// The class of an error code: the first word of its text, which decides the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// A rule, role or state refused the command.
    Refused,
    /// A rule breach (Tier 0): an attempt at something that no role or setting may allow, such as approving one's own work.
    /// Liza records it.
    Tier0,
    Usage,
    /// Another agent holds the task, or the epoch or commit is out of date.
    Stale,
    /// The board's lock could not be acquired in time.
    Busy,
    /// A switch (PAUSE, ABORT or CHECKPOINT) stops the caller.
    Switch,
    /// Board invalid or rolled back.
    Board,
    /// A gate or validation is red or could not run.
    Gate,
    Git,
    /// I/O failed, nothing changed.
    Io,
    Signal,
    /// An agent's command could not be started.
    Agent,
    /// A bug in liza.
    Bug,
}

impl Class {
    /// Part of the interface, listed in specs/cli.md.
    pub fn exit(self) -> u8 {
        match self {
            Self::Refused | Self::Tier0 => 1,
            Self::Usage => 2,
            Self::Stale => 3,
            Self::Busy => 4,
            Self::Switch => 5,
            Self::Board => 6,
            Self::Gate => 7,
            Self::Git => 8,
            Self::Io => 9,
            Self::Bug => 70,
            // The shell's exit code for a command that was not found.
            Self::Agent => 127,
            Self::Signal => 130,
        }
    }
}

macro_rules! codes {
    ($($variant:ident $class:ident $name:literal),* $(,)?) => {
        /// Every reason a rule can give. Scripts depend on its text.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Code { $($variant),* }

        impl Code {
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }

            pub fn class(self) -> Class {
                match self { $(Self::$variant => Class::$class),* }
            }
        }
    };
}

codes! {
    Transition Refused "refused.transition",
    Role Refused "refused.role",
    HumanOnly Refused "refused.human_only",
    UnknownTask Refused "refused.unknown_task",
    UnknownAgent Refused "refused.unknown_agent",
    UnknownRole Refused "refused.unknown_role",
    UnknownRecord Refused "refused.unknown_record",
    Identity Refused "refused.identity",
    IdTaken Refused "refused.id_taken",
    IdReserved Refused "refused.id_reserved",
    Incomplete Refused "refused.incomplete",
    Cycle Refused "refused.cycle",
    DependencyMissing Refused "refused.dependency_missing",
    DependencyUnmet Refused "refused.dependency_unmet",
    PathsOverlap Refused "refused.paths_overlap",
    HoldsAnother Refused "refused.holds_another",
    HypothesisExhausted Refused "refused.hypothesis_exhausted",
    CheckpointMissing Refused "refused.checkpoint_missing",
    CheckpointLate Refused "refused.checkpoint_late",
    CheckpointWeak Refused "refused.checkpoint_weak",
    WorktreeDirty Refused "refused.worktree_dirty",
    NothingSubmitted Refused "refused.empty",
    BaseMissing Refused "refused.base_missing",
    Scope Refused "refused.scope",
    FeedbackIncomplete Refused "refused.feedback_incomplete",
    IssuesOpen Refused "refused.issues_open",
    TestsMissing Refused "refused.tests_missing",
    KindMismatch Refused "refused.kind_mismatch",
    Slice Refused "refused.slice",
    Result Refused "refused.result",
    ProtectedPaths Refused "refused.protected_paths",
    RedTeam Refused "refused.red_team",
    AlreadyApproved Refused "refused.already_approved",
    NoBug Refused "refused.no_bug",
    Limit Refused "refused.limit",
    Spend Refused "refused.spend",
    Value Refused "refused.value",
    RequestReused Refused "refused.request_reused",
    AgentRunning Refused "refused.agent_running",
    EditRefused Refused "refused.edit",
    CheckedOut Refused "refused.checked_out",
    BranchMove Refused "refused.branch_move",
    Sealed Refused "refused.sealed",
    NotAncestor Refused "refused.not_ancestor",
    BoardExists Refused "refused.board_exists",
    StillNeeded Refused "refused.still_needed",
    ReadOnly Refused "refused.read_only",
    StreamsNeeded Refused "refused.streams_needed",
    PlanFirst Refused "refused.plan_first",
    Unaudited Refused "refused.unaudited",
    Tier0Role Tier0 "tier0.role_boundary",
    Tier0SelfApproval Tier0 "tier0.self_approval",
    Tier0UnapprovedMerge Tier0 "tier0.unapproved_merge",
    Tier0SkippedState Tier0 "tier0.skipped_state",
    Held Stale "stale.held",
    Epoch Stale "stale.epoch",
    Edited Stale "stale.edited",
    LeaseLost Stale "stale.lease_lost",
    Commit Stale "stale.commit",
    ApprovalVoid Stale "stale.approval_void",
    IntentOpen Stale "stale.in_progress",
    IntentGone Stale "stale.intent",
    Reserved Stale "stale.reserved",
    Switched Switch "switch.set",
    ValidationRed Gate "gate.validation",
    GateRed Gate "gate.red",
    GateNotRun Gate "gate.not_run",
    GateNotAccepted Gate "gate.not_accepted",
}

impl Code {
    /// A rule breach (Tier 0), the only kind of refusal that is recorded.
    pub fn is_tier0(self) -> bool {
        self.class() == Class::Tier0
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Refusal {
    pub code: Code,
    pub message: String,
    /// The next safe step; never a command that destroys anything.
    pub hint: Option<String>,
    pub details: Map<String, Value>,
}

impl Refusal {
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None, details: Map::new() }
    }

    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub fn detail(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.details.insert(key.to_owned(), value.into());
        self
    }
}

/// Makes a refusal from a code and a format string.
macro_rules! refusal {
    ($code:expr, $($words:tt)+) => {
        $crate::board::Refusal::new($code, format!($($words)+))
    };
}
pub(crate) use refusal;

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_word_of_a_code_is_its_class() {
        for code in Code::ALL {
            let class = format!("{:?}.", code.class()).to_lowercase();
            assert!(code.as_str().starts_with(&class), "{}", code.as_str());
        }
    }
}
