//! Git work that is under way: recorded before the effect and after it, so that a later command can end it.

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

/// Names a command that may be repeated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequestKey {
    pub id: String,
    pub digest: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// A worktree is being made for a claim.
    Claim(ClaimWork),
    /// A task is being merged.
    Merge(MergeWork),
    /// A commit liza did not make is being brought into integration.
    Advance(MoveWork),
    /// Integration is being brought to another branch.
    Deliver(MoveWork),
    /// A patch bundle is being applied to the branch of a task.
    Apply(ApplyWork),
}

impl Work {
    /// The move of a branch that was recorded before it is made.
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
    /// What the task was before the claim, to go back to if the worktree cannot be made.
    pub struct ClaimWork {
        pub epoch: u64,
        pub branch: String,
        pub worktree: String,
        /// Where the branch starts.
        pub start: CommitId,
        /// The worktree of the former attempt goes on being used.
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
        /// A person's resolution to land instead of what git would make of it.
        pub resolved: Option<CommitId>,
        pub resolve_trivial: bool,
        /// The move that is about to be made, once the merged tree has passed.
        pub step: Option<RefMove>,
        /// What the gates said about the tree it moves to.
        pub gates: Option<GateReport>,
    }

    pub struct MoveWork {
        pub branch: String,
        pub reason: String,
        /// The checkout of that branch, whose files move along.
        pub checkout: Option<String>,
        pub step: Option<RefMove>,
        pub gates: Option<GateReport>,
    }

    /// A bundle whose commit is made and judged; the branch is about to move, and then the files of the worktree.
    pub struct ApplyWork {
        /// The claim it is applied under.
        pub epoch: u64,
        pub worktree: String,
        pub bundle: String,
        /// Where the bundle's file is.
        pub path: String,
        /// The agents recorded as authors of what the bundle changes.
        pub implementers: Vec<AgentId>,
        pub step: RefMove,
        /// What the gates said about the commit.
        pub gates: Option<GateReport>,
    }

    /// Exactly one move of a branch.
    #[derive(Eq)]
    pub struct RefMove {
        pub branch: String,
        pub old: Option<CommitId>,
        pub new: CommitId,
    }
}
