use super::find;
use crate::board::GoalId;
use crate::cli::prelude::*;

/// Give a goal up, and its tasks that are not finished (people only)
///
/// What was merged stays merged. `liza run` goes on with the next goal of the queue.
///
/// Example: liza goal abandon goal-1 --reason "another project does it"
#[derive(Args)]
pub struct AbandonArgs {
    /// The goal
    #[arg(value_hint = ValueHint::Other)]
    pub id: GoalId,
    /// Why
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
