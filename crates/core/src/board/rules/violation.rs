//! The one refusal that is recorded on the board: an actor tried to break a Tier 0 rule.

use super::prelude::*;

logged! {
    /// The journal record says who tried what; the board only counts.
    pub struct RecordViolation {
        pub code: String,
        pub message: String,
    }
}

outcome!(ViolationRecorded { tier0_violations: u64 });

impl Verb for RecordViolation {
    const OPERATION: Option<Operation> = None;
    type Outcome = ViolationRecorded;

    fn check(&self, _: &Board, _: &Call) -> Result<(), Refusal> {
        Ok(())
    }

    fn change(&self, board: &mut Board, _: &Call) -> Self::Outcome {
        board.rest.circuit_breaker.tier0_violations += 1;
        ViolationRecorded { tier0_violations: board.rest.circuit_breaker.tier0_violations }
    }
}
