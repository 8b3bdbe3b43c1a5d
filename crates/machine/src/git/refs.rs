//! Moves refs, always from a named former value.
//!
//! The git program does it. A ref that leads to another one is not followed: if integration were a symbolic ref to
//! the user's branch, that branch would move.

use super::locks::{clear_if_free, git_at_work};
use super::prelude::*;
use crate::host::anchored_path;

/// The state a ref must have for a change to happen.
#[derive(Debug, Clone, Copy)]
pub enum Expected<'a> {
    At(&'a CommitId),
    /// The ref does not exist yet.
    Absent,
    /// Any value. Only for refs of liza's own that repeat what is recorded elsewhere.
    Any,
}

#[derive(Debug, Error)]
pub enum RefError {
    #[error("`{refname}` is not a valid ref name")]
    BadName { refname: String },
    #[error("`{refname}` is no longer where it was expected: {}", place(actual))]
    Moved { refname: String, actual: Option<CommitId> },
    #[error("`{refname}` exists already, at {at}")]
    Taken { refname: String, at: CommitId },
    #[error("`{refname}` cannot exist beside `{other}`: one name is a directory of the other")]
    Clash { refname: String, other: String },
    #[error("`{refname}` is locked by another git process, or one that died: `{}`", lock.display())]
    Locked { refname: String, lock: PathBuf },
    #[error("`{refname}` is not a plain ref: it leads to `{target}`")]
    Symbolic { refname: String, target: String },
    #[error("`{}` is a link to `{}`, and git would write there", link.display(), target.display())]
    Linked { link: PathBuf, target: PathBuf },
    #[error(transparent)]
    Git(#[from] GitError),
}

fn place(actual: &Option<CommitId>) -> String {
    actual.as_ref().map_or_else(|| "it does not exist".to_owned(), |id| format!("it is at {id}"))
}

/// Whether git accepts this as a full ref name below `refs/`.
pub fn is_valid(refname: &str) -> bool {
    refname.starts_with("refs/") && !refname.contains("/-") && git2::Reference::is_valid_name(refname)
}

/// The ref of a local branch, if the name is valid.
pub fn of_branch(branch: &str) -> Result<String, RefError> {
    let refname = format!("refs/heads/{branch}");
    if is_valid(&refname) && branch != "HEAD" { Ok(refname) } else { Err(RefError::BadName { refname }) }
}

/// The commit in the file of a branch, if it has such a file. None for branches that are packed or stored in another
/// way.
pub fn loose(repo: &Repo, branch: &str) -> Option<CommitId> {
    let refname = of_branch(branch).ok()?;
    let text = crate::host::plain_text(&repo.common_dir.join(refname)).ok()?;
    CommitId::new(text.trim()).ok()
}

/// The object of a ref, as the git program sees it.
///
/// Asked by listing: `rev-parse` would also accept a branch that is itself called `refs/heads/x`.
pub fn value(repo: &Repo, refname: &str) -> Result<Option<CommitId>, GitError> {
    let found = list(repo, refname)?.into_iter().find(|(name, _)| name == refname);
    Ok(found.map(|(_, id)| id))
}

/// Moves or creates a ref if it has the expected value, synced to disk.
pub fn update(repo: &Repo, refname: &str, new: &CommitId, expected: Expected<'_>) -> Result<(), RefError> {
    update_saying(repo, refname, new, expected, None)
}

/// The same, with a reflog message.
pub fn update_saying(
    repo: &Repo,
    refname: &str,
    new: &CommitId,
    expected: Expected<'_>,
    why: Option<&str>,
) -> Result<(), RefError> {
    check(refname)?;
    let zero = "0".repeat(new.as_str().len());
    let old = match expected {
        Expected::At(old) => Some(old.as_str()),
        Expected::Absent => Some(zero.as_str()),
        Expected::Any => None,
    };
    let git = Git::acting(&repo.root, "update-ref").durable().args(["--create-reflog", "--no-deref"]);
    let git = git.args(why.map(|why| ["-m", why]).into_iter().flatten()).end_of_options();
    check_way(&repo.common_dir, refname)?;
    let output = git.args([refname, new.as_str()]).args(old).output()?;
    if output.status.success() {
        return Ok(());
    }
    if output.status.code().is_none() {
        // Killed halfway: it will not remove its lock any more.
        clear_dead_lock(repo, refname, new);
    }
    Err(diagnose(repo, refname, expected, failed("update-ref", &output)))
}

/// Removes the lock that a killed git of liza's left on a ref it was moving to `new`; otherwise no process could move
/// that ref again. Only if that is certain: the lock is empty or holds `new`, and no git runs in this repository now.
pub fn clear_dead_lock(repo: &Repo, refname: &str, new: &CommitId) -> bool {
    let lock = repo.common_dir.join(format!("{refname}.lock"));
    let Ok(text) = crate::host::plain_text(&lock) else { return false };
    let ours = new.as_str().starts_with(text.trim_end());
    ours && !git_at_work(repo) && std::fs::remove_file(&lock).is_ok()
}

/// Removes the lock of a branch that a killed git left, if no process has it open and no git works here. A link on the way is not
/// followed.
pub fn clear_free_lock(repo: &Repo, branch: &str) {
    let Ok(refname) = of_branch(branch) else { return };
    if check_directories(&repo.common_dir, &refname).is_ok() {
        clear_if_free(&repo.common_dir.join(format!("{refname}.lock")), repo);
    }
}

/// Keeps a commit from being collected, under a ref of liza's own.
pub fn pin(repo: &Repo, refname: &str, commit: &CommitId) -> Result<(), RefError> {
    update(repo, refname, commit, Expected::Any)
}

/// Keeps a commit under this name, or if another commit has it, under the next unused one: `NAME-2`, `NAME-3`, …
/// Never moves an existing name. Returns the name.
pub fn keep(repo: &Repo, refname: &str, commit: &CommitId) -> Result<String, RefError> {
    loop {
        let name = kept_as(repo, refname, commit)?;
        match update(repo, &name, commit, Expected::Absent) {
            Err(RefError::Taken { at, .. }) if &at == commit => return Ok(name),
            // Another process took this name first.
            Err(RefError::Taken { .. }) => {}
            other => return other.map(|()| name),
        }
    }
}

/// The name under which [`keep`] would keep a commit.
pub fn kept_as(repo: &Repo, refname: &str, commit: &CommitId) -> Result<String, GitError> {
    let mut name = refname.to_owned();
    let mut number = 1_u64;
    while value(repo, &name)?.is_some_and(|at| &at != commit) {
        number += 1;
        name = format!("{refname}-{number}");
    }
    Ok(name)
}

/// The commit that [`keep`] kept last under this name or one after it.
pub fn last_kept(repo: &Repo, refname: &str) -> Result<Option<CommitId>, GitError> {
    let number = |name: &str| match name.strip_prefix(refname)? {
        "" => Some(1),
        more => more.strip_prefix('-')?.parse::<u64>().ok(),
    };
    let (above, _) = refname.rsplit_once('/').unwrap_or_default();
    let all = list(repo, above)?.into_iter().filter_map(|(name, at)| Some((number(&name)?, at)));
    Ok(all.max_by_key(|(number, _)| *number).map(|(_, at)| at))
}

/// Deletes a ref if it is at `at`; one already gone is fine.
pub fn delete_if_at(repo: &Repo, refname: &str, at: &CommitId) -> Result<(), RefError> {
    check(refname)?;
    check_directories(&repo.common_dir, refname)?;
    let git = Git::acting(&repo.root, "update-ref").durable().args(["-d", "--no-deref"]).end_of_options();
    let mut new_locks = locks_of(repo, refname).to_vec();
    new_locks.retain(|lock| lock.symlink_metadata().is_err());
    let output = git.args([refname, at.as_str()]).output()?;
    if output.status.code().is_none() {
        // Killed halfway: it will not remove its locks any more.
        new_locks.iter().for_each(|lock| clear_if_free(lock, repo));
    }
    if output.status.success() || value(repo, refname)?.is_none() {
        return Ok(());
    }
    Err(diagnose(repo, refname, Expected::At(at), failed("update-ref", &output)))
}

/// Deletes a local branch if it is at `at`. The caller checks first whether it is checked out.
pub fn delete_branch_if_at(repo: &Repo, branch: &str, at: &CommitId) -> Result<(), RefError> {
    delete_if_at(repo, &of_branch(branch)?, at)
}

/// The refs below a prefix such as `refs/liza/attempts`, with their values.
pub fn list(repo: &Repo, prefix: &str) -> Result<Vec<(String, CommitId)>, GitError> {
    super::files::check_refs(&repo.common_dir, prefix).map_err(|why| GitError::Misled { why })?;
    let git = Git::reading(&repo.root, "for-each-ref").arg("--format=%(objectname) %(refname)");
    // A name that is not text belongs to no task, and must not hide the others.
    let text = lossy(&git.end_of_options().arg(prefix).run()?);
    let entries = text.lines().filter_map(|line| line.split_once(' '));
    entries.map(|(id, name)| Ok((name.to_owned(), parse_id("for-each-ref", id)?))).collect()
}

/// Whether a ref leads to this commit, so that git keeps it even if worktrees are removed.
pub fn is_named(repo: &Repo, commit: &CommitId) -> Result<bool, GitError> {
    let git = Git::reading(&repo.root, "for-each-ref").args(["--count=1", "--format=x"]);
    let found = git.arg(format!("--contains={commit}")).run_line()?;
    Ok(!found.is_empty())
}

/// Renames refs, all of them or none: each from the value it was seen at, to an unused name.
pub fn rename_all(repo: &Repo, moves: &[(String, CommitId, String)]) -> Result<(), RefError> {
    let mut lines = String::new();
    for (from, at, to) in moves {
        check(from)?;
        check(to)?;
        check_way(&repo.common_dir, from)?;
        check_way(&repo.common_dir, to)?;
        lines.push_str(&format!("create {to} {at}\ndelete {from} {at}\n"));
    }
    Git::acting(&repo.root, "update-ref").durable().args(["--no-deref", "--stdin"]).stdin(lines).run()?;
    Ok(())
}

/// Whether the file of a ref is a link to another one.
pub(super) fn is_link(common_dir: &Path, refname: &str) -> bool {
    std::fs::read_link(common_dir.join(refname)).is_ok()
}

/// The ref or file that this ref leads to, if it is not plain. Git packs only plain refs.
pub fn leads_to(common_dir: &Path, refname: &str) -> Option<String> {
    let path = common_dir.join(refname);
    if let Ok(target) = std::fs::read_link(&path) {
        return Some(target.display().to_string());
    }
    let text = crate::host::plain_text(&path).ok()?;
    text.strip_prefix("ref:").map(|target| target.trim().to_owned())
}

/// Whether git, writing this ref and its log, writes the files of these names and no others.
pub(super) fn check_way(common_dir: &Path, refname: &str) -> Result<(), RefError> {
    let log = format!("{LOGS}{refname}");
    if let Some(link) = anchored_path::first_link(common_dir, &[Path::new(refname), Path::new(&log)]) {
        let target = std::fs::read_link(&link).unwrap_or_default();
        if link == common_dir.join(refname) {
            return Err(RefError::Symbolic {
                refname: refname.to_owned(),
                target: target.display().to_string(),
            });
        }
        return Err(RefError::Linked { link, target });
    }
    if let Some(target) = leads_to(common_dir, refname) {
        return Err(RefError::Symbolic { refname: refname.to_owned(), target });
    }
    let path = common_dir.join(log);
    match path.symlink_metadata() {
        Ok(meta) if !meta.is_file() && !meta.is_dir() => {
            let why = format!("`{}` is no plain file, and git would wait for it; remove it", path.display());
            Err(GitError::Misled { why }.into())
        }
        _ => Ok(()),
    }
}

/// The same of the directories alone: git deletes a ref that is a link without following it.
fn check_directories(common_dir: &Path, refname: &str) -> Result<(), RefError> {
    let log = format!("{LOGS}{refname}");
    let above = [Path::new(refname), Path::new(&log)].map(|path| path.parent().unwrap_or(path));
    match anchored_path::first_link(common_dir, &above) {
        Some(link) => {
            let target = std::fs::read_link(&link).unwrap_or_default();
            Err(RefError::Linked { link, target })
        }
        None => Ok(()),
    }
}

/// Where git keeps the logs of refs.
const LOGS: &str = "logs/";

/// Links in the place of directories and files that git writes for refs below this prefix, or for the ref of this name:
/// on the way there, and below it. The topmost first.
pub fn links_for(common_dir: &Path, prefix: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for prefix in [prefix.to_owned(), format!("{LOGS}{prefix}")] {
        let prefix = prefix.trim_end_matches('/');
        match anchored_path::first_link(common_dir, &[Path::new(prefix)]) {
            Some(link) => found.push(link),
            None => found.extend(anchored_path::links_below(common_dir, Path::new(prefix), MOST_LINKS)),
        }
    }
    found
}

/// So many are named at a time.
const MOST_LINKS: usize = 100;

/// Puts a directory in the place of a link to one, or removes a link to a file. What the link leads to stays as it is; of
/// the refs that were seen through it, plain files are made here.
pub fn unlink(repo: &Repo, link: &Path) -> Result<(), RefError> {
    let below = link.strip_prefix(&repo.common_dir).unwrap_or(link);
    let prefix = below.to_string_lossy().into_owned();
    let seen = if prefix.starts_with("refs") { list(repo, &prefix)? } else { Vec::new() };
    let above = link.parent().unwrap_or(link);
    let fresh = anchored_path::Temporary::new(above, ".liza-").map_err(GitError::io(link))?;
    for (refname, at) in seen.iter().filter(|(refname, _)| *refname != prefix) {
        let Some(name) = refname.strip_prefix(&format!("{prefix}/")) else { continue };
        let path = fresh.path().join(name);
        if let Some(dir) = path.parent() {
            anchored_path::make_directories(fresh.path(), dir).map_err(GitError::io(dir))?;
        }
        std::fs::write(&path, format!("{at}\n")).map_err(GitError::io(&path))?;
    }
    let is_one = seen.iter().find(|(refname, _)| *refname == prefix);
    let taken = if link.is_dir() && is_one.is_none() {
        anchored_path::exchange_files(fresh.path(), link).map(|()| std::fs::remove_file(fresh.path()))
    } else {
        std::fs::remove_file(link).map(Ok)
    };
    taken.map_err(GitError::io(link))?.ok();
    if let Some((refname, at)) = is_one {
        make_plain(repo, refname, at)?;
    }
    sync_filesystem(&repo.common_dir).map_err(GitError::io(link))?;
    Ok(())
}

/// Turns a ref that leads to another into a plain one at this commit. The other stays unchanged.
pub fn make_plain(repo: &Repo, refname: &str, at: &CommitId) -> Result<(), RefError> {
    check(refname)?;
    check_directories(&repo.common_dir, refname)?;
    // Git writes nothing if the file behind a link already has this value.
    let path = repo.common_dir.join(refname);
    if path.is_symlink() {
        std::fs::remove_file(&path).map_err(GitError::io(&path))?;
    }
    let git = Git::acting(&repo.root, "update-ref").durable().arg("--no-deref").end_of_options();
    git.args([refname, at.as_str()]).run()?;
    Ok(())
}

/// Syncs the file system, so that a ref just moved survives a power loss.
pub fn sync_filesystem(common_dir: &Path) -> io::Result<()> {
    let dir = std::fs::File::open(common_dir)?;
    #[cfg(target_os = "linux")]
    rustix::fs::syncfs(&dir)?;
    #[cfg(not(target_os = "linux"))]
    {
        drop(dir);
        rustix::fs::sync();
    }
    Ok(())
}

fn check(refname: &str) -> Result<(), RefError> {
    if is_valid(refname) { Ok(()) } else { Err(RefError::BadName { refname: refname.to_owned() }) }
}

/// Finds out why git refused by looking again: git's own text is for people and changes between versions.
pub(super) fn diagnose(repo: &Repo, refname: &str, expected: Expected<'_>, error: GitError) -> RefError {
    let Ok(actual) = value(repo, refname) else { return error.into() };
    let refname = refname.to_owned();
    match (expected, actual) {
        (Expected::At(old), actual) if actual.as_ref() != Some(old) => {
            return RefError::Moved { refname, actual };
        }
        (Expected::Absent, Some(at)) => return RefError::Taken { refname, at },
        _ => {}
    }
    if let Some(other) = clashing(repo, &refname) {
        return RefError::Clash { refname, other };
    }
    match locks_of(repo, &refname).into_iter().find(|lock| lock.exists()) {
        Some(lock) => RefError::Locked { refname, lock },
        None => error.into(),
    }
}

/// The files that git makes to delete this ref and that keep others from changing it. While `packed-refs.lock` exists, only its
/// owner may write `packed-refs.new`.
fn locks_of(repo: &Repo, refname: &str) -> [PathBuf; 3] {
    let lock = format!("{refname}.lock");
    [lock.as_str(), "packed-refs.new", "packed-refs.lock"].map(|name| repo.common_dir.join(name))
}

/// A ref that would be a directory of this name, or the reverse.
fn clashing(repo: &Repo, refname: &str) -> Option<String> {
    let below = list(repo, refname).ok()?.into_iter().map(|(name, _)| name).find(|name| name != refname);
    let is_ref = |name: &&str| is_valid(name) && matches!(value(repo, name), Ok(Some(_)));
    let mut above = refname.rmatch_indices('/').map(|(end, _)| &refname[..end]);
    below.or_else(|| above.find(is_ref).map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Fixture, make_executable};
    use super::*;

    #[test]
    fn ref_moves_only_from_the_named_value() {
        let fixture = Fixture::new();
        let repo = fixture.repo();
        let base = fixture.head();
        let one = fixture.branch("one", &base, &[("a", "1")]);
        let two = fixture.branch("two", &base, &[("a", "2")]);
        let name = "refs/heads/integration";
        update(&repo, name, &base, Expected::Absent).unwrap();
        let error = update(&repo, name, &one, Expected::Absent).unwrap_err();
        assert!(matches!(&error, RefError::Taken { at, .. } if *at == base), "{error:?}");
        update(&repo, name, &one, Expected::At(&base)).unwrap();
        fixture.git(&["branch", "refs/heads/gone", "main"]);
        let error = update(&repo, name, &two, Expected::At(&base)).unwrap_err();
        assert!(matches!(&error, RefError::Moved { actual: Some(at), .. } if *at == one), "{error:?}");
        assert_eq!(value(&repo, name).unwrap(), Some(one.clone()));
        let error = update(&repo, "refs/heads/gone", &two, Expected::At(&base)).unwrap_err();
        assert!(matches!(error, RefError::Moved { actual: None, .. }), "{error:?}");
        sync_filesystem(&repo.common_dir).unwrap();
    }

    #[test]
    fn branch_is_deleted_only_at_the_seen_commit() {
        let fixture = Fixture::new();
        let repo = fixture.repo();
        let base = fixture.head();
        let one = fixture.branch("one", &base, &[("a", "1")]);
        assert!(matches!(delete_branch_if_at(&repo, "one", &base), Err(RefError::Moved { .. })));
        delete_branch_if_at(&repo, "one", &one).unwrap();
        delete_branch_if_at(&repo, "one", &one).unwrap();
        assert_eq!(value(&repo, "refs/heads/one").unwrap(), None);
    }

    #[test]
    fn names_that_git_would_misread_are_refused() {
        let fixture = Fixture::new();
        let repo = fixture.repo();
        let head = fixture.head();
        for name in [
            "",
            "main",
            "HEAD",
            "refs/heads/",
            "refs/heads/a..b",
            "refs/heads/-x",
            "refs/heads/a.lock",
            "refs/heads/a b",
            "--stdin",
            "refs/heads/a\n",
        ] {
            let error = update(&repo, name, &head, Expected::Any).unwrap_err();
            assert!(matches!(error, RefError::BadName { .. }), "{name:?}: {error:?}");
        }
        assert!(of_branch("HEAD").is_err() && of_branch("-d").is_err() && of_branch("task/t1.2").is_ok());
    }

    #[test]
    fn ref_and_directory_clash_is_explained() {
        let fixture = Fixture::new();
        let repo = fixture.repo();
        let head = fixture.head();
        pin(&repo, "refs/heads/task", &head).unwrap();
        let error = update(&repo, "refs/heads/task/t1", &head, Expected::Absent).unwrap_err();
        assert!(matches!(&error, RefError::Clash { other, .. } if other == "refs/heads/task"), "{error:?}");
        pin(&repo, "refs/heads/deep/er", &head).unwrap();
        fixture.git(&["pack-refs", "--all"]);
        let error = update(&repo, "refs/heads/deep", &head, Expected::Absent).unwrap_err();
        assert!(
            matches!(&error, RefError::Clash { other, .. } if other == "refs/heads/deep/er"),
            "{error:?}"
        );
    }

    #[test]
    fn left_over_lock_is_named() {
        let fixture = Fixture::new();
        let repo = fixture.repo();
        let lock = repo.common_dir.join("refs/heads/main.lock");
        std::fs::write(&lock, "").unwrap();
        let head = fixture.head();
        let error = update(&repo, "refs/heads/main", &head, Expected::At(&head)).unwrap_err();
        assert!(matches!(&error, RefError::Locked { lock: named, .. } if *named == lock), "{error:?}");
    }

    /// A link in the place of a directory of refs or logs, or of a log: nothing is written through it, and it is removed
    /// without a loss.
    #[test]
    fn links_on_the_way_to_a_ref_are_refused() {
        let fixture = Fixture::new();
        let (repo, head) = (fixture.repo(), fixture.head());
        let aside = tempfile::tempdir_in(&fixture.root).unwrap();
        let (t1, t2) = ("refs/heads/task/t1", "refs/heads/task/t2");
        let at = |name: &str| repo.common_dir.join(name);
        for name in [
            "refs/heads/task",
            "refs/heads",
            "refs",
            "logs/refs/heads/task",
            "logs",
            "logs/refs/heads/task/t2",
        ] {
            update(&repo, t1, &head, Expected::Any).unwrap();
            let target = aside.path().join(name.replace('/', "-"));
            let dir = if name.ends_with("t2") { "logs/refs/heads/task" } else { name };
            std::fs::create_dir_all(at(dir)).unwrap();
            if at(name).is_dir() {
                std::fs::rename(at(name), &target).unwrap();
            } else {
                std::fs::write(&target, "of a person\n").unwrap();
            }
            let before = std::fs::read_dir(&target).map(Iterator::count).ok();
            std::os::unix::fs::symlink(&target, at(name)).unwrap();
            let refused = |result: Result<(), RefError>| {
                assert!(
                    matches!(&result, Err(RefError::Linked { link, .. }) if *link == at(name)),
                    "{name}: {result:?}"
                );
            };
            refused(update(&repo, t2, &head, Expected::Absent));
            refused(Query::open(&repo).unwrap().make_ref(t2, &head).map(|_| ()));
            assert!(Query::open(&repo).unwrap().pin(t2, &head).is_err());
            refused(rename_all(&repo, &[(t1.to_owned(), head.clone(), t2.to_owned())]));
            if !name.ends_with("t2") {
                refused(delete_if_at(&repo, t1, &head));
            }
            assert_eq!(links_for(&repo.common_dir, "refs/heads/task/"), [at(name)]);
            unlink(&repo, &at(name)).unwrap();
            assert!(!at(name).is_symlink() && links_for(&repo.common_dir, "refs/heads/task/").is_empty());
            assert_eq!(value(&repo, t1).unwrap(), Some(head.clone()), "{name}");
            assert_eq!(value(&repo, "refs/heads/main").unwrap(), Some(head.clone()), "{name}");
            assert_eq!(std::fs::read_dir(&target).map(Iterator::count).ok(), before, "{name}");
            update(&repo, t2, &head, Expected::Absent).unwrap();
            delete_if_at(&repo, t2, &head).unwrap();
        }
        assert_eq!(std::fs::read(aside.path().join("logs-refs-heads-task-t2")).unwrap(), b"of a person\n");
    }

    /// Anyone who can write there can make a branch whose name is not text.
    #[test]
    #[cfg(target_os = "linux")]
    fn ref_whose_name_is_not_text_hides_no_other() {
        use std::os::unix::ffi::OsStrExt;
        let fixture = Fixture::new();
        let (repo, head) = (fixture.repo(), fixture.head());
        update(&repo, "refs/heads/task/t1", &head, Expected::Absent).unwrap();
        let name = std::ffi::OsStr::from_bytes(b"x\xffy");
        std::fs::write(repo.common_dir.join("refs/heads/task").join(name), format!("{head}\n")).unwrap();
        let names = ["refs/heads/task/t1", "refs/heads/task/x\u{fffd}y"];
        let listed: Vec<String> =
            list(&repo, "refs/heads/task").unwrap().into_iter().map(|(name, _)| name).collect();
        assert_eq!(listed, names);
        assert_eq!(Query::open(&repo).unwrap().refs_below("refs/heads/task/").unwrap(), names);
    }

    #[test]
    fn free_lock_behind_a_link_stays() {
        let fixture = Fixture::new();
        let (repo, elsewhere) = (fixture.repo(), fixture.outside("elsewhere"));
        std::fs::create_dir(&elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, repo.common_dir.join("refs/heads/linked")).unwrap();
        std::fs::create_dir(repo.common_dir.join("refs/heads/task")).unwrap();
        let (far, near) = (elsewhere.join("t1.lock"), repo.common_dir.join("refs/heads/task/t1.lock"));
        for lock in [&far, &near] {
            std::fs::write(lock, "").unwrap();
        }
        for branch in ["linked/t1", "task/t1", "../t1"] {
            clear_free_lock(&repo, branch);
        }
        assert!(far.exists());
        assert_eq!(near.exists(), cfg!(not(target_os = "linux")));
    }

    #[test]
    fn only_dead_liza_lock_is_removed() {
        let fixture = Fixture::new();
        let (repo, head) = (fixture.repo(), fixture.head());
        let lock = repo.common_dir.join("refs/heads/main.lock");
        for (text, ours) in [
            (String::new(), true),
            (format!("{head}\n"), true),
            (head.as_str()[..20].to_owned(), true),
            (format!("{}\n", "1".repeat(40)), false),
            ("ref: refs/heads/other\n".to_owned(), false),
        ] {
            std::fs::write(&lock, &text).unwrap();
            assert_eq!(
                clear_dead_lock(&repo, "refs/heads/main", &head),
                ours && cfg!(target_os = "linux"),
                "{text:?}"
            );
            assert_eq!(lock.exists(), !(ours && cfg!(target_os = "linux")));
            let _ = std::fs::remove_file(&lock);
        }
        assert!(!clear_dead_lock(&repo, "refs/heads/main", &head), "there is none");
        // While a git runs here, the lock may belong to it.
        let mut git = std::process::Command::new("git");
        git.args(["cat-file", "--batch"]).current_dir(&fixture.root);
        git.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::null());
        let mut alive = crate::testing::start(&mut git);
        while !git_at_work(&repo) {
            std::thread::yield_now();
        }
        std::fs::write(&lock, "").unwrap();
        assert!(!clear_dead_lock(&repo, "refs/heads/main", &head));
        drop(alive.stdin.take());
        alive.wait().unwrap();
        assert_eq!(clear_dead_lock(&repo, "refs/heads/main", &head), cfg!(target_os = "linux"));
    }

    #[test]
    fn moving_liza_refs_runs_no_hook() {
        let fixture = Fixture::new();
        let hook = fixture.root.join(".git/hooks/reference-transaction");
        std::fs::write(&hook, "#!/bin/sh\necho 'the hook says no' >&2\nexit 1\n").unwrap();
        make_executable(&hook);
        pin(&fixture.repo(), "refs/liza/x", &fixture.head()).unwrap();
    }

    #[test]
    fn symbolic_ref_moves_no_other() {
        let fixture = Fixture::new();
        let (repo, head) = (fixture.repo(), fixture.head());
        fixture.write("more", "x");
        fixture.commit("more");
        let next = fixture.head();
        fixture.git(&["symbolic-ref", "refs/heads/integration", "refs/heads/main"]);
        std::os::unix::fs::symlink("main", fixture.root.join(".git/refs/heads/link")).unwrap();
        for name in ["refs/heads/integration", "refs/heads/link"] {
            let error = update(&repo, name, &head, Expected::At(&next)).unwrap_err();
            assert!(matches!(error, RefError::Symbolic { .. }), "{error}");
            let query = Query::open(&repo).unwrap();
            assert!(matches!(query.ref_commit(name), Err(QueryError::Symbolic { .. })));
            assert!(matches!(query.pin(name, &head), Err(QueryError::Symbolic { .. })));
            make_plain(&repo, name, &head).unwrap();
            assert_eq!(Query::open(&repo).unwrap().ref_commit(name).unwrap(), Some(head.clone()));
        }
        assert_eq!(fixture.id("main"), next);
    }

    #[test]
    fn refs_below_a_prefix_are_listed() {
        let fixture = Fixture::new();
        let repo = fixture.repo();
        let head = fixture.head();
        pin(&repo, "refs/liza/attempts/t1/1", &head).unwrap();
        pin(&repo, "refs/liza/attempts/t1/2", &head).unwrap();
        let names: Vec<_> =
            list(&repo, "refs/liza/attempts").unwrap().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["refs/liza/attempts/t1/1", "refs/liza/attempts/t1/2"]);
        assert!(list(&repo, "refs/none").unwrap().is_empty());
    }
}
