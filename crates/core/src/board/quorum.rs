//! Approvals by several reviewers: who approved the commit under review, and how many approvals it needs.

use super::prelude::*;
use super::review::Approval;

/// The approvals of several reviewers for the commit under review. It is part of the head, because a task is offered only
/// to reviewers that have not approved it yet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Approvals {
    /// How many different reviewers the project required when the last of them approved.
    pub needed: u32,
    pub by: Vec<Approval>,
}

impl Approvals {
    pub fn is_enough(&self) -> bool {
        self.by.len() >= self.needed as usize
    }

    pub fn has(&self, agent: &AgentId) -> bool {
        self.by.iter().any(|approval| approval.reviewer.is_same(agent))
    }

    pub fn are_about(&self, commit: &CommitId) -> bool {
        self.by.iter().all(|approval| &approval.commit == commit)
    }

    /// Whether each approval was given by a different reviewer.
    pub fn are_by_different(&self) -> bool {
        let is_first = |(at, approval): (usize, &Approval)| {
            !self.by[..at].iter().any(|earlier| earlier.reviewer.is_same(&approval.reviewer))
        };
        self.by.iter().enumerate().all(is_first)
    }

    /// `1 of 2 approvals (reviewer-1)`
    pub fn words(&self) -> String {
        let names: Vec<&str> = self.by.iter().map(|approval| approval.reviewer.as_str()).collect();
        format!("{} of {} approvals ({})", self.by.len(), self.needed, names.join(", "))
    }
}
