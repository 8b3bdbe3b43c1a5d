use crate::cli::prelude::*;
use crate::flow::edits;
use crate::store::pending::Word;

/// Apply an edit of state.yaml by hand (people only)
///
/// An edit made while agents were at work is applied only by this command, unless it adds notes alone: each of them can write the
/// file as a person can. What only liza may change is never applied.
///
/// Example: liza edits apply edit-6.yaml
#[derive(Args)]
pub struct ApplyArgs {
    /// As `liza edits list` names it
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
