//! One task, for the person or agent that works on it or judges it.

use std::fmt::Write as _;

use super::{Frame, Picture};
use crate::board::checklist;
use crate::board::disagreement::Positions;
use crate::board::quorum::approvers;
use crate::board::task::{Body, Submission};
use crate::board::{Board, Task};
use crate::flow::Failure;
use crate::flow::alignment::Answer;
use crate::flow::context::Context;
use crate::text::{plural, shown, shown_line, side_by_side};

/// Two of them and what stands between fit a terminal of 100 columns.
const POSITION_WIDTH: usize = 46;

/// Writing to a string cannot fail.
macro_rules! line {
    ($text:expr, $($arg:tt)*) => { let _ = writeln!($text, $($arg)*); };
}

pub fn task(ctx: &Context, board: &Board, task: &Task) -> Result<String, Failure> {
    let body = task.body();
    let frame = Frame::new(ctx, board)?;
    let picture = Picture::new(&frame, board);
    let mut text = String::new();
    line!(text, "{}: {}", task.id, body.title);
    line!(text, "status:    {} ({})", task.status, picture.node(task).as_str());
    if let Some(waiting) = picture.waiting(task) {
        line!(text, "waits:     {}", waiting.why);
    }
    if let Some(agent) = &task.assigned_to {
        line!(
            text,
            "agent:     {agent} (epoch {}, iteration {}, {} review cycles)",
            task.epoch,
            task.iteration,
            task.review_cycles_total
        );
    }
    if let Some(lease) = &task.lease {
        line!(text, "lease:     {} until {}", lease.agent, lease.expires.at);
    }
    if let Some(attempt) = body.attempt() {
        line!(text, "worktree:  {}", ctx.root().join(&attempt.worktree).display());
        line!(text, "branch:    {} from {}", attempt.branch, attempt.base_commit.short());
    }
    if !body.spent.is_nothing() {
        line!(text, "spent:     {} in {} sessions", body.spent.words(), body.spent.sessions);
    }
    if let Some(spec) = &body.spec_ref {
        line!(text, "spec:      {spec}");
    }
    if let Some(minutes) = body.timebox_minutes {
        line!(text, "timebox:   {minutes} minutes");
    }
    if !body.description.is_empty() {
        line!(text, "\n{}\n", body.description);
    }
    list(&mut text, "done when", &body.done_when);
    let patterns =
        |patterns: &[crate::board::PathPattern]| patterns.iter().map(ToString::to_string).collect::<Vec<_>>();
    let asked = checklist::items(&body.checklist, ctx.project_config()?.checklists.of(task.risk));
    numbered(&mut text, &asked);
    list(&mut text, "may change", &patterns(&body.scope.inside));
    list(&mut text, "must not change", &patterns(&body.scope.outside));
    list(&mut text, "waits for tasks", &task.depends_on.iter().map(ToString::to_string).collect::<Vec<_>>());
    if let Some(reason) = &body.blocked_reason {
        line!(text, "blocked:   {reason}");
        list(&mut text, "questions", &body.blocked_questions);
    }
    result(&mut text, body);
    if let Some(failure) = &body.integration_failure {
        line!(text, "integration failed: {}", failure.reason);
        if let Some(log) = &failure.log {
            line!(text, "  log: {log}");
        }
        list(&mut text, "failing", &failure.failing);
    }
    if body.rejection_feedback.is_some() {
        line!(text, "feedback:  `liza task show {} --feedback`", task.id);
    }
    if let Some(gates) = body.gates.as_ref().filter(|gates| !gates.results.is_empty()) {
        line!(text, "gates:     {} (on {})", gates.summary(), gates.commit.short());
    }
    line!(text, "history:");
    for entry in &body.history {
        let change = match (entry.from, entry.to) {
            (Some(from), Some(to)) if from != to => format!(" {from} → {to}"),
            _ => String::new(),
        };
        let detail = entry
            .detail
            .as_deref()
            .filter(|detail| !detail.is_empty())
            .map_or(String::new(), |detail| format!(": {}", shown_line(detail)));
        line!(text, "  {} {} {}{change}{detail}", entry.time, entry.agent, entry.event.as_str());
        if let Some(checkpoint) = &entry.checkpoint {
            line!(text, "    intent: {}", shown_line(&checkpoint.intent));
            line!(
                text,
                "    validation: {} must print {}",
                shown_line(&checkpoint.validation.command),
                shown_line(&checkpoint.validation.expect)
            );
            line!(text, "    files: {}", checkpoint.files_to_modify.join(", "));
        }
    }
    Ok(text)
}

/// How the rounds of work and review ended, if they did.
fn result(text: &mut String, body: &Body) {
    let Some(found) = &body.review_result else { return };
    let class = found.disagreement.map_or(String::new(), |class| format!(" ({})", class.as_str()));
    line!(
        text,
        "review:    {}{class} after {}; {} of work and {} of review since it was first handed in",
        found.ending.as_str(),
        plural(found.rounds as usize, "round"),
        plural(usize::try_from(found.work_seconds).unwrap_or(usize::MAX), "second"),
        plural(usize::try_from(found.review_seconds).unwrap_or(usize::MAX), "second")
    );
    if !found.accepted_with_notes.is_empty() {
        line!(text, "notes:     accepted with {} open", found.accepted_with_notes.join(", "));
        for issue in body.issues.iter().filter(|issue| found.accepted_with_notes.contains(&issue.id)) {
            let said = shown_line(issue.last_words().trim());
            line!(text, "  - {} {}:{} {said}", issue.id, issue.file, issue.line);
        }
    }
    if let Some(both) = &found.positions {
        line!(text, "{}", positions(both));
    }
}

/// What each of the two holds, beside each other.
pub fn positions(both: &Positions) -> String {
    side_by_side(("the coder", &both.coder), ("the reviewer", &both.reviewer), POSITION_WIDTH)
}

fn list(text: &mut String, title: &str, items: &[String]) {
    if items.is_empty() {
        return;
    }
    line!(text, "{title}:");
    for item in items {
        line!(text, "  - {item}");
    }
}

/// The checklist, with the numbers that answers name.
fn numbered(text: &mut String, items: &[String]) {
    if items.is_empty() {
        return;
    }
    line!(text, "checklist (--answer \"N=yes|no|n/a: note\" for each):");
    for (at, item) in items.iter().enumerate() {
        line!(text, "  {}. {}", at + 1, shown_line(item));
    }
}

/// The last review, the last handoff and the last answer, as instructions.
pub fn feedback(board: &Board, task: &Task) -> String {
    let body = task.body();
    let mut text = String::new();
    if let Some(handoff) = board.rest.handoff.iter().rfind(|handoff| handoff.task_id == task.id) {
        line!(text, "Handed off by {}: {}\nNext: {}\n", handoff.by, handoff.summary, handoff.next_action);
    }
    if let Some(answer) = &body.answer {
        line!(text, "Answer to the questions it was blocked with: {answer}\n");
    }
    if let Some(failure) = &body.integration_failure {
        line!(text, "Integration failed: {}", failure.reason);
        list(&mut text, "files", &failure.files);
        list(&mut text, "failing", &failure.failing);
        if let Some(log) = &failure.log {
            line!(text, "log: {log}");
        }
        text.push('\n');
    }
    match &body.rejection_feedback {
        Some(feedback) => {
            line!(text, "The last review sent it back:\n{feedback}");
        }
        None if text.is_empty() => {
            line!(text, "there is no feedback on {}", task.id);
        }
        None => {}
    }
    text
}

/// Everything a verdict rests on, but for the diff.
pub fn review(task: &Task, submission: &Submission, answers: &[Answer], checklist: &[String]) -> String {
    let body = task.body();
    let mut text = String::new();
    line!(text, "{}: {}", task.id, body.title);
    line!(text, "commit:  {} on {}", submission.commit, submission.merge_base.short());
    line!(
        text,
        "round:   {} (by {})",
        task.review_cycles_total + 1,
        task.implementers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    );
    if task.awaits_red_team() {
        let vouched: Vec<&str> = approvers(task).iter().map(|agent| agent.as_str()).collect();
        line!(text, "turn:    of the red team; {} approved it", vouched.join(" and "));
    }
    list(&mut text, "done when", &body.done_when);
    numbered(&mut text, checklist);
    line!(text, "alignment with the checkpoint:");
    for answer in answers {
        let mark = if answer.answer.starts_with("judge") {
            " ? "
        } else if answer.holds {
            "yes"
        } else {
            " ! "
        };
        line!(text, "  [{mark}] {} {}", answer.question, answer.answer);
    }
    let tests = match (task.kind, submission.tests.is_empty()) {
        (crate::board::task::Kind::Code, true) => {
            "none: a code task without tests cannot be approved".to_owned()
        }
        (_, true) => "none (not a code task)".to_owned(),
        (_, false) => submission.tests.join(", "),
    };
    line!(text, "tests:   {tests}");
    if let Some(gates) =
        body.gates.as_ref().filter(|gates| Some(&gates.commit) == task.review_commit.as_ref())
    {
        line!(text, "gates:   {}", gates.summary());
    }
    if !submission.protected.is_empty() {
        line!(
            text,
            "touches configuration that agents and tools act on: {}",
            submission.protected.join(", ")
        );
    }
    list(&mut text, "files", &submission.files);
    if !body.issues.is_empty() {
        line!(text, "issues so far:");
        for issue in &body.issues {
            line!(
                text,
                "  {} [{}] {} {}:{} {} (round {}, {})",
                issue.id,
                issue.status.as_str(),
                issue.severity.as_str(),
                issue.file,
                issue.line,
                issue.last_words(),
                issue.round,
                issue.raised_by
            );
            if issue.rounds.len() > 1 {
                line!(text, "     {}", issue.story());
            }
        }
    }
    result(&mut text, body);
    text
}

/// A diff for a terminal: every line made safe first, then coloured by us.
pub fn colored_diff(diff: &str) -> String {
    let mut text = String::new();
    for line in diff.split_inclusive('\n') {
        let (body, end) = match line.strip_suffix('\n') {
            Some(body) => (body, "\n"),
            None => (line, ""),
        };
        let code = match body.as_bytes() {
            [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] | [b'd', b'i', b'f', b'f', ..] => "1",
            [b'+', ..] => "32",
            [b'-', ..] => "31",
            [b'@', ..] => "36",
            _ => "",
        };
        let body = shown(body);
        if code.is_empty() {
            let _ = write!(text, "{body}{end}");
        } else {
            let _ = write!(text, "\u{1b}[{code}m{body}\u{1b}[0m{end}");
        }
    }
    text
}
