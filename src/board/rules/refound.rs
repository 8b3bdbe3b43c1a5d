//! The first record of a log that was begun anew, because the one before was lost or broken.
//!
//! It changes nothing of the board. It holds what a reader of the log would otherwise look for in the records before it:
//! where the integration branch was, and which of its moves were under way.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::board::call::Call;
use crate::board::ids::{CommitId, TaskId};
use crate::board::intent::RefMove;
use crate::board::refusal::{Code, Refusal};
use crate::board::state::Board;
use crate::board::transition::{Needs, Rule};

use super::common::human_only;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RefoundLog {
    /// What was wrong with the log.
    pub reason: String,
    /// Where what was left of it is kept, relative to the board's directory; none, if nothing was left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
    /// Where liza left the integration branch, as the board has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub integration_head: Option<CommitId>,
    /// Merges and moves that were begun before and end after this record.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub under_way: Vec<UnderWay>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UnderWay {
    pub intent: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<RefMove>,
}

impl RefoundLog {
    pub fn of(board: &Board, reason: String, kept: Option<String>) -> Self {
        let under_way = board.rest.intents.iter().map(|intent| UnderWay {
            intent: intent.id,
            task: intent.task.clone(),
            step: intent.work.step().cloned(),
        });
        Self {
            reason,
            kept,
            integration_head: board.rest.integration.head.clone(),
            under_way: under_way.collect(),
        }
    }
}

impl Rule for RefoundLog {
    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        human_only(call, "begin the log anew")?;
        // What it says of the branch is taken for history: it may not say anything else than the board does.
        if board.revision == 0 || *self != Self::of(board, self.reason.clone(), self.kept.clone()) {
            return Refusal::new(Code::Value, "a new log must begin with what the board says").err();
        }
        Ok(())
    }

    fn change(&self, _: &mut Board, _: &Call) -> Value {
        json!({ "reason": self.reason, "kept": self.kept })
    }

    fn needs(&self, _: &Board) -> Needs {
        Needs::Nothing
    }
}
