//! The lock of the board, and the lesser locks beside it.
//!
//! `state.yaml.lock` is locked with flock and never replaced, renamed or removed: a lock on a replaced file
//! excludes no process. The kernel releases the lock when its holder dies. A person may acquire it with `flock`
//! from a shell. The file's text holds the highest revision ever published and, for messages, the holder.

use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::host::progress::{Progress, SILENCE};
use crate::text::shown_line;

use super::error::{IoContext, StoreError};
use super::files::read_at_most;

/// The text always has this length, so that it is overwritten in place and never truncated.
const NOTE_LENGTH: usize = 512;

/// How often to try a lock when no thread can wait for it.
const POLL: Duration = Duration::from_millis(20);

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LockNote {
    /// The highest revision ever published.
    #[serde(default)]
    pub revision: u64,
    #[serde(default)]
    pub pid: u32,
    #[serde(default)]
    pub command: String,
    #[serde(default)]
    pub since: String,
}

impl LockNote {
    /// Reads the note; empty if it cannot be read.
    pub fn read(path: &Path) -> Self {
        bytes_in(path).map(|bytes| Self::of_bytes(&bytes)).unwrap_or_default()
    }

    fn of_bytes(bytes: &[u8]) -> Self {
        serde_json::from_slice(bytes).unwrap_or_default()
    }

    /// Whether the file holds a note that liza wrote.
    pub fn is_readable(path: &Path) -> bool {
        let mut text = String::new();
        open_no_follow(path, OpenOptions::new().read(true))
            .and_then(|file| file.take(64 * 1024).read_to_string(&mut text))
            .is_ok_and(|_| serde_json::from_str::<Self>(text.trim()).is_ok())
    }

    fn text(&self) -> Vec<u8> {
        let mut note = self.clone();
        note.command = note.command.chars().take(100).collect();
        let mut text = serde_json::to_vec(&note).unwrap_or_default();
        text.truncate(NOTE_LENGTH - 1);
        text.resize(NOTE_LENGTH - 1, b' ');
        text.push(b'\n');
        text
    }
}

fn bytes_in(path: &Path) -> Option<Vec<u8>> {
    let file = open_no_follow(path, OpenOptions::new().read(true)).ok()?;
    read_at_most(&file, NOTE_LENGTH as u64, 4096).ok()
}

/// Opens without following a link and without waiting for the other end of a pipe.
pub fn open_no_follow(path: &Path, options: &mut OpenOptions) -> std::io::Result<File> {
    open_with_metadata(path, options).map(|(file, _)| file)
}

/// The same, with the metadata that shows that it is a regular file.
pub fn open_with_metadata(path: &Path, options: &mut OpenOptions) -> std::io::Result<(File, Metadata)> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::CLOEXEC | rustix::fs::OFlags::NONBLOCK;
    let file = options.custom_flags(flags.bits() as i32).open(path)?;
    let meta = file.metadata()?;
    if meta.is_file() {
        Ok((file, meta))
    } else {
        Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, "it is not a regular file"))
    }
}

/// The board's lock, held until dropped.
pub struct BoardLock {
    file: File,
    path: PathBuf,
    note: LockNote,
    /// The file's text before this process wrote to it, if readable.
    former: Option<Vec<u8>>,
}

impl BoardLock {
    /// Waits at most `patience`, then fails with the name of the holder.
    pub(super) fn acquire(path: &Path, patience: Duration, since: &str) -> Result<Self, StoreError> {
        loop {
            let file = open_no_follow(
                path,
                OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600),
            )
            .doing("open", path)?;
            let file = lock_within(file, path, patience)?;
            // A file that was removed or replaced during the wait excludes no process: start over.
            let ours = file.metadata().doing("look at", path)?;
            match std::fs::symlink_metadata(path) {
                Ok(there) if there.ino() == ours.ino() && there.dev() == ours.dev() => {}
                _ => continue,
            }
            let former = bytes_in(path);
            let revision = former.as_deref().map(LockNote::of_bytes).unwrap_or_default().revision;
            let command = this_command();
            let note = LockNote { revision, pid: std::process::id(), command, since: since.to_owned() };
            let lock = Self { file, path: path.to_owned(), note, former };
            lock.write_note();
            return Ok(lock);
        }
    }

    /// Restores the file's text: it belongs to a board that this version must not write.
    pub(super) fn withdraw(&self) {
        let Some(former) = &self.former else { return };
        if self.file.write_all_at(former, 0).is_ok() && former.len() < NOTE_LENGTH {
            let _ = self.file.set_len(former.len() as u64);
        }
    }

    /// The highest revision ever published.
    pub(super) fn mark(&self) -> u64 {
        self.note.revision
    }

    /// Whether the locked file is still the one that other processes would lock.
    pub(super) fn still_counts(&self) -> bool {
        let (Ok(ours), Ok(there)) = (self.file.metadata(), std::fs::symlink_metadata(&self.path)) else {
            return false;
        };
        ours.ino() == there.ino() && ours.dev() == there.dev()
    }

    pub(super) fn raise_mark(&mut self, revision: u64) {
        self.note.revision = self.note.revision.max(revision);
        self.write_note();
    }

    /// Removes what other programs wrote after the note.
    pub(super) fn cut_to_note(&self) -> std::io::Result<()> {
        self.file.set_len(NOTE_LENGTH as u64)
    }

    /// The note only serves messages and the detection of a rolled-back board: a failed write is ignored.
    fn write_note(&self) {
        let _ = self.file.write_all_at(&self.note.text(), 0);
    }
}

/// The first words of this command line; invalid UTF-8 is replaced.
fn this_command() -> String {
    let words = std::env::args_os().skip(1).take(3);
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}

fn lock_within(file: File, path: &Path, patience: Duration) -> Result<File, StoreError> {
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(source)) if source.kind() == ErrorKind::Interrupted => continue,
            Err(TryLockError::Error(source)) => return Err(source).doing("lock", path),
            Err(TryLockError::WouldBlock) if patience.is_zero() => {
                return Err(busy(path, 0));
            }
            Err(TryLockError::WouldBlock) => break,
        }
    }
    // A blocking wait in its own thread: the kernel wakes it at once, where polling would lose time. After a
    // timeout the process ends soon, and the thread with it.
    let (sender, receiver) = mpsc::channel();
    let waiting = file.try_clone().doing("lock", path)?;
    let blocking = crate::host::start_thread(move || {
        let locked = loop {
            match waiting.lock() {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                other => break other,
            }
        };
        let _ = sender.send(locked);
    });
    let began = Instant::now();
    let mut progress = Progress::default();
    while began.elapsed() < patience {
        let left = patience.saturating_sub(began.elapsed()).min(SILENCE);
        let locked = match &blocking {
            Ok(_) => receiver.recv_timeout(left).ok(),
            // No thread can be started: poll.
            Err(_) => {
                std::thread::sleep(left.min(POLL));
                match file.try_lock() {
                    Ok(()) => Some(Ok(())),
                    Err(TryLockError::WouldBlock) => None,
                    Err(TryLockError::Error(source)) => Some(Err(source)),
                }
            }
        };
        if let Some(locked) = locked {
            return locked.map(|()| file).doing("lock", path);
        }
        progress.tick(|| {
            let (what, holder, most) = (purpose_of(path), holder_of(path), patience.as_secs());
            format!("waiting for {what}, held by {holder}; gives up after {most} s")
        });
    }
    Err(busy(path, patience.as_secs()))
}

fn busy(path: &Path, waited_seconds: u64) -> StoreError {
    let what = match path.file_name().map(|name| name.to_string_lossy()) {
        Some(name) if name != "state.yaml.lock" => name.into_owned(),
        _ => "the board".to_owned(),
    };
    StoreError::Busy { what, holder: holder_of(path), waited_seconds }
}

/// What a lock protects, in words.
fn purpose_of(path: &Path) -> String {
    match path.file_name().and_then(|name| name.to_str()) {
        Some("state.yaml.lock") => "the board's lock".to_owned(),
        Some("worktree.lock") => "the lock for making and removing worktrees (worktree.lock)".to_owned(),
        Some("merge.lock") => "the lock for merging (merge.lock)".to_owned(),
        _ => format!("the lock {}", path.display()),
    }
}

/// Who holds the lock: the kernel knows the pid even of a foreign program.
fn holder_of(path: &Path) -> String {
    let note = LockNote::read(path);
    let Some(pid) = kernel_holder(path) else {
        return if note.pid == 0 { "another process".to_owned() } else { format!("process {}", note.pid) };
    };
    // A process chooses its name, and any process of this user can write the note.
    let asked = |file: &str| std::fs::read(format!("/proc/{pid}/{file}")).ok();
    let name = asked("comm").map(|name| String::from_utf8_lossy(&name).trim().to_owned());
    let stopped = asked("stat").is_some_and(|stat| {
        let after_name = stat.iter().rposition(|byte| *byte == b')').map_or(&[][..], |end| &stat[end + 1..]);
        after_name.trim_ascii_start().starts_with(b"T")
    });
    let mut text = match name.as_deref() {
        Some("") => format!("process {pid}"),
        Some(name) => format!("process {pid} ({})", shown_line(name)),
        None => format!("a process that got it from process {pid}, which has ended"),
    };
    if note.pid == pid {
        text.push_str(&format!(", `liza {}` since {}", shown_line(&note.command), shown_line(&note.since)));
    }
    if stopped {
        text.push_str(", which is stopped");
    }
    text
}

/// Finds the holder in the kernel's lock table.
fn kernel_holder(path: &Path) -> Option<u32> {
    let meta = std::fs::symlink_metadata(path).ok()?;
    let (major, minor) = (rustix::fs::major(meta.dev()), rustix::fs::minor(meta.dev()));
    let wanted = format!("{major:02x}:{minor:02x}:{}", meta.ino());
    let table = std::fs::read_to_string("/proc/locks").ok()?;
    table
        .lines()
        .filter(|line| line.contains("FLOCK") && !line.contains("->"))
        .find(|line| line.split_whitespace().any(|field| field == wanted))
        .and_then(|line| line.split_whitespace().nth(4)?.parse().ok())
}

/// A lock for one purpose, such as making worktrees one at a time.
pub struct SideLock {
    file: File,
}

impl SideLock {
    pub(super) fn acquire(path: &Path, patience: Duration) -> Result<Self, StoreError> {
        let file = open_no_follow(
            path,
            OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600),
        )
        .doing("open", path)?;
        lock_within(file, path, patience).map(|file| Self { file })
    }

    /// Tries a lock whose file must exist: a command that only looks makes no file.
    pub(super) fn acquire_existing(path: &Path) -> Result<Self, StoreError> {
        let file = open_no_follow(path, OpenOptions::new().read(true).write(true)).doing("open", path)?;
        lock_within(file, path, Duration::ZERO).map(|file| Self { file })
    }

    /// Whether a process holds the lock; an error if there is no such file. Concurrent askers do not block each
    /// other.
    pub(super) fn is_held(path: &Path) -> Result<bool, StoreError> {
        let file = open_no_follow(path, OpenOptions::new().read(true)).doing("open", path)?;
        loop {
            match file.try_lock_shared() {
                Ok(()) => return Ok(false),
                Err(TryLockError::WouldBlock) => return Ok(true),
                Err(TryLockError::Error(source)) if source.kind() == ErrorKind::Interrupted => {}
                Err(TryLockError::Error(source)) => return Err(source).doing("lock", path),
            }
        }
    }

    /// Locks a directory itself; none if it does not exist.
    pub(super) fn of_directory(path: &Path, patience: Duration) -> Result<Option<Self>, StoreError> {
        let only_a_directory =
            (rustix::fs::OFlags::DIRECTORY | rustix::fs::OFlags::NOFOLLOW).bits().cast_signed();
        match OpenOptions::new().read(true).custom_flags(only_a_directory).open(path) {
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
            opened => {
                lock_within(opened.doing("open", path)?, path, patience).map(|file| Some(Self { file }))
            }
        }
    }

    /// Writes the holder into the file. For messages only: the lock holds without it.
    pub(super) fn note(&self, text: &str) {
        let _ = self.file.set_len(0).and_then(|()| self.file.write_all_at(text.as_bytes(), 0));
    }

    /// Acquires the lock if it is free and notes the holder; otherwise fails with the name of the holder.
    pub(super) fn at_once(path: &Path, since: &str) -> Result<Self, StoreError> {
        let file = open_no_follow(
            path,
            OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600),
        )
        .doing("open", path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::Error(source)) => return Err(source).doing("lock", path),
            Err(TryLockError::WouldBlock) => {
                return Err(busy(path, 0));
            }
        }
        let command = this_command();
        let note = LockNote { revision: 0, pid: std::process::id(), command, since: since.to_owned() };
        let _ = file.write_all_at(&note.text(), 0);
        Ok(Self { file })
    }
}
