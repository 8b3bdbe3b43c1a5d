//! What is asked of a verdict: the questions of a reviewer, and from which risk on the red team has its turn.

use super::prelude::*;

sparse_settings! {
    /// What reviewers have to answer. Each list is the whole of what its level asks: levels do not add up, so that a
    /// reader of one list knows what its level asks.
    pub struct Checklists {
        pub low: Vec<String>,
        pub medium: Vec<String>,
        pub high: Vec<String>,
    }
}

impl Checklists {
    /// What a task of this risk is asked beside its own items.
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
    /// Tasks of at least this risk have a turn of the red team.
    pub from: Risk,
}
