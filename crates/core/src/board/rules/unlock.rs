//! A person takes a task's paths back, because their holder does not come back or holds up others.
//!
//! The work stays, and so does the task. What ends is the claim: an agent that still works on it is fenced by the epoch.

use super::prelude::*;
use super::release::let_go;

const VERB: &str = "made to release its paths";

logged! {
    pub struct ReleaseLock {
        pub task: TaskId,
        pub reason: String,
    }
}

outcome!(PathsGivenBack { task: TaskId, status: Status, epoch: u64, paths: Vec<PathPattern>, agent: Option<AgentId>, fenced: Option<AgentId> });

impl Verb for ReleaseLock {
    const OPERATION: Option<Operation> = None;
    type Outcome = PathsGivenBack;

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        human_only(call, "release the paths of a task")?;
        let task = find(board, &self.task)?;
        no_intent(board, &self.task)?;
        text_given("--reason", &self.reason)?;
        match task.status {
            // A submitted task continues to its verdict or merge; without its paths it could overwrite the work of
            // others.
            Status::ReadyForReview | Status::Approved => Err(wrong_state(task, VERB, way_out(task))),
            _ if !task.is_live(call.now) => Err(holds_nothing(task)),
            _ => Ok(()),
        }
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        let Some(task) = board.task(&self.task) else { unreachable!("checked before") };
        let fenced = task
            .lease
            .as_ref()
            .filter(|lease| !lease_over(board, lease, call.now))
            .map(|lease| lease.agent.clone());
        let (head, body) = parts(board, &self.task);
        let from = head.status;
        if from == Status::Blocked {
            // As if the time of the paths had expired: unblocking checks whether the paths are still free.
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
        PathsGivenBack {
            task: self.task.clone(),
            status: head.status,
            epoch: head.epoch,
            paths,
            agent: head.assigned_to.clone(),
            fenced,
        }
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
