//! Agents' commands that end badly, one after the other, on different tasks. What crashes agents on one task is blocked by
//! their runners (`policy::restart`).

use std::collections::BTreeSet;

use crate::board::Status;
use crate::board::breaker::{Crash, Pattern, TripEvidence};

use crate::text::plural;

use super::case::{Case, agents_of, words};
use super::story::Story;

/// A loop that ended so many seconds ago is over.
const OVER: i64 = 3600;

pub fn crash_loop(case: &Case) -> Vec<Story> {
    let pattern = Pattern::CrashLoop;
    let case = case.within(OVER);
    // What a task did that is blocked now is explained.
    let explained = |crash: &Crash| {
        let task = crash.task_id.as_ref().and_then(|id| case.board.task(id));
        task.is_some_and(|task| task.status == Status::Blocked)
    };
    let records: Vec<TripEvidence> = case
        .board
        .rest
        .circuit_breaker
        .crashes
        .iter()
        .filter(|crash| crash.time >= case.since && !explained(crash))
        .map(|crash| TripEvidence {
            source: "crash".to_owned(),
            task_id: crash.task_id.clone(),
            agent: crash.agent.clone(),
            time: crash.time,
            text: words(&crash.text),
        })
        .collect();
    // Sorted by time; several crashes of one agent within a second on one task look alike and count once.
    let records = case.unsettled(pattern, "", records);
    let span = i64::from(case.config.crash_seconds.max(1));
    let needed = case.config.crash_count.max(1);
    let loop_from = |first: usize| {
        let until = records[first].time.0.saturating_add(span);
        let within: Vec<TripEvidence> =
            records[first..].iter().take_while(|crash| crash.time.0 < until).cloned().collect();
        let (agents, places) = (agents_of(&within).len(), places_of(&within).len());
        let at_least = |wanted: u32| usize::try_from(wanted.max(1)).unwrap_or(usize::MAX);
        let enough =
            agents >= at_least(case.config.crash_agents) && places >= at_least(case.config.crash_tasks);
        // One agent alone is its runner's business, and so is one task.
        let short = usize::try_from(needed).unwrap_or(usize::MAX).saturating_sub(1);
        let count = if enough { within.len() } else { within.len().min(short) };
        (count, within)
    };
    let worst = (0..records.len()).map(loop_from).max_by(|a, b| a.0.cmp(&b.0));
    let Some((count, within)) = worst else { return Vec::new() };
    let (agents, places) = (agents_of(&within).len(), places_of(&within).len());
    let names: Vec<String> = agents_of(&within).into_iter().map(|agent| format!("agent {agent}")).collect();
    let story = Story::new(pattern, "", count, needed, "crashes")
        .summary(format!(
            "{} of {} on {} within {span} s",
            plural(within.len(), "crash"),
            plural(agents, "agent"),
            plural(places, "task")
        ))
        .evidence(within)
        .affects(names);
    vec![story]
}

/// The tasks on which agents crashed; a planner that has none is at work of its own.
fn places_of(records: &[TripEvidence]) -> BTreeSet<String> {
    let place = |record: &TripEvidence| record.task_id.as_ref().map(ToString::to_string);
    records.iter().map(|record| place(record).unwrap_or_else(|| record.agent.to_string())).collect()
}
