use clap::Args;
use serde_json::json;

use crate::board::records::{AnomalyKind, Urgency};
use crate::board::review::Severity;
use crate::board::rules::{AddNote, ChangeSpec, Discover, LogAnomaly, MarkProcessed};
use crate::board::{Needs, Status, Transition};
use crate::flow::Failure;
use crate::flow::init::parse_task;
use crate::policy::wake::wakes;

use super::super::Session;
use super::super::ui::Answer;

/// Leave a note; a person's note is how the planner gets an answer
///
/// Example: liza note "use argparse, not click" --task t1
#[derive(Args)]
pub struct NoteArgs {
    /// The text, @file, or - for standard input
    pub text: String,
    /// The task it is about
    #[arg(long, value_name = "TASK")]
    pub task: Option<String>,
}

/// Record something that went wrong, of a known type with its required details
///
/// Example: liza anomaly spec_ambiguity --task t1 --detail question="Is an empty name allowed?"
#[derive(Args)]
pub struct AnomalyArgs {
    /// Its type; an unknown one lists them all
    #[arg(value_name = "TYPE")]
    pub kind: String,
    /// The task it happened on
    #[arg(long, value_name = "TASK")]
    pub task: String,
    /// A detail, repeated for each
    #[arg(long = "detail", value_name = "KEY=VALUE")]
    pub details: Vec<String>,
}

/// Report work that was noticed while doing other work
///
/// Example: liza discover "the parser drops empty lines" --task t1 --severity minor --urgency deferred
#[derive(Args)]
pub struct DiscoverArgs {
    /// What was found
    pub text: String,
    /// The task it was found on
    #[arg(long, value_name = "TASK")]
    pub task: String,
    /// critical, major, minor or nitpick
    #[arg(long)]
    pub severity: String,
    /// deferred or immediate (wakes the planner)
    #[arg(long)]
    pub urgency: String,
}

/// Announce that a spec has changed
///
/// Example: liza spec-change --spec specs/vision.md "names may be empty" --affects t1
#[derive(Args)]
pub struct SpecChangeArgs {
    /// What changed
    pub change: String,
    /// The spec's file
    #[arg(long, value_name = "FILE")]
    pub spec: String,
    /// A task it touches, repeated for each
    #[arg(long, value_name = "TASK")]
    pub affects: Vec<String>,
}

/// Show what waits for the planner, and mark it as dealt with
///
/// Example: liza inbox --done note-1 --done anomaly-2
#[derive(Args)]
pub struct InboxArgs {
    /// Mark this record as processed, repeated for each
    #[arg(long, value_name = "ID")]
    pub done: Vec<String>,
}

fn commit(
    session: &mut Session,
    what: impl Into<Transition>,
    text: impl Fn(&str) -> String,
) -> Result<Answer, Failure> {
    session.seal_request()?;
    let committed = session.ctx.commit(what)?;
    let id = committed.outcome["id"].as_str().unwrap_or_default().to_owned();
    Ok(Answer::new(committed.outcome, text(&id)).at(committed.board.revision))
}

pub fn note(session: &mut Session, args: &NoteArgs) -> Result<Answer, Failure> {
    let task = args.task.as_deref().map(parse_task).transpose()?;
    let note = AddNote { text: session.input.text(&args.text)?, task };
    commit(session, note, |id| format!("noted as {id}"))
}

pub fn anomaly(session: &mut Session, args: &AnomalyArgs) -> Result<Answer, Failure> {
    let kind = AnomalyKind::parse(&args.kind).ok_or_else(|| {
        let known: Vec<String> = AnomalyKind::ALL
            .iter()
            .map(|kind| format!("{} ({})", kind.as_str(), kind.required().join(", ")))
            .collect();
        Failure::usage(format!("there is no anomaly of type `{}`", args.kind))
            .hint(format!("types and the details they need: {}", known.join("; ")))
    })?;
    let mut details = std::collections::BTreeMap::new();
    for detail in &args.details {
        let (key, value) =
            detail.split_once('=').ok_or_else(|| Failure::usage(format!("`{detail}` is not KEY=VALUE")))?;
        details.insert(key.to_owned(), session.input.text(value)?);
    }
    let log = LogAnomaly { kind, task: parse_task(&args.task)?, details };
    commit(session, log, |id| format!("recorded as {id}"))
}

pub fn discover(session: &mut Session, args: &DiscoverArgs) -> Result<Answer, Failure> {
    let severity = Severity::parse(&args.severity).ok_or_else(|| {
        Failure::usage(format!("`{}` is no severity", args.severity))
            .hint("critical, major, minor or nitpick")
    })?;
    let urgency = match args.urgency.as_str() {
        "deferred" => Urgency::Deferred,
        "immediate" => Urgency::Immediate,
        other => return Err(Failure::usage(format!("`{other}` is no urgency")).hint("deferred or immediate")),
    };
    let found =
        Discover { text: session.input.text(&args.text)?, task: parse_task(&args.task)?, severity, urgency };
    commit(session, found, |id| format!("recorded as {id}"))
}

pub fn spec_change(session: &mut Session, args: &SpecChangeArgs) -> Result<Answer, Failure> {
    session.ctx.spec_found(&args.spec)?;
    let affects = args.affects.iter().map(|id| parse_task(id)).collect::<Result<_, _>>()?;
    let change = ChangeSpec { spec: args.spec.clone(), change: session.input.text(&args.change)?, affects };
    commit(session, change, |id| format!("recorded as {id}"))
}

pub fn inbox(session: &mut Session, args: &InboxArgs) -> Result<Answer, Failure> {
    if !args.done.is_empty() {
        let mark = MarkProcessed { ids: args.done.clone() };
        return commit(session, mark, |_| format!("marked as processed: {}", args.done.join(", ")));
    }
    let snapshot = session.ctx.read_with(|board| {
        let blocked = board.tasks.iter().filter(|task| task.status == Status::Blocked);
        Needs::Tasks(blocked.map(|task| task.id.clone()).collect())
    })?;
    let rest = &snapshot.board.rest;
    let wakes = wakes(&snapshot.board, session.ctx.now.wall);
    let mut text = String::new();
    for wake in &wakes {
        text.push_str(&format!(
            "{}: {}\n  {}\n",
            super::super::view::trigger_words(wake.trigger),
            wake.about.join(", "),
            wake.hint
        ));
    }
    for task in snapshot.board.tasks.iter().filter(|task| task.status == Status::Blocked) {
        let body = task.body();
        text.push_str(&format!(
            "{} is blocked: {}\n",
            task.id,
            body.blocked_reason.as_deref().unwrap_or_default()
        ));
        for question in &body.blocked_questions {
            text.push_str(&format!("  ? {question}\n"));
        }
    }
    let notes: Vec<_> = rest.human_notes.iter().filter(|note| note.processed_by.is_none()).collect();
    let anomalies: Vec<_> = rest.anomalies.iter().filter(|anomaly| anomaly.processed_by.is_none()).collect();
    let discovered: Vec<_> = rest.discovered.iter().filter(|found| found.processed_by.is_none()).collect();
    let changes: Vec<_> = rest.spec_changes.iter().filter(|change| change.processed_by.is_none()).collect();
    for note in &notes {
        let about = note.task_id.as_ref().map_or(String::new(), |task| format!(" on {task}"));
        text.push_str(&format!("{} by {}{about}: {}\n", note.id, note.by, note.text));
    }
    for anomaly in &anomalies {
        let details: Vec<String> =
            anomaly.details.iter().map(|(key, value)| format!("{key}={value}")).collect();
        text.push_str(&format!(
            "{} {} on {}: {}\n",
            anomaly.id,
            anomaly.kind.as_str(),
            anomaly.task_id,
            details.join("; ")
        ));
    }
    for found in &discovered {
        text.push_str(&format!(
            "{} ({}) on {}: {}\n",
            found.id,
            found.severity.as_str(),
            found.task_id,
            found.text
        ));
    }
    for change in &changes {
        text.push_str(&format!("{} {}: {}\n", change.id, change.spec, change.change));
    }
    if text.is_empty() {
        text.push_str("nothing waits for the planner");
    }
    let data = json!({
        "wakes": wakes, "human_notes": notes, "anomalies": anomalies, "discovered": discovered, "spec_changes": changes,
    });
    Ok(Answer::new(data, text).at(snapshot.board.revision))
}
