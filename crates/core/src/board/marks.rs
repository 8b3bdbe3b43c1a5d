//! The state of tasks and spending when a sprint or a run began: earlier events do not count for it.

use super::agent::Process;
use super::prelude::*;
use super::spent::{RoundSpent, Spent};
use super::task::Task;

/// The state of a task when a sprint began: earlier events do not count for the sprint.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TaskMark {
    /// How many entries its history had.
    pub history: usize,
    /// How many reviews it had.
    #[serde(skip_serializing_if = "is_none")]
    pub reviews: usize,
    /// How often it had been rejected.
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

    /// The cost of a round until then.
    pub fn round(&self, number: u32) -> RoundSpent {
        self.spent_rounds.iter().find(|round| round.round == number).copied().unwrap_or_default()
    }
}

record! {
    /// A run with a cap: earlier spending does not count for the run.
    pub struct RunMark {
        pub owner: Process,
        pub time: Wall,
        pub spent_before: Spent,
    }
}
