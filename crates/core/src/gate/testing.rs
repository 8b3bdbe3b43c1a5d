//! Helpers for the tests of all adapters.

use super::{AdapterResult, FinishedCommand, judge};
use crate::policy::gate::{AdapterKind, Gate};

/// A command that ran to its end.
#[derive(Clone, Copy, Default)]
pub struct Scene<'a> {
    pub exit: i32,
    /// Standard output, and all of its output.
    pub output: &'a str,
    pub cut: bool,
    pub report: Option<&'a str>,
    pub expected: Option<&'a str>,
    pub changed: Option<&'a super::changed::ChangedLines>,
}

pub fn gate(kind: AdapterKind) -> Gate {
    let value = serde_json::json!({ "name": "check", "command": "true", "adapter": kind });
    let mut gate: Gate = serde_json::from_value(value).expect("a gate");
    if matches!(kind, AdapterKind::Junit | AdapterKind::Coverage) {
        gate.report = Some("report.out".to_owned());
    }
    gate
}

pub fn judged_by(gate: &Gate, scene: Scene<'_>) -> AdapterResult {
    let ran = FinishedCommand {
        exit: scene.exit,
        output: scene.output.as_bytes(),
        stdout: scene.output.as_bytes(),
        cut: scene.cut,
        report: scene.report.map(str::as_bytes),
        expected: scene.expected,
        changed: scene.changed,
    };
    judge(gate, &ran)
}

pub fn judged(kind: AdapterKind, scene: Scene<'_>) -> AdapterResult {
    judged_by(&gate(kind), scene)
}
