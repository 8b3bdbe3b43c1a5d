//! What concerns one task.

use crate::board::history::Event;
use crate::board::lease::Lease;
use crate::board::rules::lease_over;
use crate::board::{Status, Task};
use crate::text::ago;

use super::alert::{Alert, Kind, Report, Severity, key};
use super::limits::{
    CYCLES_NEAR, DRAFT_SECONDS, ITERATIONS_NEAR, LEASE_GRACE_HEARTBEATS, NEVER_NEAR, REVIEW_LOOP,
};
use super::situation::{Situation, entered, last_moved, said};

fn open<'a>(s: &Situation<'a>) -> impl Iterator<Item = &'a Task> {
    s.board.tasks.iter().filter(|task| !task.status.is_terminal())
}

fn in_state<'a>(s: &Situation<'a>, status: Status) -> impl Iterator<Item = &'a Task> {
    s.board.tasks.iter().filter(move |task| task.status == status)
}

/// A claim or a review whose holder let its time pass, left, or came back as somebody else.
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
        report.tell(
            Alert::new(
                Kind::LeaseExpired,
                task.id.as_str(),
                format_args!("{}:{}:{}", lease.agent, lease.epoch, lease.expires.at),
            )
            .text(format!(
                "the {what} {} by {} has been over for {}; any {role} may take it",
                task.id,
                lease.agent,
                ago(i64::try_from(over).unwrap_or(i64::MAX)).replace("just now", "a moment")
            ))
            .hint(format!(
                "see whether {} still runs (`liza agent list`); otherwise `liza next --role {role}`",
                lease.agent
            )),
        );
    }
}

/// For how many seconds a lease has been over, if longer than the grace.
fn over_for(s: &Situation, lease: &Lease, report: &mut Report) -> Option<u64> {
    let grace = s.board.config().heartbeat_seconds.saturating_mul(LEASE_GRACE_HEARTBEATS);
    if lease_over(s.board, lease, s.now) && !lease.ran_out(s.now) {
        // Registered anew: that one has its grace to take the task up again. Retired: nobody will.
        let agent = s.board.agent(&lease.agent).filter(|agent| agent.is_active());
        let age = agent.map_or(grace, |agent| s.age(agent.registered_at));
        if age < grace {
            report.look_again_in(grace - age);
            return None;
        }
        return Some(age);
    }
    match s.over_by(&lease.expires) {
        Ok(over) if over >= grace => Some(over),
        Ok(over) => {
            report.look_again_in(grace - over);
            None
        }
        Err(left) => {
            report.look_again_in(left.saturating_add(grace));
            None
        }
    }
}

pub fn blocked(s: &Situation, report: &mut Report) {
    for task in in_state(s, Status::Blocked).filter(|task| !task.hypothesis_exhausted()) {
        let body = task.body();
        let questions: Vec<String> = body.blocked_questions.iter().map(|question| said(question)).collect();
        report.tell(
            Alert::new(Kind::Blocked, task.id.as_str(), format_args!("{}:{}", task.epoch, entered(task)))
                .text(format!(
                    "{} is blocked: {}; asked: {}",
                    task.id,
                    said(body.blocked_reason.as_deref().unwrap_or("no reason is given")),
                    questions.join(" | ")
                ))
                .hint(format!("`liza task unblock {} --answer …`", task.id)),
        );
    }
}

/// Rejected, and the agent it was reserved for does not take it up again.
pub fn orphaned_rejected(s: &Situation, report: &mut Report) {
    for task in in_state(s, Status::Rejected) {
        let owner = task.assigned_to.as_ref();
        if s.is_halted(task, owner) || s.board.intent_of(&task.id).is_some() {
            // After the halt it is the same story.
            report.lingering.insert(key(Kind::OrphanedRejected, task.id.as_str(), entered(task)));
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
        let whom = owner.map_or("nobody", |owner| owner.as_str());
        let why = if gone { "is gone" } else { "did not take it up again in time" };
        report.tell(
            Alert::new(Kind::OrphanedRejected, task.id.as_str(), entered(task))
                .text(format!("{} was rejected and {whom} {why}; nobody works on the feedback", task.id))
                .hint(format!("any {} may take it: `liza next --role {}`", task.role, task.role)),
        );
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
        let reason = task.body().rejection_reason.as_deref().unwrap_or_default();
        report.tell(
            Alert::new(
                Kind::ReviewLoop,
                task.id.as_str(),
                format_args!("{row}:{}", rejections / REVIEW_LOOP),
            )
            .text(format!(
                "{} of {} was rejected {rejections} times; last: {}",
                task.id,
                task.assigned_to.as_ref().map_or("nobody", |agent| agent.as_str()),
                said(reason)
            ))
            .hint(format!(
                "`liza review show {0}`; if the cut is wrong: `liza task rescope {0} --into FILE --reason …`",
                task.id
            )),
        );
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
        let body = task.body();
        let limits = [
            (
                "iterations",
                task.iteration,
                body.max_coder_iterations.unwrap_or(config.max_coder_iterations),
                ITERATIONS_NEAR,
            ),
            (
                "review cycles",
                task.review_cycles_total,
                body.max_review_cycles.unwrap_or(config.max_review_cycles),
                CYCLES_NEAR,
            ),
        ];
        for (what, count, limit, near) in limits {
            if !is_near(count, limit, near) {
                continue;
            }
            let reached = if count >= limit { "all of" } else { "near" };
            // Another agent begins its iterations anew; cycles are counted for good.
            let whose = task.assigned_to.as_ref().map_or("nobody", |agent| agent.as_str());
            report.tell(
                Alert::new(
                    Kind::NearLimit,
                    task.id.as_str(),
                    format_args!("{what}:{whose}:{}:{reached}:{limit}", body.attempts.len()),
                )
                .text(format!("{} has used {count} of {limit} {what}; at the limit it is blocked", task.id))
                .hint(format!(
                    "`liza task show {0} --feedback`; help with `liza note … --task {0}`, or cut it anew",
                    task.id
                )),
            );
        }
    }
}

pub fn integration_failed(s: &Situation, report: &mut Report) {
    for task in in_state(s, Status::IntegrationFailed) {
        let why = task.body().integration_failure.as_ref().map_or("", |failure| failure.reason.as_str());
        report.tell(
            Alert::new(Kind::IntegrationFailed, task.id.as_str(), entered(task))
                .text(format!("{} was approved and could not be merged: {}", task.id, said(why)))
                .hint(format!("a {} mends it: `liza task claim {}`", task.role, task.id)),
        );
    }
}

pub fn hypothesis_exhausted(s: &Situation, report: &mut Report) {
    for task in open(s).filter(|task| task.hypothesis_exhausted()) {
        let failed: Vec<&str> = task.failed_by.iter().map(|agent| agent.as_str()).collect();
        report.tell(
            Alert::new(Kind::HypothesisExhausted, task.id.as_str(), failed.len())
                .severity(Severity::Critical)
                .text(format!(
                    "{} failed with {}; it needs a new cut, not another try",
                    task.id,
                    failed.join(" and ")
                ))
                .hint(format!("`liza task rescope {} --into FILE --reason …`", task.id)),
        );
    }
}

/// Claimed by another agent than the time before.
pub fn reassigned(s: &Situation, report: &mut Report) {
    for task in open(s) {
        let mut claims = task
            .body()
            .history
            .iter()
            .rev()
            .filter(|entry| matches!(entry.event, Event::Claimed | Event::TakenOver));
        let (Some(last), Some(before)) = (claims.next(), claims.next()) else { continue };
        if last.agent == before.agent {
            continue;
        }
        report.tell(
            Alert::new(
                Kind::Reassigned,
                task.id.as_str(),
                format_args!("{}:{}", last.agent, last.epoch.unwrap_or(task.epoch)),
            )
            .severity(Severity::Info)
            .text(format!("{} went from {} to {}", task.id, before.agent, last.agent))
            .hint(format!("`liza task show {}` says why", task.id)),
        );
    }
}

pub fn stale_draft(s: &Situation, report: &mut Report) {
    for task in in_state(s, Status::Draft) {
        let age = s.age(last_moved(task));
        if age < DRAFT_SECONDS {
            report.look_again_in(DRAFT_SECONDS - age);
            continue;
        }
        report.tell(
            Alert::new(Kind::StaleDraft, task.id.as_str(), last_moved(task))
                .severity(Severity::Info)
                .text(format!(
                    "{} has been a draft for {}",
                    task.id,
                    ago(i64::try_from(age).unwrap_or(i64::MAX))
                ))
                .hint(format!("`liza task finalize {0}`, or `liza task abandon {0} --reason …`", task.id)),
        );
    }
}
