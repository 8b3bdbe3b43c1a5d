//! Experiments: each idea is planned, implemented in its own worktree, reviewed, tested, swept and scored
//! (specs/experiments.md). Experiments need no board; if one exists, they obey its switches, and liza refuses commands of their
//! processes on it.

mod adopt;
mod agent;
mod command;
mod ideas;
mod lab;
mod mcp;
mod phases;
mod results;
mod runs;
mod series;
mod trace;
mod worktree;

pub use adopt::{Adopted, Announced, adopt};
pub use ideas::gather;
pub use lab::{Lab, Progress};
pub use runs::{Kept, Pruned, all, find, prune};
pub use series::{Options, Series, choose, run};
