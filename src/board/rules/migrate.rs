//! The first record of a board that was written by the older shell implementation.
//!
//! What the old file said was read, mapped and judged before this: the record holds the outcome whole, so that the
//! log makes the same board again without the old file.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::board::call::Call;
use crate::board::invariants::violations;
use crate::board::refusal::{Code, Refusal};
use crate::board::state::{Board, Rest};
use crate::board::task::{Body, Head, Task};
use crate::board::transition::{Needs, Rule};

use super::common::human_only;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Migrate {
    /// The version of the board it was made from.
    pub version: u64,
    /// Hash of that file.
    pub source: String,
    /// Where that file and its log are kept, relative to the board's directory.
    pub kept: String,
    /// What could not be taken over as it was, for people.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    pub rest: Box<Rest>,
    pub tasks: Vec<WholeTask>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WholeTask {
    pub head: Head,
    pub body: Body,
}

impl Migrate {
    fn write_into(&self, board: &mut Board) {
        board.rest = (*self.rest).clone();
        board.tasks = self.tasks.iter().map(|task| Task::new(task.head.clone(), task.body.clone())).collect();
    }
}

impl Rule for Migrate {
    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        human_only(call, "migrate a board")?;
        if board.revision != 0 {
            return Refusal::new(Code::BoardExists, "there is a board already").err();
        }
        let mut made = Board::nothing();
        self.write_into(&mut made);
        match violations(&made).first() {
            None => Ok(()),
            Some(violation) => {
                Refusal::new(Code::Value, format!("the older board cannot be taken over: {violation}"))
                    .hint("mend that place of the older board, then run `liza doctor --fix` again")
                    .err()
            }
        }
    }

    fn change(&self, board: &mut Board, _: &Call) -> Value {
        self.write_into(board);
        json!({ "version": self.version, "tasks": self.tasks.len(), "kept": self.kept, "remarks": self.remarks })
    }

    fn needs(&self, _: &Board) -> Needs {
        Needs::Nothing
    }
}
