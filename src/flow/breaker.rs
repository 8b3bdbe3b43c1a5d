//! The circuit breaker at work: it trips, writes a report, and sets the switch that its response calls for. In that order, each
//! step on record before the next, so that whoever comes after a kill goes on where it stopped. No task is touched.

use std::fmt::Write as _;
use std::path::PathBuf;

use serde_json::Value;

use crate::board::breaker::{Breaker, Trip};
use crate::board::rules::{AnswerTrip, ResolveBreaker};
use crate::board::{Board, Needs, Switch, Task};
use crate::policy::breaker::{
    BreakerConfig, Gauge, decisions, gauges, meaning, reason, trips, weighs_merges,
};
use crate::store::StoreError;
use crate::text::md_inline;

use super::context::Context;
use super::failure::Failure;

pub fn report_path(ctx: &Context, trip: &str) -> PathBuf {
    ctx.store.layout().reports().join(format!("breaker-{trip}.md"))
}

/// Ends what a former look began, then trips for every story that is new. Says what was done, a line each.
pub fn look(ctx: &Context, config: &BreakerConfig) -> Result<Vec<String>, Failure> {
    let mut done = Vec::new();
    let board = ctx.read(&Needs::Everything)?.board;
    for trip in unanswered(&board.rest.circuit_breaker) {
        done.push(answer(ctx, &board, trip)?);
    }
    let mut found = trips(&board, &[], config, ctx.now.wall);
    // The archive is read only where it can make a difference: this is looked at whenever the board has changed.
    if found.iter().any(|trip| weighs_merges(trip.pattern)) {
        found = trips(&board, &archived(ctx, &board)?, config, ctx.now.wall);
    }
    for what in found {
        let committed = match ctx.commit_as_liza(what) {
            // Somebody else has just tripped it.
            Err(StoreError::Refused(_)) => continue,
            other => other?,
        };
        crate::host::crash::point("breaker.tripped");
        let id = committed.outcome["id"].as_str().unwrap_or_default();
        if let Some(trip) = committed.board.rest.circuit_breaker.trips.iter().find(|trip| trip.id == id) {
            done.push(answer(ctx, &committed.board, trip)?);
        }
    }
    Ok(done)
}

/// What cannot be read of the archive is said and left out.
fn archived(ctx: &Context, board: &Board) -> Result<Vec<Task>, Failure> {
    let (tasks, left_out) = ctx.store.all_archived(board)?;
    left_out.iter().for_each(|trouble| ctx.narrate(format!("the breaker leaves out: {trouble}")));
    Ok(tasks)
}

/// Whether a former look was cut off.
pub fn is_unfinished(breaker: &Breaker) -> bool {
    unanswered(breaker).next().is_some()
}

fn unanswered(breaker: &Breaker) -> impl Iterator<Item = &Trip> {
    breaker.open().filter(|trip| trip.answered.is_none())
}

/// Carries out what a trip calls for; whatever of it is done already stays as it is.
fn answer(ctx: &Context, board: &Board, trip: &Trip) -> Result<String, Failure> {
    let path = report_path(ctx, &trip.id);
    crate::store::files::make_private_dir(&ctx.store.layout().reports())?;
    crate::store::files::publish_new(&path, report(board, trip).as_bytes())?;
    crate::host::crash::point("breaker.reported");
    if let Some(switch) = trip.response.switch() {
        ctx.store.set_switch(switch, None, &reason(trip))?;
    }
    crate::host::crash::point("breaker.switched");
    ctx.commit_as_liza(AnswerTrip { id: trip.id.clone() })?;
    let switch =
        trip.response.switch().map_or(String::new(), |switch| format!("; {} is set", switch.as_str()));
    Ok(format!(
        "the breaker tripped ({}, {}): {}{switch}; report: {}",
        trip.id,
        trip.pattern.as_str(),
        trip.summary,
        path.display()
    ))
}

/// A person takes these switches away. Those that a trip set count as set from then on, also if whoever set them died before
/// saying so: they are not set again.
pub fn note_resumed(ctx: &Context, switches: &[&Switch]) -> Result<(), Failure> {
    let board = ctx.read(&Needs::Nothing)?.board;
    for trip in unanswered(&board.rest.circuit_breaker) {
        let its_own = |switch: &&&Switch| {
            switch.subject.is_none()
                && Some(switch.kind) == trip.response.switch()
                && switch.reason.starts_with(&format!("breaker {} ", trip.id))
        };
        if switches.iter().any(|switch| its_own(&switch)) {
            ctx.commit_as_liza(AnswerTrip { id: trip.id.clone() })?;
        }
    }
    Ok(())
}

/// How far every pattern is from tripping; nothing is changed.
pub fn check(ctx: &Context) -> Result<(Vec<Gauge>, u64), Failure> {
    let config = ctx.project_config()?.breaker;
    let board = ctx.read(&Needs::Everything)?.board;
    let archived = archived(ctx, &board)?;
    Ok((gauges(&board, &archived, &config, ctx.now.wall), board.revision))
}

/// What a person decided; the switch stays until `resume`.
pub fn resolve(ctx: &Context, id: Option<&str>, note: &str) -> Result<(Value, u64), Failure> {
    let committed = ctx.commit(ResolveBreaker { id: id.map(str::to_owned), note: note.to_owned() })?;
    Ok((committed.outcome, committed.board.revision))
}

/// The switches that a trip set and nobody has taken away.
pub fn switches_of(ctx: &Context) -> Result<Vec<Switch>, Failure> {
    let set = ctx.store.switches()?.set;
    Ok(set
        .into_iter()
        .filter(|switch| switch.subject.is_none() && switch.reason.starts_with("breaker trip-"))
        .collect())
}

/// Writing to a string cannot fail.
macro_rules! line {
    ($text:expr) => { let _ = writeln!($text); };
    ($text:expr, $($arg:tt)*) => { let _ = writeln!($text, $($arg)*); };
}

/// For a person, of the trip; of the board only which of its tasks can still be decided about.
fn report(board: &Board, trip: &Trip) -> String {
    let mut text = String::new();
    line!(text, "# The breaker tripped: {} ({})", trip.pattern.as_str(), trip.id);
    line!(text);
    line!(text, "{}", md_inline(&trip.summary));
    line!(text);
    line!(text, "- When: {}", trip.time);
    let switch = trip.response.switch().map_or("nothing is halted".to_owned(), |switch| {
        format!("{} is set: nothing new starts until `liza resume`", switch.as_str())
    });
    line!(text, "- Response: {}; {switch}", trip.response.as_str());
    line!(text, "- No task was changed.");
    line!(text);
    line!(text, "## What it means");
    line!(text);
    line!(text, "{}", meaning(trip.pattern));
    line!(text);
    line!(text, "## Evidence");
    line!(text);
    line!(text, "| source | task | agent | time | what |");
    line!(text, "|---|---|---|---|---|");
    for record in &trip.evidence {
        line!(
            text,
            "| {} | {} | {} | {} | {} |",
            md_inline(&record.source),
            record.task_id.as_ref().map_or("-", |task| task.as_str()),
            record.agent,
            record.time,
            md_inline(&record.text)
        );
    }
    line!(text);
    line!(text, "## Affected");
    line!(text);
    for what in &trip.affected {
        line!(text, "- {}", md_inline(what));
    }
    line!(text);
    line!(text, "## Decide");
    line!(text);
    for decision in decisions(trip, board) {
        line!(text, "- [ ] {decision}");
    }
    text
}
