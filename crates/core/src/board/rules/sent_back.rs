//! A rejection and its answer.

use super::prelude::*;

/// A recorded rejection.
pub struct Rejection<'a> {
    pub from: Status,
    pub commit: &'a CommitId,
    pub feedback: &'a Feedback,
    /// The reason is the same as the last time.
    pub same_reason: bool,
    /// The issues that the review raised, and those it raised again.
    pub taken: Taken,
    pub drift: &'a [Drift],
    pub max_seconds: Option<u64>,
    pub line_ranges: bool,
    /// The edition of the rules for this rejection.
    pub edition: Edition,
}

outcome!(SentBack {
    task: TaskId,
    status: Status,
    issues: Vec<String>,
    cycles: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    same_as: Option<Vec<SameIssue>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    blocked_reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    disagreement: Option<Disagreement>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    positions: Option<SaidOf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    questions: Option<Vec<String>>,
});

outcome!(SameIssue { finding: usize, issue: String, said_resolved: bool, reopened: bool, told: String });

/// The positions about a task that another round would not help.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SaidOf {
    Sides(Positions),
    Reviewers(Vec<Position>),
}

/// One reviewer's position on the commit.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Position {
    pub reviewer: AgentId,
    pub verdict: Verdict,
    /// The reviewer asked for minor changes, and its verdict counts as an approval because they were a matter of taste.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub accepted_with_notes: bool,
    pub summary: String,
    /// The issues that the reviewer raised or kept open, one per line.
    pub issues: Vec<String>,
}
