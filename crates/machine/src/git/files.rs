//! The files of a repository that git and libgit2 read whole by name, without checking their type. A process of this
//! user may have replaced one by a pipe, a device or a file without end: then git would never answer.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::prelude::*;
use crate::host::{LARGEST_PLAIN, anchored_path};

const OF_REPOSITORY: [&str; 9] = [
    "HEAD",
    "config",
    "config.worktree",
    "packed-refs",
    "shallow",
    "info/grafts",
    "info/exclude",
    "info/attributes",
    "objects/info/alternates",
];
const OF_CHECKOUT: [&str; 4] = ["HEAD", "index", "logs", "logs/HEAD"];
/// These files grow with the number of names: many millions at most.
const MAY_BE_LARGE: [&str; 2] = ["packed-refs", "index"];
const LARGEST_LIST: u64 = 2 * 1024 * 1024 * 1024;

/// How long a check stays valid: one command starts git several times.
const GOOD_FOR: Duration = Duration::from_secs(1);
static CHECKED: Mutex<Option<(PathBuf, Instant)>> = Mutex::new(None);

/// Refuses a common directory with a file that git cannot read to its end.
pub(super) fn check_repository(common_dir: &Path) -> Result<(), String> {
    let mut checked = CHECKED.lock().unwrap_or_else(PoisonError::into_inner);
    if checked.as_ref().is_some_and(|(dir, at)| dir == common_dir && at.elapsed() < GOOD_FOR) {
        return Ok(());
    }
    check(common_dir, &OF_REPOSITORY)?;
    *checked = Some((common_dir.to_owned(), Instant::now()));
    Ok(())
}

/// The same for git's directory of a linked worktree. Links are refused there: git would write to their targets.
pub(super) fn check_checkout(git_dir: &Path) -> Result<(), String> {
    if let Some(link) = anchored_path::first_link(git_dir, &OF_CHECKOUT.map(Path::new)) {
        return Err(format!("`{}` is a link, and git would write where it leads; remove it", link.display()));
    }
    check(git_dir, &OF_CHECKOUT[..2])
}

/// The same of a record of a worktree that liza did not make.
pub(super) fn check_record(admin_dir: &Path) -> Result<(), String> {
    check(admin_dir, &["gitdir", "commondir", "HEAD"])
}

fn check(dir: &Path, names: &[&str]) -> Result<(), String> {
    for name in names {
        let path = dir.join(name);
        let Ok(meta) = path.metadata() else { continue };
        if !meta.is_file() {
            return Err(format!(
                "`{}` is not a regular file, and git would block on it; remove it",
                path.display()
            ));
        }
        if meta.len() > if MAY_BE_LARGE.contains(name) { LARGEST_LIST } else { LARGEST_PLAIN } {
            let bytes = meta.len();
            return Err(format!(
                "`{}` is {bytes} bytes long, and git would read it all; remove it",
                path.display()
            ));
        }
    }
    Ok(())
}

/// The deepest name of a ref.
const DEEPEST: usize = 64;

/// The same for the files of refs: this one, or all below this prefix.
pub(super) fn check_refs(common_dir: &Path, prefix: &str) -> Result<(), String> {
    let path = common_dir.join(prefix);
    match path.symlink_metadata() {
        Ok(meta) => check_ref(&path, &meta, DEEPEST),
        Err(_) => Ok(()),
    }
}

fn check_ref(path: &Path, meta: &fs::Metadata, deeper: usize) -> Result<(), String> {
    let kind = meta.file_type();
    if kind.is_file() && meta.len() > LARGEST_PLAIN {
        let bytes = meta.len();
        return Err(format!(
            "`{}` is {bytes} bytes long, and git would read it all; remove it",
            path.display()
        ));
    }
    if kind.is_dir() && deeper > 0 {
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            if let Ok(meta) = entry.metadata() {
                check_ref(&entry.path(), &meta, deeper - 1)?;
            }
        }
        return Ok(());
    }
    // Git reads the target of a link; the code that uses the ref reports the link itself.
    let leads_to_file = || path.metadata().map_or(true, |meta| meta.is_file() || meta.is_dir());
    if kind.is_file() || (kind.is_symlink() && leads_to_file()) {
        return Ok(());
    }
    Err(format!("`{}` is not a regular file, and git would block on it; remove it", path.display()))
}
