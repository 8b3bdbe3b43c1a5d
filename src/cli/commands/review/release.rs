use crate::cli::prelude::*;

/// Give a review back, so that somebody else can take it
///
/// Example: liza review release t1
#[derive(Args)]
pub struct ReleaseArgs {
    /// The task
    #[arg(add = Completer::Tasks(super::under_review))]
    pub id: TaskId,
}

impl OnBoard for ReleaseArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let id = &self.id;
        session
            .commit(ReleaseReview { task: id.clone() }, move |_| format!("the review of {id} is free again"))
    }
}
