use super::shown;
use crate::cli::prelude::*;
use crate::flow::mail::Wanted;

/// List messages, oldest first
///
/// With --task, the submissions of the task and their verdicts are listed between the messages (`submission-N`,
/// `verdict-N`).
///
/// Example: liza message list --task t1 --all
#[derive(Args)]
pub struct ListArgs {
    /// Only messages about this task
    #[arg(long, value_name = "TASK")]
    pub task: Option<TaskId>,
    /// Only messages from this agent, or human
    #[arg(long, value_name = "AGENT")]
    pub from: Option<AgentId>,
    /// Only messages to this agent, role:ROLE, or human
    #[arg(long, value_name = "RECIPIENT")]
    pub to: Option<Recipient>,
    /// Only messages of this type
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: Option<MessageKind>,
    /// Include messages that are no longer on the board, from the journal
    #[arg(long)]
    pub all: bool,
    /// Number of messages to show, the last ones
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50)]
    pub number: usize,
}

/// The maximum number of messages, because they are held in memory.
const MOST_LISTED: usize = 1_000;

impl OnBoard for ListArgs {
    const ACCESS: Access = Access::Reads;

    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let wanted =
            Wanted { task: self.task.clone(), from: self.from.clone(), to: self.to.clone(), kind: self.kind };
        Ok(shown(&mail::list(&session.ctx, &wanted, self.all, self.number.min(MOST_LISTED))?))
    }
}
