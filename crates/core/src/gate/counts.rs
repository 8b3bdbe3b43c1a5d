//! The verdict from counts of tests, for all adapters.

use super::{AdapterResult, FinishedCommand, remember};

/// Tests that were run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Counts {
    /// Whether any test counts were found.
    pub found: bool,
    pub passed: u64,
    pub failed: u64,
    pub failing: Vec<String>,
    /// Some counts may be missing.
    pub incomplete: bool,
}

impl Counts {
    pub fn add(&mut self, passed: u64, failed: u64) {
        self.found = true;
        self.passed = self.passed.saturating_add(passed);
        self.failed = self.failed.saturating_add(failed);
    }

    pub fn name(&mut self, name: &str) {
        remember(&mut self.failing, name);
    }

    /// A pass needs all three: exit code 0, no failed test, and at least one test.
    pub fn result(self, ran: &FinishedCommand<'_>) -> AdapterResult {
        let (exit, failed) = (ran.exit, self.failed);
        let total = self.passed.saturating_add(failed);
        let reason = match (exit, self.found) {
            (0, false) => Some("no test result was found in the output".to_owned()),
            (_, false) => Some(format!("it exited with {exit}, and no test result was found in the output")),
            (_, true) if failed > 0 => {
                let of = if self.incomplete { String::new() } else { format!(" of {total}") };
                let tests = if total == 1 { "test" } else { "tests" };
                let though = if exit == 0 { ", although it exited with 0" } else { "" };
                Some(format!("{failed}{of} {tests} failed{though}"))
            }
            (0, true) if total == 0 => Some("no test was run".to_owned()),
            (_, true) if total == 0 => Some(format!("it exited with {exit}, and no test was run")),
            (0, true) => None,
            (_, true) => Some(format!("it exited with {exit}, although no test failed in its output")),
        };
        let counted = self.found && !self.incomplete;
        AdapterResult {
            total: counted.then_some(total),
            passed: counted.then_some(self.passed),
            failing: self.failing,
            ..AdapterResult::unless(reason)
        }
    }
}
