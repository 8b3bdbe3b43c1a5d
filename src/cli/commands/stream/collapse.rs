use crate::board::WorkstreamId;
use crate::cli::prelude::*;

/// Stop all further changes of a workstream (planner, people)
///
/// liza abandons its unclaimed tasks that would change files; claimed tasks continue to their end, and only report
/// tasks are admitted. For a workstream that is blocked or depends on another one.
///
/// Example: liza stream collapse cli --reason "the parser must be decided first"
#[derive(Args)]
pub struct CollapseArgs {
    /// Id of the workstream
    pub stream: WorkstreamId,
    /// Reason
    #[arg(long)]
    pub reason: String,
}

impl OnBoard for CollapseArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let reason = session.input.text(&self.reason)?;
        session.commit(CollapseStream { stream: self.stream.clone(), reason, unbegun: true }, |done| {
            let mut text = format!("{} is read-only from now on\n", done.stream);
            if !done.abandoned.is_empty() {
                text.line(format!("abandoned: {}", commas(&done.abandoned)));
            }
            if !done.under_way.is_empty() {
                text.line(format!("continue to their end: {}", commas(&done.under_way)));
            }
            text
        })
    }
}
