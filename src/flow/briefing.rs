//! What an agent is told before it begins: exactly what its role needs to know.

use crate::board::{AgentId, Role, TaskId};
use crate::policy::wake::Wake;

use super::context::Context;
use super::failure::Failure;

/// What an agent is to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Assignment {
    /// Implement, in the worktree of this claim.
    Task { task: TaskId, epoch: u64 },
    /// Judge what was submitted.
    Review { task: TaskId },
    /// Plan, for these reasons.
    Plan { wakes: Vec<Wake> },
}

pub struct BriefRequest<'a> {
    pub role: &'a Role,
    pub agent: &'a AgentId,
    pub assignment: &'a Assignment,
    /// What its runner has to say, such as why the former session ended.
    pub remarks: &'a [String],
}

/// A finished prompt.
pub struct Brief {
    pub text: String,
    /// Its parts and how many bytes each has.
    pub sizes: Vec<(String, usize)>,
}

/// Everything the agent is told, or what is missing for it.
pub fn brief(_ctx: &Context, request: &BriefRequest<'_>) -> Result<Result<Brief, Vec<String>>, Failure> {
    let text = format!("You are {} ({}). {:?}", request.agent, request.role, request.assignment);
    let sizes = vec![("all".to_owned(), text.len())];
    Ok(Ok(Brief { text, sizes }))
}
