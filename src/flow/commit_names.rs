//! Resolves a commit name in the caller's directory: `HEAD` in a worktree is that worktree's.

use super::prelude::*;

impl Context {
    /// The commit that `rev` names in the caller's directory.
    pub fn resolve_here(&self, rev: &Revision) -> Result<Option<CommitId>> {
        let linked = std::env::current_dir().ok().and_then(|cwd| self.linked_worktree_at(&cwd));
        let Some(worktree) = linked else { return Ok(self.query()?.resolve(rev.as_str())?) };
        let rev = self.query()?.with_branch_in_full(rev.as_str());
        let git = Git::reading(&worktree, "rev-parse").args(["--verify", "--quiet"]).end_of_options();
        let output = git.arg(format!("{rev}^{{commit}}")).output()?;
        let line = String::from_utf8_lossy(&output.stdout);
        Ok(CommitId::new(line.trim()).ok().filter(|_| output.status.success()))
    }

    /// The commit that `rev` names, or a failure.
    pub fn commit_named(&self, rev: &Revision) -> Result<CommitId> {
        let found = self.query()?.resolve(rev.as_str())?;
        found.ok_or_else(|| failure!(Code::Value, "`{rev}` does not name a commit"))
    }

    /// The linked worktree of this repository that contains a directory.
    pub fn linked_worktree_at(&self, cwd: &Path) -> Option<PathBuf> {
        let top = cwd.ancestors().find(|dir| dir.join(".git").symlink_metadata().is_ok())?;
        checkouts::check_sound(&self.repo, top).is_ok().then(|| top.to_owned())
    }
}
