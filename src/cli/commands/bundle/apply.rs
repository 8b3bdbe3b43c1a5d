use super::{listed, seal_bytes};
use crate::cli::prelude::*;

/// Apply a whole bundle to the branch of a task
///
/// For the holder of the task, after its checkpoint, in a clean worktree. liza runs the gates on the result first; if
/// one fails, nothing changes. A conflict applies nothing and blocks the task.
///
/// Example: liza bundle apply t1.patchbundle.json --task t2
#[derive(Args)]
pub struct ApplyArgs {
    /// Bundle file
    pub file: PathBuf,
    /// Task whose branch gets the change
    #[arg(long, value_name = "TASK", add = Completer::Tasks(|status| status == Status::Working))]
    pub task: TaskId,
}

impl OnBoard for ApplyArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let loaded = bundle::load(&self.file)?;
        let task = self.task.clone();
        session.seal_request()?;
        seal_bytes(session, &loaded.bytes);
        let (data, revision) = bundle::apply(&session.ctx, &loaded, &task)?;
        let how = if data.already_applied == Some(true) { "was applied already" } else { "is applied" };
        let (bundle, commit) = (&data.applied.bundle, &data.applied.commit);
        let files = listed(data.files.as_deref().unwrap_or_default());
        let text = format!("{bundle} {how} to {task} as {commit}{files}\nnext: liza task submit {task}");
        Ok(Answer::new(data, text).at(revision))
    }
}
