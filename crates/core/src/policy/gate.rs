//! Checks that a tree must pass, as `liza.yaml` configures them.

mod check;

pub use check::check;

use super::prelude::*;
use crate::board::fields::record;
use crate::board::gates::Moment;

record! {
    pub struct Gate {
        /// Letters, digits, `-` and `_`; also the name of its results.
        pub name: String,
        pub command: GateCommand,
        /// How liza reads its output.
        #[serde(default)]
        pub adapter: AdapterKind,
        /// The steps at which the gate runs, besides the fixed ones: a required gate runs before every approval and
        /// every merge, whatever this field says.
        #[serde(default = "at_merge", deserialize_with = "one_or_more")]
        always pub on: Vec<On>,
        /// The result is shown and stops nothing.
        pub optional: bool,
        /// The time limit in seconds.
        #[serde(deserialize_with = "seconds")]
        pub timeout: Option<u64>,
        /// Additional variables.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        pub environment: BTreeMap<String, String>,
        /// Names of the caller's variables that the gate gets too.
        pub pass_environment: Vec<String>,
        /// The file it writes, relative to the tree, for adapters that read one.
        pub report: Option<String>,
        /// The hash that `trace-hash` compares with, until `liza gate bless` records another.
        pub expect: Option<String>,
        /// The most findings that `diag` allows.
        pub at_most: Option<u64>,
        /// The least percentage of lines that `coverage` requires.
        pub at_least: Option<f64>,
        /// Which lines `coverage` counts: by default all lines of the report, or the new and changed ones.
        pub of: Option<CoverageOf>,
        /// How often it is run again after a failure; a later pass is marked as flaky wherever it is shown.
        #[serde(default, skip_serializing_if = "super::settings::is_default")]
        pub flaky_retries: u32,
        /// Why the gate does not run: liza ignores the gate until this field is removed.
        pub inactive: Option<String>,
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "a command is a text for `sh -c` (in quotes, if YAML takes it for something else, as it does `true`), or a list of a program and its arguments"
)]
pub enum GateCommand {
    /// Run by `sh -c`.
    Shell(String),
    /// Program and arguments, without a shell.
    Argv(Vec<String>),
}

words! {
    #[derive(Default)]
    pub enum AdapterKind {
        #[default]
        Exit = "exit",
        CargoTest = "cargo-test",
        Nextest = "nextest",
        Pytest = "pytest",
        GoTest = "go-test",
        Junit = "junit",
        TraceHash = "trace-hash",
        Diag = "diag",
        Coverage = "coverage",
    }
}

/// The lines whose coverage counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CoverageOf {
    All,
    /// Lines that differ from the merge base with integration.
    Changed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum On {
    Submit,
    Merge,
}

/// Where and how gates are run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Gating {
    /// Ignored directories that stay in the private worktree between runs, such as `target/`: faster, and not part of
    /// the tree under test. Everything else is cleaned before each run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keep: Vec<String>,
}

fn at_merge() -> Vec<On> {
    vec![On::Merge]
}

/// A single step need not be written as a list.
fn one_or_more<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<On>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "`on` is `submit`, `merge`, or a list of these")]
    enum Moments {
        One(On),
        More(Vec<On>),
    }
    Ok(match Moments::deserialize(from)? {
        Moments::One(on) => vec![on],
        Moments::More(all) => all,
    })
}

fn seconds<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "`timeout` is a whole number of seconds, such as 90")]
    enum Seconds {
        Of(u64),
    }
    let Seconds::Of(seconds) = Seconds::deserialize(from)?;
    Ok(Some(seconds))
}

/// A key without a list, as `liza init` proposes gates, is an empty list.
pub(super) fn list_or_nothing<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<Gate>, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_default())
}

impl Gate {
    pub const DEFAULT_TIMEOUT: u64 = 1800;

    /// A gate with only a command: its exit code decides.
    pub fn new(name: &str, command: GateCommand) -> Self {
        Self {
            name: name.to_owned(),
            command,
            adapter: AdapterKind::default(),
            on: at_merge(),
            optional: false,
            timeout: None,
            environment: BTreeMap::new(),
            pass_environment: Vec::new(),
            report: None,
            expect: None,
            at_most: None,
            at_least: None,
            of: None,
            flaky_retries: 0,
            inactive: None,
        }
    }
    pub const DEFAULT_COVERAGE: f64 = 80.0;

    /// The least percentage of lines that tests must reach.
    pub fn least_coverage(&self) -> f64 {
        self.at_least.unwrap_or(Self::DEFAULT_COVERAGE)
    }

    pub fn is_required(&self) -> bool {
        !self.optional
    }

    pub fn is_asked(&self, moment: Moment) -> bool {
        match moment {
            Moment::Submit => self.on.contains(&On::Submit),
            Moment::Approve => self.is_required() || self.on.contains(&On::Submit),
            Moment::Merge | Moment::Advance => self.is_required() || self.on.contains(&On::Merge),
            Moment::Bundle | Moment::ByHand => true,
        }
    }
}

/// The hash that a gate must find: the blessed hash for this task, else for the integration branch, else the one in
/// `liza.yaml`.
pub fn expected<'a>(board: &'a Board, gate: &'a Gate, task: Option<&TaskId>) -> Option<&'a str> {
    let blessed = board.expectation(&gate.name, task).map(|known| known.hash.as_str());
    blessed.or(gate.expect.as_deref())
}
