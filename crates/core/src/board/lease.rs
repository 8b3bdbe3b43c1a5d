//! The right to work on a task for a limited time. Expiry alone transfers nothing: a new claim does, with a new epoch.

use super::prelude::*;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lease {
    pub agent: AgentId,
    /// A restarted agent with the same id has another incarnation and does not hold this lease.
    pub incarnation: u64,
    pub epoch: u64,
    pub expires: Deadline,
}

impl Lease {
    pub fn ran_out(&self, now: &Stamp) -> bool {
        self.expires.passed(now)
    }
}
