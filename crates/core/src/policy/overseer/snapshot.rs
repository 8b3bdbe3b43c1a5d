//! What was seen of an agent at one moment. Counters are of the session and only grow: look at differences.

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
    /// When the files were really looked at: where that is left out, what was seen before is copied with its old time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree_seen_at: Option<Wall>,
    // What the board says: changes with every step of the task, every finding and every message of the agent.
    #[serde(default)]
    pub board_mark: String,
    /// The agent has announced what it will do in this claim.
    #[serde(default)]
    pub has_checkpoint: bool,
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
    /// The role says that there is none, so that no other one steps in.
    #[serde(default)]
    pub no_token_limit: bool,
    #[serde(default)]
    pub no_wall_limit: bool,
    /// Seconds of the session since there was a sign of it. The ring reckons it, since it may be longer ago than the ring
    /// remembers; a new snapshot has 0 here.
    #[serde(default)]
    pub still_seconds: u64,
    /// The fewest processes it had so far: some providers are two or three by themselves. Likewise.
    #[serde(default)]
    pub fewest_processes: u64,
    /// Behaviours that go on at this look, each since its first one. Likewise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub episodes: Vec<Episode>,
}

/// A behaviour from the look that showed it first until a look that does not show it and shows progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Episode {
    pub behaviour: Behaviour,
    /// When it was seen first.
    pub since: Wall,
    /// A look since the last progress was critical.
    #[serde(default)]
    pub critical: bool,
    /// Looks in a row that did not show it.
    #[serde(default, skip_serializing_if = "crate::policy::settings::is_default")]
    pub unseen: usize,
}

/// An agent that waits for an answer still uses the processor now and then; below so many milliseconds of processor time in a
/// second of the session that is all it is.
const IDLE_MS_PER_SECOND: u64 = 5;

impl AgentSnapshot {
    /// Whether both are of one session, so that their counters can be compared.
    pub fn same_session(&self, other: &Self) -> bool {
        self.agent == other.agent
            && self.session == other.session
            && self.incarnation == other.incarnation
            && self.task == other.task
    }

    /// Something was said, written or done on the board since `before`.
    pub(super) fn heard_since(&self, before: &Self) -> bool {
        self.output_bytes != before.output_bytes
            || self.tool_calls != before.tool_calls
            || self.turns != before.turns
            || self.progress_since(before)
    }

    /// The agent made progress since `before`: another tree, a step or a finding on the board, a message.
    pub(super) fn progress_since(&self, before: &Self) -> bool {
        self.tree != before.tree || self.files_modified != before.files_modified || self.stepped_since(before)
    }

    /// A step or a finding on the board, or a message, since `before`.
    pub(super) fn stepped_since(&self, before: &Self) -> bool {
        self.board_mark != before.board_mark || self.messages_sent != before.messages_sent
    }

    /// Another call than the one that is made again and again, since `before`.
    pub(super) fn other_call_since(&self, before: &Self) -> bool {
        self.last_call != before.last_call
            || self.tool_calls.saturating_sub(before.tool_calls)
                != self.repeated_calls.saturating_sub(before.repeated_calls)
    }

    /// Its processes did more than wait since `before`.
    pub(super) fn worked_since(&self, before: &Self) -> bool {
        let seconds = self.elapsed_seconds.saturating_sub(before.elapsed_seconds).max(1);
        self.cpu_ms.saturating_sub(before.cpu_ms) >= seconds.saturating_mul(IDLE_MS_PER_SECOND)
    }

    /// The agent started something that has not ended: a test, a build, a server.
    pub(super) fn has_children(&self) -> bool {
        self.children() > 0
    }

    pub(super) fn children(&self) -> u64 {
        self.processes.saturating_sub(self.fewest_processes.max(1))
    }

    pub(super) fn still_after(&self, before: &Self) -> u64 {
        if self.heard_since(before) || self.worked_since(before) || self.has_children() {
            return 0;
        }
        let since = self.elapsed_seconds.saturating_sub(before.elapsed_seconds);
        before.still_seconds.saturating_add(since)
    }
}

/// The last looks that are of one session: a new session starts its counters at 0.
pub(super) fn present_session(history: &[AgentSnapshot]) -> &[AgentSnapshot] {
    let Some(last) = history.last() else { return &[] };
    let start = history.iter().rposition(|one| !one.same_session(last)).map_or(0, |at| at + 1);
    &history[start..]
}
