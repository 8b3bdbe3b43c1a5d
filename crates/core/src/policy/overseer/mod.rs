//! Whether agents make progress, by their snapshots. Progress is a new tree, a finding or a step on the board; activity
//! is not.

mod config;
mod decision;
mod detect;
mod detection;
mod episode;
mod liveness;
mod question;
mod ring;
mod snapshot;
#[cfg(test)]
mod tests;
mod words;

pub use config::OverseerConfig;
pub use decision::{Decision, decide};
pub use detect::{Measure, detect, measures};
pub use detection::Detection;
pub use liveness::{Grade, Liveness, Signals, liveness};
pub use question::{
    Question, SUREST_DETECTION, claim_stands, is_answer, is_by_hand, open_questions, unanswered_before,
};
pub use ring::Ring;
pub use snapshot::{AgentSnapshot, Episode};
