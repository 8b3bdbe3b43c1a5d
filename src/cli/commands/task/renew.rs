use crate::cli::prelude::*;

/// Extend your lease on a task; any other command of yours does too
///
/// Example: liza task renew t1
#[derive(Args)]
pub struct RenewArgs {
    /// The task
    #[arg(add = Completer::Tasks(|status| status == Status::Working))]
    pub id: TaskId,
}

impl OnBoard for RenewArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let id = &self.id;
        let renew = Renew { epoch: session.ctx.epoch_of(id), task: id.clone() };
        session.commit(renew, |renewed| format!("lease extended to {}", renewed.lease_expires))
    }
}
