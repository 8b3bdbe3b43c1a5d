//! The task that is meant where none is named: that of the worktree or review checkout the command is typed in.

use crate::board::TaskId;
use crate::flow::Failure;

use super::session::Session;

impl Session {
    /// The task that was named, or else the one whose worktree this is.
    pub fn task_or_here(&self, named: Option<&TaskId>) -> Result<TaskId, Failure> {
        named.cloned().or_else(|| self.task_here()).ok_or_else(|| {
            Failure::usage("no task is named, and the current directory is not the worktree of a task").hint(
                "name the task (`liza task list` shows every task), or type the command in its worktree",
            )
        })
    }

    fn task_here(&self) -> Option<TaskId> {
        let here = std::env::current_dir().ok()?;
        let top = crate::git::repo::discover(&here).ok()?.linked?.path;
        let (home, parent) = (self.ctx.machine.worktrees(), top.parent()?);
        // Gates and merges have checkouts of their own, which belong to no task that a caller could mean.
        if parent != home && parent != home.join(".review") {
            return None;
        }
        crate::flow::worktrees::task_of(&top.file_name()?.to_string_lossy())
    }
}
