//! An agent's permissions, as the role registry gave them at its registration. They are on the board, so that the rules
//! enforce them and the journal shows what was allowed at the time.

use super::paths::{PathPattern, RepoPath, inside};
use super::prelude::*;

macro_rules! operations {
    ($($(#[doc = $doc:literal])* $variant:ident $name:literal $words:literal),* $(,)?) => {
        /// A kind of operation on the board. Every transition that a role may be denied belongs to one.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum Operation { $($(#[doc = $doc])* $variant),* }

        impl Operation {
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }

            /// The operation as messages name it after "may".
            pub fn words(self) -> &'static str {
                match self { $(Self::$variant => $words),* }
            }

            pub fn named(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|one| one.as_str() == name)
            }
        }
    };
}

operations! {
    /// Add, finalize, rescope, abandon, unblock and archive tasks; process notes, anomalies and changed specs.
    Plan "plan" "plan tasks",
    /// Claim, announce, sync and submit work.
    Work "work" "work on tasks",
    /// Block or release tasks that other agents hold, and set switches for others or for all agents. An agent may
    /// always block or release the task that it holds or reviews: its runner does so when a session ends.
    Stop "stop" "stop tasks",
    /// Claim reviews and give verdicts.
    Review "review" "review",
    /// The red team's turn.
    Attack "attack" "take the red team's turn",
    Merge "merge" "merge",
    Bundle "bundle" "make or apply bundles",
    /// Record the hash that a gate must find.
    Bless "bless" "bless gates",
    /// Notes, anomalies, discoveries, bugs.
    Report "report" "report anything",
    Message "message" "send messages",
    /// Nudge, halt, escalate.
    Oversee "oversee" "oversee agents",
}

/// Whether the rules allow a role this operation, whatever the registry says. A test compares it with the rules.
pub fn allowed_by_rules(role: &Role, operation: Operation) -> bool {
    let role = role.as_str();
    match operation {
        Operation::Plan => role == "planner",
        // Only on tasks that name the role, and on work the agent did.
        Operation::Work | Operation::Bundle => true,
        Operation::Stop => matches!(role, "planner" | "overseer"),
        Operation::Review | Operation::Merge | Operation::Bless => role == "code_reviewer",
        Operation::Attack => role == "red_team",
        Operation::Report | Operation::Message => true,
        Operation::Oversee => role == "overseer",
    }
}

record! {
    /// Differences of one agent's permissions from the defaults of its role. An absent field means the default.
    #[derive(Default)]
    pub struct Grants {
        pub denied: Vec<Operation>,
        /// Roles it may send messages to.
        pub may_message: Option<Vec<Role>>,
        /// Roles it may plan work for.
        pub may_spawn: Option<Vec<Role>>,
        /// The only paths that its commits may touch; an empty list means every path that its task allows.
        pub paths: Vec<PathPattern>,
    }
}

impl Grants {
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Whether `paths` is limited and does not include this path.
    pub fn keeps_out_of(&self, path: &RepoPath) -> bool {
        !self.paths.is_empty() && !inside(path, &self.paths)
    }
}

/// The roles that a role may write to, unless the registry says otherwise. Every agent may write to a person and answer
/// a question.
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

/// The roles that a role may plan work for, unless the registry says otherwise.
pub fn default_spawns(role: &str) -> &'static [&'static str] {
    match role {
        "planner" => &["coder", "test_engineer", "supervisor", "operator", "auditor"],
        _ => &[],
    }
}
