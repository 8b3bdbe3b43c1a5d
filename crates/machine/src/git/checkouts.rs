//! Lists the worktrees, what is checked out in them, and whether each is what it claims to be.
//!
//! Read from git's own files: `git worktree list` fails as a whole when one record is incomplete.

use super::prelude::*;

/// A linked worktree as git has it on record.
#[derive(Debug, Clone)]
pub struct Checkout {
    /// The name of the record under `worktrees/` in the common directory.
    pub name: String,
    pub admin_dir: PathBuf,
    /// The path of the worktree, if the record names one; it may no longer exist.
    pub path: Option<PathBuf>,
    /// The branch it is on; none when detached.
    pub branch: Option<String>,
    /// Why it is locked, if it is.
    pub locked: Option<String>,
}

impl Checkout {
    /// Whether the record lacks what git needs: a kill inside `git worktree add` leaves such a record, and an empty
    /// `commondir` makes most git commands fail in the whole repository.
    pub fn is_half_made(&self) -> bool {
        let empty = |name: &str| {
            read_plain(&self.admin_dir.join(name))
                .map_or(true, |bytes| bytes.iter().all(u8::is_ascii_whitespace))
        };
        empty("commondir") || empty("gitdir") || empty("HEAD")
    }
}

#[derive(Debug, Error)]
pub enum WorktreeFault {
    #[error("`{}` does not exist", path.display())]
    Missing { path: PathBuf },
    #[error("`{}` is a link or a file, not the directory that liza made", path.display())]
    NoDirectory { path: PathBuf },
    #[error("`{}` has lost its `.git` file", path.display())]
    NoGitFile { path: PathBuf },
    #[error("`{}` is a repository of its own, not a worktree", path.display())]
    OwnRepository { path: PathBuf },
    #[error("`{}` belongs to another repository: its `.git` leads to `{}`", path.display(), leads_to.display())]
    Foreign { path: PathBuf, leads_to: PathBuf },
    #[error("git's record of `{}` is gone or half-made: `{}`", path.display(), admin_dir.display())]
    NoRecord { path: PathBuf, admin_dir: PathBuf },
    #[error("git's record of `{}` belongs to another worktree", path.display())]
    NotRecordedHere { path: PathBuf },
}

/// All linked worktrees on record, by name, incomplete records included.
pub fn list(repo: &Repo) -> Result<Vec<Checkout>, GitError> {
    Ok(admin_dirs(repo)?.into_iter().map(read).collect())
}

/// The directories of git's records, by name.
fn admin_dirs(repo: &Repo) -> Result<Vec<PathBuf>, GitError> {
    let dir = repo.common_dir.join("worktrees");
    let mut found = Vec::new();
    for entry in GitError::if_there(&dir, fs::read_dir(&dir))?.into_iter().flatten() {
        let admin_dir = entry.map_err(GitError::io(&dir))?.path();
        if admin_dir.is_dir() {
            found.push(admin_dir);
        }
    }
    found.sort();
    Ok(found)
}

/// Those whose checkout is on this branch.
fn records_on(repo: &Repo, branch: &str) -> Result<Vec<Checkout>, GitError> {
    Ok(admin_dirs(repo)?.into_iter().filter(|admin_dir| is_on(admin_dir, branch)).map(read).collect())
}

fn read(admin_dir: PathBuf) -> Checkout {
    let dot_git = read_link_file(&admin_dir.join("gitdir"), &admin_dir);
    let locked = read_plain(&admin_dir.join("locked")).ok();
    Checkout {
        name: admin_dir.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        path: dot_git.and_then(|file| file.parent().map(Path::to_owned)),
        branch: head_branch(&admin_dir),
        locked: locked.map(|reason| String::from_utf8_lossy(&reason).trim().to_owned()),
        admin_dir,
    }
}

fn head_branch(git_dir: &Path) -> Option<String> {
    let head = plain_text(&git_dir.join("HEAD")).ok()?;
    head.trim().strip_prefix("ref: refs/heads/").map(str::to_owned)
}

/// A worktree, main one included, whose checked-out branch a move of this branch would change.
///
/// A rebase or bisect in progress detaches HEAD but returns to the branch, so it counts. A worktree whose directory
/// was deleted does not, unless it is locked: then its disk may only be unmounted.
pub fn branch_checked_out_at(repo: &Repo, branch: &str) -> Result<Option<PathBuf>, GitError> {
    branch_checked_out_beside(repo, branch, None)
}

/// As [`branch_checked_out_at`], except for one worktree: the one that moves along.
pub fn branch_checked_out_beside(
    repo: &Repo,
    branch: &str,
    own: Option<&Path>,
) -> Result<Option<PathBuf>, GitError> {
    let own = own.map(real_or_same);
    if is_on(&repo.common_dir, branch) {
        return Ok(Some(repo.root.clone()));
    }
    Ok(records_on(repo, branch)?.into_iter().find_map(|checkout| {
        let path = checkout.path.filter(|path| own.as_ref() != Some(&real_or_same(path)))?;
        (checkout.locked.is_some() || path.exists()).then_some(path)
    }))
}

/// A checkout of a branch, as it is now.
#[derive(Debug, Clone)]
pub struct Standing {
    pub path: PathBuf,
    pub git_dir: PathBuf,
    /// The git operation in progress there.
    pub busy: Option<&'static str>,
}

/// Every checkout of a branch, main one included; one in the middle of a rebase of the branch counts.
pub fn standing_on(repo: &Repo, branch: &str) -> Result<Vec<Standing>, GitError> {
    let main = is_on(&repo.common_dir, branch).then(|| (repo.root.clone(), repo.common_dir.clone()));
    let linked = records_on(repo, branch)?.into_iter().filter_map(|checkout| {
        let path = checkout.path?;
        (checkout.locked.is_some() || path.exists()).then_some((path, checkout.admin_dir))
    });
    let on = main.into_iter().chain(linked);
    Ok(on.map(|(path, git_dir)| Standing { path, busy: busy(&git_dir), git_dir }).collect())
}

/// The branch of a checkout; none if HEAD is detached.
pub fn branch_of(repo: &Repo, checkout: &Path) -> Option<String> {
    let linked = read_git_file(&checkout.join(".git")).filter(|_| checkout != repo.root);
    head_branch(linked.as_deref().unwrap_or(&repo.common_dir))
}

fn busy(git_dir: &Path) -> Option<&'static str> {
    let all = [
        ("rebase-merge", "a rebase"),
        ("rebase-apply", "a rebase or `git am`"),
        ("MERGE_HEAD", "a merge"),
        ("CHERRY_PICK_HEAD", "a cherry-pick"),
        ("REVERT_HEAD", "a revert"),
        ("BISECT_START", "a bisect"),
    ];
    all.into_iter().find(|(file, _)| git_dir.join(file).symlink_metadata().is_ok()).map(|(_, what)| what)
}

fn is_on(git_dir: &Path, branch: &str) -> bool {
    if head_branch(git_dir).as_deref() == Some(branch) {
        return true;
    }
    ["rebase-merge/head-name", "rebase-apply/head-name", "BISECT_START"].iter().any(|file| {
        let text = plain_text(&git_dir.join(file)).unwrap_or_default();
        let name = text.trim();
        name.strip_prefix("refs/heads/").unwrap_or(name) == branch
    })
}

/// The records whose worktree is, or was, at this path. A link at the path is not followed: the worktree behind it
/// has another path.
pub fn recorded_at(repo: &Repo, path: &Path) -> Result<Vec<Checkout>, GitError> {
    let real = in_real_parent(path);
    let is_there = |at: &Path| at == path || in_real_parent(at) == real;
    let mut found = list(repo)?;
    found.retain(|checkout| checkout.path.as_deref().is_some_and(is_there));
    Ok(found)
}

/// Git's own directory of a worktree, by git's record; the common directory if there is none. The worktree's `.git` file does
/// not decide: the agent who works there can write it, and sandboxes are opened for what this returns.
pub fn admin_dir(repo: &Repo, worktree: &Path) -> PathBuf {
    let record = recorded_at(repo, worktree).ok().and_then(|mut found| found.pop());
    record.map_or_else(|| repo.common_dir.clone(), |record| record.admin_dir)
}

/// The same file name, in the resolved parent directory.
fn in_real_parent(path: &Path) -> PathBuf {
    match (path.parent().and_then(|parent| parent.canonicalize().ok()), path.file_name()) {
        (Some(parent), Some(name)) => parent.join(name),
        _ => path.to_owned(),
    }
}

/// The resolved path, even if only its parent directory still exists.
fn real_or_same(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| in_real_parent(path))
}

/// Checks that a directory is a linked worktree of this repository and that git's record agrees.
///
/// In a worktree that lost its `.git` file, git would answer for the main checkout; check here before trusting it.
pub fn check_sound(repo: &Repo, path: &Path) -> Result<(), WorktreeFault> {
    let own = || path.to_owned();
    match path.symlink_metadata() {
        Ok(meta) if meta.is_dir() => {}
        Ok(_) => return Err(WorktreeFault::NoDirectory { path: own() }),
        Err(_) => return Err(WorktreeFault::Missing { path: own() }),
    }
    let dot_git = path.join(".git");
    match dot_git.symlink_metadata() {
        Err(_) => return Err(WorktreeFault::NoGitFile { path: own() }),
        Ok(meta) if !meta.is_file() => return Err(WorktreeFault::OwnRepository { path: own() }),
        Ok(_) => {}
    }
    let admin_dir = read_git_file(&dot_git).ok_or_else(|| WorktreeFault::NoGitFile { path: own() })?;
    let records = repo.common_dir.join("worktrees");
    if real_or_same(&admin_dir).parent() != Some(records.as_path()) {
        return Err(WorktreeFault::Foreign { path: own(), leads_to: admin_dir });
    }
    let record = read(admin_dir.clone());
    let common_dir = read_link_file(&admin_dir.join("commondir"), &admin_dir).map(|dir| real_or_same(&dir));
    if record.is_half_made() || common_dir.as_deref() != Some(repo.common_dir.as_path()) {
        return Err(WorktreeFault::NoRecord { path: own(), admin_dir });
    }
    match record.path {
        Some(recorded) if in_real_parent(&recorded) == in_real_parent(path) => Ok(()),
        _ => Err(WorktreeFault::NotRecordedHere { path: own() }),
    }
}

/// The text of the `.git` file of a worktree with this record.
pub(super) fn git_file_of(record: &Checkout) -> String {
    format!("gitdir: {}\n", record.admin_dir.display())
}

/// Whether the worktree at `path` has no `.git`, or an incomplete one.
///
/// A link at the path is no worktree: liza does not write to what it leads to.
pub fn has_lost_git_file(record: &Checkout, path: &Path) -> bool {
    if !path.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
        return false;
    }
    let dot_git = path.join(".git");
    match dot_git.symlink_metadata() {
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
        Ok(meta) if meta.is_file() => read_plain(&dot_git).is_ok_and(|text| {
            let whole = git_file_of(record);
            text.len() < whole.len() && whole.as_bytes().starts_with(&text)
        }),
        Ok(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Fixture;
    use super::*;

    #[test]
    fn link_instead_of_worktree_gets_no_git_file() {
        let fixture = Fixture::new();
        let path = linked(&fixture, "one");
        let [record] = &recorded_at(&fixture.repo(), &path).unwrap()[..] else { panic!("one record") };
        fs::remove_file(path.join(".git")).unwrap();
        assert!(has_lost_git_file(record, &path));
        let aside = fixture.root.join("aside");
        fs::rename(&path, &aside).unwrap();
        std::os::unix::fs::symlink(&aside, &path).unwrap();
        assert!(!has_lost_git_file(record, &path));
    }

    #[test]
    fn git_file_does_not_choose_the_git_directory() {
        let fixture = Fixture::new();
        let path = linked(&fixture, "one");
        let own = fixture.root.join(".git/worktrees/one");
        assert_eq!(admin_dir(&fixture.repo(), &path), own);
        fs::write(path.join(".git"), "gitdir: /\n").unwrap();
        assert_eq!(admin_dir(&fixture.repo(), &path), own);
        assert_eq!(admin_dir(&fixture.repo(), &fixture.root), fixture.root.join(".git"));
    }

    fn linked(fixture: &Fixture, name: &str) -> PathBuf {
        let path = fixture.root.join(".worktrees").join(name);
        fixture.git(&["worktree", "add", "-q", "-b", &name.replace(' ', "-"), path.to_str().unwrap()]);
        path
    }

    #[test]
    fn intact_and_every_kind_of_broken_worktree() {
        let fixture = Fixture::new();
        let repo = fixture.repo();
        let one = linked(&fixture, "ünï one");
        let two = linked(&fixture, "two");
        check_sound(&repo, &one).unwrap();
        check_sound(&repo, &two).unwrap();

        let dot_git = fs::read(one.join(".git")).unwrap();
        fs::remove_file(one.join(".git")).unwrap();
        assert!(matches!(check_sound(&repo, &one), Err(WorktreeFault::NoGitFile { .. })));
        fs::write(one.join(".git"), fs::read(two.join(".git")).unwrap()).unwrap();
        assert!(matches!(check_sound(&repo, &one), Err(WorktreeFault::NotRecordedHere { .. })));
        fs::write(one.join(".git"), format!("gitdir: {}\n", fixture.root.join(".git").display())).unwrap();
        assert!(matches!(check_sound(&repo, &one), Err(WorktreeFault::Foreign { .. })));
        fs::write(one.join(".git"), &dot_git).unwrap();
        check_sound(&repo, &one).unwrap();

        let admin = read_git_file(&one.join(".git")).unwrap();
        fs::write(admin.join("commondir"), "").unwrap();
        assert!(matches!(check_sound(&repo, &one), Err(WorktreeFault::NoRecord { .. })));
        fs::remove_dir_all(&admin).unwrap();
        assert!(matches!(check_sound(&repo, &one), Err(WorktreeFault::NoRecord { .. })));
        fs::remove_dir_all(&one).unwrap();
        assert!(matches!(check_sound(&repo, &one), Err(WorktreeFault::Missing { .. })));
        assert!(matches!(check_sound(&repo, &fixture.root), Err(WorktreeFault::OwnRepository { .. })));
        let other = Fixture::new();
        let foreign = linked(&other, "x");
        assert!(matches!(check_sound(&repo, &foreign), Err(WorktreeFault::Foreign { .. })));
    }

    #[test]
    fn worktree_without_git_file_is_not_main() {
        let fixture = Fixture::new();
        let path = linked(&fixture, "t1");
        fs::remove_file(path.join(".git")).unwrap();
        let error = super::super::content::status(&path, super::super::content::Filters::Run).unwrap_err();
        assert!(matches!(error, GitError::NoCheckout { .. }), "{error:?}");
        // If a broken link passes the check, the ceiling still holds.
        std::os::unix::fs::symlink("/no/such/place", path.join(".git")).unwrap();
        assert!(matches!(
            super::super::content::status(&path, super::super::content::Filters::Run),
            Err(GitError::Failed { .. })
        ));
    }

    #[test]
    fn worktrees_are_listed_with_branch_and_lock() {
        let fixture = Fixture::new();
        let repo = fixture.repo();
        assert!(list(&repo).unwrap().is_empty());
        let path = linked(&fixture, "t1");
        fixture.git(&["worktree", "lock", "--reason", "ours: t1", path.to_str().unwrap()]);
        let away = fixture.root.join(".worktrees/away");
        fixture.git(&["worktree", "add", "-q", "--detach", away.to_str().unwrap()]);
        let found = list(&repo).unwrap();
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].branch.as_deref(), found[0].path.as_deref()), (None, Some(away.as_path())));
        assert_eq!((found[1].branch.as_deref(), found[1].locked.as_deref()), (Some("t1"), Some("ours: t1")));
        assert!(!found[0].is_half_made());
    }

    #[test]
    fn branch_in_use_is_found_even_in_a_rebase() {
        let fixture = Fixture::new();
        let repo = fixture.repo();
        let path = linked(&fixture, "t1");
        assert_eq!(branch_checked_out_at(&repo, "main").unwrap(), Some(fixture.root.clone()));
        assert_eq!(branch_checked_out_at(&repo, "t1").unwrap(), Some(path.clone()));
        assert_eq!(branch_checked_out_at(&repo, "t").unwrap(), None);
        let admin = read_git_file(&path.join(".git")).unwrap();
        fs::write(admin.join("HEAD"), format!("{}\n", fixture.head())).unwrap();
        assert_eq!(branch_checked_out_at(&repo, "t1").unwrap(), None);
        fs::create_dir(admin.join("rebase-merge")).unwrap();
        fs::write(admin.join("rebase-merge/head-name"), "refs/heads/t1\n").unwrap();
        assert_eq!(branch_checked_out_at(&repo, "t1").unwrap(), Some(path.clone()));
        fs::remove_dir_all(&path).unwrap();
        assert_eq!(branch_checked_out_at(&repo, "t1").unwrap(), None, "its directory is gone");
    }
}
