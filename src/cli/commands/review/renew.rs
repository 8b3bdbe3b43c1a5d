use crate::cli::prelude::*;

/// Extend your lease on a review
///
/// Example: liza review renew t1
#[derive(Args)]
pub struct RenewArgs {
    /// Id of the task (optional inside its review checkout)
    #[arg(add = Completer::Tasks(super::under_review))]
    pub id: Option<TaskId>,
}

impl OnBoard for RenewArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let task = session.task_or_here(self.id.as_ref())?;
        session.commit(RenewReview { task }, |renewed| {
            format!("review lease extended to {}", renewed.lease_expires)
        })
    }
}
