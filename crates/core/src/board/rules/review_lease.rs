//! Claiming a submission for review, which no implementer of the task may do.

use super::prelude::*;
use super::usage::check_caps;

logged! {
    pub struct StartReview {
        pub task: TaskId,
        /// The spending limits of liza.yaml.
        #[serde(default, skip_serializing_if = "Caps::is_none")]
        pub caps: Caps,
    }
}

outcome!(ReviewStarted { task: TaskId, review_commit: Option<CommitId>, round: u32, lease_expires: Option<Wall> });

impl Verb for StartReview {
    const OPERATION: Option<Operation> = Some(Operation::Review);
    type Outcome = ReviewStarted;

    fn operation(&self, board: &Board, _: &Actor) -> Option<Operation> {
        let attacks = board.task(&self.task).is_some_and(|task| task.awaits_red_team());
        Some(if attacks { Operation::Attack } else { Operation::Review })
    }

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        let task = find(board, &self.task)?;
        call.check_switches(Some(&self.task))?;
        check_reviewable(board, call, task)?;
        check_caps(&self.caps, board, call, Some(task))
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        let lease_seconds = board.config().lease_seconds;
        let by = call.by.id();
        let (head, body) = parts(board, &self.task);
        let already = head.review_lease.as_ref().is_some_and(|lease| lease.agent == by);
        head.review_lease = Some(Lease {
            agent: by,
            incarnation: call.by.incarnation(),
            epoch: head.epoch,
            expires: Deadline::after(call.now, lease_seconds),
        });
        if !already {
            body.history.push(entry(call, Event::ReviewStarted).epoch(head.epoch));
        }
        ReviewStarted {
            task: self.task.clone(),
            review_commit: head.review_commit.clone(),
            round: head.review_cycles_total + 1,
            lease_expires: head.review_lease.as_ref().map(|lease| lease.expires.at),
        }
    }
}

/// Refuses unless this caller may review this task.
pub fn check_reviewable(board: &Board, call: &Call, task: &Task) -> Result<(), Refusal> {
    let red_team = task.judged_by() == Some(Role::red_team());
    if red_team {
        may_attack(board, call, task, "judge")?;
    } else {
        reviews(board, call, &format!("review task `{}`", task.id))?;
        // A reviewer accepts the result of a merge slice that changed no file.
        if !task.is_merge_slice() {
            reviewed_as_commit(task)?;
        }
        if task.status != Status::ReadyForReview {
            return Err(wrong_state(task, "reviewed", next_step(task)));
        }
        not_an_implementer(task, call, &call.by.id(), "review")?;
        not_twice(task, call)?;
    }
    match &task.review_lease {
        Some(lease) if lease.agent != call.by.id() && !lease_over(board, lease, call.now) => {
            Err(Refusal::new(
                Code::Held,
                format!(
                    "task `{}` is being reviewed by `{}` until {}",
                    task.id, lease.agent, lease.expires.at
                ),
            )
            .hint(format!("take other work: `liza next --role {}`", task.next_role()))
            .detail("holder", lease.agent.as_str()))
        }
        _ => Ok(()),
    }
}

logged! {
    pub struct RenewReview {
        pub task: TaskId,
    }
}

outcome!(ReviewRenewed { task: TaskId, lease_expires: Wall });

impl Verb for RenewReview {
    const OPERATION: Option<Operation> = None;
    type Outcome = ReviewRenewed;

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        let task = find(board, &self.task)?;
        if task.judged_by().is_none() {
            return Err(wrong_state(task, "reviewed", next_step(task)));
        }
        holds_review(task, call)
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        let expires = Deadline::after(call.now, board.config().lease_seconds);
        let (head, _) = parts(board, &self.task);
        if let Some(lease) = &mut head.review_lease {
            lease.expires = expires.clone();
        }
        ReviewRenewed { task: self.task.clone(), lease_expires: expires.at }
    }
}

logged! {
    pub struct ReleaseReview {
        pub task: TaskId,
    }
}

impl Verb for ReleaseReview {
    const OPERATION: Option<Operation> = None;
    type Outcome = TaskStatus;

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        let task = find(board, &self.task)?;
        if task.judged_by().is_none() {
            return Err(wrong_state(task, "reviewed", next_step(task)));
        }
        // A person may release a review that an agent holds.
        if call.by.is_human() && task.review_lease.is_some() { Ok(()) } else { holds_review(task, call) }
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        let (head, body) = parts(board, &self.task);
        head.review_lease = None;
        body.history.push(entry(call, Event::ReviewReleased).epoch(head.epoch));
        TaskStatus { task: self.task.clone(), status: head.status }
    }
}
