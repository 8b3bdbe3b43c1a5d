//! The retry ladder: the next step after an invalid answer, a passed time limit or a crash.

use crate::board::result::{EndCause, MOST_DISPATCHES};

/// The next step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rung {
    /// The same session is asked for raw JSON, with the errors.
    Resume,
    /// A new session gets the same dispatch, with the evidence.
    Redispatch,
    /// A planner or a person decides.
    Block,
}

/// The next step after a session ended this way. `attempt` counts the dispatches from one, `asked` how often the
/// session was resumed because of its output.
pub fn next_rung(cause: EndCause, attempt: u32, asked: u32, can_resume: bool) -> Rung {
    if cause == EndCause::BadOutput && asked == 0 && can_resume {
        Rung::Resume
    } else if attempt < MOST_DISPATCHES {
        Rung::Redispatch
    } else {
        Rung::Block
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cause_climbs_and_ends_blocked() {
        use Rung::{Block, Redispatch, Resume};
        assert_eq!(next_rung(EndCause::BadOutput, 1, 0, true), Resume);
        assert_eq!(next_rung(EndCause::BadOutput, 1, 1, true), Redispatch);
        assert_eq!(next_rung(EndCause::BadOutput, 1, 0, false), Redispatch);
        assert_eq!(next_rung(EndCause::BadOutput, 2, 0, true), Resume);
        assert_eq!(next_rung(EndCause::BadOutput, 2, 1, true), Block);
        for cause in [EndCause::Timebox, EndCause::Crash] {
            assert_eq!(next_rung(cause, 1, 0, true), Redispatch);
            assert_eq!(next_rung(cause, 2, 0, true), Block);
        }
    }
}
