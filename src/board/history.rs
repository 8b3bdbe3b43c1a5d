//! What happened to a task, in order; entries are only ever added.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ids::{AgentId, CommitId};
use super::task::Status;
use super::time::Wall;

/// What an agent states before it implements anything.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    pub intent: String,
    #[serde(default)]
    pub assumptions: Vec<Assumption>,
    pub risks: String,
    pub validation: Plan,
    pub files_to_modify: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Assumption {
    pub text: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub critical: bool,
}

/// The command that will show the work is right, and what it must print.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    pub command: String,
    pub expect: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HistoryEntry {
    pub time: Wall,
    pub event: Event,
    pub agent: AgentId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Status>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Status>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iteration: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<CommitId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<Checkpoint>,
    /// What somebody asked when it was blocked or put up for discussion.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    Created,
    Finalized,
    Claimed,
    TakenOver,
    ClaimUndone,
    PreExecutionCheckpoint,
    Submitted,
    ReviewStarted,
    ReviewReleased,
    Approved,
    ApprovalVoided,
    RedTeamCleared,
    Rejected,
    DiscussionNeeded,
    Synced,
    BundleMade,
    BundleApplied,
    BundleReviewed,
    MergeStarted,
    MergeCancelled,
    Merged,
    IntegrationFailed,
    Blocked,
    Unblocked,
    Released,
    HandedOff,
    Superseded,
    Abandoned,
    Edited,
    Restored,
    PathsGivenBack,
    GateBlessed,
    Migrated,
}

impl Event {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Finalized => "finalized",
            Self::Claimed => "claimed",
            Self::TakenOver => "taken_over",
            Self::ClaimUndone => "claim_undone",
            Self::PreExecutionCheckpoint => "pre_execution_checkpoint",
            Self::Submitted => "submitted",
            Self::ReviewStarted => "review_started",
            Self::ReviewReleased => "review_released",
            Self::Approved => "approved",
            Self::ApprovalVoided => "approval_voided",
            Self::RedTeamCleared => "red_team_cleared",
            Self::Rejected => "rejected",
            Self::DiscussionNeeded => "discussion_needed",
            Self::Synced => "synced",
            Self::BundleMade => "bundle_made",
            Self::BundleApplied => "bundle_applied",
            Self::BundleReviewed => "bundle_reviewed",
            Self::MergeStarted => "merge_started",
            Self::MergeCancelled => "merge_cancelled",
            Self::Merged => "merged",
            Self::IntegrationFailed => "integration_failed",
            Self::Blocked => "blocked",
            Self::Unblocked => "unblocked",
            Self::Released => "released",
            Self::HandedOff => "handed_off",
            Self::Superseded => "superseded",
            Self::Abandoned => "abandoned",
            Self::Edited => "edited",
            Self::Restored => "restored",
            Self::PathsGivenBack => "paths_given_back",
            Self::GateBlessed => "gate_blessed",
            Self::Migrated => "migrated",
        }
    }
}

impl HistoryEntry {
    pub fn new(time: Wall, event: Event, agent: AgentId) -> Self {
        Self {
            time,
            event,
            agent,
            from: None,
            to: None,
            epoch: None,
            iteration: None,
            commit: None,
            detail: None,
            checkpoint: None,
            questions: Vec::new(),
        }
    }

    pub fn step(mut self, from: Status, to: Status) -> Self {
        self.from = Some(from);
        self.to = Some(to);
        self
    }

    pub fn epoch(mut self, epoch: u64) -> Self {
        self.epoch = Some(epoch);
        self
    }

    pub fn iteration(mut self, iteration: u32) -> Self {
        self.iteration = Some(iteration);
        self
    }

    pub fn commit(mut self, commit: &CommitId) -> Self {
        self.commit = Some(commit.clone());
        self
    }

    pub fn questions(mut self, questions: &[String]) -> Self {
        self.questions = questions.to_vec();
        self
    }

    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }
}
