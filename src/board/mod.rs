//! WHAT IS TRUE: the board, its rules and the one function that changes it. Pure: no disk, clock, environment.

pub mod ids;

pub use ids::{AgentId, CommitId, IdError, Role, TaskId};
