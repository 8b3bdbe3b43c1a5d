//! A person takes a task's paths back, because whoever held them does not come back or holds up others.
//!
//! The work stays, and so does the task. What ends is the claim: whoever still works on it is fenced by the epoch.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::board::call::Call;
use crate::board::history::Event;
use crate::board::ids::TaskId;
use crate::board::refusal::Refusal;
use crate::board::state::Board;
use crate::board::task::{Status, Task};
use crate::board::time::Deadline;
use crate::board::transition::{Needs, Rule};

use super::common::{
    end_claim, entry, find, human_only, lease_over, next_step, no_intent, parts, text_given, wrong_state,
};
use super::release::let_go;

const VERB: &str = "made to give its paths back";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReleaseLock {
    pub task: TaskId,
    pub reason: String,
}

impl Rule for ReleaseLock {
    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        human_only(call, "take a task's paths back")?;
        let task = find(board, &self.task)?;
        no_intent(board, &self.task)?;
        text_given("--reason", &self.reason)?;
        match task.status {
            // What was handed in goes on to be judged or merged; without its paths it would land on others' work.
            Status::ReadyForReview | Status::Approved => Err(wrong_state(task, VERB, way_out(task))),
            _ if !task.is_live(call.now) => Err(holds_nothing(task)),
            _ => Ok(()),
        }
    }

    fn change(&self, board: &mut Board, call: &Call) -> Value {
        let Some(task) = board.task(&self.task) else { unreachable!("checked before") };
        let fenced = task
            .lease
            .as_ref()
            .filter(|lease| !lease_over(board, lease, call.now))
            .map(|lease| lease.agent.clone());
        let (head, body) = parts(board, &self.task);
        let from = head.status;
        if from == Status::Blocked {
            // As if its time were up: unblocking it looks whether the paths are still free.
            end_claim(head);
            head.holds_paths_until = Some(Deadline::after(call.now, 0));
        } else {
            let_go(head, body);
            if from != Status::Working {
                end_claim(head);
            }
            head.holds_paths = false;
        }
        let paths = head.owns.clone();
        body.history.push(
            entry(call, Event::PathsGivenBack)
                .step(from, head.status)
                .epoch(head.epoch)
                .detail(self.reason.clone()),
        );
        json!({
            "task": self.task, "status": head.status, "epoch": head.epoch, "paths": paths,
            "agent": head.assigned_to, "fenced": fenced,
        })
    }

    fn needs(&self, _: &Board) -> Needs {
        Needs::task(&self.task)
    }
}

fn holds_nothing(task: &Task) -> Refusal {
    let mut refusal = wrong_state(task, VERB, next_step(task));
    refusal.message = format!("task `{}` is {} and holds no paths", task.id, task.status);
    refusal
}

fn way_out(task: &Task) -> String {
    let id = &task.id;
    let lands = if task.status == Status::Approved { "merge it" } else { "have it judged" };
    format!(
        "{lands} ({}); if it must wait, `liza task block {id} --reason … --question …` first, and its paths can be \
         taken back then",
        next_step(task)
    )
}
