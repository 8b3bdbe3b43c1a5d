use crate::cli::prelude::*;
use crate::flow::trash::restore;

/// Move an entry of the trash back to its origin (people only)
///
/// Refused if a file exists there. A worktree becomes a worktree again, on its branch.
///
/// Example: liza trash restore t1
#[derive(Args)]
pub struct RestoreArgs {
    /// Name of the entry in `liza trash list`
    pub name: String,
}

impl OnBoard for RestoreArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        session.people_only("restore from the trash")?;
        let path = restore(&session.ctx, &self.name)?;
        let text = format!("{} is restored to {}", self.name, path.display());
        Ok(Answer::new(json!({ "name": self.name, "path": path.to_string_lossy() }), text))
    }
}
