//! Releasing a task so that another agent can claim it; the work stays.

use super::claim::handoffs;
use super::limit::{Limit, block_at_limit};
use super::prelude::*;

logged! {
    pub struct Release {
        pub task: TaskId,
        pub epoch: Option<u64>,
        #[serde(default)]
        pub reason: String,
    }
}

outcome!(Released { task: TaskId, status: Status, epoch: u64 });

impl Verb for Release {
    const OPERATION: Option<Operation> = Some(Operation::Stop);
    type Outcome = Released;

    /// An agent may always release the task it holds or reviews, whatever the registry says.
    fn operation(&self, board: &Board, by: &Actor) -> Option<Operation> {
        rights::stops_others(board, &self.task, by).then_some(Operation::Stop)
    }

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        let task = find(board, &self.task)?;
        no_intent(board, &self.task)?;
        check_epoch(task, self.epoch)?;
        text_fits("--reason", &self.reason)?;
        let above = call.by.is_human() || call.by.has_role(board, &Role::overseer());
        match task.status {
            Status::Working if above => Ok(()),
            Status::Working => holds_lease(task, call, self.epoch),
            // A reserved task may be released before the reservation expires.
            Status::Idle | Status::Rejected | Status::IntegrationFailed
                if task.reserved_until.is_some()
                    && (above || task.assigned_to.as_ref() == Some(&call.by.id())) =>
            {
                Ok(())
            }
            _ => Err(wrong_state(task, "released", next_step(task))),
        }
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        let (head, body) = parts(board, &self.task);
        let from = head.status;
        let_go(head, body);
        body.history.push(
            entry(call, Event::Released)
                .step(from, head.status)
                .epoch(head.epoch)
                .detail(self.reason.clone()),
        );
        Released { task: self.task.clone(), status: head.status, epoch: head.epoch }
    }
}

/// Ends every claim and reservation of the task; the work stays.
pub fn let_go(head: &mut Head, body: &mut Body) {
    if head.status == Status::Working {
        end_claim(head);
        head.status = Status::Idle;
    }
    body.left = Some(Left::Released);
    head.reserved_until = None;
}

logged! {
    pub struct HandOff {
        pub task: TaskId,
        pub epoch: Option<u64>,
        pub summary: String,
        pub next_action: String,
        /// The role that takes over; without it, the same role.
        pub to_role: Option<Role>,
        /// What git and the board show about the work.
        pub package: Option<HandoffPackage>,
        #[serde(default, skip_serializing_if = "Edition::is_first")]
        pub edition: Edition,
    }
}

outcome!(HandedOff { task: TaskId, status: Status, epoch: u64, role: Role });

impl Verb for HandOff {
    const OPERATION: Option<Operation> = Some(Operation::Stop);
    type Outcome = HandedOff;

    /// An agent may always release the task it holds or reviews, whatever the registry says.
    fn operation(&self, board: &Board, by: &Actor) -> Option<Operation> {
        rights::stops_others(board, &self.task, by).then_some(Operation::Stop)
    }

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        let task = find(board, &self.task)?;
        no_intent(board, &self.task)?;
        if task.status != Status::Working {
            check_epoch(task, self.epoch)?;
            return Err(wrong_state(task, "handed off", next_step(task)));
        }
        if call.by.is_human() || call.by.has_role(board, &Role::overseer()) {
            check_epoch(task, self.epoch)?;
        } else {
            holds_lease(task, call, self.epoch)?;
        }
        text_given("--summary", &self.summary)?;
        text_given("--next", &self.next_action)?;
        self.to_role.as_ref().map_or(Ok(()), implements)
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        let config = board.config().clone();
        let (head, body) = parts(board, &self.task);
        let epoch = head.epoch;
        end_claim(head);
        head.status = Status::Idle;
        head.reserved_until = None;
        body.left = Some(Left::HandedOff);
        let mut detail = self.summary.clone();
        if let Some(role) = self.to_role.as_ref().filter(|role| **role != head.role) {
            detail = format!("from {} to {role}: {detail}", head.role);
            let planned = body.planned_role.take().unwrap_or_else(|| head.role.clone());
            // A task that is handed back has its planned role again.
            body.planned_role = Some(planned).filter(|planned| planned != role);
            head.role = role.clone();
        }
        body.history.push(
            entry(call, Event::HandedOff).step(Status::Working, Status::Idle).epoch(epoch).detail(detail),
        );
        if self.edition.has(Edition::CONTRACT) && handoffs(body) >= config.max_handoffs as usize {
            block_at_limit(head, body, call, &config, &Limit::Handoffs(config.max_handoffs));
        }
        let outcome = HandedOff {
            task: self.task.clone(),
            status: head.status,
            epoch: head.epoch,
            role: head.role.clone(),
        };
        board.rest.handoff.push(Handoff {
            task_id: self.task.clone(),
            time: call.now.wall,
            by: call.by.id(),
            epoch,
            summary: self.summary.clone(),
            next_action: self.next_action.clone(),
            package: self.package.clone(),
        });
        outcome
    }
}

/// Refuses a role that does not work on tasks: its agents are never offered one.
fn implements(role: &Role) -> Result<(), Refusal> {
    let others = [Role::planner(), Role::code_reviewer(), Role::red_team(), Role::overseer()];
    if !others.contains(role) {
        return Ok(());
    }
    Err(refusal!(Code::Value, "a {role} does not work on tasks, so none can be handed to it")
        .hint("--to-role test_engineer or coder, or a role of your own that tasks name")
        .detail("role", role.as_str()))
}
