//! `state.yaml`: bytes to board and back.
//!
//! Layout: comment lines, then the header (`version`, `revision`, `journal`), then the content (`goal` … `tasks`),
//! then `end: <checksum>`. What the checksum and the hashes of tasks and board cover is said in [`super::seal`].
//!
//! Every value stands on one line, so a line that begins with `  - id: ` below `tasks:` begins a task and nothing
//! else does. Heads are read for all tasks, bodies only for those asked for, and an unchanged task is written
//! back as the bytes it was read from, with the hash it has.

use std::sync::LazyLock;

use memchr::memmem;

use super::content::Content;
use super::head::{read_head, read_title};
use super::prelude::*;
use super::seal::{DIGITS, Group, Parts, board_hash, former_checksum, task_hash};
use super::{EmitError, ParseError, parse};

pub use super::seal::hash;

const BODY_START: &str = "\n    title: ";
/// The last line of a head, around the hash.
pub(super) const HASH_START: &str = "    hash: \"";
pub(super) const HASH_END: &str = "\"\n";
const HASH_LINE: usize = HASH_START.len() + DIGITS + HASH_END.len();

/// Why bytes are not a board that liza wrote.
#[derive(Debug, Error)]
pub enum StateError {
    #[error("it is not valid UTF-8")]
    NotText,
    #[error("its last line `end:` is missing, so it was cut off")]
    Truncated,
    #[error("it was changed outside liza (its checksum does not match)")]
    Edited,
    #[error(
        "it was written by an earlier build of liza, whose journal hashes the board as a whole; this build cannot continue that journal"
    )]
    Former,
    #[error("it was written by a newer liza (version {0}); this one reads version {VERSION}")]
    Newer(u64),
    #[error("it was written by the older shell implementation (version {0})")]
    Older(u64),
    #[error(
        "it is a board of the older shell implementation (version {0}), but liza has published boards here since: an old copy was put in its place"
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
pub(super) struct Header {
    pub version: u32,
    pub revision: u64,
    pub journal: JournalMark,
}

/// The text that a board was read from, with known positions and hashes.
#[derive(Debug, Default)]
pub struct Origin {
    text: String,
    /// The top-level part: the content without the tasks.
    top: Range<usize>,
    /// The hashes of the tasks, concatenated.
    hashes: String,
    pub(super) groups: Vec<Group>,
}

impl Origin {
    /// For a text without known parts.
    pub fn of_text(text: String) -> Arc<Self> {
        Arc::new(Self { text, ..Self::default() })
    }

    pub(super) fn new(text: String, top: Range<usize>, hashes: String, groups: Vec<Group>) -> Self {
        Self { text, top, hashes, groups }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Checks that the text of every task read from here matches its hash. Readers trust the hashes if the checksum is
    /// right, and any writer of the file can make that right.
    pub fn check_tasks(&self, board: &Board) -> Result<(), String> {
        for (task, source) in board.tasks.iter().filter_map(|task| Some((task, task.source()?))) {
            let parts = hash_line(&self.text[source.start..source.end]);
            if parts.is_none_or(|(head, hash, body)| task_hash(head, body) != hash) {
                return Err(format!("the text of task {} does not match its hash", task.id));
            }
        }
        Ok(())
    }

    /// Hash of the board, as in the record of its revision.
    pub fn board_hash(&self) -> String {
        board_hash(self.top(), &self.hashes)
    }

    pub(super) fn top(&self) -> &str {
        &self.text[self.top.clone()]
    }

    pub(super) fn hashes(&self) -> &str {
        &self.hashes
    }

    pub(super) fn hash_of(&self, source: &Source) -> &str {
        &self.hashes[source.number * DIGITS..][..DIGITS]
    }
}

/// A board with the bytes that it was read from. Copies share them.
#[derive(Debug, Clone)]
pub struct Decoded {
    pub board: Board,
    origin: Arc<Origin>,
}

impl Decoded {
    /// Reads bytes that liza wrote; refuses others with the reason.
    pub fn new(bytes: Vec<u8>) -> Result<Self, StateError> {
        let text = String::from_utf8(bytes).map_err(|_| StateError::NotText)?;
        let end = end_line(&text)?;
        let above = &text[..end.start];
        let parts = Parts::of(above);
        let mut hashes = String::with_capacity(parts.tasks.len() * DIGITS);
        let (groups, (top, tasks)) = beside_sums(&parts, above, || {
            let content_start = find_line(&text, "goal:").ok_or(StateError::Edited);
            let top = content_start.and_then(|start| read_top(&text, start..end.start, &parts.tasks));
            (top, read_tasks(&text, &parts.tasks, end.start, Some(&mut hashes)))
        });
        if parts.checksum(above, &groups) != end.checksum || end.below {
            return Err(not_ours(&text, &end));
        }
        let (Top { header, rest, range }, tasks) = (top?, tasks?);
        let origin = Origin { text, top: range, hashes, groups };
        let board = Board { revision: header.revision, journal: header.journal, rest, tasks };
        Ok(Self { board, origin: Arc::new(origin) })
    }

    pub(super) fn of(board: Board, origin: Origin) -> Self {
        Self { board, origin: Arc::new(origin) }
    }

    /// A board that is written whole: every task again, with its hash.
    pub fn unwritten(mut board: Board) -> Self {
        board.tasks.iter_mut().for_each(Task::forget_source);
        Self { board, origin: Arc::default() }
    }

    /// The board of [`Decoded::unwritten`] after it was written and read.
    pub fn rewritten(mut self) -> Result<Self, StateError> {
        self.load(&Needs::Everything)?;
        let (revision, journal) = (self.board.revision, self.board.journal.clone());
        let whole = |error: EmitError| StateError::Malformed { line: 1, message: error.to_string() };
        let content = Self::unwritten(self.board).content().map_err(whole)?;
        Self::new(content.under(revision, &journal).map_err(whole)?.text().into_bytes())
    }

    /// A board of builds from before tasks had hashes, as this build would have written it.
    pub fn former(bytes: Vec<u8>) -> Result<Self, StateError> {
        let text = String::from_utf8(bytes).map_err(|_| StateError::NotText)?;
        let end = end_line(&text)?;
        let content_start = former_content(&text, &end).ok_or(StateError::Edited)?;
        let starts = Parts::of(&text[..end.start]).tasks;
        let Top { header, rest, .. } = read_top(&text, content_start..end.start, &starts)?;
        let tasks = read_tasks(&text, &starts, end.start, None)?;
        let board = Board { revision: header.revision, journal: header.journal, rest, tasks };
        Self { board, origin: Origin::of_text(text) }.rewritten()
    }

    /// Loads the bodies that are needed.
    pub fn load(&mut self, needs: &Needs) -> Result<(), StateError> {
        load(&self.origin.text, &mut self.board, needs)
    }

    pub fn text(&self) -> &str {
        &self.origin.text
    }

    /// Hash of the board that was read, as in the record of its revision.
    pub fn board_hash(&self) -> String {
        self.origin.board_hash()
    }

    /// As [`Origin::check_tasks`].
    pub fn check_tasks(&self) -> Result<(), String> {
        self.origin.check_tasks(&self.board)
    }

    /// Everything below the header, to be written.
    pub fn content(&self) -> Result<Content, EmitError> {
        Content::new(&self.board, Arc::clone(&self.origin), None)
    }

    /// The same, faster: `read` is the board before it was changed.
    pub fn content_after(&self, read: &Self) -> Result<Content, EmitError> {
        let former = Arc::ptr_eq(&self.origin, &read.origin).then_some(&read.board.rest);
        Content::new(&self.board, Arc::clone(&self.origin), former)
    }

    pub fn into_board(self) -> Board {
        self.board
    }

    pub fn into_parts(self) -> (Board, Arc<Origin>) {
        (self.board, self.origin)
    }
}

/// From this size on, in bytes, a board is hashed on one thread and read on another.
const LARGE: usize = 1 << 20;

/// Computes the sums of the groups and runs `other`, on two threads if the text is long and a thread can be started.
/// The hashing thread gets its memory in advance: otherwise it would get it page by page, while the other one waits.
fn beside_sums<T>(parts: &Parts, text: &str, other: impl FnOnce() -> T) -> (Vec<Group>, T) {
    let mut groups = parts.unsummed();
    if text.len() < LARGE {
        groups.iter_mut().for_each(|group| group.sum_up(text));
        return (groups, other());
    }
    let (summed, done) = std::thread::scope(|scope| {
        let sum_up = || groups.iter_mut().for_each(|group| group.sum_up(text));
        let started = std::thread::Builder::new().spawn_scoped(scope, sum_up);
        let done = other();
        (started.is_ok_and(|thread| thread.join().is_ok()), done)
    });
    if !summed {
        groups.iter_mut().for_each(|group| group.sum_up(text));
    }
    (groups, done)
}

pub(super) struct EndLine<'t> {
    pub start: usize,
    pub checksum: &'t str,
    /// Whether there is text below it.
    pub below: bool,
}

pub(super) fn end_line(text: &str) -> Result<EndLine<'_>, StateError> {
    let start = if text.starts_with("end:") { Some(0) } else { text.rfind("\nend:").map(|at| at + 1) };
    let Some(start) = start else {
        return Err(if text.is_empty() { StateError::Truncated } else { missing_end(text) });
    };
    let line_end = text[start..].find('\n').map(|at| start + at);
    // The last byte belongs to the written text, and so do the blank and the quotes.
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

/// The checksum does not match: written by another version or an earlier build, or changed.
fn not_ours(text: &str, end: &EndLine) -> StateError {
    match version_of(text) {
        Some(version) if version != u64::from(VERSION) => other_version(version),
        _ if former_content(text, end).is_some() => StateError::Former,
        _ => StateError::Edited,
    }
}

/// The start of the content of a board from before tasks had hashes; none for other boards.
fn former_content(text: &str, end: &EndLine) -> Option<usize> {
    let content = find_line(text, "goal:").filter(|at| *at <= end.start && !end.below)?;
    (former_checksum(&text[..content], &text[content..end.start]) == end.checksum).then_some(content)
}

fn other_version(version: u64) -> StateError {
    if version > u64::from(VERSION) { StateError::Newer(version) } else { StateError::Older(version) }
}

/// Whether these bytes are a board of this version except for the line that names the version.
pub fn is_relabelled(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let Some(at) = find_line(text, "version:") else { return false };
    let end = text[at..].find('\n').map_or(text.len(), |length| at + length);
    let ours = format!("{}version: {VERSION}{}", &text[..at], &text[end..]);
    Decoded::new(ours.into_bytes()).is_ok()
}

/// As liza or a person writes it: with or without quotes, perhaps with a comment.
fn version_of(text: &str) -> Option<u64> {
    let at = find_line(text, "version:")?;
    let value = text[at..].lines().next()?.strip_prefix("version:")?;
    let value = value.split(" #").next().unwrap_or_default().trim();
    let quoted = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
    quoted('"').or_else(|| quoted('\'')).unwrap_or(value).parse().ok()
}

/// The start of the first line that begins with `start`.
pub(super) fn find_line(text: &str, start: &str) -> Option<usize> {
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

/// The text with a right checksum, whatever its content: to test the checks behind it.
#[cfg(any(test, fuzzing, feature = "testing"))]
pub fn sealed(text: &str) -> String {
    let end = end_line(text).ok().map_or(text.len(), |end| end.start);
    format!("{}end: \"{}\"\n", &text[..end], {
        let above = &text[..end];
        let parts = Parts::of(above);
        let mut groups = parts.unsummed();
        groups.iter_mut().for_each(|group| group.sum_up(above));
        parts.checksum(above, &groups)
    })
}

/// Lines are counted only for an error: counting for every task would cost more than reading them.
fn malformed(text: &str, at: usize) -> impl Fn(ParseError) -> StateError {
    move |error| {
        let lines_before = text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count();
        StateError::Malformed { line: lines_before + error.line, message: error.message }
    }
}

/// The board without its tasks.
struct Top {
    header: Header,
    rest: Rest,
    /// The range of the content without tasks.
    range: Range<usize>,
}

/// `tasks` are the starts of the tasks.
fn read_top(text: &str, content: Range<usize>, tasks: &[usize]) -> Result<Top, StateError> {
    let header_start =
        find_line(text, "version:").filter(|at| *at < content.start).ok_or(StateError::Edited)?;
    if let Some(version) = version_of(text).filter(|version| *version != u64::from(VERSION)) {
        return Err(other_version(version));
    }
    let header: Header =
        parse(&text[header_start..content.start], 0).map_err(malformed(text, header_start))?;
    // The first line that begins so: everything before it is nested deeper or has another name.
    let tasks_at = memmem::find(&text.as_bytes()[content.clone()], b"\ntasks:")
        .map(|at| content.start + at + 1)
        .ok_or_else(|| wrong(text, 0, "there is no `tasks:`"))?;
    let rest: Rest = parse(&text[content.start..tasks_at], 0).map_err(malformed(text, content.start))?;
    let above_tasks = text.get(tasks_at..tasks.first().map_or(content.end, |first| *first));
    if above_tasks != Some(tasks_line(tasks.is_empty())) {
        let message = "`tasks:` has no list, or its first task does not begin with its id";
        return Err(wrong(text, tasks_at, message));
    }
    Ok(Top { header, rest, range: content.start..tasks_at })
}

fn wrong(text: &str, at: usize, message: &str) -> StateError {
    malformed(text, at)(ParseError { line: 1, message: message.to_owned() })
}

/// Reads the heads of the tasks at these positions. `hashes` receives their hashes, which boards of earlier builds do
/// not have.
fn read_tasks(
    text: &str,
    starts: &[usize],
    end: usize,
    mut hashes: Option<&mut String>,
) -> Result<Vec<Task>, StateError> {
    let mut read = Vec::with_capacity(starts.len());
    for (number, start) in starts.iter().copied().enumerate() {
        let end = starts.get(number + 1).map_or(end, |next| *next);
        let block = &text[start..end];
        let (head, body) = match &mut hashes {
            Some(hashes) => {
                let (head, hash, body) =
                    hash_line(block).ok_or_else(|| wrong(text, start, "the task has no hash"))?;
                hashes.push_str(hash);
                (head, body)
            }
            None => block.split_at(body_at(block)),
        };
        let head = read_head(head).map_err(malformed(text, start))?;
        let title = read_title(body).unwrap_or_default();
        read.push(Task::light(head, &title, Source { start, end, number }));
    }
    Ok(read)
}

/// The tasks of the board that were split from this one. Text in our layout is searched, so that the bodies need not be
/// loaded.
pub fn children_of(text: &str, board: &Board, id: &TaskId) -> Vec<TaskId> {
    const PARENT: &[u8] = b"\n    parent: ";
    let named: Vec<usize> = memmem::find_iter(text.as_bytes(), PARENT)
        .filter(|at| {
            let value = text[at + PARENT.len()..].lines().next().unwrap_or_default();
            value.trim_matches('"') == id.as_str()
        })
        .collect();
    let is_child = |task: &&Task| match task.source().filter(|_| task.is_light()) {
        Some(source) => named.iter().any(|at| (source.start..source.end).contains(at)),
        None => !task.is_light() && task.body().parent.as_ref() == Some(id),
    };
    board.tasks.iter().filter(is_child).map(|task| task.id.clone()).collect()
}

/// The line above the first task.
pub(super) fn tasks_line(empty: bool) -> &'static str {
    if empty { "tasks: []\n" } else { "tasks:\n" }
}

fn body_at(block: &str) -> usize {
    static START: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new(BODY_START));
    START.find(block.as_bytes()).map_or(block.len(), |at| at + 1)
}

/// The parts of a task's text: head, hash, body.
pub(super) fn hash_line(block: &str) -> Option<(&str, &str, &str)> {
    let body = body_at(block);
    let at = body.checked_sub(HASH_LINE).filter(|at| block.is_char_boundary(*at))?;
    let hash = block[at..body].strip_prefix(HASH_START)?.strip_suffix(HASH_END)?;
    Some((&block[..at], hash, &block[body..]))
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
        let at = body_at(block);
        if at == block.len() {
            return Err(malformed(text, source.start)(ParseError {
                line: 1,
                message: "the task has no title".to_owned(),
            }));
        }
        let body: Body = parse(&block[at..], 4).map_err(malformed(text, source.start + at))?;
        task.fill(body);
    }
    Ok(())
}
