//! Alerts about one task.

use super::{alert::*, limits::*, situation::*};
use crate::board::lease::Lease;
use crate::board::result::acceptance_hint;
use crate::policy::prelude::*;

fn open<'a>(s: &Situation<'a>) -> impl Iterator<Item = &'a Task> {
    s.board.tasks.iter().filter(|task| !task.status.is_terminal())
}

fn in_state<'a>(s: &Situation<'a>, status: Status) -> impl Iterator<Item = &'a Task> {
    s.board.tasks.iter().filter(move |task| task.status == status)
}

fn holder(task: &Task) -> &str {
    task.assigned_to.as_ref().map_or("no agent", AgentId::as_str)
}

/// A claim or a review whose holder let its time pass, left, or registered again (a new incarnation).
pub fn lease_expired(s: &Situation, report: &mut Report) {
    for task in open(s) {
        let (what, lease) = match task.status {
            Status::Working => ("claim on", &task.lease),
            _ if task.judged_by().is_some() => ("review of", &task.review_lease),
            _ => continue,
        };
        let Some(lease) = lease else { continue };
        if s.is_halted(task, Some(&lease.agent)) || s.board.intent_of(&task.id).is_some() {
            continue;
        }
        let Some(over) = over_for(s, lease, report) else { continue };
        let role = task.next_role();
        let (id, agent) = (&task.id, &lease.agent);
        let over = ago(i64::try_from(over).unwrap_or(i64::MAX)).replace("just now", "a moment");
        let text = format!("the {what} {id} by {agent} has been over for {over}; any {role} may take it");
        let hint = format!(
            "`liza agent log {agent}` shows what {agent} does; if it is gone, `liza next --role {role}`"
        );
        let occurrence = format!("{agent}:{}:{}", lease.epoch, lease.expires.at);
        report.tell(Alert::new(Kind::LeaseExpired, id, occurrence, text, hint));
    }
}

/// For how many seconds a lease has been over, if longer than the grace.
fn over_for(s: &Situation, lease: &Lease, report: &mut Report) -> Option<u64> {
    let grace = s.board.config().heartbeat_seconds.saturating_mul(LEASE_GRACE_HEARTBEATS);
    if lease_over(s.board, lease, s.now) && !lease.ran_out(s.now) {
        // An agent that registered again has its grace to take the task up again; a retired one never will.
        let agent = s.board.agent(&lease.agent).filter(|agent| agent.is_active());
        return report.due(agent.map_or(grace, |agent| s.age(agent.registered_at)), grace);
    }
    match s.over_by(&lease.expires) {
        Ok(over) => report.due(over, grace),
        Err(left) => {
            report.look_again_in(left.saturating_add(grace));
            None
        }
    }
}

pub fn blocked(s: &Situation, report: &mut Report) {
    for task in in_state(s, Status::Blocked).filter(|task| !task.hypothesis_exhausted()) {
        let (id, body) = (&task.id, task.body());
        let questions: Vec<String> = body.blocked_questions.iter().map(|question| said(question)).collect();
        let why = said(body.blocked_reason.as_deref().unwrap_or("no reason is given"));
        let text = format!("{id} is blocked: {why}; asked: {}", questions.join(" | "));
        let hint = format!("`liza task unblock {id} --answer …`");
        report.tell(Alert::new(Kind::Blocked, id, format!("{}:{}", task.epoch, entered(task)), text, hint));
    }
}

/// Rejected, and the agent it was reserved for does not take it up again.
pub fn orphaned_rejected(s: &Situation, report: &mut Report) {
    for task in in_state(s, Status::Rejected) {
        let owner = task.assigned_to.as_ref();
        if s.is_halted(task, owner) || s.board.intent_of(&task.id).is_some() {
            // After the halt it is still the same occurrence.
            report.lingering.insert(key(Kind::OrphanedRejected, &task.id, entered(task)));
            continue;
        }
        let gone = owner.is_none_or(|owner| {
            !owner.is_human() && !s.board.agent(owner).is_some_and(|agent| agent.is_active())
        });
        let over = task.reserved_until.as_ref().map_or(Ok(0), |until| s.over_by(until));
        if let (false, Err(left)) = (gone, over) {
            report.look_again_in(left);
            continue;
        }
        let whom = holder(task);
        let why = if gone { "is gone" } else { "did not take it up again in time" };
        let text = format!("{} was rejected and {whom} {why}; no agent works on the feedback", task.id);
        let hint = format!("any {} may take it: `liza next --role {}`", task.role, task.role);
        report.tell(Alert::new(Kind::OrphanedRejected, &task.id, entered(task), text, hint));
    }
}

/// One agent's work comes back again and again.
pub fn review_loop(s: &Situation, report: &mut Report) {
    for task in open(s).filter(|task| task.status != Status::Approved) {
        let rejections = task.review_cycles_current;
        if rejections < REVIEW_LOOP {
            continue;
        }
        // Where this agent's row began, and how many times three it has come to.
        let row = task.review_cycles_total.saturating_sub(rejections);
        let (id, whose) = (&task.id, holder(task));
        let reason = said(task.body().rejection_reason.as_deref().unwrap_or_default());
        let text = format!("{id} of {whose} was rejected {rejections} times; last: {reason}");
        let hint = format!(
            "`liza review show {id}`; to split or replan it: `liza task rescope {id} --into FILE --reason …`"
        );
        let occurrence = format!("{row}:{}", rejections / REVIEW_LOOP);
        report.tell(Alert::new(Kind::ReviewLoop, id, occurrence, text, hint));
    }
}

fn is_near(count: u32, limit: u32, (part, of): (u32, u32)) -> bool {
    count > NEVER_NEAR && u64::from(count) * u64::from(of) >= u64::from(limit) * u64::from(part)
}

pub fn near_limit(s: &Situation, report: &mut Report) {
    let config = s.board.config();
    for task in open(s) {
        if matches!(task.status, Status::Draft | Status::Blocked | Status::Approved) {
            continue;
        }
        let (id, body) = (&task.id, task.body());
        let iterations = body.max_coder_iterations.unwrap_or(config.max_coder_iterations);
        let cycles = body.max_review_cycles.unwrap_or(config.max_review_cycles);
        let limits = [
            ("iterations", task.iteration, iterations, ITERATIONS_NEAR),
            ("review cycles", task.review_cycles_total, cycles, CYCLES_NEAR),
        ];
        for (what, count, limit, near) in limits {
            if !is_near(count, limit, near) {
                continue;
            }
            let reached = if count >= limit { "all of" } else { "near" };
            // Another agent starts with iteration 1; review cycles are never reset.
            let whose = holder(task);
            let text = format!("{id} has used {count} of {limit} {what}; at the limit it is blocked");
            let hint = format!(
                "`liza task show {id} --feedback`; help with `liza note … --task {id}`, or split or replan it"
            );
            let occurrence = format!("{what}:{whose}:{}:{reached}:{limit}", body.attempts.len());
            report.tell(Alert::new(Kind::NearLimit, id, occurrence, text, hint));
        }
    }
}

pub fn integration_failed(s: &Situation, report: &mut Report) {
    for task in in_state(s, Status::IntegrationFailed) {
        let why = task.body().integration_failure.as_ref().map_or("", |failure| failure.reason.as_str());
        let text = format!("{} was approved and could not be merged: {}", task.id, said(why));
        let hint = format!("a {} fixes it: `liza task claim {}`", task.role, task.id);
        report.tell(Alert::new(Kind::IntegrationFailed, &task.id, entered(task), text, hint));
    }
}

pub fn hypothesis_exhausted(s: &Situation, report: &mut Report) {
    for task in open(s).filter(|task| task.hypothesis_exhausted()) {
        let failed: Vec<&str> = task.failed_by.iter().map(|agent| agent.as_str()).collect();
        let text = format!(
            "{} failed with {}; split or replan it instead of trying again",
            task.id,
            failed.join(" and ")
        );
        let hint = format!("`liza task rescope {} --into FILE --reason …`", task.id);
        report.tell(Alert::new(Kind::HypothesisExhausted, &task.id, failed.len(), text, hint).critical());
    }
}

/// Claimed by another agent than the time before.
pub fn reassigned(s: &Situation, report: &mut Report) {
    for task in open(s) {
        let claimed = |entry: &&HistoryEntry| matches!(entry.event, Event::Claimed | Event::TakenOver);
        let mut claims = task.body().history.iter().rev().filter(claimed);
        let (Some(last), Some(before)) = (claims.next(), claims.next()) else { continue };
        if last.agent == before.agent {
            continue;
        }
        let text = format!("{} went from {} to {}", task.id, before.agent, last.agent);
        let hint = format!("`liza task show {}` says why", task.id);
        let occurrence = format!("{}:{}", last.agent, last.epoch.unwrap_or(task.epoch));
        report.tell(Alert::new(Kind::Reassigned, &task.id, occurrence, text, hint).info());
    }
}

pub fn stale_draft(s: &Situation, report: &mut Report) {
    for task in in_state(s, Status::Draft) {
        let (id, moved) = (&task.id, last_moved(task));
        let Some(age) = report.due(s.age(moved), DRAFT_SECONDS) else { continue };
        let text = format!("{id} has been a draft for {}", ago(i64::try_from(age).unwrap_or(i64::MAX)));
        let hint = format!("`liza task finalize {id}`, or `liza task abandon {id} --reason …`");
        report.tell(Alert::new(Kind::StaleDraft, id, moved, text, hint).info());
    }
}

pub fn plan_waiting(s: &Situation, report: &mut Report) {
    for task in in_state(s, Status::ReadyForReview).filter(|task| task.awaits_acceptance()) {
        let (id, moved) = (&task.id, last_moved(task));
        let Some(age) = report.due(s.age(moved), PLAN_SECONDS) else { continue };
        let since = ago(i64::try_from(age).unwrap_or(i64::MAX));
        let text = format!("{id}, the plan of {}, has waited for acceptance for {since}", holder(task));
        report.tell(Alert::new(Kind::PlanWaiting, id, moved, text, acceptance_hint(id)));
    }
}
