//! The task branch has taken integration in, and goes on from there.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::board::call::Call;
use crate::board::history::Event;
use crate::board::ids::{CommitId, TaskId};
use crate::board::refusal::Refusal;
use crate::board::state::Board;
use crate::board::task::Handout;
use crate::board::transition::{Needs, Rule};

use super::common::{entry, find, holds_lease, no_intent, parts};

/// Recorded after the merge in the holder's own worktree; repeating the command after a crash finds it made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordSync {
    pub task: TaskId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<u64>,
    /// The integration head that was merged in, or is being merged in.
    pub base: CommitId,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<String>,
    /// The worktree afterwards, if nothing had been done in it before: the checkpoint is still to be written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handout: Option<Handout>,
}

impl Rule for RecordSync {
    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        call.check_switches(Some(&self.task))?;
        no_intent(board, &self.task)?;
        holds_lease(find(board, &self.task)?, call, self.epoch)
    }

    fn change(&self, board: &mut Board, call: &Call) -> Value {
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
        json!({ "task": self.task, "base_commit": self.base, "conflicts": self.conflicts })
    }

    fn needs(&self, _: &Board) -> Needs {
        Needs::task(&self.task)
    }
}
