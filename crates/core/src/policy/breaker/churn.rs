//! Planning without progress: tasks are split or replanned instead of done.

use super::{case::Case, case::of_entry, story::Story};
use crate::policy::prelude::*;

pub fn planning_churn(case: &Case) -> Vec<Story> {
    let pattern = Pattern::PlanningChurn;
    let replacements: BTreeSet<&TaskId> =
        case.board.tasks.iter().flat_map(|task| &task.superseded_by).collect();
    // Replanning by a person does not count.
    let superseded: Vec<TripEvidence> = case
        .history(Event::Superseded)
        .filter(|(_, entry)| !entry.agent.is_reserved())
        .map(|(task, entry)| of_entry(task, entry))
        .collect();
    let superseded = case.unsettled(pattern, "", superseded);
    let again: Vec<TripEvidence> = superseded
        .iter()
        .filter(|record| record.task_id.as_ref().is_some_and(|task| replacements.contains(task)))
        .cloned()
        .collect();
    let merged = case.merged();
    let needed =
        case.config.churn_superseded.max(u32::try_from(merged).unwrap_or(u32::MAX).saturating_add(1));
    let cut = Story::new(pattern, "", superseded.len(), needed, "tasks replanned")
        .summary(format!("{} tasks were replanned while {merged} were merged", superseded.len()))
        .evidence(superseded);
    let twice = Story::new(pattern, "", again.len(), case.config.churn_again, "replacements replanned")
        .summary(format!("{} tasks were replanned that replace others themselves", again.len()))
        .evidence(again);
    [twice, cut].into_iter().filter(|story| !story.evidence.is_empty()).collect()
}
