//! The result of the rounds of work and review on a task.

use super::prelude::*;
use super::review::Verdict;

words! {
    /// The four ways in which the rounds of a task end.
    pub enum Ending {
        Approved = "approved",
        /// The reviewer cannot judge until a person or the planner has answered a question.
        NeedsDiscussion = "needs_discussion",
        /// The coder cannot continue.
        ProducerBlocked = "producer_blocked",
        /// A limit was reached, of rounds, iterations or time, or coder and reviewer go in circles.
        Limit = "limit",
    }
}

record! {
    /// The result of the rounds. It is removed when work on the task starts again.
    pub struct ReviewResult {
        pub ending: Ending,
        pub time: Wall,
        /// How many verdicts were given.
        pub rounds: u32,
        /// The last verdict.
        pub verdict: Option<Verdict>,
        /// Why coder and reviewer did not agree.
        pub disagreement: Option<Disagreement>,
        pub why: Option<String>,
        pub positions: Option<Positions>,
        /// Seconds of work since the first submission.
        #[serde(default)]
        pub work_seconds: u64,
        /// Seconds of review.
        #[serde(default)]
        pub review_seconds: u64,
        /// The minor issues that stayed open when the work was accepted with notes.
        pub accepted_with_notes: Vec<String>,
    }
}

words! {
    /// Why a coder and a reviewer disagree.
    pub enum Disagreement {
        /// The work, or the set of objections, returns to an earlier state: A, then B, then A.
        Oscillating = "oscillating",
        /// After each fix the reviewer asks for more, about old lines and outside the criteria.
        ScopeCreep = "scope_creep",
        /// All gates pass and only minor issues are left.
        Subjective = "subjective",
        /// The specification lacks an answer that both need.
        SpecGap = "spec_gap",
        Unknown = "unknown",
    }
}

/// The positions of coder and reviewer, for the person who decides between them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Positions {
    /// The coder's last announcement and changes.
    pub coder: String,
    /// The issues that the reviewer still wants fixed.
    pub reviewer: String,
}
