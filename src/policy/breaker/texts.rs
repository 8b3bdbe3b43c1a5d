//! Patterns of one matter that comes up on several tasks: what agents logged, grouped by what it is about.

use crate::board::breaker::{Pattern, TripEvidence};
use crate::board::records::AnomalyKind;

use super::case::{Case, agents_of, tasks_of};
use super::story::{Cluster, Story, clusters};

fn task(record: &TripEvidence) -> String {
    record.task_id.as_ref().map(ToString::to_string).unwrap_or_default()
}

/// One story for each matter, counted by its tasks.
fn by_task(
    pattern: Pattern,
    needed: u32,
    records: Vec<TripEvidence>,
    say: &dyn Fn(usize, &str) -> String,
) -> Vec<Story> {
    let story = |cluster: Cluster| {
        let tasks = tasks_of(&cluster.records).len();
        let told = cluster.records.first().map(|record| record.text.clone()).unwrap_or_default();
        Story::new(pattern, &cluster.name, tasks, needed, "tasks")
            .summary(say(tasks, &told))
            .evidence(cluster.records)
    };
    clusters(records, task).told(story)
}

/// Agents try again and again, on different tasks, against the same error.
pub fn retry_cluster(case: &Case) -> Vec<Story> {
    let pattern = Pattern::RetryCluster;
    let records = case.unsettled(pattern, "", case.said_at_work(&[AnomalyKind::RetryLoop], "error_pattern"));
    by_task(pattern, case.config.retry_tasks, records, &|tasks, told| {
        format!("agents retry on {tasks} tasks against the same error: {told}")
    })
}

/// The same assumption turned out wrong in several places: what else was planned on it is wrong, too.
pub fn assumption_cascade(case: &Case) -> Vec<Story> {
    let pattern = Pattern::AssumptionCascade;
    let records =
        case.unsettled(pattern, "", case.said_at_work(&[AnomalyKind::AssumptionViolated], "assumption"));
    let needed = case.config.assumption_tasks;
    let mut stories = by_task(pattern, needed, records, &|tasks, told| {
        format!("{tasks} tasks rested on the same assumption, and it is wrong: {told}")
    });
    // One agent may be mistaken, on however many tasks. People are believed.
    for story in stories.iter_mut().filter(|story| is_one_agents(&story.evidence)) {
        story.count = story.count.min(story.needed.saturating_sub(1).max(1));
        story.summary.push_str("; so far one agent alone says so");
    }
    stories
}

fn is_one_agents(records: &[TripEvidence]) -> bool {
    agents_of(records).len() < 2 && !records.iter().any(|record| record.agent.is_human())
}

/// The same cause is worked around instead of mended.
pub fn workaround_pattern(case: &Case) -> Vec<Story> {
    let pattern = Pattern::WorkaroundPattern;
    let records = case.unsettled(pattern, "", case.said_at_work(&[AnomalyKind::Workaround], "root_cause"));
    by_task(pattern, case.config.workaround_tasks, records, &|tasks, told| {
        format!("{tasks} tasks work around the same cause: {told}")
    })
}

/// Several agents report the same service, in whatever words.
pub fn external_outage(case: &Case) -> Vec<Story> {
    let pattern = Pattern::ExternalOutage;
    let case = case.within(i64::from(case.config.outage_hours.max(1)) * 3600);
    let records = case.unsettled(pattern, "", case.said(&[AnomalyKind::ExternalBlocker], "blocker_service"));
    let story = |cluster: Cluster| {
        let agents = agents_of(&cluster.records).len();
        let told = cluster.records.first().map(|record| record.text.clone()).unwrap_or_default();
        Story::new(pattern, &cluster.name, agents, case.config.outage_agents, "agents")
            .summary(format!("{agents} agents report the same service: {told}"))
            .evidence(cluster.records)
            .affects([format!("service {}", cluster.name)])
    };
    clusters(records, |record| record.agent.to_string()).told(story)
}
