use crate::cli::prelude::*;

/// Give a review back, so that somebody else can take it
///
/// Example: liza review release t1
#[derive(Args)]
pub struct ReleaseArgs {
    /// The task; in its review checkout it may be left out
    #[arg(add = Completer::Tasks(super::under_review))]
    pub id: Option<TaskId>,
}

impl OnBoard for ReleaseArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let id = &session.task_or_here(self.id.as_ref())?;
        session.commit(ReleaseReview { task: id.clone() }, |_| format!("the review of {id} is free again"))
    }
}
