//! The journal on disk: appended before the board is replaced, truncated only where nothing was published.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

use crate::board::Board;
use crate::wire::log::{LogError, Record, read_chain};

use super::error::{IoContext, StoreError};
use super::handle::Store;
use super::lock::open_no_follow;

pub(super) struct LogFile {
    file: File,
    path: PathBuf,
    /// How many bytes of the log belong to the board.
    length: u64,
}

impl LogFile {
    pub fn open(store: &Store) -> Result<Self, StoreError> {
        let path = store.layout().log();
        // Never created here: a board whose log is missing must not look like one whose log is empty.
        match open_no_follow(&path, OpenOptions::new().read(true).write(true)) {
            Ok(file) => Ok(Self { file, path, length: 0 }),
            Err(error) if error.kind() == ErrorKind::NotFound => Err(log_gone()),
            Err(error) => Err(error).doing("open", &path),
        }
    }

    /// Truncates the log to the end that the board names. Returns the file of what was set aside, for a
    /// message to the person.
    pub fn settle(&mut self, store: &Store, board: &Board, mark: u64) -> Result<Option<PathBuf>, StoreError> {
        self.length = board.journal.length;
        let actual = self.file.metadata().doing("look at", &self.path)?.len();
        if actual == self.length {
            return Ok(None);
        }
        if actual < self.length {
            return Err(log_invalid(records_gone(actual, self.length)));
        }
        let tail = String::from_utf8_lossy(&self.tail()?).into_owned();
        // One complete or partial record that was never published: a crash between append and rename.
        let unpublished = match read_chain(&tail, board.journal.hash.clone()) {
            Ok(records) => matches!(&records[..], [one] if one.revision == board.revision + 1),
            Err(LogError::Torn(_)) => !tail.contains('\n'),
            Err(_) => false,
        };
        if !unpublished || mark > board.revision {
            return Err(StoreError::Invalid {
                message: format!(
                    "log.yaml continues after revision {} of state.yaml: the board was rolled back, or the log changed by hand",
                    board.revision
                ),
                hint: "`liza doctor` says which, and what `liza doctor --fix` does about it".to_owned(),
            });
        }
        let aside = store.layout().edits().join(format!(
            "unpublished-{}-{}.yaml",
            board.revision + 1,
            std::process::id()
        ));
        super::files::make_private_dir(&store.layout().edits())?;
        let _ = std::fs::remove_file(&aside);
        super::files::write_new(&aside, &self.tail()?)?;
        self.cut()?;
        Ok(Some(aside))
    }

    fn tail(&mut self) -> Result<Vec<u8>, StoreError> {
        let mut bytes = Vec::new();
        self.file.seek(SeekFrom::Start(self.length)).doing("read", &self.path)?;
        (&mut self.file).take(LONGEST_TAIL).read_to_end(&mut bytes).doing("read", &self.path)?;
        Ok(bytes)
    }

    fn cut(&mut self) -> Result<(), StoreError> {
        self.file.set_len(self.length).doing("cut", &self.path)
    }

    /// Appends one record and syncs it. If that fails, truncates the file to its former length.
    pub fn append(&mut self, line: &str) -> Result<(), StoreError> {
        let actual = self.file.metadata().doing("look at", &self.path)?.len();
        if actual != self.length {
            return Err(StoreError::Invalid {
                message: "log.yaml was changed by another program while this command ran".to_owned(),
                hint: "nothing was changed; run the command again".to_owned(),
            });
        }
        let written = self
            .file
            .seek(SeekFrom::Start(self.length))
            .and_then(|_| self.file.write_all(line.as_bytes()))
            .doing("append to", &self.path)
            .and_then(|()| {
                crate::host::crash::point("commit.5-appended");
                self.file.sync_all().doing("sync", &self.path)
            });
        if written.is_err() {
            self.undo(line);
        }
        written
    }

    /// Removes an appended record, complete or partial, because the board was not published. If this fails too,
    /// the next command sets the record aside. Bytes that another program wrote meanwhile stay.
    pub fn undo(&mut self, line: &str) {
        if self.tail().is_ok_and(|tail| line.as_bytes().starts_with(&tail)) {
            let _ = self.cut();
        }
    }
}

impl Store {
    /// The committed records up to `length` bytes, checked as a chain.
    pub fn read_log(&self, length: u64) -> Result<Vec<Record>, StoreError> {
        let text = self.read_log_text(length)?;
        read_chain(&text, String::new()).map_err(|error| log_broken(&error))
    }

    /// Passes the committed lines on one by one, each with its number, without checking the chain. Holds only
    /// one line in memory.
    pub fn each_log_line(
        &self,
        length: u64,
        see: &mut dyn FnMut(&str, u64) -> Result<(), LogError>,
    ) -> Result<(), StoreError> {
        let path = self.layout().log();
        let file = match open_no_follow(&path, OpenOptions::new().read(true)) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Err(log_gone()),
            opened => opened.doing("open", &path)?,
        };
        let mut lines = BufReader::new(file.take(length));
        let (mut line, mut number, mut read) = (String::new(), 0, 0);
        loop {
            line.clear();
            match lines.read_line(&mut line).doing("read", &path)? {
                0 if read < length => return Err(log_invalid(records_gone(read, length))),
                0 => return Ok(()),
                bytes => read += bytes as u64,
            }
            number += 1;
            see(&line, number).map_err(|error| log_broken(&error))?;
        }
    }

    pub fn read_log_text(&self, length: u64) -> Result<String, StoreError> {
        let path = self.layout().log();
        let file = match open_no_follow(&path, OpenOptions::new().read(true)) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Err(log_gone()),
            opened => opened.doing("open", &path)?,
        };
        let mut bytes = Vec::new();
        file.take(length).read_to_end(&mut bytes).doing("read", &path)?;
        if (bytes.len() as u64) < length {
            return Err(log_invalid(records_gone(bytes.len() as u64, length)));
        }
        String::from_utf8(bytes).map_err(|_| log_invalid("log.yaml is not valid UTF-8".to_owned()))
    }
}

pub(super) fn records_gone(actual: u64, length: u64) -> String {
    format!("log.yaml is {actual} bytes long, but the board's log has {length}: records are missing")
}

/// How much after the last record is read and kept.
pub(super) const LONGEST_TAIL: u64 = 64 * 1024 * 1024;
pub(super) const LOG_GONE: &str = "log.yaml is gone, and with it every record of the board's log";

fn log_gone() -> StoreError {
    log_invalid(LOG_GONE.to_owned())
}

pub(super) fn log_broken(error: &LogError) -> StoreError {
    log_invalid(format!("log.yaml: {error}"))
}

fn log_invalid(message: String) -> StoreError {
    let hint = "restore log.yaml from a backup; without one, `liza doctor --fix` starts a new log and keeps what is left of this one";
    StoreError::Invalid { message, hint: hint.to_owned() }
}
