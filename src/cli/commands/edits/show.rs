use crate::cli::prelude::*;
use crate::flow::edits;

/// Show what a manual edit of state.yaml would change
///
/// Example: liza edits show edit-6.yaml
#[derive(Args)]
pub struct ShowArgs {
    /// Name of the edit in `liza edits list`
    #[arg(value_name = "EDIT")]
    pub edit: String,
}

impl OnBoard for ShowArgs {
    const ACCESS: Access = Access::Reads;

    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let snapshot = session.ctx.read(&Needs::Everything)?;
        let looked = edits::look(&session.ctx, &snapshot.board, &self.edit)?;
        let mut text = String::new();
        match &looked.why_not {
            None => text.line(format!("liza edits apply {} would change:", shown_line(&self.edit))),
            Some(why) => text.line(format!("it cannot be applied: {}", shown_line(why))),
        }
        for change in &looked.changes {
            text.line(format!("  {}", shown_line(change)));
        }
        looked.difference.lines().for_each(|line| text.line(shown_line(line)));
        Ok(Answer::new(looked, text).at(snapshot.board.revision))
    }
}
