//! A board on its way to `state.yaml`: changed parts are written and hashed, the others are copied.

use super::emit::emit_beside;
use super::kept::kept_entries;
use super::prelude::*;
use super::seal::{DIGITS, GROUP, Group, board_hash, checksum, task_hash};
use super::state::{Decoded, HASH_END, HASH_START, Header, Origin, tasks_line};
use super::{EmitError, emit, emit_item};

const PREAMBLE: &str = "\
# yaml-language-server: $schema=schema/state.schema.json
# The blackboard. Read it freely; change it through `liza` (comments are lost, `liza doctor` explains refused edits).
";

/// A part of the new text: copied from the old one, or newly written.
#[derive(Debug, Clone)]
enum Piece {
    Kept(Range<usize>),
    Fresh(Range<usize>),
}

/// The content of a board, to be put below a header.
#[derive(Debug)]
pub struct Content {
    /// Hash of the board, as its record holds it.
    pub hash: String,
    origin: Arc<Origin>,
    /// The top-level part, and the newly written tasks.
    fresh: String,
    /// Where the top-level part ends in `fresh`, and where the tasks begin.
    top: usize,
    above: usize,
    /// The hashes of the tasks, concatenated.
    hashes: String,
    /// The tasks, in the order of the file.
    pieces: Vec<Piece>,
    sums: Vec<blake3::Hash>,
}

impl Content {
    /// `origin` is the text that the unchanged tasks were read from; `former` is the top level as it was read, if known.
    pub(super) fn new(board: &Board, origin: Arc<Origin>, former: Option<&Rest>) -> Result<Self, EmitError> {
        let kept = former.map(|former| kept_entries(origin.top(), former, &board.rest)).unwrap_or_default();
        let mut fresh = String::new();
        emit_beside(&board.rest, &kept, &mut fresh)?;
        debug_assert!(
            kept.is_empty()
                || is_written(&board.rest, &fresh)
                || former.is_some_and(|former| !is_written(former, origin.top())),
            "kept entries are as they would be written"
        );
        let top = fresh.len();
        fresh.push_str(tasks_line(board.tasks.is_empty()));
        let above = fresh.len();
        let mut content = Self {
            hash: String::new(),
            origin,
            fresh,
            top,
            above,
            hashes: String::new(),
            pieces: Vec::new(),
            sums: Vec::new(),
        };
        content.hashes.reserve(board.tasks.len() * DIGITS);
        for (number, group) in board.tasks.chunks(GROUP).enumerate() {
            content.push_group(number, group)?;
        }
        content.hash = board_hash(&content.fresh[..top], &content.hashes);
        Ok(content)
    }

    fn push_group(&mut self, number: usize, tasks: &[Task]) -> Result<(), EmitError> {
        let mut pieces: Vec<Piece> = Vec::new();
        for task in tasks {
            match task.source() {
                Some(source) => {
                    self.hashes.push_str(self.origin.hash_of(source));
                    match pieces.last_mut() {
                        Some(Piece::Kept(range)) if range.end == source.start => range.end = source.end,
                        _ => pieces.push(Piece::Kept(source.start..source.end)),
                    }
                }
                None => {
                    let start = self.fresh.len();
                    let hash = write_task(task, &mut self.fresh)?;
                    self.hashes.push_str(&hash);
                    pieces.push(Piece::Fresh(start..self.fresh.len()));
                }
            }
        }
        let known = self.origin.groups.get(number).filter(
            |known| matches!(&pieces[..], [Piece::Kept(range)] if *range == (known.start..known.end)),
        );
        let sum = known.map(|known| known.sum).unwrap_or_else(|| {
            let mut hasher = blake3::Hasher::new();
            for piece in &pieces {
                hasher.update(self.bytes(piece).as_bytes());
            }
            hasher.finalize()
        });
        self.sums.push(sum);
        for piece in pieces {
            match (self.pieces.last_mut(), &piece) {
                (Some(Piece::Kept(before)), Piece::Kept(range)) if before.end == range.start => {
                    before.end = range.end;
                }
                _ => self.pieces.push(piece),
            }
        }
        Ok(())
    }

    /// Whether it is the content of the text that was read.
    pub fn is_as_read(&self) -> bool {
        self.fresh[..self.top] == *self.origin.top() && self.hashes == self.origin.hashes()
    }

    /// How many tasks were written, and not copied.
    pub fn written_tasks(&self) -> usize {
        self.pieces.iter().filter(|piece| matches!(piece, Piece::Fresh(_))).count()
    }

    fn bytes(&self, piece: &Piece) -> &str {
        match piece {
            Piece::Kept(range) => &self.origin.text()[range.clone()],
            Piece::Fresh(range) => &self.fresh[range.clone()],
        }
    }

    /// The whole file.
    pub fn under(self, revision: u64, journal: &JournalMark) -> Result<NewState, EmitError> {
        let header = header(revision, journal)?;
        let mut above = blake3::Hasher::new();
        above.update(header.as_bytes()).update(&self.fresh.as_bytes()[..self.above]);
        // Always quoted: sixty-four digits, or digits around one `e`, would read as a number.
        let end = format!("end: \"{}\"\n", checksum(above.finalize(), self.sums.iter().copied()));
        Ok(NewState { header, content: self, end })
    }
}

fn is_written(rest: &Rest, text: &str) -> bool {
    let mut whole = String::new();
    emit(rest, 0, &mut whole).is_ok() && whole == text
}

/// Everything above the content.
pub(super) fn header(revision: u64, journal: &JournalMark) -> Result<String, EmitError> {
    let mut header = PREAMBLE.to_owned();
    emit(&Header { version: VERSION, revision, journal: journal.clone() }, 0, &mut header)?;
    Ok(header)
}

/// Writes a task with its hash between head and body, and returns the hash.
fn write_task(task: &Task, out: &mut String) -> Result<String, EmitError> {
    let start = out.len();
    emit_item(task.head(), 2, out)?;
    let mut body = String::new();
    emit(task.body(), 4, &mut body)?;
    let hash = task_hash(&out[start..], &body);
    for part in [HASH_START, &hash, HASH_END, &body] {
        out.push_str(part);
    }
    Ok(hash)
}

/// A whole `state.yaml` that is not written yet. Most of it is copied from the old one.
#[derive(Debug)]
pub struct NewState {
    header: String,
    content: Content,
    end: String,
}

impl NewState {
    pub fn pieces(&self) -> impl Iterator<Item = &str> {
        let above = [self.header.as_str(), &self.content.fresh[..self.content.above]];
        let tasks = self.content.pieces.iter().map(|piece| self.content.bytes(piece));
        above.into_iter().chain(tasks).chain([self.end.as_str()])
    }

    pub fn text(&self) -> String {
        self.pieces().collect()
    }

    /// The board that was written as this text, as if read from `bytes`; none if the bytes differ.
    pub fn reread(&self, board: &Board, bytes: Vec<u8>) -> Result<Decoded, Vec<u8>> {
        if !self.is(&bytes) {
            return Err(bytes);
        }
        // What was written is text.
        String::from_utf8(bytes).map(|text| self.read_as(board, text)).map_err(|error| error.into_bytes())
    }

    /// The board as if it had been written and read again.
    pub fn as_read(&self, board: &Board) -> Decoded {
        self.read_as(board, self.text())
    }

    fn read_as(&self, board: &Board, text: String) -> Decoded {
        let mut board = board.clone();
        let mut fresh = self.content.pieces.iter().filter_map(|piece| match piece {
            Piece::Fresh(range) => Some(range.len()),
            Piece::Kept(_) => None,
        });
        let mut end = self.header.len() + self.content.above;
        for (number, task) in board.tasks.iter_mut().enumerate() {
            let start = end;
            end +=
                task.source().map_or_else(|| fresh.next().unwrap_or_default(), |kept| kept.end - kept.start);
            task.read_from(Source { start, end, number });
        }
        let sums = board.tasks.chunks(GROUP).zip(&self.content.sums);
        let groups = sums.filter_map(|(tasks, sum)| {
            let (first, last) = (tasks.first()?.source()?, tasks.last()?.source()?);
            Some(Group { start: first.start, end: last.end, sum: *sum })
        });
        let groups = groups.collect();
        let top = self.header.len()..self.header.len() + self.content.top;
        Decoded::of(board, Origin::new(text, top, self.content.hashes.clone(), groups))
    }

    fn is(&self, bytes: &[u8]) -> bool {
        let mut rest = bytes;
        for piece in self.pieces() {
            match rest.strip_prefix(piece.as_bytes()) {
                Some(after) => rest = after,
                None => return false,
            }
        }
        rest.is_empty()
    }
}
