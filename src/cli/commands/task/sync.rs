use crate::cli::prelude::*;

/// Merge integration into the task's branch, in its worktree
///
/// Exit 11 if the merge conflicts; the merge is then in progress in the worktree, and you finish it there.
///
/// Example: liza task sync t1
#[derive(Args)]
pub struct SyncArgs {
    /// Id of the task
    #[arg(add = Completer::Tasks(|status| status == Status::Working))]
    pub id: TaskId,
}

impl OnBoard for SyncArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let id = &self.id;
        session.seal_request()?;
        let (synced, revision) = claim::sync(&session.ctx, id)?;
        if !synced.conflicts.is_empty() {
            let text = format!("integration conflicts with {id} in {}", synced.conflicts.join(", "));
            return Err(Failure::new(ErrorCode::GitConflict, text)
                .hint("the merge is in progress in the worktree: resolve, commit, then submit")
                .with_data(synced, revision));
        }
        let text = format!("{id} now starts from {}", synced.base_commit);
        Ok(Answer::new(synced, text).at(revision))
    }
}
