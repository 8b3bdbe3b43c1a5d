//! Several reviewers for one commit: each counts once, and it is approved when there are enough.

use crate::board::call::{Call, Guard};
use crate::board::quorum::Approvals;
use crate::board::refusal::{Code, Refusal};
use crate::board::review::Approval;
use crate::board::task::{Head, Status, Task};

use super::review_lease::not_an_implementer;

/// Nobody is counted twice, so nobody need look twice.
pub fn not_twice(task: &Task, call: &Call) -> Result<(), Refusal> {
    let by = call.by.id();
    let Some(approvals) = task.approvals.as_ref().filter(|approvals| approvals.has(&by)) else {
        return Ok(());
    };
    if task.status != Status::ReadyForReview || !call.guards.on(Guard::Quorum) {
        return Ok(());
    }
    Refusal::new(
        Code::AlreadyApproved,
        format!(
            "`{by}` has approved what stands in `{}`: {}, each by somebody else",
            task.id,
            approvals.words()
        ),
    )
    .hint(format!(
        "another reviewer, or a person who did not work on it, takes it with `liza review claim {}`",
        task.id
    ))
    .detail("task", task.id.as_str())
    .detail("needed", approvals.needed)
    .detail("approved_by", approvals.by.iter().map(|given| given.reviewer.to_string()).collect::<Vec<_>>())
    .err()
}

/// Adds an approval to those of the same commit; true if it takes no more of them.
pub fn count_in(head: &mut Head, approval: &Approval, needed: u32, call: &Call) -> bool {
    let needed = if call.guards.on(Guard::Quorum) { needed.max(1) } else { 1 };
    let former = head.approvals.take().filter(|former| former.are_about(&approval.commit));
    if former.is_none() && needed == 1 {
        return true;
    }
    let mut by = former.map(|former| former.by).unwrap_or_default();
    by.push(approval.clone());
    let approvals = Approvals { needed, by };
    let enough = approvals.is_enough();
    head.approvals = Some(approvals);
    enough
}

/// What was approved by several still is: by different ones, none of whom had a hand in it, and by as many as were asked
/// for then.
pub fn quorum_holds(task: &Task, call: &Call) -> Result<(), Refusal> {
    let Some(approvals) = &task.approvals else { return Ok(()) };
    for approval in &approvals.by {
        not_an_implementer(task, call, &approval.reviewer, "approve")?;
    }
    if !call.guards.on(Guard::Quorum) || (approvals.is_enough() && approvals.are_by_different()) {
        return Ok(());
    }
    Refusal::new(
        Code::Tier0UnapprovedMerge,
        format!("task `{}` has {}, so it cannot be merged", task.id, approvals.words()),
    )
    .hint("another reviewer has to judge it; this is recorded as a Tier 0 violation")
    .detail("task", task.id.as_str())
    .err()
}
