//! Which work to offer an agent: its own first, then the most urgent, then the oldest.

use crate::board::rules::{check_claimable, check_reviewable};
use crate::board::{Board, Call, Needs, PathPattern, Role, Status, Task};

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

/// The bodies that must be loaded to say who may review what, and what is merged first.
pub fn needed_for_reviews(board: &Board) -> Needs {
    let waiting = |task: &&Task| matches!(task.status, Status::ReadyForReview | Status::Approved);
    Needs::Tasks(board.tasks.iter().filter(waiting).map(|task| task.id.clone()).collect())
}

/// Approved tasks in the order they are merged, those left out that the red team is still to look at: the most urgent first, then who was approved first, then who owns less,
/// for that is the least in the way of others. See [`needed_for_reviews`].
pub fn merge_order(board: &Board) -> Vec<&Task> {
    let ready = |task: &&Task| task.status == Status::Approved && !task.awaits_red_team();
    let mut approved: Vec<&Task> = board.tasks.iter().filter(ready).collect();
    approved.sort_by_key(|task| {
        let since = task.body().approval.as_ref().map(|approval| approval.time);
        (std::cmp::Reverse(task.priority), since, breadth(&task.owns))
    });
    approved
}

/// How much these patterns may cover: whole directories before single files.
fn breadth(owns: &[PathPattern]) -> (usize, usize) {
    let wide =
        |pattern: &&PathPattern| pattern.as_str().ends_with('/') || pattern.as_str().contains(['*', '?']);
    (owns.iter().filter(wide).count(), owns.len())
}

/// The best work this caller could judge now in this role, as a reviewer or as the red team; see [`needed_for_reviews`].
pub fn best_review<'b>(
    board: &'b Board,
    call: &Call,
    role: &Role,
    wanted: impl Fn(&Task) -> bool,
) -> Option<&'b Task> {
    let by = call.by.id();
    board
        .tasks
        .iter()
        .enumerate()
        .filter(|(_, task)| task.judged_by().as_ref() == Some(role))
        .filter(|(_, task)| wanted(task) && call.check_switches(Some(&task.id)).is_ok())
        .filter(|(_, task)| check_reviewable(board, call, task).is_ok())
        .max_by_key(|(at, task)| {
            let own = task.review_lease.as_ref().is_some_and(|lease| lease.agent == by);
            (own, task.priority, std::cmp::Reverse(*at))
        })
        .map(|(_, task)| task)
}
