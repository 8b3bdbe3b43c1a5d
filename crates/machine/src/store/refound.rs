//! A log that is lost or broken while the board is intact: distinguished from a damaged board, and started
//! again if a person wants that.
//!
//! Two files are replaced, in a fixed order. liza keeps what is left of the old log and the board as an image;
//! then the new log takes the old one's place, with one record that has no predecessor; then a rename publishes
//! the board that names this log. A process that dies on the way leaves the old board and a log that it does
//! not name, as before, and the next attempt continues with the record it finds.

use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::path::PathBuf;

use crate::board::rules::RefoundLog;
use crate::board::state::JournalMark;
use crate::board::{Actor, Board, Call, Stamp, Transition, World, apply};
use crate::host::crash;
use crate::wire::log::{NO_RECORD, Record, check_chain};
use crate::wire::state::{Decoded, StateError, hash};

use super::commit::cannot_write;
use super::error::{IoContext, StoreError};
use super::files::{FileIdentity, make_private_dir, read_at_most, read_whole, replace, sync_dir, write_new};
use super::handle::Store;
use super::lock::open_no_follow;
use super::log_file::{LOG_GONE, LONGEST_TAIL, records_gone};
use super::read::{Found, invalid};

/// A log grows as long as the board is used; only memory limits it.
const LARGEST_LOG: u64 = 1 << 40;

/// What is wrong with the log of an intact board.
#[derive(Debug)]
pub struct LogDamage {
    pub what: String,
    /// Records are missing at the end of the log, or all of them.
    pub lost: bool,
    /// No command can change the board until it is repaired.
    pub stops: bool,
}

/// A restarted log.
pub struct Refounded {
    pub revision: u64,
    /// Where the rest of the old log is kept.
    pub kept: Option<PathBuf>,
}

impl Store {
    /// Whether the log is the one this board names. Records after it are not damage of the log: the board was
    /// rolled back, or a command died.
    pub fn log_damage(&self, board: &Board) -> Result<Option<LogDamage>, StoreError> {
        Ok(damage(board, self.log_bytes(board)?.as_deref()))
    }

    /// Whether an earlier build of this version wrote the board: its journal cannot be continued, only started
    /// again.
    pub fn is_of_earlier_build(&self) -> bool {
        matches!(self.load_state(), Ok((Found::Bad { why: StateError::Former, .. }, _)))
    }

    /// The records of this board and what follows them, up to a limit: an agent can make the file of any length. None
    /// if there is no such file.
    fn log_bytes(&self, board: &Board) -> Result<Option<Vec<u8>>, StoreError> {
        let path = self.layout().log();
        let most = board.journal.length.saturating_add(LONGEST_TAIL);
        let read = open_no_follow(&path, OpenOptions::new().read(true))
            .and_then(|file| read_at_most(&file, file.metadata()?.len(), most));
        match read {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).doing("read", &path),
        }
    }

    /// Starts the log again from the present board. Does nothing if the log turns out to be intact.
    pub fn refound_log(&self, now: &Stamp) -> Result<Option<Refounded>, StoreError> {
        let mut lock = self.lock(now)?;
        let (found, identity) = self.load_state()?;
        // Written again: the first record vouches for the hash of every task.
        let (decoded, former) = match found {
            Found::Good(decoded) => (decoded.rewritten(), false),
            Found::Bad { bytes, why: StateError::Former } => (Decoded::former(bytes), true),
            Found::Bad { why, .. } => (Err(why), false),
        };
        let decoded = decoded.map_err(|why| invalid(&why))?;
        if decoded.board.revision < lock.mark() {
            return Err(StoreError::Invalid {
                message: format!(
                    "state.yaml is at revision {}, but revision {} was published: only the newest board can begin a log",
                    decoded.board.revision,
                    lock.mark()
                ),
                hint: "restore state.yaml or log.yaml from a backup".to_owned(),
            });
        }
        let bytes = self.log_bytes(&decoded.board)?;
        let reason = match damage(&decoded.board, bytes.as_deref()) {
            Some(damage) => damage.what,
            None if former => "an earlier build of liza wrote it, and hashed the board as a whole".to_owned(),
            None => return Ok(None),
        };
        let ready = || {
            let there = FileIdentity::at(&self.layout().state()).doing("look at", &self.layout().state())?;
            if there == identity && lock.still_counts() {
                return Ok(());
            }
            Err(StoreError::Invalid {
                message: "state.yaml or its lock was changed by another program meanwhile".to_owned(),
                hint: "run `liza doctor` again".to_owned(),
            })
        };
        let begun = bytes.as_deref().and_then(|bytes| begun_before(&decoded, bytes));
        let record = match begun {
            Some(record) => record,
            None => {
                let kept = self.keep_log(decoded.board.revision, bytes.as_deref())?;
                crash::point("refound.kept");
                first_record(&decoded, reason, kept, now)
            }
        };
        let text = text_after(&decoded, &record)?;
        let image = self.layout().image(decoded.board.revision);
        make_private_dir(&self.layout().images())?;
        replace(&image, decoded.text().as_bytes())?;
        crash::point("refound.image");
        ready()?;
        replace(&self.layout().log(), record.line().0.as_bytes())?;
        crash::point("refound.log");
        ready()?;
        replace(&self.layout().state(), text.as_bytes())?;
        crash::point("refound.state");
        lock.raise_mark(record.revision);
        let (line, hash) = record.line();
        self.follow(&JournalMark { length: line.len() as u64, hash }, &line);
        let kept = record.refounds().and_then(|refound| refound.kept.as_ref());
        Ok(Some(Refounded { revision: record.revision, kept: kept.map(|kept| self.dir().join(kept)) }))
    }

    /// Keeps the rest of the log; an attempt that died may have kept it already.
    fn keep_log(&self, revision: u64, bytes: Option<&[u8]>) -> Result<Option<String>, StoreError> {
        let Some(bytes) = bytes.filter(|bytes| !bytes.is_empty()) else { return Ok(None) };
        let edits = self.layout().edits();
        make_private_dir(&edits)?;
        let name = format!("log-until-{revision}-{}.yaml", &hash(bytes)[..16]);
        let path = edits.join(&name);
        match read_whole(&path, LARGEST_LOG) {
            Ok((there, _)) if there == bytes => {}
            // Half written.
            Ok(_) => replace(&path, bytes)?,
            Err(_) => write_new(&path, bytes)?,
        }
        sync_dir(&edits).doing("sync", &edits)?;
        let path = edits.strip_prefix(self.dir()).unwrap_or(&edits).join(name);
        Ok(Some(path.display().to_string()))
    }
}

fn first_record(decoded: &Decoded, reason: String, kept: Option<String>, now: &Stamp) -> Record {
    Record {
        revision: decoded.board.revision + 1,
        prev: NO_RECORD.to_owned(),
        by: Actor::Human,
        at: now.clone(),
        world: World::default(),
        request: None,
        what: Transition::from(RefoundLog::of(&decoded.board, reason, kept)),
        board: decoded.board_hash(),
    }
}

/// The board that the record makes, as it is written.
fn text_after(decoded: &Decoded, record: &Record) -> Result<String, StoreError> {
    let mut after = decoded.clone();
    apply(&mut after.board, &record.what, &Call::new(record.by.clone(), &record.at, &record.world), None)?;
    let content = after.content().map_err(cannot_write)?;
    let (line, hash) = record.line();
    let journal = JournalMark { length: line.len() as u64, hash };
    Ok(content.under(after.board.revision, &journal).map_err(cannot_write)?.text())
}

/// The record of an attempt that died between log and board.
fn begun_before(decoded: &Decoded, bytes: &[u8]) -> Option<Record> {
    let text = std::str::from_utf8(bytes).ok()?;
    if text.find('\n').map(|at| at + 1) != Some(text.len()) {
        return None;
    }
    let record = Record::parse(text, decoded.board.revision + 1).ok()?;
    let follows = record.revision == decoded.board.revision + 1 && record.board == decoded.board_hash();
    (follows
        && record.refounds().is_some()
        && record.line().0 == text
        && text_after(decoded, &record).is_ok())
    .then_some(record)
}

fn damage(board: &Board, bytes: Option<&[u8]>) -> Option<LogDamage> {
    let mark = &board.journal;
    let lost = |what: String| Some(LogDamage { what, lost: true, stops: true });
    let Some(bytes) = bytes else { return lost(LOG_GONE.to_owned()) };
    let actual = bytes.len() as u64;
    if actual < mark.length {
        return lost(records_gone(actual, mark.length));
    }
    let (committed, tail) = bytes.split_at(usize::try_from(mark.length).unwrap_or(bytes.len()));
    // Every command checks only the length.
    let broken = |what: String| {
        Some(LogDamage { what: format!("log.yaml: {what}"), lost: false, stops: !tail.is_empty() })
    };
    let Ok(text) = std::str::from_utf8(committed) else { return broken("it is not valid UTF-8".to_owned()) };
    if let Err(error) = check_chain(text, NO_RECORD.to_owned(), None) {
        return broken(error.to_string());
    }
    let last = text.trim_end_matches('\n').rfind('\n').map_or(0, |at| at + 1);
    if hash(&text.as_bytes()[last..]) != mark.hash {
        return broken(format!("its record {} is not the one that made the board", board.revision));
    }
    // A record of a command that died, or several of a rolled-back board, follow the last record. A torn one
    // does too.
    let first = tail.split_inclusive(|byte| *byte == b'\n').next()?;
    let first = String::from_utf8_lossy(first);
    if !first.ends_with('\n') || check_chain(&first, mark.hash.clone(), Some(board.revision)).is_ok() {
        return None;
    }
    broken(format!("the records after {} do not follow it", board.revision))
}
