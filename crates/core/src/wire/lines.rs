//! A cursor over the lines of the canonical layout: margins, keys and scalars.

use super::chars::{next_special, plain_run, reads_as_text};
use super::prelude::*;

/// The indentation of the current line, compared with that of its collection.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Margin {
    EndOfText,
    Less,
    Same,
    More,
}

/// The kind of a value, by its first character.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Kind {
    Map,
    List,
    Scalar,
}

/// A scalar as written.
pub(super) enum Scalar<'de> {
    Quoted(Cow<'de, str>),
    Bare(&'de str),
}

/// Compared as a whole; deeper indentation is counted space by space.
const SPACES: &[u8; 64] = &[b' '; 64];

/// The text and the position in it; every line is passed once, so the line number is free.
pub(super) struct Lines<'de> {
    text: &'de str,
    at: usize,
    line: usize,
}

impl<'de> Lines<'de> {
    pub(super) fn new(text: &'de str) -> Self {
        Self { text, at: 0, line: 1 }
    }

    pub(super) fn line(&self) -> usize {
        self.line
    }

    pub(super) fn error(&self, message: impl Into<String>) -> ParseError {
        ParseError { line: self.line, message: message.into() }
    }

    #[inline]
    fn rest(&self) -> &'de [u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Skips `count` bytes that the caller has examined.
    pub(super) fn skip(&mut self, count: usize) {
        self.at += count;
    }

    #[inline]
    pub(super) fn margin(&self, indent: usize) -> Margin {
        let rest = self.rest();
        if let Some((spaces, [next, ..])) = rest.split_at_checked(indent)
            && *next != b' '
            && SPACES.get(..indent) == Some(spaces)
        {
            return Margin::Same;
        }
        if rest.is_empty() {
            return Margin::EndOfText;
        }
        let spaces = rest.iter().take(indent.saturating_add(1)).take_while(|byte| **byte == b' ').count();
        match spaces.cmp(&indent) {
            std::cmp::Ordering::Less => Margin::Less,
            std::cmp::Ordering::Equal => Margin::Same,
            std::cmp::Ordering::Greater => Margin::More,
        }
    }

    /// Skips the indentation of a line that must exist and have exactly this indentation.
    pub(super) fn enter_line(&mut self, indent: usize) -> Result<(), ParseError> {
        match self.margin(indent) {
            Margin::Same => {
                self.at += indent;
                Ok(())
            }
            Margin::EndOfText => Err(self.error("the text ends where a value was expected")),
            Margin::Less | Margin::More => Err(self.error(format!("expected a line indented by {indent}"))),
        }
    }

    pub(super) fn end_line(&mut self) -> Result<(), ParseError> {
        match self.peek() {
            Some(b'\n') => {
                self.at += 1;
                self.line += 1;
                Ok(())
            }
            Some(_) => Err(self.error("unexpected text after the value")),
            None => Err(self.error("the last line is cut off")),
        }
    }

    /// Whether a list item's dash stands `ahead` bytes further on.
    pub(super) fn dash_ahead(&self, ahead: usize) -> bool {
        matches!(self.rest().get(ahead..), Some([b'-', b' ' | b'\n', ..]))
    }

    /// Skips `text` if it fills the rest of the line.
    pub(super) fn take_line(&mut self, text: &str) -> bool {
        let found =
            self.rest().strip_prefix(text.as_bytes()).is_some_and(|after| after.first() == Some(&b'\n'));
        if found {
            self.at += text.len() + 1;
            self.line += 1;
        }
        found
    }

    /// Whether the bare word `text` fills the line, `ahead` bytes further on.
    pub(super) fn has_line(&self, ahead: usize, text: &str) -> bool {
        self.rest()
            .get(ahead..)
            .and_then(|rest| rest.strip_prefix(text.as_bytes()))
            .is_some_and(|after| after.first() == Some(&b'\n'))
    }

    /// The kind of the value `ahead` bytes further on this line, where a list may not begin.
    pub(super) fn kind_ahead(&self, ahead: usize) -> Kind {
        let rest = self.rest().get(ahead..).unwrap_or_default();
        match rest {
            [b'{', ..] => Kind::Map,
            [b'[', ..] => Kind::List,
            [b'"', ..] => {
                let mut at = self.at + ahead + 1;
                while let Some(special) = next_special(self.text, at) {
                    match self.text.as_bytes()[special] {
                        b'"' if self.text.as_bytes().get(special + 1) == Some(&b':') => return Kind::Map,
                        b'\\' => at = special + 2,
                        _ => break,
                    }
                }
                Kind::Scalar
            }
            _ if rest.get(plain_run(rest)) == Some(&b':') => Kind::Map,
            _ => Kind::Scalar,
        }
    }

    /// Reads `key:`.
    pub(super) fn key(&mut self) -> Result<Cow<'de, str>, ParseError> {
        let key = if self.peek() == Some(b'"') {
            self.quoted()?
        } else {
            let text = &self.text[self.at..self.at + plain_run(self.rest())];
            if !reads_as_text(text) {
                return Err(self.error("expected a key"));
            }
            self.at += text.len();
            Cow::Borrowed(text)
        };
        match self.rest() {
            [b':', b' ' | b'\n', ..] => {
                self.at += 1;
                Ok(key)
            }
            _ => Err(self.error("expected a key followed by a colon")),
        }
    }

    /// Reads a scalar and the end of its line.
    pub(super) fn scalar(&mut self) -> Result<Scalar<'de>, ParseError> {
        if self.peek() == Some(b'"') {
            let text = self.quoted()?;
            self.end_line()?;
            return Ok(Scalar::Quoted(text));
        }
        let rest = self.rest();
        let mut length = plain_run(rest);
        if rest.get(length) == Some(&b'+') {
            length += 1 + plain_run(&rest[length + 1..]);
        }
        let text = &self.text[self.at..self.at + length];
        if text.is_empty() {
            return Err(self.error("expected a value in the canonical layout"));
        }
        self.at += length;
        self.end_line()?;
        Ok(Scalar::Bare(text))
    }

    fn quoted(&mut self) -> Result<Cow<'de, str>, ParseError> {
        self.at += 1;
        let start = self.at;
        let mut decoded: Option<String> = None;
        let mut copied = start;
        loop {
            let Some(at) = next_special(self.text, self.at) else {
                return Err(self.error("a quoted text is cut off"));
            };
            match self.text.as_bytes()[at] {
                b'"' => {
                    self.at = at + 1;
                    return Ok(match decoded {
                        None => Cow::Borrowed(&self.text[start..at]),
                        Some(mut text) => {
                            text.push_str(&self.text[copied..at]);
                            Cow::Owned(text)
                        }
                    });
                }
                b'\\' => {
                    let (c, length) = unescape(&self.text.as_bytes()[at + 1..])
                        .ok_or_else(|| self.error("an escape in a quoted text is not one of ours"))?;
                    let text = decoded.get_or_insert_default();
                    text.push_str(&self.text[copied..at]);
                    text.push(c);
                    self.at = at + 1 + length;
                    copied = self.at;
                }
                b'\n' => return Err(self.error("a quoted text does not end on its line")),
                _ => return Err(self.error("a quoted text holds a character that must be escaped")),
            }
        }
    }
}

/// The character of an escape, and how many bytes it takes after the backslash.
fn unescape(after: &[u8]) -> Option<(char, usize)> {
    let digits = match after.first()? {
        b'n' => return Some(('\n', 1)),
        b't' => return Some(('\t', 1)),
        b'"' => return Some(('"', 1)),
        b'\\' => return Some(('\\', 1)),
        b'x' => 2,
        b'u' => 4,
        b'U' => 8,
        _ => return None,
    };
    let mut code: u32 = 0;
    for byte in after.get(1..=digits)? {
        code = code << 4 | char::from(*byte).to_digit(16)?;
    }
    Some((char::from_u32(code)?, 1 + digits))
}

/// Where and why the text is not the canonical form of the wanted type.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("line {line}: {message}")]
pub struct ParseError {
    /// Counted from 1 at the start of the given text; 0 only inside this room, while unknown.
    pub line: usize,
    pub message: String,
}

impl ParseError {
    pub(super) fn or_line(mut self, line: usize) -> Self {
        if self.line == 0 {
            self.line = line;
        }
        self
    }
}

impl de::Error for ParseError {
    fn custom<T: Display>(message: T) -> Self {
        Self { line: 0, message: message.to_string() }
    }
}
