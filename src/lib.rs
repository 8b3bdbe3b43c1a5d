//! The coordinator that lets a team of coding agents share one git repository.

pub mod board;
pub mod git;
pub mod host;
pub mod store;
pub mod text;
pub mod wire;
