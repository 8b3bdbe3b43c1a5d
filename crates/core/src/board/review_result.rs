//! What came of the rounds of work and review on a task, as the task keeps it.

use super::prelude::*;
use super::review::Verdict;

words! {
    /// The four ways in which the rounds of a task end.
    pub enum Ending {
        Approved = "approved",
        /// The reviewer cannot judge before a person or the planner has decided a question.
        NeedsDiscussion = "needs_discussion",
        /// The coder cannot go on.
        ProducerBlocked = "producer_blocked",
        /// A limit was reached: of rounds, iterations or time, or of going in circles.
        Limit = "limit",
    }
}

record! {
    /// What came of the rounds. Taken away when the task is taken up again.
    pub struct ReviewResult {
        pub ending: Ending,
        pub time: Wall,
        /// How many verdicts were given.
        pub rounds: u32,
        /// The last of them.
        pub verdict: Option<Verdict>,
        /// What kept the two from agreeing.
        pub disagreement: Option<Disagreement>,
        pub why: Option<String>,
        pub positions: Option<Positions>,
        /// Seconds it was worked on since it was first handed in.
        #[serde(default)]
        pub work_seconds: u64,
        /// Seconds it was under review.
        #[serde(default)]
        pub review_seconds: u64,
        /// The small issues that were left open when it was accepted with notes.
        pub accepted_with_notes: Vec<String>,
    }
}

words! {
    /// What keeps a coder and a reviewer from agreeing.
    pub enum Disagreement {
        /// The work, or what is objected to, comes back to where it was: A, then B, then A.
        Oscillating = "oscillating",
        /// After each fix the reviewer asks for more, about old lines and outside of the criteria.
        ScopeCreep = "scope_creep",
        /// Everything is green and only small issues are left.
        Subjective = "subjective",
        /// The specification does not say what both would need to know.
        SpecGap = "spec_gap",
        Unknown = "unknown",
    }
}

/// The positions of coder and reviewer, for the person who decides between them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Positions {
    /// What the coder announced last, and what it changed.
    pub coder: String,
    /// What the reviewer still wants.
    pub reviewer: String,
}
