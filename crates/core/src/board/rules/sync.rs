//! Sync: the integration branch was merged into the task's branch.

use super::prelude::*;

logged! {
    /// Recorded after the merge in the holder's own worktree; a command repeated after a crash finds the merge already
    /// made.
    pub struct RecordSync {
        pub task: TaskId,
        pub epoch: Option<u64>,
        /// The merged head of integration, also if the merge is still in progress.
        pub base: CommitId,
        pub conflicts: Vec<String>,
        /// The worktree afterwards, if it was unchanged before: its checkpoint is not written yet.
        pub handout: Option<Handout>,
    }
}

outcome!(SyncRecorded { task: TaskId, base_commit: CommitId, conflicts: Vec<String> });

impl Verb for RecordSync {
    const OPERATION: Option<Operation> = Some(Operation::Work);
    type Outcome = SyncRecorded;

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        call.check_switches(Some(&self.task))?;
        no_intent(board, &self.task)?;
        holds_lease(find(board, &self.task)?, call, self.epoch)
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        let (head, body) = parts(board, &self.task);
        if let Some(attempt) = body.attempts.last_mut() {
            if self.conflicts.is_empty() {
                attempt.base_commit = self.base.clone();
            }
            if let Some(handout) = &self.handout {
                attempt.handout = Some(handout.clone());
            }
        }
        let detail = if self.conflicts.is_empty() {
            "clean".to_owned()
        } else {
            format!("conflicts in {}", self.conflicts.join(", "))
        };
        body.history.push(entry(call, Event::Synced).epoch(head.epoch).commit(&self.base).detail(detail));
        SyncRecorded {
            task: self.task.clone(),
            base_commit: self.base.clone(),
            conflicts: self.conflicts.clone(),
        }
    }
}
