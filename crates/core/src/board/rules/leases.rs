//! A lease is renewed while its holder is alive, and no lease expires during a pause.

use super::claim::check_paths_free;
use super::prelude::*;

logged! {
    pub struct Renew {
        pub task: TaskId,
        pub epoch: Option<u64>,
    }
}

outcome!(Renewed { task: TaskId, epoch: u64, lease_expires: Wall });

impl Verb for Renew {
    const OPERATION: Option<Operation> = None;
    type Outcome = Renewed;

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        holds_lease(find(board, &self.task)?, call, self.epoch)
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        let expires = Deadline::after(call.now, board.config().lease_seconds);
        let (head, _) = parts(board, &self.task);
        if let Some(lease) = &mut head.lease {
            lease.expires = expires.clone();
        }
        Renewed { task: self.task.clone(), epoch: head.epoch, lease_expires: expires.at }
    }
}

logged! {
    /// The change by `resume`: every deadline that ran during the pause gets that time back.
    pub struct ExtendLeases {
        pub seconds: u64,
    }
}

outcome!(Extended { extended_by: u64, tasks: Vec<TaskId> });

impl Verb for ExtendLeases {
    const OPERATION: Option<Operation> = None;
    type Outcome = Extended;

    fn check(&self, _: &Board, call: &Call) -> Result<(), Refusal> {
        human_only(call, "resume")
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        let mut extended = Vec::new();
        // Paths that were released and that another task has acquired meanwhile stay with that task.
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
        Extended { extended_by: self.seconds, tasks: extended }
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
