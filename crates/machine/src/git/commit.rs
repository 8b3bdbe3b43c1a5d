//! Writing commit objects, with author and committer.

use std::collections::HashMap;
use std::path::Path;

use git2::{ObjectType, Oid};

use super::Query;
use super::command::{Git, GitError};
use super::repo::Repo;
use crate::board::CommitId;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    pub name: String,
    pub email: String,
}

impl Identity {
    /// The author where git has no configured name: a fresh machine must not stop a merge.
    pub fn fallback() -> Self {
        Self { name: "Liza".to_owned(), email: "liza@localhost".to_owned() }
    }

    /// The configured name and address, or the fallback if a part is missing.
    pub(super) fn configured(name: &str, email: &str) -> Self {
        let (name, email) = (name.trim().to_owned(), email.trim().to_owned());
        if name.is_empty() || email.is_empty() { Self::fallback() } else { Self { name, email } }
    }

    /// This identity at a time.
    pub fn at(&self, seconds: i64) -> Signature {
        Signature { identity: self.clone(), seconds }
    }
}

/// Identity and time. The time comes from the caller, so repeating the call gives the same commit id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    pub identity: Identity,
    /// Seconds since 1970, written as UTC.
    pub seconds: i64,
}

/// Everything a commit object is made of.
#[derive(Debug)]
pub struct NewCommit<'a> {
    pub tree: &'a CommitId,
    pub parents: &'a [CommitId],
    pub message: &'a str,
    pub author: &'a Signature,
    pub committer: &'a Signature,
}

/// The identity configured for this checkout, or the fallback.
pub fn identity(checkout: &Path) -> Result<Identity, GitError> {
    let output = Git::reading(checkout, "config")
        .args(["--null", "--get-regexp", "^user\\.(name|email)$"])
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let settings: HashMap<&str, &str> = text.split('\0').filter_map(|entry| entry.split_once('\n')).collect();
    let setting = |key| settings.get(key).copied().unwrap_or_default();
    Ok(Identity::configured(setting("user.name"), setting("user.email")))
}

/// Writes a commit object and syncs it to disk; no branch moves. The same input always gives the same id.
pub fn commit_tree(repo: &Repo, commit: &NewCommit<'_>) -> Result<CommitId, GitError> {
    if let Some(id) = Query::open(repo).ok().and_then(|query| query.write_commit(repo, commit)) {
        return Ok(id);
    }
    // Git knows what to do, or what is wrong.
    commit_tree_by_git(repo, commit)
}

fn commit_tree_by_git(repo: &Repo, commit: &NewCommit<'_>) -> Result<CommitId, GitError> {
    let id = Git::reading(&repo.root, "commit-tree")
        .durable()
        // A configured encoding would add a header to the commit and so change its id.
        .config("i18n.commitEncoding=UTF-8")
        .args(commit.parents.iter().flat_map(|parent| ["-p", parent.as_str()]))
        .args(["--no-gpg-sign", "-F", "-"])
        .end_of_options()
        .arg(commit.tree.as_str())
        .signed(commit.author, commit.committer)
        .stdin(commit.message)
        .run_line()?;
    parse_id("commit-tree", &id)
}

impl Query {
    /// Writes a commit object in this process, which is quicker than starting git, and syncs its file. None where git might
    /// write it differently.
    fn write_commit(&self, repo: &Repo, commit: &NewCommit<'_>) -> Option<CommitId> {
        let name = |who: &Signature| -> Option<git2::Signature<'static>> {
            let Identity { name, email } = &who.identity;
            let time = git2::Time::new(who.seconds.max(0), 0);
            let plain = |text: &str| !text.contains(['<', '>', '\n', '\0']);
            git2::Signature::new(name, email, &time).ok().filter(|_| plain(name) && plain(email))
        };
        let (author, committer) = (name(commit.author)?, name(commit.committer)?);
        let id = self.write_object(commit, &author, &committer).ok()??;
        let text = id.to_string();
        let file = repo.common_dir.join("objects").join(&text[..2]).join(&text[2..]);
        std::fs::File::open(file).and_then(|file| file.sync_all()).ok()?;
        CommitId::new(&text).ok()
    }

    fn write_object(
        &self,
        commit: &NewCommit<'_>,
        author: &git2::Signature<'_>,
        committer: &git2::Signature<'_>,
    ) -> Result<Option<Oid>, git2::Error> {
        // Git gives the files of a shared repository other permissions.
        let is_shared = self.git.config()?.get_string("core.sharedrepository").is_ok();
        // Git leaves out a parent that is named twice.
        let is_twice = commit.parents.iter().enumerate().any(|(at, one)| commit.parents[..at].contains(one));
        if is_shared || is_twice || !commit.message.ends_with('\n') {
            return Ok(None);
        }
        let tree = self.git.find_tree(Oid::from_str(commit.tree.as_str())?)?;
        let parents =
            commit.parents.iter().map(|parent| self.git.find_commit(Oid::from_str(parent.as_str())?));
        let parents = parents.collect::<Result<Vec<_>, git2::Error>>()?;
        let parents: Vec<&git2::Commit<'_>> = parents.iter().collect();
        let bytes = self.git.commit_create_buffer(author, committer, commit.message, &tree, &parents)?;
        Ok(Some(self.git.odb()?.write(ObjectType::Commit, &bytes)?))
    }
}

pub(super) fn parse_id(subcommand: &'static str, text: &str) -> Result<CommitId, GitError> {
    CommitId::new(text)
        .map_err(|_| GitError::unexpected(subcommand, format!("`{text}` instead of an object id")))
}

impl Git {
    /// Sets author and committer of the commits that this call makes.
    pub(super) fn signed(self, author: &Signature, committer: &Signature) -> Self {
        self.by(&author.identity, &committer.identity)
            .env("GIT_AUTHOR_DATE", git_date(author.seconds))
            .env("GIT_COMMITTER_DATE", git_date(committer.seconds))
    }

    pub(super) fn by(self, author: &Identity, committer: &Identity) -> Self {
        self.env("GIT_AUTHOR_NAME", &author.name)
            .env("GIT_AUTHOR_EMAIL", &author.email)
            .env("GIT_COMMITTER_NAME", &committer.name)
            .env("GIT_COMMITTER_EMAIL", &committer.email)
    }
}

/// The time format that git takes without guessing; it knows no time before 1970.
fn git_date(seconds: i64) -> String {
    format!("@{} +0000", seconds.max(0))
}

#[cfg(test)]
mod tests {
    use super::super::Query;
    use super::super::testing::Fixture;
    use super::*;

    #[test]
    fn unconfigured_git_commits_as_liza() {
        let fixture = Fixture::new();
        assert_eq!(identity(&fixture.root).unwrap(), Identity::fallback());
        fixture.git(&["config", "user.name", "Zoë"]);
        assert_eq!(identity(&fixture.root).unwrap(), Identity::fallback(), "half an identity is none");
        fixture.git(&["config", "user.email", "zoe@example.org"]);
        assert_eq!(identity(&fixture.root).unwrap().name, "Zoë");
    }

    #[test]
    fn commits_are_those_that_git_makes() {
        let fixture = Fixture::new();
        let (repo, head) = (fixture.repo(), fixture.head());
        let query = Query::open(&repo).unwrap();
        let tree = query.tree_of(&head).unwrap();
        let merged = [head.clone(), fixture.commit("second")];
        let names = ["Zoë", " a. ", "\"Q\", x;", "'", "x\ty", "a\\"];
        let messages = ["one line\n", "ünï\n\nLiza-Task: t1\n", "\n\n  spaces \n\n\n", "# no comment\n"];
        let mut written = 0;
        for (number, name) in names.iter().enumerate() {
            let address =
                |text: &str| Identity { name: text.to_string(), email: format!("{number}@example.org") };
            let (author, committer) = (address(name).at(1_700_000_000), address("c").at(-5));
            for message in messages {
                for parents in [&merged[..], &merged[..1], &[]] {
                    let commit =
                        NewCommit { tree: &tree, parents, message, author: &author, committer: &committer };
                    let here = query.write_commit(&repo, &commit);
                    let by_git = commit_tree_by_git(&repo, &commit).ok();
                    assert!(here.is_none() || here == by_git, "{name:?} {message:?}: {here:?} {by_git:?}");
                    written += usize::from(here.is_some());
                }
            }
        }
        assert_eq!(written, 5 * 4 * 3, "git accepts no name of crud alone");
        let who = Identity::fallback().at(0);
        let without_end =
            NewCommit { tree: &tree, parents: &[], message: "x", author: &who, committer: &who };
        assert_eq!(query.write_commit(&repo, &without_end), None);
        let twice = [head.clone(), head.clone()];
        let with_parents = NewCommit { parents: &twice, message: "x\n", ..without_end };
        assert_eq!(query.write_commit(&repo, &with_parents), None);
        let broken = NewCommit { tree: &head, message: "x\n", ..without_end };
        assert_eq!(query.write_commit(&repo, &broken), None, "a commit is no tree");
        fixture.git(&["config", "core.sharedRepository", "group"]);
        let shared = NewCommit { tree: &tree, message: "x\n", ..broken };
        assert_eq!(Query::open(&repo).unwrap().write_commit(&repo, &shared), None);
        assert!(commit_tree(&repo, &shared).is_ok());
    }

    #[test]
    fn repeated_commit_has_the_same_id() {
        let fixture = Fixture::new();
        let repo = fixture.repo();
        let head = fixture.head();
        let tree = Query::open(&repo).unwrap().tree_of(&head).unwrap();
        let who = Identity::fallback().at(1_700_000_000);
        let commit = NewCommit {
            tree: &tree,
            parents: std::slice::from_ref(&head),
            message: "merge: ünï\n\nLiza-Task: t1\n",
            author: &who,
            committer: &who,
        };
        let first = commit_tree(&repo, &commit).unwrap();
        fixture.git(&["config", "commit.gpgsign", "true"]);
        fixture.git(&["config", "gpg.program", "/nonexistent/gpg"]);
        fixture.git(&["config", "i18n.commitEncoding", "ISO-8859-1"]);
        assert_eq!(commit_tree(&repo, &commit).unwrap(), first);
        assert_eq!(fixture.head(), head, "no branch moved");
        let info = Query::open(&repo).unwrap().commits_between(&head, &first).unwrap();
        assert_eq!(info[0].subject, "merge: ünï");
        assert_eq!(info[0].author, who);
    }
}
