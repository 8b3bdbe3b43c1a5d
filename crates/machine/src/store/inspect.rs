//! What `liza doctor` and watchers check of the board's files without reading the board.

use std::path::{Path, PathBuf};

use super::files::{FileIdentity, is_odd, read_whole};
use super::handle::Store;
use super::lock::LockNote;
use super::machine::LOCKS;
use super::read::LARGEST_STATE;

/// What is at the path of the board's lock.
pub enum LockState {
    Sound,
    Empty,
    Missing,
    NotAFile,
    /// A file that liza did not write.
    Foreign,
}

impl Store {
    /// Identifies the current board file.
    pub fn file_identity(&self) -> Option<FileIdentity> {
        FileIdentity::at(&self.layout().state()).ok()
    }

    /// The text at the board's path, whatever it is.
    pub fn file_text(&self) -> String {
        let read = read_whole(&self.layout().state(), LARGEST_STATE);
        read.map(|(bytes, _)| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
    }

    /// Whether a file of the board must be readable by its owner only.
    pub fn is_secret(&self, path: &Path) -> bool {
        let layout = self.layout();
        [layout.state(), layout.lock(), layout.log()].iter().any(|secret| path == secret)
            || [layout.images(), layout.edits()].iter().any(|dir| path.parent() == Some(dir))
    }

    /// Links, pipes and the like at the path of a file or directory, and which of the two belongs there. The
    /// board itself is not checked: reading it does that.
    pub fn odd_files(&self) -> Vec<(PathBuf, &'static str)> {
        let layout = self.layout();
        let files = [layout.log(), layout.alerts_log(), layout.reported_alerts(), layout.lock_table()];
        let files = files.into_iter().map(|path| (path, "file"));
        let dirs = layout.directories().into_iter().map(|path| (path, "directory"));
        files.chain(dirs).filter(is_odd).collect()
    }

    /// The board's lock file and its state.
    pub fn lock_file(&self) -> (PathBuf, LockState) {
        let path = self.layout().lock();
        let found = match std::fs::symlink_metadata(&path) {
            Err(_) => LockState::Missing,
            Ok(meta) if !meta.is_file() => LockState::NotAFile,
            Ok(meta) if meta.len() == 0 => LockState::Empty,
            Ok(_) if LockNote::is_readable(&path) => LockState::Sound,
            Ok(_) => LockState::Foreign,
        };
        (path, found)
    }

    /// Files beside the board that look like locks of another program.
    pub fn foreign_locks(&self) -> Vec<PathBuf> {
        let ours = |path: &Path, name: &str| {
            path == self.layout().lock()
                || name == "locks"
                || LOCKS.iter().any(|lock| path == self.dir().join(lock))
                || (name.starts_with('.') && name.ends_with(".tmp"))
        };
        let entries = std::fs::read_dir(self.dir()).into_iter().flatten().flatten();
        entries
            .filter_map(|entry| {
                let name = entry.file_name().to_string_lossy().to_lowercase();
                let looks_like_one = name.contains("lock") || name.contains(".lck") || name.ends_with(".pid");
                (looks_like_one && !ours(&entry.path(), &name)).then(|| entry.path())
            })
            .collect()
    }
}
