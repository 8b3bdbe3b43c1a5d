//! Whether a checkout still shows the commit it was made from: a verdict is about that commit, not about files
//! changed in the checkout.

use std::os::unix::fs::{MetadataExt, PermissionsExt};

use git2::{ObjectType, Oid, TreeWalkMode, TreeWalkResult};

use super::prelude::*;
use super::query::{AccessError, EntryKind};

struct Tracked {
    path: Vec<u8>,
    id: Oid,
    kind: EntryKind,
}

/// Tracked files of a checkout that differ from the commit. Files in `read` are always read, others only if the index
/// does not prove them unchanged: an agent can write an index, and the files under review matter most.
pub fn changed_files(
    query: &Query,
    checkout: &Path,
    commit: &CommitId,
    read: &BTreeSet<String>,
) -> Result<Vec<String>, AccessError> {
    let index = index_of(checkout);
    Ok(differing(checkout, suspect(checkout, tracked(query, commit)?, index.as_ref(), read))?)
}

/// Tracked files that have not exactly the committed bytes, as far as liza sees without git.
fn suspect(
    checkout: &Path,
    tracked: Vec<Tracked>,
    index: Option<&Indexed>,
    read: &BTreeSet<String>,
) -> Vec<Tracked> {
    tracked
        .into_iter()
        .filter(|file| {
            let path = checkout.join(OsStr::from_bytes(&file.path));
            let meta = path.symlink_metadata().ok();
            let is_known = index.is_some_and(|index| is_as_written(index, meta.as_ref(), file));
            let counts = meta.is_some() && read.contains(&lossy(&file.path));
            (!is_known || counts) && !meta.is_some_and(|meta| holds_committed(&path, &meta, file))
        })
        .collect()
}

/// The index of a checkout, and when its file was written.
struct Indexed {
    index: git2::Index,
    written: (i64, i64),
}

fn index_of(checkout: &Path) -> Option<Indexed> {
    let path = read_git_file(&checkout.join(".git"))?.join("index");
    // Before it is read: a later version of the file only makes more entries doubtful.
    let meta = path.symlink_metadata().ok()?;
    let written = (meta.mtime(), meta.mtime_nsec());
    git2::Index::open(&path).ok().map(|index| Indexed { index, written })
}

/// Whether a checkout holds exactly the files of its commit, and no others. Git is asked only about files with other
/// bytes.
pub fn holds_only_commit(query: &Query, checkout: &Path) -> bool {
    let Ok(commit) = super::content::head(checkout) else { return false };
    let Ok(all) = tracked(query, &commit) else { return false };
    has_no_other_file(checkout, &all)
        && differing(checkout, suspect(checkout, all, index_of(checkout).as_ref(), &BTreeSet::new()))
            .is_ok_and(|changed| changed.is_empty())
}

/// Whether a checkout and its index hold exactly the files of its commit, and no others. Runs neither git nor a filter;
/// false where only git can tell, as with submodules.
pub fn is_untouched(query: &Query, checkout: &Path) -> bool {
    let Ok(commit) = super::content::head(checkout) else { return false };
    let (Ok(all), Some(index)) = (tracked(query, &commit), index_of(checkout)) else { return false };
    let is_staged = |file: &Tracked| {
        let entry = index.index.get_path(Path::new(OsStr::from_bytes(&file.path)), 0);
        entry.is_some_and(|entry| entry.id == file.id && EntryKind::of(entry.mode.cast_signed()) == file.kind)
    };
    index.index.len() == all.len()
        && all.iter().all(is_staged)
        && has_no_other_file(checkout, &all)
        && suspect(checkout, all, Some(&index), &BTreeSet::new()).is_empty()
}

fn has_no_other_file(checkout: &Path, tracked: &[Tracked]) -> bool {
    let known: BTreeSet<&Path> =
        tracked.iter().map(|file| Path::new(OsStr::from_bytes(&file.path))).collect();
    let mut below = vec![PathBuf::new()];
    while let Some(dir) = below.pop() {
        let Ok(entries) = fs::read_dir(checkout.join(&dir)) else { return false };
        for entry in entries {
            let Ok(entry) = entry else { return false };
            let path = dir.join(entry.file_name());
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                below.push(path);
            } else if !known.contains(path.as_path()) && path != Path::new(".git") {
                return false;
            }
        }
    }
    true
}

fn tracked(query: &Query, commit: &CommitId) -> Result<Vec<Tracked>, QueryError> {
    let mut found = Vec::new();
    let walked = query.tree_object(commit)?.walk(TreeWalkMode::PreOrder, |above, entry| {
        if entry.kind() == Some(ObjectType::Blob) {
            let path = [above.as_bytes(), entry.name_bytes()].concat();
            found.push(Tracked { path, id: entry.id(), kind: EntryKind::of(entry.filemode()) });
        }
        TreeWalkResult::Ok
    });
    walked.map_err(QueryError::read(format!("the tree of {commit}")))?;
    Ok(found)
}

/// Whether this is the file that git wrote and indexed under this id. The kernel keeps the time of change, which no
/// program can set.
fn is_as_written(indexed: &Indexed, meta: Option<&fs::Metadata>, file: &Tracked) -> bool {
    let path = Path::new(OsStr::from_bytes(&file.path));
    let Some(known) = indexed.index.get_path(path, 0) else { return false };
    let Some(meta) = meta else {
        // A sparse checkout leaves files out.
        let flags = git2::IndexEntryExtendedFlag::from_bits_truncate(known.flags_extended);
        return flags.contains(git2::IndexEntryExtendedFlag::SKIP_WORKTREE);
    };
    let same = |time: git2::IndexTime, seconds: i64, nanoseconds: i64| {
        i64::from(time.seconds()) == i64::from(seconds as i32) && i64::from(time.nanoseconds()) == nanoseconds
    };
    // A file that changed in the same tick as the index was written would look the same.
    let is_older = (meta.ctime(), meta.ctime_nsec()) < indexed.written;
    known.id == file.id
        && is_older
        && same(known.ctime, meta.ctime(), meta.ctime_nsec())
        && same(known.mtime, meta.mtime(), meta.mtime_nsec())
        && known.file_size == meta.len() as u32
        && known.ino == meta.ino() as u32
}

/// Whether the file has exactly the committed bytes.
fn holds_committed(path: &Path, meta: &fs::Metadata, file: &Tracked) -> bool {
    let bytes = match file.kind {
        EntryKind::Symlink => fs::read_link(path).map(|target| target.as_os_str().as_bytes().to_owned()),
        _ if meta.is_file() && has_mode(meta, file) => fs::read(path),
        _ => return false,
    };
    let hash = |bytes: Vec<u8>| Oid::hash_object(ObjectType::Blob, &bytes).ok();
    bytes.ok().and_then(hash) == Some(file.id)
}

fn has_mode(meta: &fs::Metadata, file: &Tracked) -> bool {
    (meta.permissions().mode() & 0o100 != 0) == (file.kind == EntryKind::Executable)
}

/// The files that even git, with accepted filters and line endings, would store differently.
fn differing(checkout: &Path, suspect: Vec<Tracked>) -> Result<Vec<String>, GitError> {
    let (mut differing, mut asked) = (Vec::new(), Vec::new());
    for file in suspect {
        let meta = checkout.join(OsStr::from_bytes(&file.path)).symlink_metadata();
        let is_file = meta.is_ok_and(|meta| meta.is_file() && has_mode(&meta, &file));
        let plain = !file.path.contains(&b'\n') && !file.path.starts_with(b"\"");
        if is_file && plain { asked.push(file) } else { differing.push(lossy(&file.path)) }
    }
    if !asked.is_empty() {
        let listed: Vec<u8> = asked.iter().flat_map(|file| [&file.path[..], b"\n"].concat()).collect();
        let git = Git::reading(checkout, "hash-object").arg("--stdin-paths").stdin(listed);
        let ids = git.run_line()?;
        let mut ids = ids.lines();
        for file in asked {
            if ids.next() != Some(file.id.to_string().as_str()) {
                differing.push(lossy(&file.path));
            }
        }
    }
    differing.sort();
    Ok(differing)
}
