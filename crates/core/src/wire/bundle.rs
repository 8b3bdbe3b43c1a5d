//! Patch bundles: a change to some files as one JSON file, version 1. Reading, checking, making and applying them, bytes
//! to bytes: the caller reads and writes the files.
//!
//! How texts stand for bytes: a file is a list of lines, each ended by a line feed. A carriage return before it is part
//! of the line. `old_text` and `new_text` are lines joined by line feeds, without the last one; the empty text is no line
//! at all, unless `old_lines` or `new_lines` says 1: then it is one empty line. That the last line of the file has no
//! line feed is said by `no_final_newline`; without that key it stays as it is, and a new file ends with one.

mod apply;
mod base64;
mod check;
mod lines;
mod make;
mod scan;
#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::board::fields::record;
use crate::board::task::Risk;
use crate::board::time::Wall;
use crate::board::{CommitId, TaskId};

use super::{Limits, read_foreign, to_json_pretty};

pub use apply::{Applied, Change, Found, Tree, apply};
pub use check::{check, is_id, is_in_module};
pub use make::{Side, patch};

pub const VERSION: u32 = 1;
/// How the name of a bundle's file ends.
pub const ENDING: &str = ".patchbundle.json";
pub const LARGEST: usize = 64 * 1024 * 1024;
pub const MOST_PATCHES: usize = 10_000;
pub const MOST_HUNKS: usize = 100_000;

record! {
    /// A change to some files, its author and reason, and the items for its reviewer.
    #[derive(Eq)]
    pub struct Bundle {
        /// 1
        #[schemars(extend("const" = 1))]
        pub version: u32,
        pub metadata: Metadata,
        always pub patches: Vec<Patch>,
        #[serde(default)]
        pub expected_checks: ExpectedChecks,
        /// The items that a reviewer answers one by one.
        #[serde(default)]
        always pub reviewer_checklist: Vec<String>,
        /// The task that the bundle was made from.
        pub task: Option<TaskId>,
        /// The agents that worked on that task, for people to read; the implementers that count are on the board.
        pub implementers: Vec<String>,
        /// The commit it was made against.
        pub base_commit: Option<CommitId>,
        pub base_tree: Option<CommitId>,
        /// The tree that results from applying the bundle to `base_tree`.
        pub result_tree: Option<CommitId>,
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Metadata {
    /// Letters, digits, `-` and `_`, such as `PB-20260220-001`.
    pub id: String,
    pub intent: String,
    pub author: String,
    pub timestamp: Wall,
    /// The modules that it changes: paths of directories or files, or names of directories. Every file is in one of
    /// them, and no other task may own a path there; an empty list means the files themselves.
    #[serde(default)]
    pub touched_modules: Vec<String>,
    #[serde(default)]
    pub risk_level: Risk,
}

record! {
    /// The change of one file.
    #[derive(Eq, Default)]
    pub struct Patch {
        /// Relative to the root of the repository.
        pub file: String,
        /// In the order of their lines, without overlap.
        #[serde(default)]
        always pub hunks: Vec<Hunk>,
        pub new_file: bool,
        pub deleted: bool,
        /// The former name of a renamed file.
        pub renamed_from: Option<String>,
        /// `100644` or `100755`, afterwards; unchanged if absent.
        pub mode: Option<String>,
        pub old_mode: Option<String>,
        /// The whole content of a file that is not text.
        pub binary: Option<Binary>,
        /// Whether the last line lacks its line feed, before and afterwards.
        pub no_final_newline: Option<NoFinalNewline>,
        /// blake3 of the whole file before, in hexadecimal digits.
        pub old_blake3: Option<String>,
        /// blake3 of the whole file afterwards.
        pub new_blake3: Option<String>,
    }

    /// A replacement of some lines by others.
    #[derive(Eq, Default)]
    pub struct Hunk {
        /// The first old line in the file before, counted from 1; an insertion comes before this line.
        pub start_line: u64,
        /// The old lines joined by line feeds; the empty text is none.
        pub old_text: String,
        pub new_text: String,
        /// How many lines `old_text` has: only needed if the empty text means one empty line.
        pub old_lines: Option<u64>,
        pub new_lines: Option<u64>,
    }

    /// Bytes in base64.
    #[derive(Eq, Default)]
    pub struct Binary {
        pub old: Option<String>,
        pub new: Option<String>,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoFinalNewline {
    pub old: bool,
    pub new: bool,
}

record! {
    /// The gates that the author expects to pass, optional ones included.
    #[derive(Eq, Default)]
    pub struct ExpectedChecks {
        #[serde(default)]
        always pub compile: bool,
        #[serde(default)]
        always pub test: bool,
        #[serde(default)]
        always pub replay: bool,
        /// The most findings of the gate that counts them.
        #[serde(default)]
        always pub diagnostics_count: Option<u64>,
        /// Further gates by name.
        pub gates: Vec<String>,
    }
}

impl ExpectedChecks {
    /// The names of all gates that are expected to pass.
    pub fn names(&self) -> Vec<&str> {
        let documented = [("compile", self.compile), ("test", self.test), ("replay", self.replay)];
        let wanted = documented.into_iter().filter(|(_, wanted)| *wanted).map(|(name, _)| name);
        wanted.chain(self.gates.iter().map(String::as_str)).collect()
    }
}

/// A problem of a bundle, or of applying it here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    pub kind: Kind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// It is not a bundle of version 1, or contradicts itself.
    Format,
    /// It exceeds a limit.
    Limit,
    /// It names a path that no bundle may change.
    Path,
    /// It changes a file outside its declared modules.
    Module,
    /// Another task owns a path that it changes.
    Lock,
    /// A file is not the one that the bundle was made against.
    Checksum,
    /// It does not fit the existing files.
    Conflict,
}

impl Kind {
    /// Whether the bundle is valid, but does not fit the present files.
    pub fn is_conflict(self) -> bool {
        matches!(self, Self::Lock | Self::Checksum | Self::Conflict)
    }
}

impl Problem {
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, file: None, message: message.into() }
    }

    pub fn of(kind: Kind, file: &str, message: impl AsRef<str>) -> Self {
        let message = format!("{}: {}", crate::text::quoted(file), message.as_ref());
        Self { kind, file: Some(file.to_owned()), message }
    }
}

/// Reads a bundle and checks everything that needs only the bundle.
pub fn read(bytes: &[u8]) -> Result<Bundle, Vec<Problem>> {
    if bytes.len() > LARGEST {
        let message = format!("it has {} bytes; a bundle has at most {LARGEST}", bytes.len());
        return Err(vec![Problem::new(Kind::Limit, message)]);
    }
    let is_object = bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{');
    if !is_object && std::str::from_utf8(bytes).is_ok() {
        return Err(vec![Problem::new(Kind::Format, "it is no JSON object")]);
    }
    let scan::Scan { version, too_many } = scan::scan(bytes);
    // A bundle of another version is reported as such, and not as one with unknown keys.
    if let Some(version) = version.filter(|version| *version != u64::from(VERSION)) {
        return Err(vec![Problem::new(Kind::Format, other_version(&version.to_string()))]);
    }
    if too_many {
        let message = format!("it has more than {} values", scan::MOST_VALUES);
        return Err(vec![Problem::new(Kind::Limit, message)]);
    }
    let bundle: Bundle = match read_foreign(bytes, Limits::of_bytes(LARGEST)) {
        Ok(bundle) => bundle,
        Err(error) => return Err(vec![Problem::new(Kind::Format, error.to_string())]),
    };
    let problems = check(&bundle);
    if problems.is_empty() { Ok(bundle) } else { Err(problems) }
}

fn other_version(version: &str) -> String {
    format!("it is of version {version}; this liza reads version {VERSION}")
}

/// The bundle as the bytes of its file.
pub fn write(bundle: &Bundle) -> Vec<u8> {
    let mut text = to_json_pretty(bundle);
    text.push('\n');
    text.into_bytes()
}

pub fn checksum(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}
