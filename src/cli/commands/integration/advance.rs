use crate::cli::prelude::*;

/// Bring a commit that liza did not make into integration (people only)
///
/// Fast-forward if possible, else merged; recorded before and after, like any merge.
///
/// Example: liza integration advance main --reason "upstream fix"
#[derive(Args)]
pub struct AdvanceArgs {
    /// A branch, tag or commit
    pub rev: Revision,
    /// Why
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
