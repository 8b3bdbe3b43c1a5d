use crate::cli::prelude::*;
use crate::flow::experiment::{Announced, Lab, adopt, find};

/// Make a run's approved change the work of a task
///
/// Claims the task, writes its checkpoint from the run's plan, and applies the change as a bundle. Submit, review and merge
/// follow as for any other work; the adopter counts as the implementer.
///
/// Example: liza experiment adopt faster-cache --task cache
#[derive(Args)]
pub struct AdoptArgs {
    /// Id of the run, or of an idea for its last run
    pub run: String,
    /// Id of the task
    #[arg(long, add = Completer::Tasks(|status| status == Status::Idle))]
    pub task: TaskId,
    /// Validation command of the task's checkpoint (default: the experiment's tests)
    #[arg(long, value_name = "CMD", requires = "expect")]
    pub validate: Option<String>,
    /// Text that the command must print
    #[arg(long, value_name = "TEXT", requires = "validate")]
    pub expect: Option<String>,
}

impl OnBoard for AdoptArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let ctx = &session.ctx;
        let lab = Lab::open(ctx)?;
        let kept = find(&lab, &self.run)?;
        let announced = Announced { validation: self.validate.clone().zip(self.expect.clone()) };
        let (adopted, revision) = adopt(ctx, &lab, &kept, &self.task, &announced)?;
        let id = &self.task;
        let text = format!(
            "{id} now has the change of {} ({}) in {}\nnext: liza task submit {id}",
            adopted.run_id,
            plural(adopted.files.len(), "file"),
            adopted.worktree
        );
        Ok(Answer::new(adopted, text).at(revision))
    }
}
