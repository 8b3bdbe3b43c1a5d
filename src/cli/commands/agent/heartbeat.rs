use crate::cli::prelude::*;

/// Say that this agent is alive; renews its leases
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
