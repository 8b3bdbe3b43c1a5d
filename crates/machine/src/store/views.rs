//! Views of the board for other programs: derived files that liza never reads back as truth.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::time::{Duration, Instant};

use super::error::{IoContext, StoreError};
use super::files::{make_private_dir, open_plain, replace_disposable_by};
use super::handle::Store;
use super::lock::open_no_follow;
use crate::wire::graph_file::{FileHead, Piece};

/// A writer holds the lock for a moment; a process that would wait longer leaves the views unchanged.
const PATIENCE: Duration = Duration::from_millis(500);
const AGAIN: Duration = Duration::from_millis(2);
/// Enough for the first line of a graph of about ten thousand tasks.
const LONGEST_HEAD: usize = 4 << 20;
const LARGEST_TABLE: u64 = 16 << 20;

/// The lock for writing the views: while it is held, no older board replaces a newer one.
pub struct ViewLock {
    _file: File,
}

impl Store {
    /// None if other processes hold the lock longer than this call waits.
    pub fn lock_views(&self) -> Result<Option<ViewLock>, StoreError> {
        let path = self.layout().lock_table().with_file_name("views.lock");
        // An agent may have put a pipe here, and in place of the files: liza does not wait for its other end.
        let open =
            || open_no_follow(&path, OpenOptions::new().write(true).create(true).truncate(false).mode(0o600));
        let file = match open() {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                path.parent().map_or(Ok(()), make_private_dir)?;
                open()
            }
            other => other,
        };
        let file = file.doing("open", &path)?;
        let until = Instant::now() + PATIENCE;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Some(ViewLock { _file: file })),
                Err(fs::TryLockError::WouldBlock) if Instant::now() < until => std::thread::sleep(AGAIN),
                Err(fs::TryLockError::WouldBlock) => return Ok(None),
                Err(fs::TryLockError::Error(error)) => return Err(error).doing("lock", &path),
            }
        }
    }

    /// The size of the graph's file, if there is one.
    pub fn graph_bytes(&self, id: &str) -> Option<u64> {
        fs::symlink_metadata(self.layout().graph(id)).ok().map(|meta| meta.len())
    }

    /// The first line of the graph's file, and the file; none if liza wrote no such file.
    pub fn graph_head(&self, id: &str, _: &ViewLock) -> Option<(FileHead, File)> {
        let mut file = open_plain(&self.layout().graph(id)).ok()?;
        let mut line = Vec::new();
        let mut part = [0_u8; 8192];
        while line.len() < LONGEST_HEAD {
            let count = file.read(&mut part).ok().filter(|count| *count > 0)?;
            match memchr::memchr(b'\n', &part[..count]) {
                Some(end) => {
                    line.extend_from_slice(&part[..=end]);
                    return Some((FileHead::read(String::from_utf8(line).ok()?)?, file));
                }
                None => line.extend_from_slice(&part[..count]),
            }
        }
        None
    }

    /// The work graph as a file.
    pub fn write_graph(&self, id: &str, text: &str, _: &ViewLock) -> Result<(), StoreError> {
        let path = self.layout().graph(id);
        path.parent().map_or(Ok(()), make_private_dir)?;
        replace_disposable_by(&path, |mut new| new.write_all(text.as_bytes()))
    }

    /// Writes the graph's file from parts of its old version and new text.
    pub fn patch_graph(
        &self,
        id: &str,
        old: &File,
        pieces: &[Piece],
        _: &ViewLock,
    ) -> Result<(), StoreError> {
        let path = self.layout().graph(id);
        replace_disposable_by(&path, |new| {
            pieces.iter().try_for_each(|piece| match piece {
                Piece::New(text) => (&*new).write_all(text.as_bytes()),
                Piece::Kept { from, length } => copy_range(old, *from as u64, *length as u64, new),
            })
        })
    }

    /// Removes the file of a graph that has another name now.
    pub fn remove_graph(&self, id: &str, _: &ViewLock) {
        let _ = fs::remove_file(self.layout().graph(id));
    }

    /// The table of locks as last written.
    pub fn lock_table(&self, _: &ViewLock) -> Option<Vec<u8>> {
        let file = open_plain(&self.layout().lock_table()).ok()?;
        let mut bytes = Vec::with_capacity(4096);
        file.take(LARGEST_TABLE).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }

    pub fn write_lock_table(&self, text: &str, _: &ViewLock) -> Result<(), StoreError> {
        replace_disposable_by(&self.layout().lock_table(), |mut new| new.write_all(text.as_bytes()))
    }
}

/// Copied inside the kernel where possible.
fn copy_range(old: &File, from: u64, length: u64, new: &File) -> std::io::Result<()> {
    let (mut at, end) = (from, from + length);
    #[cfg(target_os = "linux")]
    while at < end {
        let left = usize::try_from(end - at).unwrap_or(usize::MAX);
        match rustix::fs::copy_file_range(old, Some(&mut at), new, None, left) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => break,
        }
    }
    let mut buffer = vec![0_u8; usize::try_from((end - at).min(1 << 16)).unwrap_or(1 << 16)];
    while at < end {
        let left = buffer.len().min(usize::try_from(end - at).unwrap_or(usize::MAX));
        let count = std::os::unix::fs::FileExt::read_at(old, &mut buffer[..left], at)?;
        if count == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        (&*new).write_all(&buffer[..count])?;
        at += count as u64;
    }
    Ok(())
}
