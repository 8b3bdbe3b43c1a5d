use crate::cli::prelude::*;

/// Give up your claim and leave the work on its branch
///
/// Example: liza task release t1 --reason "out of time"
#[derive(Args)]
pub struct ReleaseArgs {
    /// Id of the task
    #[arg(add = Completer::Tasks(|status| status == Status::Working))]
    pub id: TaskId,
    /// Reason
    #[arg(long, default_value = "")]
    pub reason: String,
}

impl OnBoard for ReleaseArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let id = &self.id;
        let release = Release {
            epoch: session.ctx.epoch_of(id),
            reason: session.input.text(&self.reason)?,
            task: id.clone(),
        };
        attempt::keep_uncommitted(&session.ctx, id, &release)?;
        session
            .commit(release, |released| format!("{id} is {}; its work stays on its branch", released.status))
    }
}
