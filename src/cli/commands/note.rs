use crate::cli::prelude::*;

/// Leave a note; a person's note is how the planner gets an answer
///
/// Example: liza note "use argparse, not click" --task t1
#[derive(Args)]
pub struct NoteArgs {
    /// The text, @file, or - for standard input
    pub text: String,
    /// The task it is about
    #[arg(long, value_name = "TASK")]
    pub task: Option<TaskId>,
}

impl OnBoard for NoteArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let task = self.task.clone();
        let note = AddNote { text: session.input.text(&self.text)?, task };
        session.commit(note, |record| format!("noted as {}", record.id))
    }
}
