//! The second copies of board, journal and archive, below the common git directory. `witness` says when they
//! are written and what they are compared with.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::board::state::JournalMark;
use crate::wire::log::{NO_RECORD, Record, read_chain};

use super::error::{IoContext, StoreError};
use super::files::{beside, make_private_dir, read_at_most, read_whole, replace};
use super::layout::Layout;
use super::lock::open_no_follow;

/// A journal grows as long as the board is used; only memory limits it.
pub(super) const LARGEST_LOG: u64 = 1 << 40;
/// How much of a journal's end is read first to find its last record.
const TAIL: u64 = 64 * 1024;

/// The directory of the copies.
#[derive(Debug, Clone)]
pub(super) struct Witness {
    pub(super) dir: PathBuf,
}

impl Witness {
    pub fn new(dir: PathBuf) -> Self {
        Self { dir }
    }

    pub fn log(&self) -> PathBuf {
        self.dir.join("log.yaml")
    }

    pub fn board(&self) -> PathBuf {
        self.dir.join("state.yaml")
    }

    pub fn archive(&self) -> PathBuf {
        self.dir.join("archive")
    }

    /// The length of the journal's copy; 0 if there is none.
    pub fn length(&self) -> u64 {
        fs::symlink_metadata(self.log()).map_or(0, |meta| if meta.is_file() { meta.len() } else { 0 })
    }

    /// The revision of the last record of the copy.
    pub fn revision(&self) -> Option<u64> {
        let mut file = open_no_follow(&self.log(), OpenOptions::new().read(true)).ok()?;
        let length = file.metadata().ok()?.len();
        let mut from = length.saturating_sub(TAIL);
        loop {
            let mut bytes = Vec::new();
            file.seek(SeekFrom::Start(from)).ok()?;
            (&mut file).take(length - from).read_to_end(&mut bytes).ok()?;
            let text = String::from_utf8_lossy(&bytes);
            // A half-written record of a process that died does not count.
            let whole = &text[..text.rfind('\n')? + 1];
            match whole.trim_end_matches('\n').rfind('\n') {
                Some(at) => return Record::parse(&whole[at + 1..], 1).ok().map(|record| record.revision),
                None if from == 0 => return Record::parse(whole, 1).ok().map(|record| record.revision),
                None => from = from.saturating_sub(TAIL.max(length - from)),
            }
        }
    }

    /// Updates the copies after a board was published; `line` is its record. If this fails, the next commit
    /// catches up.
    pub fn follow(&self, layout: &Layout, journal: &JournalMark, line: &str) {
        // Only a directory of liza's own, or none yet: a link here would lead elsewhere.
        if fs::symlink_metadata(&self.dir).is_ok_and(|meta| !meta.is_dir()) {
            return;
        }
        let _ = self.follow_log(layout, journal, line);
        let _ = self.link(&layout.state(), &self.board());
    }

    pub fn follow_log(&self, layout: &Layout, journal: &JournalMark, line: &str) -> io::Result<()> {
        let path = self.log();
        // An agent may have put a link or a pipe here: liza neither follows the link nor waits for the pipe.
        let open = || open_no_follow(&path, OpenOptions::new().append(true).create(true).mode(0o600));
        let mut copy = match open() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                make_private_dir(&self.dir).map_err(io::Error::other)?;
                open()?
            }
            opened => opened?,
        };
        let length = copy.metadata()?.len();
        if length + line.len() as u64 == journal.length {
            return copy.write_all(line.as_bytes());
        }
        // The copy lags behind, or the journal was started again.
        let start = |path: &Path| {
            let file = open_no_follow(path, OpenOptions::new().read(true))?;
            read_at_most(&file, journal.length, journal.length + 1)
        };
        let bytes = start(&layout.log())?;
        let committed = usize::try_from(journal.length).ok().and_then(|length| bytes.get(..length));
        let committed = committed.ok_or(io::ErrorKind::UnexpectedEof)?;
        match committed.strip_prefix(&start(&path)?[..]) {
            Some(missing) => copy.write_all(missing),
            None => replace(&path, committed).map_err(io::Error::other),
        }
    }

    /// Makes a second link, or a copy where the file system has no links.
    pub fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        let temp = beside(to);
        let linked = match fs::hard_link(from, &temp) {
            // A process that died left it.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                fs::remove_file(&temp).and_then(|()| fs::hard_link(from, &temp))
            }
            other => other,
        };
        if linked.is_err() {
            let (bytes, _) = read_whole(from, LARGEST_LOG)?;
            return replace(to, &bytes).map_err(io::Error::other);
        }
        let renamed = fs::rename(&temp, to);
        // Both names are links to one file: such a rename does nothing.
        let _ = fs::remove_file(&temp);
        renamed
    }

    /// The text of the complete records of the copy.
    pub fn text(&self) -> Result<String, StoreError> {
        text_of_records(&self.log())
    }

    /// The complete records of the copy, checked as a chain, and their text.
    pub fn records(&self) -> Result<(String, Vec<Record>), StoreError> {
        let text = self.text()?;
        let records = read_chain(&text, NO_RECORD.to_owned()).map_err(|error| StoreError::Invalid {
            message: format!("{}: {error}", self.log().display()),
            hint: "restore .liza from a backup; task branches and refs in git are untouched".to_owned(),
        })?;
        Ok((text, records))
    }
}

/// The text of the complete records of a journal.
pub(super) fn text_of_records(path: &Path) -> Result<String, StoreError> {
    let bytes = read_records(path).doing("read", path)?;
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    text.truncate(text.rfind('\n').map_or(0, |at| at + 1));
    Ok(text)
}

/// The bytes of a journal. No record has a zero byte, so a sparse file ends here at its first one.
fn read_records(path: &Path) -> io::Result<Vec<u8>> {
    const PIECE: u64 = 1024 * 1024;
    let mut file = open_no_follow(path, OpenOptions::new().read(true))?;
    let mut bytes = Vec::new();
    loop {
        let before = bytes.len();
        (&mut file).take(PIECE).read_to_end(&mut bytes)?;
        if memchr::memchr(0, &bytes[before..]).is_some() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "it contains bytes that liza never wrote",
            ));
        }
        if bytes.len() == before {
            return Ok(bytes);
        }
    }
}
