//! Which work to offer an agent: its own first, then the most urgent, then the oldest.

use crate::board::rules::{check_claimable, check_reviewable};
use crate::board::{Board, Call, Needs, Status, Task};

/// The best task this caller could claim now.
pub fn best_claim<'b>(board: &'b Board, call: &Call, wanted: impl Fn(&Task) -> bool) -> Option<&'b Task> {
    let by = call.by.id();
    board
        .tasks
        .iter()
        .enumerate()
        .filter(|(_, task)| {
            matches!(
                task.status,
                Status::Idle | Status::Rejected | Status::IntegrationFailed | Status::Working
            )
        })
        .filter(|(_, task)| wanted(task) && call.check_switches(Some(&task.id)).is_ok())
        .filter(|(_, task)| check_claimable(board, call, task).is_ok())
        .max_by_key(|(at, task)| {
            // What it has let go is no longer its own.
            let own = task.assigned_to.as_ref() == Some(&by)
                && (task.reserved_until.is_some() || task.status == Status::Working);
            (own, task.priority, std::cmp::Reverse(*at))
        })
        .map(|(_, task)| task)
}

/// The bodies that must be loaded to say who may review what.
pub fn needed_for_reviews(board: &Board) -> Needs {
    let ready = board.tasks.iter().filter(|task| task.status == Status::ReadyForReview);
    Needs::Tasks(ready.map(|task| task.id.clone()).collect())
}

/// The best submission this caller could review now; see [`needed_for_reviews`].
pub fn best_review<'b>(board: &'b Board, call: &Call, wanted: impl Fn(&Task) -> bool) -> Option<&'b Task> {
    let by = call.by.id();
    board
        .tasks
        .iter()
        .enumerate()
        .filter(|(_, task)| task.status == Status::ReadyForReview)
        .filter(|(_, task)| wanted(task) && call.check_switches(Some(&task.id)).is_ok())
        .filter(|(_, task)| check_reviewable(board, call, task).is_ok())
        .max_by_key(|(at, task)| {
            let own = task.review_lease.as_ref().is_some_and(|lease| lease.agent == by);
            (own, task.priority, std::cmp::Reverse(*at))
        })
        .map(|(_, task)| task)
}
