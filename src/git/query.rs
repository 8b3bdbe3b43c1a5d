//! Cheap reads, in-process through libgit2: nothing is spawned, no filter, no textconv, no attribute has a say.

use std::collections::HashSet;
use std::path::{Component, Path};

use git2::{ErrorCode, ObjectType, Oid, Repository, RepositoryOpenFlags, Sort};
use thiserror::Error;

use super::command::{Git, GitError};
use super::commit::{Identity, Signature};
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
    #[error("cannot write an object")]
    Write { source: git2::Error },
    #[error("cannot keep a commit as `{refname}`")]
    Pin { refname: String, source: git2::Error },
}

impl QueryError {
    fn read(what: impl Into<String>) -> impl FnOnce(git2::Error) -> Self {
        move |source| Self::Read { what: what.into(), source }
    }
}

/// A commit, as much of it as reports and checks need.
#[derive(Debug)]
pub struct CommitInfo {
    pub id: CommitId,
    pub parents: Vec<CommitId>,
    pub author: Signature,
    pub committer: Signature,
    pub subject: String,
}

/// Whether a text for people has terminal colours in it.
#[derive(Debug, Clone, Copy)]
pub enum Color {
    Always,
    Never,
}

/// An open repository to ask.
pub struct Query {
    git: Repository,
}

impl Query {
    /// Opens exactly this repository. It is opened as if bare, so the main checkout is not even looked at.
    pub fn open(repo: &Repo) -> Result<Self, QueryError> {
        let flags =
            RepositoryOpenFlags::NO_SEARCH | RepositoryOpenFlags::NO_DOTGIT | RepositoryOpenFlags::BARE;
        let none: [&str; 0] = [];
        let path = || repo.common_dir.display().to_string();
        match Repository::open_ext(&repo.common_dir, flags, none) {
            Ok(git) => Ok(Self { git }),
            Err(error) if is_unsupported(&error) => {
                Err(QueryError::Unsupported { path: path(), why: error.message().to_owned() })
            }
            Err(source) => Err(QueryError::Open { path: path(), source }),
        }
    }

    /// Whether settings make a checkout differ from what is committed, such as line endings or a sparse checkout.
    pub fn has_checkout_settings(&self) -> bool {
        let Ok(config) = self.git.config() else { return true };
        let set = |name: &str| config.get_string(name).is_ok_and(|value| value != "false");
        set("core.autocrlf") || set("core.eol") || set("core.sparsecheckout")
    }

    /// The name configured for this repository, or the fallback: read in-process, for commits that liza makes itself.
    pub fn identity(&self) -> Identity {
        let setting =
            |name: &str| self.git.config().and_then(|config| config.get_string(name)).unwrap_or_default();
        let found = Identity {
            name: setting("user.name").trim().to_owned(),
            email: setting("user.email").trim().to_owned(),
        };
        if found.name.is_empty() || found.email.is_empty() { Identity::fallback() } else { found }
    }

    /// Keeps a commit from being collected, under a ref that is ours alone. Not flushed: whoever needs it to survive a
    /// power cut syncs the file system before saying so.
    pub fn pin(&self, refname: &str, commit: &CommitId) -> Result<(), QueryError> {
        let id = oid(commit)?;
        self.git
            .reference(refname, id, true, "liza: kept")
            .map(|_| ())
            .map_err(|source| QueryError::Pin { refname: refname.to_owned(), source })
    }

    /// The commit a local branch is at.
    pub fn head_of_branch(&self, name: &str) -> Result<Option<CommitId>, QueryError> {
        self.ref_commit(&format!("refs/heads/{name}"))
    }

    /// The commit a full ref name leads to.
    pub fn ref_commit(&self, refname: &str) -> Result<Option<CommitId>, QueryError> {
        let found = self.git.find_reference(refname).and_then(|reference| reference.peel_to_commit());
        match absent_is_none(found).map_err(QueryError::read(format!("`{refname}`")))? {
            Some(commit) => id_of(commit.id()).map(Some),
            None => Ok(None),
        }
    }

    /// The commit the main checkout is at; none before the first commit.
    pub fn head_commit(&self) -> Result<Option<CommitId>, QueryError> {
        self.ref_commit("HEAD")
    }

    /// The commit somebody means by a name, an abbreviation or an expression such as `main~2`.
    pub fn resolve(&self, rev: &str) -> Result<Option<CommitId>, QueryError> {
        let found = self.git.revparse_single(rev).and_then(|object| object.peel_to_commit());
        match absent_is_none(found).map_err(QueryError::read(format!("`{rev}`")))? {
            Some(commit) => id_of(commit.id()).map(Some),
            None => Ok(None),
        }
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
        self.git
            .graph_descendant_of(below, above)
            .map_err(QueryError::read(format!("the history between {ancestor} and {descendant}")))
    }

    /// The best common ancestor; none for unrelated histories.
    pub fn merge_base(&self, one: &CommitId, other: &CommitId) -> Result<Option<CommitId>, QueryError> {
        let base = absent_is_none(self.git.merge_base(oid(one)?, oid(other)?))
            .map_err(QueryError::read(format!("the merge base of {one} and {other}")))?;
        base.map(id_of).transpose()
    }

    /// The commits in `head` that are not in `base`, newest first.
    pub fn commits_between(&self, base: &CommitId, head: &CommitId) -> Result<Vec<CommitInfo>, QueryError> {
        let ids = || -> Result<Vec<Oid>, git2::Error> {
            let mut walk = self.git.revwalk()?;
            walk.set_sorting(Sort::TOPOLOGICAL | Sort::TIME)?;
            walk.push(Oid::from_str(head.as_str())?)?;
            walk.hide(Oid::from_str(base.as_str())?)?;
            walk.collect()
        };
        let ids = ids().map_err(QueryError::read(format!("the history between {base} and {head}")))?;
        ids.into_iter().map(|id| self.commit_info(&id_of(id)?)).collect()
    }

    /// The ids of the commits in `head` that are not in `base`.
    pub fn ids_between(&self, base: &CommitId, head: &CommitId) -> Result<Vec<CommitId>, QueryError> {
        let ids = || -> Result<Vec<Oid>, git2::Error> {
            let mut walk = self.git.revwalk()?;
            walk.push(Oid::from_str(head.as_str())?)?;
            // A base that is gone hides nothing.
            if self.has_commit(base) {
                walk.hide(Oid::from_str(base.as_str())?)?;
            }
            walk.collect()
        };
        let ids = ids().map_err(QueryError::read(format!("the history between {base} and {head}")))?;
        ids.into_iter().map(id_of).collect()
    }

    /// From `head` along the first parents, newest first, as far as they are not in `base`.
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

    /// The full names of all refs below a prefix, whatever they lead to.
    pub fn refs_below(&self, prefix: &str) -> Result<Vec<String>, QueryError> {
        let names = || -> Result<Vec<String>, git2::Error> {
            let mut found = Vec::new();
            for name in self.git.references_glob(&format!("{prefix}*"))?.names() {
                found.push(name?.to_owned());
            }
            found.sort();
            Ok(found)
        };
        names().map_err(QueryError::read(format!("the refs below {prefix}")))
    }

    /// Who last put a branch where it is and with which words, if git kept a note of it.
    pub fn reflog_of(&self, branch: &str, at: Option<&CommitId>) -> Option<(Signature, String)> {
        let log = self.git.reflog(&format!("refs/heads/{branch}")).ok()?;
        let entry = log.iter().next()?;
        if at.is_some_and(|at| entry.id_new().to_string() != at.as_str()) {
            return None;
        }
        let message = String::from_utf8_lossy(entry.message_bytes().unwrap_or_default()).into_owned();
        Some((signature(&entry.committer()), message))
    }

    pub fn commit_info(&self, id: &CommitId) -> Result<CommitInfo, QueryError> {
        let commit = self.commit(id)?;
        Ok(CommitInfo {
            id: id.clone(),
            parents: commit.parent_ids().map(id_of).collect::<Result<_, _>>()?,
            author: signature(&commit.author()),
            committer: signature(&commit.committer()),
            subject: String::from_utf8_lossy(commit.summary_bytes().unwrap_or_default()).into_owned(),
        })
    }

    /// The message of a commit with its trailers.
    pub fn message_of(&self, id: &CommitId) -> Result<String, QueryError> {
        Ok(String::from_utf8_lossy(self.commit(id)?.message_bytes()).into_owned())
    }

    /// The bytes of a regular file as stored in a commit; none for a directory, a symlink or a submodule.
    pub fn file_at(&self, commit: &CommitId, path: &str) -> Result<Option<Vec<u8>>, QueryError> {
        let what = || format!("`{path}` at {commit}");
        if !Path::new(path).components().all(|part| matches!(part, Component::Normal(_))) {
            return Ok(None);
        }
        let tree = self.commit(commit)?.tree().map_err(QueryError::read(what()))?;
        let Some(entry) = absent_is_none(tree.get_path(Path::new(path))).map_err(QueryError::read(what()))?
        else {
            return Ok(None);
        };
        let kind = EntryKind::of(entry.filemode());
        if entry.kind() != Some(ObjectType::Blob) || kind == EntryKind::Symlink {
            return Ok(None);
        }
        self.blob(entry.id()).map(Some)
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

    /// Whether a commit has anything at this path.
    pub fn has_path(&self, commit: &CommitId, path: &str) -> Result<bool, QueryError> {
        let what = || format!("`{path}` at {commit}");
        let tree = self.commit(commit)?.tree().map_err(QueryError::read(what()))?;
        let found = absent_is_none(tree.get_path(Path::new(path))).map_err(QueryError::read(what()))?;
        Ok(found.is_some())
    }

    pub(super) fn blob(&self, id: Oid) -> Result<Vec<u8>, QueryError> {
        let blob = self.git.find_blob(id).map_err(QueryError::read(format!("blob {id}")))?;
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
        self.git.find_tree(id).map_err(QueryError::read(format!("tree {id}")))
    }

    fn commit(&self, id: &CommitId) -> Result<git2::Commit<'_>, QueryError> {
        self.git.find_commit(oid(id)?).map_err(QueryError::read(format!("commit {id}")))
    }
}

/// The difference between two commits for people to read, renames shown as such.
///
/// The git program writes it: people know its layout. What somebody configured to run on a diff is left out.
pub fn diff_text(repo: &Repo, from: &CommitId, to: &CommitId, color: Color) -> Result<String, GitError> {
    let bytes = diff(repo, from, to, color).run()?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// As [`diff_text`], and no more than so many bytes of it.
pub fn start_of_diff(repo: &Repo, from: &CommitId, to: &CommitId, bytes: u64) -> Result<String, GitError> {
    let bytes = diff(repo, from, to, Color::Never).run_start(bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn diff(repo: &Repo, from: &CommitId, to: &CommitId, color: Color) -> Git {
    let color = match color {
        Color::Always => "--color=always",
        Color::Never => "--color=never",
    };
    Git::reading(&repo.root, "diff-tree")
        .args(["-r", "-p", "-M", "--no-ext-diff", "--no-textconv", "--no-relative", color])
        .args(["--ignore-submodules=none", "--submodule=short", "--src-prefix=a/", "--dst-prefix=b/"])
        .end_of_options()
        .args([from.as_str(), to.as_str(), "--"])
}

/// libgit2 has no code of its own for an extension it does not know, only this wording.
fn is_unsupported(error: &git2::Error) -> bool {
    let text = error.message();
    text.contains("extension") || text.contains("repository version") || text.contains("object format")
}

fn absent_is_none<T>(result: Result<T, git2::Error>) -> Result<Option<T>, git2::Error> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error)
            if matches!(
                error.code(),
                ErrorCode::NotFound | ErrorCode::UnbornBranch | ErrorCode::InvalidSpec | ErrorCode::Peel
            ) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

pub(super) fn oid(id: &CommitId) -> Result<Oid, QueryError> {
    Oid::from_str(id.as_str()).map_err(QueryError::read(format!("the id {id}")))
}

pub(super) fn id_of(oid: Oid) -> Result<CommitId, QueryError> {
    let text = oid.to_string();
    CommitId::new(&text).map_err(|_| QueryError::Read {
        what: format!("the id {text}"),
        source: git2::Error::from_str("not a full object id"),
    })
}

fn signature(signature: &git2::Signature<'_>) -> Signature {
    Signature {
        identity: Identity {
            name: String::from_utf8_lossy(signature.name_bytes()).into_owned(),
            email: String::from_utf8_lossy(signature.email_bytes()).into_owned(),
        },
        seconds: signature.when().seconds(),
    }
}

#[cfg(test)]
mod tests;
