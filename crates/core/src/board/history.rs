//! The events of a task, in order; entries are only added.

use super::prelude::*;
use super::status::Status;

/// An agent's announcement before it implements anything.
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

/// An assumption of a coder. It may be written as plain text (`shapes`).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Assumption {
    pub text: String,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub critical: bool,
}

/// The command that will show that the work is right, and the output it must print. It may be written as one sentence
/// (`shapes`).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Plan {
    pub command: String,
    pub expect: String,
}

record! {
    pub struct HistoryEntry {
        pub time: Wall,
        pub event: Event,
        pub agent: AgentId,
        pub from: Option<Status>,
        pub to: Option<Status>,
        pub epoch: Option<u64>,
        pub iteration: Option<u32>,
        pub commit: Option<CommitId>,
        pub detail: Option<String>,
        pub checkpoint: Option<Checkpoint>,
        /// The questions asked when the task was blocked or put up for discussion.
        pub questions: Vec<String>,
        /// What an edit changed.
        pub changes: Vec<Change>,
    }

    /// One field of a task that was edited; its values as JSON text.
    pub struct Change {
        pub field: String,
        pub old: String,
        pub new: String,
    }
}

impl Change {
    pub fn of(field: &str, old: &impl Serialize, new: &impl Serialize) -> Self {
        let text = |value: Result<String, serde_json::Error>| value.unwrap_or_default();
        let (old, new) = (serde_json::to_string(old), serde_json::to_string(new));
        Self { field: field.to_owned(), old: text(old), new: text(new) }
    }
}

words! {
    #[derive(Hash)]
    pub enum Event {
        Created = "created",
        Finalized = "finalized",
        Claimed = "claimed",
        TakenOver = "taken_over",
        ClaimUndone = "claim_undone",
        PreExecutionCheckpoint = "pre_execution_checkpoint",
        Submitted = "submitted",
        ReviewStarted = "review_started",
        ReviewReleased = "review_released",
        Approved = "approved",
        ApprovalVoided = "approval_voided",
        RedTeamCleared = "red_team_cleared",
        Rejected = "rejected",
        DiscussionNeeded = "discussion_needed",
        Synced = "synced",
        BundleMade = "bundle_made",
        BundleApplied = "bundle_applied",
        BundleReviewed = "bundle_reviewed",
        MergeStarted = "merge_started",
        MergeCancelled = "merge_cancelled",
        Merged = "merged",
        IntegrationFailed = "integration_failed",
        Blocked = "blocked",
        Unblocked = "unblocked",
        Released = "released",
        HandedOff = "handed_off",
        Superseded = "superseded",
        Abandoned = "abandoned",
        Edited = "edited",
        Restored = "restored",
        PathsGivenBack = "paths_given_back",
        GateBlessed = "gate_blessed",
        Migrated = "migrated",
        ResultSubmitted = "result_submitted",
        ResultAccepted = "result_accepted",
        Redispatched = "redispatched",
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
            changes: Vec::new(),
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
