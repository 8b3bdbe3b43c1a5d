//! Several reviewers for one commit: each counts once, and the commit is approved when there are enough.

use super::prelude::*;

/// Adds an approval to those of the same commit; true if they are enough now.
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

/// Refuses unless the approvals hold: given by different reviewers, none of whom implemented the task, and by as many
/// as were required then.
pub fn quorum_holds(task: &Task, call: &Call) -> Result<(), Refusal> {
    let Some(approvals) = &task.approvals else { return Ok(()) };
    for approval in &approvals.by {
        not_an_implementer(task, call, &approval.reviewer, "approve")?;
    }
    if !call.guards.on(Guard::Quorum) || (approvals.is_enough() && approvals.are_by_different()) {
        return Ok(());
    }
    Err(Refusal::new(
        Code::Tier0UnapprovedMerge,
        format!("task `{}` has {}, so it cannot be merged", task.id, approvals.words()),
    )
    .hint("another reviewer has to judge it; this is recorded as a Tier 0 violation")
    .detail("task", task.id.as_str()))
}

/// The red team's turn that an approval of this commit starts, if tasks of its risk have one.
pub fn turn_of(from: Option<Risk>, risk: Risk, commit: &CommitId) -> Option<RedTeamTurn> {
    from.filter(|from| risk >= *from).map(|_| RedTeamTurn {
        status: TurnStatus::Pending,
        commit: commit.clone(),
        by: None,
        time: None,
    })
}
