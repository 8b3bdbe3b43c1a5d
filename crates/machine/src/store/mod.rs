//! The board's files under `.liza`: the lock, the commit, and reading without either.

#![expect(clippy::disallowed_methods, reason = "the disk under .liza is this room")]

mod alerts;
pub mod archive;
mod archive_index;
pub mod commit;
mod copies;
pub mod edits;
pub mod error;
pub mod files;
mod handle;
pub mod images;
pub mod inspect;
mod layout;
pub mod lock;
mod log_file;
pub mod machine;
pub mod other_version;
mod pages;
pub mod pending;
pub mod read;
pub mod rebuild;
pub mod refound;
mod reports;
mod results;
mod spec_texts;
mod switches;
pub mod trash;
pub mod views;
mod witness;

pub use commit::{Committed, Proposal};
pub use error::{IoContext, StoreError};
pub use handle::{Store, patience_or};
pub use layout::{DIRECTORY, WORKTREES};
pub use machine::Machine;
pub use read::Snapshot;
pub use spec_texts::LARGEST_SPEC;
pub use witness::Restored;

#[cfg(test)]
mod replay_tests;
