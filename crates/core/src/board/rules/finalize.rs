//! A draft becomes claimable once it has criteria, a scope and dependencies.

use super::add_tasks::{check_complete, no_cycle};

use super::add_tasks::{Planned, dependency_missing};
use super::prelude::*;

logged! {
    pub struct Finalize {
        always pub tasks: Vec<TaskId>,
        /// Tasks whose `spec_ref` names an existing file.
        #[serde(default)]
        always pub specs_found: Vec<TaskId>,
        /// The texts of those specs.
        pub pins: Vec<SpecPin>,
    }
}

impl Verb for Finalize {
    const OPERATION: Option<Operation> = Some(Operation::Plan);
    type Outcome = Planned;

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        plans(board, call, "finalize tasks")?;
        call.check_switches(None)?;
        if self.tasks.is_empty() {
            return Err(refusal!(Code::Incomplete, "there is no draft to finalize")
                .hint("`liza task list --status DRAFT` shows the drafts"));
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
                self.specs_found.contains(id) || body.spec.is_some(),
                &body.scope,
                task.kind,
            )?;
            for dependency in &task.depends_on {
                if board.task(dependency).is_none() && !call.world.archived.contains_key(dependency) {
                    return Err(dependency_missing(id, dependency));
                }
            }
        }
        // Other drafts may still depend on each other in a cycle; that is checked when they are finalized.
        no_cycle(&Graph::of(&board.tasks).below(&self.tasks))
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        for id in &self.tasks {
            let (head, body) = parts(board, id);
            if head.status == Status::Draft {
                head.status = Status::Idle;
                if let Some(pin) = self.pins.iter().find(|pin| &pin.task == id) {
                    body.spec = Some(pin.spec.clone());
                }
                body.history.push(entry(call, Event::Finalized).step(Status::Draft, Status::Idle));
            }
        }
        Planned { tasks: self.tasks.clone(), status: Status::Idle }
    }

    fn asks_archive(&self, board: &Board) -> Vec<TaskId> {
        self.tasks.iter().filter_map(|id| board.task(id)).flat_map(|task| task.depends_on.clone()).collect()
    }

    fn needs(&self, _: &Board) -> Needs {
        Needs::Tasks(self.tasks.clone())
    }
}
