//! GIT: finding the repository, reading it, worktrees, refs and merging. Knows nothing of the board's rules.
//!
//! Two ways lead to git. `query` reads in-process through libgit2: fast, and it runs no configured program. `command`
//! starts the `git` program for what libgit2 does differently or not at all: worktrees, merging, status. Only
//! `fast_forward` writes files of the user's own checkout, for a person who asked for it.

#![expect(clippy::disallowed_methods, reason = "starts git and reads its files")]

pub mod checkouts;
pub mod command;
pub mod commit;
pub mod conflict;
pub mod content;
pub mod door;
pub mod durable;
pub mod facts;
pub mod fast_forward;
mod files;
pub mod fresh;
pub mod landed;
pub mod locks;
pub mod merge;
mod prelude;
pub mod private;
pub mod push;
pub mod query;
pub mod refs;
pub mod repo;
pub mod reviewed;
pub mod scratch;
pub mod settings;
mod sound;
pub mod submodules;
pub mod tree;
pub mod worktree;

#[cfg(any(test, feature = "testing"))]
pub mod testing;

/// How many minutes this machine's local time is ahead of UTC. libgit2 asks the C library.
pub fn local_offset_minutes() -> i32 {
    git2::Signature::now("liza", "liza").map_or(0, |now| now.when().offset_minutes())
}

pub use checkouts::{Checkout, branch_checked_out_at};
pub use command::{Git, GitError};
pub use commit::{Identity, NewCommit, commit_tree, identity};
pub use conflict::{Class, classify};
pub use content::{DirtyKind, DirtyPath};
pub use merge::{ConflictFile, MergeError, MergeTree, Synced, merge_in_worktree, merge_tree};
pub use query::{AccessError, ChangeStatus, EntryKind, Query, QueryError};
pub use refs::{Expected, RefError};
pub use repo::{DiscoverError, Repo};
pub use worktree::{WorktreeError, Worktrees};
