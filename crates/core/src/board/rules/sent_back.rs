//! A rejection, and what is answered to it.

use super::prelude::*;

/// A rejection that is on record.
pub struct Rejection<'a> {
    pub from: Status,
    pub commit: &'a CommitId,
    pub feedback: &'a Feedback,
    /// It says what was said the last time.
    pub same_reason: bool,
    /// What it raised, and what it raised again.
    pub taken: Taken,
    pub drift: &'a [Drift],
    pub max_seconds: Option<u64>,
    pub line_ranges: bool,
    /// By which rules it was given.
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

/// Who said what about a task that another round would not help.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SaidOf {
    Sides(Positions),
    Reviewers(Vec<Position>),
}

/// What one reviewer says about the commit.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Position {
    pub reviewer: AgentId,
    pub verdict: Verdict,
    /// It asked for small changes, and counts as an approval because they were a matter of taste.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub accepted_with_notes: bool,
    pub summary: String,
    /// The issues it raised or kept open, a line each.
    pub issues: Vec<String>,
}
