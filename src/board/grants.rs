//! What an agent may do, as the role registry said when it was registered: on the board, so that the rules hold it to
//! that, and whoever reads the log sees what was allowed at the time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::call::Actor;
use super::ids::Role;
use super::paths::PathPattern;
use super::state::Board;

macro_rules! operations {
    ($($(#[$doc:meta])* $variant:ident $name:literal),* $(,)?) => {
        /// A kind of thing that can be done to a board. Every transition belongs to one.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum Operation { $($(#[$doc])* $variant),* }

        impl Operation {
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }
        }
    };
}

operations! {
    /// Add, finalize, rescope, abandon and unblock tasks; deal with notes and anomalies.
    Plan "plan",
    /// Claim, announce, sync and hand in work.
    Work "work",
    /// Block, release and hand off what one holds.
    Stop "stop",
    /// Take up reviews and give verdicts.
    Review "review",
    /// The red team's turn.
    Attack "attack",
    Merge "merge",
    Bundle "bundle",
    /// Record the hash that a gate is to find.
    Bless "bless",
    /// Notes, anomalies, discoveries, bugs.
    Report "report",
    Message "message",
    /// Nudge, halt, escalate.
    Oversee "oversee",
}

/// What one agent may do beyond or short of what its role may by default. What is absent is as by default.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Grants {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denied: Vec<Operation>,
    /// Roles it may send messages to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub may_message: Option<Vec<Role>>,
    /// Roles it may plan work for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub may_spawn: Option<Vec<Role>>,
    /// The only paths its commits may touch; none means all that its task allows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<PathPattern>,
}

impl Grants {
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// To whom a role may write if the registry says nothing else. A person may always be written to, and a question may
/// always be answered.
pub fn default_recipients(role: &str) -> &'static [&'static str] {
    match role {
        "planner" => &["coder", "test_engineer", "code_reviewer", "red_team", "overseer"],
        "coder" => &["planner", "test_engineer"],
        "test_engineer" => &["planner", "coder"],
        "code_reviewer" | "red_team" => &["planner", "coder", "test_engineer"],
        "overseer" => &["planner", "coder", "test_engineer", "code_reviewer", "red_team"],
        _ => &["planner"],
    }
}

/// Whether whoever acts may write to agents of this role. People may write to everybody.
pub fn may_message(board: &Board, by: &Actor, to: &Role) -> bool {
    let Actor::Agent { id, .. } = by else { return true };
    let Some(agent) = board.agent(id) else { return false };
    match &agent.grants.may_message {
        Some(roles) => roles.contains(to),
        None => agent.roles.iter().any(|role| default_recipients(role.as_str()).contains(&to.as_str())),
    }
}
