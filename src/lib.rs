//! The coordinator that lets a team of coding agents share one git repository.
//!
//! Two other crates have the lower rooms: `crates/core` the pure ones, `crates/machine` those with access to disk, git and
//! processes. This crate re-exports all rooms under one path.

pub use liza_core::*;
pub use liza_machine::{git, host, provider, store, watch};

pub mod cli;
pub mod flow;
pub mod supervise;
