//! Why not, and what to do instead. A refusal changes nothing; it is an answer, not a failure of the program.

use serde_json::{Map, Value};

macro_rules! codes {
    ($($variant:ident $name:literal $exit:literal),* $(,)?) => {
        /// Every reason a rule can give, with the exit code that goes with it. Scripts depend on both.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Code { $($variant),* }

        impl Code {
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }

            pub fn exit(self) -> u8 {
                match self { $(Self::$variant => $exit),* }
            }
        }
    };
}

codes! {
    Transition "refused.transition" 1,
    Role "refused.role" 1,
    HumanOnly "refused.human_only" 1,
    UnknownTask "refused.unknown_task" 1,
    UnknownAgent "refused.unknown_agent" 1,
    UnknownRole "refused.unknown_role" 1,
    UnknownRecord "refused.unknown_record" 1,
    Identity "refused.identity" 1,
    IdTaken "refused.id_taken" 1,
    IdReserved "refused.id_reserved" 1,
    Incomplete "refused.incomplete" 1,
    Cycle "refused.cycle" 1,
    DependencyMissing "refused.dependency_missing" 1,
    DependencyUnmet "refused.dependency_unmet" 1,
    PathsOverlap "refused.paths_overlap" 1,
    HoldsAnother "refused.holds_another" 1,
    HypothesisExhausted "refused.hypothesis_exhausted" 1,
    CheckpointMissing "refused.checkpoint_missing" 1,
    CheckpointLate "refused.checkpoint_late" 1,
    CheckpointWeak "refused.checkpoint_weak" 1,
    WorktreeDirty "refused.worktree_dirty" 1,
    NothingSubmitted "refused.empty" 1,
    BaseMissing "refused.base_missing" 1,
    Scope "refused.scope" 1,
    FeedbackIncomplete "refused.feedback_incomplete" 1,
    IssuesOpen "refused.issues_open" 1,
    TestsMissing "refused.tests_missing" 1,
    ProtectedPaths "refused.protected_paths" 1,
    RedTeam "refused.red_team" 1,
    AlreadyApproved "refused.already_approved" 1,
    NoBug "refused.no_bug" 1,
    Limit "refused.limit" 1,
    Spend "refused.spend" 1,
    Value "refused.value" 1,
    RequestReused "refused.request_reused" 1,
    AgentRunning "refused.agent_running" 1,
    EditRefused "refused.edit" 1,
    CheckedOut "refused.checked_out" 1,
    BranchMove "refused.branch_move" 1,
    Sealed "refused.sealed" 1,
    NotAncestor "refused.not_ancestor" 1,
    BoardExists "refused.board_exists" 1,
    StillNeeded "refused.still_needed" 1,
    Tier0Role "tier0.role_boundary" 1,
    Tier0SelfApproval "tier0.self_approval" 1,
    Tier0UnapprovedMerge "tier0.unapproved_merge" 1,
    Tier0SkippedState "tier0.skipped_state" 1,
    Held "stale.held" 3,
    Epoch "stale.epoch" 3,
    LeaseLost "stale.lease_lost" 3,
    Commit "stale.commit" 3,
    ApprovalVoid "stale.approval_void" 3,
    IntentOpen "stale.in_progress" 3,
    IntentGone "stale.intent" 3,
    Reserved "stale.reserved" 3,
    Switched "switch.set" 5,
    ValidationRed "gate.validation" 7,
    GateRed "gate.red" 7,
    GateNotRun "gate.not_run" 7,
}

impl Code {
    /// The one kind of refusal that is itself put on record.
    pub fn is_tier0(self) -> bool {
        self.as_str().starts_with("tier0.")
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Refusal {
    pub code: Code,
    pub message: String,
    /// The next safe step, never a command that destroys anything.
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

    /// So that `return refusal.into()` reads well where a result is wanted.
    pub fn err<T>(self) -> Result<T, Self> {
        Err(self)
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_and_exit_codes_agree() {
        for code in Code::ALL {
            let prefix = code.as_str().split('.').next().unwrap_or_default();
            let expected = match prefix {
                "refused" | "tier0" => 1,
                "stale" => 3,
                "switch" => 5,
                "gate" => 7,
                other => panic!("unknown prefix {other}"),
            };
            assert_eq!(code.exit(), expected, "{}", code.as_str());
        }
    }
}
