//! Whether files were changed since a moment.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Whether something in this directory was written, made, moved or removed at `since`, by [`super::file_clock`], or later. Programs
/// can set the time of the last write, but not that of the last change.
pub fn is_changed_since(dir: &Path, since: (i64, i64)) -> bool {
    walkdir::WalkDir::new(dir).follow_links(false).into_iter().any(|entry| {
        let depth = entry.as_ref().map_or(0, walkdir::DirEntry::depth);
        let Ok(meta) = entry.and_then(|entry| entry.metadata()) else { return true };
        // Renaming a directory changes it, but not the time of the last write.
        let changed =
            if depth == 0 { (meta.mtime(), meta.mtime_nsec()) } else { (meta.ctime(), meta.ctime_nsec()) };
        changed >= since
    })
}
