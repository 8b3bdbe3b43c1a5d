//! Boards that another version of liza wrote: read where a command asks for that, migrated where a person wants
//! it, and otherwise left exactly as they are.
//!
//! A migration replaces two files, in a fixed order. First liza keeps copies of both; then it writes image and
//! log of the new board, while the old board is still in place; then it renames the new board into place. A
//! migration that dies on the way leaves the complete old board, and the next attempt finds the kept copies.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::board::rules::Migrate;
use crate::board::{Board, Stamp, Transition};
use crate::host::crash;
use crate::wire::log::{LogError, LooseRecord, read_loosely};
use crate::wire::state::{Origin, StateError, hash};
use crate::wire::{newer, v1};

use super::error::{IoContext, StoreError};
use super::files::{FileIdentity, make_private_dir, make_private_dirs, read_whole, sync_dir, write_new};
use super::handle::Store;
use super::read::{Found, LARGEST_STATE, Snapshot};

/// How the first line of this version's log begins; no entry of the old log does.
const OUR_FIRST_LINE: &[u8] = b"- {\"revision\":";

/// The error for a command that wanted to change a board of another version.
pub(super) fn refusal(why: &StateError) -> StoreError {
    let newer = matches!(why, StateError::Newer(_));
    StoreError::OtherVersion {
        newer,
        message: format!("state.yaml: {why}; it is read-only here"),
        hint: if newer {
            "nothing was changed; use the newer liza to change it".to_owned()
        } else {
            "nothing was changed; `liza doctor --fix` migrates it, keeping a backup".to_owned()
        },
    }
}

/// What can be shown of a board of another version.
pub(super) fn snapshot(bytes: &[u8], version: u64) -> Result<Snapshot, StoreError> {
    let unreadable = |newer: bool, error: crate::wire::ForeignError| StoreError::OtherVersion {
        newer,
        message: format!("state.yaml (version {version}) cannot be read: {error}"),
        hint: "fix that line with an editor, or read the file with another program; nothing was changed"
            .to_owned(),
    };
    let origin = Origin::of_text(String::from_utf8_lossy(bytes).into_owned());
    if version > u64::from(crate::board::state::VERSION) {
        let found = newer::read(bytes).map_err(|error| unreadable(true, error))?;
        let mut warning =
            format!("this board was written by a newer liza (version {version}): read-only here");
        for remark in &found.remarks {
            warning.push_str(&format!("\n  {remark}"));
        }
        return Ok(Snapshot { board: found.board, origin, warning: Some(warning), version });
    }
    let old = v1::read(bytes, &crate::host::now()).map_err(|error| unreadable(false, error))?;
    let warning = format!(
        "this board was written by the older shell implementation (version {version}): read-only; `liza doctor --fix` migrates it, keeping a backup"
    );
    Ok(Snapshot { board: old.as_board(), origin, warning: Some(warning), version })
}

/// A board that another version wrote, as it is on disk.
pub struct OtherVersion {
    pub version: u64,
    pub newer: bool,
    pub bytes: Vec<u8>,
}

impl Store {
    /// Whether this version ever published a board here.
    pub(super) fn was_published(&self) -> bool {
        if self.published_revision() > 0 {
            return true;
        }
        // The mark may be lost; a log with more than one record proves the same.
        read_whole(&self.layout().log(), LARGEST_STATE).is_ok_and(|(bytes, _)| {
            bytes.starts_with(OUR_FIRST_LINE)
                && bytes.split(|byte| *byte == b'\n').filter(|line| line.starts_with(OUR_FIRST_LINE)).count()
                    > 1
        })
    }

    /// The board, if another version wrote it.
    pub fn other_version(&self) -> Result<Option<OtherVersion>, StoreError> {
        match self.load_state() {
            Ok((Found::Bad { bytes, why: StateError::Older(version) }, _)) => {
                Ok(Some(OtherVersion { version, newer: false, bytes }))
            }
            Ok((Found::Bad { bytes, why: StateError::Newer(version) }, _)) => {
                Ok(Some(OtherVersion { version, newer: true, bytes }))
            }
            // Other problems are reported elsewhere.
            _ => Ok(None),
        }
    }

    /// Refuses if another version wrote the board. Commands that change files beside the board call this before
    /// they acquire any lock.
    pub fn refuse_other_version(&self) -> Result<(), StoreError> {
        match self.load_state() {
            Ok((Found::Bad { why: why @ (StateError::Older(_) | StateError::Newer(_)), .. }, _)) => {
                Err(refusal(&why))
            }
            _ => Ok(()),
        }
    }

    /// Where the migration keeps an old board of this content.
    pub fn kept_old_board(&self, bytes: &[u8]) -> PathBuf {
        self.layout().edits().join(format!("v1-{}", &hash(bytes)[..16]))
    }

    /// The same path, as the board's record names it.
    pub fn name_of_kept(&self, bytes: &[u8]) -> String {
        let kept = self.kept_old_board(bytes);
        kept.strip_prefix(self.dir()).unwrap_or(&kept).display().to_string()
    }

    /// The log of a board that another version wrote, or that holds records only a newer liza knows.
    pub fn read_other_log(&self, snapshot: &Snapshot) -> Result<Vec<LooseRecord>, StoreError> {
        let broken = |error: String| StoreError::Invalid {
            message: format!("log.yaml: {error}"),
            hint: "look at the file itself; nothing was changed".to_owned(),
        };
        let read = |path: &Path| match read_whole(path, LARGEST_STATE) {
            Ok((bytes, _)) => Ok(bytes),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(error).doing("read", path),
        };
        let mut bytes = read(&self.layout().log())?;
        if snapshot.version < u64::from(crate::board::state::VERSION) {
            // A migration that died has already put its own log in place.
            if bytes.starts_with(OUR_FIRST_LINE) {
                bytes = read(&self.kept_old_board(snapshot.text().as_bytes()).join("log.yaml"))?;
            }
            let entries = v1::read_log(&bytes).map_err(|error| broken(error.to_string()))?;
            return Ok(entries.into_iter().map(LooseRecord::of_old).collect());
        }
        if snapshot.version == u64::from(crate::board::state::VERSION) {
            bytes.truncate(usize::try_from(snapshot.board.journal.length).unwrap_or(usize::MAX));
        }
        let text = String::from_utf8(bytes).map_err(|_| broken("it is not valid UTF-8".to_owned()))?;
        read_loosely(&text).map_err(|error: LogError| broken(error.to_string()))
    }

    /// Keeps a file before the migration replaces it.
    pub fn keep_old_file(&self, kept: &Path, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        make_private_dir(&self.layout().edits())?;
        make_private_dirs(self.dir(), kept)?;
        let path = kept.join(name);
        if let Some(parent) = path.parent() {
            make_private_dirs(self.dir(), parent)?;
        }
        // A migration that died kept this file, completely or partly.
        match read_whole(&path, LARGEST_STATE) {
            Ok((there, _)) if there == bytes => return Ok(()),
            Ok(_) => super::files::replace(&path, bytes)?,
            Err(_) => write_new(&path, bytes)?,
        }
        sync_dir(kept).doing("sync", kept)
    }

    /// Replaces the old board by the migrated one.
    pub fn migrate(&self, what: Migrate, now: &Stamp) -> Result<Board, StoreError> {
        // The old shell scripts acquire the same lock.
        let mut lock = self.lock(now)?;
        let state = self.layout().state();
        let identity = FileIdentity::at(&state).doing("look at", &state)?;
        let (bytes, _) = read_whole(&state, LARGEST_STATE).doing("read", &state)?;
        let changed = || StoreError::Invalid {
            message: "state.yaml was changed while it was being migrated".to_owned(),
            hint: "the old board is unchanged; run `liza doctor --fix` again".to_owned(),
        };
        if hash(&bytes) != what.source {
            lock.withdraw();
            return Err(changed());
        }
        let kept = self.kept_old_board(&bytes);
        self.keep_old_file(&kept, "state.yaml", &bytes)?;
        match read_whole(&self.layout().log(), LARGEST_STATE) {
            // A migration that died has put its own log in place; the old log is kept already.
            Ok((log, _)) if log.starts_with(OUR_FIRST_LINE) => {
                if log.iter().filter(|byte| **byte == b'\n').count() > 1 {
                    self.keep_old_file(&kept, "log-appended.yaml", &log)?;
                }
            }
            Ok((log, _)) => self.keep_old_file(&kept, "log.yaml", &log)?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(error).doing("read", &self.layout().log()),
        }
        sync_dir(&self.layout().edits()).doing("sync", &self.layout().edits())?;
        crash::point("migrate.kept");
        let private = fs::Permissions::from_mode(0o700);
        fs::set_permissions(self.dir(), private).doing("make private", self.dir())?;
        let board = self.write_first(
            Transition::from(what),
            now,
            ["migrate.image", "migrate.log", "migrate.state"],
            || {
                let now = FileIdentity::at(&state).doing("look at", &state)?;
                if now == identity && lock.still_counts() { Ok(()) } else { Err(changed()) }
            },
        )?;
        lock.raise_mark(board.revision);
        Ok(board)
    }
}
