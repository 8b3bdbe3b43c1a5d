use std::fmt::Write as _;

use clap::{Args, Subcommand};
use serde_json::json;

use crate::board::state::Sprint;
use crate::board::{TaskId, Wall};
use crate::flow::init::parse_task;
use crate::flow::metrics::Everything;
use crate::flow::roll_up::{amount_rows, took};
use crate::flow::{Failure, sprint};
use crate::policy::metrics::in_sprint;
use crate::text::{clipped, pad_to};

use super::super::Session;
use super::super::ui::Answer;

/// Stretches of the work with an end to look back from
///
/// One is open at a time. A deadline that passes sets CHECKPOINT once, while `liza watch` or `liza run` is there to notice.
///
/// Example: liza sprint show
#[derive(Subcommand)]
pub enum SprintCommand {
    Start(StartArgs),
    Close(CloseArgs),
    Show(ShowArgs),
    Scope(ScopeArgs),
}

/// Start a sprint (people only)
///
/// Without --scope it is about every task that is not finished while it lasts. The sprint that every board begins with is
/// closed on the way, unless somebody has given it a scope, a goal or a deadline.
///
/// Example: liza sprint start --deadline 8h --goal "greetings in two languages"
#[derive(Args)]
pub struct StartArgs {
    /// Its name (default: sprint- and the next number)
    pub id: Option<String>,
    /// A task it is about; repeat for several
    #[arg(long, value_name = "TASK", conflicts_with = "all")]
    pub scope: Vec<String>,
    /// About everything that is not finished, as without --scope
    #[arg(long)]
    pub all: bool,
    /// When everybody halts: a time such as 2026-01-20T18:00:00Z, or how long from now, such as 90m, 8h or 2d
    #[arg(long, value_name = "TIME|DURATION")]
    pub deadline: Option<String>,
    /// What it is to reach
    #[arg(long, value_name = "TEXT")]
    pub goal: Option<String>,
}

/// Close the open sprint: its figures are kept, and a retrospective is drafted from them (people only)
///
/// Example: liza sprint close --note "the demo went well"
#[derive(Args)]
pub struct CloseArgs {
    /// What there is to say about it
    #[arg(long)]
    pub note: Option<String>,
}

/// Show a sprint: what it is about and how far it is
///
/// Example: liza sprint show
#[derive(Args)]
pub struct ShowArgs {
    /// A former one
    pub id: Option<String>,
}

/// Change what the open sprint is about (people only)
///
/// Example: liza sprint scope --add t1
#[derive(Args)]
pub struct ScopeArgs {
    /// A task it is about as well; repeat for several
    #[arg(long, value_name = "TASK", required_unless_present = "drop")]
    pub add: Vec<String>,
    /// A task it is no longer about; repeat for several
    #[arg(long, value_name = "TASK")]
    pub drop: Vec<String>,
}

/// Writing to a string cannot fail.
macro_rules! line {
    ($text:expr) => { let _ = writeln!($text); };
    ($text:expr, $($arg:tt)*) => { let _ = writeln!($text, $($arg)*); };
}

pub fn run(session: &mut Session, command: &SprintCommand) -> Result<Answer, Failure> {
    match command {
        SprintCommand::Start(args) => start(session, args),
        SprintCommand::Close(args) => close(session, args),
        SprintCommand::Show(args) => show(session, args),
        SprintCommand::Scope(args) => scope(session, args),
    }
}

fn tasks(texts: &[String]) -> Result<Vec<TaskId>, Failure> {
    texts.iter().map(|text| parse_task(text)).collect()
}

fn start(session: &mut Session, args: &StartArgs) -> Result<Answer, Failure> {
    let begin = sprint::Begin {
        id: args.id.clone(),
        goal: args.goal.as_ref().map(|text| session.input.text(text)).transpose()?,
        scope: tasks(&args.scope)?,
        deadline: args.deadline.as_deref().map(|text| deadline(text, session.ctx.now.wall)).transpose()?,
    };
    session.seal_request()?;
    let (data, revision) = sprint::start(&session.ctx, begin)?;
    let until = data["deadline"].as_str().map_or(String::new(), |until| format!(", until {until}"));
    let about = match data["scope"].as_array().map_or(0, Vec::len) {
        0 => "everything that is not finished".to_owned(),
        count => crate::text::plural(count, "task"),
    };
    let text = format!("{} has begun: {about}{until}", data["id"].as_str().unwrap_or_default());
    Ok(Answer::new(data, text).at(revision))
}

/// A moment, or a span from now.
fn deadline(text: &str, now: Wall) -> Result<Wall, Failure> {
    if let Some(at) = Wall::parse(text) {
        return Ok(at);
    }
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "s" => Some(1),
        "m" | "min" => Some(60),
        "h" => Some(3600),
        "d" => Some(86_400),
        _ => None,
    };
    let span = unit.zip(digits.parse::<u64>().ok()).and_then(|(unit, count)| count.checked_mul(unit));
    match span {
        Some(seconds) => Ok(now.plus_seconds(seconds)),
        None => Err(Failure::usage(format!(
            "`{text}` is neither a time such as 2026-01-20T18:00:00Z nor a span such as 90m, 8h or 2d"
        ))
        .hint("say how long it may take from now, such as --deadline 8h")),
    }
}

fn close(session: &mut Session, args: &CloseArgs) -> Result<Answer, Failure> {
    let note = args.note.as_ref().map(|text| session.input.text(text)).transpose()?;
    session.seal_request()?;
    let closed = sprint::close(&session.ctx, note)?;
    let mut text = format!(
        "{} is closed\nretrospective: {}",
        closed.data["id"].as_str().unwrap_or_default(),
        closed.retrospective.display()
    );
    if closed.halted {
        text.push_str("\nCHECKPOINT is still set: `liza resume` lets everybody go on");
    }
    Ok(Answer::new(closed.data, text).at(closed.revision))
}

fn scope(session: &mut Session, args: &ScopeArgs) -> Result<Answer, Failure> {
    let (add, drop) = (tasks(&args.add)?, tasks(&args.drop)?);
    session.seal_request()?;
    let (data, revision) = sprint::set_scope(&session.ctx, add, drop)?;
    let names: Vec<&str> =
        data["scope"].as_array().into_iter().flatten().filter_map(|id| id.as_str()).collect();
    let text = format!("{} is about {}", data["id"].as_str().unwrap_or_default(), names.join(", "));
    Ok(Answer::new(data, text).at(revision))
}

fn show(session: &Session, args: &ShowArgs) -> Result<Answer, Failure> {
    let everything = Everything::read(&session.ctx)?;
    let found = match &args.id {
        Some(id) => everything.sprint(id)?,
        None => &everything.board.rest.sprint,
    };
    let all = everything.tasks();
    let tasks = in_sprint(found, &all);
    let mut data = serde_json::to_value(found).unwrap_or_default();
    data["tasks"] =
        json!(tasks.iter().map(|task| json!({ "id": task.id, "status": task.status })).collect::<Vec<_>>());
    data["spent"] = json!(everything.board.rest.spent.since(&found.spent_before));
    data["former"] =
        json!(everything.board.rest.former_sprints.iter().map(|sprint| &sprint.id).collect::<Vec<_>>());
    let mut text = String::new();
    heading(&mut text, found, session.ctx.now.wall);
    if found.is_open() {
        let metrics = everything.of_sprint(found);
        line!(
            text,
            "{} of {} tasks done, {} in progress, {} blocked",
            metrics.tasks.done,
            metrics.tasks.total,
            metrics.tasks.in_progress,
            metrics.tasks.blocked
        );
        amount_rows(&metrics).iter().for_each(|row| {
            line!(text, "  {row}");
        });
        let figures = metrics.figures().into_iter();
        data["metrics"] =
            figures.map(|(name, value)| (name.clone(), super::metrics::figure(&name, value))).collect();
    } else if let Some(retrospective) = &found.retrospective {
        line!(text, "retrospective: {retrospective}");
    }
    for task in tasks {
        line!(
            text,
            "{}  {}  {}",
            pad_to(task.id.as_str(), 12),
            pad_to(task.status.as_str(), 18),
            clipped(&task.body().title, 60)
        );
    }
    Ok(Answer::new(data, text).at(everything.board.revision))
}

fn heading(text: &mut String, sprint: &Sprint, now: Wall) {
    let state = match sprint.timeline.ended {
        Some(ended) if !sprint.is_open() => format!("closed at {ended}"),
        _ if !sprint.is_open() => "closed".to_owned(),
        _ => "open".to_owned(),
    };
    line!(text, "{}: {state}, begun at {}", sprint.id, sprint.timeline.started);
    if let Some(goal) = &sprint.goal {
        line!(text, "goal: {goal}");
    }
    if let Some(deadline) = sprint.timeline.deadline {
        let left = deadline.since(now);
        let when = match u64::try_from(left) {
            Ok(left) if left > 0 => format!("in {}", took(left)),
            _ => format!("{} ago", took(left.unsigned_abs())),
        };
        line!(text, "deadline: {deadline} ({when})");
    }
    if let Some(note) = &sprint.note {
        line!(text, "note: {note}");
    }
}
