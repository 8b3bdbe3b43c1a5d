//! Experiments: each idea is planned, carried out in a worktree of its own, reviewed, tested, swept and scored
//! (specs/experiments.md). No board is needed; where there is one, its switches are obeyed, and nothing that an agent or a
//! command of an experiment starts may act on it.

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
