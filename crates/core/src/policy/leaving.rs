//! The state in which an agent left its task, by the board and its worktree alone: the agent's output proves nothing.

use super::prelude::*;

/// The state of a claim after its agent's session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Claimed {
    Submitted,
    Blocked,
    /// Handed off or released: another agent may continue it.
    LetGo,
    /// The task was closed meanwhile.
    Ended,
    /// Another agent holds it now.
    Lost,
    /// The claim is still this agent's.
    Unfinished,
}

pub fn of_claim(board: &Board, agent: &AgentId, task: &TaskId, epoch: u64) -> Claimed {
    let Some(task) = board.task(task) else { return Claimed::Ended };
    let own = task.assigned_to.as_ref() == Some(agent) && task.epoch == epoch;
    match task.status {
        Status::Working if own => Claimed::Unfinished,
        Status::ReadyForReview | Status::Approved | Status::Merged | Status::Rejected
            if task.assigned_to.as_ref() == Some(agent) =>
        {
            Claimed::Submitted
        }
        Status::Blocked => Claimed::Blocked,
        Status::Idle => Claimed::LetGo,
        Status::Superseded | Status::Abandoned | Status::Merged => Claimed::Ended,
        _ => Claimed::Lost,
    }
}

#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reviewed {
    Approved,
    /// The approval counts, and another reviewer has to approve too.
    Counted,
    Rejected,
    Blocked,
    /// Another reviewer decides, or no verdict is needed any more.
    Lost,
    Unfinished,
}

pub fn of_review(board: &Board, agent: &AgentId, task: &TaskId) -> Reviewed {
    let Some(task) = board.task(task) else { return Reviewed::Lost };
    let holds = task.review_lease.as_ref().is_some_and(|lease| &lease.agent == agent);
    if holds && task.judged_by().is_some() {
        return Reviewed::Unfinished;
    }
    match task.status {
        Status::Approved | Status::Merged => Reviewed::Approved,
        Status::ReadyForReview if task.approvals.as_ref().is_some_and(|given| given.has(agent)) => {
            Reviewed::Counted
        }
        Status::Rejected => Reviewed::Rejected,
        Status::Blocked => Reviewed::Blocked,
        _ => Reviewed::Lost,
    }
}
