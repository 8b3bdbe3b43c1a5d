//! A draft becomes claimable once it says what done means, where it may work and what it waits for.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::board::call::Call;
use crate::board::graph::Graph;
use crate::board::history::Event;
use crate::board::ids::TaskId;
use crate::board::refusal::{Code, Refusal};
use crate::board::state::Board;
use crate::board::task::{Scope, Status};
use crate::board::transition::{Needs, Rule};

use super::add_tasks::dependency_missing;
use super::common::{entry, find, next_step, parts, plans, wrong_state};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Finalize {
    pub tasks: Vec<TaskId>,
    /// Those whose `spec_ref` names a file that is there.
    #[serde(default)]
    pub specs_found: Vec<TaskId>,
}

impl Rule for Finalize {
    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        plans(board, call, "finalize tasks")?;
        call.check_switches(None)?;
        if self.tasks.is_empty() {
            return Refusal::new(Code::Incomplete, "there is no draft to finalize")
                .hint("`liza task list --status DRAFT` shows the drafts")
                .err();
        }
        for id in &self.tasks {
            let task = find(board, id)?;
            call.check_switches(Some(id))?;
            if task.status != Status::Draft {
                return Err(wrong_state(task, "finalized", next_step(task)));
            }
            let body = task.body();
            check_complete(
                id,
                &body.done_when,
                body.spec_ref.as_deref(),
                self.specs_found.contains(id),
                &body.scope,
            )?;
            for dependency in &task.depends_on {
                if board.task(dependency).is_none() && !call.world.archived.contains_key(dependency) {
                    return Err(dependency_missing(id, dependency));
                }
            }
        }
        // Other drafts may still go in circles; they are nobody's concern until they are finalized.
        no_cycle(&Graph::of(&board.tasks).below(&self.tasks))
    }

    fn change(&self, board: &mut Board, call: &Call) -> Value {
        for id in &self.tasks {
            let (head, body) = parts(board, id);
            if head.status == Status::Draft {
                head.status = Status::Idle;
                body.history.push(entry(call, Event::Finalized).step(Status::Draft, Status::Idle));
            }
        }
        json!({ "tasks": self.tasks, "status": Status::Idle })
    }

    fn asks_archive(&self, board: &Board) -> Vec<TaskId> {
        self.tasks.iter().filter_map(|id| board.task(id)).flat_map(|task| task.depends_on.clone()).collect()
    }

    fn needs(&self, _: &Board) -> Needs {
        Needs::Tasks(self.tasks.clone())
    }
}

/// Names everything that is missing at once, so that it can be mended at once.
pub fn check_complete(
    id: &TaskId,
    done_when: &[String],
    spec_ref: Option<&str>,
    spec_found: bool,
    scope: &Scope,
) -> Result<(), Refusal> {
    let mut missing = Vec::new();
    if done_when.is_empty() {
        missing.push("done_when (--done CRITERION)".to_owned());
    }
    match spec_ref {
        None => missing.push("spec_ref (--spec FILE)".to_owned()),
        Some(spec) if !spec_found => missing.push(format!("the file `{spec}` that spec_ref names")),
        Some(_) => {}
    }
    if scope.inside.is_empty() {
        missing.push("scope (--in PATH)".to_owned());
    }
    if missing.is_empty() {
        return Ok(());
    }
    Refusal::new(Code::Incomplete, format!("task `{id}` is not complete: missing {}", missing.join(", ")))
        .hint("give what is missing; a draft that lacks it can be mended in .liza/state.yaml, or abandoned and added under another id")
        .detail("task", id.as_str())
        .detail("missing", missing)
        .err()
}

pub fn no_cycle(graph: &Graph) -> Result<(), Refusal> {
    let Some(cycle) = graph.cycle() else { return Ok(()) };
    let mut round: Vec<&str> = cycle.iter().map(TaskId::as_str).collect();
    round.push(round[0]);
    Refusal::new(Code::Cycle, format!("the dependencies go round in a circle: {}", round.join(" → ")))
        .hint("take one of these dependencies away")
        .detail("cycle", cycle.iter().map(TaskId::as_str).collect::<Vec<_>>())
        .err()
}
