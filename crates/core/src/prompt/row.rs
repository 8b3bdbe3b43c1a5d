//! What the prompt of each role contains: one table, so that no agent learns more than its role allows.

use crate::board::Role;

/// Which finished work a prompt lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Outputs {
    #[default]
    None,
    /// The dependencies of its task.
    Dependencies,
    /// Every merged task, as work to test.
    Merged,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Row {
    /// The goal, and the specs of the assignment.
    pub goal: bool,
    pub spec: bool,
    /// The past of its task: handoff, answer, feedback, failed integration.
    pub past: bool,
    pub outputs: Outputs,
    /// The submission, with its diff.
    pub submission: bool,
    /// Every task with its status, and for the planner the reports.
    pub tree: bool,
    pub planning: bool,
    /// The agents that work now.
    pub agents: bool,
}

impl Row {
    pub fn of(role: &Role) -> Self {
        let nothing = Self::default();
        match role.as_str() {
            "planner" => Self {
                goal: true,
                spec: true,
                tree: true,
                planning: true,
                outputs: Outputs::Merged,
                ..nothing
            },
            "code_reviewer" | "red_team" => {
                Self { spec: true, outputs: Outputs::Dependencies, submission: true, ..nothing }
            }
            "test_engineer" => Self { spec: true, past: true, outputs: Outputs::Merged, ..nothing },
            // The overseer watches agents, and reads no code.
            "overseer" => Self { tree: true, agents: true, ..nothing },
            _ => Self { spec: true, past: true, outputs: Outputs::Dependencies, ..nothing },
        }
    }
}
