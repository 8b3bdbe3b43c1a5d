use super::find;
use crate::board::GoalId;
use crate::cli::prelude::*;

/// Abandon a goal and its unfinished tasks (people only)
///
/// Merged work stays merged. `liza run` continues with the next goal in the queue.
///
/// Example: liza goal abandon goal-1 --reason "another project does it"
#[derive(Args)]
pub struct AbandonArgs {
    /// Id of the goal
    #[arg(value_hint = ValueHint::Other)]
    pub id: GoalId,
    /// Reason
    #[arg(long)]
    pub reason: String,
}

impl OnBoard for AbandonArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let board = session.ctx.read(&Needs::Nothing)?.board;
        let goal = find(&board, Some(&self.id))?.id.clone();
        let reason = session.input.text(&self.reason)?;
        let waits = board.queued_goals().any(|queued| queued.id != goal);
        session.commit(AbandonGoal { goal, reason }, |done| {
            let tasks = match done.tasks.is_empty() {
                true => String::new(),
                false => format!(", and with it {}", commas(&done.tasks)),
            };
            let next = if waits { "liza run" } else { "liza goal \"TEXT\"" };
            format!("{} is abandoned{tasks}\nnext: {next}", done.goal)
        })
    }
}
