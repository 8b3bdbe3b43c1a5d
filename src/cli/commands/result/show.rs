use crate::cli::prelude::*;
use crate::flow::results;

/// Show the last result of a task
///
/// --raw prints the bytes as the agent delivered them.
///
/// Example: liza result show probe-1
#[derive(Args)]
pub struct ShowArgs {
    /// Id of the task
    pub task: TaskId,
    /// Print the JSON exactly as it was delivered
    #[arg(long)]
    pub raw: bool,
}

impl OnBoard for ShowArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let shown = results::show(&session.ctx, &self.task)?;
        let raw = String::from_utf8_lossy(&shown.bytes).into_owned();
        let value: Value = serde_json::from_slice(&shown.bytes).unwrap_or_default();
        let data =
            json!({ "task": self.task, "status": shown.task.status, "result": shown.result, "value": value });
        if self.raw {
            return Ok(Answer::new(data, raw).verbatim().at(shown.revision));
        }
        let mut text = String::new();
        let result = &shown.result;
        text.line(format!(
            "{} is {}: {} by {} at {} (epoch {})",
            self.task,
            shown.task.status,
            result.status.as_str(),
            result.by,
            result.time,
            result.epoch
        ));
        text.line(format!("digest:    {}", result.digest));
        if let Ok(read) = results::read_for(&shown.task, &shown.bytes) {
            text.line(format!("summary:   {}", shown_line(read.common().summary)));
        }
        text.line(crate::wire::to_json_pretty(&value));
        Ok(Answer::new(data, text).at(shown.revision))
    }
}
