use crate::cli::prelude::*;

/// Release a review so that another reviewer can claim it
///
/// Example: liza review release t1
#[derive(Args)]
pub struct ReleaseArgs {
    /// Id of the task (optional inside its review checkout)
    #[arg(add = Completer::Tasks(super::under_review))]
    pub id: Option<TaskId>,
}

impl OnBoard for ReleaseArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let id = &session.task_or_here(self.id.as_ref())?;
        session.commit(ReleaseReview { task: id.clone() }, |_| format!("the review of {id} is free again"))
    }
}
