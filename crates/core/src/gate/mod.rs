//! Gate adapters: they read the output of a check. Pure: from bytes to a result.

pub mod changed;
mod counts;
mod coverage;
mod diag;
mod exit;
mod go_test;
mod junit;
mod lines;
mod pytest;
mod rust_tests;
mod trace_hash;
mod xml;

#[cfg(test)]
mod testing;

use crate::board::gates::GateStatus;
use crate::policy::gate::{AdapterKind, Gate};
use crate::text::{clipped, shown_line};

/// The end of a command. Commands that could not run never come here.
#[derive(Debug, Clone, Copy)]
pub struct FinishedCommand<'a> {
    pub exit: i32,
    /// Both outputs in order; the middle of a long one is cut.
    pub output: &'a [u8],
    /// Only its standard output, cut the same way.
    pub stdout: &'a [u8],
    /// Whether these were cut.
    pub cut: bool,
    /// The content of the file that `report` names; none if this run did not write it.
    pub report: Option<&'a [u8]>,
    /// The expected hash, if there is one.
    pub expected: Option<&'a str>,
    /// The new or changed lines, for a gate that judges only those.
    pub changed: Option<&'a changed::ChangedLines>,
}

/// The result of an adapter.
#[derive(Debug, Clone, PartialEq)]
pub struct AdapterResult {
    pub status: GateStatus,
    pub total: Option<u64>,
    pub passed: Option<u64>,
    pub hash: Option<String>,
    /// Why it is not a pass, in one line.
    pub reason: Option<String>,
    /// The checks that failed, at most twenty.
    pub failing: Vec<String>,
    /// Functions and files that no test reaches, if known; at most twenty.
    pub untested: Vec<String>,
}

/// Reads the result with the adapter that `liza.yaml` names.
pub fn judge(gate: &Gate, ran: &FinishedCommand<'_>) -> AdapterResult {
    let said = match gate.adapter {
        AdapterKind::Exit => Ok(exit::judge(ran)),
        AdapterKind::CargoTest => Ok(rust_tests::cargo_test(ran)),
        AdapterKind::Nextest => Ok(rust_tests::nextest(ran)),
        AdapterKind::Pytest => Ok(pytest::judge(ran)),
        AdapterKind::GoTest => Ok(go_test::judge(ran)),
        AdapterKind::Junit => junit::judge(gate, ran),
        AdapterKind::TraceHash => trace_hash::judge(gate, ran),
        AdapterKind::Diag => diag::judge(gate, ran),
        AdapterKind::Coverage => coverage::judge(gate, ran),
    };
    said.unwrap_or_else(|said| said)
}

/// The largest report.
const LARGEST_REPORT: usize = 32 * 1024 * 1024;
const MOST_NAMES: usize = 20;
const LONGEST_NAME: usize = 200;

impl AdapterResult {
    fn new(status: GateStatus) -> Self {
        Self {
            status,
            total: None,
            passed: None,
            hash: None,
            reason: None,
            failing: Vec::new(),
            untested: Vec::new(),
        }
    }

    /// A pass, unless there is a reason against it.
    fn unless(reason: Option<String>) -> Self {
        let status = if reason.is_none() { GateStatus::Pass } else { GateStatus::Fail };
        Self { reason, ..Self::new(status) }
    }

    fn fail(reason: impl Into<String>) -> Self {
        Self { reason: Some(reason.into()), ..Self::new(GateStatus::Fail) }
    }

    fn could_not_run(reason: impl Into<String>) -> Self {
        Self { reason: Some(reason.into()), ..Self::new(GateStatus::CouldNotRun) }
    }
}

/// Adds a failed check: once, printable, and only as many as a person reads.
fn remember(names: &mut Vec<String>, name: &str) {
    let name = shown_line(name.trim());
    let name = clipped(&name, LONGEST_NAME);
    if !name.is_empty() && names.len() < MOST_NAMES && !names.iter().any(|known| *known == name) {
        names.push(name.into_owned());
    }
}

/// The result of a command whose report cannot be read. If the command failed, the tree is bad (it did not compile, say);
/// if it claims success without a report, nothing is known.
fn without_report(exit: i32, what: &str) -> AdapterResult {
    if exit == 0 {
        AdapterResult::could_not_run(what)
    } else {
        AdapterResult::fail(format!("it exited with {exit}, and {what}"))
    }
}

/// The report, if it exists and is small enough.
fn report<'r>(gate: &Gate, ran: &FinishedCommand<'r>) -> Result<&'r [u8], AdapterResult> {
    let name = shown_line(gate.report.as_deref().unwrap_or_default()).into_owned();
    match ran.report {
        None => Err(without_report(ran.exit, &format!("it wrote no report `{name}`"))),
        Some(bytes) if bytes.len() > LARGEST_REPORT => {
            let most = crate::text::bytes(LARGEST_REPORT as u64);
            Err(AdapterResult::could_not_run(format!("its report `{name}` is larger than {most}")))
        }
        Some(bytes) => Ok(bytes),
    }
}

/// The result for a report that cannot be read.
fn unreadable(gate: &Gate, ran: &FinishedCommand<'_>, why: &str) -> AdapterResult {
    let name = shown_line(gate.report.as_deref().unwrap_or_default());
    without_report(
        ran.exit,
        &format!("its report `{name}` cannot be read: {}", clipped(&shown_line(why), 300)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_adapter_serializes_as_its_name() {
        for kind in AdapterKind::ALL.iter().copied() {
            assert_eq!(kind.as_str(), serde_json::to_value(kind).expect("a name"), "{kind:?}");
        }
    }

    #[test]
    fn names_are_few_short_and_printable() {
        let mut names = Vec::new();
        for number in 0..50 {
            remember(&mut names, &format!("{number}\u{1b}[2J{}", "x".repeat(500)));
            remember(&mut names, "the same");
        }
        assert_eq!(names.len(), MOST_NAMES);
        assert!(names.iter().all(|name| name.chars().count() <= LONGEST_NAME));
        assert!(!names.iter().any(|name| name.contains('\u{1b}')));
        assert_eq!(names.iter().filter(|name| *name == "the same").count(), 1);
    }
}
