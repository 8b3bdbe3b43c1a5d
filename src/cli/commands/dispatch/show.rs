use crate::cli::prelude::*;
use crate::flow::dispatch;

/// Show the last message sent to an agent for a task
///
/// It is one JSON value of the schema task-dispatch/1 (`liza schema task-dispatch`).
///
/// Example: liza dispatch show probe-1
#[derive(Args)]
pub struct ShowArgs {
    /// Id of the task
    pub task: TaskId,
}

impl OnBoard for ShowArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let board = session.ctx.read(&Needs::Nothing)?.board;
        let Some((path, text)) = dispatch::last_sent(&session.ctx, &self.task) else {
            let known = board.task(&self.task).is_some();
            let why = if known {
                "liza has sent no dispatch for it"
            } else {
                "there is no such task on this board"
            };
            return Err(Failure::new(Code::Result, format!("task `{}`: {why}", self.task))
                .hint("`liza run` and `liza agent run` send dispatches, for slices and reports only"));
        };
        let value: Value = serde_json::from_str(&text).unwrap_or_default();
        let data = json!({ "task": self.task, "file": path, "dispatch": value });
        Ok(Answer::new(data, text).verbatim().at(board.revision))
    }
}
