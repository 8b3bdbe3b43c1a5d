//! Taking a submission to review: never by anybody who worked on it.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::board::call::{Call, Guard};
use crate::board::history::Event;
use crate::board::ids::{AgentId, Role, TaskId};
use crate::board::lease::Lease;
use crate::board::refusal::{Code, Refusal};
use crate::board::spent::Caps;
use crate::board::state::Board;
use crate::board::task::{Status, Task};
use crate::board::time::Deadline;
use crate::board::transition::{Needs, Rule};

use super::common::{entry, find, lease_over, next_step, parts, tier0_role, wrong_state};
use super::quorum::not_twice;
use super::red_team::may_attack;
use super::usage::check_caps;

/// The two-person rule: nobody judges what he had a hand in.
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
    Refusal::new(
        Code::Tier0SelfApproval,
        format!("`{reviewer}` worked on task `{}`, so `{reviewer}` may not {verb} it", task.id),
    )
    .hint("another agent or another person has to do it; this is recorded as a Tier 0 violation")
    .detail("task", task.id.as_str())
    .detail("implementers", task.implementers.iter().map(AgentId::as_str).collect::<Vec<_>>())
    .err()
}

pub fn reviews(board: &Board, call: &Call, verb: &str) -> Result<(), Refusal> {
    if call.by.has_role(board, &Role::code_reviewer()) {
        return Ok(());
    }
    Err(tier0_role(call, verb, &Role::code_reviewer()))
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StartReview {
    pub task: TaskId,
    /// What liza.yaml lets work cost.
    #[serde(default, skip_serializing_if = "Caps::is_none")]
    pub caps: Caps,
}

impl Rule for StartReview {
    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        let task = find(board, &self.task)?;
        call.check_switches(Some(&self.task))?;
        check_reviewable(board, call, task)?;
        check_caps(&self.caps, board, call, Some(task))
    }

    fn change(&self, board: &mut Board, call: &Call) -> Value {
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
        json!({
            "task": self.task, "review_commit": head.review_commit, "round": head.review_cycles_total + 1,
            "lease_expires": head.review_lease.as_ref().map(|lease| lease.expires.at),
        })
    }

    fn needs(&self, _: &Board) -> Needs {
        Needs::task(&self.task)
    }
}

/// Everything that must hold before this caller may review this task.
pub fn check_reviewable(board: &Board, call: &Call, task: &Task) -> Result<(), Refusal> {
    let red_team = task.judged_by() == Some(Role::red_team());
    if red_team {
        may_attack(board, call, task, "judge")?;
    } else {
        reviews(board, call, &format!("review task `{}`", task.id))?;
        if task.status != Status::ReadyForReview {
            return Err(wrong_state(task, "reviewed", next_step(task)));
        }
        not_an_implementer(task, call, &call.by.id(), "review")?;
        not_twice(task, call)?;
    }
    match &task.review_lease {
        Some(lease) if lease.agent != call.by.id() && !lease_over(board, lease, call.now) => Refusal::new(
            Code::Held,
            format!("task `{}` is being reviewed by `{}` until {}", task.id, lease.agent, lease.expires.at),
        )
        .hint(format!("take other work: `liza next --role {}`", task.next_role()))
        .detail("holder", lease.agent.as_str())
        .err(),
        _ => Ok(()),
    }
}

/// Only whoever took the review may go on with it. One that ran out still counts until somebody else takes it.
pub fn holds_review(task: &Task, call: &Call) -> Result<(), Refusal> {
    let by = call.by.id();
    match &task.review_lease {
        Some(lease) if lease.agent == by && lease.incarnation == call.by.incarnation() => Ok(()),
        Some(lease) => Refusal::new(
            Code::LeaseLost,
            format!("the review of `{}` is held by `{}`, not by `{by}`", task.id, lease.agent),
        )
        .hint("leave the verdict to that reviewer")
        .detail("holder", lease.agent.as_str())
        .err(),
        None => Refusal::new(Code::LeaseLost, format!("`{by}` has not taken the review of `{}`", task.id))
            .hint(format!("`liza review claim {}` first", task.id))
            .err(),
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RenewReview {
    pub task: TaskId,
}

impl Rule for RenewReview {
    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        let task = find(board, &self.task)?;
        if task.judged_by().is_none() {
            return Err(wrong_state(task, "reviewed", next_step(task)));
        }
        holds_review(task, call)
    }

    fn change(&self, board: &mut Board, call: &Call) -> Value {
        let expires = Deadline::after(call.now, board.config().lease_seconds);
        let (head, _) = parts(board, &self.task);
        if let Some(lease) = &mut head.review_lease {
            lease.expires = expires.clone();
        }
        json!({ "task": self.task, "lease_expires": expires.at })
    }

    fn needs(&self, _: &Board) -> Needs {
        Needs::task(&self.task)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReleaseReview {
    pub task: TaskId,
}

impl Rule for ReleaseReview {
    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        let task = find(board, &self.task)?;
        if task.judged_by().is_none() {
            return Err(wrong_state(task, "reviewed", next_step(task)));
        }
        // A person may free a review that an agent sits on.
        if call.by.is_human() && task.review_lease.is_some() { Ok(()) } else { holds_review(task, call) }
    }

    fn change(&self, board: &mut Board, call: &Call) -> Value {
        let (head, body) = parts(board, &self.task);
        head.review_lease = None;
        body.history.push(entry(call, Event::ReviewReleased).epoch(head.epoch));
        json!({ "task": self.task, "status": head.status })
    }

    fn needs(&self, _: &Board) -> Needs {
        Needs::task(&self.task)
    }
}
