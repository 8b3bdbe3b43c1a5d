//! The board, its rules and the one function that changes it. Pure: no disk, clock or environment.

pub mod agent;
pub mod apply;
pub mod assumptions;
pub mod branch;
pub mod breaker;
pub mod call;
pub mod caps;
pub mod checklist;
pub mod config;
pub mod convergence;
pub mod disagreement;
pub mod edit;
pub mod edition;
pub mod ending;
pub mod expectation;
pub(crate) mod fields;
pub mod gate_ledger;
pub mod gates;
mod goal_queue;
pub mod goals;
pub mod grants;
pub mod graph;
pub mod history;
pub mod ids;
pub mod intent;
pub mod invariants;
pub mod lease;
pub mod mail;
pub mod marks;
pub mod names;
pub mod origin;
pub mod oversight;
pub mod paths;
mod prelude;
pub mod quorum;
pub mod rebase;
pub mod records;
pub mod refusal;
pub mod result;
pub mod review;
pub mod review_result;
pub mod rights;
pub mod route;
mod routing;
pub mod rules;
pub mod shapes;
pub mod slice;
pub mod spent;
pub mod state;
pub mod status;
pub mod switch;
pub mod task;
pub mod time;
pub mod verb;
pub mod workstream;

#[cfg(test)]
mod model;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;

pub use agent::{Agent, Process};
pub use apply::{Applied, apply, bodies_needed, permitted};
pub use call::{Actor, Call, Credentials, Descent, Hidden, Mark, Switch, SwitchKind, Switches, World};
pub use config::Config;
pub use edition::Edition;
pub use ids::{
    AgentId, CommitId, CommitPrefix, GateName, GoalId, GraphId, IdError, MessageId, RecordId, Revision, Role,
    SprintId, TaskId, TripId, WorkstreamId,
};
pub use invariants::{Violation, violations};
pub use paths::{PathError, PathIndex, PathPattern, RepoPath, any_overlap, inside};
pub use refusal::{Class, Code, Refusal};
pub use rules::Transition;
pub use state::Board;
pub use task::{Status, Task};
pub use time::{Stamp, Wall};
pub use verb::{Needs, Verb};
