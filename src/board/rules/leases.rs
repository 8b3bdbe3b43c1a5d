//! Leases live on while their holders do, and a pause costs nobody its lease.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::board::call::Call;
use crate::board::ids::TaskId;
use crate::board::refusal::Refusal;
use crate::board::state::Board;
use crate::board::time::Deadline;
use crate::board::transition::{Needs, Rule};

use super::claim::check_paths_free;
use super::common::{find, holds_lease, human_only, parts};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Renew {
    pub task: TaskId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<u64>,
}

impl Rule for Renew {
    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        holds_lease(find(board, &self.task)?, call, self.epoch)
    }

    fn change(&self, board: &mut Board, call: &Call) -> Value {
        let expires = Deadline::after(call.now, board.config().lease_seconds);
        let (head, _) = parts(board, &self.task);
        if let Some(lease) = &mut head.lease {
            lease.expires = expires.clone();
        }
        json!({ "task": self.task, "epoch": head.epoch, "lease_expires": expires.at })
    }

    fn needs(&self, _: &Board) -> Needs {
        Needs::task(&self.task)
    }
}

/// What `resume` does to the board: every clock that ran during the pause gets that time back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExtendLeases {
    pub seconds: u64,
}

impl Rule for ExtendLeases {
    fn check(&self, _: &Board, call: &Call) -> Result<(), Refusal> {
        human_only(call, "resume")
    }

    fn change(&self, board: &mut Board, call: &Call) -> Value {
        let mut extended = Vec::new();
        // Paths that were given back and taken by another meanwhile stay with that one.
        let taken: Vec<TaskId> = board
            .tasks
            .iter()
            .filter(|task| !task.is_live(call.now) && check_paths_free(board, call, task).is_err())
            .map(|task| task.id.clone())
            .collect();
        for task in &mut board.tasks {
            if task.status.is_terminal() {
                continue;
            }
            if task.lease.is_none()
                && task.review_lease.is_none()
                && task.reserved_until.is_none()
                && task.holds_paths_until.is_none()
            {
                continue;
            }
            let (head, _) = task.parts_mut();
            for lease in [&mut head.lease, &mut head.review_lease].into_iter().flatten() {
                lease.expires.extend(self.seconds);
            }
            if let Some(until) = &mut head.reserved_until {
                until.extend(self.seconds);
            }
            if let Some(until) = head.holds_paths_until.as_mut().filter(|_| !taken.contains(&head.id)) {
                until.extend(self.seconds);
            }
            extended.push(head.id.clone());
        }
        json!({ "extended_by": self.seconds, "tasks": extended })
    }

    fn needs(&self, board: &Board) -> Needs {
        Needs::Tasks(
            board
                .tasks
                .iter()
                .filter(|task| !task.status.is_terminal())
                .map(|task| task.id.clone())
                .collect(),
        )
    }
}
