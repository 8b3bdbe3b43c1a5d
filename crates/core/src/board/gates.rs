//! Gate results for a tree, and whether they suffice. Liza runs gates outside the core; the rules here judge the results.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::prelude::*;
use super::refusal::{Code, Refusal};

words! {
    #[derive(PartialOrd, Ord)]
    pub enum GateStatus {
        Pass = "pass",
        Fail = "fail",
        /// The gate says nothing about the tree: it was not started, was killed, ran out of time, or changed the tree
        /// that it checks.
        CouldNotRun = "could_not_run",
    }
}

record! {
    /// The result of one gate.
    pub struct GateOutcome {
        pub name: String,
        pub status: GateStatus,
        pub duration_ms: u64,
        /// How many checks the gate made, if its adapter counts them.
        pub total: Option<u64>,
        pub passed: Option<u64>,
        /// The hash that the gate computed, if it compares hashes.
        pub hash: Option<String>,
        /// Why the gate did not pass, in one line.
        pub reason: Option<String>,
        /// The checks that failed; at most twenty.
        pub failing: Vec<String>,
        /// Functions and files that no test reaches, if the adapter reports them; at most twenty.
        pub untested: Vec<String>,
        /// What `total` and `passed` count, if not tests.
        pub counted: Option<Counted>,
        /// The log of its output, relative to the root of the repository.
        pub log: Option<String>,
        /// The gate was not run again: the cache has its result for the same command, tree and environment.
        pub reused: bool,
        /// How many runs this result took.
        #[serde(default = "one", skip_serializing_if = "is_one")]
        pub tries: u32,
        /// The gate failed first and passed in a repeated run on the same tree, which its configuration allows.
        pub flaky: bool,
    }
}

/// What a gate counts instead of tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Counted {
    /// Lines of code; `passed` of them are reached by tests.
    Lines,
    /// Findings of a linter or checker: `total` of them.
    Findings,
}

fn one() -> u32 {
    1
}

fn is_one(count: &u32) -> bool {
    *count == 1
}

impl GateOutcome {
    pub fn new(name: &str, status: GateStatus) -> Self {
        Self {
            name: name.to_owned(),
            status,
            duration_ms: 0,
            total: None,
            passed: None,
            hash: None,
            reason: None,
            failing: Vec::new(),
            untested: Vec::new(),
            counted: None,
            log: None,
            reused: false,
            tries: 1,
            flaky: false,
        }
    }

    /// `177 of 179`, if both numbers are known.
    pub fn counts(&self) -> Option<String> {
        Some(format!("{} of {}", self.passed?, self.total?))
    }
}

/// At which step the gates ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Moment {
    Submit,
    Approve,
    Merge,
    Advance,
    Bundle,
    ByHand,
}

impl std::fmt::Display for Moment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.serialize(f)
    }
}

/// The result of one gate, and whether the gate is required.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KeptOutcome {
    #[serde(flatten)]
    pub outcome: GateOutcome,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required: Option<bool>,
}

/// The results as files and reports show them: a map by the name of the gate, in order.
#[derive(Debug, Clone, PartialEq)]
pub struct OutcomesByGate(pub Vec<KeptOutcome>);

impl OutcomesByGate {
    pub fn get(&self, name: &str) -> Option<&KeptOutcome> {
        self.0.iter().find(|kept| kept.outcome.name == name)
    }
}

impl Serialize for OutcomesByGate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|kept| {
            let mut fields = serde_json::to_value(kept).unwrap_or_default();
            fields.as_object_mut().map(|fields| fields.shift_remove("name"));
            (&kept.outcome.name, fields)
        }))
    }
}

impl<'de> Deserialize<'de> for OutcomesByGate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let gates = Map::<String, Value>::deserialize(deserializer)?.into_iter().map(|(name, mut fields)| {
            fields.as_object_mut().map(|fields| fields.insert("name".to_owned(), name.into()));
            serde_json::from_value(fields).map_err(D::Error::custom)
        });
        gates.collect::<Result<_, _>>().map(Self)
    }
}

record! {
    /// The results of all gates at one step, about one tree.
    pub struct GateReport {
        pub moment: Moment,
        pub commit: CommitId,
        pub tree: CommitId,
        /// The gates that must pass.
        pub required: Vec<String>,
        /// Further required gates, which run at other steps.
        pub later: Vec<String>,
        /// In the order of the runs. After a required gate that did not pass, liza runs no further gate.
        pub results: Vec<GateOutcome>,
    }
}

/// What keeps a required gate from counting as passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lacking {
    Missing,
    CouldNotRun,
    OtherTree,
    Failed,
}

/// The results of a report; empty without a report.
pub fn results(report: Option<&GateReport>) -> Vec<GateOutcome> {
    report.map(|report| report.results.clone()).unwrap_or_default()
}

impl GateReport {
    /// A report without gates.
    pub fn empty(moment: Moment, commit: CommitId, tree: CommitId) -> Self {
        Self { moment, commit, tree, required: Vec::new(), later: Vec::new(), results: Vec::new() }
    }

    pub fn result(&self, name: &str) -> Option<&GateOutcome> {
        self.results.iter().find(|result| result.name == name)
    }

    /// The first required gate that did not pass, and why. A failed gate comes before the gates that were skipped
    /// because of it.
    pub fn lacking(&self) -> Option<(&str, Lacking)> {
        let first = |wanted: &dyn Fn(&str) -> Option<Lacking>| {
            self.required.iter().find_map(|name| wanted(name).map(|lacking| (name.as_str(), lacking)))
        };
        let said = first(&|name| match self.result(name)?.status {
            GateStatus::Pass => None,
            GateStatus::Fail => Some(Lacking::Failed),
            GateStatus::CouldNotRun => Some(Lacking::CouldNotRun),
        });
        said.or_else(|| first(&|name| self.result(name).is_none().then_some(Lacking::Missing)))
    }

    pub fn passed(&self) -> bool {
        self.lacking().is_none()
    }

    /// Refuses unless every required gate passed on the tree of exactly this commit.
    pub fn check(&self, commit: &CommitId, verb: &str) -> Result<(), Refusal> {
        let other = self.required.first().filter(|_| &self.commit != commit);
        let lacking = match other {
            Some(name) => Some((name.as_str(), Lacking::OtherTree)),
            None => self.lacking(),
        };
        let Some((name, lacking)) = lacking else { return Ok(()) };
        let result = self.result(name);
        let reason = result.and_then(|result| result.reason.clone());
        let log = result.and_then(|result| result.log.clone());
        let because = reason.as_ref().map_or(String::new(), |reason| format!(": {reason}"));
        let (what, hint) = match lacking {
            Lacking::Missing => (
                format!("gate `{name}` is required and was not run on this tree"),
                format!("`liza gate run` runs it; then {verb} again"),
            ),
            Lacking::CouldNotRun => (
                format!("gate `{name}` is required and could not run{because}"),
                "see that its command can run here (`liza gate list` shows it); nothing was changed"
                    .to_owned(),
            ),
            Lacking::OtherTree => (
                format!(
                    "gate `{name}` is required and was run on another tree (that of {}, not of {})",
                    self.commit.short(),
                    commit.short()
                ),
                format!("{verb} again; the gates then run on the current tree"),
            ),
            Lacking::Failed => (
                format!("gate `{name}` is red{because}"),
                match &log {
                    Some(log) => format!("read {log}, fix the work, and {verb} again; nothing was changed"),
                    None => format!("fix the work and {verb} again; nothing was changed"),
                },
            ),
        };
        let code = if lacking == Lacking::Failed { Code::GateRed } else { Code::GateNotRun };
        let lacks = match lacking {
            Lacking::Missing => "missing",
            Lacking::CouldNotRun => "could_not_run",
            Lacking::OtherTree => "other_tree",
            Lacking::Failed => "failed",
        };
        Err(Refusal::new(code, what)
            .hint(hint)
            .detail("gate", name)
            .detail("lacking", lacks)
            .detail("log", log)
            .detail("failing", result.map(|result| result.failing.clone()).unwrap_or_default())
            .detail("gates", serde_json::to_value(&self.results).unwrap_or_default()))
    }

    /// In one line: `compile pass, test fail (177 of 179)`.
    pub fn summary(&self) -> String {
        let one = |result: &GateOutcome| {
            let counts = result.counts().map_or(String::new(), |counts| format!(" ({counts})"));
            let flaky = if result.flaky { ", flaky" } else { "" };
            format!("{} {}{counts}{flaky}", result.name, result.status.as_str())
        };
        self.results.iter().map(one).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(digit: &str) -> CommitId {
        CommitId::new(&digit.repeat(40)).expect("an id")
    }

    fn report(required: &[&str], results: &[(&str, GateStatus)]) -> GateReport {
        GateReport {
            required: required.iter().map(|name| (*name).to_owned()).collect(),
            results: results.iter().map(|(name, status)| GateOutcome::new(name, *status)).collect(),
            ..GateReport::empty(Moment::Merge, id("a"), id("b"))
        }
    }

    #[test]
    fn refusal_names_the_missing_gate_result() {
        use GateStatus::{CouldNotRun, Fail, Pass};
        for (required, results, commit, lacks) in [
            (&["test"][..], &[][..], id("a"), "missing"),
            (&["test"], &[("test", CouldNotRun)], id("a"), "could_not_run"),
            (&["test"], &[("test", Pass)], id("c"), "other_tree"),
            (&["test"], &[("test", Fail)], id("a"), "failed"),
            // A failed gate is named before the gates that were skipped because of it.
            (&["test", "build"], &[("build", Fail)], id("a"), "failed"),
        ] {
            let refusal = report(required, results).check(&commit, "merge").expect_err("a refusal");
            assert_eq!(refusal.details["lacking"], lacks);
        }
    }

    #[test]
    fn only_required_gates_bind() {
        use GateStatus::{Fail, Pass};
        assert!(report(&[], &[("lint", Fail)]).passed());
        assert!(report(&["test"], &[("test", Pass), ("lint", Fail)]).passed());
        assert!(report(&[], &[]).check(&id("c"), "merge").is_ok());
    }
}
