//! Verdicts: what a reviewer found, and the approval that no implementer of the task can give.

use super::assumptions::{AnsweredAssumption, GivenAssumption};
use super::checklist::{Answered, GivenAnswer};
use super::prelude::*;

words! {
    #[derive(PartialOrd, Ord)]
    pub enum Severity {
        Critical = "critical",
        Major = "major",
        Minor = "minor",
        Nitpick = "nitpick",
    }
}

impl Severity {
    /// Whether an open issue of this severity forbids an approval.
    pub fn blocks(self) -> bool {
        matches!(self, Self::Critical | Self::Major)
    }
}

named_by!(Severity);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Approve,
    RequestChanges,
    NeedsDiscussion,
}

words! {
    pub enum IssueStatus {
        Open = "open",
        Partial = "partial",
        Resolved = "resolved",
    }
}

named_by!(IssueStatus);

record! {
    /// One finding, as a reviewer states it.
    pub struct Finding {
        pub severity: Severity,
        #[serde(alias = "file_path")]
        pub file: String,
        #[serde(alias = "line_start")]
        pub line: u32,
        pub line_end: Option<u32>,
        #[serde(alias = "text")]
        pub issue: String,
        pub suggestion: Option<String>,
        pub code_before: Option<String>,
        pub code_after: Option<String>,
    }
}

/// The status of an issue in one round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    New,
    StillPresent,
    Partial,
    Resolved,
}

impl Standing {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::StillPresent => "still present",
            Self::Partial => "partial",
            Self::Resolved => "resolved",
        }
    }
}

record! {
    /// An issue in one round of review.
    pub struct IssueRound {
        pub round: u32,
        pub standing: Standing,
        pub severity: Severity,
        /// Its line in the commit of that round.
        pub line: u32,
        /// The issue had been resolved before.
        pub reopened: bool,
        /// The text with which the issue was raised again, if it differs from the text before.
        pub words: Option<String>,
        /// An approval closed the issue without naming it; the issue is open again if that approval becomes void.
        pub unnamed: bool,
    }

    /// A finding with an id that stays the same over all rounds.
    pub struct Issue {
        /// `i1`, `i2`, …: counted per task, never reused.
        pub id: String,
        pub status: IssueStatus,
        pub raised_by: AgentId,
        /// The round in which the issue was raised.
        pub round: u32,
        pub severity: Severity,
        pub file: String,
        /// Its line in the commit `seen_at`; it moves when lines are added or removed above it.
        pub line: u32,
        pub line_end: Option<u32>,
        pub issue: String,
        pub suggestion: Option<String>,
        pub code_before: Option<String>,
        pub code_after: Option<String>,
        /// The reviewed commit that `file` and `line` are about.
        pub seen_at: Option<CommitId>,
        /// The previous review had seen the same line and not objected.
        pub on_old_lines: bool,
        /// Its status, round by round.
        pub rounds: Vec<IssueRound>,
    }
}

impl Issue {
    pub fn from_finding(finding: &Finding, id: String, round: u32, raised_by: AgentId) -> Self {
        Self {
            id,
            status: IssueStatus::Open,
            raised_by,
            round,
            severity: finding.severity,
            file: finding.file.clone(),
            line: finding.line,
            line_end: finding.line_end,
            issue: finding.issue.clone(),
            suggestion: finding.suggestion.clone(),
            code_before: finding.code_before.clone(),
            code_after: finding.code_after.clone(),
            seen_at: None,
            on_old_lines: false,
            rounds: Vec::new(),
        }
    }

    pub fn is_open(&self) -> bool {
        self.status != IssueStatus::Resolved
    }

    /// Its lines: `12`, or `12-20`.
    pub fn lines(&self) -> String {
        match self.line_end.filter(|end| *end > self.line) {
            Some(end) => format!("{}-{end}", self.line),
            None => self.line.to_string(),
        }
    }

    /// The latest entry up to and including this round.
    pub fn in_round(&self, round: u32) -> Option<&IssueRound> {
        self.rounds.iter().rfind(|said| said.round <= round)
    }

    /// The severity of the issue if it was open when this round ended.
    pub fn open_after(&self, round: u32) -> Option<Severity> {
        self.in_round(round).filter(|said| said.standing != Standing::Resolved).map(|said| said.severity)
    }

    /// The text with which the issue was raised last.
    pub fn last_words(&self) -> &str {
        self.rounds.iter().rev().find_map(|said| said.words.as_deref()).unwrap_or(&self.issue)
    }

    /// Removes the last entry, which resolved the issue: the entry before counts again.
    pub fn open_again(&mut self) {
        self.rounds.pop();
        let partial = self.rounds.last().is_some_and(|said| said.standing == Standing::Partial);
        self.status = if partial { IssueStatus::Partial } else { IssueStatus::Open };
        // The issue was raised and resolved in one round.
        if self.rounds.is_empty() {
            self.begin();
        }
    }

    /// Records that the issue was raised.
    pub fn begin(&mut self) {
        self.rounds.push(IssueRound {
            round: self.round,
            standing: Standing::New,
            severity: self.severity,
            line: self.line,
            reopened: false,
            words: None,
            unnamed: false,
        });
    }

    /// Whether the issue was raised before the last round that mentions it.
    pub fn is_from_before(&self) -> bool {
        self.rounds.last().is_some_and(|said| said.round > self.round)
    }

    /// Its history: `round 1 new, round 2 resolved, round 3 still present (reopened)`.
    pub fn story(&self) -> String {
        let rounds = self.rounds.iter().map(|said| {
            let reopened = if said.reopened { " (reopened)" } else { "" };
            format!("round {} {}{reopened}", said.round, said.standing.as_str())
        });
        rounds.collect::<Vec<_>>().join(", ")
    }
}

record! {
    /// The status of an earlier issue, according to the reviewer.
    pub struct PriorStatus {
        #[serde(rename = "issue")]
        pub id: String,
        pub status: IssueStatus,
    }

    /// A whole review as an agent may submit it.
    #[derive(Default)]
    pub struct Feedback {
        pub verdict: Option<Verdict>,
        pub commit: Option<CommitId>,
        /// Why, in a sentence or two.
        #[serde(default, alias = "reason")]
        pub summary: String,
        pub issues: Vec<Finding>,
        pub prior: Vec<PriorStatus>,
        /// An answer to every item of the checklist.
        pub checklist: Vec<GivenAnswer>,
        /// An answer for every assumption of the checkpoint: held, violated, or not checked and why.
        pub assumptions: Vec<GivenAssumption>,
        pub questions: Vec<String>,
        pub strengths: Vec<String>,
        pub approval_conditions: Vec<String>,
        pub files_reviewed: Vec<String>,
        /// Ignored: liza counts the rounds.
        pub iteration: Option<u32>,
        /// Whether the reviewer saw the tests pass. Gates decide; an approval that says `false` is refused.
        pub tests_passed: Option<bool>,
        /// The same for the linter.
        pub lint_passed: Option<bool>,
    }

    /// A verdict that was given.
    pub struct Review {
        pub round: u32,
        pub reviewer: AgentId,
        pub time: Wall,
        pub commit: CommitId,
        pub verdict: Verdict,
        pub summary: String,
        /// The tree that was judged.
        pub tree: Option<CommitId>,
        /// The reviewer asked for changes, but all gates passed and only minor issues were left for the second time, so
        /// the verdict counts as an approval with notes.
        pub accepted_with_notes: bool,
        /// The red team reviewed a commit that a reviewer had approved.
        pub red_team: bool,
        /// The checklist as it was answered.
        pub checklist: Vec<Answered>,
        /// What became of the assumptions of the checkpoint.
        pub assumptions: Vec<AnsweredAssumption>,
        /// Ids of the issues this review raised.
        pub raised: Vec<String>,
        /// Ids of the earlier issues that the review raised again or did not call resolved.
        pub kept_open: Vec<String>,
        pub strengths: Vec<String>,
        pub approval_conditions: Vec<String>,
        pub files_reviewed: Vec<String>,
    }

    /// The approval of exactly this commit, by a reviewer that did not implement the task.
    pub struct Approval {
        pub reviewer: AgentId,
        pub commit: CommitId,
        pub time: Wall,
        /// The reviewer read the changes to agent or tool configuration and allows them.
        pub protected_paths_allowed: bool,
        /// The minor issues that stayed open when the work was accepted with notes.
        pub notes: Vec<String>,
    }
}
