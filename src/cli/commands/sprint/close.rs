use crate::cli::prelude::*;

/// Close the open sprint and draft a retrospective (people only)
///
/// The metrics of the sprint are kept; the retrospective is drafted from them.
///
/// Example: liza sprint close --note "the demo went well"
#[derive(Args)]
pub struct CloseArgs {
    /// Remark on the sprint
    #[arg(long)]
    pub note: Option<String>,
}

impl OnBoard for CloseArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let note = self.note.as_ref().map(|text| session.input.text(text)).transpose()?;
        session.seal_request()?;
        let closed = sprint::close(&session.ctx, note)?;
        let mut text =
            format!("{} is closed\nretrospective: {}", closed.sprint.id, closed.retrospective.display());
        if closed.halted {
            text.push_str("\nCHECKPOINT is still set: `liza resume` lets the team continue");
        }
        let revision = closed.revision;
        Ok(Answer::new(closed, text).at(revision))
    }
}
