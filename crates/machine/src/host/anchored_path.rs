//! Empties, moves and deletes directory trees; no other module does.
//!
//! An anchored path is a name in an open directory, never a path that is resolved again: liza opens the directories above
//! the name one by one, from a base that liza knows, and follows no link on the way. Trees may have any depth: no function
//! here recurses or builds paths. Long work shows its progress after a second, and SIGINT and SIGTERM end it as usual.

use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;

use super::progress::Progress;

mod copy;

const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Name prefix of a directory that was moved up to be deleted.
const DEEPER: &str = ".liza-going-";

/// A name in an open directory. Nothing of that name need exist.
#[derive(Debug)]
pub struct AnchoredPath {
    above: OwnedFd,
    name: OsString,
    /// For messages only.
    path: PathBuf,
}

/// The kind of an entry; links are not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Directory,
    File,
    Link,
    Other,
}

impl AnchoredPath {
    /// Opens `path`, which is below `base`. liza or a person chose `base`, so `base` may be reached through links; every
    /// component between `base` and the last name must be a directory.
    pub fn at(base: &Path, path: &Path) -> io::Result<Self> {
        let below = path.strip_prefix(base).map_err(|_| outside(base, path))?;
        let mut names = Vec::new();
        for part in below.components() {
            match part {
                Component::Normal(name) => names.push(name),
                _ => return Err(outside(base, path)),
            }
        }
        let name = names.pop().ok_or_else(|| outside(base, path))?.to_owned();
        let mut above = rustix::fs::open(base, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        for name in names {
            above = open_directory(&above, name).map_err(|error| not_a_directory(error, path, name))?;
        }
        Ok(Self { above, name, path: path.to_owned() })
    }

    /// The kind of the entry; none if there is no entry.
    pub fn kind(&self) -> io::Result<Option<Kind>> {
        match self.stat() {
            Ok(stat) => Ok(Some(match FileType::from_raw_mode(stat.st_mode) {
                FileType::Directory => Kind::Directory,
                FileType::RegularFile => Kind::File,
                FileType::Symlink => Kind::Link,
                _ => Kind::Other,
            })),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn stat(&self) -> rustix::io::Result<Stat> {
        rustix::fs::statat(&self.above, &self.name, AtFlags::SYMLINK_NOFOLLOW)
    }

    /// Makes a directory of this name that only this user may enter; the name must be free.
    pub fn create_directory(&self) -> io::Result<()> {
        Ok(rustix::fs::mkdirat(&self.above, &self.name, Mode::RWXU)?)
    }

    /// Removes an empty directory; false if it is not empty, missing or no directory.
    pub fn remove_empty(&self) -> bool {
        rustix::fs::unlinkat(&self.above, &self.name, AtFlags::REMOVEDIR).is_ok()
    }

    /// Deletes the entry: a file or link itself, a directory with its content. A missing entry is no error.
    pub fn delete(&self) -> io::Result<()> {
        match self.kind()? {
            None => Ok(()),
            Some(Kind::Directory) => self.delete_directory(),
            Some(_) => gone(rustix::fs::unlinkat(&self.above, &self.name, AtFlags::empty())),
        }
    }

    fn delete_directory(&self) -> io::Result<()> {
        if rustix::fs::unlinkat(&self.above, &self.name, AtFlags::REMOVEDIR).is_ok() {
            return Ok(());
        }
        let top = match open_to_delete(&self.above, &self.name) {
            Err(Errno::NOENT) => return Ok(()),
            opened => opened?,
        };
        Emptying::of(&top, &self.path).run()?;
        gone(rustix::fs::unlinkat(&self.above, &self.name, AtFlags::REMOVEDIR))
    }

    /// Renames the entry to `to`, which must be free. False if there is no entry; none if it cannot be renamed, because it belongs
    /// to a lower layer of an overlay.
    pub fn rename_to(&self, to: &AnchoredPath) -> io::Result<Option<bool>> {
        match rename_free(self, to) {
            Ok(()) => Ok(Some(true)),
            Err(Errno::NOENT) if matches!(self.stat(), Err(Errno::NOENT)) => Ok(Some(false)),
            Err(Errno::XDEV) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Moves the entry to `to`, which must be free. Across file systems, copies the entry and then deletes the original; a
    /// failed copy is deleted and the original stays. False if there is no entry.
    pub fn move_to(&self, to: &AnchoredPath) -> io::Result<bool> {
        match rename_free(self, to) {
            Ok(()) => Ok(true),
            Err(Errno::NOENT) if matches!(self.stat(), Err(Errno::NOENT)) => Ok(false),
            Err(Errno::XDEV) => {
                copy::copy(self, to).map_err(|error| {
                    let _ = to.delete();
                    let to = to.path.display();
                    io::Error::new(
                        error.kind(),
                        format!("cannot copy it to the file system of {to}: {error}"),
                    )
                })?;
                self.delete()?;
                Ok(true)
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// What is below a directory, as paths relative to the base.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct FilesBelow {
    pub files: Vec<String>,
    pub links: Vec<String>,
    /// What could not be listed: the path, lossy, and why.
    pub left_out: Vec<(String, String)>,
}

/// What is below a directory of `base`, which may be the directory of another repository; enters the directories that
/// `enter` accepts, and looks at `most` entries.
pub fn files_below(base: &Path, dir: &Path, most: usize, enter: impl Fn(&str) -> bool) -> FilesBelow {
    let mut found = FilesBelow::default();
    let mut waiting = vec![dir.to_owned()];
    let mut seen = 0;
    while let Some(dir) = waiting.pop() {
        let opened = AnchoredPath::at(base, &base.join(&dir))
            .and_then(|anchored| Ok(open_directory(&anchored.above, &anchored.name)?));
        let named = dir.to_string_lossy().into_owned();
        let entries = match opened.and_then(|handle| entries(&handle)) {
            Ok(entries) => entries,
            Err(error) => {
                found.left_out.push((named, format!("it cannot be read: {error}")));
                continue;
            }
        };
        if entries.iter().any(|(name, _)| name.as_bytes() == b".git") {
            found.left_out.push((named, "it is a separate repository".to_owned()));
            continue;
        }
        for (name, kind) in entries {
            seen += 1;
            if seen > most {
                found.left_out.push((named, format!("more than {most} entries are ignored")));
                waiting.clear();
                break;
            }
            let path = dir.join(OsStr::from_bytes(name.as_bytes()));
            let Some(text) = path.to_str() else {
                found
                    .left_out
                    .push((path.to_string_lossy().into_owned(), "its name is not UTF-8".to_owned()));
                continue;
            };
            match kind {
                FileType::Directory if !enter(text) => {}
                FileType::Directory => waiting.push(path),
                FileType::RegularFile => found.files.push(text.to_owned()),
                FileType::Symlink => found.links.push(text.to_owned()),
                // Pipes and sockets hold nothing.
                _ => {}
            }
        }
    }
    found.files.sort();
    found.links.sort();
    found
}

/// The first link on the way from `base`, which liza or a person chose, to one of these names below it; the last part
/// counts too. None if there is none, or if the way ends before.
pub fn first_link(base: &Path, names: &[&Path]) -> Option<PathBuf> {
    let handle = rustix::fs::open(base, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
    names.iter().find_map(|name| match handle.as_ref().map(|handle| open_without_links(handle, name)) {
        Ok(Ok(_) | Err(Errno::NOENT | Errno::NOTDIR)) => None,
        // A link, or a kernel that cannot say: look at each part.
        _ => {
            let parts: Vec<&Path> = name.ancestors().collect();
            parts.into_iter().rev().map(|part| base.join(part)).find(|path| path != base && path.is_symlink())
        }
    })
}

#[cfg(target_os = "linux")]
fn open_without_links(base: &OwnedFd, name: &Path) -> rustix::io::Result<OwnedFd> {
    use rustix::fs::ResolveFlags;
    rustix::fs::openat2(base, name, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), ResolveFlags::NO_SYMLINKS)
}

#[cfg(not(target_os = "linux"))]
fn open_without_links(_: &OwnedFd, _: &Path) -> rustix::io::Result<OwnedFd> {
    Err(Errno::NOSYS)
}

/// Links below a directory of `base`; looks at no more than `most` entries times a hundred.
pub fn links_below(base: &Path, dir: &Path, most: usize) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![base.join(dir)];
    let mut left = most * 100;
    while let Some(path) = waiting.pop() {
        let Ok(place) = AnchoredPath::at(base, &path) else { continue };
        let Ok(handle) = open_directory(&place.above, &place.name) else { continue };
        for (name, kind) in entries(&handle).unwrap_or_default() {
            left = left.saturating_sub(1);
            if left == 0 || found.len() == most {
                return found;
            }
            let path = path.join(OsStr::from_bytes(name.as_bytes()));
            match kind {
                FileType::Directory => waiting.push(path),
                FileType::Symlink => found.push(path),
                _ => {}
            }
        }
    }
    found
}

/// A new, empty file that only this user may read, whatever was at this path. A link there is replaced, not followed,
/// and a file that has another name too is left to that name.
pub fn new_file(path: &Path) -> io::Result<std::fs::File> {
    use std::os::unix::fs::OpenOptionsExt;
    let create = || std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    match create() {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            std::fs::remove_file(path)?;
            create()
        }
        made => made,
    }
}

/// Makes the missing directories of `path` below `base`; only this user may enter them. A link on the way is an
/// error.
pub fn make_directories(base: &Path, path: &Path) -> io::Result<()> {
    let below = path.strip_prefix(base).map_err(|_| outside(base, path))?;
    let whole = rustix::fs::open(base, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        .and_then(|base| open_without_links(&base, below))
        .and_then(rustix::fs::fstat);
    if whole.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory) {
        return Ok(());
    }
    let mut here = base.to_owned();
    for part in below.components() {
        here.push(part);
        let anchored = AnchoredPath::at(base, &here)?;
        match anchored.create_directory() {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                if anchored.kind()? != Some(Kind::Directory) {
                    return Err(not_a_directory(Errno::NOTDIR, path, &anchored.name));
                }
            }
            made => made?,
        }
    }
    Ok(())
}

/// A directory of this process alone, deleted on drop.
#[derive(Debug)]
pub struct Temporary {
    base: PathBuf,
    path: PathBuf,
    kept: bool,
}

impl Temporary {
    /// A new directory in `base` whose name begins with `prefix`.
    pub fn new(base: &Path, prefix: &str) -> io::Result<Self> {
        for _ in 0..64 {
            let secret = super::secret().map_err(io::Error::other)?;
            let path = base.join(format!("{prefix}{}", &secret[..12]));
            match AnchoredPath::at(base, &path)?.create_directory() {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => return made.map(|()| Self { base: base.to_owned(), path, kept: false }),
            }
        }
        Err(io::Error::new(io::ErrorKind::AlreadyExists, "could not generate an unused name"))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps the directory and returns its path.
    pub fn keep(mut self) -> PathBuf {
        self.kept = true;
        self.path.clone()
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.kept {
            let _ = AnchoredPath::at(&self.base, &self.path).and_then(|path| path.delete());
        }
    }
}

/// Makes a name point to another file. ext4 writes a file out at once when it is renamed over another one, but not when
/// both are exchanged: files that may be lost in a power cut need not wait for that.
pub fn exchange_files(new: &Path, path: &Path) -> std::io::Result<()> {
    #[cfg(target_os = "linux")]
    if rustix::fs::renameat_with(
        rustix::fs::CWD,
        new,
        rustix::fs::CWD,
        path,
        rustix::fs::RenameFlags::EXCHANGE,
    )
    .is_ok()
    {
        return Ok(());
    }
    std::fs::rename(new, path)
}

/// `renameat2` that replaces nothing; if the kernel or file system cannot do that, checks first.
fn rename_free(from: &AnchoredPath, to: &AnchoredPath) -> rustix::io::Result<()> {
    #[cfg(target_os = "linux")]
    match rustix::fs::renameat_with(&from.above, &from.name, &to.above, &to.name, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS) => {}
        done => return done,
    }
    if to.stat().is_ok() {
        return Err(Errno::EXIST);
    }
    rustix::fs::renameat(&from.above, &from.name, &to.above, &to.name)
}

/// Opens a directory by its name in another one; a link or mount point is an error.
fn open_directory(above: impl AsFd, name: &OsStr) -> rustix::io::Result<OwnedFd> {
    rustix::fs::openat(above, name, DIRECTORY, Mode::empty())
}

/// The same for deletion: does not enter another file system, and makes an unreadable directory readable.
fn open_to_delete(above: impl AsFd, name: &OsStr) -> rustix::io::Result<OwnedFd> {
    let open = || {
        #[cfg(target_os = "linux")]
        {
            use rustix::fs::ResolveFlags;
            let within = ResolveFlags::NO_XDEV | ResolveFlags::NO_SYMLINKS | ResolveFlags::BENEATH;
            match rustix::fs::openat2(above.as_fd(), name, DIRECTORY, Mode::empty(), within) {
                Err(Errno::NOSYS | Errno::PERM | Errno::AGAIN) => {}
                opened => return opened,
            }
        }
        open_directory(above.as_fd(), name)
    };
    match open() {
        Err(Errno::ACCESS) => {
            make_writable(above.as_fd(), name)?;
            open()
        }
        opened => opened,
    }
}

/// Gives the owner all permissions on a directory without following a link: through a handle that the kernel names.
fn make_writable(above: impl AsFd, name: &OsStr) -> rustix::io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use std::os::fd::AsRawFd;
        let handle = rustix::fs::openat(
            above,
            name,
            OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC,
            Mode::empty(),
        )?;
        let named = format!("/proc/self/fd/{}", handle.as_raw_fd());
        rustix::fs::chmod(named.as_str(), Mode::RWXU)
    }
    #[cfg(not(target_os = "linux"))]
    rustix::fs::chmodat(above, name, Mode::RWXU, AtFlags::SYMLINK_NOFOLLOW)
}

/// Empties a directory of any depth with three open handles: a nested directory is first moved up to the top, so that
/// no stack and no path is needed.
struct Emptying<'a> {
    top: &'a OwnedFd,
    path: &'a Path,
    progress: Progress,
    deleted: u64,
    moved: u64,
}

impl<'a> Emptying<'a> {
    fn of(top: &'a OwnedFd, path: &'a Path) -> Self {
        Self { top, path, progress: Progress::default(), deleted: 0, moved: 0 }
    }

    fn run(mut self) -> io::Result<()> {
        let mut was_denied = false;
        loop {
            let names = entries(self.top)?;
            if names.is_empty() {
                return Ok(());
            }
            let before = self.deleted;
            for (name, kind) in names {
                match self.remove_from_top(&name, kind) {
                    Err(error) if error.kind() == io::ErrorKind::PermissionDenied && !was_denied => {
                        was_denied = true;
                        rustix::fs::fchmod(self.top, Mode::RWXU)?;
                        self.remove_from_top(&name, kind)?;
                    }
                    removed => removed?,
                }
            }
            // A process that keeps writing there must not block this one for ever.
            if self.deleted == before {
                return Err(io::Error::other("a process keeps writing into it"));
            }
        }
    }

    fn remove_from_top(&mut self, name: &CString, kind: FileType) -> io::Result<()> {
        let name = OsStr::from_bytes(name.as_bytes());
        if kind != FileType::Directory {
            return self.unlink(self.top.as_fd(), name);
        }
        if rustix::fs::unlinkat(self.top, name, AtFlags::REMOVEDIR).is_ok() {
            self.count();
            return Ok(());
        }
        let inside = match open_to_delete(self.top, name) {
            Err(Errno::NOENT) => return Ok(()),
            Err(Errno::XDEV) => return Err(mounted(name)),
            opened => opened?,
        };
        self.empty_one(&inside)?;
        match rustix::fs::unlinkat(self.top, name, AtFlags::REMOVEDIR) {
            // Filled again meanwhile: the next pass empties it.
            Err(Errno::NOTEMPTY | Errno::EXIST) => {}
            Err(Errno::BUSY) => return Err(mounted(name)),
            removed => gone(removed)?,
        }
        self.count();
        Ok(())
    }

    /// Deletes the entries directly in a directory, and moves non-empty directories to the top.
    fn empty_one(&mut self, inside: &OwnedFd) -> io::Result<()> {
        let _ = rustix::fs::fchmod(inside, Mode::RWXU);
        for (name, kind) in entries(inside)? {
            let name = OsStr::from_bytes(name.as_bytes());
            if kind != FileType::Directory {
                self.unlink(inside.as_fd(), name)?;
                continue;
            }
            if rustix::fs::unlinkat(inside, name, AtFlags::REMOVEDIR).is_ok() {
                self.count();
                continue;
            }
            self.move_up(inside, name)?;
        }
        Ok(())
    }

    fn move_up(&mut self, inside: &OwnedFd, name: &OsStr) -> io::Result<()> {
        let mut was_denied = false;
        loop {
            self.moved += 1;
            let new = format!("{DEEPER}{}", self.moved);
            let taken = rustix::fs::statat(self.top, new.as_str(), AtFlags::SYMLINK_NOFOLLOW).is_ok();
            if taken {
                continue;
            }
            match rustix::fs::renameat(inside, name, self.top, new.as_str()) {
                Err(Errno::ACCESS | Errno::PERM) if !was_denied => {
                    was_denied = true;
                    // Moving a directory changes its `..`, for which it must be writable.
                    make_writable(inside, name)?;
                }
                Err(Errno::XDEV | Errno::BUSY) => return Err(mounted(name)),
                renamed => return gone(renamed),
            }
        }
    }

    fn unlink(&mut self, above: impl AsFd, name: &OsStr) -> io::Result<()> {
        match rustix::fs::unlinkat(above, name, AtFlags::empty()) {
            Err(Errno::BUSY) => return Err(mounted(name)),
            // It became a directory meanwhile: the next pass deletes it.
            Err(Errno::ISDIR) => {}
            removed => gone(removed)?,
        }
        self.count();
        Ok(())
    }

    fn count(&mut self) {
        self.deleted += 1;
        if self.deleted.is_multiple_of(256) {
            let (path, deleted) = (self.path, self.deleted);
            self.progress
                .tick(|| format!("deleting {}: {deleted} files and directories so far", path.display()));
        }
    }
}

/// The names in a directory with their kinds, all read at once.
fn entries(dir: &OwnedFd) -> io::Result<Vec<(CString, FileType)>> {
    let mut found = Vec::new();
    for entry in Dir::read_from(dir)? {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let kind = match entry.file_type() {
            FileType::Unknown => {
                let stat = rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
                FileType::from_raw_mode(stat.st_mode)
            }
            known => known,
        };
        found.push((name.to_owned(), kind));
    }
    Ok(found)
}

/// Success if the entry is gone: another process was faster, or this one removed it.
fn gone(removed: rustix::io::Result<()>) -> io::Result<()> {
    match removed {
        Err(Errno::NOENT) => Ok(()),
        other => Ok(other?),
    }
}

fn mounted(name: &OsStr) -> io::Error {
    let name = name.to_string_lossy();
    io::Error::new(
        io::ErrorKind::ResourceBusy,
        format!("another file system is mounted in it, at `{name}`; unmount that first"),
    )
}

fn outside(base: &Path, path: &Path) -> io::Error {
    let (base, path) = (base.display(), path.display());
    io::Error::new(io::ErrorKind::InvalidInput, format!("{path} is not below {base}"))
}

fn not_a_directory(error: Errno, path: &Path, name: &OsStr) -> io::Error {
    match error {
        Errno::LOOP | Errno::NOTDIR => {
            let (path, name) = (path.display(), name.to_string_lossy());
            let text = format!("`{name}` in {path} is a link or a file, not the directory that liza made");
            io::Error::new(io::ErrorKind::NotADirectory, text)
        }
        other => other.into(),
    }
}

#[cfg(test)]
mod tests;
