use super::listed;
use crate::cli::prelude::*;
use crate::flow::attempt::integration_head;

/// Say whether a bundle is sound and fits: format, limits, paths, owners, checksums
///
/// Changes nothing. Exit 1: the bundle itself is refused. Exit 11: it is sound and does not fit, or somebody owns what it
/// changes.
///
/// Example: liza bundle check t1.patchbundle.json --onto integration
#[derive(Args)]
pub struct CheckArgs {
    /// The bundle
    pub file: PathBuf,
    /// The commit it is to fit; the head of integration without it
    #[arg(long, value_name = "REV")]
    pub onto: Option<Revision>,
    /// The task it is meant for, whose own paths do not stand in its way
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
            return Err(bundle::told(&loaded.path, &data.problems).with_data(data, snapshot.board.revision));
        }
        let unknown = match data.unverified.len() {
            0 => String::new(),
            count => {
                format!("\nno checksum is given of {count} of them: only the lines it names were compared")
            }
        };
        let told = format!("{} fits {}{}{unknown}", data.bundle, onto.short(), listed(&data.files));
        Ok(Answer::new(data, told).at(snapshot.board.revision))
    }
}
