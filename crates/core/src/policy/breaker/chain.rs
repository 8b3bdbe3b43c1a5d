//! A task is blocked, replaced by others, and a replacement is blocked again.

use super::{case::Case, case::of_entry, story::Story};
use crate::policy::prelude::*;

/// The last time the task was blocked, by any agent or person.
fn blocked(task: &Task) -> Option<TripEvidence> {
    let entry = task.body().history.iter().rev().find(|entry| entry.to == Some(Status::Blocked))?;
    let mut record = of_entry(task, entry);
    "blocked".clone_into(&mut record.source);
    Some(record)
}

pub fn blocked_replacement_chain(case: &Case) -> Vec<Story> {
    let pattern = Pattern::BlockedReplacementChain;
    let tasks: BTreeMap<&TaskId, &Task> = case.board.tasks.iter().map(|task| (&task.id, task)).collect();
    let mut replaced: BTreeMap<&TaskId, Vec<&Task>> = BTreeMap::new();
    for task in &case.board.tasks {
        for by in &task.superseded_by {
            replaced.entry(by).or_default().push(task);
        }
    }
    let mut stories: BTreeMap<String, Story> = BTreeMap::new();
    for task in tasks.values().filter(|task| task.status == Status::Blocked) {
        let Some(last) = blocked(task).filter(|record| record.time >= case.since) else { continue };
        let mut records = vec![last];
        let mut seen: BTreeSet<&TaskId> = BTreeSet::from([&task.id]);
        let mut root = *task;
        // If several tasks were replaced by this one, the first that was blocked; on a damaged board, replacements may
        // form a cycle.
        while let Some((former, record)) = replaced
            .get(&root.id)
            .into_iter()
            .flatten()
            .filter(|former| !seen.contains(&former.id))
            .filter_map(|former| Some((*former, blocked(former)?)))
            .min_by_key(|(former, _)| &former.id)
        {
            seen.insert(&former.id);
            records.push(record);
            root = former;
        }
        let name = root.id.as_str();
        let key = Story::new(pattern, name, 0, 1, "").key;
        // Only a block after the person's decision counts.
        if case.unsettled(pattern, &key, records[..1].to_vec()).is_empty() {
            continue;
        }
        let story = Story::new(pattern, name, records.len(), case.config.chain_depth, "blocked in a row")
            .summary(format!("{} was blocked and replaced, and {} is blocked again", root.id, task.id))
            .evidence(records);
        let deeper = stories.get(&key).is_none_or(|known| known.count < story.count);
        if deeper && story.count > 1 {
            stories.insert(key, story);
        }
    }
    stories.into_values().collect()
}
