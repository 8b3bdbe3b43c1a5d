use super::shown;
use crate::cli::prelude::*;

/// Show a thread of messages, oldest first
///
/// Example: liza message thread message-1
#[derive(Args)]
pub struct ThreadArgs {
    /// Id of any message in the thread
    #[arg(value_name = "MESSAGE")]
    pub id: MessageId,
}

impl OnBoard for ThreadArgs {
    const ACCESS: Access = Access::Reads;

    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        Ok(shown(&mail::thread(&session.ctx, &self.id)?))
    }
}
