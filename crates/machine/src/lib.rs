//! The parts of liza on a machine: processes, the files of the board, git, watching files, agent commands.

pub use liza_core::*;

pub mod git;
pub mod host;
pub mod provider;
pub mod store;
pub mod watch;
