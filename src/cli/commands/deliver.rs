use crate::cli::prelude::*;

/// Bring integration to another branch (people only)
///
/// Only as a fast-forward. If that branch is checked out, prints the git command for you instead.
///
/// Example: liza deliver --to main
#[derive(Args)]
pub struct DeliverArgs {
    /// The branch to move
    #[arg(long = "to", value_name = "BRANCH", default_value = "main")]
    pub branch: String,
}

impl OnBoard for DeliverArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let (moved, revision) = advance::deliver(&session.ctx, &self.branch)?;
        let text = format!("{} is at {}", moved.branch, moved.new);
        Ok(Answer::new(moved, text).at(revision))
    }
}
