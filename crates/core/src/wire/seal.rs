//! What the journal and the last line of `state.yaml` vouch for.
//!
//! A task's hash covers its text and stands with its head, so that it is known without that text. A record of the journal
//! holds the hash of the board: over the hash of the top-level part and those of all tasks, in their order. The last line
//! of the file covers every byte above it, by sums: one over everything above the first task, and one over every
//! [`GROUP`] tasks. A changed task costs the sum of one group; small pieces alone would be hashed several times slower.

use std::ops::Range;

use memchr::memmem;

/// How many tasks a sum covers.
pub(super) const GROUP: usize = 32;

pub(super) const TASK_START: &str = "  - id: ";
pub(super) const FIRST_TASK: &str = "\ntasks:\n  - id: ";

/// Hexadecimal digits of a hash.
pub(super) const DIGITS: usize = 64;

pub fn hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

/// Hash of a task's text: head and body, without the line with the hash.
pub(super) fn task_hash(head: &str, body: &str) -> String {
    blake3::Hasher::new().update(head.as_bytes()).update(body.as_bytes()).finalize().to_hex().to_string()
}

/// Hash of the board as a record holds it; `hashes` are those of all tasks, concatenated.
pub(super) fn board_hash(top: &str, hashes: &str) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(hash(top.as_bytes()).as_bytes()).update(hashes.as_bytes());
    hasher.finalize().to_hex().to_string()
}

/// Consecutive tasks in the text they were read from, and the sum over their bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Group {
    pub start: usize,
    pub end: usize,
    pub sum: blake3::Hash,
}

impl Group {
    pub fn sum_up(&mut self, text: &str) {
        self.sum = blake3::hash(&text.as_bytes()[self.start..self.end]);
    }
}

/// The parts of the text above the last line. Every byte belongs to exactly one sum, for any text.
pub(super) struct Parts {
    /// Where each task begins.
    pub tasks: Vec<usize>,
    /// Where each group begins and ends.
    groups: Vec<Range<usize>>,
    /// Where the first task begins.
    first: usize,
}

impl Parts {
    pub fn of(text: &str) -> Self {
        let bytes = text.as_bytes();
        let first = memmem::find(bytes, FIRST_TASK.as_bytes())
            .map_or(bytes.len(), |at| at + FIRST_TASK.len() - TASK_START.len());
        let mut tasks = Vec::new();
        let next_task = memmem::Finder::new(b"\n  - id: ");
        let mut start = first;
        while start < bytes.len() {
            tasks.push(start);
            let from = start + TASK_START.len();
            start = next_task.find(&bytes[from..]).map_or(bytes.len(), |at| from + at + 1);
        }
        let ends = tasks.iter().skip(GROUP).step_by(GROUP).copied().chain([bytes.len()]);
        let groups = tasks.iter().step_by(GROUP).zip(ends).map(|(start, end)| *start..end).collect();
        Self { tasks, groups, first }
    }

    /// The groups without their sums.
    pub fn unsummed(&self) -> Vec<Group> {
        let none = blake3::Hash::from_bytes([0; blake3::OUT_LEN]);
        let group = |range: &Range<usize>| Group { start: range.start, end: range.end, sum: none };
        self.groups.iter().map(group).collect()
    }

    /// The checksum for the last line of the text; `groups` have their sums.
    pub fn checksum(&self, text: &str, groups: &[Group]) -> String {
        let above = blake3::hash(&text.as_bytes()[..self.first]);
        checksum(above, groups.iter().map(|group| group.sum))
    }
}

/// The checksum in the last line of the file.
pub(super) fn checksum(above: blake3::Hash, groups: impl Iterator<Item = blake3::Hash>) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(above.as_bytes());
    for sum in groups {
        hasher.update(sum.as_bytes());
    }
    hasher.finalize().to_hex().to_string()
}

/// The former checksum, from before tasks had hashes: the content was hashed as a whole, and the records of the journal
/// hold that hash.
pub(super) fn former_checksum(header: &str, content: &str) -> String {
    hash(format!("{header}{}", hash(content.as_bytes())).as_bytes())
}
