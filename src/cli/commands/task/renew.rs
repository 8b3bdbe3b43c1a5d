use crate::cli::prelude::*;

/// Extend your lease on a task
///
/// Every other command that you run also extends your leases.
///
/// Example: liza task renew t1
#[derive(Args)]
pub struct RenewArgs {
    /// Id of the task
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
