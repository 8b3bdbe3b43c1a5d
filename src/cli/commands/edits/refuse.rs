use crate::cli::prelude::*;
use crate::flow::edits;
use crate::store::pending::Word;

/// Refuse an edit of state.yaml by hand that waits (people only)
///
/// The file is kept below .liza/edits; notes that were typed in it leave the board.
///
/// Example: liza edits refuse edit-6.yaml
#[derive(Args)]
pub struct RefuseArgs {
    /// As `liza edits list` names it
    #[arg(value_name = "EDIT")]
    pub edit: String,
}

impl OnBoard for RefuseArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        session.people_only("refuse an edit")?;
        let settled = edits::settle(&session.ctx, &self.edit, Word::Refuse)?;
        let text = settled.words();
        Ok(Answer::new(settled, text))
    }
}
