//! Who takes part: registered agents, and the process an agent or an intent belongs to.

use super::grants::Grants;
use super::prelude::*;
use super::spent::Spent;

record! {
    pub struct Agent {
        always pub roles: Vec<Role>,
        /// Raised by every registration: leases belong to an incarnation, not to a name.
        pub incarnation: u64,
        /// Hash of the secret token; the token itself is never on the board.
        pub token_hash: String,
        pub status: AgentStatus,
        pub registered_at: Wall,
        pub heartbeat: Wall,
        /// The process that supervises it, if one does.
        pub runner: Option<Process>,
        /// What the role registry allows it, where that is not what its role may by default.
        #[serde(default, skip_serializing_if = "Grants::is_default")]
        pub grants: Grants,
        /// What its sessions have cost, in all its incarnations.
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

/// A process, named so that a reused pid is not taken for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Process {
    pub pid: u32,
    /// Start time in clock ticks since boot, as the kernel reports it.
    pub started: u64,
    pub boot: String,
    /// Names the pid namespace, so that a pid of another container is not looked up here.
    pub namespace: String,
}

/// The roles that exist without being configured. `runner` is not one and cannot be registered.
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
