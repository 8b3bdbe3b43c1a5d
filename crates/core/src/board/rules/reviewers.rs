//! Who may judge work: not its implementer, not the same reviewer twice, and only the reviewer that claimed the review.

use super::prelude::*;

/// The two-person rule: an implementer cannot review its own task.
pub fn not_an_implementer(task: &Task, call: &Call, reviewer: &AgentId, verb: &str) -> Result<(), Refusal> {
    if !call.guards.on(Guard::SelfApproval) {
        return Ok(());
    }
    let committed = task.body().submission.as_ref().is_some_and(|submission| {
        submission.authors.iter().any(|author| author.eq_ignore_ascii_case(reviewer.as_str()))
    });
    if !task.was_implemented_by(reviewer) && !committed {
        return Ok(());
    }
    Err(Refusal::new(
        Code::Tier0SelfApproval,
        format!("`{reviewer}` worked on task `{}`, so `{reviewer}` may not {verb} it", task.id),
    )
    .hint("another agent or another person has to do it; this is recorded as a Tier 0 violation")
    .detail("task", task.id.as_str())
    .detail("implementers", task.implementers.iter().map(AgentId::as_str).collect::<Vec<_>>()))
}

pub fn reviews(board: &Board, call: &Call, verb: &str) -> Result<(), Refusal> {
    if call.by.has_role(board, &Role::code_reviewer()) {
        return Ok(());
    }
    Err(tier0_role(call, verb, &Role::code_reviewer()))
}

/// Refuses a review of a task with a result: there is no commit to review.
pub fn reviewed_as_commit(task: &Task) -> Result<(), Refusal> {
    if task.kind != Kind::Report && !task.stands_on_result() {
        return Ok(());
    }
    Err(refusal!(
        Code::KindMismatch,
        "task `{}` delivers a result, no commit, so there is no review of it",
        task.id
    )
    .hint(format!("read it with `liza result show {0}`, then `liza result accept {0}`", task.id))
    .detail("task", task.id.as_str()))
}

/// Refuses callers other than the holder of the review lease. An expired lease counts until another reviewer claims the
/// review.
pub fn holds_review(task: &Task, call: &Call) -> Result<(), Refusal> {
    let by = call.by.id();
    match &task.review_lease {
        Some(lease) if lease.agent == by && lease.incarnation == call.by.incarnation() => Ok(()),
        Some(lease) => Err(Refusal::new(
            Code::LeaseLost,
            format!("the review of `{}` is held by `{}`, not by `{by}`", task.id, lease.agent),
        )
        .hint("leave the verdict to that reviewer")
        .detail("holder", lease.agent.as_str())),
        None => Err(refusal!(Code::LeaseLost, "`{by}` has not taken the review of `{}`", task.id)
            .hint(format!("`liza review claim {}` first", task.id))),
    }
}

/// Refuses callers other than an agent of the red team that neither implemented nor approved the task.
pub fn may_attack(board: &Board, call: &Call, task: &Task, verb: &str) -> Result<(), Refusal> {
    let role = Role::red_team();
    if !call.by.has_role(board, &role) {
        // A reviewer that is late, or repeats a verdict, breaks no rule.
        return Err(if call.by.has_role(board, &Role::code_reviewer()) {
            wrong_state(task, "reviewed", next_step(task))
        } else {
            tier0_role(call, &format!("{verb} task `{}` as the red team", task.id), &role)
        });
    }
    let by = call.by.id();
    not_an_implementer(task, call, &by, verb)?;
    let approved = task.approvers().iter().any(|approver| approver.is_same(&by));
    if approved && call.guards.on(Guard::SelfApproval) {
        return Err(Refusal::new(
            Code::Tier0SelfApproval,
            format!("`{by}` approved task `{}`, so `{by}` may not {verb} it as the red team", task.id),
        )
        .hint("another agent or another person has to do it; this is recorded as a Tier 0 violation")
        .detail("task", task.id.as_str()));
    }
    Ok(())
}

/// A reviewer's approval counts once, so a reviewer cannot review the same commit twice.
pub fn not_twice(task: &Task, call: &Call) -> Result<(), Refusal> {
    let by = call.by.id();
    let Some(approvals) = task.approvals.as_ref().filter(|approvals| approvals.has(&by)) else {
        return Ok(());
    };
    if task.status != Status::ReadyForReview || !call.guards.on(Guard::Quorum) {
        return Ok(());
    }
    Err(refusal!(
        Code::AlreadyApproved,
        "`{by}` has already approved the commit of `{}`: {}, each by another reviewer",
        task.id,
        approvals.words()
    )
    .hint(format!(
        "another reviewer, or a person who did not work on it, takes it with `liza review claim {}`",
        task.id
    ))
    .detail("task", task.id.as_str())
    .detail("needed", approvals.needed)
    .detail("approved_by", approvals.by.iter().map(|given| given.reviewer.to_string()).collect::<Vec<_>>()))
}
