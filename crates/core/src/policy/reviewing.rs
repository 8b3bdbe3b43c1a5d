//! Limits and approvals of reviews: `review:` in liza.yaml.

use super::prelude::*;

settings! {
    pub struct ReviewConfig {
        /// How many different reviewers have to approve, by the risk of the task.
        pub quorum: Quorum,
        /// Work that passes everything and has only minor issues in two rounds running is accepted with notes.
        pub accept_minor: bool = true,
        /// What the rounds of one task may take together, in seconds of work and review without the time it waited; 0 for no
        /// limit.
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
