//! Bytes that liza did not write, YAML or JSON: bounded first, then read strictly. The only file that names
//! the general YAML crate.
//!
//! 1. Size, encoding and characters.
//! 2. A scan that bounds nesting and refuses references: the crate may hang on what it would refuse.
//! 3. The crate, or serde_json for text that starts like JSON, into a tree without repeated keys.
//! 4. The tree into the wanted type; an error names path and line.

use super::chars::is_hidden;
use super::graft::Graft;
use super::plain::Plain;
use super::prelude::*;
use super::prescan::{Refused, check_characters, check_json, check_yaml};
use super::tree::{Seek, Step, Tree, Walk, path_text};

/// How much foreign text is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub bytes: usize,
    pub depth: usize,
    /// Values and marks of YAML: the crate needs about half a microsecond for each, however short it is.
    pub tokens: usize,
}

impl Limits {
    /// Up to `bytes` bytes, and as many tokens as ordinary text of that size has at most.
    pub const fn of_bytes(bytes: usize) -> Self {
        Self { bytes, depth: 32, tokens: bytes / 7 }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::of_bytes(1 << 20)
    }
}

/// The problem of foreign bytes, and where, if known.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}{}{message}", .line.map(|line| format!("line {line}: ")).unwrap_or_default(),
    .path.as_ref().map(|path| format!("{path}: ")).unwrap_or_default())]
pub struct ForeignError {
    pub line: Option<usize>,
    /// The path of the value, as in `tasks[3].status`; absent for the text as a whole.
    pub path: Option<String>,
    /// Contains no hidden character, whatever the bytes contain.
    pub message: String,
}

impl ForeignError {
    fn new(line: Option<usize>, path: &[Step], message: &str) -> Self {
        let path = (!path.is_empty()).then(|| path_text(path));
        Self { line, path, message: visible(message) }
    }
}

impl From<Refused> for ForeignError {
    fn from(refused: Refused) -> Self {
        Self::new(Some(refused.line), &[], &refused.message)
    }
}

/// Parsers quote their input in messages.
fn visible(message: &str) -> String {
    let mut text = String::with_capacity(message.len());
    for c in message.chars() {
        if is_hidden(c) { text.extend(c.escape_unicode()) } else { text.push(c) }
    }
    text
}

/// Reads foreign YAML or JSON into a typed value.
pub fn read_foreign<T: DeserializeOwned>(bytes: &[u8], limits: Limits) -> Result<T, ForeignError> {
    let source = Source::new(bytes, limits)?;
    let tree = source.tree(limits)?;
    T::deserialize(Graft(&Plain::from(&tree))).map_err(|misfit| {
        let path = misfit.path();
        ForeignError::new(source.line_of(&path), &path, &misfit.message)
    })
}

/// Reads foreign YAML or JSON without a type.
pub fn read_foreign_value(bytes: &[u8], limits: Limits) -> Result<Value, ForeignError> {
    Source::new(bytes, limits)?.tree(limits)
}

/// Text that has passed the checks which need no parser.
enum Source<'t> {
    /// Without the text of its comments: the crate examines every character of them, and most of a settings file is
    /// comments.
    Yaml(String),
    Json(&'t str),
}

impl<'t> Source<'t> {
    fn new(bytes: &'t [u8], limits: Limits) -> Result<Self, ForeignError> {
        if bytes.len() > limits.bytes {
            let message = format!("it has {} bytes; at most {} are read", bytes.len(), limits.bytes);
            return Err(ForeignError::new(None, &[], &message));
        }
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let line = 1 + bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count();
            ForeignError::new(Some(line), &[], "it is not valid UTF-8")
        })?;
        check_characters(text)?;
        if text.trim_start().starts_with(['{', '[']) {
            check_json(text, limits.depth)?;
            Ok(Self::Json(text))
        } else {
            let comments = check_yaml(text, limits.depth, limits.tokens)?;
            Ok(Self::Yaml(without(text, &comments)))
        }
    }

    fn tree(&self, limits: Limits) -> Result<Value, ForeignError> {
        let walk = Walk::default();
        self.read(Tree { walk: &walk, depth: limits.depth }).map_err(|error| match walk.problem.take() {
            Some(problem) => ForeignError::new(error.line, &problem.path, &problem.message),
            None => ForeignError::new(error.line, &[], &error.message),
        })
    }

    fn read<'s, S: DeserializeSeed<'s>>(&'s self, seed: S) -> Result<S::Value, Unreadable> {
        match self {
            Self::Yaml(text) => Ok(seed.deserialize(serde_yaml::Deserializer::from_str(text))?),
            Self::Json(text) => {
                let mut json = serde_json::Deserializer::from_str(text);
                let value = seed.deserialize(&mut json)?;
                json.end()?;
                Ok(value)
            }
        }
    }

    fn line_of(&self, path: &[Step]) -> Option<usize> {
        self.read(Seek { path }).err().and_then(|error| error.line)
    }
}

/// The text without these parts.
fn without(text: &str, parts: &[Range<usize>]) -> String {
    let mut rest = String::with_capacity(text.len());
    let mut from = 0;
    for part in parts {
        rest.push_str(&text[from..part.start]);
        from = part.end;
    }
    rest.push_str(&text[from..]);
    rest
}

/// A parser's error without the position in its message.
struct Unreadable {
    line: Option<usize>,
    message: String,
}

impl Unreadable {
    fn new(line: Option<usize>, message: &str) -> Self {
        let message = message.split_once(" at line ").map_or(message, |(message, _)| message);
        Self { line, message: message.to_owned() }
    }
}

impl From<serde_yaml::Error> for Unreadable {
    fn from(error: serde_yaml::Error) -> Self {
        Self::new(error.location().map(|location| location.line()), &error.to_string())
    }
}

impl From<serde_json::Error> for Unreadable {
    fn from(error: serde_json::Error) -> Self {
        Self::new(Some(error.line()).filter(|line| *line > 0), &error.to_string())
    }
}

/// The crate alone, for tests that compare another reader with ours.
#[cfg(test)]
pub(super) fn read_by_crate<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_yaml::from_str(text).map_err(|error| error.to_string())
}
