//! `state.yaml`: bytes to board and back.
//!
//! Layout: comment lines, then the header (`version`, `revision`, `journal`), then the content (`goal` … `tasks`),
//! then `end: <checksum>`. The checksum covers the header and the hash of the content, and a log record holds the
//! hash of the content alone: so one pass over the content serves both, and neither needs the other.
//!
//! Every value stands on one line, so a line that begins with `  - id: ` below `tasks:` begins a task and nothing
//! else does. Heads are read for all tasks, bodies only for those asked for, and a task nobody touched is written
//! back as the bytes it was read from.

use std::collections::HashSet;

use memchr::memmem;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::board::state::{JournalMark, Rest, VERSION};
use crate::board::task::{Body, Head, Source, Task};
use crate::board::{Board, Needs, TaskId};

use super::{ParseError, emit, emit_item, parse, parse_item};

const PREAMBLE: &str = "\
# yaml-language-server: $schema=schema/state.schema.json
# The blackboard. Read it freely; change it through `liza` (comments are lost, `liza doctor` explains refused edits).
";

const TASK_START: &str = "  - id: ";
const BODY_START: &str = "\n    title: ";

/// Why bytes are not a board that liza wrote.
#[derive(Debug, Error)]
pub enum StateError {
    #[error("it is not valid UTF-8")]
    NotText,
    #[error("its last line `end:` is missing, so it was cut off")]
    Truncated,
    #[error("it was changed outside liza (its checksum does not match)")]
    Edited,
    #[error("it was written by a newer liza (version {0}); this one reads version {VERSION}")]
    Newer(u64),
    #[error("it was written by the older shell implementation (version {0})")]
    Older(u64),
    #[error(
        "it is a board of the older shell implementation (version {0}), but liza has published boards here since: somebody put an old copy in place"
    )]
    Replaced(u64),
    #[error(
        "its line `version:` says {0}, but everything else is a board that this liza wrote (version {VERSION}): that line was changed"
    )]
    Relabelled(u64),
    #[error("line {line}: {message}")]
    Malformed { line: usize, message: String },
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    version: u32,
    revision: u64,
    journal: JournalMark,
}

/// A board with the bytes it was read from.
#[derive(Debug, Clone)]
pub struct Decoded {
    pub board: Board,
    /// Hash of the content, as the log record of this revision has it.
    pub content_hash: String,
    text: String,
}

impl Decoded {
    /// Reads bytes that liza wrote; anything else is refused with what it is instead.
    pub fn new(bytes: Vec<u8>) -> Result<Self, StateError> {
        let text = String::from_utf8(bytes).map_err(|_| StateError::NotText)?;
        let end = end_line(&text)?;
        let content_start = find_line(&text, "goal:").ok_or_else(|| not_ours(&text))?;
        if content_start > end.start {
            return Err(not_ours(&text));
        }
        let content_hash = hash(&text.as_bytes()[content_start..end.start]);
        if checksum(&text[..content_start], &content_hash) != end.checksum || end.below {
            return Err(not_ours(&text));
        }
        let board = read(&text, content_start, end.start)?;
        Ok(Self { board, content_hash, text })
    }

    /// Loads the bodies that are asked for.
    pub fn load(&mut self, needs: &Needs) -> Result<(), StateError> {
        load(&self.text, &mut self.board, needs)
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn into_board(self) -> Board {
        self.board
    }

    pub fn into_parts(self) -> (Board, String) {
        (self.board, self.text)
    }
}

struct EndLine<'t> {
    start: usize,
    checksum: &'t str,
    /// Something stands below it.
    below: bool,
}

fn end_line(text: &str) -> Result<EndLine<'_>, StateError> {
    let start = if text.starts_with("end:") { Some(0) } else { text.rfind("\nend:").map(|at| at + 1) };
    let Some(start) = start else {
        return Err(if text.is_empty() { StateError::Truncated } else { missing_end(text) });
    };
    let line_end = text[start..].find('\n').map(|at| start + at);
    // The last byte is part of what was written, and so are the blank and the quotes.
    let Some(line_end) = line_end else { return Err(StateError::Truncated) };
    let checksum = text[start..line_end].strip_prefix("end: \"").and_then(|rest| rest.strip_suffix('"'));
    Ok(EndLine { start, checksum: checksum.unwrap_or_default(), below: line_end + 1 != text.len() })
}

fn missing_end(text: &str) -> StateError {
    match version_of(text) {
        Some(version) if version != u64::from(VERSION) => other_version(version),
        _ => StateError::Truncated,
    }
}

/// The checksum does not match: written by another version, or changed.
fn not_ours(text: &str) -> StateError {
    match version_of(text) {
        Some(version) if version != u64::from(VERSION) => other_version(version),
        _ => StateError::Edited,
    }
}

fn other_version(version: u64) -> StateError {
    if version > u64::from(VERSION) { StateError::Newer(version) } else { StateError::Older(version) }
}

/// Whether these bytes are a board of our own but for the line that names the version.
pub fn is_relabelled(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let Some(at) = find_line(text, "version:") else { return false };
    let end = text[at..].find('\n').map_or(text.len(), |length| at + length);
    let ours = format!("{}version: {VERSION}{}", &text[..at], &text[end..]);
    Decoded::new(ours.into_bytes()).is_ok()
}

/// As liza or a person writes it: with quotes or without, perhaps with a remark behind.
fn version_of(text: &str) -> Option<u64> {
    let at = find_line(text, "version:")?;
    let value = text[at..].lines().next()?.strip_prefix("version:")?;
    let value = value.split(" #").next().unwrap_or_default().trim();
    let quoted = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
    quoted('"').or_else(|| quoted('\'')).unwrap_or(value).parse().ok()
}

/// Where the first line that begins with `start` begins.
fn find_line(text: &str, start: &str) -> Option<usize> {
    if text.starts_with(start) {
        return Some(0);
    }
    let mut from = 0;
    while let Some(at) = text[from..].find(start) {
        let at = from + at;
        if text.as_bytes()[at - 1] == b'\n' {
            return Some(at);
        }
        from = at + start.len();
    }
    None
}

pub fn hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

/// The text with a checksum that is right, whatever it says: for trying what lies behind it.
#[cfg(any(test, fuzzing))]
pub(super) fn sealed(text: &str) -> Option<String> {
    let content_start = find_line(text, "goal:")?;
    let end = end_line(text).ok().map_or(text.len(), |end| end.start);
    let body = text.get(content_start..end)?;
    let checksum = checksum(&text[..content_start], &hash(body.as_bytes()));
    Some(format!("{}{body}end: \"{checksum}\"\n", &text[..content_start]))
}

fn checksum(header: &str, content_hash: &str) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(header.as_bytes());
    hasher.update(content_hash.as_bytes());
    hasher.finalize().to_hex().to_string()
}

/// Lines are counted only when there is an error to place: counting for every task would cost more than reading them.
fn malformed(text: &str, at: usize) -> impl Fn(ParseError) -> StateError {
    move |error| {
        let lines_before = text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count();
        StateError::Malformed { line: lines_before + error.line, message: error.message }
    }
}

fn read(text: &str, content_start: usize, content_end: usize) -> Result<Board, StateError> {
    let header_start =
        find_line(text, "version:").filter(|at| *at < content_start).ok_or(StateError::Edited)?;
    if let Some(version) = version_of(text).filter(|version| *version != u64::from(VERSION)) {
        return Err(other_version(version));
    }
    let header: Header =
        parse(&text[header_start..content_start], 0).map_err(malformed(text, header_start))?;
    // The first line that begins so: everything before it is nested deeper or has another name.
    let tasks_at = memmem::find(&text.as_bytes()[content_start..content_end], b"\ntasks:")
        .map(|at| content_start + at + 1)
        .ok_or(StateError::Malformed { line: 1, message: "there is no `tasks:`".to_owned() })?;
    let rest: Rest = parse(&text[content_start..tasks_at], 0).map_err(malformed(text, content_start))?;
    let tasks = read_heads(text, tasks_at, content_end)?;
    Ok(Board { revision: header.revision, journal: header.journal, rest, tasks })
}

fn read_heads(text: &str, tasks_at: usize, end: usize) -> Result<Vec<Task>, StateError> {
    let section = &text[tasks_at..end];
    if section == "tasks: []\n" {
        return Ok(Vec::new());
    }
    let wrong =
        |message: &str| malformed(text, tasks_at)(ParseError { line: 1, message: message.to_owned() });
    let items = section.strip_prefix("tasks:\n").ok_or_else(|| wrong("`tasks:` has no list"))?;
    let first = end - items.len();
    if !items.starts_with(TASK_START) {
        return Err(wrong("the first task does not begin with its id"));
    }
    let mut tasks = Vec::new();
    let mut start = first;
    let next_task = memmem::Finder::new(b"\n  - id: ");
    while start < end {
        let from = start + TASK_START.len();
        let next = next_task.find(&text.as_bytes()[from..end]).map_or(end, |at| from + at + 1);
        let block = &text[start..next];
        let head_end = block.find(BODY_START).map_or(block.len(), |at| at + 1);
        let head: Head = parse_item(&block[..head_end], 2).map_err(malformed(text, start))?;
        tasks.push(Task::light(head, Source { start, end: next }));
        start = next;
    }
    Ok(tasks)
}

fn load(text: &str, board: &mut Board, needs: &Needs) -> Result<(), StateError> {
    let wanted: Option<HashSet<&TaskId>> = match needs {
        Needs::Nothing => return Ok(()),
        Needs::Everything => None,
        Needs::Tasks(ids) => Some(ids.iter().collect()),
    };
    for task in &mut board.tasks {
        if !task.is_light() || wanted.as_ref().is_some_and(|ids| !ids.contains(&task.id)) {
            continue;
        }
        let Some(source) = task.source() else { continue };
        let block = &text[source.start..source.end];
        let Some(at) = block.find(BODY_START) else {
            return Err(malformed(text, source.start)(ParseError {
                line: 1,
                message: "the task has no title".to_owned(),
            }));
        };
        let body: Body = parse(&block[at + 1..], 4).map_err(malformed(text, source.start + at + 1))?;
        task.fill(body);
    }
    Ok(())
}

/// The content of a board, ready to be put under a header.
pub struct Content {
    text: String,
    pub hash: String,
}

/// Writes everything below the header. `source` is the text the unchanged tasks were read from.
pub fn encode_content(board: &Board, source: &str) -> Result<Content, super::EmitError> {
    // Room for what changes and for the header that is put in front.
    let mut text = String::with_capacity(source.len() + 16 * 1024);
    emit(&board.rest, 0, &mut text)?;
    if board.tasks.is_empty() {
        text.push_str("tasks: []\n");
    } else {
        text.push_str("tasks:\n");
    }
    for task in &board.tasks {
        match task.source() {
            Some(at) => text.push_str(&source[at.start..at.end]),
            None => emit_task(task, &mut text)?,
        }
    }
    let hash = hash(text.as_bytes());
    Ok(Content { text, hash })
}

fn emit_task(task: &Task, out: &mut String) -> Result<(), super::EmitError> {
    emit_item(task.head(), 2, out)?;
    emit(task.body(), 4, out)
}

impl Content {
    /// The whole file.
    pub fn under(self, revision: u64, journal: &JournalMark) -> Result<String, super::EmitError> {
        let mut header = PREAMBLE.to_owned();
        emit(&Header { version: VERSION, revision, journal: journal.clone() }, 0, &mut header)?;
        let checksum = checksum(&header, &self.hash);
        // Moved inside the memory it has: a second copy of a large board would cost more than the whole change.
        let mut text = self.text;
        text.insert_str(0, &header);
        text.push_str("end: ");
        text.push_str(&quoted_hex(&checksum));
        text.push('\n');
        Ok(text)
    }
}

/// Always quoted: sixty-four digits, or digits around one `e`, would read as a number.
fn quoted_hex(hex: &str) -> String {
    format!("\"{hex}\"")
}
