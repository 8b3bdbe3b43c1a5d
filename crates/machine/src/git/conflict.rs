//! Decides whether a conflict needs judgement. Pure: texts in, a verdict out.
//!
//! Three kinds are trivial: sides that differ in whitespace only, import lines, and independent additions at one
//! place. A file is resolved only if every hunk of it is trivial, and a merge only if every file is. Everything not
//! certainly trivial is logic: no side is ever preferred, no line of either side is dropped, and where a rule would
//! have to guess it gives up. The gates still run on the result.

use super::merge::{ConflictFile, ConflictKind, Hunk, Segment};

mod additions;
mod imports;
mod language;
mod whitespace;

use language::Language;

/// The verdict on a conflicting merge.
#[derive(Debug)]
pub enum Class {
    /// Every file, with the text that keeps both sides.
    Trivial(Vec<Resolution>),
    Logic(Reason),
}

/// A resolved file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolution {
    pub path: String,
    pub content: Vec<u8>,
}

/// The first conflict found that needs an agent's judgement.
#[derive(Debug)]
pub struct Reason {
    pub path: String,
    /// The line of the hunk, if the reason is a hunk.
    pub line: Option<usize>,
    pub why: String,
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.path, self.why),
            None => write!(f, "{}: {}", self.path, self.why),
        }
    }
}

pub fn classify(files: &[ConflictFile]) -> Class {
    if files.is_empty() {
        return Class::Logic(Reason { path: String::new(), line: None, why: "no file was named".to_owned() });
    }
    match files.iter().map(resolve).collect() {
        Ok(resolutions) => Class::Trivial(resolutions),
        Err(reason) => Class::Logic(reason),
    }
}

fn resolve(file: &ConflictFile) -> Result<Resolution, Reason> {
    let because = |line, why: &str| Reason { path: file.path.clone(), line, why: why.to_owned() };
    if file.kind != ConflictKind::Content {
        return Err(because(None, nature(&file.kind)));
    }
    if file.hunks().next().is_none() {
        return Err(because(None, "git could not merge it although its lines do not disagree"));
    }
    let language = Language::of(&file.path);
    let mut content = Vec::new();
    for segment in &file.segments {
        match segment {
            Segment::Merged(text) => content.extend_from_slice(text),
            Segment::Conflict(hunk) => {
                let text =
                    resolve_hunk(language, hunk, &content).map_err(|why| because(Some(hunk.line), &why))?;
                content.extend_from_slice(text.as_bytes());
            }
        }
    }
    Ok(Resolution { path: file.path.clone(), content })
}

/// A hunk as text.
struct Sides<'a> {
    base: &'a str,
    ours: &'a str,
    theirs: &'a str,
}

/// Tries the three rules, from the safest on.
fn resolve_hunk(language: Language, hunk: &Hunk, before: &[u8]) -> Result<String, String> {
    let text = |bytes| std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned());
    let sides = Sides { base: text(&hunk.base)?, ours: text(&hunk.ours)?, theirs: text(&hunk.theirs)? };
    let before = text(before)?;
    if language.may_be_inside_string(before) {
        return Err("it may lie inside a string of several lines".to_owned());
    }
    if let Some(text) = whitespace::merge(language, &sides) {
        return Ok(text.to_owned());
    }
    if let Some(outcome) = imports::merge(language, &sides, before) {
        return outcome;
    }
    additions::merge(language, &sides, before)
}

fn nature(kind: &ConflictKind) -> &str {
    match kind {
        ConflictKind::Content => "both sides changed it",
        ConflictKind::BothAdded => "both sides added it, differently",
        ConflictKind::ModifyDelete => "one side changed what the other deleted",
        ConflictKind::Binary => "it is binary",
        ConflictKind::Mode => "its mode is in conflict, too",
        ConflictKind::Symlink => "it is a symlink",
        ConflictKind::Submodule => "it is a submodule",
        ConflictKind::Renamed => "a side renamed it",
        ConflictKind::Other(what) => what,
    }
}

#[cfg(test)]
mod tests;
