use crate::cli::prelude::*;

/// Report that this agent is alive and renew its leases
///
/// Example: liza agent heartbeat
#[derive(Args)]
pub struct HeartbeatArgs {}

impl OnBoard for HeartbeatArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let committed = session.ctx.commit(Heartbeat {})?;
        Ok(Answer::new(committed.outcome, "noted").at(committed.board.revision))
    }
}
