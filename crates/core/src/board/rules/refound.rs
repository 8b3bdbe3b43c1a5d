//! The first record of a new log, begun because the former one was lost or broken.
//!
//! It does not change the board. It holds what a reader of the log would otherwise look for in the records before it:
//! where the integration branch was, and which of its moves were under way.

use super::prelude::*;

logged! {
    pub struct RefoundLog {
        /// The problem of the log.
        pub reason: String,
        /// Where the rest of the old log is kept, relative to the board's directory; none if there was no rest.
        pub kept: Option<String>,
        /// The head of the integration branch on the board.
        pub integration_head: Option<CommitId>,
        /// Merges and moves that began before this record and end after it.
        pub under_way: Vec<UnderWay>,
    }

    pub struct UnderWay {
        pub intent: u64,
        pub task: Option<TaskId>,
        pub step: Option<RefMove>,
    }
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

outcome!(Refounded { reason: String, kept: Option<String> });

impl Verb for RefoundLog {
    const OPERATION: Option<Operation> = None;
    type Outcome = Refounded;

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        human_only(call, "begin a new log")?;
        // Later readers trust this record about the branch, so it must agree with the board.
        if board.revision == 0 || *self != Self::of(board, self.reason.clone(), self.kept.clone()) {
            return Err(refusal!(Code::Value, "a new journal must begin with the current board"));
        }
        Ok(())
    }

    fn change(&self, _: &mut Board, _: &Call) -> Self::Outcome {
        Refounded { reason: self.reason.clone(), kept: self.kept.clone() }
    }
}
