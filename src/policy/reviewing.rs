//! How reviews come to an end: `review:` in liza.yaml.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReviewConfig {
    /// How many different reviewers have to approve, by the risk of the task.
    pub quorum: Quorum,
    /// Work that passes everything and has only minor issues in two rounds running is accepted with notes.
    pub accept_minor: bool,
    /// What the rounds of one task may take together, in seconds of work and review without the time it waited; 0 for no
    /// limit.
    pub max_seconds: u64,
}

impl Default for ReviewConfig {
    fn default() -> Self {
        Self { quorum: Quorum::default(), accept_minor: true, max_seconds: 3600 }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Quorum {
    pub low: u32,
    pub medium: u32,
    pub high: u32,
}

impl Default for Quorum {
    fn default() -> Self {
        Self { low: 1, medium: 1, high: 1 }
    }
}
