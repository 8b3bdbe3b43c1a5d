//! The one refusal that is put on record: somebody tried to break a Tier 0 rule.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::board::call::Call;
use crate::board::refusal::Refusal;
use crate::board::state::Board;
use crate::board::transition::{Needs, Rule};

/// The log record says who and what; the board only counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordViolation {
    pub code: String,
    pub message: String,
}

impl Rule for RecordViolation {
    fn check(&self, _: &Board, _: &Call) -> Result<(), Refusal> {
        Ok(())
    }

    fn change(&self, board: &mut Board, _: &Call) -> Value {
        board.rest.circuit_breaker.tier0_violations += 1;
        json!({ "tier0_violations": board.rest.circuit_breaker.tier0_violations })
    }

    fn needs(&self, _: &Board) -> Needs {
        Needs::Nothing
    }
}
