//! Limits and approvals of reviews: `review:` in liza.yaml.

use super::prelude::*;

settings! {
    pub struct ReviewConfig {
        /// How many different reviewers must approve, by the risk of the task.
        pub quorum: Quorum,
        /// Work that passes all gates and has only minor issues in two rounds in a row is accepted with notes.
        pub accept_minor: bool = true,
        /// The time limit for all rounds of one task, in seconds of work and review without waiting; 0 for no limit.
        pub max_seconds: u64 = 3600,
    }
}

settings! {
    #[derive(Copy, Eq)]
    pub struct Quorum {
        pub low: u32 = 1,
        pub medium: u32 = 1,
        pub high: u32 = 1,
    }
}

impl Quorum {
    /// How many reviewers must approve a task of this risk; at least one.
    pub fn of(self, risk: Risk) -> u32 {
        let asked = match risk {
            Risk::Low => self.low,
            Risk::Medium => self.medium,
            Risk::High => self.high,
        };
        asked.max(1)
    }

    /// The most reviewers that any risk needs.
    pub fn most(self) -> u32 {
        self.low.max(self.medium).max(self.high).max(1)
    }
}
