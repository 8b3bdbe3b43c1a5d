//! Decisions about the next step: pure functions of a board and a moment.

pub mod alerts;
pub mod audit;
pub mod breaker;
pub mod checklist;
pub mod experiment;
pub mod gate;
pub mod halting;
pub mod leaving;
pub mod locks;
pub mod metrics;
pub mod overseer;
pub mod plan_check;
mod prelude;
pub mod prices;
pub mod progress;
pub mod project;
pub mod provider;
pub mod provider_errors;
pub mod registry;
pub mod restart;
pub mod reviewing;
pub mod run;
pub mod schedule;
mod settings;
pub mod spend;
pub mod team;
#[cfg(test)]
mod tests;
pub mod view;
pub mod wake;
pub mod work_graph;
pub mod worktrees;

pub use project::ProjectConfig;
pub use view::{NodeState, Waiting};
