use crate::board::records::AnomalyKind;
use crate::cli::prelude::*;

/// Record a problem on a task, by type
///
/// Each type requires its own details; an unknown type lists all types.
///
/// Example: liza anomaly spec_ambiguity --task t1 --detail question="Is an empty name allowed?"
#[derive(Args)]
pub struct AnomalyArgs {
    /// Type of the problem
    #[arg(value_name = "TYPE")]
    pub kind: AnomalyKind,
    /// Task on which the problem happened
    #[arg(long, value_name = "TASK")]
    pub task: TaskId,
    /// Detail; repeat
    #[arg(long = "detail", value_name = "KEY=VALUE")]
    pub details: Vec<String>,
}

impl OnBoard for AnomalyArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let details = session.input.pairs(&self.details)?;
        let log = LogAnomaly { kind: self.kind, task: self.task.clone(), details };
        session.commit(log, |record| format!("recorded as {}", record.id))
    }
}
