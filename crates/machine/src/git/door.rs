//! Which settings a git command of liza's own sees.
//!
//! A git command that reads or writes files obeys the configuration: filters, drivers, attributes. Agents can write
//! there. So such a command gets another common directory (`GIT_COMMON_DIR`): liza makes it for the life of its
//! process, with the configuration and attributes that a person accepted, and links to the repository's objects, refs
//! and worktree records. Later settings are not in it. liza also sets `GIT_DIR` and `GIT_WORK_TREE`, so that a
//! rewritten `.git` file or `commondir` has no effect.

use std::os::unix::fs::symlink;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::host::anchored_path::Temporary;

use super::checkouts::check_sound;
use super::files;
use super::prelude::*;
use super::scratch::scratch_dir;
use super::settings::Settings;

/// Returns the accepted settings; none on a board that has none.
pub type Accepted = Box<dyn Fn() -> Option<Settings> + Send>;

/// What liza knows of a repository it works on.
struct Known {
    repo: Repo,
    board: PathBuf,
    accepted: Accepted,
    /// Checkouts that passed their check, each with its git directory.
    sound: Vec<(PathBuf, PathBuf)>,
    /// Made on first use; none if no settings were ever accepted.
    door: Option<Option<Arc<Door>>>,
}

static KNOWN: Mutex<Vec<Known>> = Mutex::new(Vec::new());

fn known() -> MutexGuard<'static, Vec<Known>> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From now on git commands in this repository see the accepted settings, and programs they start may not act on this
/// board.
#[must_use]
pub fn guard(repo: &Repo, board: &Path, accepted: Accepted) -> Keeper {
    let mut all = known();
    all.retain(|known| known.repo.common_dir != repo.common_dir);
    all.push(Known { repo: repo.clone(), board: board.to_owned(), accepted, sound: Vec::new(), door: None });
    Keeper { common_dir: repo.common_dir.clone() }
}

/// Removes the directories made for the git commands of this process.
pub fn close() {
    known().clear();
}

/// A checkout is made again at this path: forget the check of the former one.
pub(super) fn forget_checkout(dir: &Path) {
    for known in known().iter_mut() {
        known.sound.retain(|(sound, _)| sound != dir);
    }
}

/// While this value lives, the directory made for git commands in a repository stays.
#[derive(Debug)]
pub struct Keeper {
    common_dir: PathBuf,
}

impl Drop for Keeper {
    fn drop(&mut self) {
        for known in known().iter_mut().filter(|known| known.repo.common_dir == self.common_dir) {
            known.door = None;
        }
    }
}

/// Whether liza may run this hook of the user: a person accepted it, and it is unchanged.
pub(super) fn may_run_hook(repo: &Repo, hook: &str) -> Option<PathBuf> {
    let door = door_of(repo).ok()??;
    door.settings.accepted_hook(repo, hook).then(|| door.board.clone())
}

/// Whether liza knows the accepted settings of this repository.
pub(super) fn is_guarded(repo: &Repo) -> bool {
    matches!(door_of(repo), Ok(Some(_)))
}

/// Whether the file `shallow` ends the history of a repository: in a guarded one, only if a person accepted that
/// file.
pub(super) fn is_cut_off(repo: &Repo) -> bool {
    repo.common_dir.join("shallow").exists()
        && match door_of(repo) {
            Ok(Some(door)) => door.settings.is_accepted(repo, "shallow"),
            Ok(None) => true,
            Err(_) => false,
        }
}

fn door_of(repo: &Repo) -> Result<Option<Arc<Door>>, GitError> {
    let mut all = known();
    let Some(at) = all.iter_mut().find(|known| known.repo.common_dir == repo.common_dir) else {
        return Ok(None);
    };
    if at.door.is_none() {
        let settings = (at.accepted)();
        let made = settings.map(|settings| Door::make(&at.repo, &at.board, settings)).transpose()?;
        at.door = Some(made.map(Arc::new));
    }
    Ok(at.door.clone().flatten())
}

/// How a command in this directory finds its repository.
#[derive(Debug)]
pub(super) struct Way {
    git_dir: PathBuf,
    work_tree: PathBuf,
    door: Option<Arc<Door>>,
    common_dir: PathBuf,
}

/// Commands that only handle names: they read and write no file through which git could start a program.
const ABOUT_NAMES: [&str; 8] =
    ["update-ref", "for-each-ref", "symbolic-ref", "worktree", "rev-parse", "config", "version", "hook"];

/// How a command reaches the repository of a checkout; none if liza guards no repository. A directory that claims to
/// belong to another repository is an error.
pub(super) fn access_for(dir: &Path, subcommand: &str) -> Result<Option<Way>, GitError> {
    let Some((repo, git_dir)) = repository_of(dir)? else { return Ok(None) };
    files::check_repository(&repo.common_dir).map_err(|why| GitError::Misled { why })?;
    let door = if ABOUT_NAMES.contains(&subcommand) { None } else { door_of(&repo)? };
    Ok(Some(Way { git_dir, work_tree: dir.to_owned(), door, common_dir: repo.common_dir.clone() }))
}

/// The guarded repository of a checkout, and the checkout's git directory.
pub(super) fn repository_of(dir: &Path) -> Result<Option<(Repo, PathBuf)>, GitError> {
    let mut all = known();
    if let Some(known) = all.iter().find(|known| known.repo.root == dir) {
        return Ok(Some((known.repo.clone(), known.repo.common_dir.clone())));
    }
    let found_sound = |known: &Known| {
        let (_, git_dir) = known.sound.iter().find(|(sound, _)| sound == dir)?;
        Some((known.repo.clone(), git_dir.clone()))
    };
    if let Some(found) = all.iter().find_map(found_sound) {
        return Ok(Some(found));
    }
    let Some(known) = all.iter_mut().find(|known| claims(dir, &known.repo)) else { return Ok(None) };
    check_sound(&known.repo, dir).map_err(|fault| GitError::Misled { why: fault.to_string() })?;
    let git_dir =
        read_git_file(&dir.join(".git")).ok_or_else(|| GitError::NoCheckout { dir: dir.to_owned() })?;
    files::check_checkout(&git_dir).map_err(|why| GitError::Misled { why })?;
    known.sound.push((dir.to_owned(), git_dir.clone()));
    Ok(Some((known.repo.clone(), git_dir)))
}

/// Whether a directory is a worktree of this repository, or at the path of one.
fn claims(dir: &Path, repo: &Repo) -> bool {
    let leads_here = read_git_file(&dir.join(".git")).is_some_and(|to| to.starts_with(&repo.common_dir));
    leads_here || (dir.starts_with(&repo.root) && dir.join(".git").symlink_metadata().is_ok())
}

impl Way {
    pub fn env(&self) -> Vec<(&'static str, OsString)> {
        let mut env = vec![("GIT_DIR", self.git_dir.clone().into_os_string())];
        match &self.door {
            None => {
                // It sees the present configuration: a missing object must not start the program of a remote.
                env.push(("GIT_NO_LAZY_FETCH", "1".into()));
                // A command about names may make a worktree, which has its own git directory.
                if self.git_dir != self.common_dir {
                    env.push(("GIT_WORK_TREE", self.work_tree.clone().into_os_string()));
                    env.push(("GIT_COMMON_DIR", self.common_dir.clone().into_os_string()));
                }
            }
            Some(door) => {
                env.push(("GIT_WORK_TREE", self.work_tree.clone().into_os_string()));
                env.push(("GIT_COMMON_DIR", door.shadow.path().as_os_str().to_owned()));
                env.push(("GIT_CONFIG_NOSYSTEM", "1".into()));
                env.push(("GIT_CONFIG_GLOBAL", "/dev/null".into()));
            }
        }
        env
    }

    pub fn config(&self) -> Vec<OsString> {
        let Some(door) = &self.door else { return Vec::new() };
        let mut attributes = OsString::from("core.attributesFile=");
        attributes.push(door.shadow.path().join(USER_ATTRIBUTES));
        vec!["-c".into(), attributes]
    }

    /// The board that programs started by git must not act on; none if git starts none.
    pub fn held_for(&self) -> Option<&Path> {
        self.door.as_ref().filter(|door| door.settings.runs_programs()).map(|door| door.board.as_path())
    }
}

const USER_ATTRIBUTES: &str = "user-attributes";

/// The common directory for the git commands of this process.
#[derive(Debug)]
struct Door {
    shadow: Temporary,
    settings: Settings,
    board: PathBuf,
}

/// The parts of the repository that are used as they are. Git creates none of them in a command that writes no name.
const LINKED: [&str; 8] = ["objects", "refs", "logs", "worktrees", "modules", "reftable", "lfs", "HEAD"];

impl Door {
    fn make(repo: &Repo, board: &Path, settings: Settings) -> Result<Self, GitError> {
        let shadow = scratch_dir(&repo.common_dir, &repo.root)?;
        let (dir, common) = (shadow.path(), &repo.common_dir);
        let link =
            |name: &str| symlink(common.join(name), dir.join(name)).map_err(GitError::io(&dir.join(name)));
        let write =
            |name: &str, text: &str| fs::write(dir.join(name), text).map_err(GitError::io(&dir.join(name)));
        for name in LINKED.iter().filter(|name| common.join(name).symlink_metadata().is_ok()) {
            link(name)?;
        }
        // It may appear while this process lives.
        link("packed-refs")?;
        let info = dir.join("info");
        fs::create_dir(&info).map_err(GitError::io(&info))?;
        link("info/exclude")?;
        if let Some(text) = settings.repository_attributes() {
            write("info/attributes", text)?;
        }
        if let Some(text) = settings.user_attributes() {
            write(USER_ATTRIBUTES, text)?;
        }
        if common.join("shallow").exists() && settings.is_accepted(repo, "shallow") {
            link("shallow")?;
        }
        let now = Settings::current(repo);
        write("config", &settings.config_file(&now))?;
        Ok(Self { shadow, settings, board: board.to_owned() })
    }
}
