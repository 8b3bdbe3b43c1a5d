//! Files that exist completely or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use super::error::{IoContext, StoreError};
use super::lock::{open_no_follow, open_with_metadata};

const COMPARED_AT_ONCE: usize = 64 * 1024;

/// Makes a directory that only its owner may enter; an existing one is left alone. A link in its place is an error.
pub fn make_private_dir(path: &Path) -> Result<(), StoreError> {
    match fs::DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            match fs::symlink_metadata(path).doing("look at", path)?.is_dir() {
                true => Ok(()),
                false => Err(not_a_directory()).doing("use", path),
            }
        }
        other => other.doing("make the directory", path),
    }
}

fn not_a_directory() -> std::io::Error {
    std::io::Error::new(std::io::ErrorKind::NotADirectory, "it is not a directory, and no link is followed")
}

/// Makes a directory that a person named, and those above it: links on the way are the person's.
pub fn make_named_dirs(path: &Path) -> Result<(), StoreError> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path).doing("make the directory", path)
}

/// Makes a directory and those above it, below `base`. A link on the way is an error.
pub fn make_private_dirs(base: &Path, path: &Path) -> Result<(), StoreError> {
    crate::host::anchored_path::make_directories(base, path).doing("make the directory", path)
}

/// Writes and syncs a new file beside its final path. Removes the file again if that fails.
pub fn write_new(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    write_all_new(path, [bytes])
}

/// As [`write_new`], for a text given in pieces.
pub fn write_new_pieces<'t>(path: &Path, pieces: impl Iterator<Item = &'t str>) -> Result<(), StoreError> {
    write_all_new(path, pieces.map(str::as_bytes))
}

fn write_all_new<'b>(path: &Path, pieces: impl IntoIterator<Item = &'b [u8]>) -> Result<(), StoreError> {
    let file =
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).doing("create", path)?;
    write_synced(&file, path, pieces, 0)
}

/// Overwrites the `former` bytes of an open file of liza's own, and syncs it. Removes the file at `path` if
/// that fails.
pub fn write_over_pieces<'t>(
    file: &File,
    path: &Path,
    pieces: impl Iterator<Item = &'t str>,
    former: u64,
) -> Result<(), StoreError> {
    write_synced(file, path, pieces.map(str::as_bytes), former)
}

fn write_synced<'b>(
    file: &File,
    path: &Path,
    pieces: impl IntoIterator<Item = &'b [u8]>,
    former: u64,
) -> Result<(), StoreError> {
    // Gathers small pieces; large ones pass through.
    let mut writer = BufWriter::new(file);
    let mut length = 0;
    let written = pieces
        .into_iter()
        .try_for_each(|piece| {
            length += piece.len() as u64;
            writer.write_all(piece)
        })
        .and_then(|()| writer.flush())
        .and_then(|()| if former > length { file.set_len(length) } else { Ok(()) })
        .doing("write", path)
        .and_then(|()| file.sync_all().doing("sync", path));
    if written.is_err() {
        // After a failed sync a second one may falsely succeed; the file is discarded, never synced again.
        let _ = fs::remove_file(path);
    }
    written
}

/// Makes a new file that is complete from the moment it is visible. Returns false and does nothing if the path
/// exists.
pub fn publish_new(path: &Path, bytes: &[u8]) -> Result<bool, StoreError> {
    let temp = beside(path);
    let _ = fs::remove_file(&temp);
    write_new(&temp, bytes)?;
    let linked = fs::hard_link(&temp, path);
    let _ = fs::remove_file(&temp);
    let made = match linked {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
            // A file system without links: for a moment the file exists without its text.
            match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
                Ok(mut file) => {
                    file.write_all(bytes).and_then(|()| file.sync_all()).doing("write", path).map(|()| true)
                }
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
                Err(error) => Err(error).doing("create", path),
            }
        }
        other => Ok(other.is_ok()),
    }?;
    if made {
        sync_parent(path)?;
    }
    Ok(made)
}

/// The name of a temporary file beside `path`, used by this process only.
pub fn beside(path: &Path) -> std::path::PathBuf {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    path.with_file_name(format!(".{name}.{}.tmp", std::process::id()))
}

/// Puts `bytes` at `path`: the old file or the new one, never half of either.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let temp = beside(path);
    let _ = fs::remove_file(&temp);
    write_new(&temp, bytes)?;
    if let Err(error) = fs::rename(&temp, path) {
        let _ = fs::remove_file(&temp);
        return Err(error).doing("replace", path);
    }
    sync_parent(path)
}

/// As [`replace`], for a file that can be made again at any time: always complete, but perhaps lost in a crash.
pub fn replace_disposable(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let temp = beside(path);
    let _ = fs::remove_file(&temp);
    write_unsynced(&temp, bytes)?;
    let replaced = crate::host::anchored_path::exchange_files(&temp, path).doing("replace", path);
    let _ = fs::remove_file(&temp);
    replaced
}

/// As [`replace_disposable`], with what `write` puts into the new file. The caller must exclude all other
/// writers of this path: the temporary file has a fixed name and is left over only if a writer died.
pub fn replace_disposable_by(
    path: &Path,
    write: impl FnOnce(&File) -> std::io::Result<()>,
) -> Result<(), StoreError> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let temp = path.with_file_name(format!(".{name}.tmp"));
    let create = || OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temp);
    let new = match create() {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            let _ = fs::remove_file(&temp);
            create()
        }
        other => other,
    };
    let new = new.doing("create", &temp)?;
    let replaced = write(&new)
        .and_then(|()| crate::host::anchored_path::exchange_files(&temp, path))
        .doing("replace", path);
    // This name now holds the former file, or the text that could not be written.
    let _ = fs::remove_file(&temp);
    replaced
}

/// As [`replace`], for a file that other programs use too: it keeps its permissions.
pub fn replace_shared(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let rights = fs::metadata(path).map(|meta| meta.permissions());
    replace(path, bytes)?;
    let rights = rights.unwrap_or_else(|_| std::os::unix::fs::PermissionsExt::from_mode(0o644));
    fs::set_permissions(path, rights).doing("set the permissions of", path)
}

pub fn sync_dir(path: &Path) -> std::io::Result<()> {
    File::open(path)?.sync_all()
}

pub fn sync_parent(path: &Path) -> Result<(), StoreError> {
    let parent = path.parent().unwrap_or(Path::new("."));
    sync_dir(parent).doing("sync", parent)
}

/// Identifies the bytes that a path had when it was read; renames, edits and replacements change it.
#[derive(Debug, Clone)]
pub struct FileIdentity {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    /// The time of the last change of anything; unlike `modified`, no program can set it.
    changed: (i64, i64),
}

/// Ignores the time of change, because making a link to the file changes that time.
impl PartialEq for FileIdentity {
    fn eq(&self, other: &Self) -> bool {
        let of = |one: &Self| (one.device, one.inode, one.size, one.modified);
        of(self) == of(other)
    }
}

impl Eq for FileIdentity {}

impl FileIdentity {
    fn of(meta: &fs::Metadata) -> Self {
        Self {
            device: meta.dev(),
            inode: meta.ino(),
            size: meta.size(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
        }
    }

    pub fn at(path: &Path) -> std::io::Result<Self> {
        fs::symlink_metadata(path).map(|meta| Self::of(&meta))
    }

    pub fn size(&self) -> u64 {
        self.size
    }

    /// Whether nothing was done to the file since, not even a link made.
    pub fn is_untouched_since(&self, earlier: &Self) -> bool {
        self == earlier && self.changed == earlier.changed
    }

    /// Whether any change of the file at `now`, by [`file_clock`], or later is sure to give it another time of
    /// change. File systems with whole seconds are never sure.
    pub fn is_settled(&self, now: (i64, i64)) -> bool {
        self.changed.1 != 0 && now > self.changed
    }
}

/// Opens a regular file for reading, following no link and waiting for no pipe.
pub fn open_plain(path: &Path) -> std::io::Result<File> {
    open_no_follow(path, OpenOptions::new().read(true))
}

/// Reads a regular file whole, following no link; larger than `limit` is an error.
pub fn read_whole(path: &Path, limit: u64) -> std::io::Result<(Vec<u8>, FileIdentity)> {
    read_whole_into(path, limit, Vec::new())
}

/// The same, read into this empty memory.
pub(super) fn read_whole_into(
    path: &Path,
    limit: u64,
    memory: Vec<u8>,
) -> std::io::Result<(Vec<u8>, FileIdentity)> {
    let (file, meta) = open_with_metadata(path, OpenOptions::new().read(true))?;
    if meta.len() > limit {
        return Err(std::io::Error::new(
            std::io::ErrorKind::FileTooLarge,
            format!("it is {} bytes long; the limit is {limit}", meta.len()),
        ));
    }
    let bytes = read_into(&file, meta.len(), limit + 1, memory)?;
    Ok((bytes, FileIdentity::of(&meta)))
}

/// The identity of a regular file that holds exactly these bytes; none if it holds others. Reads it piece by piece:
/// memory for the whole file would cost more than comparing it.
pub fn identity_if_holds(path: &Path, expected: &[u8]) -> std::io::Result<Option<FileIdentity>> {
    let (file, meta) = open_with_metadata(path, OpenOptions::new().read(true))?;
    if meta.len() != expected.len() as u64 {
        return Ok(None);
    }
    let mut piece = Vec::with_capacity(COMPARED_AT_ONCE);
    let mut rest = expected;
    loop {
        piece.clear();
        let read = || rustix::io::read(&file, rustix::buffer::spare_capacity(&mut piece));
        if rustix::io::retry_on_intr(read)? == 0 {
            return Ok(rest.is_empty().then(|| FileIdentity::of(&meta)));
        }
        match rest.strip_prefix(&piece[..]) {
            Some(more) => rest = more,
            None => return Ok(None),
        }
    }
}

/// The bytes of a file from the current position, at most `most`, in one read if it has the expected length.
pub(super) fn read_at_most(file: &File, expected: u64, most: u64) -> std::io::Result<Vec<u8>> {
    read_into(file, expected, most, Vec::new())
}

fn read_into(file: &File, expected: u64, most: u64, mut bytes: Vec<u8>) -> std::io::Result<Vec<u8>> {
    let size = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
    bytes.reserve(size(expected.min(most)).saturating_add(1));
    while bytes.len() < size(most) {
        // One byte more than expected shows the end of the file.
        if bytes.len() == bytes.capacity() {
            bytes.reserve(64 * 1024);
        }
        let read = || rustix::io::read(file, rustix::buffer::spare_capacity(&mut bytes));
        if rustix::io::retry_on_intr(read)? == 0 {
            break;
        }
        // As many bytes as expected although there was room for more: that is the end.
        if bytes.len() as u64 == expected && bytes.len() < bytes.capacity() {
            break;
        }
    }
    bytes.truncate(size(most));
    Ok(bytes)
}

/// Refuses a directory that other users can write into or that belongs to another user.
pub fn check_private(dir: &Path) -> Result<(), StoreError> {
    let meta = fs::symlink_metadata(dir).doing("look at", dir)?;
    let wrong = |message: String, hint: &str| {
        Err(StoreError::Invalid { message: format!("{}: {message}", dir.display()), hint: hint.to_owned() })
    };
    if !meta.is_dir() {
        return wrong("it is not a directory".to_owned(), "move it away and restore the board's directory");
    }
    let me = rustix::process::geteuid().as_raw();
    if meta.uid() != me && me != 0 {
        return wrong(
            format!("it belongs to user {}, not to {me}", meta.uid()),
            "run liza as the user the board belongs to",
        );
    }
    if meta.mode() & 0o022 != 0 {
        return wrong(
            format!("other users may write into it (mode {:o})", meta.mode() & 0o777),
            "remove that permission: `chmod go-w` on it",
        );
    }
    Ok(())
}

/// As [`write_new`], for one of many files that [`sync_all_files`] syncs together.
pub fn write_unsynced(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let mut file =
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).doing("create", path)?;
    file.write_all(bytes).doing("write", path).inspect_err(|_| {
        let _ = fs::remove_file(path);
    })
}

/// Syncs everything written on the file system of `dir`.
pub fn sync_all_files(dir: &Path) -> Result<(), StoreError> {
    let open = File::open(dir).doing("open", dir)?;
    #[cfg(target_os = "linux")]
    rustix::fs::syncfs(&open).doing("sync", dir)?;
    #[cfg(not(target_os = "linux"))]
    {
        drop(open);
        rustix::fs::sync();
    }
    Ok(())
}

/// The entries of a directory, sorted; none if it cannot be read.
pub fn paths_in(dir: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut paths: Vec<std::path::PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// The names in a directory, sorted; none if it does not exist.
pub(super) fn names_in(dir: &Path) -> std::io::Result<Vec<String>> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut names: Vec<String> =
        entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    Ok(names)
}

/// Whether the path exists and is not the wanted "file" or "directory".
pub(super) fn is_odd((path, wanted): &(std::path::PathBuf, &str)) -> bool {
    fs::symlink_metadata(path)
        .is_ok_and(|meta| if *wanted == "file" { !meta.is_file() } else { !meta.is_dir() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_exactly_these_bytes_are_held() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("file");
        let holds = |bytes: &[u8]| identity_if_holds(&path, bytes).expect("it can be read");
        for length in [0, 1, COMPARED_AT_ONCE - 1, COMPARED_AT_ONCE, 3 * COMPARED_AT_ONCE + 7] {
            let bytes = vec![b'x'; length];
            fs::write(&path, &bytes).expect("written");
            assert_eq!(holds(&bytes), FileIdentity::at(&path).ok(), "{length}");
            assert_eq!(holds(&[&bytes[..], b"x"].concat()), None, "{length}, one byte more");
            if let Some((last, all_but_last)) = bytes.split_last() {
                assert_eq!(holds(all_but_last), None, "{length}, one byte less");
                assert_eq!(holds(&[all_but_last, &[last ^ 1]].concat()), None, "{length}, another last byte");
            }
        }
    }

    #[test]
    fn links_hold_nothing() {
        let dir = tempfile::tempdir().expect("a directory");
        let (file, link) = (dir.path().join("file"), dir.path().join("link"));
        fs::write(&file, "x").expect("written");
        std::os::unix::fs::symlink(&file, &link).expect("linked");
        assert!(identity_if_holds(&link, b"x").is_err());
    }
}
