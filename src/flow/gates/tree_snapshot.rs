//! Whether the files of a tree are unchanged, by the files themselves: a gate's changes to git's index have no
//! effect.

use std::os::unix::fs::MetadataExt;
use std::time::SystemTime;

use crate::flow::prelude::*;
use crate::git::{EntryKind, private::Entry};

/// File system clocks tick. A change within the same tick as the previous one does not show in its times.
const STEP: Duration = Duration::from_millis(100);

/// What the kernel reports of a file without reading it. No program can set its time of last change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Metadata {
    device: u64,
    inode: u64,
    mode: u32,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// The content as read; none if there is no file.
pub type FileContent = Option<(u32, blake3::Hash)>;

struct FileState {
    metadata: Option<Metadata>,
    /// Only if the times cannot be relied on.
    content: Option<FileContent>,
}

/// All tracked files at one moment.
pub struct Snapshot(Vec<FileState>);

impl Snapshot {
    /// Records them as they are now.
    pub fn take(root: &Path, entries: &[Entry]) -> Self {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let sure = now.saturating_sub(STEP);
        let sure = (sure.as_secs().cast_signed(), i64::from(sure.subsec_nanos()));
        let state = |entry: &Entry| {
            let path = root.join(&entry.path);
            let metadata = metadata_of(&path);
            let recent = metadata.is_some_and(|metadata| metadata.changed >= sure);
            FileState { metadata, content: recent.then(|| content_of(&path)) }
        };
        Self(entries.iter().filter(|entry| entry.kind != EntryKind::Submodule).map(state).collect())
    }

    /// The files that may have changed: their content or only their times.
    pub fn suspects<'e>(&self, root: &Path, entries: &'e [Entry]) -> Vec<&'e Entry> {
        let files = entries.iter().filter(|entry| entry.kind != EntryKind::Submodule);
        let differs = |(entry, state): &(&Entry, &FileState)| {
            let path = root.join(&entry.path);
            match &state.content {
                Some(before) => content_of(&path) != *before,
                None => metadata_of(&path) != state.metadata,
            }
        };
        files.zip(&self.0).filter(differs).map(|(entry, _)| entry).collect()
    }
}

fn metadata_of(path: &Path) -> Option<Metadata> {
    let meta = path.symlink_metadata().ok()?;
    Some(Metadata {
        device: meta.dev(),
        inode: meta.ino(),
        mode: meta.mode(),
        size: meta.size(),
        modified: (meta.mtime(), meta.mtime_nsec()),
        changed: (meta.ctime(), meta.ctime_nsec()),
    })
}

/// Kind, executable bit and content.
pub fn content_of(path: &Path) -> FileContent {
    let meta = path.symlink_metadata().ok()?;
    let kind = meta.mode() & 0o170_100;
    if meta.is_symlink() {
        let target = fs::read_link(path).ok()?;
        return Some((kind & 0o170_000, blake3::hash(target.as_os_str().as_encoded_bytes())));
    }
    if !meta.is_file() {
        return Some((kind, blake3::hash(b"")));
    }
    let mut hasher = blake3::Hasher::new();
    let mut file = fs::File::open(path).ok()?;
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Some((kind, hasher.finalize())),
            Ok(count) => hasher.update(&buffer[..count]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(_) => return None,
        };
    }
}

/// Whether every path of the commit exists and matches the commit.
pub fn is_whole(root: &Path, entries: &[Entry]) -> bool {
    entries.iter().all(|entry| {
        let Ok(meta) = root.join(&entry.path).symlink_metadata() else { return false };
        match entry.kind {
            EntryKind::File => meta.is_file() && meta.mode() & 0o100 == 0,
            EntryKind::Executable => meta.is_file() && meta.mode() & 0o100 != 0,
            EntryKind::Symlink => meta.is_symlink(),
            EntryKind::Submodule => meta.is_dir(),
        }
    })
}
