use crate::cli::prelude::*;
use crate::flow::edits;
use crate::store::pending::Word;

/// Apply a manual edit of state.yaml (people only)
///
/// An edit made while agents were at work is applied only by this command, unless it only adds notes: an agent could
/// have written the file as well as a person. Values that only liza may change are never applied.
///
/// Example: liza edits apply edit-6.yaml
#[derive(Args)]
pub struct ApplyArgs {
    /// Name of the edit in `liza edits list`
    #[arg(value_name = "EDIT")]
    pub edit: String,
}

impl OnBoard for ApplyArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        session.people_only("apply an edit")?;
        let settled = edits::settle(&session.ctx, &self.edit, Word::Apply)?;
        let text = settled.words();
        Ok(Answer::new(settled, text))
    }
}
