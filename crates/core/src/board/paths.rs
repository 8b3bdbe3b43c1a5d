//! Paths inside the repository, and patterns of them: what a task may change and what it owns.
//!
//! The grammar of patterns is small so that overlap can be decided exactly:
//!
//! | written | stands for |
//! |---|---|
//! | `src/main.rs` | this file |
//! | `src/` or `src/**` | every file below the directory |
//! | `*` | any run of characters inside one name |
//! | `?` | one character inside a name |
//! | `**` as a whole name | any number of directories, also none; at the end, everything below |
//!
//! There are two questions, and each is answered on the safe side, so that doubt never widens a task's paths:
//! * *May this file be changed under these patterns?* Case counts; `SRC/a.rs` is not in `src/`.
//! * *Could two tasks with these patterns get in each other's way?* Case does not count, because the file system may
//!   ignore it; and a file `a` collides with `a/` and `a/b`, since a file and a directory of one name cannot both
//!   exist. That goes for names written out only: otherwise `**/mod.rs` would collide with every file there is,
//!   because any of them could have been a directory.
//!
//! A tree may hold names that [`RepoPath`] refuses (a backslash, a newline, an accent as a character of its own).
//! No pattern covers those: a task that changes one is outside its scope.

mod check;
mod index;
mod matching;
mod shape;
mod spelling;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use thiserror::Error;

use check::{Checked, check, is_ordinary};
pub use index::PathIndex;
use shape::{Reading, Shape};

/// Why a text cannot be a path in the repository, or a pattern of paths.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PathError {
    #[error("it names nothing (the pattern for the whole repository is `**`)")]
    Empty,
    #[error("it is longer than 4095 bytes")]
    TooLong,
    #[error("a name in it is longer than 255 bytes")]
    NameTooLong,
    #[error("it must be relative to the root of the repository")]
    Absolute,
    #[error("it leads upwards: `..` and names of dots and blanks alone are not allowed")]
    Dots,
    #[error("it leads into a directory of {0}")]
    Private(&'static str),
    #[error("names are separated by `/`, and `\\` may not be part of one")]
    Backslash,
    #[error("it contains the unseen character `\\u{{{:x}}}`", u32::from(*.0))]
    Unseen(char),
    #[error(
        "`\\u{{{:x}}}` in it can be written in two ways; use composed characters (Unicode normal form C)",
        u32::from(*.0)
    )]
    TwoSpellings(char),
    #[error("it ends with `/`, which names a directory and not a file")]
    Directory,
    #[error("`**` must stand alone between slashes")]
    StarsInsideName,
}

/// The path of one file, relative to the root of the repository.
///
/// It has been checked: it cannot lead out of the repository or into `.git`, `.liza` or `.worktrees`.
/// Symbolic links on the way are not checked here, but by the code that opens the file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct RepoPath(#[schemars(length(min = 1, max = 4095))] String);

/// A pattern of paths, in its one canonical text: `./a//b` is `a/b`, and `a/**` is `a/`.
///
/// Equal patterns stand for equal sets; two that differ may still do so (`a/**/*` and `a/`).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct PathPattern(#[schemars(length(min = 1, max = 4095))] Cow<'static, str>);

impl RepoPath {
    /// Checks `text` and makes it a path, without `./` and doubled slashes.
    pub fn new(text: &str) -> Result<Self, PathError> {
        if is_ordinary(text) && !text.ends_with('/') {
            return Ok(Self(text.to_owned()));
        }
        let Checked { names, names_directory } = check(text)?;
        if names_directory {
            return Err(PathError::Directory);
        }
        Ok(Self(names.join("/")))
    }
}

impl PathPattern {
    /// Checks `text` and makes it a pattern.
    pub fn new(text: &str) -> Result<Self, PathError> {
        if is_ordinary(text) {
            return Ok(Self(text.to_owned().into()));
        }
        let Checked { mut names, mut names_directory } = check(text)?;
        if names.iter().any(|name| *name != "**" && name.contains("**")) {
            return Err(PathError::StarsInsideName);
        }
        // `**/**` means the same as `**`.
        names.dedup_by(|name, before| *name == "**" && *before == "**");
        if names.last() == Some(&"**") {
            names.pop();
            names_directory = true;
        }
        let text = match (names.join("/"), names_directory) {
            (names, _) if names.is_empty() => "**".to_owned(),
            (names, true) => format!("{names}/"),
            (names, false) => names,
        };
        Ok(Self(text.into()))
    }

    /// A pattern of liza's own, whose text is canonical: not checked, because settings have a hundred of them.
    pub(crate) const fn built_in(text: &'static str) -> Self {
        Self(Cow::Borrowed(text))
    }

    /// Whether the pattern matches `path`; case counts.
    pub fn matches(&self, path: &RepoPath) -> bool {
        if self.is_literal() {
            return match self.0.ends_with('/') {
                true => path.0.starts_with(&*self.0),
                false => path.0 == self.0,
            };
        }
        matching::fits(&self.0, &path.0)
    }

    /// An example of a path over which two tasks with these patterns could get in each other's way, in lower
    /// case, or nothing if there is none.
    ///
    /// Exact, with doubts on the safe side: case is ignored, and the example may be a name no file can have (`.?`
    /// and `?.` have only `..` in common).
    pub fn overlaps(&self, other: &PathPattern) -> Option<String> {
        let theirs = other.readings();
        self.readings().iter().find_map(|ours| theirs.iter().find_map(|theirs| ours.collision(theirs)))
    }

    fn is_literal(&self) -> bool {
        !self.0.contains(['*', '?'])
    }

    /// Every reading of the pattern by a file system.
    fn readings(&self) -> Vec<Shape> {
        let mut readings = vec![Shape::of(&self.0, Reading::IgnoringCase)];
        if shape::can_be_spelled_out(&self.0) {
            readings.push(Shape::of(&self.0, Reading::SpelledOut));
        }
        readings
    }
}

/// Finds two overlapping patterns, one of each list.
pub fn any_overlap<'p>(
    a: &'p [PathPattern],
    b: &'p [PathPattern],
) -> Option<(&'p PathPattern, &'p PathPattern)> {
    let ours: Vec<(&PathPattern, Vec<Shape>)> =
        a.iter().map(|pattern| (pattern, pattern.readings())).collect();
    b.iter().find_map(|theirs| {
        let readings = theirs.readings();
        let overlaps =
            |ours: &[Shape]| ours.iter().any(|one| readings.iter().any(|other| one.collides(other)));
        ours.iter().find(|(_, ours)| overlaps(ours)).map(|(pattern, _)| (*pattern, theirs))
    })
}

/// Finds a file whose path collides with one of these patterns: special characters in the path are ordinary ones, and
/// case is ignored.
pub fn any_over<'p>(
    patterns: &'p [PathPattern],
    files: &'p [RepoPath],
) -> Option<(&'p PathPattern, &'p RepoPath)> {
    let ours: Vec<(&PathPattern, Vec<Shape>)> =
        patterns.iter().map(|pattern| (pattern, pattern.readings())).collect();
    files.iter().find_map(|file| {
        let readings = [Reading::IgnoringCase, Reading::SpelledOut].map(|way| Shape::of_file(&file.0, way));
        let over = |ours: &[Shape]| ours.iter().any(|one| readings.iter().any(|other| one.collides(other)));
        ours.iter().find(|(_, ours)| over(ours)).map(|(pattern, _)| (*pattern, file))
    })
}

/// Whether at least one of the patterns matches `path`; case counts.
pub fn inside(path: &RepoPath, patterns: &[PathPattern]) -> bool {
    patterns.iter().any(|pattern| pattern.matches(path))
}

macro_rules! checked_text {
    ($name:ident, $what:literal) => {
        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl std::str::FromStr for $name {
            type Err = PathError;
            fn from_str(text: &str) -> Result<Self, PathError> {
                Self::new(text)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = Cow::<str>::deserialize(deserializer)?;
                Self::new(&text).map_err(|why| {
                    serde::de::Error::custom(format_args!(
                        "{} cannot be a {}: {why}",
                        crate::text::quoted(&text),
                        $what
                    ))
                })
            }
        }
    };
}

checked_text!(RepoPath, "path in the repository");
checked_text!(PathPattern, "path pattern");
