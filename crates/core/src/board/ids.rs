//! Checked names: task, agent, role, commit and others.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use thiserror::Error;

/// Why a text cannot be a name.
#[derive(Debug, Error)]
pub enum IdError {
    #[error("it is empty")]
    Empty,
    #[error("it is longer than 64 characters")]
    TooLong,
    #[error("it must start with a letter or a digit")]
    BadStart,
    #[error("it may contain only letters, digits, `_` and `-`")]
    BadCharacter,
    #[error("the name is reserved")]
    Reserved,
    #[error("it is not a commit id of 40 or 64 hexadecimal digits")]
    NotACommit,
    #[error("it is not the id of a commit, whole or at least its first 7 hexadecimal digits")]
    NotACommitPrefix,
    #[error("it contains a control character")]
    Control,
}

const LONGEST_ID: usize = 64;

/// Device names that some file systems refuse, and names that have a meaning for git or liza.
const RESERVED_TASKS: [&str; 9] = ["con", "prn", "aux", "nul", "head", "lock", "review", "merge", "all"];

/// `human` is a caller without an agent identity, `runner` supervises and `liza` records; none of these can be
/// registered.
const RESERVED_AGENTS: [&str; 5] = ["human", "runner", "liza", "nobody", "overseer"];

fn check_slug(text: &str) -> Result<(), IdError> {
    let first = text.bytes().next().ok_or(IdError::Empty)?;
    if text.len() > LONGEST_ID {
        return Err(IdError::TooLong);
    }
    if !first.is_ascii_alphanumeric() {
        return Err(IdError::BadStart);
    }
    if text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-') {
        Ok(())
    } else {
        Err(IdError::BadCharacter)
    }
}

/// Older boards have record ids of other forms, so any printable text is allowed.
fn check_record(text: &str) -> Result<(), IdError> {
    match text {
        "" => Err(IdError::Empty),
        _ if text.chars().any(char::is_control) => Err(IdError::Control),
        _ => Ok(()),
    }
}

/// Reads a name without a copy of its text.
struct NameVisitor<T> {
    kind: &'static str,
    new: fn(&str) -> Result<T, IdError>,
}

impl<T> serde::de::Visitor<'_> for NameVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
        (self.new)(text).map_err(|why| {
            E::custom(format_args!("`{}` cannot be a {}: {why}", text.escape_debug(), self.kind))
        })
    }
}

macro_rules! name_type {
    ($(#[$doc:meta])* $name:ident, $check:expr, $pattern:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
        #[serde(transparent)]
        pub struct $name(#[schemars(regex(pattern = $pattern))] String);

        impl $name {
            /// Checks `text` and makes it a name.
            pub fn new(text: &str) -> Result<Self, IdError> {
                let check: fn(&str) -> Result<(), IdError> = $check;
                check(text).map(|()| Self(text.to_owned()))
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        // Lets `join` work on slices of names.
        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_str(NameVisitor { kind: stringify!($name), new: Self::new })
            }
        }
    };
}

macro_rules! parses_itself {
    ($($name:ident),+) => {$(
        impl std::str::FromStr for $name {
            type Err = IdError;
            fn from_str(text: &str) -> Result<Self, IdError> {
                Self::new(text)
            }
        }
    )+};
}

parses_itself!(
    TaskId,
    AgentId,
    GraphId,
    CommitId,
    CommitPrefix,
    GateName,
    GoalId,
    MessageId,
    RecordId,
    Revision,
    SprintId,
    TripId,
    WorkstreamId
);

/// Parses any name of a role; the terms of a work graph are understood, as in liza.yaml.
impl std::str::FromStr for Role {
    type Err = IdError;
    fn from_str(text: &str) -> Result<Self, IdError> {
        let role = Self::new(text)?;
        Ok(Self::of_work_graph(text).unwrap_or(role))
    }
}

name_type!(
    /// The id of a task: also the name of its branch and of its worktree.
    TaskId,
    |text| {
        check_slug(text)?;
        let reserved = RESERVED_TASKS.iter().any(|name| name.eq_ignore_ascii_case(text));
        if reserved { Err(IdError::Reserved) } else { Ok(()) }
    },
    "^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$"
);

name_type!(
    /// The id of an agent, or `human`.
    AgentId,
    check_slug,
    "^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$"
);

name_type!(
    /// The purpose of an agent, such as `coder`.
    Role,
    check_slug,
    "^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$"
);

name_type!(
    /// The id of a work graph: also the name of its file below `.liza/graphs`.
    GraphId,
    check_slug,
    "^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$"
);

name_type!(
    /// The id of a workstream, which groups tasks.
    WorkstreamId,
    check_slug,
    "^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$"
);

name_type!(
    /// A full object id of a commit or tree.
    CommitId,
    |text| {
        let full = text.len() == 40 || text.len() == 64;
        if full && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)) {
            Ok(())
        } else {
            Err(IdError::NotACommit)
        }
    },
    "^([0-9a-f]{40}|[0-9a-f]{64})$"
);

name_type!(
    /// A commit's id as people type it: whole, or its first digits.
    CommitPrefix,
    |text| {
        if text.len() >= 7 && text.bytes().all(|b| b.is_ascii_hexdigit()) {
            Ok(())
        } else {
            Err(IdError::NotACommitPrefix)
        }
    },
    "^[0-9A-Fa-f]{7,}$"
);

name_type!(
    /// A text that git resolves to a commit: a branch, a tag, an id, or an expression such as `main~2`.
    Revision,
    check_record,
    "."
);

name_type!(
    /// The name of a gate in liza.yaml.
    GateName,
    check_slug,
    "^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$"
);

name_type!(
    /// The id of a message, such as `message-1`.
    MessageId,
    check_record,
    "."
);

name_type!(
    /// The id of a record that waits for the planner, such as `note-1`.
    RecordId,
    check_record,
    "."
);

name_type!(
    /// The id of a goal, such as `goal-1`.
    GoalId,
    check_record,
    "."
);

name_type!(
    /// The name of a sprint, such as `sprint-1`.
    SprintId,
    check_record,
    "."
);

name_type!(
    /// The id of a trip of the circuit breaker, such as `trip-1`.
    TripId,
    check_record,
    "."
);

impl TaskId {
    /// The form in which ids are compared: file systems and people confuse `T1` with `t1`.
    pub fn folded(&self) -> String {
        self.0.to_ascii_lowercase()
    }
}

/// An id of a task, compared as [`TaskId::folded`] is, without making that text.
#[derive(Debug, Clone, Copy)]
pub struct IgnoringCase<'i>(pub &'i TaskId);

impl IgnoringCase<'_> {
    fn bytes(&self) -> impl Iterator<Item = u8> {
        self.0.0.bytes().map(|byte| byte.to_ascii_lowercase())
    }
}

impl Ord for IgnoringCase<'_> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.bytes().cmp(other.bytes())
    }
}

impl PartialOrd for IgnoringCase<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for IgnoringCase<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for IgnoringCase<'_> {}

impl Default for AgentId {
    fn default() -> Self {
        Self::unknown()
    }
}

impl AgentId {
    /// The id of a caller without an agent identity.
    pub fn human() -> Self {
        Self("human".to_owned())
    }

    /// The id of liza as an actor; reserved, so no agent can register it.
    pub fn liza() -> Self {
        Self("liza".to_owned())
    }

    /// The id for an actor that an older board does not name; reserved, so that it can never act.
    pub fn unknown() -> Self {
        Self("nobody".to_owned())
    }

    pub fn is_human(&self) -> bool {
        self.0 == "human"
    }

    /// The id of liza when it nudges and halts, so that its messages are not mistaken for a person's.
    pub fn automatic_overseer() -> Self {
        Self("overseer".to_owned())
    }

    pub fn is_automatic_overseer(&self) -> bool {
        self.0 == "overseer"
    }

    /// Ids are unique ignoring case, so two spellings name one agent.
    pub fn is_same(&self, other: &Self) -> bool {
        self.0.eq_ignore_ascii_case(&other.0)
    }

    /// Whether the name has a special meaning and so cannot be registered.
    pub fn is_reserved(&self) -> bool {
        RESERVED_AGENTS.contains(&self.0.to_ascii_lowercase().as_str())
    }
}

impl Role {
    pub fn planner() -> Self {
        Self("planner".to_owned())
    }
    pub fn coder() -> Self {
        Self("coder".to_owned())
    }
    /// Whether the role judges the work of other agents.
    pub fn judges(&self) -> bool {
        matches!(self.as_str(), "code_reviewer" | "red_team")
    }

    pub fn red_team() -> Self {
        Self("red_team".to_owned())
    }

    pub fn test_engineer() -> Self {
        Self("test_engineer".to_owned())
    }

    pub fn code_reviewer() -> Self {
        Self("code_reviewer".to_owned())
    }
    pub fn overseer() -> Self {
        Self("overseer".to_owned())
    }
    pub fn supervisor() -> Self {
        Self("supervisor".to_owned())
    }
    pub fn operator() -> Self {
        Self("operator".to_owned())
    }
    pub fn auditor() -> Self {
        Self("auditor".to_owned())
    }

    /// Whether the role writes code: a test engineer counts as a coder.
    pub fn codes(&self) -> bool {
        matches!(self.as_str(), "coder" | "test_engineer")
    }

    /// Whether the role takes tasks of kind report: its results have a schema.
    pub fn reports(&self) -> bool {
        matches!(self.as_str(), "supervisor" | "operator" | "auditor")
    }

    /// The role for a term of a work graph, in any case; none for any other word.
    pub fn of_work_graph(word: &str) -> Option<Self> {
        let (_, role) = WORK_GRAPH_ROLES.iter().find(|(name, _)| name.eq_ignore_ascii_case(word))?;
        Some(Self((*role).to_owned()))
    }

    /// The term of a work graph for the role; other roles keep their name.
    pub fn in_work_graph(&self) -> &str {
        let known = WORK_GRAPH_ROLES.iter().find(|(_, role)| *role == self.0);
        known.map_or(self.0.as_str(), |(name, _)| name)
    }
}

/// The roles of a work graph, and their names on the board.
const WORK_GRAPH_ROLES: [(&str, &str); 9] = [
    ("Planner", "planner"),
    ("Implementer", "coder"),
    ("Reviewer", "code_reviewer"),
    ("Red-team", "red_team"),
    // Synonyms for the first two; liza reads them and does not write them.
    ("Project_manager", "planner"),
    ("Scaffolder", "coder"),
    ("Director", "planner"),
    ("Coder_spark", "coder"),
    ("Coder_codex", "coder"),
];

impl CommitId {
    /// The first twelve digits, enough to recognise the commit.
    pub fn short(&self) -> &str {
        &self.0[..12]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_task_ids_are_refused() {
        let long = "a".repeat(65);
        for text in [
            "",
            "-rf",
            "_a",
            "a/b",
            "..",
            ".",
            "a b",
            "a;b",
            "a$(id)",
            "a\u{202e}b",
            "\u{3000}",
            "a\nb",
            "a\0b",
            "CON",
            "nul",
            "é",
            "a.b",
            "a~1",
            "a^",
            "a:b",
            "a?*[",
            "@{-1}",
            "HEAD",
            "--help",
            "a\\b",
            "a'b",
            "a\"b",
            "a|b",
            "a&b",
            "a>b",
            "`a`",
            "a%b",
            "a\u{200b}",
            "\u{feff}a",
            "a\tb",
            "a,b",
            "a=b",
            "a+b",
            "(a)",
            "{a}",
            &long,
        ] {
            assert!(TaskId::new(text).is_err(), "{text:?} was accepted");
        }
    }

    #[test]
    fn ordinary_ids_are_accepted() {
        for text in ["t1", "T-1", "add_name", "0", &"a".repeat(64)] {
            assert!(TaskId::new(text).is_ok(), "{text:?} was refused");
        }
    }

    #[test]
    fn commit_ids_are_full_and_lower_case() {
        assert!(CommitId::new(&"a".repeat(40)).is_ok());
        assert!(CommitId::new(&"A".repeat(40)).is_err());
        assert!(CommitId::new("abc").is_err());
    }
}
