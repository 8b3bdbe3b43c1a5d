//! What was seen of an agent at one moment. Counters are of the session and only grow: look at differences.

use serde::{Deserialize, Serialize};

use crate::board::{AgentId, Role, TaskId, Wall};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentSnapshot {
    pub agent: AgentId,
    pub incarnation: u64,
    pub role: Role,
    /// The session of the agent's runner; a new one begins its counters anew.
    pub session: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<u64>,
    pub time: Wall,
    pub started_at: Wall,
    /// Seconds of the session, without those it was paused.
    pub elapsed_seconds: u64,
    // What the provider says.
    #[serde(default)]
    pub turns: u64,
    #[serde(default)]
    pub tool_calls: u64,
    #[serde(default)]
    pub tokens: u64,
    #[serde(default)]
    pub errors: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_tool: Option<String>,
    /// Names the last call with its arguments, so that the same call is known again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_call: Option<String>,
    /// How often in a row just this call was made.
    #[serde(default)]
    pub repeated_calls: u64,
    #[serde(default)]
    pub output_bytes: u64,
    // What git says.
    #[serde(default)]
    pub files_modified: u64,
    /// Those of them that were neither announced nor are in the scope of the task.
    #[serde(default)]
    pub files_unannounced: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_file_modified: Option<String>,
    /// Names the content of everything in the worktree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    // What the board says: changes with every step of the task, every finding and every message of the agent.
    #[serde(default)]
    pub board_mark: String,
    #[serde(default)]
    pub messages_sent: u64,
    #[serde(default)]
    pub messages_received: u64,
    // What the system says of its processes.
    #[serde(default)]
    pub processes: u64,
    /// Processor time of all of them so far.
    #[serde(default)]
    pub cpu_ms: u64,
    // What it may use; none means no limit of its role's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_limit: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_limit: Option<u64>,
}

/// What is remembered of one agent, the oldest first.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Ring {
    pub snapshots: Vec<AgentSnapshot>,
}

impl Ring {
    pub fn push(&mut self, snapshot: AgentSnapshot, size: usize) {
        self.snapshots.push(snapshot);
        let too_many = self.snapshots.len().saturating_sub(size.max(1));
        self.snapshots.drain(..too_many);
    }

    /// Those of the present session.
    pub fn session(&self) -> &[AgentSnapshot] {
        let Some(last) = self.snapshots.last() else { return &[] };
        let same = |one: &AgentSnapshot| {
            one.session == last.session && one.incarnation == last.incarnation && one.task == last.task
        };
        let start = self.snapshots.iter().rposition(|one| !same(one)).map_or(0, |at| at + 1);
        &self.snapshots[start..]
    }
}
