//! The tasks of a sprint.

use super::journey::journey;
use crate::board::state::Sprint;
use crate::policy::prelude::*;

/// The tasks of a sprint: those it names and their replacements, or, if it names none, every task that was unfinished
/// at some time of the sprint.
pub fn in_sprint<'a>(sprint: &Sprint, all: &[&'a Task]) -> Vec<&'a Task> {
    if sprint.scope.is_empty() {
        return all.iter().copied().filter(|task| lived_in(sprint, task)).collect();
    }
    let known: BTreeMap<&TaskId, &Task> = all.iter().map(|task| (&task.id, *task)).collect();
    let mut named: BTreeSet<&TaskId> = BTreeSet::new();
    let mut open: Vec<&TaskId> = sprint.scope.iter().collect();
    while let Some(id) = open.pop() {
        if named.insert(id)
            && let Some(task) = known.get(id)
        {
            open.extend(&task.superseded_by);
        }
    }
    all.iter().copied().filter(|task| named.contains(&task.id)).collect()
}

fn lived_in(sprint: &Sprint, task: &Task) -> bool {
    let timeline = &sprint.timeline;
    let there = timeline.ended.is_none_or(|ended| task.body().created_at <= ended);
    let finished_before =
        task.status.is_terminal() && journey(task, None).ended.is_some_and(|ended| ended < timeline.started);
    there && !finished_before
}
