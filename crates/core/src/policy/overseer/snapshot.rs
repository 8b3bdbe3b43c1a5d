//! The state of an agent at one moment. Counters are per session and only grow: compare differences.

use crate::policy::prelude::*;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentSnapshot {
    pub agent: AgentId,
    pub incarnation: u64,
    pub role: Role,
    /// The session of the agent's runner; a new session starts its counters at 0.
    pub session: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<u64>,
    pub time: Wall,
    pub started_at: Wall,
    /// Seconds of the session, without pauses.
    pub elapsed_seconds: u64,
    // From the provider.
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
    /// Identifies the last call with its arguments, so that a repetition is recognised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_call: Option<String>,
    /// How often in a row this call was made.
    #[serde(default)]
    pub repeated_calls: u64,
    #[serde(default)]
    pub output_bytes: u64,
    // From git.
    #[serde(default)]
    pub files_modified: u64,
    /// Changed files that were neither announced nor are in the scope of the task.
    #[serde(default)]
    pub files_unannounced: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_file_modified: Option<String>,
    /// Identifies the content of the whole worktree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    /// When the files were really read: a snapshot that skipped them copies the earlier state with its old time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree_seen_at: Option<Wall>,
    // From the board: changes with every step of the task, every finding and every message of the agent.
    #[serde(default)]
    pub board_mark: String,
    /// The agent has written its checkpoint in this claim.
    #[serde(default)]
    pub has_checkpoint: bool,
    #[serde(default)]
    pub messages_sent: u64,
    #[serde(default)]
    pub messages_received: u64,
    // From the system, about its processes.
    #[serde(default)]
    pub processes: u64,
    /// Processor time of all its processes so far.
    #[serde(default)]
    pub cpu_ms: u64,
    // Its token limit; none without a limit of its role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_limit: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_limit: Option<u64>,
    /// The role explicitly has no limit, so that no other limit applies.
    #[serde(default)]
    pub no_token_limit: bool,
    #[serde(default)]
    pub no_wall_limit: bool,
    /// Seconds of the session since the last sign of life. The ring computes it, because it may be longer than the ring
    /// remembers; a new snapshot has 0.
    #[serde(default)]
    pub still_seconds: u64,
    /// The fewest processes so far: some providers need two or three. Computed by the ring.
    #[serde(default)]
    pub fewest_processes: u64,
    /// Behaviours that continue in this snapshot, each since its first one. Computed by the ring.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub episodes: Vec<Episode>,
}

/// A behaviour from its first snapshot until a snapshot that does not show it and shows progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Episode {
    pub behaviour: Behaviour,
    /// When it was first detected.
    pub since: Wall,
    /// A snapshot since the last progress was critical.
    #[serde(default)]
    pub critical: bool,
    /// Consecutive snapshots that did not show it.
    #[serde(default, skip_serializing_if = "crate::policy::settings::is_default")]
    pub unseen: usize,
}

/// An agent that waits for an answer still uses the processor now and then, less than this many milliseconds per second
/// of the session.
const IDLE_MS_PER_SECOND: u64 = 5;

impl AgentSnapshot {
    /// Whether both are of one session, so that their counters can be compared.
    pub fn same_session(&self, other: &Self) -> bool {
        self.agent == other.agent
            && self.session == other.session
            && self.incarnation == other.incarnation
            && self.task == other.task
    }

    /// Whether there was output, a changed file or a step on the board since `before`.
    pub(super) fn active_since(&self, before: &Self) -> bool {
        self.output_bytes != before.output_bytes
            || self.tool_calls != before.tool_calls
            || self.turns != before.turns
            || self.progress_since(before)
    }

    /// Whether the agent made progress since `before`: another tree, a step or a finding on the board, a message.
    pub(super) fn progress_since(&self, before: &Self) -> bool {
        self.tree != before.tree || self.files_modified != before.files_modified || self.stepped_since(before)
    }

    /// Whether there was a step or a finding on the board, or a message, since `before`.
    pub(super) fn stepped_since(&self, before: &Self) -> bool {
        self.board_mark != before.board_mark || self.messages_sent != before.messages_sent
    }

    /// Whether there was a call other than the repeated one since `before`.
    pub(super) fn other_call_since(&self, before: &Self) -> bool {
        self.last_call != before.last_call
            || self.tool_calls.saturating_sub(before.tool_calls)
                != self.repeated_calls.saturating_sub(before.repeated_calls)
    }

    /// Whether its processes did more than wait since `before`.
    pub(super) fn worked_since(&self, before: &Self) -> bool {
        let seconds = self.elapsed_seconds.saturating_sub(before.elapsed_seconds).max(1);
        self.cpu_ms.saturating_sub(before.cpu_ms) >= seconds.saturating_mul(IDLE_MS_PER_SECOND)
    }

    /// Whether the agent started a process that has not ended: a test, a build, a server.
    pub(super) fn has_children(&self) -> bool {
        self.children() > 0
    }

    pub(super) fn children(&self) -> u64 {
        self.processes.saturating_sub(self.fewest_processes.max(1))
    }

    pub(super) fn still_after(&self, before: &Self) -> u64 {
        if self.active_since(before) || self.worked_since(before) || self.has_children() {
            return 0;
        }
        let since = self.elapsed_seconds.saturating_sub(before.elapsed_seconds);
        before.still_seconds.saturating_add(since)
    }
}

/// The last snapshots of one session: a new session starts its counters at 0.
pub(super) fn present_session(history: &[AgentSnapshot]) -> &[AgentSnapshot] {
    let Some(last) = history.last() else { return &[] };
    let start = history.iter().rposition(|one| !one.same_session(last)).map_or(0, |at| at + 1);
    &history[start..]
}
