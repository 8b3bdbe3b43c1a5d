use crate::cli::prelude::*;

/// Bring a commit made outside liza into integration (people only)
///
/// Fast-forwards if possible, otherwise merges; recorded before and after, like any merge.
///
/// Example: liza integration advance main --reason "upstream fix"
#[derive(Args)]
pub struct AdvanceArgs {
    /// Branch, tag or commit
    pub rev: Revision,
    /// Reason
    #[arg(long)]
    pub reason: String,
}

impl OnBoard for AdvanceArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let reason = session.input.text(&self.reason)?;
        let (moved, revision) = advance::advance(&session.ctx, &self.rev, &reason)?;
        let text = format!("{} is at {}", moved.branch, moved.new);
        Ok(Answer::new(moved, text).at(revision))
    }
}
