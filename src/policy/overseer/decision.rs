//! What is done about what was detected: bounded, and never twice in a short time.

use serde::Serialize;

use crate::board::Wall;
use crate::board::oversight::{Action, Intervention};

use super::config::OverseerConfig;
use super::detection::Detection;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Decision {
    pub action: Action,
    pub detection: Detection,
    /// What the agent is told.
    pub text: String,
    /// What a person is asked, if one is.
    pub question: Option<String>,
}

/// At most one decision. `past` is what was done about this incarnation of the agent on this task so far.
pub fn decide(
    _detections: &[Detection],
    _past: &[&Intervention],
    _now: Wall,
    _config: &OverseerConfig,
) -> Option<Decision> {
    None
}
