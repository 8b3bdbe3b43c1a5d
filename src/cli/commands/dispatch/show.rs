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
            let id = &self.task;
            if board.task(id).is_none() {
                return Err(Failure::new(
                    Code::UnknownTask,
                    format!("there is no task `{id}` on this board"),
                )
                .hint(board.hint_for_task(id)));
            }
            return Err(Failure::new(
                Code::Result,
                format!("task `{id}`: no agent was sent a dispatch for it"),
            )
            .hint("a dispatch is sent by `liza run` and `liza agent run`, for slices and reports only"));
        };
        let value: Value = serde_json::from_str(&text).unwrap_or_default();
        let data = json!({ "task": self.task, "file": path, "dispatch": value });
        Ok(Answer::new(data, text).verbatim().at(board.revision))
    }
}
