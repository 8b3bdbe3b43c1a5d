//! A handle on one board.

use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::board::Stamp;
use crate::host::crash;
use crate::host::place::Place;

use super::copies::Witness;
use super::error::{IoContext, StoreError};
use super::files::{FileIdentity, make_private_dir, replace, sync_parent};
use super::layout::{DIRECTORY, Layout};
use super::lock::{BoardLock, LockNote};
use super::read::LastRead;

/// How long a command waits for the lock unless `LIZA_LOCK_TIMEOUT` says otherwise.
const PATIENCE_SECONDS: u64 = 10;

#[derive(Debug, Clone)]
pub struct Store {
    layout: Layout,
    patience: Duration,
    /// Whether boards of other versions are read, as far as that goes.
    any_version: bool,
    last_read: LastRead,
    /// Whether this process supervises agents: then no commit of its own adopts an edit.
    supervises: std::sync::Arc<std::sync::atomic::AtomicBool>,
    /// What became of edits by hand, and was not said yet: it is said whatever becomes of the command.
    untold: std::sync::Arc<std::sync::Mutex<Vec<String>>>,
    /// Whether the CHECKPOINT switch was set when the switches were looked at last; none before they were.
    pub(super) checkpoint_seen: Arc<Mutex<Option<bool>>>,
    /// Where copies are kept, for the board of a repository.
    pub(super) witness: Option<Witness>,
}

/// How long a lock is waited for: what `LIZA_LOCK_TIMEOUT` says, or else `usual`.
pub fn patience_or(usual: Duration) -> Duration {
    let told = std::env::var("LIZA_LOCK_TIMEOUT").ok().and_then(|text| text.parse::<f64>().ok());
    let told = told.filter(|seconds| seconds.is_finite() && *seconds >= 0.0);
    told.map_or(usual, |seconds| Duration::from_secs_f64(seconds.min(3600.0)))
}

impl Store {
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self {
            layout: Layout::new(dir),
            patience: patience_or(Duration::from_secs(PATIENCE_SECONDS)),
            any_version: false,
            last_read: LastRead::default(),
            supervises: std::sync::Arc::default(),
            untold: std::sync::Arc::default(),
            checkpoint_seen: Arc::default(),
            witness: None,
        }
    }

    /// From here on agents may be at work: an edit of the file is set aside, also by reading, and is not adopted by what this
    /// process does in a person's name.
    pub fn supervise(&self) {
        self.supervises.store(true, std::sync::atomic::Ordering::Relaxed);
    }

    pub(super) fn tell_later(&self, text: String) {
        self.untold.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(text);
    }

    /// What became of edits by hand since this was asked last.
    pub fn untold(&self) -> Vec<String> {
        std::mem::take(&mut *self.untold.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    pub(super) fn is_supervising(&self) -> bool {
        self.supervises.load(std::sync::atomic::Ordering::Relaxed)
    }

    /// For commands that only read: boards of older and newer versions are shown as well. Writing stays impossible.
    pub fn read_any_version(&mut self) {
        self.any_version = true;
    }

    pub(super) fn reads_any_version(&self) -> bool {
        self.any_version
    }

    /// Where the board of a repository is unless somebody names another place.
    pub fn address_in(root: &Path) -> PathBuf {
        root.join(DIRECTORY)
    }

    /// What `--board` and LIZA_DIR name this board by.
    pub fn address(&self) -> &Path {
        self.dir()
    }

    /// Where the board is, for messages.
    pub fn display(&self) -> std::path::Display<'_> {
        self.dir().display()
    }

    /// The directory in which something changes whenever the board or a switch does.
    pub fn watched_dir(&self) -> &Path {
        self.dir()
    }

    /// Whether a changed entry of that directory is worth a look: not the journal, locks and what is written beside first,
    /// which change a moment before the board does or have nothing to say.
    pub fn is_news(name: &OsStr) -> bool {
        let name = name.as_encoded_bytes();
        !(name.starts_with(b".") || name.ends_with(b".lock") || name == b"log.yaml")
    }

    /// Which file the board is now: another one has another board in it.
    pub fn state_identity(&self) -> Option<FileIdentity> {
        FileIdentity::at(&self.layout().state()).ok()
    }

    pub fn exists(&self) -> bool {
        self.dir().exists()
    }

    /// Which directory the board is in: another one of its name is another board.
    pub fn place(&self) -> Option<(u64, u64)> {
        let meta = std::fs::symlink_metadata(self.dir()).ok()?;
        Some((meta.dev(), meta.ino()))
    }

    /// The highest revision that was ever published; 0 if that is not known.
    pub fn published_revision(&self) -> u64 {
        LockNote::read(&self.layout().lock()).revision
    }

    /// The board's lock, within the patience of this command.
    pub fn lock(&self, now: &Stamp) -> Result<BoardLock, StoreError> {
        BoardLock::acquire(&self.layout().lock(), self.patience(), &now.wall.to_string())
    }

    /// There is no board: none was ever made here, or it was removed and its copies are left.
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

    /// Whether nothing of a board is here.
    pub fn is_untouched(&self) -> bool {
        let absent = |path: PathBuf| std::fs::symlink_metadata(path).is_err();
        absent(self.layout().state()) && absent(self.layout().log()) && self.image_revisions().is_empty()
    }

    /// A free name beside the board's own.
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

    /// Gives the board another name, under its lock. It is no board of this repository any more.
    pub fn set_aside(&self, lock: BoardLock, aside: &Path) -> Result<(), StoreError> {
        // Ignores itself and everything beside it: kept, and in nobody's `git status`.
        replace(&self.dir().join(".gitignore"), b"*\n")?;
        let beside = self.dir().parent().unwrap_or(self.dir());
        let place = |path: &Path| Place::at(beside, path).doing("rename", path);
        place(self.dir())?.move_to(&place(aside)?).doing("rename", self.dir())?;
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
