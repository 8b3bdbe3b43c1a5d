//! A living process takes over the work of a dead one; only then may it finish or undo that work.

use super::prelude::*;

logged! {
    /// The caller has seen that `former` is dead; this rule checks that no other process took the intent meanwhile.
    pub struct TakeOver {
        pub intent: u64,
        pub former: Process,
        pub owner: Process,
    }
}

impl Verb for TakeOver {
    const OPERATION: Option<Operation> = None;
    type Outcome = Begun;

    fn check(&self, board: &Board, _: &Call) -> Result<(), Refusal> {
        owned_intent(board, self.intent, &self.former).map(|_| ())
    }

    fn change(&self, board: &mut Board, _: &Call) -> Self::Outcome {
        if let Some(intent) = board.rest.intents.iter_mut().find(|intent| intent.id == self.intent) {
            intent.owner = self.owner.clone();
        }
        Begun { intent: self.intent }
    }
}
