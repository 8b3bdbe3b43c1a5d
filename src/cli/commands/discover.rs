use crate::board::records::Urgency;
use crate::board::review::Severity;
use crate::cli::prelude::*;

/// Report further work that you noticed during a task
///
/// Example: liza discover "the parser drops empty lines" --task t1 --severity minor --urgency deferred
#[derive(Args)]
pub struct DiscoverArgs {
    /// What you noticed
    pub text: String,
    /// Task during which you noticed it
    #[arg(long, value_name = "TASK")]
    pub task: TaskId,
    /// critical, major, minor or nitpick
    #[arg(long)]
    pub severity: Severity,
    /// deferred or immediate (wakes the planner)
    #[arg(long)]
    pub urgency: Urgency,
}

impl OnBoard for DiscoverArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let found = Discover {
            text: session.input.text(&self.text)?,
            task: self.task.clone(),
            severity: self.severity,
            urgency: self.urgency,
        };
        session.commit(found, |record| format!("recorded as {}", record.id))
    }
}
