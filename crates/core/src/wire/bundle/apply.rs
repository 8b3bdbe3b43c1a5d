//! Applying a bundle to files, all of it or nothing.

use super::lines::{Lines, count, split};
use super::make::mode;
use super::{Bundle, Hunk, Kind, Patch, Problem, base64, checksum};
use crate::wire::prelude::*;

/// The entry at a path.
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

/// One file after the change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    Write { path: String, bytes: Vec<u8>, executable: bool },
    Remove { path: String },
}

/// The result. The changes count only if there is no problem.
#[derive(Debug, Default)]
pub struct Applied {
    pub changes: Vec<Change>,
    pub problems: Vec<Problem>,
    /// Files whose old content is known only by the lines of the hunks: the bundle has no checksum for them.
    pub unverified: Vec<String>,
}

/// Applies a bundle that has passed [`super::check`].
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
                "it is a symbolic link here; bundles do not change symbolic links",
            )));
        }
        Found::Submodule => {
            return Ok(Err(Problem::of(
                Kind::Path,
                source,
                "it is a submodule here; bundles do not change submodules",
            )));
        }
        Found::File { .. } if patch.new_file => {
            return conflict(source, "the bundle creates it, but it exists already");
        }
        Found::File { bytes, executable } => Some((bytes, *executable)),
        // The documented format has no mark for a new file: it is one that is written from its first line on.
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
        let what = format!("its mode is {}, but the bundle expects {wanted}", mode(was_executable));
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
            let what = "the bundle deletes it, but its hunks leave some lines";
            return Err(Problem::of(Kind::Conflict, source, what));
        }
        return Ok((vec![Change::Remove { path: patch.file.clone() }], !known));
    }
    if let Some(wanted) = &patch.new_blake3
        && *wanted != checksum(&new)
    {
        // If the file is certainly the right one, the bundle is wrong.
        let kind = if known { Kind::Format } else { Kind::Checksum };
        return Err(Problem::of(
            kind,
            &patch.file,
            "the result is not the one in the bundle: new_blake3 differs",
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

/// Applies the hunks one by one.
fn text(patch: &Patch, source: &str, bytes: &[u8]) -> Result<Vec<u8>, Problem> {
    let conflict = |what: String| Problem::of(Kind::Conflict, source, what);
    let Some(old) = Lines::of_bytes(bytes) else {
        return Err(conflict("it is not a text file, but the bundle has hunks of lines for it".to_owned()));
    };
    if let Some(given) = patch.no_final_newline
        && given.old != old.unfinished
    {
        let (is, expects) = if old.unfinished { ("has none", "one") } else { ("has one", "none") };
        return Err(conflict(format!(
            "the newline at its end: the file {is}, but the bundle expects {expects}"
        )));
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
        let what = "its last line would be empty and without a newline, which is not a line";
        return Err(Problem::of(Kind::Format, source, what));
    }
    Ok(Lines { unfinished: unfinished && !new.is_empty(), lines: new }.bytes())
}

/// The usual mistake: a line feed at the end, which means one more empty line.
fn past_end(hunk: &Hunk, wanted: &[&str], lines: &[&str], start: usize) -> Option<String> {
    let (last, before) = wanted.split_last()?;
    let there = lines.get(start..start.checked_add(before.len())?)?;
    (last.is_empty() && hunk.old_text.ends_with('\n') && there == before).then(|| {
        "old_text ends with a line feed, which means one more empty line; the lines of a bundle are joined by line feeds, with none at the end"
            .to_owned()
    })
}

/// Where else the expected lines are, if anywhere.
fn elsewhere(wanted: &[&str], lines: &[&str]) -> String {
    let found = (!wanted.is_empty()).then(|| lines.windows(wanted.len()).position(|there| there == wanted));
    match found.flatten() {
        Some(at) => format!("; the expected lines begin at line {}", at + 1),
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
        Some((is, expected)) => format!("it reads {}, but the bundle expects {}", short(is), short(expected)),
        None => "its lines differ from those the bundle expects".to_owned(),
    }
}

/// Every entry on the way to a path must be a directory, or missing.
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
        Found::File { .. } => (Kind::Conflict, "the bundle creates it, but it exists already"),
        Found::Symlink => (Kind::Path, "it is a symbolic link here; bundles do not change symbolic links"),
        Found::Submodule => (Kind::Path, "it is a submodule here; bundles do not change submodules"),
        Found::Directory => {
            if tree.files_below(path)?.iter().all(|file| gone.contains(file.as_str())) {
                return Ok(None);
            }
            (Kind::Conflict, "the bundle creates a file, but it is a directory here")
        }
    };
    Ok(Some(Problem::of(kind, path, what)))
}
