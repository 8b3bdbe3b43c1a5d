//! WHETHER AGENTS GET ANYWHERE: pure answers from what was seen of them. Progress is a tree, a finding or a step on the
//! board; that somebody is busy is none.

mod config;
mod decision;
mod detect;
mod detection;
mod liveness;
mod snapshot;
#[cfg(test)]
mod tests;
mod words;

pub use config::OverseerConfig;
pub use decision::{Decision, decide};
pub use detect::{Measure, detect, measures};
pub use detection::Detection;
pub use liveness::{Grade, Liveness, Signals, liveness};
pub use snapshot::{AgentSnapshot, Ring};
