//! What a program waits for that does not end.

use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::plain::LARGEST_PLAIN;
use super::process::descendants_of;

/// Where the kernel holds a process that has opened a named pipe of which no process has opened the other end.
const FOR_PARTNER: &str = "wait_for_partner";
const LONGEST_PATH: u64 = 4096;

/// What keeps a program from its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Obstacle {
    /// It has opened a named pipe of which no process opens the other end; an empty path if the kernel does not show which.
    Pipe(PathBuf),
    /// It reads a file that is large and holds next to nothing.
    Hollow(PathBuf),
}

/// What keeps this process or one of its descendants, as far as the kernel shows it.
pub fn obstacle_of(pid: u32) -> Option<Obstacle> {
    std::iter::once(pid).chain(descendants_of(pid)).find_map(|pid| {
        let at = std::fs::read_to_string(format!("/proc/{pid}/wchan")).unwrap_or_default();
        if at.trim() == FOR_PARTNER {
            return Some(Obstacle::Pipe(opened_by(pid).unwrap_or_default()));
        }
        hollow_file_of(pid).map(Obstacle::Hollow)
    })
}

fn hollow_file_of(pid: u32) -> Option<PathBuf> {
    let is_hollow = |path: &PathBuf| {
        path.metadata().is_ok_and(|meta| {
            meta.is_file() && meta.len() > LARGEST_PLAIN && meta.blocks() * 512 < meta.len() / 100
        })
    };
    let open = std::fs::read_dir(format!("/proc/{pid}/fd")).ok()?.flatten().map(|entry| entry.path());
    open.filter(is_hollow).find_map(|path| std::fs::read_link(path).ok())
}

/// The named pipe among the arguments of the system call that a process is in.
fn opened_by(pid: u32) -> Option<PathBuf> {
    let call = std::fs::read_to_string(format!("/proc/{pid}/syscall")).ok()?;
    let arguments = call.split_whitespace().skip(1).take(3);
    let addresses = arguments.filter_map(|word| u64::from_str_radix(word.strip_prefix("0x")?, 16).ok());
    let here = std::fs::read_link(format!("/proc/{pid}/cwd")).ok()?;
    let is_pipe = |path: &PathBuf| path.metadata().is_ok_and(|meta| meta.file_type().is_fifo());
    addresses.filter_map(|address| text_at(pid, address)).map(|path| here.join(path)).find(is_pipe)
}

fn text_at(pid: u32, address: u64) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    let mut memory = std::fs::File::open(format!("/proc/{pid}/mem")).ok()?;
    memory.seek(SeekFrom::Start(address)).ok()?;
    let mut bytes = Vec::new();
    // The memory may end before: what was read so far counts.
    let _ = memory.take(LONGEST_PATH).read_to_end(&mut bytes);
    let end = bytes.iter().position(|byte| *byte == 0).filter(|end| *end > 0)?;
    Some(Path::new(std::ffi::OsStr::from_bytes(&bytes[..end])).to_owned())
}
