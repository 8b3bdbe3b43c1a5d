//! Agents' commands that end badly, one after the other.

use crate::board::breaker::{Pattern, TripEvidence};

use super::case::{Case, agents_of, words};
use super::story::Story;

/// A loop that ended so many seconds ago is over.
const OVER: i64 = 3600;

pub fn crash_loop(case: &Case) -> Vec<Story> {
    let pattern = Pattern::CrashLoop;
    let case = case.within(OVER);
    let records: Vec<TripEvidence> = case
        .board
        .rest
        .circuit_breaker
        .crashes
        .iter()
        .filter(|crash| crash.time >= case.since)
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
        let agents = agents_of(&within).len();
        let enough = agents >= usize::try_from(case.config.crash_agents.max(1)).unwrap_or(usize::MAX);
        // One agent alone is its runner's business.
        let short = usize::try_from(needed).unwrap_or(usize::MAX).saturating_sub(1);
        let count = if enough { within.len() } else { within.len().min(short) };
        (count, agents, within)
    };
    let worst = (0..records.len()).map(loop_from).max_by(|a, b| a.0.cmp(&b.0));
    let Some((count, agents, within)) = worst else { return Vec::new() };
    let names: Vec<String> = agents_of(&within).into_iter().map(|agent| format!("agent {agent}")).collect();
    let story = Story::new(pattern, "", count, needed, "crashes")
        .summary(format!("{} crashes of {agents} agents within {span} s", within.len()))
        .evidence(within)
        .affects(names);
    vec![story]
}
