use super::{find, word};
use crate::board::GoalId;
use crate::cli::prelude::*;

/// Show a goal with its text, spec and tasks
///
/// Example: liza goal show goal-1
#[derive(Args)]
pub struct ShowArgs {
    /// Id of the goal (default: the current goal)
    #[arg(value_hint = ValueHint::Other)]
    pub id: Option<GoalId>,
}

impl OnBoard for ShowArgs {
    const ACCESS: Access = Access::Reads;

    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let board = session.ctx.read(&Needs::Nothing)?.board;
        let goal = find(&board, self.id.as_ref())?;
        let tasks: Vec<&Task> = board.tasks.iter().filter(|task| board.goal_of(task) == goal.id).collect();
        let mut data = serde_json::to_value(goal).unwrap_or_default();
        data["current"] = json!(goal.id == board.rest.goal.id);
        data["tasks"] = tasks
            .iter()
            .map(|task| json!({ "id": task.id, "title": task.title(), "status": task.status }))
            .collect();
        let mut text = format!("{} ({})\n{}\n", goal.id, word(goal.status), goal.description.trim());
        text.line(format!("spec: {}", goal.spec_ref));
        for (name, time) in [("given", goal.created), ("begun", goal.started), ("ended", goal.ended)] {
            if let Some(time) = time {
                text.line(format!("{name}: {time}"));
            }
        }
        if let Some(why) = &goal.end_reason {
            text.line(format!("why: {}", shown_line(why)));
        }
        for task in &tasks {
            text.line(format!(
                "  {} {} {}",
                pad_to(task.id.as_str(), 20),
                pad_to(task.status.as_str(), 18),
                shown_line(task.title())
            ));
        }
        Ok(Answer::new(data, text).at(board.revision))
    }
}
