use crate::cli::prelude::*;
use crate::flow::lock;

/// Release the paths of a task (people only)
///
/// The claim ends: liza refuses further commands of its agent for this task. The work stays on its branch, and the
/// task can be claimed again when the paths are free. The same as `liza status --force-unlock`.
///
/// Example: liza lock release t1 --reason "its agent is gone"
#[derive(Args)]
pub struct ReleaseArgs {
    /// Id of the task
    #[arg(add = Completer::Tasks(holds_paths))]
    pub id: TaskId,
    /// Reason
    #[arg(long)]
    pub reason: String,
}

impl OnBoard for ReleaseArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let reason = session.input.text(&self.reason)?;
        release(session, &self.id, &reason)
    }
}

/// `lock release` and `status --force-unlock`.
pub fn release(session: &mut Session, id: &TaskId, reason: &str) -> Result<Answer, Failure> {
    session.seal_request()?;
    let (data, revision) = lock::release(&session.ctx, id, reason)?;
    let paths = plural(data.paths.len(), "path");
    let fenced = match &data.fenced {
        Some(agent) => format!("; `{agent}` can no longer submit work for it"),
        None => String::new(),
    };
    let status = data.status;
    let text = format!("{id} is {status} and has released {paths}{fenced}; its work stays on its branch");
    Ok(Answer::new(data, text).at(revision))
}

/// Whether a task in this state may hold paths.
pub fn holds_paths(status: Status) -> bool {
    matches!(
        status,
        Status::Working | Status::Idle | Status::Rejected | Status::Blocked | Status::IntegrationFailed
    )
}
