use crate::cli::prelude::*;

/// Block a task with a reason and one to three questions
///
/// Example: liza task block t1 --reason "the spec contradicts itself" --question "Is an empty name allowed?"
#[derive(Args)]
pub struct BlockArgs {
    /// Id of the task (optional inside its worktree)
    #[arg(add = Completer::Tasks(|status| !status.is_terminal()))]
    pub id: Option<TaskId>,
    /// Why the work cannot continue
    #[arg(long)]
    pub reason: String,
    /// Question whose answer unblocks the task; one to three times
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
