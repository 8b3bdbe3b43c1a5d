//! What an agent may do, as the role registry said when the agent was registered. Kept on the board, so that the rules
//! enforce it and the log shows what was allowed at the time.

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

            /// What is done, as it stands after "may".
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
    /// Add, finalize, rescope, abandon, unblock and archive tasks; deal with notes, anomalies and changed specs.
    Plan "plan" "plan tasks",
    /// Claim, announce, sync and hand in work.
    Work "work" "work on tasks",
    /// Block or take back tasks that others hold, and set switches for others or for all agents. An agent may always block
    /// or release the task it holds or reviews itself: its runner does that for it when a session ends.
    Stop "stop" "stop tasks",
    /// Take up reviews and give verdicts.
    Review "review" "review",
    /// The red team's turn.
    Attack "attack" "take the red team's turn",
    Merge "merge" "merge",
    Bundle "bundle" "make or apply bundles",
    /// Record the hash that a gate is to find.
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
        // Of tasks that name its role; and of what it worked on.
        Operation::Work | Operation::Bundle => true,
        Operation::Stop => matches!(role, "planner" | "overseer"),
        Operation::Review | Operation::Merge | Operation::Bless => role == "code_reviewer",
        Operation::Attack => role == "red_team",
        Operation::Report | Operation::Message => true,
        Operation::Oversee => role == "overseer",
    }
}

record! {
    /// What one agent may do beyond or short of what its role may by default. What is absent is as by default.
    #[derive(Default)]
    pub struct Grants {
        pub denied: Vec<Operation>,
        /// Roles it may send messages to.
        pub may_message: Option<Vec<Role>>,
        /// Roles it may plan work for.
        pub may_spawn: Option<Vec<Role>>,
        /// The only paths its commits may touch; none means all that its task allows.
        pub paths: Vec<PathPattern>,
    }
}

impl Grants {
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Whether these paths are all it may touch, and this one is not among them.
    pub fn keeps_out_of(&self, path: &RepoPath) -> bool {
        !self.paths.is_empty() && !inside(path, &self.paths)
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

/// For whom a role may plan work if the registry says nothing else.
pub fn default_spawns(role: &str) -> &'static [&'static str] {
    match role {
        "planner" => &["coder", "test_engineer", "supervisor", "operator", "auditor"],
        _ => &[],
    }
}
