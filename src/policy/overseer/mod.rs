//! WHETHER AGENTS GET ANYWHERE: pure answers from what was seen of them. Progress is a tree, a finding or a step on the
//! board; that somebody is busy is none.

mod config;
mod decision;
mod detection;
mod liveness;
mod snapshot;

pub use config::OverseerConfig;
pub use decision::{Decision, decide};
pub use detection::{Detection, detect};
pub use liveness::{Grade, Liveness, Signals, liveness};
pub use snapshot::{AgentSnapshot, Ring};
