//! Directories for what a command needs only while it runs.

use std::path::Path;

use super::command::GitError;
use crate::host::anchored_path::Temporary;

/// Name prefix of liza's scratch directories; the pid follows, which shows whether its process is dead.
pub const SCRATCH: &str = "liza-scratch-";

/// A directory for temporary files. A `TMPDIR` inside the repository or one of its worktrees, or that is no
/// directory, is not used: files made there would count as a change.
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
