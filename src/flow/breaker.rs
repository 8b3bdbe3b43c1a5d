//! The circuit breaker: it records a trip, writes a report, and sets the switch of its response. In this order, each
//! step on record before the next, so that after a kill the next process continues where it stopped. Changes no task.

use super::page::{heading, line};
use super::prelude::*;
use crate::board::breaker::{Breaker, Trip};
use crate::board::{Switch, TripId};
use crate::policy::breaker::{
    BreakerConfig, Gauge, decisions, gauges, meaning, reason, trips, weighs_merges,
};

fn report_name(trip: &str) -> String {
    format!("breaker-{trip}.md")
}

pub fn report_path(ctx: &Context, trip: &str) -> PathBuf {
    ctx.store.report_file(&report_name(trip))
}

/// Finishes what an earlier run started, then trips for every new pattern. Returns one line per action.
pub fn look(ctx: &Context, config: &BreakerConfig) -> Result<Vec<String>> {
    let mut done = Vec::new();
    let board = ctx.read(&Needs::Everything)?.board;
    for trip in unanswered(&board.rest.circuit_breaker) {
        done.push(answer(ctx, &board, trip)?);
    }
    let mut found = trips(&board, &[], config, ctx.now.wall);
    // The archive is read only if it can make a difference: this runs whenever the board has changed.
    if found.iter().any(|trip| weighs_merges(trip.pattern)) {
        found = trips(&board, &archived(ctx, &board)?, config, ctx.now.wall);
    }
    for what in found {
        let committed = match ctx.commit_as_liza(what) {
            // Another process has just tripped it.
            Err(StoreError::Refused(_)) => continue,
            other => other?,
        };
        crash::point("breaker.tripped");
        let trips = &committed.board.rest.circuit_breaker.trips;
        if let Some(trip) = trips.iter().find(|trip| trip.id == committed.outcome.id) {
            done.push(answer(ctx, &committed.board, trip)?);
        }
    }
    Ok(done)
}

/// Files of the archive that cannot be read are reported and left out.
fn archived(ctx: &Context, board: &Board) -> Result<Vec<Task>> {
    let (tasks, left_out) = ctx.store.all_archived(board)?;
    left_out.iter().for_each(|trouble| ctx.narrate(format!("the breaker leaves out: {trouble}")));
    Ok(tasks)
}

/// Whether an earlier run was interrupted.
pub fn is_unfinished(breaker: &Breaker) -> bool {
    unanswered(breaker).next().is_some()
}

fn unanswered(breaker: &Breaker) -> impl Iterator<Item = &Trip> {
    breaker.open().filter(|trip| trip.answered.is_none())
}

/// Carries out the response to a trip; steps already done stay as they are.
fn answer(ctx: &Context, board: &Board, trip: &Trip) -> Result<String> {
    let (path, _) = ctx.store.publish_report(&report_name(&trip.id), &report(board, trip))?;
    crash::point("breaker.reported");
    if let Some(switch) = trip.response.switch() {
        ctx.store.set_switch(switch, None, &reason(trip))?;
    }
    crash::point("breaker.switched");
    ctx.commit_as_liza(AnswerTrip { id: trip.id.clone() })?;
    let Trip { id, pattern, summary, response, .. } = trip;
    let switch = response.switch().map_or(String::new(), |switch| format!("; {} is set", switch.as_str()));
    let (pattern, path) = (pattern.as_str(), path.display());
    Ok(format!("the breaker tripped ({id}, {pattern}): {summary}{switch}; report: {path}"))
}

/// Records that a person cleared these switches. A switch of a trip counts as set even if the process that set it
/// died before recording that: it is not set again.
pub fn note_resumed(ctx: &Context, switches: &[&Switch]) -> Result<()> {
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

/// How far every pattern is from tripping; changes nothing.
pub fn check(ctx: &Context) -> Result<(Vec<Gauge>, u64)> {
    let config = ctx.project_config()?.breaker;
    let board = ctx.read(&Needs::Everything)?.board;
    let archived = archived(ctx, &board)?;
    Ok((gauges(&board, &archived, &config, ctx.now.wall), board.revision))
}

/// Records a person's decision; the switch stays until `resume`.
pub fn resolve(ctx: &Context, id: Option<&TripId>, note: &str) -> Result<(Resolved, u64)> {
    Ok(ctx.commit(ResolveBreaker { id: id.map(ToString::to_string), note: note.to_owned() })?.done())
}

/// The switches that a trip set and that are still set.
pub fn switches_of(ctx: &Context) -> Result<Vec<Switch>> {
    let of_trip = |switch: &Switch| switch.subject.is_none() && switch.reason.starts_with("breaker trip-");
    Ok(ctx.store.switches()?.set.into_iter().filter(of_trip).collect())
}

/// The report for a person: the trip, and which of its tasks still need a decision.
fn report(board: &Board, trip: &Trip) -> String {
    let mut text = String::new();
    line!(text, "# The breaker tripped: {} ({})", trip.pattern.as_str(), trip.id);
    line!(text);
    line!(text, "{}", md_inline(&trip.summary));
    line!(text);
    line!(text, "- When: {}", trip.time);
    let switch = trip.response.switch().map_or("no switch is set".to_owned(), |switch| {
        format!("{} is set: no new work starts until `liza resume`", switch.as_str())
    });
    line!(text, "- Response: {}; {switch}", trip.response.as_str());
    line!(text, "- No task was changed.");
    heading!(text, "What it means");
    line!(text, "{}", meaning(trip.pattern));
    heading!(text, "Evidence");
    line!(text, "| source | task | agent | time | what |");
    line!(text, "|---|---|---|---|---|");
    for record in &trip.evidence {
        let (source, what) = (md_inline(&record.source), md_inline(&record.text));
        let task = record.task_id.as_ref().map_or("-", |task| task.as_str());
        line!(text, "| {source} | {task} | {} | {} | {what} |", record.agent, record.time);
    }
    heading!(text, "Affected");
    for what in &trip.affected {
        line!(text, "- {}", md_inline(what));
    }
    heading!(text, "Decide");
    for decision in decisions(trip, board) {
        line!(text, "- [ ] {decision}");
    }
    text
}
