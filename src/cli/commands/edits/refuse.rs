use crate::cli::prelude::*;
use crate::flow::edits;
use crate::store::pending::Word;

/// Refuse a waiting manual edit of state.yaml (people only)
///
/// The edited file is kept below .liza/edits; notes typed into it leave the board.
///
/// Example: liza edits refuse edit-6.yaml
#[derive(Args)]
pub struct RefuseArgs {
    /// Name of the edit in `liza edits list`
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
