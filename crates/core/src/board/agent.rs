//! Registered agents, and the process that an agent or an intent belongs to.

use super::grants::Grants;
use super::prelude::*;
use super::spent::Spent;

record! {
    pub struct Agent {
        always pub roles: Vec<Role>,
        /// Every registration raises it: leases belong to an incarnation, not to a name.
        pub incarnation: u64,
        /// Hash of the secret token; the token itself is never on the board.
        pub token_hash: String,
        pub status: AgentStatus,
        pub registered_at: Wall,
        pub heartbeat: Wall,
        /// The runner that supervises the agent, if one runs.
        pub runner: Option<Process>,
        /// The agent's permissions in the role registry, where they differ from the defaults of its role.
        #[serde(default, skip_serializing_if = "Grants::is_default")]
        pub grants: Grants,
        /// The cost of the agent's sessions, over all its incarnations.
        #[serde(default, skip_serializing_if = "Spent::is_nothing")]
        pub spent: Spent,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AgentStatus {
    Active,
    Retired,
}

impl Agent {
    pub fn is_active(&self) -> bool {
        self.status == AgentStatus::Active
    }

    pub fn has(&self, role: &Role) -> bool {
        self.roles.contains(role)
    }
}

/// A process, identified so that another process with the same pid is not mistaken for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Process {
    pub pid: u32,
    /// Start time in clock ticks since boot, as the kernel reports it.
    pub started: u64,
    pub boot: String,
    /// The pid namespace, so that liza does not look up a pid of another container.
    pub namespace: String,
}

/// The roles that exist without configuration. `runner` is not among them and cannot be registered.
pub const BUILT_IN_ROLES: [&str; 9] = [
    "planner",
    "coder",
    "code_reviewer",
    "test_engineer",
    "red_team",
    "overseer",
    "supervisor",
    "operator",
    "auditor",
];

/// The id an agent of `role` gets when none is given: `coder-1`, `code-reviewer-2`, … the next free number.
pub fn default_id(role: &Role, taken: impl Fn(&AgentId) -> bool) -> Option<AgentId> {
    numbered_ids(role).find(|id| !taken(id))
}

/// The ids that agents of a role get by default, in their order.
pub fn numbered_ids(role: &Role) -> impl Iterator<Item = AgentId> {
    let stem: String = role.as_str().replace('_', "-").chars().take(50).collect();
    (1..=100_000u32).filter_map(move |n| AgentId::new(&format!("{stem}-{n}")).ok())
}
