//! Where a program is.

use std::ffi::OsStr;

use super::prelude::*;

/// As the system looks for a program.
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
