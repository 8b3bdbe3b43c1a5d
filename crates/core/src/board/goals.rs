//! Goals: one is the current one, the others were reached or given up before it, or wait in the queue.

use super::ids::GraphId;
use super::prelude::*;
use super::spent::Spent;
use super::state::{Alignment, Board, GoalStatus};
use super::task::{Head, Status};

/// A `spec_ref` of this name means the text of the goal.
pub const GOAL_SPEC: &str = "goal";

/// Most goals that may wait.
pub const MOST_QUEUED: usize = 100;

/// How many goals that are over the board remembers, beside the first.
pub const GOALS_KEPT: usize = 200;

record! {
    pub struct Goal {
        pub id: String,
        pub description: String,
        pub spec_ref: String,
        pub status: GoalStatus,
        #[serde(default)]
        always pub alignment_history: Vec<Alignment>,
        /// When it was given, if it is not the board's first.
        pub created: Option<Wall>,
        /// When work on it began, if it is not the board's first.
        pub started: Option<Wall>,
        pub ended: Option<Wall>,
        /// Why it was abandoned.
        pub end_reason: Option<String>,
        /// How many of its tasks are in the archive.
        #[serde(default, skip_serializing_if = "super::state::is_zero")]
        pub archived: u64,
        /// What all sessions, and those of the planner, had cost when it began.
        #[serde(default, skip_serializing_if = "Spent::is_nothing")]
        pub spent_before: Spent,
        #[serde(default, skip_serializing_if = "Spent::is_nothing")]
        pub planning_before: Spent,
        /// The name of its work graph, kept when it is over.
        pub graph_id: Option<GraphId>,
    }

    /// The text of a spec as it was when a task was planned. `.liza/spec_texts` holds the text under its hash.
    #[derive(Eq)]
    pub struct PinnedSpec {
        /// The file, or `goal`.
        pub of: String,
        pub hash: String,
    }
}

/// Which spec is pinned with which task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpecPin {
    pub task: TaskId,
    pub spec: PinnedSpec,
}

/// What was found of the specs that tasks name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Specs {
    /// Tasks whose spec is there.
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
        }
    }

    pub fn is_open(&self) -> bool {
        self.status == GoalStatus::InProgress
    }

    pub fn is_queued(&self) -> bool {
        self.status == GoalStatus::Queued
    }
}

impl Board {
    /// Every goal in its order: those that are over, the current one, those that wait.
    pub fn all_goals(&self) -> impl Iterator<Item = &Goal> {
        let goals = &self.rest.goals;
        let former = goals.iter().filter(|goal| !goal.is_queued());
        former.chain(std::iter::once(&self.rest.goal)).chain(self.queued_goals())
    }

    pub fn queued_goals(&self) -> impl Iterator<Item = &Goal> {
        self.rest.goals.iter().filter(|goal| goal.is_queued())
    }

    pub fn goal(&self, id: &str) -> Option<&Goal> {
        self.all_goals().find(|goal| goal.id.eq_ignore_ascii_case(id))
    }

    /// Whether a goal before the current one is over.
    pub fn has_former_goals(&self) -> bool {
        self.rest.goals.iter().any(|goal| !goal.is_queued())
    }

    /// The goal of tasks that name none: the first this board had.
    fn first_goal(&self) -> &str {
        let former = self.rest.goals.iter().find(|goal| !goal.is_queued());
        former.map_or(&self.rest.goal.id, |goal| &goal.id)
    }

    /// What a new task of the current goal carries; nothing for the first goal.
    pub fn goal_of_new_task(&self) -> Option<String> {
        let current = &self.rest.goal.id;
        (current != self.first_goal()).then(|| current.clone())
    }

    /// The id of the goal a task belongs to.
    pub fn goal_of<'b>(&'b self, task: &'b Head) -> &'b str {
        task.goal.as_deref().unwrap_or_else(|| self.first_goal())
    }

    /// Whether reports and figures count it with the current goal.
    pub fn is_of_current_goal(&self, task: &Head) -> bool {
        self.goal_of(task) == self.rest.goal.id
    }

    /// Whether it is part of the plan for the current goal; a single job is not.
    pub fn is_planned_for_goal(&self, task: &Head) -> bool {
        !task.single && self.is_of_current_goal(task)
    }

    /// How many tasks of the current goal are in the archive. Older boards have counted them for the board only.
    pub fn archived_of_goal(&self) -> u64 {
        let is_first = self.first_goal() == self.rest.goal.id;
        if is_first { self.rest.archived } else { self.rest.goal.archived }
    }

    /// Whether the current goal has been split into tasks.
    pub fn is_planned(&self) -> bool {
        self.archived_of_goal() > 0 || self.tasks.iter().any(|task| self.is_planned_for_goal(task))
    }

    /// Whether work for the current goal was merged.
    pub fn has_merged_for_goal(&self) -> bool {
        let merged = |task: &&super::task::Task| task.status == Status::Merged;
        self.archived_of_goal() > 0
            || self.tasks.iter().filter(merged).any(|task| self.is_planned_for_goal(task))
    }

    /// Tasks of the current goal that are not finished.
    pub fn open_of_goal(&self) -> impl Iterator<Item = &super::task::Task> {
        self.tasks.iter().filter(|task| !task.status.is_terminal() && self.is_planned_for_goal(task))
    }

    /// The id of the next goal.
    pub fn next_goal_id(&self) -> String {
        let number = |goal: &Goal| goal.id.strip_prefix("goal-")?.parse::<u64>().ok();
        let highest = self.all_goals().filter_map(number).max().unwrap_or(1);
        format!("goal-{}", highest + 1)
    }
}
