//! Finished tasks move from the board to the archive, where later lookups find them.

use std::collections::{BTreeSet, HashMap};

use super::prelude::*;

/// Removes finished tasks from the board, and with them every record marked as processed.
///
/// The caller has written the archive files before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArchiveTasks {
    pub tasks: Vec<TaskId>,
}

outcome!(Archived { archived: Vec<TaskId>, records: u64 });

impl Verb for ArchiveTasks {
    const OPERATION: Option<Operation> = Some(Operation::Plan);
    type Outcome = Archived;

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        if !call.by.is_liza() {
            plans(board, call, "archive tasks")?;
        }
        let finished = Finished::of(board);
        for id in &self.tasks {
            find(board, id)?;
            finished.check(id)?;
        }
        Ok(())
    }

    fn change(&self, board: &mut Board, _: &Call) -> Self::Outcome {
        let leaving: BTreeSet<&TaskId> = self.tasks.iter().collect();
        let before = board.tasks.len();
        // The board counts the tasks of the first goal itself.
        if let Some(goal) = board.goal_of_new_task() {
            let of_goal = board.tasks.iter().filter(|task| leaving.contains(&task.id));
            let of_goal = of_goal.filter(|task| task.goal.as_ref() == Some(&goal)).count();
            board.rest.goal.archived += of_goal as u64;
        }
        board.tasks.retain(|task| !leaving.contains(&task.id));
        let archived = before - board.tasks.len();
        board.rest.archived += archived as u64;
        board.rest.handoff.retain(|handoff| !leaving.contains(&handoff.task_id));
        let read: BTreeSet<String> = board
            .rest
            .messages
            .iter()
            .filter(|message| !board.is_unseen(message) && !message.is_unanswered())
            .map(|message| message.id.clone())
            .collect();
        let records = drop_processed(&mut board.rest, &read);
        Archived { archived: self.tasks.clone(), records: records as u64 }
    }
}

/// A board with an index, to check which of its tasks can be archived.
pub struct Finished<'b> {
    board: &'b Board,
    by_id: HashMap<&'b TaskId, &'b Task>,
}

impl<'b> Finished<'b> {
    pub fn of(board: &'b Board) -> Self {
        Self { board, by_id: board.tasks.iter().map(|task| (&task.id, task)).collect() }
    }

    /// Refuses a task that has to stay on the board.
    pub fn check(&self, id: &TaskId) -> Result<(), Refusal> {
        let Some(task) = self.by_id.get(id) else { return find(self.board, id).map(|_| ()) };
        if !task.status.is_terminal() {
            return Err(wrong_state(task, "archived", next_step(task)));
        }
        no_intent(self.board, id)?;
        // Tasks that depend on this one wait for its replacements: while these can still change, the task stays on the
        // board.
        match self.unfinished_replacement(task) {
            None => Ok(()),
            Some(live) => Err(Refusal::new(
                Code::StillNeeded,
                format!("task `{id}` is replaced by `{}`, which is {}", live.id, live.status),
            )
            .hint(format!("archive it once `{}` is finished", live.id))
            .detail("task", id.as_str())
            .detail("waiting_on", vec![live.id.as_str()])),
        }
    }

    /// An unfinished task at the end of the chain of replacements. A task that has left the board was finished, and so
    /// were its replacements.
    fn unfinished_replacement(&self, task: &'b Task) -> Option<&'b Task> {
        let mut seen: BTreeSet<&TaskId> = BTreeSet::new();
        let mut open: Vec<&'b TaskId> = task.superseded_by.iter().collect();
        while let Some(id) = open.pop() {
            if !seen.insert(id) {
                continue;
            }
            let Some(next) = self.by_id.get(id) else { continue };
            if !next.status.is_terminal() {
                return Some(next);
            }
            if next.status == Status::Superseded {
                open.extend(&next.superseded_by);
            }
        }
        None
    }
}

/// Removes processed records and `read` messages, except the highest number of each kind, which must not be used twice.
fn drop_processed(rest: &mut Rest, read: &BTreeSet<String>) -> usize {
    fn drop<T>(records: &mut Vec<T>, of: impl Fn(&T) -> (&str, bool)) -> usize {
        let number = |id: &str| id.rsplit('-').next().and_then(|number| number.parse::<u64>().ok());
        let highest = records.iter().filter_map(|record| number(of(record).0)).max();
        let before = records.len();
        records.retain(|record| {
            let (id, processed) = of(record);
            !processed || (highest.is_some() && number(id) == highest)
        });
        before - records.len()
    }
    drop(&mut rest.messages, |message| (&message.id, read.contains(&message.id)))
        + drop(&mut rest.human_notes, |note| (&note.id, note.processed_by.is_some()))
        + drop(&mut rest.anomalies, |anomaly| (&anomaly.id, anomaly.processed_by.is_some()))
        + drop(&mut rest.discovered, |found| (&found.id, found.processed_by.is_some()))
        + drop(&mut rest.spec_changes, |change| (&change.id, change.processed_by.is_some()))
}
