//! Which work to offer an agent: its own first, then by urgency, then by age.

use super::prelude::*;

/// Whether the status of a task allows a claim or takeover.
pub fn is_claimable(task: &Task) -> bool {
    matches!(task.status, Status::Idle | Status::Rejected | Status::IntegrationFailed | Status::Working)
}

/// The best task this caller could claim now.
pub fn best_claim<'b>(board: &'b Board, call: &Call, wanted: impl Fn(&Task) -> bool) -> Option<&'b Task> {
    let by = call.by.id();
    // A task that the agent has released is no longer its own.
    let own = |task: &Task| {
        task.assigned_to.as_ref() == Some(&by)
            && (task.reserved_until.is_some() || task.status == Status::Working)
    };
    best(board, call, own, |task| {
        is_claimable(task) && wanted(task) && check_claimable(board, call, task).is_ok()
    })
}

fn best<'b>(
    board: &'b Board,
    call: &Call,
    own: impl Fn(&Task) -> bool,
    fits: impl Fn(&Task) -> bool,
) -> Option<&'b Task> {
    let open = |task: &&Task| fits(task) && call.check_switches(Some(&task.id)).is_ok();
    let mut tasks: Vec<&Task> = board.tasks.iter().collect();
    // The sort is stable.
    tasks.sort_by_key(|task| std::cmp::Reverse((own(task), task.priority)));
    tasks.into_iter().find(open)
}

/// The bodies that are needed to decide who may review and what is merged first.
pub fn needed_for_reviews(board: &Board) -> Needs {
    let waiting = |task: &&Task| matches!(task.status, Status::ReadyForReview | Status::Approved);
    Needs::Tasks(board.tasks.iter().filter(waiting).map(|task| task.id.clone()).collect())
}

/// Approved tasks in their merge order, without those that wait for the red team: by urgency, then by time of approval,
/// then by the number of owned paths, because fewer paths block fewer tasks. See [`needed_for_reviews`].
pub fn merge_order(board: &Board) -> Vec<&Task> {
    let ready = |task: &&Task| task.status == Status::Approved && !task.awaits_red_team();
    let mut approved: Vec<&Task> = board.tasks.iter().filter(ready).collect();
    approved.sort_by_key(|task| {
        let since = task.body().approval.as_ref().map(|approval| approval.time);
        (std::cmp::Reverse(task.priority), since, breadth(&task.owns))
    });
    approved
}

/// How much these patterns may cover: directories count more than single files.
fn breadth(owns: &[PathPattern]) -> (usize, usize) {
    let wide =
        |pattern: &&PathPattern| pattern.as_str().ends_with('/') || pattern.as_str().contains(['*', '?']);
    (owns.iter().filter(wide).count(), owns.len())
}

/// The best task that this caller could judge now in this role, as a reviewer or as the red team; see
/// [`needed_for_reviews`].
pub fn best_review<'b>(
    board: &'b Board,
    call: &Call,
    role: &Role,
    wanted: impl Fn(&Task) -> bool,
) -> Option<&'b Task> {
    let by = call.by.id();
    let own = |task: &Task| task.review_lease.as_ref().is_some_and(|lease| lease.agent == by);
    best(board, call, own, |task| {
        task.judged_by().as_ref() == Some(role) && wanted(task) && check_reviewable(board, call, task).is_ok()
    })
}
