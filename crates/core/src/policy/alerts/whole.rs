//! Alerts about the whole board.

use super::{alert::*, limits::*, outside::Moved, situation::Situation};
use crate::board::records::Discovery;
use crate::policy::{prelude::*, spend::near};

pub fn rolled_back(s: &Situation, report: &mut Report) {
    let Some(text) = &s.outside.rolled_back else { return };
    let hint = "the next command that changes the board restores it; `liza doctor` says more";
    report.tell(Alert::new(Kind::RolledBack, "board", s.board.revision, text.clone(), hint));
}

pub fn integration_moved(s: &Situation, report: &mut Report) {
    let Some(Moved { branch, to, description, remedy }) = &s.outside.moved else { return };
    report.tell(Alert::new(Kind::IntegrationMoved, branch, to, clipped_line(description), remedy).critical());
}

pub fn integration_red(s: &Situation, report: &mut Report) {
    let Some(why) = &s.board.rest.integration.red else { return };
    let branch = &s.board.config().integration_branch;
    let head = s.board.rest.integration.head.as_ref().map_or("nowhere", |head| head.as_str());
    let text = format!("`{branch}` does not pass its gates, so nothing is merged: {}", clipped_line(why));
    let hint = "fix it with a task or `liza integration advance REV --reason …`";
    report.tell(Alert::new(Kind::IntegrationRed, branch, head, text, hint).critical());
}

pub fn immediate_discovery(s: &Situation, report: &mut Report) {
    let urgent = |found: &&Discovery| found.processed_by.is_none() && found.urgency == Urgency::Immediate;
    for found in s.board.rest.discovered.iter().filter(urgent) {
        let Discovery { id, by, task_id, severity, .. } = found;
        let text = format!("{by} found on {task_id}: {} ({})", clipped_line(&found.text), severity.as_str());
        let hint = format!("plan it, then `liza inbox --done {id}`");
        report.tell(Alert::new(Kind::ImmediateDiscovery, id, found.time, text, hint));
    }
}

/// While all agents are halted, no agent can answer, and no answer counts as overdue.
pub fn answer_overdue(s: &Situation, report: &mut Report) {
    if s.world.switches.global().is_some() {
        return;
    }
    for message in s.board.rest.messages.iter().filter(|message| message.is_unanswered()) {
        let Some(due) = message.respond_by else { continue };
        if !message.is_overdue(s.now.wall) {
            // An answer is late once that second has passed.
            report.look_again_in(u64::try_from(due.since(s.now.wall)).unwrap_or(0) + 1);
            continue;
        }
        let (id, from, to) = (&message.id, &message.from, &message.to);
        let text =
            format!("{from} asked {to} and has no answer, due {due}: {}", clipped_line(&message.subject));
        let hint = format!("`liza message thread {id}`; `liza message reply {id} --body …`");
        report.tell(Alert::new(Kind::AnswerOverdue, id, due, text, hint));
    }
}

/// Over all verdicts on the board, without those on archived tasks.
pub fn approval_rate(s: &Situation, report: &mut Report) {
    let reviews = || s.board.tasks.iter().flat_map(|task| &task.body().reviews);
    let all = reviews().count() as u64;
    let approvals = reviews().filter(|review| review.verdict == Verdict::Approve).count() as u64;
    if all < VERDICTS || approvals * 100 <= all * APPROVAL_PERCENT {
        return;
    }
    let text = format!(
        "{approvals} of {all} verdicts are approvals: the work is very good, or the reviewers do not look closely"
    );
    let hint = "read a merged change yourself: `liza log -n 20`, then `liza task show TASK`";
    report.tell(Alert::new(Kind::ApprovalRate, "reviews", "", text, hint));
}

/// Open trips of the breaker, until a person resolves them.
pub fn breaker_open(s: &Situation, report: &mut Report) {
    for trip in s.board.rest.circuit_breaker.open() {
        report.tell(trip.into());
    }
}

/// Each cap is reported once when it is nearly used, and once when it is used up.
pub fn spend(s: &Situation, report: &mut Report) {
    for cap in near(s.board, &s.outside.caps) {
        let reached = cap.is_reached();
        let (severity, grade, what) = if reached {
            (Severity::Critical, "reached", "liza starts no more work for it")
        } else {
            (Severity::Warning, "near", "it is nearly used up")
        };
        let occurrence = format!("{}:{}:{grade}", cap.setting, cap.cap);
        let text = format!("{}; {what}", cap.describe());
        let hint = format!("`liza metrics` shows where it went; `{}` in liza.yaml is the cap", cap.setting);
        report.tell(Alert::new(Kind::Spend, &cap.subject, occurrence, text, hint).severity(severity));
    }
}
