//! The state and result of a run: `summary.json`, replaced after every step.

use serde::{Deserialize, Serialize};

use super::{Score, Verdict};
use crate::board::{CommitId, Wall};
use crate::text::words;

words! {
    /// The state of a run, or its end.
    pub enum Outcome {
        /// The run is in progress, or its process has died.
        Running = "running",
        Scored = "scored",
        Rejected = "rejected",
        TestsFailed = "tests_failed",
        SweepFailed = "sweep_failed",
        NoResults = "no_results",
        PlanFailed = "plan_failed",
        CoderFailed = "coder_failed",
        NoChange = "no_change",
        Error = "error",
        Interrupted = "interrupted",
    }
}

words! {
    /// An agent's part in a run.
    pub enum Step {
        Planner = "planner",
        Coder = "coder",
        Reviewer = "reviewer",
    }
}

impl Outcome {
    /// Whether the run has ended and was not stopped from outside.
    pub fn is_final(self) -> bool {
        !matches!(self, Self::Running | Self::Interrupted)
    }

    /// Whether the idea was judged: an error is one of the machine or the settings, and the idea is tried again.
    pub fn is_judged(self) -> bool {
        self.is_final() && self != Self::Error
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    pub run_id: String,
    /// The idea's id.
    pub idea: String,
    pub title: String,
    pub status: Outcome,
    /// The current or last step.
    pub phase: String,
    pub started: Wall,
    /// Nanoseconds within that second, so that runs have an order.
    #[serde(default)]
    pub started_nanos: u32,
    #[serde(default)]
    pub ended: Option<Wall>,
    pub base_commit: CommitId,
    #[serde(default)]
    pub plan: Option<String>,
    /// How many rounds of the coder there were.
    pub rounds: u32,
    #[serde(default)]
    pub review: Option<ReviewEnd>,
    #[serde(default)]
    pub tests: Option<Ended>,
    #[serde(default)]
    pub sweep: Option<Ended>,
    #[serde(default)]
    pub score: Option<Score>,
    pub tokens: u64,
    #[serde(default)]
    pub cost: Option<f64>,
    /// The ref that keeps the change.
    #[serde(default, rename = "ref")]
    pub kept_as: Option<String>,
    #[serde(default)]
    pub error: Option<String>,
    /// Remarks without effect: an ignored setting, files that a reviewer changed and that were restored.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    /// The time and tokens of each phase.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<Used>,
    /// The provider of each agent, as configured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewEnd {
    pub verdict: Verdict,
    pub round: u32,
    /// What the reviewer read; absent in older summaries.
    #[serde(default)]
    pub commit: Option<CommitId>,
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ended {
    /// None if it was stopped or could not be started.
    pub exit_code: Option<i32>,
    pub seconds: f64,
}

/// The time and tokens of one phase, over all rounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Used {
    pub phase: String,
    pub seconds: f64,
    pub tokens: u64,
}

impl Summary {
    /// Adds the time and tokens of a step.
    pub fn use_up(&mut self, phase: &str, seconds: f64, tokens: u64, cost: Option<f64>) {
        self.tokens += tokens;
        if let Some(cost) = cost {
            self.cost = Some(self.cost.unwrap_or(0.0) + cost);
        }
        match self.phases.iter_mut().find(|used| used.phase == phase) {
            Some(used) => {
                used.seconds += seconds;
                used.tokens += tokens;
            }
            None => self.phases.push(Used { phase: phase.to_owned(), seconds, tokens }),
        }
    }
}
