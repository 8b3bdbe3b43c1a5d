use super::listed;
use crate::cli::prelude::*;

/// Create a .patchbundle.json file from a task's branch
///
/// liza writes it to .liza/bundles under the next free number of the day, and also to --out. Uncommitted work is not
/// part of it.
///
/// Example: liza bundle create t1
#[derive(Args)]
pub struct CreateArgs {
    /// Id of the task
    pub task: TaskId,
    /// Write the bundle to this file too; the file must not exist
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

impl OnBoard for CreateArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let id = &self.task;
        session.seal_request()?;
        let (data, revision) = bundle::create(&session.ctx, id, self.out.as_deref())?;
        let left_out = match data.uncommitted.len() {
            0 => String::new(),
            count => format!("\n{count} uncommitted files of the worktree are not in it"),
        };
        let text = format!("{}: {}{}{left_out}", data.bundle, data.path.display(), listed(&data.files));
        Ok(Answer::new(data, text).at(revision))
    }
}
