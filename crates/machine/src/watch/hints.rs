//! Kernel notifications that something in a directory has changed.
//!
//! On Linux only changes are watched: opening or reading a file wakes no loop.

use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

/// Which entries of the directory matter.
pub type IsNews = fn(&OsStr) -> bool;

/// The result of waiting for the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hint {
    Entry,
    /// The directory itself was moved or removed, or hints were lost.
    Directory,
    /// The time is over.
    None,
}

pub use kernel::Hints;

#[cfg(target_os = "linux")]
mod kernel {
    use std::mem::MaybeUninit;
    use std::os::fd::OwnedFd;
    use std::os::unix::ffi::OsStrExt;
    use std::time::Instant;

    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};

    use super::*;

    pub struct Hints {
        kernel: OwnedFd,
        is_news: IsNews,
    }

    impl Hints {
        pub fn of(dir: &Path, is_news: IsNews) -> Result<Self, String> {
            let wanted = WatchFlags::CREATE | WatchFlags::DELETE | WatchFlags::MOVE | WatchFlags::CLOSE_WRITE;
            let itself = WatchFlags::DELETE_SELF | WatchFlags::MOVE_SELF | WatchFlags::ONLYDIR;
            let kernel = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK);
            let kernel = kernel.map_err(|error| error.to_string())?;
            inotify::add_watch(&kernel, dir, wanted | itself).map_err(|error| error.to_string())?;
            Ok(Self { kernel, is_news })
        }

        pub fn wait(&self, left: Duration) -> Hint {
            let end = Instant::now() + left;
            loop {
                let rest = end.saturating_duration_since(Instant::now());
                let rest = Timespec::try_from(rest).ok();
                let mut ready = [PollFd::new(&self.kernel, PollFlags::IN)];
                // An interrupted wait has seen nothing, and neither has one whose time is over.
                let readable = poll(&mut ready, rest.as_ref()).is_ok_and(|ready| ready > 0);
                let hint = if readable { self.read() } else { Hint::None };
                if hint != Hint::None || Instant::now() >= end {
                    return hint;
                }
            }
        }

        /// Everything that has come so far.
        fn read(&self) -> Hint {
            let mut buffer = [MaybeUninit::uninit(); 4096];
            let mut reader = Reader::new(&self.kernel, &mut buffer);
            let mut hint = Hint::None;
            while let Ok(event) = reader.next() {
                let of_entry = !event.events().contains(ReadFlags::QUEUE_OVERFLOW);
                match event.file_name().filter(|_| of_entry) {
                    None => hint = Hint::Directory,
                    Some(name)
                        if hint == Hint::None && (self.is_news)(OsStr::from_bytes(name.to_bytes())) =>
                    {
                        hint = Hint::Entry;
                    }
                    Some(_) => {}
                }
            }
            hint
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod kernel {
    use std::sync::mpsc::{Receiver, sync_channel};

    use notify::{EventKind, RecursiveMode, Watcher};

    use super::*;

    pub struct Hints {
        /// Holds at most one signal: a waiter that has not woken yet need not be woken twice.
        signals: Receiver<()>,
        // Dropping it ends the notification.
        _watcher: notify::RecommendedWatcher,
    }

    impl Hints {
        pub fn of(dir: &Path, is_news: IsNews) -> Result<Self, String> {
            let (signal, signals) = sync_channel(1);
            let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
                // Reading the board opens it: if that counted, every look would cause the next one. An unclear event,
                // such as an overflow of the kernel's queue, counts as a change.
                let is_hint = event.map_or(true, |event| {
                    let named = event.paths.iter().filter_map(|path| path.file_name());
                    !matches!(event.kind, EventKind::Access(_))
                        && (event.paths.is_empty() || named.into_iter().any(is_news))
                });
                if is_hint {
                    let _ = signal.try_send(());
                }
            });
            watcher
                .and_then(|mut watcher| watcher.watch(dir, RecursiveMode::NonRecursive).map(|()| watcher))
                .map(|_watcher| Self { signals, _watcher })
                .map_err(|error| error.to_string())
        }

        pub fn wait(&self, left: Duration) -> Hint {
            // What it is about is uncertain.
            if self.signals.recv_timeout(left).is_ok() { Hint::Directory } else { Hint::None }
        }
    }
}
