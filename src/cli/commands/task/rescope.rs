use crate::board::goals::Specs;
use crate::cli::prelude::*;
use crate::wire::plan::read_plan;

/// Replace a task by other tasks (planner, people)
///
/// Example: liza task rescope t1 --into new-tasks.yaml --reason "root cause: two features in one"
#[derive(Args)]
pub struct RescopeArgs {
    /// Id of the task
    #[arg(add = Completer::Tasks(|status| !status.is_terminal()))]
    pub id: TaskId,
    /// Plan file with the replacement tasks, or - for standard input
    #[arg(long, value_name = "FILE", value_hint = ValueHint::AnyPath)]
    pub into: Option<String>,
    /// Existing task that replaces it; repeat for several
    #[arg(long, value_name = "TASK", required_unless_present = "into", add = Completer::Tasks(|status| !status.is_terminal()))]
    pub by: Vec<TaskId>,
    /// Reason, with the root cause
    #[arg(long)]
    pub reason: String,
}

impl OnBoard for RescopeArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let id = &self.id;
        let into = match &self.into {
            Some(file) => read_plan(&session.input.document(file)?)?,
            None => Vec::new(),
        };
        let Specs { found: specs_found, pins } = session.ctx.pin_specs(&into)?;
        let existing = self.by.clone();
        let rescope = Rescope {
            task: id.clone(),
            into,
            existing,
            reason: session.input.text(&self.reason)?,
            specs_found,
            pins,
            strict: true,
            slices: true,
        };
        session.commit(rescope, |rescoped| {
            format!("{id} is SUPERSEDED by {}", rescoped.superseded_by.join(", "))
        })
    }
}
