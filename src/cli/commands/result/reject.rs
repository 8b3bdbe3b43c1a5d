use crate::cli::prelude::*;
use crate::flow::results;

/// Send a plan or the result of a merge slice back to its author
///
/// Example: liza result reject w1-plan --reason "slices overlap" --finding "w1-a and w1-b both own src/"
#[derive(Args)]
pub struct RejectArgs {
    /// Id of the task
    #[arg(add = Completer::Tasks(|status| status == Status::ReadyForReview))]
    pub task: TaskId,
    /// Reason, in one sentence
    #[arg(long)]
    pub reason: String,
    /// Finding; repeat
    #[arg(long, value_name = "TEXT")]
    pub finding: Vec<String>,
}

impl OnBoard for RejectArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let reason = session.input.text(&self.reason)?;
        let findings = session.input.texts(&self.finding)?;
        session.seal_request()?;
        let (rejected, revision) = results::reject(&session.ctx, &self.task, &reason, findings)?;
        let text = match &rejected.blocked_reason {
            Some(why) => format!("the result of {} is rejected; it is BLOCKED: {why}", self.task),
            None => format!("the result of {} is rejected; its author continues the task", self.task),
        };
        Ok(Answer::new(rejected, text).at(revision))
    }
}
