//! Agent commands that fail one after the other, on different tasks. Runners handle crashes on one task
//! (`policy::restart`).

use super::{case::Case, evidence::agents_of, story::Story};
use crate::board::breaker::Crash;
use crate::policy::prelude::*;

/// A series that ended this many seconds ago is over.
const OVER: i64 = 3600;

pub fn crash_loop(case: &Case) -> Vec<Story> {
    let pattern = Pattern::CrashLoop;
    let case = case.within(OVER);
    // Crashes on a task that is blocked now are explained, and so are crashes that the provider itself explains.
    let explained = |crash: &Crash| {
        if !crash.may_be_the_works_fault() {
            return true;
        }
        let task = crash.task_id.as_ref().and_then(|id| case.board.task(id));
        task.is_some_and(|task| task.status == Status::Blocked)
    };
    let record = |crash: &Crash| TripEvidence {
        source: "crash".to_owned(),
        task_id: crash.task_id.clone(),
        agent: crash.agent.clone(),
        time: crash.time,
        text: clipped_line(&crash.text),
    };
    let crashes = case.board.rest.circuit_breaker.crashes.iter();
    let recent = crashes.filter(|crash| crash.time >= case.since && !explained(crash));
    // Sorted by time; several crashes of one agent on one task within a second count once.
    let records = case.unsettled(pattern, "", recent.map(record).collect());
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
        // The runner handles crashes of one agent alone, and of one task alone.
        let short = usize::try_from(needed).unwrap_or(usize::MAX).saturating_sub(1);
        let count = if enough { within.len() } else { within.len().min(short) };
        (count, within)
    };
    let worst = (0..records.len()).map(loop_from).max_by(|a, b| a.0.cmp(&b.0));
    let Some((count, within)) = worst else { return Vec::new() };
    let (agents, places) = (agents_of(&within).len(), places_of(&within).len());
    let names: Vec<String> = agents_of(&within).into_iter().map(|agent| format!("agent {agent}")).collect();
    let (crashes, agents) = (plural(within.len(), "crash"), plural(agents, "agent"));
    let summary = format!("{crashes} of {agents} on {} within {span} s", plural(places, "task"));
    vec![Story::new(pattern, "", count, needed, "crashes").summary(summary).evidence(within).affects(names)]
}

/// The tasks on which agents crashed; a planner without a task counts as one.
fn places_of(records: &[TripEvidence]) -> BTreeSet<String> {
    let place = |record: &TripEvidence| record.task_id.as_ref().map(ToString::to_string);
    records.iter().map(|record| place(record).unwrap_or_else(|| record.agent.to_string())).collect()
}
