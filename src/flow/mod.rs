//! USE CASES: the only place where board, store and git meet.

#![expect(
    clippy::disallowed_methods,
    reason = "use cases read worktrees, specs and tokens, and run commands"
)]

mod accepted_git;
pub mod advance;
pub mod agents;
pub mod alignment;
pub mod archive;
pub mod attempt;
pub mod branches;
pub mod breaker;
pub mod briefing;
pub mod bug;
pub mod bundle;
mod capture;
pub mod claim;
pub mod commit;
mod commit_names;
pub mod config_file;
pub mod context;
pub mod deliver;
pub mod disk;
pub mod dispatch;
pub mod doctor;
mod drift;
pub mod edits;
pub mod error_code;
pub mod evidence;
pub mod experiment;
pub mod failure;
pub mod free_id;
pub mod gates;
pub mod gc;
pub mod git_settings;
pub mod ground;
pub mod handoff;
pub mod hooks;
pub mod init;
pub mod interruption;
pub mod leftovers;
pub mod lock;
pub mod mail;
pub mod merge;
mod merged;
pub mod metrics;
pub mod migrate;
pub mod moved;
pub mod observe;
pub mod one_call;
pub mod outside;
pub mod oversight;
pub mod ownership;
mod page;
mod prelude;
pub mod prepare;
pub mod prepared;
mod programs;
pub mod propose;
pub mod recover;
pub mod report;
pub mod restore;
pub mod results;
mod retrospective;
pub mod review;
pub mod roles;
pub mod roll_up;
pub mod sessions;
pub mod settings;
pub mod setup;
pub mod shell;
pub mod specs;
pub mod spend;
pub mod sprint;
pub mod streams;
pub mod submit;
pub mod summary;
pub mod tidy;
pub mod trash;
pub mod uninstall;
pub mod verify;
pub mod views;
pub mod worktrees;

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

pub use context::Context;
pub use error_code::ErrorCode;
pub use failure::Failure;
