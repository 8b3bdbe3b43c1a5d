//! Failures that liza observed: rejections, red gates, failed merges. If many tasks fail for the same reason, the cause
//! is probably outside of them.

use super::{case::*, evidence::*, story::*};
use crate::policy::prelude::*;

/// The source of a rejection in evidence.
const REJECTED: &str = "rejected";

/// Whether the failure is fixed: the task has ended, or its later work was approved.
fn is_fixed(task: &Task, entry: &HistoryEntry) -> bool {
    let history = &task.body().history;
    let since = history.iter().position(|line| std::ptr::eq(line, entry)).unwrap_or(history.len());
    task.status.is_terminal()
        || entry.event == Event::Rejected
            && history.iter().skip(since).any(|line| line.event == Event::Approved)
}

/// The last gate failure of this work. A report has no time: the time of the last event counts.
fn red_gate(case: &Case, task: &Task) -> Option<TripEvidence> {
    let body = task.body();
    let report = body.gates.as_ref()?;
    let (name, _) = report.lacking()?;
    let outcome = report.result(name)?;
    if outcome.status == GateStatus::Pass || task.status.is_terminal() {
        return None;
    }
    let last = body.history.last().filter(|entry| entry.time >= case.since)?;
    let reason = outcome.reason.as_deref().unwrap_or("not passed");
    let failing =
        if outcome.failing.is_empty() { String::new() } else { format!("; {}", outcome.failing.join(", ")) };
    Some(TripEvidence {
        source: format!("gate {name} on {}", report.tree.short()),
        task_id: Some(task.id.clone()),
        agent: task.assigned_to.clone().unwrap_or_else(|| last.agent.clone()),
        time: last.time,
        text: clipped_line(&format!("gate {name}: {reason}{failing}")),
    })
}

pub fn same_failure(case: &Case) -> Vec<Story> {
    let pattern = Pattern::SameFailure;
    let mut records: Vec<TripEvidence> = [Event::Rejected, Event::IntegrationFailed]
        .into_iter()
        .flat_map(|event| case.history(event))
        .filter(|(task, entry)| !is_fixed(task, entry))
        .map(|(task, entry)| of_entry(task, entry))
        .filter(|record| !record.text.is_empty())
        .collect();
    records.extend(case.board.tasks.iter().filter_map(|task| red_gate(case, task)));
    let records = case.unsettled(pattern, "", records);
    let needed = case.config.failure_tasks;
    let story = |mut cluster: Cluster| {
        // Rejections are ordinary, so liza only alerts a person. Red gates or failed merges on many tasks waste more
        // work.
        let hard: Vec<TripEvidence> =
            cluster.records.iter().filter(|record| record.source != REJECTED).cloned().collect();
        let mild = tasks_of(&hard).len() < usize::try_from(needed.max(1)).unwrap_or(usize::MAX);
        if mild {
            cluster.name.insert_str(0, REJECTIONS);
        } else {
            cluster.records = hard;
        }
        let tasks = tasks_of(&cluster.records).len();
        let gates: Vec<String> = cluster
            .records
            .iter()
            .filter_map(|record| record.source.strip_prefix("gate ")?.split(' ').next())
            .map(|gate| format!("gate {gate}"))
            .collect();
        let mut story = Story::new(pattern, &cluster.name, tasks, needed, "tasks")
            .summary(format!("{tasks} tasks fail for the same reason: {}", cluster.first_text()))
            .evidence(cluster.records)
            .affects(gates);
        story.mild = mild;
        story
    };
    clusters(records, task_of, story)
}
