//! What concerns the board as a whole.

use crate::board::breaker::Response;
use crate::board::records::Urgency;
use crate::board::review::Verdict;

use crate::policy::spend::near;

use super::alert::{Alert, Kind, Report, Severity};
use super::limits::{APPROVAL_PERCENT, VERDICTS};
use super::situation::{Situation, said};

pub fn rolled_back(s: &Situation, report: &mut Report) {
    let Some(told) = &s.outside.rolled_back else { return };
    report.tell(
        Alert::new(Kind::RolledBack, "board", s.board.revision)
            .text(told.clone())
            .hint("the next command that changes the board restores it; `liza doctor` says more"),
    );
}

pub fn integration_moved(s: &Situation, report: &mut Report) {
    let Some(moved) = &s.outside.moved else { return };
    report.tell(
        Alert::new(Kind::IntegrationMoved, &moved.branch, &moved.to)
            .severity(Severity::Critical)
            .text(said(&moved.told))
            .hint(moved.remedy.clone()),
    );
}

pub fn integration_red(s: &Situation, report: &mut Report) {
    let Some(why) = &s.board.rest.integration.red else { return };
    let branch = &s.board.config().integration_branch;
    let head = s.board.rest.integration.head.as_ref().map_or("nowhere", |head| head.as_str());
    report.tell(
        Alert::new(Kind::IntegrationRed, branch, head)
            .severity(Severity::Critical)
            .text(format!("`{branch}` does not pass its gates, so nothing is merged: {}", said(why)))
            .hint("mend it with a task or `liza integration advance REV --reason …`"),
    );
}

pub fn immediate_discovery(s: &Situation, report: &mut Report) {
    let open = s
        .board
        .rest
        .discovered
        .iter()
        .filter(|found| found.processed_by.is_none() && found.urgency == Urgency::Immediate);
    for found in open {
        report.tell(
            Alert::new(Kind::ImmediateDiscovery, &found.id, found.time)
                .text(format!(
                    "{} found on {}: {} ({})",
                    found.by,
                    found.task_id,
                    said(&found.text),
                    found.severity.as_str()
                ))
                .hint(format!("plan it in, then `liza inbox --done {}`", found.id)),
        );
    }
}

/// While everybody is halted nobody answers, and nobody is blamed for it.
pub fn answer_overdue(s: &Situation, report: &mut Report) {
    if s.world.switches.global().is_some() {
        return;
    }
    for message in s.board.rest.messages.iter().filter(|message| message.is_unanswered()) {
        let Some(due) = message.respond_by else { continue };
        if !message.is_overdue(s.now.wall) {
            // Late is whoever has not answered when the second is over.
            report.look_again_in(u64::try_from(due.since(s.now.wall)).unwrap_or(0) + 1);
            continue;
        }
        report.tell(
            Alert::new(Kind::AnswerOverdue, &message.id, due)
                .text(format!(
                    "{} asked {} and has no answer, due {due}: {}",
                    message.from,
                    message.to,
                    said(&message.subject)
                ))
                .hint(format!(
                    "`liza message thread {}`; `liza message reply {} --body …`",
                    message.id, message.id
                )),
        );
    }
}

/// Over all verdicts on the board; archived tasks have taken theirs along.
pub fn approval_rate(s: &Situation, report: &mut Report) {
    let verdicts = s.board.tasks.iter().flat_map(|task| &task.body().reviews).map(|review| review.verdict);
    let (mut all, mut approvals) = (0u64, 0u64);
    for verdict in verdicts {
        all += 1;
        approvals += u64::from(verdict == Verdict::Approve);
    }
    if all < VERDICTS || approvals * 100 <= all * APPROVAL_PERCENT {
        return;
    }
    report.tell(
        Alert::new(Kind::ApprovalRate, "reviews", "")
            .text(format!(
                "{approvals} of {all} verdicts are approvals: the work is very good, or nobody looks closely"
            ))
            .hint("read a merged change yourself: `liza log -n 20`, then `liza task show TASK`"),
    );
}

/// What the breaker tripped for, until a person resolves it.
pub fn breaker_open(s: &Situation, report: &mut Report) {
    for trip in s.board.rest.circuit_breaker.open() {
        let severity = match trip.response {
            Response::Warning => Severity::Warning,
            Response::Checkpoint | Response::Halt => Severity::Critical,
        };
        report.tell(
            Alert::new(Kind::BreakerOpen, &trip.id, trip.time)
                .severity(severity)
                .text(format!("{}: {}", trip.pattern.as_str(), said(&trip.summary)))
                .hint(format!(
                    "`liza breaker status`; when it is settled: `liza breaker resolve {} --note …`",
                    trip.id
                )),
        );
    }
}

/// Each cap once when it is nearly used, and once when it is.
pub fn spend(s: &Situation, report: &mut Report) {
    for cap in near(s.board, &s.outside.caps) {
        let reached = cap.is_reached();
        let (severity, what) = if reached {
            (Severity::Critical, "nothing more is begun for it")
        } else {
            (Severity::Warning, "it is nearly used up")
        };
        let occurrence = format!("{}:{}:{}", cap.setting, cap.cap, if reached { "reached" } else { "near" });
        report.tell(
            Alert::new(Kind::Spend, &cap.subject, occurrence)
                .severity(severity)
                .text(format!("{}; {what}", cap.told()))
                .hint(format!(
                    "`liza metrics` shows where it went; `{}` in liza.yaml is the cap",
                    cap.setting
                )),
        );
    }
}
