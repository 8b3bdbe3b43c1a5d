//! Sprints: a stretch of the work with an end to look back from. One is open at a time; those before it are kept.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::board::call::Call;
use crate::board::ids::TaskId;
use crate::board::refusal::{Code, Refusal};
use crate::board::spent::TaskMark;
use crate::board::state::{Board, DeadlineHalt, SPRINTS_KEPT, Sprint, SprintStatus};
use crate::board::time::Wall;
use crate::board::transition::{Needs, Rule};

use super::common::{find, human_only, text_fits, text_given};

/// Most tasks one sprint names.
const MOST_TASKS: usize = 10_000;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StartSprint {
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scope: Vec<TaskId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Wall>,
}

impl Rule for StartSprint {
    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        human_only(call, "start a sprint")?;
        let open = &board.rest.sprint;
        if open.is_open() {
            return Refusal::new(Code::Transition, format!("sprint `{}` is open", open.id))
                .hint("close it first: `liza sprint close`; `liza sprint show` says how it stands")
                .detail("sprint", open.id.as_str())
                .err();
        }
        check_id(&self.id)?;
        let taken = |known: &Sprint| known.id.eq_ignore_ascii_case(&self.id);
        if taken(open) || board.rest.former_sprints.iter().any(taken) {
            return Refusal::new(Code::IdTaken, format!("there was a sprint `{}` already", self.id))
                .hint("choose another id, or leave it out for the next number")
                .err();
        }
        if let Some(goal) = &self.goal {
            text_given("--goal", goal)?;
        }
        if let Some(deadline) = self.deadline.filter(|deadline| *deadline <= call.now.wall) {
            return Refusal::new(Code::Value, format!("the deadline {deadline} has passed already"))
                .hint("give a time that lies ahead, or how long it may take: --deadline 8h")
                .err();
        }
        check_scope(board, &self.scope)
    }

    fn change(&self, board: &mut Board, call: &Call) -> Value {
        let mut sprint = Sprint::begin(&self.id, call.now.wall);
        sprint.goal.clone_from(&self.goal);
        for task in &self.scope {
            if !sprint.scope.contains(task) {
                sprint.scope.push(task.clone());
            }
        }
        sprint.timeline.deadline = self.deadline;
        sprint.spent_before = board.rest.spent;
        sprint.planning_before = board.rest.spent_planning;
        sprint.before = marks(board, &self.scope, call.now.wall);
        let outcome = json!({
            "id": sprint.id, "scope": sprint.scope, "started": sprint.timeline.started,
            "deadline": sprint.timeline.deadline, "goal": sprint.goal,
        });
        let mut former = std::mem::replace(&mut board.rest.sprint, sprint);
        // Its figures are kept; what they were computed from is not asked for again.
        former.before.clear();
        let past = &mut board.rest.former_sprints;
        past.push(former);
        let too_many = past.len().saturating_sub(SPRINTS_KEPT);
        past.drain(..too_many);
        outcome
    }

    fn needs(&self, _: &Board) -> Needs {
        Needs::Everything
    }
}

/// Of whatever can still change, of what is named, and of what ended within this very second. The rest was over before.
fn marks(board: &Board, scope: &[TaskId], now: Wall) -> BTreeMap<TaskId, TaskMark> {
    let loaded = board.tasks.iter().filter(|task| !task.is_light());
    let counts = loaded.filter(|task| {
        let last = task.body().history.last();
        !task.status.is_terminal() || scope.contains(&task.id) || last.is_some_and(|line| line.time >= now)
    });
    counts.map(|task| (task.id.clone(), TaskMark::of(task))).collect()
}

/// It names a file, too.
fn check_id(id: &str) -> Result<(), Refusal> {
    match TaskId::new(id) {
        Ok(_) => Ok(()),
        Err(why) => {
            Refusal::new(Code::Value, format!("`{}` cannot be a sprint's id: {why}", id.escape_debug()))
                .hint("use letters, digits, `-` and `_`, such as sprint-2")
                .err()
        }
    }
}

fn check_scope(board: &Board, scope: &[TaskId]) -> Result<(), Refusal> {
    if scope.len() > MOST_TASKS {
        return Refusal::new(Code::Limit, format!("a sprint names at most {MOST_TASKS} tasks"))
            .hint("leave the scope out: then it is about everything that is not finished")
            .err();
    }
    scope.iter().try_for_each(|task| find(board, task).map(|_| ()))
}

/// The sprint that is open, if it is the one that is meant.
fn open<'b>(board: &'b Board, id: &str) -> Result<&'b Sprint, Refusal> {
    let sprint = &board.rest.sprint;
    if sprint.is_open() && sprint.id == id {
        return Ok(sprint);
    }
    Refusal::new(Code::Transition, format!("sprint `{}` is not open", id.escape_debug()))
        .hint("`liza sprint show` says which is; `liza sprint start` begins one")
        .err()
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CloseSprint {
    pub id: String,
    /// What its history comes to.
    #[serde(default)]
    pub metrics: BTreeMap<String, f64>,
    /// Where the retrospective will be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retrospective: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl Rule for CloseSprint {
    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        human_only(call, "close a sprint")?;
        open(board, &self.id)?;
        if self.metrics.values().any(|value| !value.is_finite()) {
            return Refusal::new(Code::Value, "a figure of the sprint is not a number").err();
        }
        self.note.as_ref().map_or(Ok(()), |note| text_fits("--note", note))
    }

    fn change(&self, board: &mut Board, call: &Call) -> Value {
        let sprint = &mut board.rest.sprint;
        sprint.status = SprintStatus::Closed;
        sprint.timeline.ended = Some(call.now.wall);
        sprint.metrics.clone_from(&self.metrics);
        sprint.retrospective.clone_from(&self.retrospective);
        sprint.note.clone_from(&self.note);
        json!({ "id": sprint.id, "ended": sprint.timeline.ended, "retrospective": sprint.retrospective })
    }

    fn needs(&self, _: &Board) -> Needs {
        Needs::Nothing
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetSprintScope {
    pub id: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub add: Vec<TaskId>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drop: Vec<TaskId>,
}

impl Rule for SetSprintScope {
    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        human_only(call, "change what a sprint is about")?;
        let sprint = open(board, &self.id)?;
        check_scope(board, &self.add)?;
        if let Some(other) = self.drop.iter().find(|task| !sprint.scope.contains(task)) {
            return Refusal::new(
                Code::UnknownTask,
                format!("task `{other}` is not in the scope of `{}`", sprint.id),
            )
            .hint("`liza sprint show` lists what is; where none is named, it is about everything unfinished")
            .err();
        }
        let left = sprint.scope.iter().filter(|task| !self.drop.contains(task)).count();
        if self.add.is_empty() && left == 0 {
            return Refusal::new(
                Code::Incomplete,
                "a scope that names nothing would mean everything unfinished",
            )
            .hint("name at least one task that stays, or close the sprint: `liza sprint close`")
            .err();
        }
        Ok(())
    }

    fn change(&self, board: &mut Board, _: &Call) -> Value {
        let sprint = &mut board.rest.sprint;
        sprint.scope.retain(|task| !self.drop.contains(task));
        for task in &self.add {
            if !sprint.scope.contains(task) {
                sprint.scope.push(task.clone());
            }
        }
        json!({ "id": sprint.id, "scope": sprint.scope })
    }

    fn needs(&self, _: &Board) -> Needs {
        Needs::Nothing
    }
}

/// The deadline has passed: on record before CHECKPOINT is set, and again when it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PassDeadline {
    pub id: String,
    pub halt: DeadlineHalt,
}

impl Rule for PassDeadline {
    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        human_only(call, "end a sprint's time")?;
        let timeline = &open(board, &self.id)?.timeline;
        let due = timeline.deadline.is_some_and(|deadline| deadline <= call.now.wall);
        let next = match self.halt {
            DeadlineHalt::Begun => due && timeline.halt.is_none(),
            DeadlineHalt::Done => timeline.halt == Some(DeadlineHalt::Begun),
        };
        if next {
            return Ok(());
        }
        Refusal::new(
            Code::Transition,
            format!("the deadline of `{}` has been seen to, or is not there yet", self.id),
        )
        .hint("`liza sprint show` says when it is")
        .err()
    }

    fn change(&self, board: &mut Board, _: &Call) -> Value {
        board.rest.sprint.timeline.halt = Some(self.halt);
        json!({ "id": self.id, "deadline": board.rest.sprint.timeline.deadline })
    }

    fn needs(&self, _: &Board) -> Needs {
        Needs::Nothing
    }
}
