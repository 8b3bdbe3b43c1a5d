//! A handle on one board.

use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::board::Stamp;
use crate::host::anchored_path::AnchoredPath;
use crate::host::crash;

use super::copies::Witness;
use super::error::{IoContext, StoreError};
use super::files::{FileIdentity, make_private_dir, replace, sync_parent};
use super::layout::{DIRECTORY, Layout};
use super::lock::{BoardLock, LockNote};
use super::read::LastRead;

/// How long a command waits for the lock unless `LIZA_LOCK_TIMEOUT` is set.
const PATIENCE_SECONDS: u64 = 10;

#[derive(Debug, Clone)]
pub struct Store {
    layout: Layout,
    patience: Duration,
    /// Whether boards of other versions may be read.
    any_version: bool,
    last_read: LastRead,
    /// Whether this process supervises agents: then its own commits adopt no edit.
    supervises: std::sync::Arc<std::sync::atomic::AtomicBool>,
    /// Messages about edits by hand that were not shown yet: they are shown even if the command fails.
    queued_messages: std::sync::Arc<std::sync::Mutex<Vec<String>>>,
    /// Whether the CHECKPOINT switch was set when this process last read the switches; none before the first
    /// read.
    pub(super) checkpoint_seen: Arc<Mutex<Option<bool>>>,
    /// The copies of a repository's board.
    pub(super) witness: Option<Witness>,
}

/// How long to wait for a lock: `LIZA_LOCK_TIMEOUT`, or else `usual`.
pub fn patience_or(usual: Duration) -> Duration {
    let given = std::env::var("LIZA_LOCK_TIMEOUT").ok().and_then(|text| text.parse::<f64>().ok());
    let given = given.filter(|seconds| seconds.is_finite() && *seconds >= 0.0);
    given.map_or(usual, |seconds| Duration::from_secs_f64(seconds.min(3600.0)))
}

impl Store {
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self {
            layout: Layout::new(dir),
            patience: patience_or(Duration::from_secs(PATIENCE_SECONDS)),
            any_version: false,
            last_read: LastRead::default(),
            supervises: std::sync::Arc::default(),
            queued_messages: std::sync::Arc::default(),
            checkpoint_seen: Arc::default(),
            witness: None,
        }
    }

    /// From now on agents may be at work: an edit of the file is set aside, even by a read, and this process
    /// does not adopt it in a person's name.
    pub fn supervise(&self) {
        self.supervises.store(true, std::sync::atomic::Ordering::Relaxed);
    }

    pub(super) fn queue_message(&self, text: String) {
        self.queued_messages.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(text);
    }

    /// Messages about edits by hand since the last call.
    pub fn take_messages(&self) -> Vec<String> {
        std::mem::take(&mut *self.queued_messages.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    pub(super) fn is_supervising(&self) -> bool {
        self.supervises.load(std::sync::atomic::Ordering::Relaxed)
    }

    /// For commands that only read: boards of older and newer versions are shown too. Writing stays impossible.
    pub fn read_any_version(&mut self) {
        self.any_version = true;
    }

    pub(super) fn reads_any_version(&self) -> bool {
        self.any_version
    }

    /// The default path of a repository's board.
    pub fn address_in(root: &Path) -> PathBuf {
        root.join(DIRECTORY)
    }

    /// The path by which `--board` and LIZA_DIR name this board.
    pub fn address(&self) -> &Path {
        self.dir()
    }

    /// Where the board is, for messages.
    pub fn display(&self) -> std::path::Display<'_> {
        self.dir().display()
    }

    /// The directory in which an entry changes whenever the board or a switch does.
    pub fn watched_dir(&self) -> &Path {
        self.dir()
    }

    /// Whether a changed entry of that directory can mean a changed board. Not the journal, locks and temporary
    /// files: they change just before the board or independently of it.
    pub fn is_news(name: &OsStr) -> bool {
        let name = name.as_encoded_bytes();
        !(name.starts_with(b".") || name.ends_with(b".lock") || name == b"log.yaml")
    }

    /// The identity of the board file: another identity means another board.
    pub fn state_identity(&self) -> Option<FileIdentity> {
        FileIdentity::at(&self.layout().state()).ok()
    }

    pub fn exists(&self) -> bool {
        self.dir().exists()
    }

    /// Device and inode of the board's directory: another directory of the same name is another board.
    pub fn directory_identity(&self) -> Option<(u64, u64)> {
        let meta = std::fs::symlink_metadata(self.dir()).ok()?;
        Some((meta.dev(), meta.ino()))
    }

    /// The highest revision ever published; 0 if unknown.
    pub fn published_revision(&self) -> u64 {
        LockNote::read(&self.layout().lock()).revision
    }

    /// Acquires the board's lock, waiting at most this command's patience.
    pub fn lock(&self, now: &Stamp) -> Result<BoardLock, StoreError> {
        BoardLock::acquire(&self.layout().lock(), self.patience(), &now.wall.to_string())
    }

    /// The error where no board exists: none was ever made, or it was removed and its copies are left.
    pub(super) fn missing(&self) -> StoreError {
        match self.witnessed_revision() {
            None => StoreError::Missing(self.dir().to_owned()),
            Some(revision) => StoreError::Invalid {
                message: format!(
                    "{} was removed (by `git clean -fdx`?); board, journal and archive of revision {revision} are kept below .git",
                    self.dir().display()
                ),
                hint: "`liza doctor --fix` restores them".to_owned(),
            },
        }
    }

    /// Makes the directories of a new board.
    pub fn make_directories(&self) -> Result<(), StoreError> {
        self.layout().directories().iter().try_for_each(|dir| make_private_dir(dir))
    }

    /// Whether no file of a board exists here.
    pub fn is_untouched(&self) -> bool {
        let absent = |path: PathBuf| std::fs::symlink_metadata(path).is_err();
        absent(self.layout().state()) && absent(self.layout().log()) && self.image_revisions().is_empty()
    }

    /// An unused name beside the board's directory.
    pub fn name_aside(&self, now: &Stamp) -> PathBuf {
        let name = self.dir().file_name().unwrap_or_default().to_string_lossy();
        let stamp = now.wall.to_string().replace([':', '-'], "");
        let mut number = 1;
        loop {
            let more = if number == 1 { String::new() } else { format!("~{number}") };
            let aside = self.dir().with_file_name(format!("{name}-uninstalled-{stamp}{more}"));
            if aside.symlink_metadata().is_err() {
                return aside;
            }
            number += 1;
        }
    }

    /// Renames the board's directory, under its lock. It is no longer the board of this repository.
    pub fn set_aside(&self, lock: BoardLock, aside: &Path) -> Result<(), StoreError> {
        // A .gitignore for everything in it: the files are kept, and `git status` does not list them.
        replace(&self.dir().join(".gitignore"), b"*\n")?;
        let beside = self.dir().parent().unwrap_or(self.dir());
        let anchored = |path: &Path| AnchoredPath::at(beside, path).doing("rename", path);
        anchored(self.dir())?.move_to(&anchored(aside)?).doing("rename", self.dir())?;
        crash::point("uninstall.renamed");
        sync_parent(aside)?;
        drop(lock);
        Ok(())
    }

    pub(super) fn layout(&self) -> &Layout {
        &self.layout
    }

    pub(super) fn dir(&self) -> &Path {
        self.layout.dir()
    }

    pub(super) fn last_read(&self) -> &LastRead {
        &self.last_read
    }

    pub fn patience(&self) -> Duration {
        self.patience
    }
}
