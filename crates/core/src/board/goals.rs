//! Goals: the current one, the earlier ones that were reached or abandoned, and the waiting ones.

use super::ids::GraphId;
use super::prelude::*;
use super::route::Routing;
use super::spent::Spent;

/// A `spec_ref` with this value means the text of the goal.
pub const GOAL_SPEC: &str = "goal";

/// Most goals that may wait.
pub const MOST_QUEUED: usize = 100;

/// How many ended goals the board remembers, besides the first.
pub const GOALS_KEPT: usize = 200;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum GoalStatus {
    InProgress,
    Complete,
    Abandoned,
    /// The goal waits for the goals before it.
    Queued,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

record! {
    pub struct Alignment {
        pub time: Wall,
        pub event: String,
        pub summary: String,
    }

    pub struct Goal {
        pub id: String,
        pub description: String,
        pub spec_ref: String,
        pub status: GoalStatus,
        #[serde(default)]
        always pub alignment_history: Vec<Alignment>,
        /// When the goal was given, unless it is the board's first.
        pub created: Option<Wall>,
        /// When work on the goal began, unless it is the board's first.
        pub started: Option<Wall>,
        pub ended: Option<Wall>,
        /// Why the goal was abandoned.
        pub end_reason: Option<String>,
        /// How many tasks of the goal are in the archive.
        #[serde(default, skip_serializing_if = "is_zero")]
        pub archived: u64,
        /// The cost of all sessions, and of the planner's sessions, when the goal began.
        #[serde(default, skip_serializing_if = "Spent::is_nothing")]
        pub spent_before: Spent,
        #[serde(default, skip_serializing_if = "Spent::is_nothing")]
        pub planning_before: Spent,
        /// The name of its work graph, stored when the goal ends.
        pub graph_id: Option<GraphId>,
        /// How `liza run` routes the goal when it starts; absent for goals that are not routed.
        pub routing: Option<Routing>,
    }

    /// The text of a spec as it was when a task was planned. `.liza/spec_texts` holds the text under its hash.
    #[derive(Eq)]
    pub struct PinnedSpec {
        /// The file, or `goal`.
        pub of: String,
        pub hash: String,
    }
}

/// The pinned spec of one task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpecPin {
    pub task: TaskId,
    pub spec: PinnedSpec,
}

/// The specs that liza found for tasks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Specs {
    /// Tasks whose spec exists.
    pub found: Vec<TaskId>,
    pub pins: Vec<SpecPin>,
}

impl From<Vec<TaskId>> for Specs {
    fn from(found: Vec<TaskId>) -> Self {
        Self { found, pins: Vec::new() }
    }
}

impl Goal {
    pub fn new(id: &str, description: &str, spec_ref: &str) -> Self {
        Self {
            id: id.to_owned(),
            description: description.to_owned(),
            spec_ref: spec_ref.to_owned(),
            status: GoalStatus::InProgress,
            alignment_history: Vec::new(),
            created: None,
            started: None,
            ended: None,
            end_reason: None,
            archived: 0,
            spent_before: Spent::default(),
            planning_before: Spent::default(),
            graph_id: None,
            routing: None,
        }
    }

    pub fn is_open(&self) -> bool {
        self.status == GoalStatus::InProgress
    }

    pub fn is_queued(&self) -> bool {
        self.status == GoalStatus::Queued
    }
}
