//! The coordinator that lets a team of coding agents share one git repository.

pub mod board;
pub mod git;
