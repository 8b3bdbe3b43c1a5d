//! WHAT A GATE SAID: adapters that read the output of a check. Pure: they are given bytes and say what they mean.

use crate::board::gates::GateStatus;
use crate::policy::gate::Gate;

/// How a command that ran to its end did so. What could not run never comes here.
#[derive(Debug, Clone, Copy)]
pub struct Ran<'a> {
    pub exit: i32,
    /// Both outputs as they came; the middle of a long one is cut out.
    pub output: &'a [u8],
    /// Its standard output alone, cut the same way.
    pub stdout: &'a [u8],
    /// Whether something was cut out of these.
    pub cut: bool,
    /// The content of the file that `report` names; none if it was not written by this run.
    pub report: Option<&'a [u8]>,
    /// The hash that is expected, if any is.
    pub expected: Option<&'a str>,
}

/// What an adapter makes of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Said {
    pub status: GateStatus,
    pub total: Option<u64>,
    pub passed: Option<u64>,
    pub hash: Option<String>,
    /// Why it is no pass, in one line.
    pub reason: Option<String>,
    /// The checks that failed, at most twenty.
    pub failing: Vec<String>,
}

/// One way to read a check.
pub trait Adapter: Sync {
    fn name(&self) -> &'static str;
    fn judge(&self, gate: &Gate, ran: &Ran<'_>) -> Said;
}
