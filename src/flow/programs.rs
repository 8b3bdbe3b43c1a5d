//! Finds the path of a program.

use std::ffi::OsStr;

use super::prelude::*;

/// Searches like the system does.
pub fn find(program: &str, root: &Path) -> Option<PathBuf> {
    let runs = |path: &Path| {
        fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    };
    if program.contains('/') {
        return Some(root.join(program)).filter(|path| runs(path));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(OsStr::new(&path)).map(|dir| dir.join(program)).find(|path| runs(path))
}
