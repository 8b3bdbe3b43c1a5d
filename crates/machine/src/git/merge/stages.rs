//! The conflicts of a merge, file by file: the three versions and where they differ.

use git2::{MergeFileInput, MergeFileOptions, Oid};

use super::super::prelude::*;
use super::super::query::{EntryKind, is_binary};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConflictKind {
    /// Both sides changed the text.
    Content,
    /// Both sides added the file, differently.
    BothAdded,
    /// One side changed what the other deleted.
    ModifyDelete,
    Binary,
    /// The sides disagree on whether it is executable, possibly beside its content.
    Mode,
    Symlink,
    Submodule,
    /// A side renamed it.
    Renamed,
    /// Any other conflict, in git's words.
    Other(String),
}

/// A place where the two sides differ. Each text is whole lines; one of them may be empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hunk {
    pub base: Vec<u8>,
    pub ours: Vec<u8>,
    pub theirs: Vec<u8>,
    /// The line it begins at, counted from 1, in the merged file with our side of the hunks above.
    pub line: usize,
}

/// A part of a half-merged file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Segment {
    Merged(Vec<u8>),
    Conflict(Hunk),
}

/// A file that could not be merged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConflictFile {
    pub path: String,
    pub kind: ConflictKind,
    /// The whole file in order; empty if there are no lines to compare.
    pub segments: Vec<Segment>,
}

impl ConflictFile {
    pub fn hunks(&self) -> impl Iterator<Item = &Hunk> {
        self.segments.iter().filter_map(|segment| match segment {
            Segment::Conflict(hunk) => Some(hunk),
            Segment::Merged(_) => None,
        })
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Version {
    mode: i32,
    id: Oid,
}

/// Base, ours and theirs of a path; any may be absent.
pub(super) type Stages = BTreeMap<Vec<u8>, [Option<Version>; 3]>;

/// A message of git about some paths, with git's stable name for the kind of conflict.
pub(super) struct Message {
    paths: Vec<Vec<u8>>,
    kind: String,
}

/// Reads records of the form `mode id stage<TAB>path`.
pub(super) fn read_stages<'a>(
    subcommand: &'static str,
    records: impl Iterator<Item = &'a [u8]>,
) -> Result<Stages, GitError> {
    let mut stages = Stages::new();
    for record in records {
        let (path, stage, version) = read_stage(record)
            .ok_or_else(|| GitError::unexpected(subcommand, String::from_utf8_lossy(record).into_owned()))?;
        stages.entry(path.to_owned()).or_default()[stage - 1] = Some(version);
    }
    Ok(stages)
}

fn read_stage(record: &[u8]) -> Option<(&[u8], usize, Version)> {
    let tab = record.iter().position(|&byte| byte == b'\t')?;
    let mut fields = std::str::from_utf8(&record[..tab]).ok()?.split(' ');
    let mode = i32::from_str_radix(fields.next()?, 8).ok()?;
    let id = Oid::from_str(fields.next()?).ok()?;
    let stage: usize = fields.next()?.parse().ok()?;
    (1..=3).contains(&stage).then_some((&record[tab + 1..], stage, Version { mode, id }))
}

/// Reads records of the form `count`, that many paths, the kind, and a text for people, which is not used.
pub(super) fn read_messages<'a>(mut records: impl Iterator<Item = &'a [u8]>) -> Vec<Message> {
    let mut messages = Vec::new();
    while let Some(count) =
        records.next().and_then(|text| std::str::from_utf8(text).ok()?.trim().parse().ok())
    {
        let paths: Vec<Vec<u8>> = records.by_ref().take(count).map(<[u8]>::to_owned).collect();
        let Some(kind) = records.next() else { break };
        messages.push(Message { paths, kind: String::from_utf8_lossy(kind).into_owned() });
        records.next();
    }
    messages
}

/// Collects what is known of every conflicting path.
pub(super) fn conflict_files(
    query: &Query,
    ours: &CommitId,
    theirs: &CommitId,
    stages: &Stages,
    messages: &[Message],
) -> Result<Vec<ConflictFile>, QueryError> {
    let sides = [query.tree_of(ours)?, query.tree_of(theirs)?];
    let mut files = Vec::new();
    for (path, versions) in stages {
        let name = String::from_utf8_lossy(path).into_owned();
        let mut kind = said(messages, path).unwrap_or_else(|| kind_of(versions));
        if kind == ConflictKind::Content {
            // If a side has the file under another name, git reports only the new one.
            for (tree, version) in sides.iter().zip(&versions[1..]) {
                let there = query.leaf_in_tree(tree, &name)?;
                if there.map(|entry| entry.id()) != version.map(|version| version.id) {
                    kind = ConflictKind::Renamed;
                }
            }
        }
        let mut segments = Vec::new();
        if matches!(kind, ConflictKind::Content | ConflictKind::BothAdded) {
            let text =
                |version: Option<Version>| version.map_or(Ok(Vec::new()), |found| query.blob(found.id));
            let [base, ours, theirs] = [text(versions[0])?, text(versions[1])?, text(versions[2])?];
            if [&base, &ours, &theirs].into_iter().any(|bytes| is_binary(bytes)) {
                kind = ConflictKind::Binary;
            } else {
                let what = format!("the versions of `{name}`");
                segments = segments_of(&base, &ours, &theirs).map_err(QueryError::read(what))?;
            }
        }
        files.push(ConflictFile { path: name, kind, segments });
    }
    for message in messages.iter().filter(|message| message.kind.starts_with("CONFLICT")) {
        if !message.paths.iter().any(|path| stages.contains_key(path)) {
            let path = message.paths.first().map(|path| String::from_utf8_lossy(path).into_owned());
            let kind = ConflictKind::Other(message.kind.clone());
            files.push(ConflictFile { path: path.unwrap_or_default(), kind, segments: Vec::new() });
        }
    }
    Ok(files)
}

/// The kind that git named for a path, if it is more than a conflict of content.
fn said(messages: &[Message], path: &[u8]) -> Option<ConflictKind> {
    let about = messages.iter().filter(|message| message.paths.iter().any(|named| named == path));
    let special = about.map(|message| message.kind.as_str()).find(|kind| {
        kind.starts_with("CONFLICT") && *kind != "CONFLICT (contents)" && *kind != "CONFLICT (content)"
    })?;
    Some(match special {
        "CONFLICT (binary)" => ConflictKind::Binary,
        "CONFLICT (modify/delete)" => ConflictKind::ModifyDelete,
        "CONFLICT (distinct modes)" | "CONFLICT (distinct types)" => ConflictKind::Mode,
        other if other.contains("submodule") => ConflictKind::Submodule,
        other if other.contains("rename") => ConflictKind::Renamed,
        other => ConflictKind::Other(other.to_owned()),
    })
}

fn kind_of(versions: &[Option<Version>; 3]) -> ConflictKind {
    let mut modes = versions.iter().flatten().map(|version| version.mode);
    let first = modes.clone().next().unwrap_or_default();
    let is = |kind| versions.iter().flatten().any(|version| EntryKind::of(version.mode) == kind);
    if is(EntryKind::Submodule) {
        ConflictKind::Submodule
    } else if is(EntryKind::Symlink) {
        ConflictKind::Symlink
    } else if modes.any(|mode| mode != first) {
        ConflictKind::Mode
    } else {
        match versions {
            [Some(_), Some(_), Some(_)] => ConflictKind::Content,
            [None, Some(_), Some(_)] => ConflictKind::BothAdded,
            [Some(_), _, _] => ConflictKind::ModifyDelete,
            _ => ConflictKind::Other("one side only".to_owned()),
        }
    }
}

/// Merges three texts line by line and splits the result at its conflicts.
///
/// The markers are longer than any run of their characters in the texts: a heading underlined with `=======` must not
/// count as a marker.
pub(in crate::git) fn segments_of(
    base: &[u8],
    ours: &[u8],
    theirs: &[u8],
) -> Result<Vec<Segment>, git2::Error> {
    let size = [base, ours, theirs].into_iter().map(longest_marker).max().unwrap_or(0).max(7) + 1;
    let size = u16::try_from(size)
        .map_err(|_| git2::Error::from_str("a line is one long run of marker characters"))?;
    // Opening a repository initializes libgit2; merging texts alone opens none.
    let _ready = git2::Config::new()?;
    let mut options = MergeFileOptions::new();
    options.style_diff3(true).marker_size(size).our_label("o").ancestor_label("b").their_label("t");
    let inputs = [base, ours, theirs].map(|bytes| {
        let mut input = MergeFileInput::new();
        input.content(bytes);
        input
    });
    let merged = git2::merge_file(&inputs[0], &inputs[1], &inputs[2], Some(&mut options))?;
    Ok(cut(merged.content(), usize::from(size)))
}

fn longest_marker(text: &[u8]) -> usize {
    let lines = text.split(|&byte| byte == b'\n');
    lines.map(|line| line.iter().take_while(|&byte| b"<|=>".contains(byte)).count()).max().unwrap_or(0)
}

fn cut(text: &[u8], size: usize) -> Vec<Segment> {
    enum In {
        Merged,
        Ours,
        Base,
        Theirs,
    }
    let mut segments = Vec::new();
    let mut place = In::Merged;
    let (mut merged, mut line) = (Vec::new(), 1);
    let mut hunk = Hunk::default();
    for text in text.split_inclusive(|&byte| byte == b'\n') {
        let marker = text
            .first()
            .copied()
            .filter(|&first| text.len() >= size && text[..size].iter().all(|&byte| byte == first));
        match (marker, &place) {
            (Some(b'<'), In::Merged) => {
                if !merged.is_empty() {
                    segments.push(Segment::Merged(std::mem::take(&mut merged)));
                }
                hunk.line = line;
                place = In::Ours;
            }
            (Some(b'|'), In::Ours) => place = In::Base,
            (Some(b'='), In::Ours | In::Base) => place = In::Theirs,
            (Some(b'>'), In::Theirs) => {
                segments.push(Segment::Conflict(std::mem::take(&mut hunk)));
                place = In::Merged;
            }
            (_, In::Merged) => {
                merged.extend_from_slice(text);
                line += 1;
            }
            (_, In::Ours) => {
                hunk.ours.extend_from_slice(text);
                line += 1;
            }
            (_, In::Base) => hunk.base.extend_from_slice(text),
            (_, In::Theirs) => hunk.theirs.extend_from_slice(text),
        }
    }
    if !merged.is_empty() {
        segments.push(Segment::Merged(merged));
    }
    segments
}
