use crate::cli::prelude::*;
use crate::flow::streams;

/// Accept a plan or the result of a merge slice
///
/// Planners and people accept plans, code reviewers the results of merge slices, and no author its own.
///
/// Example: liza result accept w1-plan
#[derive(Args)]
pub struct AcceptArgs {
    /// Id of the task
    #[arg(add = Completer::Tasks(|status| status == Status::ReadyForReview))]
    pub task: TaskId,
}

impl OnBoard for AcceptArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        session.seal_request()?;
        let (accepted, revision) = streams::accept(&session.ctx, &self.task)?;
        let text = match accepted.tasks.len() {
            0 => format!("the result of {} is accepted ({})", self.task, accepted.status),
            _ => format!("the result of {} is accepted; added {}", self.task, commas(&accepted.tasks)),
        };
        Ok(Answer::new(accepted, text).at(revision))
    }
}
