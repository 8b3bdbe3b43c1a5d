use super::shown;
use crate::cli::prelude::*;
use crate::flow::mail::Wanted;

/// Show messages, oldest first: of a task, of a sender, to a receiver, of a type
///
/// With --task the submissions of the task and the verdicts on them stand between the messages (`submission-N`, `verdict-N`).
///
/// Example: liza message list --task t1 --all
#[derive(Args)]
pub struct ListArgs {
    /// About this task
    #[arg(long, value_name = "TASK")]
    pub task: Option<TaskId>,
    /// From this agent, or human
    #[arg(long, value_name = "AGENT")]
    pub from: Option<AgentId>,
    /// To this agent, role:ROLE, or human
    #[arg(long, value_name = "RECIPIENT")]
    pub to: Option<Recipient>,
    /// Of this type
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: Option<MessageKind>,
    /// Also what has left the board: every message in the log
    #[arg(long)]
    pub all: bool,
    /// The last N of them
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50)]
    pub number: usize,
}

/// So many at most, however many are asked for: they are held in memory.
const MOST_LISTED: usize = 1_000;

impl OnBoard for ListArgs {
    const ACCESS: Access = Access::Reads;

    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let wanted =
            Wanted { task: self.task.clone(), from: self.from.clone(), to: self.to.clone(), kind: self.kind };
        Ok(shown(&mail::list(&session.ctx, &wanted, self.all, self.number.min(MOST_LISTED))?))
    }
}
