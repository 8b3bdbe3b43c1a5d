use crate::cli::prelude::*;

/// Answer the questions of a blocked task (planner, people)
///
/// Example: liza task unblock t1 --answer "an empty name prints Hello, World"
#[derive(Args)]
pub struct UnblockArgs {
    /// Id of the task
    #[arg(add = Completer::Tasks(|status| status == Status::Blocked))]
    pub id: TaskId,
    /// Answer to the questions
    #[arg(long)]
    pub answer: String,
    /// Number of further review rounds to grant
    #[arg(long, default_value_t = 0)]
    pub cycles: u32,
}

impl OnBoard for UnblockArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let id = &self.id;
        let unblock =
            Unblock { answer: session.input.text(&self.answer)?, cycles: self.cycles, task: id.clone() };
        session.commit(unblock, |Unblocked { status, reserved_for, .. }| match reserved_for {
            Some(agent) => format!("{id} is {status} and waits for {agent}"),
            None => format!("{id} is {status}"),
        })
    }
}
