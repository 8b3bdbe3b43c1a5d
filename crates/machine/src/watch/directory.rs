//! A watched directory.
//!
//! The directory rather than a file in it: files are replaced, and a watch on a replaced file sees nothing. A change
//! is only a hint: the woken process reads the files again. Hints may be lost (the kernel's queue overflows, the
//! directory itself is replaced, no watches are left), so every two seconds the entries are compared as well.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::glance::Glance;
use super::hints::{Hint, Hints, IsNews};

/// How long a change may go unseen if a notification is lost.
const SLOW_POLL: Duration = Duration::from_secs(2);
/// How long without any notifications.
const FAST_POLL: Duration = Duration::from_millis(200);

/// Why a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Woke {
    /// Something in the directory has changed.
    Changed,
    /// The time is over; no visible change.
    TimeOver,
}

pub struct DirectoryWatch {
    dir: PathBuf,
    is_news: IsNews,
    /// From the kernel, or why there are none.
    hints: Result<Hints, String>,
    seen: Glance,
}

impl DirectoryWatch {
    /// Watches from now on: a caller that reads the files afterwards misses no change that `is_news`.
    pub fn new(dir: &Path, is_news: IsNews) -> Self {
        let hints = hinted(dir, is_news);
        Self { dir: dir.to_owned(), is_news, hints, seen: Glance::at(dir, is_news) }
    }

    /// Why the directory is polled five times a second instead of notified, if it is.
    pub fn is_polling(&self) -> Option<&str> {
        self.hints.as_ref().err().map(String::as_str)
    }

    /// Returns when something changed, when the slow poll is due, or when `left` is over. Reading files wakes no
    /// waiter.
    pub fn wait(&mut self, left: Duration) -> Woke {
        let end = Instant::now() + left.min(SLOW_POLL);
        loop {
            let rest = end.saturating_duration_since(Instant::now());
            let hint = match &self.hints {
                Ok(hints) => hints.wait(rest),
                Err(_) => {
                    std::thread::sleep(rest.min(FAST_POLL));
                    Hint::None
                }
            };
            // After a hint the slow poll compares the entries: that may cause one look too many.
            if hint == Hint::Entry || self.has_changed() || hint == Hint::Directory {
                return Woke::Changed;
            }
            if Instant::now() >= end {
                return Woke::TimeOver;
            }
        }
    }

    fn has_changed(&mut self) -> bool {
        let now = Glance::at(&self.dir, self.is_news);
        if now.place != self.seen.place {
            // Another directory has this name now, and the watch is still on the former one.
            self.hints = hinted(&self.dir, self.is_news);
        }
        let changed = now != self.seen;
        self.seen = now;
        changed
    }

    /// Calls `changed` from its own thread after every change, until the [`Notification`] is dropped. As with `new`,
    /// a caller that reads the files afterwards misses nothing. Quick changes may cause one call.
    pub fn notify_to(
        dir: &Path,
        is_news: IsNews,
        changed: impl Fn() + Send + 'static,
    ) -> std::io::Result<Notification> {
        let mut watch = Self::new(dir, is_news);
        let ended = Arc::new(AtomicBool::new(false));
        let polling = watch.is_polling().map(str::to_owned);
        let notification = Notification { ended: Arc::clone(&ended), polling };
        std::thread::Builder::new().spawn(move || {
            while !ended.load(Ordering::Relaxed) {
                if watch.wait(SLOW_POLL) == Woke::Changed && !ended.load(Ordering::Relaxed) {
                    changed();
                }
            }
        })?;
        Ok(notification)
    }
}

/// Keeps the calls of [`DirectoryWatch::notify_to`] coming; dropping it ends them.
pub struct Notification {
    ended: Arc<AtomicBool>,
    polling: Option<String>,
}

impl Notification {
    /// As [`DirectoryWatch::is_polling`], at the start.
    pub fn is_polling(&self) -> Option<&str> {
        self.polling.as_deref()
    }
}

impl Drop for Notification {
    fn drop(&mut self) {
        // The thread notices at the next slow poll at the latest.
        self.ended.store(true, Ordering::Relaxed);
    }
}

/// Asks the kernel to signal changes, or says why it cannot.
fn hinted(dir: &Path, is_news: IsNews) -> Result<Hints, String> {
    if is_taken_away() {
        return Err("a test took it away".to_owned());
    }
    Hints::of(dir, is_news)
}

#[cfg(debug_assertions)]
fn is_taken_away() -> bool {
    std::env::var_os("LIZA_TEST_NO_NOTIFICATION").is_some()
}

#[cfg(not(debug_assertions))]
fn is_taken_away() -> bool {
    false
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::sync::mpsc::channel;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(20);

    /// Temporary files are no news.
    fn is_news(name: &OsStr) -> bool {
        !name.as_encoded_bytes().starts_with(b".")
    }

    fn hearing(dir: &Path) -> DirectoryWatch {
        DirectoryWatch::new(dir, is_news)
    }

    /// A watch without kernel notifications.
    fn deaf(dir: &Path) -> DirectoryWatch {
        DirectoryWatch { hints: Err("a test says so".to_owned()), ..hearing(dir) }
    }

    fn put(dir: &Path, name: &str, text: &str) {
        let temp = dir.join(format!(".{name}.tmp"));
        std::fs::write(&temp, text).expect("written");
        std::fs::rename(&temp, dir.join(name)).expect("renamed");
    }

    /// Waits until `state` holds `text`, reading only when woken.
    fn sees(watch: &mut DirectoryWatch, dir: &Path, text: &str) {
        let deadline = Instant::now() + PATIENCE;
        while std::fs::read_to_string(dir.join("state")).unwrap_or_default() != text {
            assert!(Instant::now() < deadline, "`{text}` was never seen");
            while watch.wait(PATIENCE) != Woke::Changed {
                assert!(Instant::now() < deadline, "`{text}` was never seen");
            }
        }
    }

    #[test]
    fn last_of_many_renames_is_seen() {
        for make in [hearing, deaf] {
            let dir = tempfile::tempdir().expect("a directory");
            let mut watch = make(dir.path());
            let writer = std::thread::spawn({
                let dir = dir.path().to_owned();
                move || (1..=1000).for_each(|number| put(&dir, "state", &number.to_string()))
            });
            sees(&mut watch, dir.path(), "1000");
            writer.join().expect("the writer");
        }
    }

    #[test]
    fn reading_wakes_no_waiter() {
        let dir = tempfile::tempdir().expect("a directory");
        put(dir.path(), "state", "x");
        for make in [hearing, deaf] {
            let mut watch = make(dir.path());
            for _ in 0..50 {
                assert_eq!(std::fs::read_to_string(dir.path().join("state")).expect("read"), "x");
                assert_eq!(watch.wait(Duration::from_millis(5)), Woke::TimeOver);
            }
        }
    }

    #[test]
    fn uninteresting_entries_wake_no_waiter() {
        let dir = tempfile::tempdir().expect("a directory");
        for make in [hearing, deaf] {
            let mut watch = make(dir.path());
            std::fs::write(dir.path().join(".temp"), "x").expect("written");
            std::fs::remove_file(dir.path().join(".temp")).expect("removed");
            assert_eq!(watch.wait(Duration::from_millis(300)), Woke::TimeOver);
            put(dir.path(), "state", "x");
            assert_eq!(watch.wait(PATIENCE), Woke::Changed);
        }
    }

    #[test]
    fn wait_ends_with_its_time() {
        let dir = tempfile::tempdir().expect("a directory");
        for make in [hearing, deaf] {
            assert_eq!(make(dir.path()).wait(Duration::ZERO), Woke::TimeOver);
        }
    }

    #[test]
    fn polling_watch_says_why() {
        let dir = tempfile::tempdir().expect("a directory");
        assert_eq!(hearing(dir.path()).is_polling(), None);
        let mut watch = hearing(&dir.path().join("later"));
        assert!(watch.is_polling().is_some());
        std::fs::create_dir(dir.path().join("later")).expect("made");
        put(&dir.path().join("later"), "state", "1");
        sees(&mut watch, &dir.path().join("later"), "1");
    }

    #[test]
    fn replaced_directory_is_watched() {
        let root = tempfile::tempdir().expect("a directory");
        let dir = root.path().join("dir");
        std::fs::create_dir(&dir).expect("made");
        let mut watch = hearing(&dir);
        std::fs::rename(&dir, root.path().join("former")).expect("renamed");
        std::fs::create_dir(&dir).expect("made");
        put(&dir, "state", "1");
        sees(&mut watch, &dir, "1");
        let placed = watch.seen.place;
        put(&dir, "state", "2");
        sees(&mut watch, &dir, "2");
        assert_eq!((watch.seen.place, watch.is_polling()), (placed, None));
    }

    #[test]
    fn channel_reports_changes_until_dropped() {
        let dir = tempfile::tempdir().expect("a directory");
        let (sender, receiver) = channel();
        let notification = DirectoryWatch::notify_to(dir.path(), is_news, move || {
            let _ = sender.send(());
        })
        .expect("a thread");
        assert_eq!(notification.is_polling(), None);
        put(dir.path(), "state", "1");
        receiver.recv_timeout(PATIENCE).expect("a change is reported");
        drop(notification);
        // The thread drops its end: nothing more can come.
        let deadline = Instant::now() + PATIENCE;
        while receiver.recv_timeout(PATIENCE).is_ok() {
            assert!(Instant::now() < deadline);
        }
    }
}
