//! Merging at object level, and taking integration into a task's own worktree.
//!
//! `merge_tree` needs no checkout: it makes a tree or tells what is in the way. `merge_in_worktree` is for an agent's
//! own place, where a conflict is left as a merge in progress for the agent to finish.

use std::path::Path;

use thiserror::Error;

use super::command::{Git, GitError, failed};
use super::commit::{identity, parse_id};
use super::conflict::Resolution;
use super::content;
use super::query::{Query, QueryError};
use super::repo::Repo;
use crate::board::CommitId;

mod stages;

#[cfg(test)]
pub(super) use stages::segments_of;
pub use stages::{ConflictFile, ConflictKind, Hunk, Segment};

/// Why a merge could not even be tried.
#[derive(Debug, Error)]
pub enum MergeError {
    #[error("a merge is in progress in `{}` already", worktree.display())]
    InProgress { worktree: std::path::PathBuf },
    #[error("the merged tree has no file `{path}` to resolve")]
    NothingToResolve { path: String },
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Query(#[from] QueryError),
}

/// What merging two commits gives.
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

/// What became of bringing a commit into a worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Synced {
    /// The merge commit the worktree is at now.
    Merged(CommitId),
    UpToDate,
    /// The merge is in progress in the worktree; these files wait for a decision.
    Conflict(Vec<ConflictFile>),
}

/// Merges two commits without a checkout; the objects made are flushed to disk.
pub fn merge_tree(repo: &Repo, ours: &CommitId, theirs: &CommitId) -> Result<MergeTree, MergeError> {
    let output = Git::reading(&repo.root, "merge-tree")
        .durable()
        .args(["--write-tree", "-z", "--messages"])
        .end_of_options()
        .args([ours.as_str(), theirs.as_str()])
        .output()?;
    // 1 also stands for some failures, but then nothing was written to standard output.
    let code = output.status.code();
    if !matches!(code, Some(0 | 1)) || output.stdout.is_empty() {
        return Err(failed("merge-tree", &output).into());
    }
    let mut records = output.stdout.split(|&byte| byte == 0);
    let tree = String::from_utf8_lossy(records.next().unwrap_or_default()).trim().to_owned();
    let tree = parse_id("merge-tree", &tree)?;
    if code == Some(0) {
        return Ok(MergeTree::Clean(tree));
    }
    let stages = stages::read_stages("merge-tree", records.by_ref().take_while(|record| !record.is_empty()))?;
    let messages = stages::read_messages(records);
    let files = stages::conflict_files(&Query::open(repo)?, ours, theirs, &stages, &messages)?;
    Ok(MergeTree::Conflict { tree, files })
}

/// Puts the resolved files into the tree of a conflicting merge, and gives the new tree.
pub fn resolve_tree(
    repo: &Repo,
    conflicted: &CommitId,
    resolved: &[Resolution],
) -> Result<CommitId, MergeError> {
    let query = Query::open(repo)?;
    let scratch = super::content::scratch_dir()?;
    let index = scratch.path().join("index");
    let git = |subcommand| Git::reading(&repo.root, subcommand).durable().env("GIT_INDEX_FILE", &index);
    let mut entries = Vec::new();
    for file in resolved {
        let mode = query
            .mode_in_tree(conflicted, &file.path)?
            .ok_or_else(|| MergeError::NothingToResolve { path: file.path.clone() })?;
        let blob = git("hash-object").args(["-w", "--stdin"]).stdin(file.content.clone()).run_line()?;
        entries.extend_from_slice(format!("{mode:o} {blob}\t{}\0", file.path).as_bytes());
    }
    git("read-tree").end_of_options().arg(conflicted.as_str()).run()?;
    git("update-index").args(["-z", "--index-info"]).stdin(entries).run()?;
    Ok(parse_id("write-tree", &git("write-tree").run_line()?)?)
}

/// Merges a commit into the branch of a task's worktree. A conflict stays there as a merge in progress.
///
/// Hooks run: it is an ordinary merge in the agent's own place. One that refuses leaves the merge in progress and is
/// an error here.
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
        // A resolution remembered from another time must not settle this conflict unseen.
        .config("rerere.enabled=false")
        .args(["--no-ff", "--commit", "--no-edit", "--no-squash", "--no-autostash", "--no-stat", "--no-log"])
        .args(["--no-gpg-sign", "--no-verify-signatures", "--cleanup=verbatim", "-m", message])
        .end_of_options()
        .arg(commit.as_str())
        .env("GIT_AUTHOR_NAME", &who.name)
        .env("GIT_AUTHOR_EMAIL", &who.email)
        .env("GIT_COMMITTER_NAME", &who.name)
        .env("GIT_COMMITTER_EMAIL", &who.email)
        .output()?;
    if output.status.success() {
        let after = content::head(worktree)?;
        return Ok(if after == before { Synced::UpToDate } else { Synced::Merged(after) });
    }
    if content::merge_head(worktree)?.is_none() {
        return Err(failed("merge", &output).into());
    }
    let listed = Git::reading(worktree, "ls-files").args(["--unmerged", "-z"]).run()?;
    let records = listed.split(|&byte| byte == 0).filter(|record| !record.is_empty());
    let stages = stages::read_stages("ls-files", records)?;
    let files = stages::conflict_files(&Query::open(repo)?, &before, commit, &stages, &[])?;
    if files.is_empty() { Err(failed("merge", &output).into()) } else { Ok(Synced::Conflict(files)) }
}

#[cfg(test)]
mod tests;
