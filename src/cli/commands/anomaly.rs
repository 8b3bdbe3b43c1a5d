use crate::board::records::AnomalyKind;
use crate::cli::prelude::*;

/// Record something that went wrong, of a known type with its required details
///
/// Example: liza anomaly spec_ambiguity --task t1 --detail question="Is an empty name allowed?"
#[derive(Args)]
pub struct AnomalyArgs {
    /// Its type; an unknown one lists them all
    #[arg(value_name = "TYPE")]
    pub kind: AnomalyKind,
    /// The task it happened on
    #[arg(long, value_name = "TASK")]
    pub task: TaskId,
    /// A detail, repeated for each
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
