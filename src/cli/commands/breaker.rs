use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::board::breaker::Trip;
use crate::board::{Board, Needs};
use crate::flow::{Failure, breaker};
use crate::policy::breaker::{Gauge, decisions, meaning, threshold};
use crate::text::{pad_to, plural};

use super::super::Session;
use super::super::ui::Answer;

/// Show what the circuit breaker tripped for, and settle it
///
/// `liza watch` and `liza run` look for patterns that no single task shows: the same error, outage or rejection on many tasks,
/// crashes of several agents, plans that go round in circles. A pattern trips the breaker once; it tells a person, and
/// for most patterns it sets CHECKPOINT: nothing new starts until `liza resume`. Debt, workarounds and rejections are told only.
/// `breaker.responses` in liza.yaml says otherwise: warning, checkpoint, halt (ABORT) or off. It changes no task.
///
/// Example: liza breaker
#[derive(Args)]
pub struct BreakerArgs {
    #[command(subcommand)]
    pub command: Option<BreakerCommand>,
}

#[derive(Subcommand)]
pub enum BreakerCommand {
    Status(StatusArgs),
    Resolve(ResolveArgs),
    History(HistoryArgs),
    Check(CheckArgs),
}

/// Show the open trips: their evidence, their reports, and what to type next
///
/// Example: liza breaker status --json
#[derive(Args)]
pub struct StatusArgs {}

/// Say what was decided about a trip, or about all that are open (people only)
///
/// What happened until now is settled by it: the breaker trips again only for what comes later. A switch that it set stays until
/// `liza resume`.
///
/// Example: liza breaker resolve trip-1 --note "the registry is back"
#[derive(Args)]
pub struct ResolveArgs {
    /// The trip; without it, all that are open
    #[arg(value_name = "TRIP")]
    pub trip: Option<String>,
    /// What was decided, for whoever asks later
    #[arg(long)]
    pub note: String,
}

/// List every trip and what became of it, the last first
///
/// Example: liza breaker history
#[derive(Args)]
pub struct HistoryArgs {}

/// Look for patterns now, and say how far each is from tripping; nothing is changed
///
/// Example: liza breaker check
#[derive(Args)]
pub struct CheckArgs {}

impl BreakerArgs {
    pub fn only_looks(&self) -> bool {
        !matches!(self.command, Some(BreakerCommand::Resolve(_)))
    }
}

pub fn run(session: &mut Session, args: &BreakerArgs) -> Result<Answer, Failure> {
    match &args.command {
        None | Some(BreakerCommand::Status(_)) => status(session),
        Some(BreakerCommand::Resolve(args)) => resolve(session, args),
        Some(BreakerCommand::History(_)) => history(session),
        Some(BreakerCommand::Check(_)) => check(session),
    }
}

fn as_json(session: &Session, board: &Board, trip: &Trip) -> Value {
    let mut data = serde_json::to_value(trip).unwrap_or_default();
    let report = breaker::report_path(&session.ctx, &trip.id);
    data["report"] = json!(report.is_file().then_some(report));
    data["decisions"] = json!(decisions(trip, board));
    data
}

fn status(session: &Session) -> Result<Answer, Failure> {
    let board = session.ctx.read(&Needs::Nothing)?.board;
    let open: Vec<&Trip> = board.rest.circuit_breaker.open().collect();
    let switches: Vec<&str> =
        breaker::switches_of(&session.ctx)?.iter().map(|switch| switch.kind.as_str()).collect();
    let data = json!({
        "open": open.iter().map(|trip| as_json(session, &board, trip)).collect::<Vec<_>>(), "switches": switches,
    });
    let mut text = String::new();
    if open.is_empty() {
        text.push_str("the breaker is closed: no pattern is open\n");
        for switch in &switches {
            text.push_str(&format!(
                "!! {switch} is still set by a trip that is resolved: `liza resume` ends it\n"
            ));
        }
    }
    for trip in open {
        text.push_str(&format!(
            "{} {}, {}, since {}\n  {}\n  {}\n",
            trip.id,
            trip.pattern.as_str(),
            trip.response.as_str(),
            trip.time,
            trip.summary,
            meaning(trip.pattern)
        ));
        for record in &trip.evidence {
            let task = record.task_id.as_ref().map_or("-", |task| task.as_str());
            text.push_str(&format!(
                "  · {} {} {task} {}: {}\n",
                record.time, record.agent, record.source, record.text
            ));
        }
        text.push_str(&format!("  report: {}\n", breaker::report_path(&session.ctx, &trip.id).display()));
        for decision in decisions(trip, &board) {
            text.push_str(&format!("  [ ] {decision}\n"));
        }
    }
    Ok(Answer::new(data, text).at(board.revision))
}

fn resolve(session: &mut Session, args: &ResolveArgs) -> Result<Answer, Failure> {
    let note = session.input.text(&args.note)?;
    session.seal_request()?;
    let (mut data, revision) = breaker::resolve(&session.ctx, args.trip.as_deref(), &note)?;
    let resolved: Vec<&str> =
        data["resolved"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut text = format!("resolved: {}", resolved.join(", "));
    let switches: Vec<String> =
        breaker::switches_of(&session.ctx)?.iter().map(|switch| switch.kind.as_str().to_owned()).collect();
    if !switches.is_empty() {
        text.push_str(&format!("; {} is still set: `liza resume` goes on", switches.join(" and ")));
    }
    data["switches"] = json!(switches);
    Ok(Answer::new(data, text).at(revision))
}

fn history(session: &Session) -> Result<Answer, Failure> {
    let board = session.ctx.read(&Needs::Nothing)?.board;
    let trips = &board.rest.circuit_breaker.trips;
    let data =
        json!({ "trips": trips.iter().rev().map(|trip| as_json(session, &board, trip)).collect::<Vec<_>>() });
    let mut text = String::new();
    for trip in trips.iter().rev() {
        let end = match &trip.resolved {
            None => "open".to_owned(),
            Some(resolution) => {
                format!("resolved {} by {}: {}", resolution.time, resolution.by, resolution.note)
            }
        };
        text.push_str(&format!(
            "{} {} {} {}: {}\n  {end}\n",
            trip.time,
            trip.id,
            trip.pattern.as_str(),
            trip.response.as_str(),
            trip.summary
        ));
    }
    if trips.is_empty() {
        text.push_str("the breaker has never tripped\n");
    }
    Ok(Answer::new(data, text).at(board.revision))
}

fn check(session: &Session) -> Result<Answer, Failure> {
    let (gauges, revision) = breaker::check(&session.ctx)?;
    let enabled = session.ctx.project_config()?.breaker.enabled;
    let width = gauges.iter().map(|gauge| gauge.pattern.as_str().len()).max().unwrap_or(0);
    let mut text = String::new();
    if !enabled {
        text.push_str("the breaker is switched off (`breaker.enabled` in liza.yaml): it does not trip\n");
    }
    for gauge in &gauges {
        text.push_str(&format!("{}  {}\n", pad_to(gauge.pattern.as_str(), width), words(gauge)));
    }
    let would: Vec<&str> = gauges
        .iter()
        .filter(|gauge| enabled && would_trip(gauge))
        .map(|gauge| gauge.pattern.as_str())
        .collect();
    if !would.is_empty() {
        text.push_str(&format!("{} would trip now: `liza watch --once` lets it\n", would.join(", ")));
    }
    let rows: Vec<Value> = gauges
        .iter()
        .map(|gauge| {
            let mut row = serde_json::to_value(gauge).unwrap_or_default();
            row["trips"] = json!(enabled && would_trip(gauge));
            row["setting"] = json!(threshold(gauge.pattern));
            row
        })
        .collect();
    Ok(Answer::new(json!({ "enabled": enabled, "patterns": rows }), text).at(revision))
}

fn would_trip(gauge: &Gauge) -> bool {
    gauge.response.is_some()
        && gauge.open.is_none()
        && gauge.nearest.as_ref().is_some_and(|story| story.trips())
}

fn words(gauge: &Gauge) -> String {
    let response = gauge.response.map_or("off", |response| response.as_str());
    let Some(story) = &gauge.nearest else { return format!("{response}; nothing of the kind") };
    let open = gauge.open.as_ref().map_or(String::new(), |trip| format!(", {trip} is open for it"));
    format!(
        "{response}; {} of {} {}{open}: {} ({})",
        story.count,
        story.needed,
        story.unit,
        story.summary,
        plural(story.evidence.len(), "record")
    )
}
