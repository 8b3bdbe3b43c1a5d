//! Files as lines, and texts of hunks as lines, both ways without loss.

use super::Hunk;

/// A text file. A line does not hold its line feed; a carriage return before it stays.
#[derive(Debug, Default)]
pub struct Lines<'t> {
    pub lines: Vec<&'t str>,
    /// The last line has no line feed.
    pub unfinished: bool,
}

impl<'t> Lines<'t> {
    /// None if the bytes are not text: a NUL byte, or invalid UTF-8.
    pub fn of_bytes(bytes: &'t [u8]) -> Option<Self> {
        if bytes.contains(&0) {
            return None;
        }
        std::str::from_utf8(bytes).ok().map(Self::of)
    }

    fn of(text: &'t str) -> Self {
        let mut lines: Vec<&str> = text.split('\n').collect();
        // The rest after the last line feed is a line only if it is not empty.
        let unfinished = lines.last().is_some_and(|last| !last.is_empty());
        if !unfinished {
            lines.pop();
        }
        Self { lines, unfinished }
    }

    pub fn bytes(&self) -> Vec<u8> {
        let mut text = self.lines.join("\n");
        if !self.unfinished && !self.lines.is_empty() {
            text.push('\n');
        }
        text.into_bytes()
    }
}

/// How many lines a text of a hunk has; none if the given number contradicts it.
pub fn count(text: &str, given: Option<u64>) -> Option<usize> {
    let feeds = text.bytes().filter(|byte| *byte == b'\n').count();
    match given {
        None if text.is_empty() => Some(0),
        None => Some(feeds + 1),
        Some(0) => text.is_empty().then_some(0),
        Some(given) => (given == feeds as u64 + 1).then_some(feeds + 1),
    }
}

/// The lines of a text that [`count`] has counted.
pub fn split(text: &str, count: usize) -> Vec<&str> {
    if count == 0 { Vec::new() } else { text.split('\n').collect() }
}

/// A hunk that replaces `old` by `new`.
pub fn hunk(start: usize, old: &[&str], new: &[&str]) -> Hunk {
    // The empty text alone would be no line.
    let said = |lines: &[&str]| (lines == [""]).then_some(1);
    Hunk {
        start_line: start as u64 + 1,
        old_text: old.join("\n"),
        new_text: new.join("\n"),
        old_lines: said(old),
        new_lines: said(new),
    }
}
