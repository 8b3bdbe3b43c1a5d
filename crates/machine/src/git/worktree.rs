//! Makes and removes worktrees. The caller holds the worktree lock, because two of these calls at once would race.
//! Only `check_out`, which writes the files of a new worktree, runs without it, because it may take long.

use std::time::Duration;

use super::checkouts::{self, Checkout};
use super::prelude::*;
use super::refs::{self, Expected, RefError};
use crate::host::anchored_path::{self, AnchoredPath};
use crate::host::crash;

mod deletion;

pub use deletion::{Deletion, GOING};

/// How the lock reason of liza's worktrees begins; it shows that an incomplete record is liza's.
const LOCK_MARK: &str = "liza: ";

/// The file in the trash that names the original path of a worktree.
const ORIGIN: &str = "origin";
const TREE: &str = "tree";

/// How long git may write files before liza reports it.
const SILENCE: Duration = Duration::from_secs(1);

#[derive(Debug, Error)]
pub enum WorktreeError {
    #[error("`{}` exists already", path.display())]
    PathTaken { path: PathBuf },
    #[error("git has no complete record of a worktree at `{}`", path.display())]
    NoRecord { path: PathBuf },
    #[error("it cannot be a worktree again: {why}")]
    NotRestorable { why: String },
    #[error(transparent)]
    Branch(#[from] RefError),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Query(#[from] QueryError),
}

/// Makes and removes the worktrees of one repository. Removal is a rename into the trash; only what the caller knows
/// to exist elsewhere is deleted.
#[derive(Debug, Clone, Copy)]
pub struct Worktrees<'a> {
    repo: &'a Repo,
    /// The directory of all liza's worktrees.
    home: &'a Path,
    trash: &'a Path,
}

impl<'a> Worktrees<'a> {
    pub fn new(repo: &'a Repo, home: &'a Path, trash: &'a Path) -> Self {
        Self { repo, home, trash }
    }

    /// Registers a worktree on a new branch at `start`, locked with the name of its owner; heals first.
    /// [`Worktrees::check_out`] writes its files.
    pub fn add(&self, path: &Path, branch: &str, start: &CommitId, owner: &str) -> Result<(), WorktreeError> {
        let refname = refs::of_branch(branch)?;
        self.heal()?;
        // Checked first: an incomplete add leaves the branch behind, and afterwards the two cases look the same.
        let query = Query::open(self.repo)?;
        if let Some(at) = query.ref_commit(&refname)? {
            return Err(RefError::Taken { refname, at }.into());
        }
        free(path)?;
        // Git would start another git to make the branch.
        let made = query.make_ref(&refname, start)?;
        let at_branch = || {
            let git = self.git();
            self.add_by(git, path, &["--no-checkout"], branch, owner).inspect_err(|_| {
                // Undo: as if it had not been made.
                let _ = refs::delete_if_at(self.repo, &refname, start);
            })
        };
        let with_branch = || {
            let how = ["--no-track", "--no-checkout", "-b", branch];
            self.add_by(self.git(), path, &how, start.as_str(), owner)
        };
        let added = if made { at_branch() } else { with_branch() };
        added.map_err(|error| match error {
            WorktreeError::Git(error) => match refs::diagnose(self.repo, &refname, Expected::Any, error) {
                RefError::Git(error) => WorktreeError::Git(error),
                named => WorktreeError::Branch(named),
            },
            other => other,
        })
    }

    /// Registers a worktree of exactly this commit, on no branch; heals first. [`Worktrees::check_out`] writes its
    /// files.
    pub fn add_detached(&self, path: &Path, commit: &CommitId, owner: &str) -> Result<(), WorktreeError> {
        self.heal()?;
        self.add_by(self.git(), path, &["--detach", "--no-checkout"], commit.as_str(), owner)
    }

    /// Writes the files of a worktree just registered at `commit`, as `git worktree add` does: a hard reset, then the
    /// user's hook `post-checkout` if there is one. Needs no lock: only the process that registered the worktree uses
    /// it yet. A process that dies here leaves a dirty worktree, because git writes the index last. Calls `say` once
    /// if it takes long.
    pub fn check_out(&self, path: &Path, commit: &CommitId, say: impl FnOnce()) -> Result<(), WorktreeError> {
        let git = Git::acting(path, "reset").args(["--hard", "--quiet", "--no-recurse-submodules"]);
        git.run_saying(SILENCE, say)?;
        if let Some(board) = runs_after_checkout(self.repo)? {
            let nothing = "0".repeat(commit.as_str().len());
            let git = Git::acting(path, "hook").args(["run", "--ignore-missing", "post-checkout", "--"]);
            let git = git.args([nothing.as_str(), commit.as_str(), "1"]);
            // Processes that a hook starts may not change the board.
            if board.as_os_str().is_empty() { git } else { git.held_for_gate(&board) }.run()?;
        }
        Ok(())
    }

    /// The same for a worktree in which no hook and no setting of the user applies; heals first. Nothing is checked
    /// out yet. Programs that git starts may not act on this board.
    pub fn add_private(
        &self,
        path: &Path,
        commit: &CommitId,
        owner: &str,
        board: &Path,
    ) -> Result<(), WorktreeError> {
        self.heal()?;
        let git = super::private::settled(self.git()).held_for_gate(board);
        self.add_by(git, path, &["--detach", "--no-checkout"], commit.as_str(), owner)
    }

    fn git(&self) -> Git {
        Git::acting(&self.repo.root, "worktree")
    }

    fn add_by(
        &self,
        git: Git,
        path: &Path,
        how: &[&str],
        what: &str,
        owner: &str,
    ) -> Result<(), WorktreeError> {
        free(path)?;
        if let Some(link) = anchored_path::first_link(&self.repo.common_dir, &[Path::new("worktrees")]) {
            let target = fs::read_link(&link).unwrap_or_default();
            return Err(RefError::Linked { link, target }.into());
        }
        super::door::forget_checkout(path);
        let reason: String = owner.chars().map(|c| if crate::text::is_unseen(c) { ' ' } else { c }).collect();
        let git = git.arg("add").args(how).args(["--quiet", "--lock"]);
        let git = git.arg(format!("--reason={LOCK_MARK}{reason}")).end_of_options();
        git.arg(path).arg(what).run()?;
        Ok(())
    }

    /// Moves incomplete records of liza's worktrees into the trash and returns their new paths.
    ///
    /// Only liza's: the user may be making a worktree at this moment. A record that is still empty could be either's
    /// and stays; git ignores it.
    pub fn heal(&self) -> Result<Vec<PathBuf>, GitError> {
        let mut healed = Vec::new();
        let records = checkouts::list(self.repo)?.into_iter();
        for record in records.filter(Checkout::is_half_made) {
            if !self.is_ours(&record) {
                // Git reads every record when it makes a worktree.
                let plain = super::files::check_record(&record.admin_dir);
                plain.map_err(|why| GitError::Misled { why })?;
                continue;
            }
            let kept_at = self.bin(&record.name)?.join("record");
            self.move_to(&record.admin_dir, &kept_at)?;
            healed.push(kept_at);
        }
        Ok(healed)
    }

    /// Whether liza made the worktree of this record. One that another program locked is not liza's; but while git
    /// makes a worktree it locks it itself, with its own reason.
    pub fn is_ours(&self, record: &Checkout) -> bool {
        match (&record.locked, &record.path) {
            (Some(reason), _) if Self::is_own_lock(reason) => true,
            (Some(_), _) if !record.is_half_made() => false,
            (_, Some(path)) => path.starts_with(self.home),
            (_, None) => self.home.join(&record.name).exists(),
        }
    }

    /// Moves a worktree and git's record of it into the trash; returns the path, or none if nothing was left to move.
    ///
    /// First the directory, then the record: a crash in between leaves a record without a worktree, which the next
    /// call finds by its path. Git no longer keeps commits that only HEAD of a detached worktree led to: pin them
    /// first.
    pub fn remove_to_trash(&self, path: &Path) -> Result<Option<PathBuf>, GitError> {
        let records = checkouts::recorded_at(self.repo, path)?;
        let present = path.symlink_metadata().is_ok();
        if !present && records.is_empty() {
            return Ok(None);
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        // `.review/t1` must not share a name with `t1`.
        let kind = path.parent().and_then(|home| home.file_name()?.to_str()?.strip_prefix('.'));
        let below_home = path.parent() != Some(self.home);
        let kind = kind.filter(|_| below_home).map_or(String::new(), |kind| format!("{kind}-"));
        let bin = self.bin_of(&format!("{kind}{name}"), path)?;
        if present {
            self.move_to(path, &bin.join(TREE))?;
        }
        for (index, record) in records.iter().enumerate() {
            let kept_as = if index == 0 { "record".to_owned() } else { format!("record.{index}") };
            self.move_to(&record.admin_dir, &bin.join(kept_as))?;
        }
        Ok(Some(bin))
    }

    /// Writes a new `.git` file for a worktree that lost it, if git's record is still complete. All other files stay
    /// as they are.
    pub fn reconnect(&self, path: &Path) -> Result<(), WorktreeError> {
        let records = checkouts::recorded_at(self.repo, path)?;
        let dot_git = path.join(".git");
        let [record] = records.as_slice() else {
            return Err(WorktreeError::NoRecord { path: path.to_owned() });
        };
        if record.is_half_made() {
            return Err(WorktreeError::NoRecord { path: path.to_owned() });
        }
        if !checkouts::has_lost_git_file(record, path) {
            return Err(WorktreeError::PathTaken { path: dot_git });
        }
        Ok(fs::write(&dot_git, checkouts::git_file_of(record)).map_err(GitError::io(&dot_git))?)
    }

    /// Makes record and worktree name each other again after the repository was moved. All other files stay.
    pub fn relink(&self, record: &Checkout, path: &Path) -> Result<(), WorktreeError> {
        let dot_git = path.join(".git");
        let anchored = self.anchored(&dot_git)?;
        if !matches!(anchored.kind().map_err(GitError::io(&dot_git))?, None | Some(anchored_path::Kind::File))
        {
            return Err(WorktreeError::PathTaken { path: dot_git });
        }
        anchored.delete().map_err(GitError::io(&dot_git))?;
        fs::write(&dot_git, checkouts::git_file_of(record)).map_err(GitError::io(&dot_git))?;
        let gitdir = record.admin_dir.join("gitdir");
        let text = [dot_git.as_os_str().as_bytes(), b"\n"].concat();
        Ok(fs::write(&gitdir, text).map_err(GitError::io(&gitdir))?)
    }

    /// Moves one file or directory into the trash; returns its new path.
    pub fn discard(&self, path: &Path) -> Result<PathBuf, GitError> {
        let bin = self.bin_of(&path.file_name().unwrap_or_default().to_string_lossy(), path)?;
        self.move_to(path, &bin.join(TREE))?;
        Ok(bin)
    }

    /// Moves a worktree from the trash back to its original path, with git's record. Finishes a restore that died
    /// halfway.
    pub fn restore(&self, bin: &Path, to: &Path) -> Result<(), WorktreeError> {
        let (tree, record) = (bin.join("tree"), bin.join("record"));
        let present = tree.symlink_metadata().is_ok();
        if present && to.symlink_metadata().is_ok() {
            return Err(WorktreeError::PathTaken { path: to.to_owned() });
        }
        let dot_git = if present { tree.join(".git") } else { to.join(".git") };
        let admin = read_git_file(&dot_git).ok_or_else(|| not_restorable("it has lost its `.git` file"))?;
        if admin.parent() != Some(self.repo.common_dir.join("worktrees").as_path()) {
            return Err(not_restorable(format!("its record was in `{}`", admin.display())));
        }
        if record.symlink_metadata().is_ok() {
            if admin.symlink_metadata().is_ok() {
                let why = format!("git has another worktree on record as `{}`", admin.display());
                return Err(not_restorable(why));
            }
            self.free_to_return(&record)?;
        }
        if present {
            if let Some(above) = to.parent() {
                anchored_path::make_directories(&self.repo.root, above).map_err(GitError::io(above))?;
            }
            self.move_to(&tree, to)?;
        }
        self.move_to(&record, &admin)?;
        self.git().arg("repair").end_of_options().arg(to).run()?;
        let _ = fs::remove_file(bin.join(ORIGIN));
        let _ = self.anchored(bin).map(|bin| bin.remove_empty());
        checkouts::check_sound(self.repo, to).map_err(|fault| not_restorable(fault.to_string()))
    }

    /// Whether the branch of a removed worktree still exists and is not checked out elsewhere.
    fn free_to_return(&self, record: &Path) -> Result<(), WorktreeError> {
        let head = plain_text(&record.join("HEAD")).map_err(GitError::io(record))?;
        let Some(branch) = head.trim().strip_prefix("ref: refs/heads/") else { return Ok(()) };
        if Query::open(self.repo)?.head_of_branch(branch)?.is_none() {
            return Err(not_restorable(format!("its branch `{branch}` is gone")));
        }
        checkouts::branch_checked_out_at(self.repo, branch)?.map_or(Ok(()), |path| {
            Err(not_restorable(format!("its branch `{branch}` is checked out in `{}`", path.display())))
        })
    }

    pub fn is_own_lock(reason: &str) -> bool {
        reason.starts_with(LOCK_MARK.trim_end())
    }

    /// A new, empty directory in the trash. `mkdir` fails if the name is taken, so two processes never share one.
    fn bin(&self, name: &str) -> Result<PathBuf, GitError> {
        let base = if self.trash_base().is_dir() { self.trash_base() } else { &self.repo.root };
        anchored_path::make_directories(base, self.trash).map_err(GitError::io(self.trash))?;
        let mut bin = self.trash.join(name);
        let mut number = 0_u64;
        while let Err(error) = self.anchored(&bin)?.create_directory() {
            if error.kind() != io::ErrorKind::AlreadyExists {
                return Err(GitError::io(&bin)(error));
            }
            number += 1;
            bin = self.trash.join(format!("{name}~{number}"));
        }
        Ok(bin)
    }

    fn trash_base(&self) -> &Path {
        self.trash.parent().unwrap_or(self.trash)
    }

    /// Opens a path as an [`AnchoredPath`] below one of the directories of this repository or this board.
    fn anchored(&self, path: &Path) -> Result<AnchoredPath, GitError> {
        let bases = [self.repo.common_dir.as_path(), self.trash_base(), self.repo.root.as_path()];
        let base = bases.into_iter().find(|base| path.starts_with(base)).unwrap_or(&self.repo.root);
        AnchoredPath::at(base, path).map_err(GitError::io(path))
    }

    /// Moves a file or directory; if it is gone already, another process was faster, which is fine.
    fn move_to(&self, from: &Path, to: &Path) -> Result<(), GitError> {
        let (source, target) = match self.anchored(from) {
            Err(GitError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => return Ok(()),
            source => (source?, self.anchored(to)?),
        };
        source.move_to(&target).map(|_| ()).map_err(GitError::io(from))
    }

    /// The same, with a note of the original path, for restoring.
    fn bin_of(&self, name: &str, path: &Path) -> Result<PathBuf, GitError> {
        let bin = self.bin(name)?;
        let origin = bin.join(ORIGIN);
        fs::write(&origin, format!("{}\n", path.display())).map_err(GitError::io(&origin))?;
        Ok(bin)
    }
}

/// Whether a person accepted the user's hook, and the board that processes of the hook may not change.
fn runs_after_checkout(repo: &Repo) -> Result<Option<PathBuf>, QueryError> {
    if super::door::is_guarded(repo) {
        return Ok(super::door::may_run_hook(repo, "post-checkout"));
    }
    Ok(Query::open(repo)?.has_hook("post-checkout").then(PathBuf::new))
}

/// Git would accept an existing empty directory; an incomplete worktree must never be used again.
fn free(path: &Path) -> Result<(), WorktreeError> {
    match path.symlink_metadata() {
        Ok(_) => Err(WorktreeError::PathTaken { path: path.to_owned() }),
        Err(_) => Ok(()),
    }
}

fn not_restorable(why: impl Into<String>) -> WorktreeError {
    WorktreeError::NotRestorable { why: why.into() }
}

#[cfg(test)]
mod tests {
    use crate::host::Contents;

    use super::super::testing::{Fixture, commit_in, write_in};
    use super::*;

    struct Scene {
        fixture: Fixture,
        repo: Repo,
        home: PathBuf,
        trash: PathBuf,
    }

    impl Scene {
        fn new() -> Self {
            let fixture = Fixture::new();
            let (repo, home) = (fixture.repo(), fixture.root.join(".worktrees"));
            let trash = fixture.root.join(".liza/trash");
            Self { fixture, repo, home, trash }
        }

        fn worktrees(&self) -> Worktrees<'_> {
            Worktrees::new(&self.repo, &self.home, &self.trash)
        }

        /// A worktree with its files.
        fn make(&self, path: &Path, branch: &str) {
            let head = self.fixture.head();
            self.worktrees().add(path, branch, &head, "c").unwrap();
            self.worktrees().check_out(path, &head, || ()).unwrap();
        }
    }

    /// A pipe in the record of no worktree: git would wait for it.
    #[test]
    fn pipe_in_a_foreign_record_is_named() {
        let scene = Scene::new();
        let record = scene.repo.common_dir.join("worktrees/foreign");
        fs::create_dir_all(&record).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            record.join("gitdir"),
            rustix::fs::FileType::Fifo,
            0o600.into(),
            0,
        )
        .unwrap();
        let head = scene.fixture.head();
        let error = scene.worktrees().add(&scene.home.join("t1"), "task/t1", &head, "c").unwrap_err();
        assert!(error.to_string().contains("worktrees/foreign/gitdir` is not a regular file"), "{error}");
        assert_eq!(refs::value(&scene.repo, "refs/heads/task/t1").unwrap(), None);
    }

    #[test]
    fn worktree_is_made_locked_on_its_branch() {
        let place = Scene::new();
        let head = place.fixture.head();
        let path = place.home.join("t 1é");
        place.worktrees().add(&path, "task/t1", &head, "coder-1\nx").unwrap();
        checkouts::check_sound(&place.repo, &path).unwrap();
        let found = &checkouts::list(&place.repo).unwrap()[0];
        assert_eq!(found.branch.as_deref(), Some("task/t1"));
        assert_eq!(found.locked.as_deref(), Some("liza: coder-1 x"));
        assert!(!place.fixture.git(&["config", "--list"]).contains("branch.task"), "no tracking was set up");

        assert!(place.worktrees().is_ours(found));
        let locked_by_user = Checkout { locked: Some("mine".to_owned()), ..found.clone() };
        assert!(!place.worktrees().is_ours(&locked_by_user), "the lock reason decides");

        let detached = place.home.join(".review/t1");
        place.worktrees().add_detached(&detached, &head, "reviewer").unwrap();
        assert_eq!(checkouts::list(&place.repo).unwrap().len(), 2);
    }

    #[test]
    fn taken_path_or_branch_is_named() {
        let place = Scene::new();
        let base = place.fixture.head();
        let elsewhere = place.fixture.branch("task/t1", &base, &[("a", "b")]);
        let error = place.worktrees().add(&place.home.join("t1"), "task/t1", &base, "c").unwrap_err();
        assert!(
            matches!(&error, WorktreeError::Branch(RefError::Taken { at, .. }) if *at == elsewhere),
            "{error:?}"
        );
        place.fixture.git(&["branch", "tasks", "main"]);
        let error = place.worktrees().add(&place.home.join("t1"), "tasks/t1", &base, "c").unwrap_err();
        assert!(matches!(&error, WorktreeError::Branch(RefError::Clash { .. })), "{error:?}");
        assert!(matches!(
            place.worktrees().add(&place.home.join("t1"), "-x", &base, "c"),
            Err(WorktreeError::Branch(RefError::BadName { .. }))
        ));
        fs::create_dir_all(place.home.join("t2")).unwrap();
        let error = place.worktrees().add(&place.home.join("t2"), "task/t2", &base, "c").unwrap_err();
        assert!(matches!(error, WorktreeError::PathTaken { .. }));
        assert_eq!(refs::value(&place.repo, "refs/heads/task/t2").unwrap(), None, "nothing was begun");
    }

    #[test]
    fn removal_keeps_everything_and_can_be_repeated() {
        let place = Scene::new();
        let path = place.home.join("t1");
        place.make(&path, "task/t1");
        write_in(&path, "precious", "work");
        let bin = place.worktrees().remove_to_trash(&path).unwrap().unwrap();
        assert_eq!(fs::read(bin.join("tree/precious")).unwrap(), b"work");
        assert!(bin.join("record/HEAD").exists() && !path.exists());
        assert!(checkouts::list(&place.repo).unwrap().is_empty());
        assert_eq!(place.worktrees().remove_to_trash(&path).unwrap(), None);

        // The branch is free again, and the second removal does not collide with the first.
        place.make(&path, "task/t1.2");
        let second = place.worktrees().remove_to_trash(&path).unwrap().unwrap();
        assert_ne!(second, bin);
        place.fixture.git(&["worktree", "list"]);
    }

    #[test]
    fn deletion_leaves_nothing_and_can_be_finished() {
        let place = Scene::new();
        let path = place.home.join("t1");
        place.make(&path, "task/t1");
        let delete = || place.worktrees().delete(&path, Contents::of(&path)).unwrap();
        assert_eq!(delete(), Deletion::Done);
        assert!(!path.exists() && checkouts::list(&place.repo).unwrap().is_empty() && !place.trash.exists());
        assert_eq!(delete(), Deletion::Nothing);
        // Changed after it was examined, at the top, deeper and in a file.
        for name in ["new.txt", "new/deep.txt", "file.txt"] {
            let path = place.home.join("t3");
            place.make(&path, "task/t3");
            let examined = Contents::of(&path);
            write_in(&path, name, "precious");
            assert_eq!(place.worktrees().delete(&path, examined).unwrap(), Deletion::Changed, "{name}");
            assert!(path.join(name).exists() && checkouts::check_sound(&place.repo, &path).is_ok());
            place.worktrees().remove_to_trash(&path).unwrap();
            refs::delete_branch_if_at(&place.repo, "task/t3", &place.fixture.head()).unwrap();
        }
        // A file and a link of such a name are not liza's.
        write_in(&place.home, ".going-mine", "precious");
        std::os::unix::fs::symlink("/nowhere", place.home.join(".going-link")).unwrap();
        place.worktrees().finish_deletions(&place.home).unwrap();
        for name in [".going-mine", ".going-link"] {
            fs::remove_file(place.home.join(name)).unwrap();
        }
        // Died after the rename: it may have been changed meanwhile, so it is as before.
        let second = place.home.join("t2");
        place.make(&second, "task/t2");
        fs::rename(&second, place.home.join(".going-t2")).unwrap();
        place.worktrees().finish_deletions(&place.home).unwrap();
        checkouts::check_sound(&place.repo, &second).unwrap();
        // The same, but another process has taken the name.
        fs::rename(&second, place.home.join(".going-t2")).unwrap();
        write_in(&second, "other.txt", "precious");
        place.worktrees().finish_deletions(&place.home).unwrap();
        assert!(second.join("other.txt").exists() && place.trash.join("t2/tree/.git").exists());
        fs::remove_dir_all(&second).unwrap();
        // Died in the record.
        let half = place.worktrees().going_records().join("t2");
        fs::create_dir_all(half.parent().unwrap()).unwrap();
        fs::rename(place.repo.common_dir.join("worktrees/t2"), &half).unwrap();
        fs::create_dir(place.home.join(".going-t2")).unwrap();
        place.worktrees().finish_deletions(&place.home).unwrap();
        assert_eq!(fs::read_dir(&place.home).unwrap().count(), 0);
        assert!(checkouts::list(&place.repo).unwrap().is_empty() && !half.exists());
        place.worktrees().finish_deletions(&place.home.join("none")).unwrap();
    }

    #[test]
    fn lost_git_file_is_written_again() {
        let place = Scene::new();
        let path = place.home.join("t1");
        place.make(&path, "task/t1");
        write_in(&path, "precious", "work");
        fs::remove_file(path.join(".git")).unwrap();
        place.worktrees().reconnect(&path).unwrap();
        checkouts::check_sound(&place.repo, &path).unwrap();
        assert_eq!(fs::read(path.join("precious")).unwrap(), b"work");
        assert!(place.worktrees().reconnect(&path).is_err(), "never over one that is there");
        fs::remove_file(path.join(".git")).unwrap();
        fs::remove_dir_all(place.repo.common_dir.join("worktrees/t1")).unwrap();
        assert!(matches!(place.worktrees().reconnect(&path), Err(WorktreeError::NoRecord { .. })));
    }

    #[test]
    fn removal_finishes_what_a_crash_left() {
        let place = Scene::new();
        let head = place.fixture.head();
        let (one, two) = (place.home.join("one"), place.home.join("two"));
        place.worktrees().add(&one, "one", &head, "c").unwrap();
        place.worktrees().add(&two, "two", &head, "c").unwrap();
        fs::rename(&one, place.fixture.outside("moved")).unwrap();
        assert!(place.worktrees().remove_to_trash(&one).unwrap().is_some(), "only the record was left");
        fs::remove_dir_all(place.repo.common_dir.join("worktrees/two")).unwrap();
        assert!(place.worktrees().remove_to_trash(&two).unwrap().is_some(), "only the directory was left");
        assert!(checkouts::list(&place.repo).unwrap().is_empty() && !two.exists());
    }

    #[test]
    fn only_incomplete_liza_records_are_healed() {
        let place = Scene::new();
        let head = place.fixture.head();
        let records = place.repo.common_dir.join("worktrees");
        let broken = |name: &str, gitdir: &str, locked: Option<&str>| {
            let dir = records.join(name);
            fs::create_dir_all(&dir).unwrap();
            fs::write(dir.join("gitdir"), gitdir).unwrap();
            fs::write(dir.join("HEAD"), format!("{head}\n")).unwrap();
            fs::write(dir.join("commondir"), "").unwrap();
            if let Some(reason) = locked {
                fs::write(dir.join("locked"), reason).unwrap();
            }
        };
        broken("t1", &format!("{}\n", place.home.join("t1/.git").display()), None);
        broken("t2", "", Some("liza: coder-2"));
        broken("users", &format!("{}\n", place.fixture.outside("users/.git").display()), None);
        broken("theirs", "", Some("initializing"));
        let healed = place.worktrees().heal().unwrap();
        assert_eq!(healed, ["t1/record", "t2/record"].map(|at| place.trash.join(at)));
        assert!(healed.iter().all(|kept_at| kept_at.join("commondir").exists()));
        assert!(records.join("users").exists() && records.join("theirs").exists());
        assert!(place.worktrees().heal().unwrap().is_empty());
    }

    #[test]
    fn add_heals_what_would_stop_it() {
        let place = Scene::new();
        let head = place.fixture.head();
        let first = place.home.join("t1");
        place.worktrees().add(&first, "task/t1", &head, "c").unwrap();
        fs::write(place.repo.common_dir.join("worktrees/t1/commondir"), "").unwrap();
        assert!(Git::reading(&place.fixture.root, "branch").run().is_err(), "this is what breaks git");
        place.worktrees().add(&place.home.join("t1.2"), "task/t1.2", &head, "c").unwrap();
        place.fixture.git(&["branch"]);
        place.fixture.git(&["fsck"]);
    }

    #[test]
    fn user_checkout_is_unchanged() {
        let place = Scene::new();
        place.fixture.write("base.txt", "dirty\n");
        let index = fs::read(place.repo.common_dir.join("index")).unwrap();
        let path = place.home.join("t1");
        place.make(&path, "task/t1");
        write_in(&path, "x", "y");
        commit_in(&path, "x");
        place.worktrees().remove_to_trash(&path).unwrap();
        assert_eq!(fs::read(place.repo.common_dir.join("index")).unwrap(), index);
        assert_eq!(fs::read(place.fixture.root.join("base.txt")).unwrap(), b"dirty\n");
    }
}
