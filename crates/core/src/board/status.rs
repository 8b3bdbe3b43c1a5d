//! The statuses of a task.

use super::names::{Named, named};
use super::prelude::*;

words! {
    /// The status of a task. The names are the contract's; older boards say `UNCLAIMED` and `CLAIMED`.
    #[derive(PartialOrd, Ord, Hash)]
    pub enum Status {
        Draft = "DRAFT",
        #[serde(alias = "UNCLAIMED")]
        Idle = "IDLE",
        #[serde(alias = "CLAIMED")]
        Working = "WORKING",
        ReadyForReview = "READY_FOR_REVIEW",
        Approved = "APPROVED",
        Rejected = "REJECTED",
        Blocked = "BLOCKED",
        IntegrationFailed = "INTEGRATION_FAILED",
        Merged = "MERGED",
        Superseded = "SUPERSEDED",
        Abandoned = "ABANDONED",
    }
}

impl Status {
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Merged | Self::Superseded | Self::Abandoned)
    }
}

impl Named for Status {
    const ALL: &'static [Self] = &Self::ALL;
    fn name(self) -> &'static str {
        self.as_str()
    }
}

/// Ignoring case.
impl std::str::FromStr for Status {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        named(&text.to_ascii_uppercase())
    }
}

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
