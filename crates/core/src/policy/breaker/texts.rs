//! Patterns from texts: anomalies of several tasks about the same topic.

use super::{case::Case, evidence::*, story::Story, story::clusters};
use crate::policy::prelude::*;

/// One story for each topic that agents reported while they worked, counted by tasks.
fn by_task(
    case: &Case,
    pattern: Pattern,
    (kind, detail): (&[AnomalyKind; 1], &str),
    needed: u32,
    say: impl Fn(usize, &str) -> String,
) -> Vec<Story> {
    let records = case.unsettled(pattern, "", case.anomaly_texts_of_started_tasks(kind, detail));
    clusters(records, task_of, |cluster| {
        let tasks = tasks_of(&cluster.records).len();
        let story = Story::new(pattern, &cluster.name, tasks, needed, "tasks");
        story.summary(say(tasks, cluster.first_text())).evidence(cluster.records)
    })
}

/// Agents on different tasks retry against the same error.
pub fn retry_cluster(case: &Case) -> Vec<Story> {
    let logged = (&[AnomalyKind::RetryLoop], "error_pattern");
    by_task(case, Pattern::RetryCluster, logged, case.config.retry_tasks, |tasks, text| {
        format!("agents retry on {tasks} tasks against the same error: {text}")
    })
}

/// The same assumption was wrong on several tasks: other work planned on it is wrong too.
pub fn assumption_cascade(case: &Case) -> Vec<Story> {
    let (logged, needed) = ((&[AnomalyKind::AssumptionViolated], "assumption"), case.config.assumption_tasks);
    let mut stories = by_task(case, Pattern::AssumptionCascade, logged, needed, |tasks, text| {
        format!("{tasks} tasks rested on the same assumption, and it is wrong: {text}")
    });
    // One agent may be mistaken, on any number of tasks. People are trusted.
    for story in stories.iter_mut().filter(|story| is_one_agents(&story.evidence)) {
        story.count = story.count.min(story.needed.saturating_sub(1).max(1));
        story.summary.push_str("; so far one agent alone says so");
    }
    stories
}

fn is_one_agents(records: &[TripEvidence]) -> bool {
    agents_of(records).len() < 2 && !records.iter().any(|record| record.agent.is_human())
}

/// Agents work around the same cause instead of fixing it.
pub fn workaround_pattern(case: &Case) -> Vec<Story> {
    let logged = (&[AnomalyKind::Workaround], "root_cause");
    by_task(case, Pattern::WorkaroundPattern, logged, case.config.workaround_tasks, |tasks, text| {
        format!("{tasks} tasks work around the same cause: {text}")
    })
}

/// Several agents report the same service, in any wording.
pub fn external_outage(case: &Case) -> Vec<Story> {
    let pattern = Pattern::ExternalOutage;
    let case = case.within(i64::from(case.config.outage_hours.max(1)) * 3600);
    let records =
        case.unsettled(pattern, "", case.anomaly_texts(&[AnomalyKind::ExternalBlocker], "blocker_service"));
    let agent = |record: &TripEvidence| record.agent.to_string();
    clusters(records, agent, |cluster| {
        let agents = agents_of(&cluster.records).len();
        Story::new(pattern, &cluster.name, agents, case.config.outage_agents, "agents")
            .summary(format!("{agents} agents report the same service: {}", cluster.first_text()))
            .evidence(cluster.records)
            .affects([format!("service {}", cluster.name)])
    })
}
