//! The checklists of reviewers, and the risk from which on the red team reviews.

use super::prelude::*;

sparse_settings! {
    /// The items that reviewers must answer. Each list is complete: the lists of lower risks are not added to it.
    pub struct Checklists {
        pub low: Vec<String>,
        pub medium: Vec<String>,
        pub high: Vec<String>,
    }
}

impl Checklists {
    /// The items for a task of this risk, besides its own.
    pub fn of(&self, risk: Risk) -> &[String] {
        match risk {
            Risk::Low => &self.low,
            Risk::Medium => &self.medium,
            Risk::High => &self.high,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RedTeamConfig {
    /// The red team reviews tasks of at least this risk.
    pub from: Risk,
}
