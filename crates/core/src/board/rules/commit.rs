//! Checks a commit in a task's worktree before it is made. This is only an early warning: submit and merge check
//! everything again.

use super::checkpoint::KeepWork;
use super::prelude::*;
use super::submit::{Touched, check_paths, checkpoints_of_attempt, has_checkpoint};

/// A commit about to be made in the worktree of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreeCommit {
    pub task: TaskId,
    /// The epoch that the caller was started with, if it gives one.
    pub epoch: Option<u64>,
    /// Relative to the repository root.
    pub worktree: String,
}

impl WorktreeCommit {
    /// Refuses unless the worktree is the current one of the task, and the caller holds the lease.
    pub fn check_place<'b>(&self, board: &'b Board, call: &Call) -> Result<&'b Task, Refusal> {
        let task = find(board, &self.task)?;
        match task.body().attempt() {
            Some(attempt) if attempt.worktree == self.worktree => {}
            Some(attempt) => {
                return Err(refusal!(
                    Code::LeaseLost,
                    "`{}` is a former worktree of `{}`; work goes on in `{}`",
                    self.worktree,
                    task.id,
                    attempt.worktree
                )
                .hint("liza merges no commit from this worktree; its files stay, and its commits are kept under refs/liza/attempts")
                .detail("task", task.id.as_str()));
            }
            None => {
                return Err(
                    refusal!(Code::LeaseLost, "no agent has claimed `{}`", task.id).hint(next_step(task))
                );
            }
        }
        holds_lease(task, call, self.epoch)?;
        Ok(task)
    }

    /// Checks worktree, lease, checkpoint and every path; `touched` if not all changes are the caller's own.
    pub fn check(
        &self,
        board: &Board,
        call: &Call,
        files: &[String],
        touched: &[Touched],
    ) -> Result<(), Refusal> {
        let task = self.check_place(board, call)?;
        if !has_checkpoint(task.body()) {
            return Err(refusal!(
                Code::CheckpointMissing,
                "task `{}` has no checkpoint for this iteration, so nothing may be committed yet",
                task.id
            )
            .hint(keep_work(task))
            .detail("task", task.id.as_str()));
        }
        check_paths(board, call, task, &checkpoints_of_attempt(task.body()), files, touched)
    }
}

/// The hint how to keep work that is not committed yet.
fn keep_work(task: &Task) -> String {
    let handed_out = task.body().attempt().and_then(|attempt| attempt.handout.as_ref());
    match handed_out {
        Some(before) => KeepWork { base: &before.head, head: &before.head, uncommitted: true }.hint(task),
        None => next_step(task),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::testing::*;

    fn answer(bench: &Bench, commit: &WorktreeCommit, who: &str, file: &str) -> Option<Code> {
        let call = bench.call(bench.actor(who));
        commit.check(&bench.board, &call, &[file.to_owned()], &[]).err().map(|refusal| refusal.code)
    }

    #[test]
    fn commit_needs_holder_worktree_checkpoint_scope() {
        let mut bench = Bench::with_tasks(&["t1"]);
        bench.claim("coder-1", "t1");
        let worktree = bench.task("t1").body().attempt().expect("an attempt").worktree.clone();
        let commit = WorktreeCommit { task: id("t1"), epoch: None, worktree };
        let file = file_of("t1");
        assert_eq!(answer(&bench, &commit, "coder-1", &file), Some(Code::CheckpointMissing));
        bench.ok("coder-1", bench.checkpoint("t1"));
        assert_eq!(answer(&bench, &commit, "coder-1", &file), None);
        assert_eq!(answer(&bench, &commit, "coder-1", "t1/unannounced.rs"), Some(Code::Scope));
        assert_eq!(answer(&bench, &commit, "coder-1", "t2/lib.rs"), Some(Code::Scope));
        assert_eq!(answer(&bench, &commit, "coder-2", &file), Some(Code::LeaseLost));
        assert_eq!(answer(&bench, &commit, "human", &file), Some(Code::LeaseLost));
        let elsewhere = WorktreeCommit { worktree: ".worktrees/t1.9".into(), ..commit.clone() };
        assert_eq!(answer(&bench, &elsewhere, "coder-1", &file), Some(Code::LeaseLost));
        let late = WorktreeCommit { epoch: Some(0), ..commit.clone() };
        assert_eq!(answer(&bench, &late, "coder-1", &file), Some(Code::Epoch));
        let unknown = WorktreeCommit { task: id("t9"), ..commit };
        assert_eq!(answer(&bench, &unknown, "coder-1", &file), Some(Code::UnknownTask));
    }
}
