//! Whether files in a directory were changed between two looks at it.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use super::file_clock;

/// So often a tick of the clock is waited for.
const TICKS: usize = 5;

/// What is in a directory: names, kinds, sizes and the times of the last change, which programs cannot set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Contents(u64);

impl Contents {
    /// Looks at everything in the directory. A change in the same tick of the clock would not show in the time of a file, so if
    /// there was one, the look is repeated after that tick.
    pub fn of(dir: &Path) -> Self {
        let mut looks = (0..TICKS).map(|_| {
            let before = file_clock();
            let (contents, newest) = look(dir, before);
            (contents, newest.is_none_or(|newest| newest > file_clock()))
        });
        loop {
            match looks.next() {
                Some((contents, true)) => return contents,
                Some(_) => std::thread::sleep(Duration::from_millis(2)),
                None => return look(dir, file_clock()).0,
            }
        }
    }
}

/// The contents, and the earliest time of a change at `since` or later. The directory itself does not count: renaming it changes
/// it.
fn look(dir: &Path, since: (i64, i64)) -> (Contents, Option<(i64, i64)>) {
    let (mut sum, mut recent) = (0_u64, None::<(i64, i64)>);
    for entry in walkdir::WalkDir::new(dir).min_depth(1).follow_links(false) {
        let mut hasher = DefaultHasher::new();
        // What cannot be looked at counts as one thing.
        if let Ok(entry) = entry
            && let Ok(meta) = entry.metadata()
        {
            let changed = (meta.ctime(), meta.ctime_nsec());
            if changed >= since {
                recent = Some(recent.map_or(changed, |earliest| earliest.min(changed)));
            }
            let name = entry.path().strip_prefix(dir).ok();
            (name, meta.ino(), meta.mode(), meta.size(), changed).hash(&mut hasher);
        }
        sum = sum.wrapping_add(hasher.finish());
    }
    (Contents(sum), recent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_change_shows_and_a_rename_does_not() {
        let top = tempfile::tempdir().expect("a directory");
        let (one, other) = (top.path().join("one"), top.path().join("other"));
        std::fs::create_dir_all(one.join("deep/deeper")).expect("made");
        std::fs::write(one.join("file"), "1").expect("written");
        std::fs::hard_link(one.join("file"), top.path().join("link")).expect("linked");
        let mut before = Contents::of(&one);
        std::fs::rename(&one, &other).expect("renamed");
        assert_eq!(Contents::of(&other), before);
        std::fs::rename(&other, &one).expect("renamed");
        let same_size = || std::fs::write(one.join("file"), "2").expect("written");
        let deep = || std::fs::write(one.join("deep/deeper/new"), "").expect("written");
        let at_top = || std::fs::write(one.join("new"), "").expect("written");
        let gone = || std::fs::remove_file(one.join("new")).expect("removed");
        let elsewhere = || std::fs::remove_file(top.path().join("link")).expect("removed");
        let changes: [&dyn Fn(); 5] = [&same_size, &deep, &at_top, &gone, &elsewhere];
        for change in changes {
            change();
            let after = Contents::of(&one);
            assert_ne!(after, before);
            before = after;
        }
    }
}
