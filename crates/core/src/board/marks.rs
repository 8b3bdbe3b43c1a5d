//! How far things had come when a sprint or a run began: what was before is not its own.

use super::agent::Process;
use super::prelude::*;
use super::spent::{RoundSpent, Spent};
use super::task::Task;

/// How far a task had come when a sprint began: what was before is not the sprint's.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TaskMark {
    /// How many lines its history had.
    pub history: usize,
    /// How many reviews it had.
    #[serde(skip_serializing_if = "is_none")]
    pub reviews: usize,
    /// How often it had been sent back.
    #[serde(skip_serializing_if = "is_never")]
    pub rejections: u32,
    #[serde(skip_serializing_if = "Spent::is_nothing")]
    pub spent: Spent,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub spent_rounds: Vec<RoundSpent>,
}

fn is_none(count: &usize) -> bool {
    *count == 0
}

fn is_never(count: &u32) -> bool {
    *count == 0
}

impl TaskMark {
    pub fn of(task: &Task) -> Self {
        let body = task.body();
        Self {
            history: body.history.len(),
            reviews: body.reviews.len(),
            rejections: task.review_cycles_total,
            spent: body.spent,
            spent_rounds: body.spent_rounds.clone(),
        }
    }

    /// What a round had cost by then.
    pub fn round(&self, number: u32) -> RoundSpent {
        self.spent_rounds.iter().find(|round| round.round == number).copied().unwrap_or_default()
    }
}

record! {
    /// A run of the team that has a cap: what was spent before it is not its own.
    pub struct RunMark {
        pub owner: Process,
        pub time: Wall,
        pub spent_before: Spent,
    }
}
