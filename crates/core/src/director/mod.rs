//! THE DIRECTOR'S PLAYBOOK: what is sent to an agent for a slice, what it answers, and what follows from a bad answer. Pure.

pub mod dispatch;
pub mod ladder;
pub mod reading;
pub mod results;
pub mod schema;
pub mod slices;

#[cfg(test)]
mod tests;

pub use dispatch::{AgentType, TaskContract, TaskDispatch};
pub use ladder::{Rung, next_rung};
pub use reading::{Expected, Problem, digest, read_result};
pub use results::{
    AuditResult, AuditVerdict, CoderResult, DispatchPlan, OperatorResult, PlannedSlice, SliceResult,
    SupervisorResult,
};
