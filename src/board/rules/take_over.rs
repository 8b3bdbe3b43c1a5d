//! Work whose process died is taken over by one that lives; only then may it be finished or undone.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::board::agent::Process;
use crate::board::call::Call;
use crate::board::refusal::Refusal;
use crate::board::state::Board;
use crate::board::transition::{Needs, Rule};

use super::moves::owned_intent;

/// That `former` is dead was seen outside; that nobody else took the intent meanwhile is checked here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TakeOver {
    pub intent: u64,
    pub former: Process,
    pub owner: Process,
}

impl Rule for TakeOver {
    fn check(&self, board: &Board, _: &Call) -> Result<(), Refusal> {
        owned_intent(board, self.intent, &self.former).map(|_| ())
    }

    fn change(&self, board: &mut Board, _: &Call) -> Value {
        if let Some(intent) = board.rest.intents.iter_mut().find(|intent| intent.id == self.intent) {
            intent.owner = self.owner.clone();
        }
        json!({ "intent": self.intent })
    }

    fn needs(&self, _: &Board) -> Needs {
        Needs::Nothing
    }
}
