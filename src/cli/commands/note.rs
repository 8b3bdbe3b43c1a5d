use crate::cli::prelude::*;

/// Leave a note for the planner
///
/// A person answers the planner's questions with a note.
///
/// Example: liza note "use argparse, not click" --task t1
#[derive(Args)]
pub struct NoteArgs {
    /// Text, @file, or - for standard input
    pub text: String,
    /// Task that the note is about
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
