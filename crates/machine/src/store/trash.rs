//! The trash: removed files stay here for a while. Only emptying the trash really deletes files.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::board::Wall;
use crate::host::crash;
use crate::host::place::{self, Place};

use super::error::{IoContext, StoreError};
use super::files::names_in;
use super::machine::Machine;

/// The file in a trash entry that names the original path.
pub const ORIGIN: &str = "origin";
/// The removed files, and git's record of them if they were a worktree.
pub const TREE: &str = "tree";
pub const RECORD: &str = "record";
/// Name prefix of an entry that is being deleted.
const GOING: &str = ".going-";

/// One trash entry.
#[derive(Debug, Serialize)]
pub struct Removed {
    pub name: String,
    #[serde(serialize_with = "crate::text::serialize_path")]
    pub path: PathBuf,
    /// The original path, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(serialize_with = "crate::text::serialize_path")]
    pub origin: Option<PathBuf>,
    pub kind: Kind,
    pub bytes: u64,
    /// When it was moved here, by the clock at that time.
    pub since: Wall,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Worktree,
    /// Git's half-made record of a worktree.
    Record,
    Files,
}

impl Kind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Worktree => "worktree",
            Self::Record => "record",
            Self::Files => "files",
        }
    }
}

impl Removed {
    /// How long it has been here. A clock that was set back makes it young, never old.
    pub fn age_seconds(&self, now: Wall) -> u64 {
        u64::try_from(now.since(self.since)).unwrap_or(0)
    }

    pub fn older_than(&self, days: u64, now: Wall) -> bool {
        // A time in the future comes from another clock: the age is unknown.
        now.0 >= self.since.0 && self.age_seconds(now) >= days.saturating_mul(86_400)
    }
}

impl Machine {
    /// Everything in the trash, by name.
    pub fn removed(&self) -> Result<Vec<Removed>, StoreError> {
        let dir = self.trash();
        let mut found = Vec::new();
        for name in names_in(dir).doing("read", dir)? {
            if name.starts_with(GOING) {
                continue;
            }
            let path = dir.join(&name);
            let meta = fs::symlink_metadata(&path).doing("look at", &path)?;
            let origin = crate::host::plain_text(&path.join(ORIGIN))
                .ok()
                .map(|text| PathBuf::from(text.trim_end_matches('\n')));
            let there = |part: &str| fs::symlink_metadata(path.join(part)).is_ok();
            let kind = match (there(TREE), there(RECORD)) {
                (true, true) => Kind::Worktree,
                (false, true) => Kind::Record,
                _ => Kind::Files,
            };
            // A moved file keeps its time of modification; the move sets its time of change.
            let since = Wall(meta.mtime().max(meta.ctime()));
            found.push(Removed { bytes: bytes_of(&path), since, name, path, origin, kind });
        }
        Ok(found)
    }

    /// Moves files into the trash and records their original path. Returns their new path.
    pub fn put_into_trash(&self, path: &Path, name: &str) -> Result<PathBuf, StoreError> {
        let trash = self.trash();
        place::make_directories(self.home(), trash).doing("make the directory", trash)?;
        let mut number = 0_u64;
        let bin = loop {
            let bin = trash.join(if number == 0 { name.to_owned() } else { format!("{name}~{number}") });
            match self.place(&bin)?.create_directory() {
                Ok(()) => break bin,
                Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(error).doing("make the directory", &bin),
            }
        };
        let origin = bin.join(ORIGIN);
        fs::write(&origin, format!("{}\n", path.display())).doing("write", &origin)?;
        let (from, to) = (self.place(path)?, self.place(&bin.join(TREE))?);
        from.move_to(&to).doing("move to the trash", path)?;
        Ok(bin)
    }

    /// Deletes a trash entry for good. Renames it first, so that a process that dies on the way leaves no half
    /// entry that looks complete.
    pub fn delete_removed(&self, removed: &Removed) -> Result<(), StoreError> {
        let going = self.trash().join(format!("{GOING}{}", removed.name));
        let place = self.place(&going)?;
        place.delete().doing("delete", &going)?;
        // Another process restored or deleted it meanwhile.
        if !self.place(&removed.path)?.move_to(&place).doing("delete", &removed.path)? {
            return Ok(());
        }
        crash::point("trash.going");
        place.delete().doing("delete", &going)
    }

    /// Moves files from the trash back to their original path below `base`; the path must be free.
    pub fn take_out_of_trash(&self, removed: &Removed, base: &Path, origin: &Path) -> Result<(), StoreError> {
        let tree = removed.path.join(TREE);
        let to = Place::at(base, origin).doing("move back to", origin)?;
        self.place(&tree)?.move_to(&to).doing("move back", &tree)?;
        let _ = fs::remove_file(removed.path.join(ORIGIN));
        self.place(&removed.path)?.remove_empty();
        Ok(())
    }

    /// A path of this machine's part of the board, opened as a [`Place`].
    fn place(&self, path: &Path) -> Result<Place, StoreError> {
        Place::at(self.home(), path).doing("reach", path)
    }

    /// Entries whose deletion was started and not finished.
    pub fn unfinished_deletions(&self) -> Result<Vec<PathBuf>, StoreError> {
        let dir = self.trash();
        let names = names_in(dir).doing("read", dir)?.into_iter().filter(|name| name.starts_with(GOING));
        Ok(names.map(|name| dir.join(name)).collect())
    }

    /// Finishes deletions that another process started and did not finish.
    pub fn finish_deletions(&self) -> Result<(), StoreError> {
        let dir = self.trash();
        for name in names_in(dir).doing("read", dir)?.into_iter().filter(|name| name.starts_with(GOING)) {
            let going = dir.join(name);
            self.place(&going)?.delete().doing("delete", &going)?;
        }
        Ok(())
    }
}

/// The disk space of a file or directory; links are not followed.
pub fn bytes_of(path: &Path) -> u64 {
    walkdir::WalkDir::new(path)
        .follow_links(false)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.metadata().ok())
        .map(|meta| meta.blocks() * 512)
        .sum()
}
