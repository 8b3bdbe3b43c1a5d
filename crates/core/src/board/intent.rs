//! Git work in progress: recorded before the effect and after it, so that a later command can end the work of a dead
//! process.

use super::agent::Process;
use super::gates::GateReport;
use super::prelude::*;
use super::task::{Left, Status};

record! {
    pub struct Intent {
        /// Counts up; never reused on one board.
        pub id: u64,
        pub task: Option<TaskId>,
        pub by: AgentId,
        /// The process that does the work; when it is dead, any process may end the intent.
        pub owner: Process,
        pub time: Wall,
        pub request: Option<RequestKey>,
        pub work: Work,
    }
}

/// Identifies a command that may be repeated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequestKey {
    pub id: String,
    pub digest: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// liza makes a worktree for a claim.
    Claim(ClaimWork),
    /// liza merges a task.
    Merge(MergeWork),
    /// liza moves integration to a commit that it did not make.
    Advance(MoveWork),
    /// liza moves another branch to integration.
    Deliver(MoveWork),
    /// liza applies a patch bundle to the branch of a task.
    Apply(ApplyWork),
}

impl Work {
    /// The move of a branch that is recorded before it happens.
    pub fn step(&self) -> Option<&RefMove> {
        match self {
            Self::Claim(_) => None,
            Self::Merge(work) => work.step.as_ref(),
            Self::Advance(work) | Self::Deliver(work) => work.step.as_ref(),
            Self::Apply(work) => Some(&work.step),
        }
    }

    pub fn verb(&self) -> &'static str {
        match self {
            Self::Claim(_) => "claim",
            Self::Merge(_) => "merge",
            Self::Advance(_) => "integration advance",
            Self::Deliver(_) => "deliver",
            Self::Apply(_) => "bundle apply",
        }
    }
}

record! {
    /// The task before the claim, to restore if the worktree cannot be made.
    pub struct ClaimWork {
        pub epoch: u64,
        pub branch: String,
        pub worktree: String,
        /// The commit at which the branch starts.
        pub start: CommitId,
        /// Whether the worktree of the former attempt is used again.
        pub reuse: bool,
        pub former: Former,
    }

    pub struct Former {
        pub status: Status,
        pub assigned_to: Option<AgentId>,
        pub lease: Option<super::lease::Lease>,
        pub reserved_until: Option<Deadline>,
        always pub holds_paths: bool,
        pub iteration: u32,
        pub review_cycles_current: u32,
        always pub integration_fix: bool,
        pub left: Option<Left>,
        always pub implementers: Vec<AgentId>,
        pub consecutive_rejections: u32,
    }

    pub struct MergeWork {
        pub review_commit: CommitId,
        pub former_status: Status,
        /// A person's resolution of a conflict, which liza merges instead of its own merge.
        pub resolved: Option<CommitId>,
        pub resolve_trivial: bool,
        /// The next move, recorded once the merged tree has passed its gates.
        pub step: Option<RefMove>,
        /// The gate results for the tree of that move.
        pub gates: Option<GateReport>,
    }

    pub struct MoveWork {
        pub branch: String,
        pub reason: String,
        /// The checkout of that branch; its files move with the branch.
        pub checkout: Option<String>,
        pub step: Option<RefMove>,
        pub gates: Option<GateReport>,
    }

    /// A bundle whose commit is made and checked; the next steps are to move the branch and the files of the worktree.
    pub struct ApplyWork {
        /// The epoch of the claim under which liza applies the bundle.
        pub epoch: u64,
        pub worktree: String,
        pub bundle: String,
        /// The path of the bundle's file.
        pub path: String,
        /// The agents recorded as authors of what the bundle changes.
        pub implementers: Vec<AgentId>,
        pub step: RefMove,
        /// The gate results for the commit.
        pub gates: Option<GateReport>,
    }

    /// The move of one branch.
    #[derive(Eq)]
    pub struct RefMove {
        pub branch: String,
        pub old: Option<CommitId>,
        pub new: CommitId,
    }
}
