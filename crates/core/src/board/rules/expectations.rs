//! Required gates and expected hashes, when work is judged, merged or ends.

use super::prelude::*;

impl Board {
    /// The expected hash of a gate: for this task, or else for the integration branch.
    pub fn expectation(&self, gate: &str, task: Option<&TaskId>) -> Option<&Expectation> {
        let of = |task: Option<&TaskId>| {
            self.rest.expectations.iter().find(|known| known.gate == gate && known.task.as_ref() == task)
        };
        task.and_then(|task| of(Some(task)).filter(|known| self.is_independent(known))).or_else(|| of(None))
    }

    /// An agent that claims a task after blessing a hash for it is no longer independent.
    fn is_independent(&self, known: &Expectation) -> bool {
        let task = known.task.as_ref().and_then(|task| self.task(task));
        !task.is_some_and(|task| task.was_implemented_by(&known.by))
    }
}

impl Board {
    /// Refuses if a gate that was required before did not run. Without a report, no gate ran.
    pub fn no_gate_is_gone(&self, report: Option<&GateReport>, verb: &str) -> Result<(), Refusal> {
        let asked = |name: &String| report.is_some_and(|report| report.required.contains(name));
        let Some(gone) = self.rest.integration.gates.iter().find(|name| !asked(name)) else { return Ok(()) };
        Err(refusal!(
            Code::GateNotRun,
            "gate `{gone}` was required before, and liza.yaml does not name it as required now"
        )
        .hint(format!(
            "put it back into liza.yaml and {verb} again; a person who wants it gone says `liza gate retire {gone} --reason …`"
        ))
        .detail("gate", gone.as_str())
        .detail("lacking", "missing"))
    }

    /// Remembers which gates were required.
    pub fn note_gates(&mut self, report: Option<&GateReport>) {
        let known = &mut self.rest.integration.gates;
        for name in report.iter().flat_map(|report| report.required.iter().chain(&report.later)) {
            if !known.contains(name) {
                known.push(name.clone());
            }
        }
    }
}

/// Moves the expected hashes of a merged task to the integration branch.
pub fn land(board: &mut Board, task: &TaskId) {
    let of_task = |known: &&Expectation| known.task.as_ref() == Some(task) && board.is_independent(known);
    let landing: Vec<Expectation> = board.rest.expectations.iter().filter(of_task).cloned().collect();
    forget(board, task);
    for expectation in landing {
        replace(board, Expectation { task: None, ..expectation });
    }
}

/// Forgets the expected hashes of a task that will never be merged.
pub fn forget(board: &mut Board, task: &TaskId) {
    board.rest.expectations.retain(|known| known.task.as_ref() != Some(task));
}

/// Keeps one hash for each gate and task, and one for the integration branch.
pub fn replace(board: &mut Board, expectation: Expectation) {
    let same = |known: &Expectation| known.gate == expectation.gate && known.task == expectation.task;
    board.rest.expectations.retain(|known| !same(known));
    board.rest.expectations.push(expectation);
}
