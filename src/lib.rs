//! The coordinator that lets a team of coding agents share one git repository.

pub mod board;
pub mod cli;
pub mod flow;
pub mod gate;
pub mod git;
pub mod host;
pub mod policy;
pub mod prompt;
pub mod provider;
pub mod store;
pub mod supervise;
#[cfg(test)]
mod testing;
pub mod text;
pub mod watch;
pub mod wire;
