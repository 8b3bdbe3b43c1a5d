//! A directory's entries as seen from outside, so that changes show without any notification.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::hints::IsNews;

/// One look at a directory. Two equal ones saw the same files with the same bytes; reading a file changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Glance {
    /// Device and inode of the directory; none if it does not exist.
    pub place: Option<(u64, u64)>,
    entries: BTreeMap<OsString, Mark>,
}

/// Whole seconds would miss quick changes, and a replaced file may keep its size.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Mark {
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Glance {
    pub fn at(dir: &Path, is_news: IsNews) -> Self {
        let Ok(meta) = std::fs::symlink_metadata(dir) else { return Self::default() };
        let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
        Self {
            place: Some((meta.dev(), meta.ino())),
            entries: entries
                .filter(|entry| is_news(&entry.file_name()))
                .filter_map(|entry| Some((entry.file_name(), Mark::of(&entry.metadata().ok()?))))
                .collect(),
        }
    }
}

impl Mark {
    /// A directory's entry does not count changes inside it: runners write below some all the time.
    fn of(meta: &std::fs::Metadata) -> Self {
        if meta.is_dir() {
            return Self { inode: meta.ino(), size: 0, modified: (0, 0), changed: (0, 0) };
        }
        Self {
            inode: meta.ino(),
            size: meta.size(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_show_and_reading_does_not() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("file");
        let mut seen = Glance::at(dir.path(), |_| true);
        let mut differs = |what: &str, wanted: bool| {
            let now = Glance::at(dir.path(), |_| true);
            assert_eq!(now != seen, wanted, "{what}");
            seen = now;
        };
        differs("nothing", false);
        std::fs::write(&file, "one").expect("written");
        differs("a new file", true);
        assert_eq!(std::fs::read_to_string(&file).expect("read"), "one");
        differs("read", false);
        std::fs::write(dir.path().join("other"), "two").expect("written");
        std::fs::rename(dir.path().join("other"), &file).expect("renamed");
        differs("replaced by one of the same size", true);
        std::os::unix::fs::symlink("nowhere", dir.path().join("link")).expect("a link");
        differs("a dangling link", true);
        std::fs::remove_file(&file).expect("removed");
        differs("removed", true);
    }

    #[test]
    fn missing_directory_is_a_valid_look() {
        let dir = tempfile::tempdir().expect("a directory");
        let inner = dir.path().join("inner");
        let without = Glance::at(&inner, |_| true);
        assert_eq!(without.place, None);
        std::fs::create_dir(&inner).expect("made");
        assert_ne!(Glance::at(&inner, |_| true), without);
    }
}
