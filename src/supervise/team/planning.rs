//! Whether waking the planner still has an effect.

use crate::board::{Board, Status, Wall};
use crate::policy::wake::wakes;

/// So often a planner may be woken without a task being added or merged: unblocking what blocks again at once is no plan.
const WAKES_FOR_NOTHING: u32 = 10;

#[derive(Debug, Default)]
pub(super) struct Planning {
    wakes: u32,
    /// How many tasks there were, and how many of them merged, when it was last of use.
    reached: (usize, usize),
}

impl Planning {
    /// The occasions it is not woken for, because it was woken too often already.
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
