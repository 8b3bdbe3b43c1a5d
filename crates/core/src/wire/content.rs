//! A board on its way to `state.yaml`: what changed is written and hashed, everything else stays as it was read.

use super::prelude::*;
use super::seal::{DIGITS, GROUP, board_hash, checksum, task_hash};
use super::state::{HASH_END, HASH_START, Header, Origin, tasks_line};
use super::{EmitError, emit, emit_item};

const PREAMBLE: &str = "\
# yaml-language-server: $schema=schema/state.schema.json
# The blackboard. Read it freely; change it through `liza` (comments are lost, `liza doctor` explains refused edits).
";

/// A stretch of the new text: of the old one, or written anew.
#[derive(Debug, Clone)]
enum Piece {
    Kept(Range<usize>),
    Fresh(Range<usize>),
}

/// The content of a board, ready to be put under a header.
#[derive(Debug)]
pub struct Content {
    /// Hash of the board, as its record holds it.
    pub hash: String,
    origin: Arc<Origin>,
    /// The top-level part, and the tasks that were written anew.
    fresh: String,
    /// Where the tasks begin in `fresh`.
    above: usize,
    /// Of the tasks, in the order of the file.
    pieces: Vec<Piece>,
    sums: Vec<blake3::Hash>,
}

impl Content {
    /// `origin` is what the unchanged tasks were read from.
    pub(super) fn new(board: &Board, origin: Arc<Origin>) -> Result<Self, EmitError> {
        let mut fresh = String::new();
        emit(&board.rest, 0, &mut fresh)?;
        let top = fresh.len();
        fresh.push_str(tasks_line(board.tasks.is_empty()));
        let above = fresh.len();
        let mut content =
            Self { hash: String::new(), origin, fresh, above, pieces: Vec::new(), sums: Vec::new() };
        let mut hashes = String::with_capacity(board.tasks.len() * DIGITS);
        for (number, group) in board.tasks.chunks(GROUP).enumerate() {
            content.push_group(number, group, &mut hashes)?;
        }
        content.hash = board_hash(&content.fresh[..top], &hashes);
        Ok(content)
    }

    fn push_group(&mut self, number: usize, tasks: &[Task], hashes: &mut String) -> Result<(), EmitError> {
        let mut pieces: Vec<Piece> = Vec::new();
        for task in tasks {
            match task.source() {
                Some(source) => {
                    hashes.push_str(self.origin.hash_of(source));
                    match pieces.last_mut() {
                        Some(Piece::Kept(range)) if range.end == source.start => range.end = source.end,
                        _ => pieces.push(Piece::Kept(source.start..source.end)),
                    }
                }
                None => {
                    let start = self.fresh.len();
                    hashes.push_str(&write_task(task, &mut self.fresh)?);
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

/// A whole `state.yaml` that is not written yet. Most of it is still where it was read.
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
}
