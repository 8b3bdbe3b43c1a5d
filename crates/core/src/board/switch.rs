//! Kill switches: files whose existence stops all agents, one task or one agent.

use std::collections::BTreeSet;

use super::prelude::*;

/// A kill switch: a file that stops agents while it exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum SwitchKind {
    Pause,
    Checkpoint,
    Abort,
}

impl SwitchKind {
    pub const ALL: [Self; 3] = [Self::Abort, Self::Checkpoint, Self::Pause];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pause => "PAUSE",
            Self::Checkpoint => "CHECKPOINT",
            Self::Abort => "ABORT",
        }
    }
}

/// A switch that is set, and its subject.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Switch {
    pub kind: SwitchKind,
    /// A task or an agent; absent means all agents.
    pub subject: Option<String>,
    pub reason: String,
}

/// The switches that are set at this moment.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Switches {
    pub set: BTreeSet<Switch>,
}

impl Switches {
    /// The strongest switch that stops all agents.
    pub fn global(&self) -> Option<&Switch> {
        self.set.iter().filter(|switch| switch.subject.is_none()).max_by_key(|switch| switch.kind)
    }

    /// The strongest switch that stops `agent` from working on `task`.
    pub fn stopping(&self, agent: &AgentId, task: Option<&TaskId>) -> Option<&Switch> {
        self.set
            .iter()
            .filter(|switch| match &switch.subject {
                None => true,
                Some(subject) => {
                    subject.eq_ignore_ascii_case(agent.as_str())
                        || task.is_some_and(|task| subject.eq_ignore_ascii_case(task.as_str()))
                }
            })
            .max_by_key(|switch| switch.kind)
    }
}
