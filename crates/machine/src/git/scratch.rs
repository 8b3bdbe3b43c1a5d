//! Directories for what a command needs only while it runs.

use std::path::Path;

use super::command::GitError;
use crate::host::place::Temporary;

/// How scratch directories of ours begin; the number of the process follows, by which a dead one's are known.
pub const SCRATCH: &str = "liza-scratch-";

/// A directory for things that are not needed afterwards. A `TMPDIR` that lies in the repository or one of its worktrees,
/// or is no directory, is not used: what is made there would count as a change.
pub fn scratch_dir(common_dir: &Path, checkout: &Path) -> Result<Temporary, GitError> {
    let prefix = format!("{SCRATCH}{}-", std::process::id());
    let chosen = std::env::temp_dir();
    let inside = |dir: &Path| {
        dir.starts_with(checkout) || common_dir.parent().is_some_and(|root| dir.starts_with(root))
    };
    if let Ok(real) = chosen.canonicalize()
        && !inside(&real)
        && let Ok(made) = Temporary::new(&real, &prefix)
    {
        return Ok(made);
    }
    Temporary::new(common_dir, &prefix).map_err(GitError::io(common_dir))
}
