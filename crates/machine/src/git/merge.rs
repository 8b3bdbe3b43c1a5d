//! Merging at object level, and merging integration into a task's own worktree.
//!
//! `merge_tree` needs no checkout: it makes a tree or returns the conflicts. `merge_in_worktree` works in an agent's
//! worktree and leaves a conflict there as a merge in progress for the agent to finish.

use super::prelude::*;
use super::{commit::identity, conflict::Resolution, content, tree::with_entries};

mod stages;

#[cfg(test)]
pub(super) use stages::segments_of;
pub use stages::{ConflictFile, ConflictKind, Hunk, Segment};

#[derive(Debug, Error)]
pub enum MergeError {
    #[error("a merge is in progress in `{}` already", worktree.display())]
    InProgress { worktree: PathBuf },
    /// Git left a merge without conflicts: a hook refused it, or git was killed.
    #[error(transparent)]
    Unfinished(GitError),
    #[error("the merged tree has no file `{path}` to resolve")]
    NothingToResolve { path: String },
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Query(#[from] QueryError),
}

/// The result of merging two commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MergeTree {
    /// The id of the merged tree.
    Clean(CommitId),
    Conflict {
        /// The merged tree, with conflict markers in the files listed.
        tree: CommitId,
        files: Vec<ConflictFile>,
    },
}

/// The result of merging a commit into a worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Synced {
    /// The merge commit that the worktree is at now.
    Merged(CommitId),
    UpToDate,
    /// The merge is in progress in the worktree; these files need a decision.
    Conflict(Vec<ConflictFile>),
}

/// Merges two commits without a checkout; the new objects are synced to disk.
pub fn merge_tree(repo: &Repo, ours: &CommitId, theirs: &CommitId) -> Result<MergeTree, MergeError> {
    let output = Git::reading(&repo.root, "merge-tree")
        .durable()
        // Neither files of the user's checkout nor files planted beside the repository decide how files are merged.
        .env("GIT_ATTR_SOURCE", ours.as_str())
        .args(["--write-tree", "-z", "--messages"])
        .end_of_options()
        .args([ours.as_str(), theirs.as_str()])
        .output()?;
    // Exit status 1 also means some failures, but then standard output is empty.
    let code = output.status.code();
    if !matches!(code, Some(0 | 1)) || output.stdout.is_empty() {
        return Err(failed("merge-tree", &output).into());
    }
    let mut records = output.stdout.split(|&byte| byte == 0);
    let tree = parse_id("merge-tree", lossy(records.next().unwrap_or_default()).trim())?;
    if code == Some(0) {
        return Ok(MergeTree::Clean(tree));
    }
    let stages = stages::read_stages("merge-tree", records.by_ref().take_while(|record| !record.is_empty()))?;
    let messages = stages::read_messages(records);
    let files = stages::conflict_files(&Query::open(repo)?, ours, theirs, &stages, &messages)?;
    Ok(MergeTree::Conflict { tree, files })
}

/// Puts the resolved files into the tree of a conflicting merge and returns the new tree.
pub fn resolve_tree(
    repo: &Repo,
    conflicted: &CommitId,
    resolved: &[Resolution],
) -> Result<CommitId, MergeError> {
    let query = Query::open(repo)?;
    let mut entries = Vec::new();
    for file in resolved {
        let Some(entry) = query.leaf_in_tree(conflicted, &file.path)? else {
            return Err(MergeError::NothingToResolve { path: file.path.clone() });
        };
        let mode = entry.filemode();
        let git = Git::reading(&repo.root, "hash-object").durable();
        let blob = git.args(["-w", "--stdin"]).stdin(file.content.clone()).run_line()?;
        entries.extend_from_slice(format!("{mode:o} {blob}\t{}\0", file.path).as_bytes());
    }
    Ok(with_entries(repo, conflicted, [entries])?)
}

/// Merges a commit into the branch of a task's worktree. A conflict stays there as a merge in progress.
///
/// Hooks run: it is an ordinary merge in the agent's own worktree. A hook that refuses leaves the merge in progress
/// and is an error here.
pub fn merge_in_worktree(
    repo: &Repo,
    worktree: &Path,
    commit: &CommitId,
    message: &str,
) -> Result<Synced, MergeError> {
    if content::merge_head(worktree)?.is_some() {
        return Err(MergeError::InProgress { worktree: worktree.to_owned() });
    }
    let before = content::head(worktree)?;
    let who = identity(worktree)?;
    let output = Git::acting(worktree, "merge")
        .durable()
        // A remembered resolution (rerere) must not settle this conflict unseen.
        .config("rerere.enabled=false")
        .args(["--no-ff", "--commit", "--no-edit", "--no-squash", "--no-autostash", "--no-stat", "--no-log"])
        .args(["--no-gpg-sign", "--no-verify-signatures", "--cleanup=verbatim", "-m", message])
        .end_of_options()
        .arg(commit.as_str())
        .by(&who, &who)
        .output()?;
    if output.status.success() {
        let after = content::head(worktree)?;
        return Ok(if after == before { Synced::UpToDate } else { Synced::Merged(after) });
    }
    if content::merge_head(worktree)?.is_none() {
        return Err(failed("merge", &output).into());
    }
    let listed = Git::reading(worktree, "ls-files").args(["--unmerged", "-z"]).run()?;
    let stages = stages::read_stages("ls-files", records(&listed))?;
    let files = stages::conflict_files(&Query::open(repo)?, &before, commit, &stages, &[])?;
    match files.is_empty() {
        true => Err(MergeError::Unfinished(failed("merge", &output))),
        false => Ok(Synced::Conflict(files)),
    }
}

#[cfg(test)]
mod tests;
