//! The director's playbook: the message to an agent for a slice, its answer, and the step after an invalid answer.
//! Pure.

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
