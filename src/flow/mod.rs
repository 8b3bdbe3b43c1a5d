//! USE CASES: the only place where board, store and git meet.

#![expect(
    clippy::disallowed_methods,
    reason = "use cases read worktrees, specs and tokens, and run commands"
)]

pub mod advance;
pub mod agents;
pub mod alignment;
pub mod claim;
pub mod config_file;
pub mod context;
pub mod doctor;
pub mod evidence;
pub mod failure;
pub mod init;
pub mod merge;
pub mod migrate;
pub mod recover;
pub mod review;
pub mod shell;
pub mod submit;
pub mod summary;
pub mod verify;

pub use context::Context;
pub use failure::Failure;
