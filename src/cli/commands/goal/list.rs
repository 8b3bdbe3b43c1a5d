use super::word;
use crate::cli::prelude::*;

/// List finished, current and queued goals
///
/// Example: liza goal list
#[derive(Args)]
pub struct ListArgs {}

impl OnBoard for ListArgs {
    const ACCESS: Access = Access::Reads;

    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let board = session.ctx.read(&Needs::Nothing)?.board;
        let current = &board.rest.goal.id;
        let data: Vec<Value> = board
            .all_goals()
            .map(|goal| {
                let tasks = board.tasks.iter().filter(|task| board.goal_of(task) == goal.id).count();
                json!({
                    "id": goal.id, "description": goal.description, "status": goal.status,
                    "current": &goal.id == current, "spec_ref": goal.spec_ref, "tasks": tasks,
                })
            })
            .collect();
        let mut text = String::new();
        for goal in board.all_goals() {
            let mark = if &goal.id == current { "*" } else { " " };
            let line = goal.description.lines().next().unwrap_or_default();
            text.line(format!(
                "{mark} {} {} {}",
                pad_to(&goal.id, 8),
                pad_to(word(goal.status), 11),
                clipped(&shown_line(line), 100)
            ));
        }
        Ok(Answer::new(json!({ "current": current, "goals": data }), text).at(board.revision))
    }
}
