//! The coordinator that lets a team of coding agents share one git repository.
//!
//! The rooms below stand in crates of their own: `crates/core` has the pure ones, `crates/machine` those that reach disk,
//! git and processes. All rooms are reached from here by one path.

pub use liza_core::*;
pub use liza_machine::{git, host, provider, store, watch};

pub mod cli;
pub mod flow;
pub mod supervise;
