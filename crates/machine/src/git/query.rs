//! Cheap reads, in-process through libgit2: no process is started, and no filter, textconv or attribute applies.

use std::cell::RefCell;
use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use git2::{ErrorCode, ObjectType, Oid, Repository, RepositoryOpenFlags, Sort, TreeEntry};
use thiserror::Error;

use super::command::{Git, GitError, lossy};
use super::commit::{Identity, Signature};
use super::door;
use super::refs;
use super::repo::Repo;
use crate::board::CommitId;

mod changes;
mod drift;

pub(super) use changes::is_binary;
pub use changes::{ChangeStatus, ChangedPath, EntryKind};

/// Why a repository could not be read.
#[derive(Debug, Error)]
pub enum QueryError {
    #[error("cannot read the repository at `{path}`: it uses a feature liza does not know: {why}")]
    Unsupported { path: String, why: String },
    #[error("cannot open the repository at `{path}`")]
    Open { path: String, source: git2::Error },
    #[error("cannot read {what}")]
    Read { what: String, source: git2::Error },
    #[error("the object {id} is missing or does not match its id: {why}")]
    Unsound { id: String, why: String },
    #[error("cannot write an object")]
    Write { source: git2::Error },
    #[error("`{refname}` is not a plain ref: it leads to `{target}`")]
    Symbolic { refname: String, target: String },
    /// Git would not write the file of this ref itself.
    #[error(transparent)]
    Elsewhere(#[from] Box<refs::RefError>),
    #[error("cannot keep a commit as `{refname}`")]
    Pin { refname: String, source: git2::Error },
}

/// Why a repository gave no answer, from libgit2 or from git.
#[derive(Debug, Error)]
pub enum AccessError {
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Query(#[from] QueryError),
}

impl QueryError {
    pub(super) fn read(what: impl Into<String>) -> impl FnOnce(git2::Error) -> Self {
        move |source| Self::Read { what: what.into(), source }
    }
}

/// The parts of a commit that reports and checks need.
#[derive(Debug)]
pub struct CommitInfo {
    pub id: CommitId,
    pub parents: Vec<CommitId>,
    pub author: Signature,
    pub committer: Signature,
    pub subject: String,
}

/// An open repository.
pub struct Query {
    /// For refs, their logs and settings, and commits that liza makes.
    pub(super) git: Rc<Repository>,
    /// For objects: content is checked against its id, and no file beside them (grafts, a commit graph) decides a
    /// commit's parents.
    objects: Rc<Repository>,
}

thread_local! {
    /// The repositories that this thread has opened: opening one takes longer than most queries.
    static OPENED: RefCell<Vec<Opened>> = const { RefCell::new(Vec::new()) };
}

#[derive(Clone)]
struct Opened {
    common_dir: PathBuf,
    is_cut_off: bool,
    git: Rc<Repository>,
    objects: Rc<Repository>,
}

impl Opened {
    fn find_or_open(common_dir: &Path, is_cut_off: bool) -> Result<Self, git2::Error> {
        let is_it = |one: &&Self| one.common_dir == common_dir && one.is_cut_off == is_cut_off;
        if let Some(known) = OPENED.with_borrow(|all| all.iter().find(is_it).cloned()) {
            return Ok(known);
        }
        let git = Rc::new(open_bare(common_dir)?);
        // Cut-off history ends where an accepted file says so.
        let objects = match is_cut_off {
            true => Rc::clone(&git),
            false => Rc::new(objects_alone(&common_dir.join("objects"))?),
        };
        let opened = Self { common_dir: common_dir.to_owned(), is_cut_off, git, objects };
        OPENED.with_borrow_mut(|all| {
            // Tests open many, one after the other.
            all.truncate(7);
            all.insert(0, opened.clone());
        });
        Ok(opened)
    }
}

impl Query {
    /// Opens exactly this repository. Opened as if bare, so the main checkout is not looked at.
    pub fn open(repo: &Repo) -> Result<Self, QueryError> {
        let path = || repo.common_dir.display().to_string();
        let opened = Opened::find_or_open(&repo.common_dir, door::is_cut_off(repo));
        match opened {
            Ok(Opened { git, objects, .. }) => Ok(Self { git, objects }),
            Err(error) if is_unsupported(&error) => {
                Err(QueryError::Unsupported { path: path(), why: error.message().to_owned() })
            }
            Err(source) => Err(QueryError::Open { path: path(), source }),
        }
    }

    /// Whether settings, such as line endings or a sparse checkout, make a checkout differ from the commit.
    pub fn has_checkout_settings(&self) -> bool {
        let Ok(config) = self.git.config() else { return true };
        let set = |name: &str| config.get_string(name).is_ok_and(|value| value != "false");
        set("core.autocrlf") || set("core.eol") || set("core.sparsecheckout") || set("attr.tree")
    }

    /// Whether git may run this hook of the user in a worktree of this repository.
    pub fn has_hook(&self, name: &str) -> bool {
        let Ok(config) = self.git.config() else { return true };
        let dir = match config.get_path("core.hookspath") {
            Ok(dir) if dir.is_absolute() => dir,
            // In each worktree it means another directory.
            Ok(_) => return true,
            Err(_) => self.git.path().join("hooks"),
        };
        // Newer versions of git also have hooks configured as settings.
        dir.join(name).exists()
            || config.entries(Some("^hook\\.")).is_ok_and(|mut found| found.next().is_some())
    }

    /// The attributes files that are not committed: the repository's and the user's.
    pub(super) fn attributes_of_user(&self) -> Vec<PathBuf> {
        let configured = self.git.config().and_then(|config| config.get_path("core.attributesfile")).ok();
        let below = |variable: &str, rest: &str| Some(PathBuf::from(std::env::var_os(variable)?).join(rest));
        let own = configured
            .or_else(|| below("XDG_CONFIG_HOME", "git/attributes"))
            .or_else(|| below("HOME", ".config/git/attributes"));
        own.into_iter().chain([self.git.path().join("info/attributes")]).collect()
    }

    /// How many files a commit has.
    pub fn count_files(&self, commit: &CommitId) -> Result<usize, QueryError> {
        let mut files = 0;
        let walked = self.tree_object(commit)?.walk(git2::TreeWalkMode::PreOrder, |_, entry| {
            files += usize::from(entry.kind() == Some(ObjectType::Blob));
            git2::TreeWalkResult::Ok
        });
        walked.map_err(QueryError::read(format!("the tree of {commit}")))?;
        Ok(files)
    }

    /// Whether a commit has a matching file below this directory.
    pub fn has_file_below(
        &self,
        commit: &CommitId,
        directory: &str,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<bool, QueryError> {
        let directory = directory.trim_end_matches('/');
        let entry = self.found_at(commit, directory)?;
        let Some(entry) = entry.filter(|entry| entry.kind() == Some(ObjectType::Tree)) else {
            return Ok(false);
        };
        let mut found = false;
        let walked = self.git.find_tree(entry.id()).and_then(|tree| {
            tree.walk(git2::TreeWalkMode::PreOrder, |below, entry| {
                let name = String::from_utf8_lossy(entry.name_bytes());
                let is_file = entry.kind() == Some(ObjectType::Blob);
                found = is_file && wanted(&format!("{directory}/{below}{name}"));
                if found { git2::TreeWalkResult::Abort } else { git2::TreeWalkResult::Ok }
            })
        });
        // Ending the walk early is reported as an error.
        match found {
            true => Ok(true),
            false => walked.map(|()| false).map_err(QueryError::read(format!("the tree of {commit}"))),
        }
    }

    /// The identity configured for this repository, or the fallback: read in-process, for liza's own commits.
    pub fn identity(&self) -> Identity {
        let setting = |name: &str| self.setting(name).unwrap_or_default();
        Identity::configured(&setting("user.name"), &setting("user.email"))
    }

    /// Creates a ref at a commit, in a repository with file refs, if no such ref exists. Otherwise returns false and
    /// does nothing: git then reports the reason. Not synced.
    pub(super) fn make_ref(&self, refname: &str, commit: &CommitId) -> Result<bool, refs::RefError> {
        refs::check_way(self.git.path(), refname)?;
        let made = |at| self.git.reference(refname, at, false, "liza: made").is_ok();
        Ok(oid(commit).is_ok_and(made))
    }

    /// Keeps a commit from being collected, under a ref of liza's own. Not synced: a caller that needs it to survive
    /// a power cut syncs the file system.
    pub fn pin(&self, refname: &str, commit: &CommitId) -> Result<(), QueryError> {
        refs::check_way(self.git.path(), refname).map_err(|error| match error {
            refs::RefError::Symbolic { refname, target } => QueryError::Symbolic { refname, target },
            other => QueryError::Elsewhere(Box::new(other)),
        })?;
        let pinned = self.git.reference(refname, oid(commit)?, true, "liza: kept");
        pinned.map(|_| ()).map_err(|source| QueryError::Pin { refname: refname.to_owned(), source })
    }

    pub fn head_of_branch(&self, name: &str) -> Result<Option<CommitId>, QueryError> {
        self.ref_commit(&format!("refs/heads/{name}"))
    }

    /// The commit of a ref. A branch or a ref of liza's that leads to another ref is not followed: moving it would
    /// move the other.
    pub fn ref_commit(&self, refname: &str) -> Result<Option<CommitId>, QueryError> {
        let unreadable = || QueryError::read(format!("`{refname}`"));
        let Some(found) = absent_is_none(find_ref(&self.git, refname)).map_err(unreadable())? else {
            return Ok(None);
        };
        let target = if refname == "HEAD" {
            absent_is_none(found.resolve()).map_err(unreadable())?.and_then(|found| found.target())
        } else {
            let leads_to = || refs::leads_to(self.git.path(), refname).unwrap_or_default();
            if found.kind() != Some(git2::ReferenceType::Direct) || refs::is_link(self.git.path(), refname) {
                return Err(QueryError::Symbolic { refname: refname.to_owned(), target: leads_to() });
            }
            found.target()
        };
        let Some(target) = target else { return Ok(None) };
        let found = self.objects.find_object(target, None).and_then(|object| object.peel_to_commit());
        id_of_found(found, refname)
    }

    /// The commit of the main checkout; none before the first commit.
    pub fn head_commit(&self) -> Result<Option<CommitId>, QueryError> {
        self.ref_commit("HEAD")
    }

    /// The commit that a name, an abbreviation or an expression such as `main~2` means.
    pub fn resolve(&self, rev: &str) -> Result<Option<CommitId>, QueryError> {
        let rev = self.with_branch_in_full(rev);
        let found = self.git.revparse_single(&rev).and_then(|object| object.peel_to_commit());
        id_of_found(found, &rev)
    }

    /// Prefers the branch where a tag has the same name.
    pub fn with_branch_in_full(&self, rev: &str) -> String {
        let end = rev.find(['~', '^', '@', ':']).unwrap_or(rev.len());
        let (name, rest) = rev.split_at(end);
        let full = format!("refs/heads/{name}");
        let is_branch = git2::Reference::is_valid_name(&full) && find_ref(&self.git, &full).is_ok();
        if is_branch { format!("{full}{rest}") } else { rev.to_owned() }
    }

    /// Whether the object is in the repository and is a commit.
    pub fn has_commit(&self, commit: &CommitId) -> bool {
        self.commit(commit).is_ok()
    }

    pub fn tree_of(&self, commit: &CommitId) -> Result<CommitId, QueryError> {
        id_of(self.commit(commit)?.tree_id())
    }

    pub fn parents_of(&self, commit: &CommitId) -> Result<Vec<CommitId>, QueryError> {
        self.commit(commit)?.parent_ids().map(id_of).collect()
    }

    /// Whether `descendant` contains `ancestor`; every commit contains itself.
    pub fn is_ancestor(&self, ancestor: &CommitId, descendant: &CommitId) -> Result<bool, QueryError> {
        if ancestor == descendant {
            return Ok(self.has_commit(ancestor));
        }
        let (below, above) = (oid(descendant)?, oid(ancestor)?);
        self.objects
            .graph_descendant_of(below, above)
            .map_err(QueryError::read(format!("the history between {ancestor} and {descendant}")))
    }

    /// The best common ancestor; none for unrelated histories.
    pub fn merge_base(&self, one: &CommitId, other: &CommitId) -> Result<Option<CommitId>, QueryError> {
        let base = absent_is_none(self.objects.merge_base(oid(one)?, oid(other)?))
            .map_err(QueryError::read(format!("the merge base of {one} and {other}")))?;
        base.map(id_of).transpose()
    }

    /// The commits in `head` that are not in `base`, newest first.
    pub fn commits_between(&self, base: &CommitId, head: &CommitId) -> Result<Vec<CommitInfo>, QueryError> {
        let ids = self.walk(base, head, true, Sort::TOPOLOGICAL | Sort::TIME)?;
        ids.iter().map(|id| self.commit_info(id)).collect()
    }

    /// The ids of the commits in `head` that are not in `base`.
    pub fn ids_between(&self, base: &CommitId, head: &CommitId) -> Result<Vec<CommitId>, QueryError> {
        // A base that no longer exists excludes nothing.
        self.walk(base, head, self.has_commit(base), Sort::NONE)
    }

    fn walk(
        &self,
        base: &CommitId,
        head: &CommitId,
        hides_base: bool,
        order: Sort,
    ) -> Result<Vec<CommitId>, QueryError> {
        let ids = || -> Result<Vec<Oid>, git2::Error> {
            let mut walk = self.objects.revwalk()?;
            walk.set_sorting(order)?;
            walk.push(Oid::from_str(head.as_str())?)?;
            if hides_base {
                walk.hide(Oid::from_str(base.as_str())?)?;
            }
            walk.collect()
        };
        let ids = ids().map_err(QueryError::read(format!("the history between {base} and {head}")))?;
        ids.into_iter().map(id_of).collect()
    }

    /// The first parents of `head`, newest first, down to those that are in `base`.
    pub fn first_parents_until(&self, head: &CommitId, base: &CommitId) -> Result<Vec<CommitId>, QueryError> {
        let new: HashSet<CommitId> = self.ids_between(base, head)?.into_iter().collect();
        let mut line = Vec::new();
        let mut at = Some(head.clone());
        while let Some(id) = at.filter(|id| new.contains(id)) {
            at = self.parents_of(&id)?.into_iter().next();
            line.push(id);
        }
        Ok(line)
    }

    /// The full names of all refs below a prefix, plain or not.
    pub fn refs_below(&self, prefix: &str) -> Result<Vec<String>, QueryError> {
        let names = || -> Result<Vec<String>, git2::Error> {
            let mut found = Vec::new();
            super::files::check_refs(self.git.path(), prefix.trim_end_matches('/'))
                .map_err(|why| git2::Error::from_str(&why))?;
            let glob = format!("{prefix}*");
            for name in self.git.references_glob(&glob)?.names() {
                match name {
                    Ok(name) => found.push(name.to_owned()),
                    // A name that is not text: it is shown as far as it is.
                    Err(_) => {
                        let all = self.git.references_glob(&glob)?.flatten();
                        found = all.map(|found| lossy(found.name_bytes())).collect();
                        break;
                    }
                }
            }
            found.sort();
            Ok(found)
        };
        names().map_err(QueryError::read(format!("the refs below {prefix}")))
    }

    /// The full names of all refs below a prefix, with their targets, existing or not.
    pub fn targets_below(&self, prefix: &str) -> Result<Vec<(String, CommitId)>, QueryError> {
        let mut found = Vec::new();
        for name in self.refs_below(prefix)? {
            if let Some(target) = find_ref(&self.git, &name).ok().and_then(|found| found.target()) {
                found.push((name, id_of(target)?));
            }
        }
        Ok(found)
    }

    /// Who last moved a branch and with which message, if git's reflog has it.
    pub fn reflog_of(&self, branch: &str, at: Option<&CommitId>) -> Option<(Signature, String)> {
        let log = self.git.reflog(&format!("refs/heads/{branch}")).ok()?;
        let entry = log.iter().next()?;
        if at.is_some_and(|at| entry.id_new().to_string() != at.as_str()) {
            return None;
        }
        let message = lossy(entry.message_bytes().unwrap_or_default());
        Some((signature(&entry.committer()), message))
    }

    pub fn commit_info(&self, id: &CommitId) -> Result<CommitInfo, QueryError> {
        let commit = self.commit(id)?;
        Ok(CommitInfo {
            id: id.clone(),
            parents: commit.parent_ids().map(id_of).collect::<Result<_, _>>()?,
            author: signature(&commit.author()),
            committer: signature(&commit.committer()),
            subject: lossy(commit.summary_bytes().unwrap_or_default()),
        })
    }

    /// The message of a commit with its trailers.
    pub fn message_of(&self, id: &CommitId) -> Result<String, QueryError> {
        Ok(lossy(self.commit(id)?.message_bytes()))
    }

    /// The bytes of a regular file as stored in a commit; none for a directory, a symlink or a submodule.
    pub fn file_at(&self, commit: &CommitId, path: &str) -> Result<Option<Vec<u8>>, QueryError> {
        if !Path::new(path).components().all(|part| matches!(part, Component::Normal(_))) {
            return Ok(None);
        }
        let is_file = |entry: &TreeEntry<'_>| {
            entry.kind() == Some(ObjectType::Blob) && EntryKind::of(entry.filemode()) != EntryKind::Symlink
        };
        let found = self.found_at(commit, path)?.filter(is_file);
        found.map(|entry| self.blob(entry.id())).transpose()
    }

    /// A yes-or-no setting of the repository; no when it is not set.
    pub(super) fn config_flag(&self, key: &str) -> bool {
        let worktree = git2::Config::open(&self.git.path().join("config.worktree"));
        let value = self.git.config().and_then(|config| config.get_bool(key));
        value.or_else(|_| worktree.and_then(|config| config.get_bool(key))).unwrap_or(false)
    }

    /// A setting as git would see it in this repository.
    pub fn setting(&self, key: &str) -> Option<String> {
        self.git.config().and_then(|config| config.get_string(key)).ok()
    }

    pub fn has_path(&self, commit: &CommitId, path: &str) -> Result<bool, QueryError> {
        Ok(self.found_at(commit, path)?.is_some())
    }

    pub(super) fn found_at(
        &self,
        commit: &CommitId,
        path: &str,
    ) -> Result<Option<TreeEntry<'static>>, QueryError> {
        let found =
            self.commit(commit)?.tree().and_then(|tree| absent_is_none(tree.get_path(Path::new(path))));
        found.map_err(QueryError::read(format!("`{path}` at {commit}")))
    }

    pub(super) fn blob(&self, id: Oid) -> Result<Vec<u8>, QueryError> {
        let blob = self.objects.find_blob(id).map_err(QueryError::read(format!("blob {id}")))?;
        Ok(blob.content().to_owned())
    }

    /// Writes the bytes of a file as an object; the same bytes always get the same id.
    pub(super) fn write_blob(&self, bytes: &[u8]) -> Result<Oid, QueryError> {
        self.git.blob(bytes).map_err(|source| QueryError::Write { source })
    }

    pub(super) fn tree_object(&self, commit: &CommitId) -> Result<git2::Tree<'_>, QueryError> {
        self.commit(commit)?.tree().map_err(QueryError::read(format!("the tree of {commit}")))
    }

    pub(super) fn tree_by_id(&self, id: Oid) -> Result<git2::Tree<'_>, QueryError> {
        self.objects.find_tree(id).map_err(QueryError::read(format!("tree {id}")))
    }

    /// The same repository, without cached objects.
    pub(super) fn afresh(&self, repo: &Repo) -> Result<Self, QueryError> {
        let objects =
            objects_alone(&repo.common_dir.join("objects")).map_err(QueryError::read("the objects"))?;
        Ok(Self { git: Rc::clone(&self.git), objects: Rc::new(objects) })
    }

    pub(super) fn objects(&self) -> &Repository {
        &self.objects
    }

    pub(super) fn commit(&self, id: &CommitId) -> Result<git2::Commit<'_>, QueryError> {
        self.objects.find_commit(oid(id)?).map_err(QueryError::read(format!("commit {id}")))
    }
}

/// The difference between two commits for people to read, with renames.
///
/// The git program writes it: people know its layout. Configured diff programs do not run.
pub fn diff_text(repo: &Repo, from: &CommitId, to: &CommitId) -> Result<String, GitError> {
    Ok(lossy(&diff(repo, from, to).run()?))
}

/// As [`diff_text`], at most so many bytes of it.
pub fn start_of_diff(repo: &Repo, from: &CommitId, to: &CommitId, bytes: u64) -> Result<String, GitError> {
    Ok(lossy(&diff(repo, from, to).run_start(bytes)?))
}

fn diff(repo: &Repo, from: &CommitId, to: &CommitId) -> Git {
    Git::reading(&repo.root, "diff-tree")
        .args(["-r", "-p", "-M", "--no-ext-diff", "--no-textconv", "--no-relative", "--color=never"])
        .args(["--ignore-submodules=none", "--submodule=short", "--src-prefix=a/", "--dst-prefix=b/"])
        .end_of_options()
        .args([from.as_str(), to.as_str(), "--"])
}

/// Opens exactly the repository in this directory, as if bare.
pub(super) fn open_bare(dir: &Path) -> Result<Repository, git2::Error> {
    let flags = RepositoryOpenFlags::NO_SEARCH | RepositoryOpenFlags::NO_DOTGIT | RepositoryOpenFlags::BARE;
    let none: [&str; 0] = [];
    super::files::check_repository(dir).map_err(|why| git2::Error::from_str(&why))?;
    Repository::open_ext(dir, flags, none)
}

/// A ref by its full name. libgit2 opens its file by name and would wait for a pipe in its place.
pub(super) fn find_ref<'r>(git: &'r Repository, refname: &str) -> Result<git2::Reference<'r>, git2::Error> {
    super::files::check_refs(git.path(), refname).map_err(|why| git2::Error::from_str(&why))?;
    git.find_reference(refname)
}

/// The settings of a repository, of its user and of the system.
pub(super) fn config_of(repo: &Repo) -> Result<git2::Config, git2::Error> {
    Opened::find_or_open(&repo.common_dir, false)?.git.config()
}

/// The objects of a repository and nothing else.
fn objects_alone(dir: &Path) -> Result<Repository, git2::Error> {
    // libgit2 looks for a commit graph in the first directory only: users cannot write into this one.
    const WITHOUT_GRAPH: &str = if cfg!(target_os = "linux") { "/proc" } else { "/dev" };
    let odb = git2::Odb::new()?;
    odb.add_disk_alternate(WITHOUT_GRAPH)?;
    odb.add_disk_alternate(&name_of(dir)?)?;
    Repository::from_odb(odb)
}

/// A directory as text, which libgit2's binding requires. A name that is not UTF-8 is replaced by the path of an open
/// handle.
fn name_of(dir: &Path) -> Result<String, git2::Error> {
    if let Some(text) = dir.to_str() {
        return Ok(text.to_owned());
    }
    thread_local! {
        /// Open for as long as the repositories reached through them.
        static HANDLES: std::cell::RefCell<Vec<std::fs::File>> = const { std::cell::RefCell::new(Vec::new()) };
    }
    let handle = std::fs::File::open(dir).map_err(|error| git2::Error::from_str(&error.to_string()))?;
    let name = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&handle));
    HANDLES.with_borrow_mut(|all| all.push(handle));
    Ok(name)
}

/// libgit2 has no error code for an unknown extension, only this wording.
fn is_unsupported(error: &git2::Error) -> bool {
    let text = error.message();
    text.contains("extension") || text.contains("repository version") || text.contains("object format")
}

fn absent_is_none<T>(result: Result<T, git2::Error>) -> Result<Option<T>, git2::Error> {
    result.map(Some).or_else(|error| match error.code() {
        ErrorCode::NotFound | ErrorCode::UnbornBranch | ErrorCode::InvalidSpec | ErrorCode::Peel => Ok(None),
        _ => Err(error),
    })
}

fn id_of_found(
    found: Result<git2::Commit<'_>, git2::Error>,
    name: &str,
) -> Result<Option<CommitId>, QueryError> {
    let commit = absent_is_none(found).map_err(QueryError::read(format!("`{name}`")))?;
    commit.map(|commit| id_of(commit.id())).transpose()
}

pub(super) fn oid(id: &CommitId) -> Result<Oid, QueryError> {
    Oid::from_str(id.as_str()).map_err(QueryError::read(format!("the id {id}")))
}

pub(super) fn id_of(oid: Oid) -> Result<CommitId, QueryError> {
    let not_full =
        |_| QueryError::read(format!("the id {oid}"))(git2::Error::from_str("not a full object id"));
    CommitId::new(&oid.to_string()).map_err(not_full)
}

fn signature(signature: &git2::Signature<'_>) -> Signature {
    Signature {
        identity: Identity { name: lossy(signature.name_bytes()), email: lossy(signature.email_bytes()) },
        seconds: signature.when().seconds(),
    }
}

#[cfg(test)]
mod tests;
