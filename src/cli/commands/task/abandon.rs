use crate::cli::prelude::*;

/// Abandon a task permanently (planner, people)
///
/// Example: liza task abandon t1 --reason "no longer wanted"
#[derive(Args)]
pub struct AbandonArgs {
    /// Id of the task
    #[arg(add = Completer::Tasks(|status| !status.is_terminal()))]
    pub id: TaskId,
    /// Reason
    #[arg(long)]
    pub reason: String,
}

impl OnBoard for AbandonArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let id = &self.id;
        let abandon = Abandon { reason: session.input.text(&self.reason)?, task: id.clone() };
        session.commit(abandon, |Abandoned { stranded, .. }| {
            if stranded.is_empty() {
                format!("{id} is ABANDONED")
            } else {
                format!(
                    "{id} is ABANDONED; these tasks depend on it and can never start: {}",
                    stranded.join(", ")
                )
            }
        })
    }
}
