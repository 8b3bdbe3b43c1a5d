//! A worktree that is liza's alone: brought to a commit again and again, without the user's hooks, and looked at in a way
//! that its settings cannot deceive.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::checkouts;
use super::command::{Git, GitError};
use super::content;
use super::locks;
use super::repo::Repo;
use crate::board::CommitId;

/// What is in such a worktree now. Files that git does not track do not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Look {
    pub head: CommitId,
    /// Tracked files that are not as HEAD has them.
    pub changed: Vec<String>,
    /// Tracked files that somebody told git not to look at.
    pub hidden: Vec<String>,
}

/// Settings that decide what is checked out and what counts as changed are not left to the repository.
pub(super) fn settled(git: Git) -> Git {
    git.config("core.hooksPath=/dev/null")
        .config("core.sparseCheckout=false")
        .config("core.trustctime=true")
        .config("core.checkStat=default")
        .config("core.ignoreStat=false")
        .config("submodule.recurse=false")
        .config("advice.detachedHead=false")
}

/// Whether it can be used again, after the locks of a dead git are taken away.
pub fn check_usable(repo: &Repo, path: &Path) -> Result<bool, GitError> {
    if checkouts::check_sound(repo, path).is_err() {
        return Ok(false);
    }
    let records = checkouts::recorded_at(repo, path)?;
    let [record] = &records[..] else { return Ok(false) };
    locks::clear_dead(path, &record.admin_dir);
    Ok(!record.admin_dir.join("index.lock").exists())
}

/// Brings every tracked file to what the commit has; only those that differ are written.
pub fn put_at(path: &Path, commit: &CommitId) -> Result<(), GitError> {
    settled(Git::acting(path, "checkout"))
        .args(["--quiet", "--force", "--detach"])
        .end_of_options()
        .arg(commit.as_str())
        .run()?;
    Ok(())
}

/// Removes what git does not track, ignored files and repositories inside too, except the directories in `keep`.
pub fn clean(path: &Path, keep: &[String]) -> Result<(), GitError> {
    let mut git = settled(Git::acting(path, "clean")).args(["--quiet", "-ffdx"]);
    for dir in keep {
        // A name, from the top of the tree, and no pattern.
        let escaped: String = dir.trim_matches('/').chars().fold(String::new(), |mut text, c| {
            if "*?[]\\!# ".contains(c) {
                text.push('\\');
            }
            text.push(c);
            text
        });
        git = git.arg(format!("--exclude=/{escaped}"));
    }
    git.run()?;
    Ok(())
}

pub fn look(path: &Path) -> Result<Look, GitError> {
    let head = content::head(path)?;
    let listed = settled(Git::reading(path, "ls-files")).args(["-v", "-z"]).run()?;
    let text = |path: &[u8]| String::from_utf8_lossy(path).into_owned();
    let entries = listed.split(|byte| *byte == 0);
    let hidden = entries.filter_map(|entry| match entry {
        [tag, b' ', path @ ..] if *tag == b'S' || tag.is_ascii_lowercase() => Some(text(path)),
        _ => None,
    });
    let hidden = hidden.collect();
    let status = settled(Git::reading(path, "status"))
        .args(["--porcelain=v1", "-z", "--no-renames", "--untracked-files=no"])
        .arg("--ignore-submodules=untracked")
        .run()?;
    let changed = status.split(|byte| *byte == 0).filter_map(|entry| entry.get(3..).map(text)).collect();
    Ok(Look { head, changed, hidden })
}

/// Whether a path relative to `root` stays inside of it once links are followed, as far as it is there.
pub fn leads_inside(root: &Path, relative: &Path) -> bool {
    let plain = relative.components().all(|part| matches!(part, std::path::Component::Normal(_)));
    if !plain || relative.as_os_str().as_bytes().is_empty() {
        return false;
    }
    let mut at = root.to_owned();
    relative.components().all(|part| {
        at.push(part);
        !at.symlink_metadata().is_ok_and(|meta| meta.file_type().is_symlink())
    })
}
