use crate::cli::prelude::*;

/// Extend your lease on a review
///
/// Example: liza review renew t1
#[derive(Args)]
pub struct RenewArgs {
    /// The task
    #[arg(add = Completer::Tasks(super::under_review))]
    pub id: TaskId,
}

impl OnBoard for RenewArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let task = self.id.clone();
        session.commit(RenewReview { task }, |renewed| {
            format!("review lease extended to {}", renewed.lease_expires)
        })
    }
}
