//! Copies of board, journal and archive below the common git directory, which neither `git clean` nor a
//! restored backup of `.liza` reaches.
//!
//! After each commit the journal's copy gets the same record, the board's copy becomes a second link to the
//! published file, and a task that is archived keeps a link. A copy may lag behind: its process died, or an
//! agent's sandbox forbids writing there. A copy is never ahead. So a copy that is ahead of the board proves
//! that an older board was put in place.
//!
//! The journal's copy is a separate file, because overwriting a journal in place would change a link too.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::board::state::JournalMark;
use crate::board::{Board, Stamp};
use crate::host::anchored_path::AnchoredPath;
use crate::wire::log::{NO_RECORD, Record, read_chain};
use crate::wire::state::{Decoded, hash};

use super::copies::{LARGEST_LOG, Witness, text_of_records};
use super::error::{IoContext, StoreError};
use super::files::{make_private_dir, names_in, read_whole, replace};
use super::handle::Store;
use super::read::LARGEST_STATE;

/// What was restored from the copies.
pub struct Restored {
    pub revision: u64,
    /// Where the replaced files are kept.
    pub kept: Vec<PathBuf>,
    /// How many archived tasks were restored.
    pub archived: usize,
}

impl Store {
    /// The same board, with its copies in this directory.
    pub fn witnessed(mut self, dir: PathBuf) -> Self {
        self.witness = Some(Witness::new(dir));
        self
    }

    /// Updates the copies after every published board.
    pub(super) fn follow(&self, journal: &JournalMark, line: &str) {
        if let Some(witness) = &self.witness {
            witness.follow(self.layout(), journal, line);
        }
    }

    /// Keeps a link to an archived task's file.
    pub(super) fn witness_archived(&self, path: &Path) {
        let Some((witness, name)) = self.witness.as_ref().zip(path.file_name()) else { return };
        let to = witness.archive().join(name);
        if make_private_dir(&witness.archive()).is_ok() {
            let _ = witness.link(path, &to);
        }
    }

    /// The present length of the journal's copy; read it before the board.
    pub(super) fn witnessed_length(&self) -> u64 {
        self.witness.as_ref().map_or(0, Witness::length)
    }

    /// The revision of the copies, if it is above the board's, which was read after the copy had this length.
    pub(super) fn witnessed_above(&self, board: &Board, length: u64) -> Option<u64> {
        if length <= board.journal.length {
            return None;
        }
        // A journal that was started again is shorter than its copy, until the copy follows.
        self.witness.as_ref()?.revision().filter(|revision| *revision > board.revision)
    }

    /// The revision of the copies; none if there are none.
    pub fn witnessed_revision(&self) -> Option<u64> {
        self.witness.as_ref()?.revision()
    }

    /// The revision of this board and the later one of its copies; none if the copies are not ahead.
    pub fn is_behind_witness(&self) -> Option<(u64, u64)> {
        let length = self.witnessed_length();
        let (super::read::Found::Good(decoded), _) = self.load_state().ok()? else { return None };
        let above = self.witnessed_above(&decoded.board, length)?;
        Some((decoded.board.revision, above))
    }

    /// Whether the copy of the journal has every record up to this board.
    pub fn witness_has_log_of(&self, board: &Board) -> bool {
        self.witnessed_log_of(board).is_some()
    }

    fn witnessed_log_of(&self, board: &Board) -> Option<String> {
        let (mut text, _) = self.witness.as_ref()?.records().ok()?;
        let length = usize::try_from(board.journal.length).ok().filter(|length| *length <= text.len())?;
        text.truncate(length);
        let last = text.trim_end_matches('\n').rfind('\n').map_or(0, |at| at + 1);
        (hash(&text.as_bytes()[last..]) == board.journal.hash).then_some(text)
    }

    /// The journal and its copy, each a whole chain of records.
    fn both_journals(&self) -> Option<(String, String, Vec<Record>)> {
        let (copy, records) = self.witness.as_ref()?.records().ok().filter(|(text, _)| !text.is_empty())?;
        let log = text_of_records(&self.layout().log()).ok()?;
        Some((log, copy, records))
    }

    /// The copy of the journal, if both are whole and contradict each other: then it is unknown which of them was replaced.
    pub fn contradicting_copy(&self) -> Option<PathBuf> {
        let (log, copy, _) = self.both_journals()?;
        let is_chain = !log.is_empty() && read_chain(&log, NO_RECORD.to_owned()).is_ok();
        (is_chain && !log.starts_with(&copy) && !copy.starts_with(&log))
            .then(|| self.witness.as_ref().map(Witness::log))
            .flatten()
    }

    /// The revision of the copy, if it continues the journal: then an older journal was put in place.
    pub(super) fn copy_continues(&self) -> Option<u64> {
        let (log, copy, records) = self.both_journals()?;
        (copy.len() > log.len() && copy.starts_with(&log))
            .then(|| records.last().map(|last| last.revision))
            .flatten()
    }

    /// The newest board of the journal, if the journal and its copy agree that the board of this revision was another one.
    pub fn proven_otherwise(&self, revision: u64, board_hash: &str) -> Option<Decoded> {
        let (log, copy, records) = self.both_journals()?;
        let record = records.iter().find(|record| record.revision == revision)?;
        let agree = log.starts_with(&copy);
        (agree && record.board != board_hash).then(|| self.rebuild(None).ok()).flatten()
    }

    /// Restores the journal of the present board from its copy; the replaced file is kept.
    pub fn restore_log(&self, now: &Stamp) -> Result<Option<PathBuf>, StoreError> {
        let _lock = self.lock(now)?;
        let snapshot = self.read(&crate::board::Needs::Nothing)?;
        let text = self.witnessed_log_of(&snapshot.board).ok_or_else(|| StoreError::Invalid {
            message: "the copy of the journal below .git does not reach this board".to_owned(),
            hint: "restore log.yaml from a backup".to_owned(),
        })?;
        let kept = self.keep_file(&self.layout().log(), now)?;
        replace(&self.layout().log(), text.as_bytes())?;
        Ok(kept)
    }

    /// Restores board, journal and archive from their copies; the replaced files are kept.
    pub fn restore_from_witness(&self, now: &Stamp) -> Result<Restored, StoreError> {
        let Some(witness) = &self.witness else { return Err(StoreError::Missing(self.dir().to_owned())) };
        let (text, records) = witness.records()?;
        let Some(last) = records.last() else { return Err(StoreError::Missing(self.dir().to_owned())) };
        self.make_directories()?;
        let mut lock = self.lock(now)?;
        let mut kept = Vec::new();
        for path in [self.layout().state(), self.layout().log()] {
            kept.extend(self.keep_file(&path, now)?);
        }
        replace(&self.layout().log(), text.as_bytes())?;
        let start = text.trim_end_matches('\n').rfind('\n').map_or(0, |at| at + 1);
        let journal = JournalMark { length: text.len() as u64, hash: hash(&text.as_bytes()[start..]) };
        let copy = read_whole(&witness.board(), LARGEST_STATE).ok();
        let copy = copy.and_then(|(bytes, _)| Decoded::new(bytes).ok()).filter(|copy| {
            copy.board.journal == journal && copy.board_hash() == last.board && copy.check_tasks().is_ok()
        });
        let board = match copy {
            Some(board) => board,
            None => self.rebuild(Some(last.revision))?,
        };
        let image = self.layout().image(last.revision);
        replace(&image, board.text().as_bytes())?;
        replace(&self.layout().state(), board.text().as_bytes())?;
        lock.raise_mark(last.revision);
        let archived = self.restore_archive(witness)?;
        self.restore_lost_spec_texts()?;
        self.restore_result_copies()?;
        Ok(Restored { revision: last.revision, kept, archived })
    }

    /// Restores archived tasks whose files are missing.
    fn restore_archive(&self, witness: &Witness) -> Result<usize, StoreError> {
        let mut count = 0;
        for name in names_in(&witness.archive()).unwrap_or_default() {
            let (from, to) = (witness.archive().join(&name), self.layout().archive().join(&name));
            if name.starts_with('.') || fs::symlink_metadata(&to).is_ok() {
                continue;
            }
            let (bytes, _) = read_whole(&from, LARGEST_STATE).doing("read", &from)?;
            replace(&to, &bytes)?;
            count += 1;
        }
        Ok(count)
    }

    fn keep_file(&self, path: &Path, now: &Stamp) -> Result<Option<PathBuf>, StoreError> {
        match read_whole(path, LARGEST_LOG) {
            Ok((bytes, _)) => self.keep_edit(&bytes, now).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).doing("read", path),
        }
    }

    /// Compares the copies with the board's files. A copy that lags behind is no contradiction.
    pub fn check_witness(&self, board: &Board) -> Result<String, String> {
        let Some(witness) = &self.witness else { return Ok("this board has none".to_owned()) };
        let length = witness.length();
        if length == 0 {
            return Ok("none yet; the next change makes them".to_owned());
        }
        // Compares the board as it is now: the caller may have read it before the last change.
        if let Some((revision, above)) = self.is_behind_witness() {
            return Err(format!(
                "the board is at revision {revision}, its copy below .git at {above}: an older board was put in place"
            ));
        }
        let text = self.read_log_text(board.journal.length).map_err(|error| error.to_string())?;
        let copy = witness.text().map_err(|error| error.to_string())?;
        if !text.starts_with(&copy) {
            // Later records than the journal's are checked here, all others with the journal.
            witness.records().map_err(|error| error.to_string())?;
            if !copy.starts_with(&text) {
                let copy = witness.log();
                return Err(format!("the journal differs from its copy below .git: {}", copy.display()));
            }
        }
        let names = names_in(&witness.archive()).unwrap_or_default();
        // The board shows a task that was restored from the archive.
        let on_board =
            |name: &str| board.tasks.iter().any(|task| name.strip_suffix(".yaml") == Some(&task.id.folded()));
        for name in names.iter().filter(|name| !name.starts_with('.') && !on_board(name)) {
            let here = read_whole(&self.layout().archive().join(name), LARGEST_STATE);
            let copy = read_whole(&witness.archive().join(name), LARGEST_STATE);
            match (here, copy) {
                (Ok((here, _)), Ok((copy, _))) if here == copy => {}
                (Err(error), _) if error.kind() == io::ErrorKind::NotFound => {
                    return Err(format!("archive/{name} is gone; its copy is kept below .git"));
                }
                _ => {
                    let copy = witness.archive().join(name);
                    return Err(format!(
                        "archive/{name} differs from its copy below .git: {}",
                        copy.display()
                    ));
                }
            }
        }
        let records = copy.lines().count();
        Ok(format!("{records} records and {} archived tasks, the same as here", names.len()))
    }

    /// Archived tasks whose files are missing here and kept in the copies.
    pub fn lost_archived(&self) -> Vec<String> {
        let Some(witness) = &self.witness else { return Vec::new() };
        let gone = |name: &String| {
            !name.starts_with('.') && fs::symlink_metadata(self.layout().archive().join(name)).is_err()
        };
        names_in(&witness.archive()).unwrap_or_default().into_iter().filter(gone).collect()
    }

    /// Restores those tasks.
    pub fn restore_lost_archived(&self) -> Result<usize, StoreError> {
        self.witness.as_ref().map_or(Ok(0), |witness| self.restore_archive(witness))
    }

    /// Keeps a copy of a file that is named by its content.
    pub fn keep_copy(&self, kind: &str, name: &str, bytes: &[u8]) {
        let Some(witness) = &self.witness else { return };
        let dir = witness.dir.join(kind);
        if make_private_dir(&witness.dir).is_ok() && make_private_dir(&dir).is_ok() {
            let _ = replace(&dir.join(name), bytes);
        }
    }

    pub fn copy_of(&self, kind: &str, name: &str) -> Option<Vec<u8>> {
        let path = self.witness.as_ref()?.dir.join(kind).join(name);
        read_whole(&path, LARGEST_STATE).ok().map(|(bytes, _)| bytes)
    }

    pub fn has_copy(&self, kind: &str, name: &str) -> bool {
        let path = self.witness.as_ref().map(|witness| witness.dir.join(kind).join(name));
        path.is_some_and(|path| fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file()))
    }

    /// Sets the copies aside, with the board if it exists. Returns their new path.
    pub fn forget_witness(&self, now: &Stamp) -> Result<Option<PathBuf>, StoreError> {
        let Some(dir) = self.witness.as_ref().map(|witness| &witness.dir).filter(|dir| dir.is_dir()) else {
            return Ok(None);
        };
        let base = dir.parent().unwrap_or(dir);
        let moved = |base_of_target: &Path, to: &Path| -> io::Result<()> {
            AnchoredPath::at(base, dir)?.move_to(&AnchoredPath::at(base_of_target, to)?).map(|_| ())
        };
        let inside = self.dir().join("copies");
        if self.exists() && moved(self.dir(), &inside).is_ok() {
            return Ok(Some(inside));
        }
        let stamp = now.wall.to_string().replace([':', '-'], "");
        let aside = dir.with_file_name(format!("liza-uninstalled-{stamp}"));
        moved(base, &aside).doing("rename", dir)?;
        Ok(Some(aside))
    }
}
