//! What each role is shown: one table, so that no agent learns more than the row of its role allows.

use crate::board::Role;

/// Whose finished work the prompt of an agent lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Outputs {
    #[default]
    None,
    /// Of the tasks its own waits for.
    Dependencies,
    /// Of every merged task: what there is to be tested.
    Merged,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Row {
    /// The goal, and whatever spec belongs to the assignment.
    pub goal: bool,
    pub spec: bool,
    /// What happened on its task before: handoff, answer, feedback, failed integration.
    pub past: bool,
    pub outputs: Outputs,
    /// What was submitted, with its diff.
    pub submission: bool,
    /// Every task with its state, and for the planner what was reported.
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
            // It watches who does what, and reads no code.
            "overseer" => Self { tree: true, agents: true, ..nothing },
            _ => Self { spec: true, past: true, outputs: Outputs::Dependencies, ..nothing },
        }
    }
}
