//! Whether starting the planner still has an effect.

use crate::board::{Board, Status, Wall};
use crate::policy::wake::wakes;

/// How often a planner may start in a row without a task being added or merged.
const WAKES_FOR_NOTHING: u32 = 10;

#[derive(Debug, Default)]
pub(super) struct Planning {
    wakes: u32,
    /// The number of tasks and of merged tasks when it last had an effect.
    reached: (usize, usize),
}

impl Planning {
    /// Occasions without further starts: the planner started too often already.
    pub(super) fn given_up(&mut self, board: &Board, now: Wall) -> Vec<String> {
        let merged = board.tasks.iter().filter(|task| task.status == Status::Merged).count();
        let reached = (board.tasks.len(), merged);
        if reached != self.reached {
            *self = Self { wakes: 0, reached };
        }
        if self.wakes < WAKES_FOR_NOTHING {
            return Vec::new();
        }
        wakes(board, now).iter().flat_map(|wake| wake.keys(board)).collect()
    }

    pub(super) fn woken(&mut self) {
        self.wakes += 1;
    }
}
