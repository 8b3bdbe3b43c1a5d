//! How reviews come to an end: `review:` in liza.yaml.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::board::task::Risk;

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

impl Quorum {
    /// How many have to approve a task of this risk; one at least.
    pub fn of(self, risk: Risk) -> u32 {
        let asked = match risk {
            Risk::Low => self.low,
            Risk::Medium => self.medium,
            Risk::High => self.high,
        };
        asked.max(1)
    }

    /// The most that is asked for anything.
    pub fn most(self) -> u32 {
        self.low.max(self.medium).max(self.high).max(1)
    }
}

impl Default for Quorum {
    fn default() -> Self {
        Self { low: 1, medium: 1, high: 1 }
    }
}
