//! Applying a bundle to files, all of it or nothing.

use super::lines::{Lines, count, split};
use super::make::mode;
use super::{Bundle, Hunk, Kind, Patch, Problem, base64, checksum};
use crate::wire::prelude::*;

/// What is at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    Absent,
    File { bytes: Vec<u8>, executable: bool },
    Directory,
    Symlink,
    Submodule,
}

/// The files that a bundle is applied to.
pub trait Tree {
    type Error;
    fn at(&self, path: &str) -> Result<Found, Self::Error>;
    /// Every file below a directory.
    fn files_below(&self, path: &str) -> Result<Vec<String>, Self::Error>;
}

/// One file afterwards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    Write { path: String, bytes: Vec<u8>, executable: bool },
    Remove { path: String },
}

/// The result. The changes count only where there is no problem.
#[derive(Debug, Default)]
pub struct Applied {
    pub changes: Vec<Change>,
    pub problems: Vec<Problem>,
    /// Files whose content before is known by the lines of the hunks only: the bundle gives no checksum.
    pub unverified: Vec<String>,
}

/// Applies a bundle that [`super::check`] found nothing wrong with.
pub fn apply<T: Tree>(bundle: &Bundle, tree: &T) -> Result<Applied, T::Error> {
    let gone: BTreeSet<&str> = bundle
        .patches
        .iter()
        .filter_map(|patch| match &patch.renamed_from {
            Some(from) => Some(from.as_str()),
            None => patch.deleted.then_some(patch.file.as_str()),
        })
        .collect();
    let mut applied = Applied::default();
    for patch in &bundle.patches {
        match one(patch, tree, &gone)? {
            Ok((changes, unverified)) => {
                applied.changes.extend(changes);
                if unverified {
                    applied.unverified.push(patch.file.clone());
                }
            }
            Err(problem) => applied.problems.push(problem),
        }
    }
    Ok(applied)
}

type One = Result<(Vec<Change>, bool), Problem>;

fn one<T: Tree>(patch: &Patch, tree: &T, gone: &BTreeSet<&str>) -> Result<One, T::Error> {
    let conflict = |path: &str, what: &str| Ok(Err(Problem::of(Kind::Conflict, path, what)));
    let source = patch.renamed_from.as_deref().unwrap_or(&patch.file);
    for path in [source, patch.file.as_str()] {
        if let Some(problem) = on_the_way(path, tree, gone)? {
            return Ok(Err(problem));
        }
    }
    if source != patch.file
        && let Some(problem) = is_free(&patch.file, tree, gone)?
    {
        return Ok(Err(problem));
    }
    let found = tree.at(source)?;
    let begins = matches!(&patch.hunks[..], [hunk] if hunk.start_line == 1 && count(&hunk.old_text, hunk.old_lines) == Some(0));
    let old = match &found {
        Found::Symlink => {
            return Ok(Err(Problem::of(
                Kind::Path,
                source,
                "it is a symbolic link here; bundles leave those alone",
            )));
        }
        Found::Submodule => {
            return Ok(Err(Problem::of(
                Kind::Path,
                source,
                "it is a submodule here; bundles leave those alone",
            )));
        }
        Found::File { .. } if patch.new_file => {
            return conflict(source, "the bundle makes it new, and it is there already");
        }
        Found::File { bytes, executable } => Some((bytes, *executable)),
        // The documented form has no word for a new file: one that is written from its first line on.
        Found::Absent | Found::Directory
            if patch.new_file || begins && patch.old_blake3.is_none() && patch.renamed_from.is_none() =>
        {
            if let Some(problem) = is_free(&patch.file, tree, gone)? {
                return Ok(Err(problem));
            }
            None
        }
        Found::Absent => return conflict(source, "there is no such file here"),
        Found::Directory => return conflict(source, "it is a directory here"),
    };
    Ok(content(patch, source, old))
}

fn content(patch: &Patch, source: &str, old: Option<(&Vec<u8>, bool)>) -> One {
    let bytes: &[u8] = old.map_or(&b""[..], |(bytes, _)| bytes);
    let mut known = old.is_none();
    if let Some(wanted) = &patch.old_blake3 {
        if *wanted != checksum(bytes) {
            return Err(Problem::of(
                Kind::Checksum,
                source,
                "it is not the file the bundle was made against: old_blake3 differs",
            ));
        }
        known = true;
    }
    let was_executable = old.is_some_and(|(_, executable)| executable);
    if let Some(wanted) = &patch.old_mode
        && *wanted != mode(was_executable)
    {
        let what = format!("its mode is {}, and the bundle expects {wanted}", mode(was_executable));
        return Err(Problem::of(Kind::Conflict, source, what));
    }
    let new = match &patch.binary {
        Some(binary) => {
            if let Some(wanted) = &binary.old {
                if base64::decode(wanted).as_deref() != Some(bytes) {
                    return Err(Problem::of(
                        Kind::Checksum,
                        source,
                        "it is not the file the bundle replaces",
                    ));
                }
                known = true;
            }
            binary.new.as_ref().and_then(|text| base64::decode(text)).unwrap_or_default()
        }
        None if patch.hunks.is_empty() && patch.no_final_newline.is_none() => bytes.to_owned(),
        None => text(patch, source, bytes)?,
    };
    if patch.deleted {
        if !patch.hunks.is_empty() && !new.is_empty() {
            let what = "the bundle deletes it, and its hunks leave something of it";
            return Err(Problem::of(Kind::Conflict, source, what));
        }
        return Ok((vec![Change::Remove { path: patch.file.clone() }], !known));
    }
    if let Some(wanted) = &patch.new_blake3
        && *wanted != checksum(&new)
    {
        // From a file that is surely the right one it is the bundle that is wrong.
        let kind = if known { Kind::Format } else { Kind::Checksum };
        return Err(Problem::of(
            kind,
            &patch.file,
            "what comes out is not what the bundle says: new_blake3 differs",
        ));
    }
    let executable = patch.mode.as_ref().map_or(was_executable, |wanted| *wanted == mode(true));
    let mut changes = Vec::new();
    if source != patch.file {
        changes.push(Change::Remove { path: source.to_owned() });
    }
    changes.push(Change::Write { path: patch.file.clone(), bytes: new, executable });
    Ok((changes, !known))
}

/// The hunks, one by one.
fn text(patch: &Patch, source: &str, bytes: &[u8]) -> Result<Vec<u8>, Problem> {
    let conflict = |what: String| Problem::of(Kind::Conflict, source, what);
    let Some(old) = Lines::of_bytes(bytes) else {
        return Err(conflict("it is no text, and the bundle has hunks of lines for it".to_owned()));
    };
    if let Some(given) = patch.no_final_newline
        && given.old != old.unfinished
    {
        let (is, expects) = if old.unfinished { ("has none", "one") } else { ("has one", "none") };
        return Err(conflict(format!("the newline at its end: it {is}, and the bundle expects {expects}")));
    }
    let mut new: Vec<&str> = Vec::new();
    let mut taken = 0;
    for (number, hunk) in patch.hunks.iter().enumerate() {
        let at = |what: String| conflict(format!("hunk {} at line {}: {what}", number + 1, hunk.start_line));
        let lines = |text, given| split(text, count(text, given).unwrap_or(0));
        let (wanted, instead) =
            (lines(&hunk.old_text, hunk.old_lines), lines(&hunk.new_text, hunk.new_lines));
        let start = usize::try_from(hunk.start_line.saturating_sub(1)).unwrap_or(usize::MAX);
        let there = start.checked_add(wanted.len()).and_then(|end| old.lines.get(start..end));
        let Some(there) = there.filter(|_| start >= taken) else {
            return Err(at(match past_end(hunk, &wanted, &old.lines, start) {
                Some(why) => why,
                None => {
                    let place = elsewhere(&wanted, &old.lines);
                    format!("the file has only {} lines{place}", old.lines.len())
                }
            }));
        };
        if there != wanted {
            return Err(at(match past_end(hunk, &wanted, &old.lines, start) {
                Some(why) => why,
                None => format!("{}{}", difference(there, &wanted), elsewhere(&wanted, &old.lines)),
            }));
        }
        new.extend(&old.lines[taken..start]);
        new.extend(instead);
        taken = start + wanted.len();
    }
    new.extend(&old.lines[taken..]);
    let unfinished = match patch.no_final_newline {
        Some(given) => given.new,
        None => old.unfinished,
    };
    if unfinished && new.last().is_some_and(|last| last.is_empty()) {
        let what = "its last line would be empty and have no newline, which is no line";
        return Err(Problem::of(Kind::Format, source, what));
    }
    Ok(Lines { unfinished: unfinished && !new.is_empty(), lines: new }.bytes())
}

/// The usual slip: a line feed at the end, which asks for one more line that is empty.
fn past_end(hunk: &Hunk, wanted: &[&str], lines: &[&str], start: usize) -> Option<String> {
    let (last, before) = wanted.split_last()?;
    let there = lines.get(start..start.checked_add(before.len())?)?;
    (last.is_empty() && hunk.old_text.ends_with('\n') && there == before).then(|| {
        "old_text ends with a line feed, and so asks for an empty line behind its lines; the lines of a bundle are joined by line feeds, with none at the end"
            .to_owned()
    })
}

/// Where the lines are instead, if they are anywhere.
fn elsewhere(wanted: &[&str], lines: &[&str]) -> String {
    let found = (!wanted.is_empty()).then(|| lines.windows(wanted.len()).position(|there| there == wanted));
    match found.flatten() {
        Some(at) => format!("; what it expects begins at line {}", at + 1),
        None => String::new(),
    }
}

fn difference(there: &[&str], wanted: &[&str]) -> String {
    let bare = |line: &str| line.strip_suffix('\r').unwrap_or(line).to_owned();
    let same_text = there.iter().map(|line| bare(line)).eq(wanted.iter().map(|line| bare(line)));
    if same_text {
        return match there.iter().any(|line| line.ends_with('\r')) {
            true => "its lines end with CRLF, those of the bundle do not".to_owned(),
            false => "its lines end with LF, those of the bundle with CRLF".to_owned(),
        };
    }
    let first = there.iter().zip(wanted).find(|(is, expected)| is != expected);
    let short = |line: &str| quoted(&line.chars().take(80).collect::<String>());
    match first {
        Some((is, expected)) => format!("it reads {}, and the bundle expects {}", short(is), short(expected)),
        None => "its lines are others than the bundle expects".to_owned(),
    }
}

/// Whatever stands on the way to a path must be a directory, or nothing.
fn on_the_way<T: Tree>(path: &str, tree: &T, gone: &BTreeSet<&str>) -> Result<Option<Problem>, T::Error> {
    for (end, _) in path.match_indices('/') {
        let above = &path[..end];
        let (kind, what) = match tree.at(above)? {
            Found::Directory => continue,
            Found::Absent => break,
            Found::Symlink => (Kind::Path, "leads through the symbolic link"),
            Found::Submodule => (Kind::Path, "leads into the submodule"),
            Found::File { .. } if gone.contains(above) => break,
            Found::File { .. } => (Kind::Conflict, "needs a directory where there is the file"),
        };
        return Ok(Some(Problem::of(kind, path, format!("it {what} {}", quoted(above)))));
    }
    Ok(None)
}

/// Whether a new file can have this name.
fn is_free<T: Tree>(path: &str, tree: &T, gone: &BTreeSet<&str>) -> Result<Option<Problem>, T::Error> {
    let (kind, what) = match tree.at(path)? {
        Found::Absent => return Ok(None),
        Found::File { .. } if gone.contains(path) => return Ok(None),
        Found::File { .. } => (Kind::Conflict, "the bundle makes it new, and it is there already"),
        Found::Symlink => (Kind::Path, "it is a symbolic link here; bundles leave those alone"),
        Found::Submodule => (Kind::Path, "it is a submodule here; bundles leave those alone"),
        Found::Directory => {
            if tree.files_below(path)?.iter().all(|file| gone.contains(file.as_str())) {
                return Ok(None);
            }
            (Kind::Conflict, "the bundle makes a file of it, and it is a directory here")
        }
    };
    Ok(Some(Problem::of(kind, path, what)))
}
