//! Blocking a task that reached a limit, with reason and questions.

use super::claim::{handoffs_used_up, iterations_used_up};
use super::prelude::*;

/// The questions of the contract.
pub const LIMIT_QUESTIONS: [&str; 2] = ["Is the spec clear enough?", "Should the task be decomposed?"];

/// The limit that was reached.
pub enum Limit {
    Iterations(u32),
    Handoffs(u32),
}

impl Limit {
    /// The reason in the words of the contract.
    pub fn reason(&self) -> String {
        match self {
            Self::Iterations(max) => format!("Max iterations ({max}) reached without approval"),
            Self::Handoffs(max) => format!("Max handoffs ({max}) reached without a submission"),
        }
    }
}

/// Blocks the task; liza refuses further changes by its former holder.
pub fn block_at_limit(head: &mut Head, body: &mut Body, call: &Call, config: &Config, limit: &Limit) {
    let from = head.status;
    // Handoffs and expired leases do not count against the agent.
    if matches!(limit, Limit::Iterations(_)) {
        note_failure(head);
    }
    if from == Status::Working {
        end_claim(head);
    }
    let reason = limit.reason();
    head.status = Status::Blocked;
    head.reserved_until = None;
    head.holds_paths_until = head.holds_paths.then(|| Deadline::after(call.now, config.blocked_hold_seconds));
    body.blocked_from = Some(Status::Working);
    body.blocked_reason = Some(reason.clone());
    body.blocked_questions = LIMIT_QUESTIONS.map(str::to_owned).to_vec();
    conclude_blocked(body, call, config.lease_seconds, Status::Working, true);
    let questions = body.blocked_questions.clone();
    body.history
        .push(entry(call, Event::Blocked).step(from, Status::Blocked).detail(reason).questions(&questions));
}

logged! {
    /// An agent asked for a task that has no iteration or handoff left; liza blocks the task.
    pub struct BlockAtLimit {
        pub task: TaskId,
        /// The agent that asked.
        pub agent: AgentId,
    }
}

outcome!(LimitBlocked { task: TaskId, status: Status, blocked_reason: String });

fn limit_of(board: &Board, task: &Task, agent: &AgentId) -> Option<Limit> {
    let iterations = iterations_used_up(board, task, agent).map(Limit::Iterations);
    iterations.or_else(|| handoffs_used_up(board, task).map(Limit::Handoffs))
}

impl Verb for BlockAtLimit {
    const OPERATION: Option<Operation> = None;
    type Outcome = LimitBlocked;

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        liza_only(call, "block a task at its limit")?;
        let task = find(board, &self.task)?;
        no_intent(board, &self.task)?;
        let free = match (&task.status, &task.lease) {
            (Status::Idle | Status::Rejected, _) => true,
            (Status::Working, Some(lease)) => lease_over(board, lease, call.now),
            _ => false,
        };
        if !free {
            return Err(wrong_state(task, "blocked at its limit", next_step(task)));
        }
        if limit_of(board, task, &self.agent).is_none() {
            return Err(refusal!(Code::Limit, "task `{}` has not reached a limit", task.id));
        }
        Ok(())
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        let config = board.config().clone();
        let limit = board.task(&self.task).and_then(|task| limit_of(board, task, &self.agent));
        let Some(limit) = limit else { unreachable!("checked before") };
        let (head, body) = parts(board, &self.task);
        block_at_limit(head, body, call, &config, &limit);
        LimitBlocked { task: self.task.clone(), status: head.status, blocked_reason: limit.reason() }
    }
}
