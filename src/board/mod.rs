//! WHAT IS TRUE: the board, its rules and the one function that changes it. Pure: no disk, clock, environment.

pub mod ids;
pub mod paths;

pub use ids::{AgentId, CommitId, IdError, Role, TaskId};
pub use paths::{PathError, PathPattern, RepoPath, any_overlap, inside};
