//! THE DISK UNDER `.liza`: the lock, the commit, and reading without either.

#![expect(clippy::disallowed_methods, reason = "the disk under .liza is this room")]

mod alerts;
pub mod archive;
pub mod commit;
pub mod edits;
pub mod error;
pub mod files;
mod handle;
pub mod layout;
pub mod lock;
mod log_file;
pub mod other_version;
pub mod read;
pub mod rebuild;
pub mod refound;
mod switches;
pub mod trash;

pub use commit::{Committed, Proposal};
pub use error::{IoContext, StoreError};
pub use handle::Store;
pub use layout::Layout;
pub use read::Snapshot;

#[cfg(test)]
mod replay_tests;
