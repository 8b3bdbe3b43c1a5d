//! Finds the path of a program.

use super::prelude::*;

/// Searches like the system does; a path is one from the repository's root.
pub fn find(program: &str, root: &Path) -> Option<PathBuf> {
    if program.contains('/') {
        return host::program(root.join(program).to_str()?);
    }
    host::program(program)
}
