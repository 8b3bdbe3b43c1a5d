//! Lock files that a killed git leaves behind, and whether a process still needs them.
//!
//! Git makes `NAME.lock`, fills it and renames it over `NAME`. It may close the file and continue for long, in a hook
//! or an editor, so a lock that no process has open may still be in use: its owner is gone only when no git can be
//! working here.

use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use super::checkouts::{self, Checkout};
use super::prelude::*;

/// An existing lock file.
#[derive(Debug)]
pub struct LockFile {
    pub path: PathBuf,
    /// Its age; none if its time is in the future.
    pub age: Option<Duration>,
    identity: (u64, u64, i64, i64),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holder {
    /// A process that has the file open, or a git at work in this repository.
    Process { pid: u32, name: String },
    /// No process needs it.
    Free,
    /// Processes cannot be listed here.
    Unknown,
}

impl LockFile {
    fn at(path: &Path) -> Option<Self> {
        let meta = fs::symlink_metadata(path).ok()?;
        Some(Self {
            path: path.to_owned(),
            age: meta.modified().ok()?.elapsed().ok(),
            identity: (meta.dev(), meta.ino(), meta.mtime(), meta.mtime_nsec()),
        })
    }

    /// Whether exactly the same file still exists.
    pub fn still_there(&self) -> bool {
        Self::at(&self.path).is_some_and(|now| now.identity == self.identity)
    }

    pub fn holder(&self, repo: &Repo) -> Holder {
        let Ok(processes) = fs::read_dir("/proc") else { return Holder::Unknown };
        for process in processes.flatten() {
            let path = process.path();
            let Some(pid) = process.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
            if has_open(&path, self.identity) || is_git_here(&path, repo) {
                let name = fs::read_to_string(path.join("comm")).unwrap_or_default().trim().to_owned();
                return Holder::Process { pid, name };
            }
        }
        Holder::Free
    }
}

fn has_open(process: &Path, identity: (u64, u64, i64, i64)) -> bool {
    fs::read_dir(process.join("fd")).into_iter().flatten().flatten().any(|file| {
        fs::metadata(file.path()).is_ok_and(|meta| (meta.dev(), meta.ino()) == (identity.0, identity.1))
    })
}

/// Whether every process of this machine can be seen. In a container those outside cannot.
pub fn sees_every_process() -> bool {
    /// The kernel's number for the first namespace of process ids.
    const FIRST: &str = "pid:[4026531836]";
    fs::read_link("/proc/self/ns/pid").is_ok_and(|link| link == Path::new(FIRST))
}

/// Whether a git runs in this repository; true if processes cannot be listed.
pub fn git_at_work(repo: &Repo) -> bool {
    let Ok(processes) = fs::read_dir("/proc") else { return true };
    processes.flatten().any(|process| is_git_here(&process.path(), repo))
}

/// Removes the locks that a killed git left on one worktree; otherwise no agent could commit there again. A lock that
/// is open, or that a running git may own, is left alone.
pub fn clear_dead(worktree: &Path, admin_dir: &Path) {
    let standing: Vec<LockFile> =
        locks_in(admin_dir, false).iter().filter_map(|path| LockFile::at(path)).collect();
    if standing.is_empty() {
        return;
    }
    let Ok(processes) = fs::read_dir("/proc") else { return };
    let processes: Vec<PathBuf> = processes.flatten().map(|process| process.path()).collect();
    if processes.iter().any(|process| is_git_at(process, &[worktree, admin_dir])) {
        return;
    }
    for lock in standing {
        if !processes.iter().any(|process| has_open(process, lock.identity)) && lock.still_there() {
            let _ = fs::remove_file(&lock.path);
        }
    }
}

/// Removes a lock that a killed git of liza's left. One that a process has open, or that a running git may own, is left alone.
pub fn clear_if_free(path: &Path, repo: &Repo) {
    let Some(lock) = LockFile::at(path) else { return };
    if lock.holder(repo) == Holder::Free && lock.still_there() {
        let _ = fs::remove_file(path);
    }
}

fn is_git_here(process: &Path, repo: &Repo) -> bool {
    if !is_git(process) {
        return false;
    }
    // A worktree may be anywhere. If they cannot be listed, any git may work in one.
    let Ok(checkouts) = checkouts::list(repo) else { return true };
    let mut places = vec![repo.root.as_path(), repo.common_dir.as_path()];
    places.extend(checkouts.iter().filter_map(|checkout| checkout.path.as_deref()));
    is_git_at(process, &places)
}

fn is_git(process: &Path) -> bool {
    fs::read_to_string(process.join("comm")).is_ok_and(|name| name.starts_with("git"))
}

/// Whether this is a git that may work at one of these paths, by its directory, arguments and environment.
fn is_git_at(process: &Path, places: &[&Path]) -> bool {
    if !is_git(process) {
        return false;
    }
    let inside = |path: &Path| places.iter().any(|place| path.starts_with(place));
    match cwd_of(process) {
        Cwd::Known(cwd) if inside(&cwd) => return true,
        Cwd::Known(_) => {}
        Cwd::Ended => return false,
        Cwd::Hidden => return true,
    }
    let named = |file: &str| {
        let text = fs::read(process.join(file)).unwrap_or_default();
        places.iter().any(|path| memchr::memmem::find(&text, path.as_os_str().as_encoded_bytes()).is_some())
    };
    named("cmdline") || named("environ")
}

enum Cwd {
    Known(PathBuf),
    /// The process has ended.
    Ended,
    /// The process belongs to another user.
    Hidden,
}

/// The kernel also answers "permission denied" for a process that is just ending: only a process that still exists
/// after several such answers belongs to another user.
fn cwd_of(process: &Path) -> Cwd {
    for _ in 0..5 {
        match fs::read_link(process.join("cwd")) {
            Ok(cwd) => return Cwd::Known(cwd),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Cwd::Ended,
            Err(_) if fs::read(process.join("comm")).is_err() => return Cwd::Ended,
            Err(_) => std::thread::yield_now(),
        }
    }
    Cwd::Hidden
}

/// The locks on liza's things: its worktrees, the named branches, the refs below the named prefixes, and the
/// files that every change of refs or settings locks.
pub fn ours(repo: &Repo, worktrees: &[Checkout], branches: &[&str], prefixes: &[&str]) -> Vec<LockFile> {
    let common = &repo.common_dir;
    let mut paths =
        ["packed-refs.lock", "packed-refs.new", "config.lock"].map(|name| common.join(name)).to_vec();
    paths.extend(worktrees.iter().flat_map(|worktree| locks_in(&worktree.admin_dir, false)));
    paths.extend(branches.iter().map(|branch| common.join(format!("refs/heads/{branch}.lock"))));
    paths.extend(prefixes.iter().flat_map(|prefix| locks_in(&common.join(prefix), true)));
    paths.sort();
    paths.iter().filter_map(|path| LockFile::at(path)).collect()
}

fn locks_in(dir: &Path, deep: bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() && !path.is_symlink() {
            if deep {
                found.extend(locks_in(&path, true));
            }
        } else if path.extension().is_some_and(|ending| ending == "lock") {
            found.push(path);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::testing::Fixture;
    use super::*;

    #[test]
    fn only_locks_on_liza_files_are_listed() {
        let fixture = Fixture::new();
        let repo = fixture.repo();
        let git = &repo.common_dir;
        fs::create_dir_all(git.join("refs/heads/task")).unwrap();
        fs::create_dir_all(git.join("refs/liza/merges/t1")).unwrap();
        let ours_here = [
            "config.lock",
            "packed-refs.lock",
            "refs/heads/integration.lock",
            "refs/heads/task/t1.lock",
            "refs/liza/merges/t1/3.lock",
        ];
        for name in ours_here.iter().chain(&["index.lock", "HEAD.lock", "refs/heads/main.lock"]) {
            fs::write(git.join(name), "").unwrap();
        }
        let found = ours(&repo, &[], &["integration"], &["refs/heads/task", "refs/liza"]);
        let names: Vec<_> = found
            .iter()
            .map(|lock| lock.path.strip_prefix(git).unwrap().to_str().unwrap().to_owned())
            .collect();
        assert_eq!(names, ours_here);
    }

    #[test]
    fn open_lock_has_a_holder() {
        let fixture = Fixture::new();
        let repo = fixture.repo();
        let path = repo.common_dir.join("config.lock");
        let open = fs::File::create(&path).unwrap();
        let lock = LockFile::at(&path).unwrap();
        if cfg!(target_os = "linux") {
            let here = std::process::id();
            assert!(matches!(lock.holder(&repo), Holder::Process { pid, .. } if pid == here));
            drop(open);
            // A process that another test is just starting has it open until its program begins.
            let until = std::time::Instant::now() + Duration::from_secs(30);
            while lock.holder(&repo) != Holder::Free && std::time::Instant::now() < until {
                std::thread::yield_now();
            }
            assert_eq!(lock.holder(&repo), Holder::Free);
        }
        assert!(lock.still_there());
        fs::remove_file(&path).unwrap();
        fs::write(&path, "other").unwrap();
        assert!(!lock.still_there());
    }

    #[test]
    fn git_working_here_from_elsewhere_is_seen() {
        let fixture = Fixture::new();
        let repo = fixture.repo();
        if !cfg!(target_os = "linux") {
            return;
        }
        assert!(!git_at_work(&repo));
        // A directory whose path does not begin like the repository's.
        let elsewhere = tempfile::tempdir().unwrap();
        let worktree = elsewhere.path().canonicalize().unwrap().join("w");
        fixture.git(&["worktree", "add", "--detach", &worktree.display().to_string()]);
        let named = format!("--git-dir={}", repo.common_dir.display());
        for (dir, args) in [(Path::new("/"), vec![named.as_str()]), (worktree.as_path(), Vec::new())] {
            let mut git = std::process::Command::new("git");
            git.args(args).args(["cat-file", "--batch"]).env_remove("PWD");
            git.current_dir(dir).stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::null());
            let mut alive = crate::testing::start(&mut git);
            let until = std::time::Instant::now() + Duration::from_secs(30);
            while !git_at_work(&repo) {
                assert!(std::time::Instant::now() < until, "the git that was started in {dir:?} is not seen");
                std::thread::yield_now();
            }
            drop(alive.stdin.take());
            alive.wait().unwrap();
            assert!(!git_at_work(&repo));
        }
    }
}
