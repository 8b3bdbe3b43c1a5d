use crate::cli::prelude::*;

/// Stop work that cannot go on, saying why and what would help
///
/// Example: liza task block t1 --reason "the spec contradicts itself" --question "Is an empty name allowed?"
#[derive(Args)]
pub struct BlockArgs {
    /// The task; in its worktree it may be left out
    #[arg(add = Completer::Tasks(|status| !status.is_terminal()))]
    pub id: Option<TaskId>,
    /// Why it cannot go on
    #[arg(long)]
    pub reason: String,
    /// What would unblock it, one to three times
    #[arg(long, required = true)]
    pub question: Vec<String>,
}

impl OnBoard for BlockArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let id = &session.task_or_here(self.id.as_ref())?;
        let block = Block {
            from_first_claim: true,
            epoch: session.ctx.epoch_of(id),
            reason: session.input.text(&self.reason)?,
            questions: session.input.texts(&self.question)?,
            task: id.clone(),
        };
        session
            .commit(block, |_| format!("{id} is BLOCKED; it waits for `liza task unblock {id} --answer …`"))
    }
}
