//! Whether work has landed: the proof without which nothing that leads to it is taken away.

use serde::Serialize;
use thiserror::Error;

use super::command::{Git, GitError};
use super::query::{Query, QueryError};
use super::repo::Repo;
use crate::board::CommitId;

/// How it is known that a commit's work is in a branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Proof {
    /// The branch contains the commit.
    Ancestor,
    /// The merge that the branch contains has exactly the commit's tree.
    EqualTree,
    /// Each of its commits is in the branch as the same patch.
    PatchId,
}

impl Proof {
    pub fn words(self) -> &'static str {
        match self {
            Self::Ancestor => "integration contains it",
            Self::EqualTree => "its merge has the same tree",
            Self::PatchId => "integration has the same patches",
        }
    }
}

#[derive(Debug, Error)]
pub enum ProofError {
    #[error(transparent)]
    Query(#[from] QueryError),
    #[error(transparent)]
    Git(#[from] GitError),
}

/// The proof that the work of `commit` is in the branch at `head`; none if there is none. `merge` is the commit that
/// landed the task, if it is known.
pub fn proof(
    repo: &Repo,
    query: &Query,
    commit: &CommitId,
    head: &CommitId,
    merge: Option<&CommitId>,
) -> Result<Option<Proof>, ProofError> {
    if query.is_ancestor(commit, head)? {
        return Ok(Some(Proof::Ancestor));
    }
    if let Some(merge) = merge
        && query.has_commit(merge)
        && query.is_ancestor(merge, head)?
        && query.tree_of(merge)? == query.tree_of(commit)?
    {
        return Ok(Some(Proof::EqualTree));
    }
    // A merge can hold changes that none of its parents has, and has no patch of its own to look for.
    let missing = query.commits_between(head, commit)?;
    if missing.is_empty() || missing.iter().any(|commit| commit.parents.len() != 1) {
        return Ok(None);
    }
    let said = Git::reading(&repo.root, "cherry")
        .end_of_options()
        .args([head.as_str(), commit.as_str()])
        .run_line()?;
    let landed = said.lines().filter(|line| line.starts_with("- ")).count();
    Ok((landed == missing.len() && landed == said.lines().count()).then_some(Proof::PatchId))
}

#[cfg(test)]
mod tests {
    use super::super::testing::Fixture;
    use super::*;

    #[test]
    fn work_has_landed_only_with_a_proof() {
        let fixture = Fixture::new();
        let repo = fixture.repo();
        let base = fixture.head();
        let ask = |commit: &CommitId, head: &CommitId, merge: Option<&CommitId>| {
            let query = Query::open(&repo).unwrap();
            proof(&repo, &query, commit, head, merge).unwrap()
        };
        let work = fixture.branch("work", &base, &[("a", "1\n")]);
        let other = fixture.branch("other", &base, &[("b", "1\n")]);
        assert_eq!(ask(&base, &work, None), Some(Proof::Ancestor));
        assert_eq!(ask(&work, &other, None), None);
        // The same patch on top of something else.
        let again = fixture.branch("again", &other, &[("a", "1\n")]);
        assert_eq!(ask(&work, &again, None), Some(Proof::PatchId));
        // One more commit that did not land, and the whole has not.
        let more = fixture.branch("more", &work, &[("c", "1\n")]);
        assert_eq!(ask(&more, &again, None), None);
        // Squashed: no patch is the same, but the merge has the same tree.
        let squashed = fixture.branch("squashed", &base, &[("a", "1\n"), ("c", "1\n")]);
        assert_eq!(ask(&more, &squashed, None), None);
        assert_eq!(ask(&more, &squashed, Some(&squashed)), Some(Proof::EqualTree));
        // A merge that the branch does not contain proves nothing.
        assert_eq!(ask(&more, &other, Some(&squashed)), None);
    }
}
