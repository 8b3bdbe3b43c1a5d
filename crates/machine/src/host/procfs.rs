//! Reads /proc by this program's own system calls.
//!
//! What is read here decides who the caller is. So no function of the C library, which a caller can replace
//! (`LD_PRELOAD`), is involved, names are bytes, and a file mounted over a part of /proc is not trusted.

use std::sync::OnceLock;

use rustix::fd::OwnedFd;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use crate::board::Hidden;

/// The pid of this process, as the kernel has it.
pub fn this_pid() -> u32 {
    rustix::process::getpid().as_raw_nonzero().get().unsigned_abs()
}

/// The kernel's first time namespace has this number on every machine.
#[cfg(target_os = "linux")]
const FIRST_TIME_NAMESPACE: &str = "time:[4026531834]";
#[cfg(target_os = "linux")]
const PROC_MAGIC: i64 = 0x9fa0;

/// /proc, opened once, if it is the kernel's and shows the pid namespace of this process.
pub(super) fn checked() -> Result<&'static Proc, Hidden> {
    static PROC: OnceLock<Result<Proc, Hidden>> = OnceLock::new();
    PROC.get_or_init(Proc::open).as_ref().map_err(|hidden| *hidden)
}

/// The id of this boot; none if it cannot be read from the kernel.
pub(super) fn boot_id() -> Option<&'static str> {
    checked().ok().map(|proc| proc.boot.as_str())
}

#[derive(Debug)]
pub(super) struct Proc {
    dir: OwnedFd,
    boot: String,
    /// The namespaces that decide what pids and start times mean.
    pub namespaces: String,
}

#[cfg(target_os = "linux")]
impl Proc {
    fn open() -> Result<Self, Hidden> {
        let dir = directory(CWD, "/proc", Hidden::Processes)?;
        let mut buffer = [0; 64];
        // In the /proc of another pid namespace this process has another pid, or none.
        let own = this_pid().to_string();
        if link(&dir, "self").as_ref() != Some(&own) {
            return Err(Hidden::Processes);
        }
        let random = directory(&dir, "sys/kernel/random", Hidden::Clock)?;
        let boot =
            read_in(&random, "boot_id", &mut buffer).map_err(|error| of_error(error, Hidden::Clock))?;
        let boot = std::str::from_utf8(boot).ok().map(|text| text.trim().to_owned());
        let boot = boot.filter(|boot| boot.len() == 36).ok_or(Hidden::Clock)?;
        let pid = link(&dir, &format!("{own}/ns/pid")).ok_or(Hidden::Processes)?;
        let time = match link_in(&dir, &format!("{own}/ns/time")) {
            Ok(time) if time == FIRST_TIME_NAMESPACE => Some(time),
            // Older kernels have no time namespaces.
            Err(Errno::NOENT) => None,
            _ => return Err(Hidden::Clock),
        };
        let namespaces = pid + &time.map_or(String::new(), |time| format!(" {time}"));
        Ok(Self { dir, boot, namespaces })
    }

    /// A small file of a process, in one read.
    pub fn read<'b>(&self, pid: u32, name: &str, buffer: &'b mut [u8]) -> Result<&'b [u8], Errno> {
        read_in(&self.dir, &format!("{pid}/{name}"), buffer)
    }
}

#[cfg(not(target_os = "linux"))]
impl Proc {
    fn open() -> Result<Self, Hidden> {
        Err(Hidden::Processes)
    }

    pub fn read<'b>(&self, _: u32, _: &str, _: &'b mut [u8]) -> Result<&'b [u8], Errno> {
        Err(Errno::NOENT)
    }
}

/// A directory of the kernel's own file system.
#[cfg(target_os = "linux")]
fn directory(at: impl rustix::fd::AsFd, name: &str, hidden: Hidden) -> Result<OwnedFd, Hidden> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let dir = rustix::fs::openat(at, name, flags, Mode::empty()).map_err(|error| of_error(error, hidden))?;
    let is_of_kernel = rustix::fs::fstatfs(&dir).is_ok_and(|found| found.f_type == PROC_MAGIC);
    if is_of_kernel { Ok(dir) } else { Err(hidden) }
}

/// What an error says about the hidden part.
#[cfg(target_os = "linux")]
fn of_error(error: Errno, hidden: Hidden) -> Hidden {
    if matches!(error, Errno::MFILE | Errno::NFILE | Errno::NOMEM) { Hidden::Unopened } else { hidden }
}

#[cfg(target_os = "linux")]
fn link(dir: &OwnedFd, name: &str) -> Option<String> {
    link_in(dir, name).ok()
}

/// The target of a kernel link, unless something is mounted over it.
#[cfg(target_os = "linux")]
fn link_in(dir: &OwnedFd, name: &str) -> Result<String, Errno> {
    let link = open_in(dir, name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC)?;
    rustix::fs::readlinkat(&link, "", Vec::new())?.into_string().map_err(|_| Errno::INVAL)
}

/// A small file in a directory of the kernel, unless something is mounted over it.
#[cfg(target_os = "linux")]
fn read_in<'b>(dir: &OwnedFd, name: &str, buffer: &'b mut [u8]) -> Result<&'b [u8], Errno> {
    let file = open_in(dir, name, OFlags::RDONLY | OFlags::CLOEXEC)?;
    let length = rustix::io::read(&file, &mut *buffer)?;
    buffer.get(..length).ok_or(Errno::INVAL)
}

#[cfg(target_os = "linux")]
fn open_in(dir: &OwnedFd, name: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
    let beneath = ResolveFlags::NO_XDEV | ResolveFlags::NO_SYMLINKS;
    match rustix::fs::openat2(dir, name, flags, Mode::empty(), beneath) {
        // An old kernel, or a container that does not know the call. A process can also forbid the call to itself.
        Err(Errno::NOSYS | Errno::PERM) => {
            let file = rustix::fs::openat(dir, name, flags, Mode::empty())?;
            let same = mount_of(dir).is_some_and(|mount| mount_of(&file) == Some(mount));
            if same || is_before_mount_ids() { Ok(file) } else { Err(Errno::XDEV) }
        }
        other => other,
    }
}

/// The number of the mount that an open file is reached by.
#[cfg(target_os = "linux")]
fn mount_of(file: &OwnedFd) -> Option<u64> {
    use rustix::fs::{AtFlags, StatxFlags};
    let found = rustix::fs::statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID).ok()?;
    (found.stx_mask & StatxFlags::MNT_ID.bits() != 0).then_some(found.stx_mnt_id)
}

/// Whether this kernel is older than the number of a mount (5.8). A release that cannot be read is no old one.
#[cfg(target_os = "linux")]
fn is_before_mount_ids() -> bool {
    let uname = rustix::system::uname();
    let release = uname.release().to_string_lossy();
    let mut numbers = release.split(['.', '-']).map_while(|part| part.parse::<u32>().ok());
    matches!((numbers.next(), numbers.next()), (Some(major), Some(minor)) if major > 0 && (major, minor) < (5, 8))
}
