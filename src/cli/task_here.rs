//! The default task of a command: the one whose worktree or review checkout is the current directory.

use crate::board::TaskId;
use crate::flow::Failure;

use super::session::Session;

impl Session {
    /// The named task, or else the task of the current worktree.
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
        // Checkouts of gates and merges belong to no task.
        if parent != home && parent != home.join(".review") {
            return None;
        }
        crate::flow::worktrees::task_of(&top.file_name()?.to_string_lossy())
    }
}
