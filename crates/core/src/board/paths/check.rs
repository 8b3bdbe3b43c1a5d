//! What may be a path in the repository, and what never.
//!
//! Paths come from planners, agents and hand-edited files, and end as arguments of git and of system calls.
//! So everything that could lead out of the repository, or into git's or liza's own directories, on any
//! file system a repository may lie on, is refused before anything else looks at it.

use super::PathError;
use super::spelling::has_two_spellings;
use crate::text::is_unseen;

/// Linux's limit for a path, without the final zero; git refuses longer paths too.
const LONGEST_PATH: usize = 4095;

/// No common file system allows a longer name. The limit also bounds the work of comparing two patterns.
const LONGEST_NAME: usize = 255;

/// The parts of a checked text.
pub(super) struct Checked<'a> {
    /// The names between the slashes, without empty ones and `.`.
    pub names: Vec<&'a str>,
    /// Whether the text ends like a directory: `a/`, `a/.`.
    pub names_directory: bool,
}

/// Checks a path or pattern and cuts it at its slashes.
///
/// A leading `-` is allowed: such files exist, and code that passes paths to a program puts `--` before them.
pub(super) fn check(text: &str) -> Result<Checked<'_>, PathError> {
    if text.len() > LONGEST_PATH {
        return Err(PathError::TooLong);
    }
    check_characters(text)?;
    if text.starts_with('/') {
        return Err(PathError::Absolute);
    }
    let pieces = || text.split('/');
    let names: Vec<&str> = pieces().filter(|name| !name.is_empty() && *name != ".").collect();
    let first = names.first().ok_or(PathError::Empty)?;
    if has_drive_letter(first) {
        return Err(PathError::Absolute);
    }
    if let Some(owner) = private_root(first) {
        return Err(PathError::Private(owner));
    }
    for name in &names {
        check_name(name)?;
    }
    let names_directory = pieces().next_back().is_some_and(|last| last.is_empty() || last == ".");
    Ok(Checked { names, names_directory })
}

/// Whether `text` is a plain path that [`check`] allows unchanged: names of letters, digits, `_`, `-` and single dots
/// inside. A board has thousands of such paths.
pub(super) fn is_ordinary(text: &str) -> bool {
    let mut before = b'/';
    for byte in text.bytes() {
        let allowed = match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' => true,
            b'.' | b'/' => before != b'/' && before != b'.',
            _ => false,
        };
        if !allowed {
            return false;
        }
        before = byte;
    }
    !text.is_empty() && text.len() <= LONGEST_NAME && before != b'.'
}

fn check_characters(text: &str) -> Result<(), PathError> {
    let mut before = None;
    for c in text.chars() {
        if c == '\\' {
            return Err(PathError::Backslash);
        }
        if is_unseen(c) {
            return Err(PathError::Unseen(c));
        }
        if has_two_spellings(before, c) {
            return Err(PathError::TwoSpellings(c));
        }
        before = Some(c);
    }
    Ok(())
}

fn check_name(name: &str) -> Result<(), PathError> {
    if name.len() > LONGEST_NAME {
        return Err(PathError::NameTooLong);
    }
    let core = as_windows_reads(name);
    // `..` itself, and `.. ` or `...`, which Windows may read as it.
    if core.is_empty() {
        return Err(PathError::Dots);
    }
    if core.eq_ignore_ascii_case(".git") || is_short_form(core, "git") {
        return Err(PathError::Private("git"));
    }
    Ok(())
}

/// The private directory that a path with this first name belongs to; no task may touch it.
fn private_root(name: &str) -> Option<&'static str> {
    let core = as_windows_reads(name);
    let is_private = |full: &str, short: &str| core.eq_ignore_ascii_case(full) || is_short_form(core, short);
    (is_private(".liza", "liza") || is_private(".worktrees", "worktr")).then_some("liza")
}

/// A name without the parts that Windows drops: the stream after a colon, and dots and blanks at the end.
fn as_windows_reads(name: &str) -> &str {
    let file = name.split_once(':').map_or(name, |(file, _stream)| file);
    file.trim_end_matches(['.', ' '])
}

/// Whether a name is the 8.3 form of a longer one, such as `git~1` of `.git`.
fn is_short_form(name: &str, stem: &str) -> bool {
    name.split_once('~').is_some_and(|(before, number)| {
        before.eq_ignore_ascii_case(stem) && !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())
    })
}

fn has_drive_letter(name: &str) -> bool {
    matches!(name.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic())
}
