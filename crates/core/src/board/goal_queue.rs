//! The goals of a board in their order, and which tasks belong to the current one.

use super::goals::Goal;
use super::state::Board;
use super::task::{Head, Status};

impl Board {
    /// Every goal in order: the ended ones, the current one, the waiting ones.
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

    /// Whether a goal before the current one has ended.
    pub fn has_former_goals(&self) -> bool {
        self.rest.goals.iter().any(|goal| !goal.is_queued())
    }

    /// The goal of tasks that name none: the first this board had.
    fn first_goal(&self) -> &str {
        let former = self.rest.goals.iter().find(|goal| !goal.is_queued());
        former.map_or(&self.rest.goal.id, |goal| &goal.id)
    }

    /// The goal that a new task records; none for the board's first goal.
    pub fn goal_of_new_task(&self) -> Option<String> {
        let current = &self.rest.goal.id;
        (current != self.first_goal()).then(|| current.clone())
    }

    /// The id of the goal a task belongs to.
    pub fn goal_of<'b>(&'b self, task: &'b Head) -> &'b str {
        task.goal.as_deref().unwrap_or_else(|| self.first_goal())
    }

    /// Whether reports and figures count the task with the current goal.
    pub fn is_of_current_goal(&self, task: &Head) -> bool {
        self.goal_of(task) == self.rest.goal.id
    }

    /// Whether the task is part of the plan for the current goal; a single job is not.
    pub fn is_planned_for_goal(&self, task: &Head) -> bool {
        !task.single && self.is_of_current_goal(task)
    }

    /// How many tasks of the current goal are in the archive. Older boards counted archived tasks only for the whole
    /// board.
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
