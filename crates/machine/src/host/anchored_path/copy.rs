//! Copying a tree to another file system: any depth, holes stay holes, links are copied as links.

use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, SeekFrom, Stat, Timestamps};
use rustix::io::Errno;

use super::{AnchoredPath, DIRECTORY, entries, open_directory};
use crate::host::progress::Progress;

/// This many levels keep their handles; directories above them are opened again from below.
const OPEN_LEVELS: usize = 64;

struct Level {
    /// Source and target; closed while the work is far below.
    open: Option<(OwnedFd, OwnedFd)>,
    stat: Stat,
    to_stat: Stat,
    left: Vec<(CString, FileType)>,
}

pub(super) fn copy(from: &AnchoredPath, to: &AnchoredPath) -> io::Result<()> {
    let stat = from.stat()?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
        return copy_one(from.above.as_fd(), &from.name, to.above.as_fd(), &to.name, &stat);
    }
    let source = open_directory(&from.above, &from.name)?;
    rustix::fs::mkdirat(&to.above, &to.name, Mode::RWXU)?;
    let target = open_directory(&to.above, &to.name)?;
    let mut progress = Progress::default();
    let mut copied = 0_u64;
    let mut stack = vec![Level::of(source, target)?];
    while let Some(level) = stack.last_mut() {
        let Some((source, target)) = &level.open else {
            return Err(io::Error::other("a directory was closed too early"));
        };
        let Some((name, kind)) = level.left.pop() else {
            finish(target, &level.stat)?;
            climb(&mut stack)?;
            continue;
        };
        copied += 1;
        if copied.is_multiple_of(64) {
            progress.tick(|| {
                format!(
                    "copying {} to another file system: {copied} files and directories so far",
                    from.path.display()
                )
            });
        }
        if kind == FileType::Directory {
            let source = rustix::fs::openat(source, &name, DIRECTORY, Mode::empty())?;
            rustix::fs::mkdirat(target, &name, Mode::RWXU)?;
            let target = rustix::fs::openat(target, &name, DIRECTORY, Mode::empty())?;
            stack.push(Level::of(source, target)?);
            let depth = stack.len();
            if depth > OPEN_LEVELS {
                stack[depth - OPEN_LEVELS].open = None;
            }
            continue;
        }
        let stat = rustix::fs::statat(source, &name, AtFlags::SYMLINK_NOFOLLOW)?;
        let name = OsStr::from_bytes(name.as_bytes());
        copy_one(source.as_fd(), name, target.as_fd(), name, &stat)?;
    }
    Ok(())
}

impl Level {
    fn of(source: OwnedFd, target: OwnedFd) -> io::Result<Self> {
        let (stat, to_stat) = (rustix::fs::fstat(&source)?, rustix::fs::fstat(&target)?);
        let left = entries(&source)?;
        Ok(Self { open: Some((source, target)), stat, to_stat, left })
    }
}

/// Leaves the lowest level; reopens the one above from it if that was closed.
fn climb(stack: &mut Vec<Level>) -> io::Result<()> {
    let Some(done) = stack.pop() else { return Ok(()) };
    let Some(above) = stack.last_mut().filter(|above| above.open.is_none()) else { return Ok(()) };
    let Some((source, target)) = done.open else { return Ok(()) };
    let source = rustix::fs::openat(&source, "..", DIRECTORY, Mode::empty())?;
    let target = rustix::fs::openat(&target, "..", DIRECTORY, Mode::empty())?;
    let same = |handle: &OwnedFd, then: &Stat| {
        rustix::fs::fstat(handle).is_ok_and(|now| (now.st_dev, now.st_ino) == (then.st_dev, then.st_ino))
    };
    if !same(&source, &above.stat) || !same(&target, &above.to_stat) {
        return Err(io::Error::other("a directory was moved while it was copied"));
    }
    above.open = Some((source, target));
    Ok(())
}

/// Sets permissions and times, once the content is complete.
fn finish(target: &OwnedFd, stat: &Stat) -> io::Result<()> {
    rustix::fs::fchmod(target, Mode::from_raw_mode(stat.st_mode))?;
    Ok(rustix::fs::futimens(target, &times(stat))?)
}

fn times(stat: &Stat) -> Timestamps {
    let time = |seconds, nanoseconds| rustix::fs::Timespec { tv_sec: seconds, tv_nsec: nanoseconds };
    Timestamps {
        last_access: time(stat.st_atime as _, stat.st_atime_nsec as _),
        last_modification: time(stat.st_mtime as _, stat.st_mtime_nsec as _),
    }
}

/// Copies anything but a directory. Sockets and devices hold no data and are left out.
fn copy_one(from: impl AsFd, name: &OsStr, to: impl AsFd, new: &OsStr, stat: &Stat) -> io::Result<()> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Symlink => {
            let target = rustix::fs::readlinkat(&from, name, Vec::new())?;
            Ok(rustix::fs::symlinkat(&target, &to, new)?)
        }
        FileType::Fifo => {
            Ok(rustix::fs::mknodat(&to, new, FileType::Fifo, Mode::from_raw_mode(stat.st_mode), 0)?)
        }
        FileType::RegularFile => {
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let source = rustix::fs::openat(&from, name, flags, Mode::empty())?;
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let target = rustix::fs::openat(&to, new, flags, Mode::RUSR | Mode::WUSR)?;
            copy_data(&source, &target, stat.st_size.try_into().unwrap_or(0))?;
            finish(&target, stat)
        }
        _ => Ok(()),
    }
}

/// Copies the data of a file; a hole costs nothing on either side.
fn copy_data(source: &OwnedFd, target: &OwnedFd, length: u64) -> io::Result<()> {
    rustix::fs::ftruncate(target, length)?;
    let (mut reader, mut writer) = (File::from(source.try_clone()?), File::from(target.try_clone()?));
    let mut at = 0;
    while at < length {
        let (start, end) = match rustix::fs::seek(source, SeekFrom::Data(at)) {
            Ok(start) => (start, rustix::fs::seek(source, SeekFrom::Hole(start))?),
            // Only a hole is left.
            Err(Errno::NXIO) => return Ok(()),
            Err(Errno::INVAL) => (at, length),
            Err(error) => return Err(error.into()),
        };
        rustix::fs::seek(source, SeekFrom::Start(start))?;
        rustix::fs::seek(target, SeekFrom::Start(start))?;
        io::copy(&mut io::Read::take(&mut reader, end - start), &mut writer)?;
        at = end;
    }
    Ok(())
}
