//! One task as text, for its implementer and its reviewer.

use std::fmt::Display;

use super::{Frame, Picture};
use crate::board::checklist;
use crate::board::history::Plan;
use crate::board::review::Issue;
use crate::board::review_result::Positions;
use crate::board::task::{Body, Submission};
use crate::cli::prelude::*;
use crate::flow::alignment::Answer;
use crate::flow::gates::shown::GateShown;
use crate::store::Snapshot;
use crate::text::{shown, side_by_side};
use crate::wire::state::children_of;

/// Two columns of this width and their separator fit a terminal of 100 columns.
const POSITION_WIDTH: usize = 46;

/// The tasks that were split from a task, and the inputs from its merged dependencies.
#[derive(Default)]
pub struct Relations {
    pub children: Vec<TaskId>,
    pub inputs: BTreeMap<TaskId, Vec<String>>,
}

impl Relations {
    /// Reads the bodies of the dependencies.
    pub fn of(ctx: &Context, snapshot: &Snapshot, task: &Task) -> Result<Self, Failure> {
        let board = &snapshot.board;
        let mut inputs = BTreeMap::new();
        for id in &task.depends_on {
            let merged =
                |task: &Task| (task.status == Status::Merged).then(|| task.body().actual_outputs.clone());
            let files = match board.task(id) {
                Some(other) if other.is_light() => None,
                Some(other) => merged(other),
                None => ctx.store.archived_task(id)?.as_ref().and_then(merged),
            };
            inputs.extend(files.filter(|files| !files.is_empty()).map(|files| (id.clone(), files)));
        }
        Ok(Self { children: children_of(snapshot.text(), board, &task.id), inputs })
    }
}

pub fn task(ctx: &Context, board: &Board, task: &Task, relations: &Relations) -> Result<String, Failure> {
    let body = task.body();
    let frame = Frame::new(ctx, board)?;
    let picture = Picture::new(&frame, board);
    let mut text = String::new();
    text.line(format!("{}: {}", task.id, body.title));
    text.line(format!("status:    {} ({})", task.status, picture.node(task).as_str()));
    if let Some(waiting) = picture.waiting(task) {
        text.line(format!("waits:     {}", waiting.why));
    }
    if let Some(agent) = &task.assigned_to {
        text.line(format!(
            "agent:     {agent} (epoch {}, iteration {}, {} review cycles)",
            task.epoch, task.iteration, task.review_cycles_total
        ));
    }
    if let Some(lease) = &task.lease {
        text.line(format!("lease:     {} until {}", lease.agent, lease.expires.at));
    }
    if let Some(attempt) = body.attempt() {
        text.line(format!("worktree:  {}", ctx.root().join(&attempt.worktree).display()));
        text.line(format!("branch:    {} from {}", attempt.branch, attempt.base_commit.short()));
    }
    if !body.spent.is_nothing() {
        text.line(format!("spent:     {} in {} sessions", body.spent.words(), body.spent.sessions));
    }
    if let Some(spec) = &body.spec_ref {
        text.line(format!("spec:      {spec}"));
    }
    if task.is_slice() {
        text.line(format!("scenario:  {}", crate::flow::dispatch::scenario_of(task)));
    }
    if let Some(slice) = task.slice_kind {
        text.line(format!("slice:     {}", slice.as_str()));
    }
    if let Some(stream) = &task.workstream {
        text.line(format!("stream:    {stream}"));
    }
    if let Some(result) = &task.result {
        let (status, by) = (result.status.as_str(), &result.by);
        text.line(format!("result:    {status} by {by}, `liza result show {}`", task.id));
    }
    if let Some(previous) = &body.previous {
        text.line(format!("previous:  attempt {}: {}", previous.attempt, shown_line(&previous.reason)));
    }
    if let Some(minutes) = body.timebox_minutes {
        text.line(format!("timebox:   {minutes} minutes"));
    }
    if !body.description.is_empty() {
        text.line(format!("\n{}\n", body.description));
    }
    list(&mut text, "done when", &body.done_when);
    let items = checklist::items(&body.checklist, ctx.project_config()?.checklists.of(task.risk));
    numbered(&mut text, &items);
    list(&mut text, "may change", &body.scope.inside);
    list(&mut text, "must not change", &body.scope.outside);
    list(&mut text, "waits for tasks", &task.depends_on);
    if let Some(parent) = &body.parent {
        text.line(format!("parent:    {parent}"));
    }
    list(&mut text, "children", &relations.children);
    list(&mut text, "inputs", &body.inputs);
    for (from, files) in &relations.inputs {
        list(&mut text, &format!("inputs from {from}"), files);
    }
    list(&mut text, "expected outputs", &body.expected_outputs);
    if let Some(reason) = &body.blocked_reason {
        text.line(format!("blocked:   {reason}"));
        list(&mut text, "questions", &body.blocked_questions);
    }
    result(&mut text, body);
    if let Some(failure) = &body.integration_failure {
        text.line(format!("integration failed: {}", failure.reason));
        if let Some(log) = &failure.log {
            text.line(format!("  log: {log}"));
        }
        list(&mut text, "failing", &failure.failing);
    }
    if body.rejection_feedback.is_some() {
        text.line(format!("feedback:  `liza task show {} --feedback`", task.id));
    }
    if let Some(gates) = body.gates.as_ref().filter(|gates| !gates.results.is_empty()) {
        text.line(format!("gates:     {} (on {})", gates.summary(), gates.commit.short()));
    }
    text.line("history:");
    for entry in &body.history {
        let change = match (entry.from, entry.to) {
            (Some(from), Some(to)) if from != to => format!(" {from} → {to}"),
            _ => String::new(),
        };
        let detail = entry.detail.as_deref().filter(|detail| !detail.is_empty());
        let detail = detail.map_or(String::new(), |detail| format!(": {}", shown_line(detail)));
        text.line(format!("  {} {} {}{change}{detail}", entry.time, entry.agent, entry.event.as_str()));
        for change in &entry.changes {
            let (old, new) = (shown_line(&change.old), shown_line(&change.new));
            text.line(format!("    {}: {old} → {new}", change.field));
        }
        if let Some(checkpoint) = &entry.checkpoint {
            text.line(format!("    intent: {}", shown_line(&checkpoint.intent)));
            let Plan { command, expect } = &checkpoint.validation;
            let (command, expect) = (shown_line(command), shown_line(expect));
            text.line(format!("    validation: {command} must print {expect}"));
            text.line(format!("    files: {}", checkpoint.files_to_modify.join(", ")));
        }
    }
    Ok(text)
}

/// How the rounds of work and review ended.
fn result(text: &mut String, body: &Body) {
    let Some(found) = &body.review_result else { return };
    let class = found.disagreement.map_or(String::new(), |class| format!(" ({})", class.as_str()));
    text.line(format!(
        "review:    {}{class} after {}; {} of work and {} of review since its first submission",
        found.ending.as_str(),
        plural(found.rounds as usize, "round"),
        plural(usize::try_from(found.work_seconds).unwrap_or(usize::MAX), "second"),
        plural(usize::try_from(found.review_seconds).unwrap_or(usize::MAX), "second")
    ));
    if !found.accepted_with_notes.is_empty() {
        text.line(format!("notes:     accepted with {} open", found.accepted_with_notes.join(", ")));
        for issue in body.issues.iter().filter(|issue| found.accepted_with_notes.contains(&issue.id)) {
            let words = shown_line(issue.last_words().trim());
            text.line(format!("  - {} {}:{} {words}", issue.id, issue.file, issue.line));
        }
    }
    if let Some(both) = &found.positions {
        text.line(positions(both));
    }
}

/// The positions of coder and reviewer, side by side.
pub fn positions(both: &Positions) -> String {
    side_by_side(("the coder", &both.coder), ("the reviewer", &both.reviewer), POSITION_WIDTH)
}

fn list<T: Display>(text: &mut String, title: &str, items: &[T]) {
    if items.is_empty() {
        return;
    }
    text.line(format!("{title}:"));
    items.iter().for_each(|item| text.line(format!("  - {item}")));
}

/// The checklist, with the numbers for --answer.
fn numbered(text: &mut String, items: &[String]) {
    if items.is_empty() {
        return;
    }
    text.line("checklist (--answer \"N=yes|no|n/a: note\" for each):");
    for (at, item) in items.iter().enumerate() {
        text.line(format!("  {}. {}", at + 1, shown_line(item)));
    }
}

/// The assumptions of the checkpoint, with the numbers for --assumption and the results of the last review.
fn assumptions(text: &mut String, body: &Body) {
    let made = assumptions_of_checkpoint(body);
    if made.is_empty() {
        return;
    }
    let judged = body.submission.as_ref().map(|submission| &submission.commit);
    let last = body.reviews.last().filter(|review| Some(&review.commit) == judged);
    text.line("assumptions (--assumption \"N=held|violated|not_checked: REASON\" for each):");
    for (at, one) in made.iter().enumerate() {
        let critical = if one.critical { "[critical] " } else { "" };
        let result =
            last.and_then(|review| review.assumptions.iter().find(|result| result.assumption == one.text));
        let result = result.map_or(String::new(), |result| {
            let note = result.note.as_deref().map_or(String::new(), |note| format!(": {}", shown_line(note)));
            format!(" ({}{note})", result.answer.as_str())
        });
        text.line(format!("  {}. {critical}{}{result}", at + 1, shown_line(&one.text)));
    }
}

/// The last review, the last handoff and the last answer, as instructions.
pub fn feedback(board: &Board, task: &Task) -> String {
    let body = task.body();
    let mut text = String::new();
    if let Some(handoff) = board.rest.handoff.iter().rfind(|handoff| handoff.task_id == task.id) {
        text.line(format!(
            "Handed off by {}: {}\nNext: {}\n",
            handoff.by, handoff.summary, handoff.next_action
        ));
        for (name, lines) in handoff.package.iter().flat_map(|package| package.parts()) {
            let lines: Vec<_> = lines.iter().map(|line| shown_line(line)).collect();
            list(&mut text, name, &lines);
        }
    }
    if let Some(answer) = &body.answer {
        text.line(format!("Answer to the questions it was blocked with: {answer}\n"));
    }
    if let Some(failure) = &body.integration_failure {
        text.line(format!("Integration failed: {}", failure.reason));
        list(&mut text, "files", &failure.files);
        list(&mut text, "failing", &failure.failing);
        if let Some(log) = &failure.log {
            text.line(format!("log: {log}"));
        }
        text.push('\n');
    }
    match &body.rejection_feedback {
        Some(feedback) => text.line(format!("The last review sent it back:\n{feedback}")),
        None if text.is_empty() => text.line(format!("there is no feedback on {}", task.id)),
        None => {}
    }
    text
}

/// What a verdict needs, without the diff.
pub fn review(
    task: &Task,
    submission: &Submission,
    answers: &[Answer],
    checklist: &[String],
    gates: &[GateShown],
) -> String {
    let body = task.body();
    let mut text = String::new();
    text.line(format!("{}: {}", task.id, body.title));
    text.line(format!("commit:  {} on {}", submission.commit, submission.merge_base.short()));
    text.line(format!("round:   {} (by {})", task.review_cycles_total + 1, commas(&task.implementers)));
    if task.awaits_red_team() {
        let vouched: Vec<&str> = task.approvers().iter().map(|agent| agent.as_str()).collect();
        text.line(format!("turn:    of the red team; {} approved it", vouched.join(" and ")));
    }
    list(&mut text, "done when", &body.done_when);
    numbered(&mut text, checklist);
    assumptions(&mut text, body);
    text.line("alignment with the checkpoint:");
    for answer in answers {
        let mark = if answer.answer.starts_with("judge") {
            " ? "
        } else if answer.holds {
            "yes"
        } else {
            " ! "
        };
        text.line(format!("  [{mark}] {} {}", answer.question, answer.answer));
    }
    let tests = match (task.kind, submission.tests.is_empty()) {
        (Kind::Code, true) => "none: a code task without tests cannot be approved".to_owned(),
        (_, true) => "none (not a code task)".to_owned(),
        (_, false) => submission.tests.join(", "),
    };
    text.line(format!("tests:   {tests}"));
    if !gates.is_empty() {
        text.line("gates:");
        gates.iter().for_each(|gate| text.line(format!("  {}", gate.line(&task.id))));
    }
    if !submission.protected.is_empty() {
        let files = submission.protected.join(", ");
        text.line(format!("changes configuration of agents or tools: {files}"));
    }
    list(&mut text, "files", &submission.files);
    if !body.issues.is_empty() {
        text.line("issues so far:");
        for issue in &body.issues {
            let Issue { id, file, round, raised_by, .. } = issue;
            let line = issue.lines();
            let (status, severity) = (issue.status.as_str(), issue.severity.as_str());
            let words = issue.last_words();
            text.line(format!(
                "  {id} [{status}] {severity} {file}:{line} {words} (round {round}, {raised_by})"
            ));
            if issue.rounds.len() > 1 {
                text.line(format!("     {}", issue.story()));
            }
        }
    }
    result(&mut text, body);
    text
}

/// A diff for a terminal: every line is escaped, then coloured.
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
            text.push_str(&format!("{body}{end}"));
        } else {
            text.push_str(&format!("\u{1b}[{code}m{body}\u{1b}[0m{end}"));
        }
    }
    text
}
