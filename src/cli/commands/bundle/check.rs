use super::listed;
use crate::cli::prelude::*;
use crate::flow::attempt::integration_head;

/// Check format, limits, paths, owners and checksums of a bundle
///
/// Changes nothing. Exit 1: the bundle itself is invalid. Exit 11: the bundle is valid and does not apply, or another
/// task owns a path that it changes.
///
/// Example: liza bundle check t1.patchbundle.json --onto integration
#[derive(Args)]
pub struct CheckArgs {
    /// Bundle file
    pub file: PathBuf,
    /// Commit to apply the bundle to (default: the head of integration)
    #[arg(long, value_name = "REV")]
    pub onto: Option<Revision>,
    /// Task that the bundle is meant for; its own paths are no obstacle
    #[arg(long, value_name = "TASK")]
    pub task: Option<TaskId>,
}

impl OnBoard for CheckArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let loaded = bundle::load(&self.file)?;
        let named = self.task.clone();
        let own = named.as_ref().or(loaded.bundle.task.as_ref());
        let snapshot = session.ctx.read(&Needs::Nothing)?;
        let onto = match &self.onto {
            Some(rev) => session.ctx.commit_named(rev)?,
            None => integration_head(&session.ctx, &snapshot.board)?,
        };
        let applied = bundle::examine(&session.ctx, &snapshot.board, &loaded.bundle, &onto, own)?;
        let data = bundle::report(&loaded.bundle, &onto, applied);
        if !data.applies {
            return Err(
                bundle::failure_for(&loaded.path, &data.problems).with_data(data, snapshot.board.revision)
            );
        }
        let unknown = match data.unverified.len() {
            0 => String::new(),
            count => {
                format!("\n{count} of them have no checksum: only the lines in the bundle were compared")
            }
        };
        let text = format!("{} fits {}{}{unknown}", data.bundle, onto.short(), listed(&data.files));
        Ok(Answer::new(data, text).at(snapshot.board.revision))
    }
}
