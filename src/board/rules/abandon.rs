//! Ends without a merge: given up, or replaced by a better cut of the work.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::board::call::Call;
use crate::board::grants::check_spawn;
use crate::board::graph::Graph;
use crate::board::history::Event;
use crate::board::ids::TaskId;
use crate::board::refusal::{Code, Refusal};
use crate::board::state::Board;
use crate::board::task::Status;
use crate::board::transition::{Needs, Rule};

use super::add_tasks::{NewTask, add, check_finalizable, check_new, named};
use super::common::{end_claim, entry, find, next_step, no_intent, parts, plans, text_given, wrong_state};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Abandon {
    pub task: TaskId,
    pub reason: String,
}

impl Rule for Abandon {
    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        plans(board, call, "abandon tasks")?;
        let task = find(board, &self.task)?;
        no_intent(board, &self.task)?;
        if task.status.is_terminal() {
            return Err(wrong_state(task, "abandoned", next_step(task)));
        }
        text_given("--reason", &self.reason)
    }

    fn change(&self, board: &mut Board, call: &Call) -> Value {
        end(board, call, &self.task, Status::Abandoned, Event::Abandoned, &self.reason);
        let graph = Graph::of(&board.tasks);
        let stranded: BTreeSet<TaskId> = graph
            .dependents(&self.task)
            .into_iter()
            .filter(|id| board.task(id).is_some_and(|task| !task.status.is_terminal()))
            .collect();
        json!({ "task": self.task, "status": Status::Abandoned, "stranded": stranded })
    }

    fn needs(&self, _: &Board) -> Needs {
        Needs::task(&self.task)
    }
}

fn end(board: &mut Board, call: &Call, id: &TaskId, to: Status, event: Event, reason: &str) {
    crate::board::expectation::forget(board, id);
    let (head, body) = parts(board, id);
    let from = head.status;
    end_claim(head);
    head.status = to;
    head.reserved_until = None;
    head.holds_paths = false;
    head.holds_paths_until = None;
    body.end_reason = Some(reason.to_owned());
    body.history.push(entry(call, event).step(from, to).detail(reason));
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rescope {
    pub task: TaskId,
    /// New tasks that take its place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub into: Vec<NewTask>,
    /// Tasks already there that take its place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub existing: Vec<TaskId>,
    pub reason: String,
    #[serde(default)]
    pub specs_found: Vec<TaskId>,
}

impl Rule for Rescope {
    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        plans(board, call, "rescope tasks")?;
        check_spawn(board, call, self.into.iter().map(|task| &task.role))?;
        let task = find(board, &self.task)?;
        no_intent(board, &self.task)?;
        if task.status.is_terminal() {
            return Err(wrong_state(task, "rescoped", next_step(task)));
        }
        text_given("--reason", &self.reason)?;
        if self.into.is_empty() && self.existing.is_empty() {
            return Refusal::new(Code::Incomplete, "a rescope names at least one task that takes its place")
                .hint("describe them in a file and pass it with --into, or `liza task abandon` if nothing takes its place")
                .err();
        }
        for id in &self.existing {
            let other = find(board, id)?;
            if other.id == task.id || matches!(other.status, Status::Superseded | Status::Abandoned) {
                return Refusal::new(
                    Code::Value,
                    format!("task `{id}` cannot take the place of `{}`", task.id),
                )
                .err();
            }
        }
        if self.into.iter().any(|new| new.depends_on.contains(&self.task)) {
            return Refusal::new(
                Code::Cycle,
                format!("a replacement cannot wait for `{}`, which it replaces", self.task),
            )
            .err();
        }
        // Whoever waits for the old task will wait for its replacements: that must not close a circle either.
        let replacements: Vec<TaskId> =
            self.into.iter().map(|new| new.id.clone()).chain(self.existing.iter().cloned()).collect();
        let graph = Graph::of(&board.tasks)
            .with(self.into.iter().map(|new| (&new.id, new.depends_on.as_slice())))
            .with([(&self.task, replacements.as_slice())]);
        super::finalize::no_cycle(&graph.below([&self.task]))?;
        if self.into.is_empty() {
            return Ok(());
        }
        check_new(board, call, &self.into)?;
        check_finalizable(board, call, &self.into, &self.specs_found)
    }

    fn change(&self, board: &mut Board, call: &Call) -> Value {
        add(board, call, &self.into, true);
        let replacements: Vec<TaskId> =
            self.into.iter().map(|new| new.id.clone()).chain(self.existing.iter().cloned()).collect();
        for new in &self.into {
            let (_, body) = parts(board, &new.id);
            if body.parent.is_none() {
                body.parent = Some(self.task.clone());
            }
        }
        end(board, call, &self.task, Status::Superseded, Event::Superseded, &self.reason);
        let (head, _) = parts(board, &self.task);
        head.superseded_by = replacements.clone();
        json!({ "task": self.task, "status": Status::Superseded, "superseded_by": replacements })
    }

    fn asks_archive(&self, _: &Board) -> Vec<TaskId> {
        named(&self.into)
    }

    fn needs(&self, _: &Board) -> Needs {
        Needs::task(&self.task)
    }
}
