//! Applying a bundle to a task's branch: an intent is recorded before the branch moves, and the outcome afterwards.

use super::bundle::BundleEntry;
use super::prelude::*;

/// Records the next move. Claim, epoch and paths are checked here for the last time: an agent that lost the task is
/// stopped before the branch moves, and no agent can take over the task while this intent is open.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BeginApply {
    pub task: TaskId,
    /// The epoch of the claim under which the bundle was checked.
    pub epoch: u64,
    pub bundle: String,
    /// The path of the bundle's file.
    pub path: String,
    pub worktree: String,
    /// Every path that the bundle changes.
    pub files: Vec<String>,
    /// The agents recorded as authors of the changes; the agent that applies the bundle counts as an implementer
    /// anyway.
    pub implementers: Vec<AgentId>,
    pub step: RefMove,
    pub owner: Process,
    /// The gate results for the commit; absent in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gates: Option<GateReport>,
}

impl Verb for BeginApply {
    const OPERATION: Option<Operation> = Some(Operation::Bundle);
    type Outcome = Begun;

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        text_given("the bundle's id", &self.bundle)?;
        text_given("the bundle's path", &self.path)?;
        let entry = BundleEntry { task: self.task.clone(), epoch: Some(self.epoch) };
        entry.check_place(board, call)?;
        entry.check_paths(board, call, &self.files)
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        let work = Work::Apply(ApplyWork {
            epoch: self.epoch,
            worktree: self.worktree.clone(),
            bundle: self.bundle.clone(),
            path: self.path.clone(),
            implementers: self.implementers.clone(),
            step: self.step.clone(),
            gates: self.gates.clone(),
        });
        begin(board, call, Some(&self.task), &self.owner, None, work)
    }
}

logged! {
    /// The branch has moved and the files have followed.
    pub struct FinishApply {
        pub intent: u64,
        pub owner: Process,
    }
}

fn applying(board: &Board, intent: u64, owner: &Process) -> Result<(Intent, ApplyWork, TaskId), Refusal> {
    let intent = owned_intent(board, intent, owner)?;
    match (&intent.work, &intent.task) {
        (Work::Apply(work), Some(task)) => Ok((intent.clone(), work.clone(), task.clone())),
        _ => Err(refusal!(Code::IntentGone, "this intent does not apply a bundle")),
    }
}

outcome!(BundleApplied { task: TaskId, bundle: String, path: String, commit: CommitId });

impl Verb for FinishApply {
    const OPERATION: Option<Operation> = None;
    type Outcome = BundleApplied;

    fn check(&self, board: &Board, _: &Call) -> Result<(), Refusal> {
        applying(board, self.intent, &self.owner).map(|_| ())
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        let Ok((intent, work, task)) = applying(board, self.intent, &self.owner) else {
            unreachable!("checked before")
        };
        board.rest.intents.retain(|open| open.id != self.intent);
        let (head, body) = parts(board, &task);
        for hand in std::iter::once(&intent.by).chain(&work.implementers) {
            if !head.was_implemented_by(hand) {
                head.implementers.push(hand.clone());
            }
        }
        if let Some(gates) = work.gates.filter(|gates| !gates.results.is_empty()) {
            body.gates = Some(gates);
        }
        body.patch_bundle = Some(work.path.clone());
        // A process that finishes the work of a dead one did not apply the bundle: the history names the agent that
        // began.
        let noted = HistoryEntry::new(call.now.wall, Event::BundleApplied, intent.by.clone());
        body.history.push(noted.epoch(work.epoch).commit(&work.step.new).detail(work.bundle.clone()));
        BundleApplied { task, bundle: work.bundle, path: work.path, commit: work.step.new }
    }
}

logged! {
    /// The branch has not moved, or was moved back.
    pub struct CancelApply {
        pub intent: u64,
        pub owner: Process,
        pub reason: String,
    }
}

impl Verb for CancelApply {
    const OPERATION: Option<Operation> = None;
    type Outcome = Cancelled;

    fn check(&self, board: &Board, _: &Call) -> Result<(), Refusal> {
        applying(board, self.intent, &self.owner).map(|_| ())
    }

    fn change(&self, board: &mut Board, _: &Call) -> Self::Outcome {
        board.rest.intents.retain(|open| open.id != self.intent);
        Cancelled { cancelled: self.intent, reason: self.reason.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::rules::{Release, TakeOver};
    use crate::board::testing::*;

    fn begin(bench: &Bench, epoch: u64) -> BeginApply {
        BeginApply {
            task: id("t1"),
            epoch,
            bundle: "PB-1".to_owned(),
            path: ".liza/bundles/PB-1.patchbundle.json".to_owned(),
            worktree: ".worktrees/t1".to_owned(),
            files: vec![file_of("t1")],
            implementers: vec![agent("coder-2")],
            step: RefMove { branch: "task/t1".to_owned(), old: Some(commit(6)), new: commit(7) },
            owner: process(u32::try_from(bench.board.revision).unwrap_or(1)),
            gates: Some(GateReport {
                results: vec![GateOutcome::new("tests", GateStatus::Pass)],
                ..GateReport::empty(Moment::Bundle, commit(7), commit(8))
            }),
        }
    }

    #[test]
    fn apply_checks_the_claim_when_it_records() {
        let mut bench = Bench::with_tasks(&["t1"]);
        bench.claim("coder-1", "t1");
        bench.ok("coder-1", bench.checkpoint("t1"));
        let epoch = bench.task("t1").epoch;
        let refused = |bench: &Bench, who: &str, epoch: u64| {
            let call = bench.call(bench.actor(who));
            begin(bench, epoch).check(&bench.board, &call).err().map(|refusal| refusal.code)
        };
        assert_eq!(refused(&bench, "coder-1", epoch - 1), Some(Code::Epoch));
        assert_eq!(refused(&bench, "coder-2", epoch), Some(Code::LeaseLost));
        let begun = begin(&bench, epoch);
        bench.ok("human", begun.clone());
        // The task cannot be released while the branch moves.
        let release = Release { task: id("t1"), epoch: None, reason: "lunch".to_owned() };
        let call = bench.call(bench.actor("human"));
        assert_eq!(
            release.check(&bench.board, &call).err().map(|refusal| refusal.code),
            Some(Code::IntentOpen)
        );
        let intent = bench.board.rest.intents[0].id;
        bench.ok("human", TakeOver { intent, former: begun.owner, owner: process(99) });
        bench.ok("human", FinishApply { intent, owner: process(99) });
        let task = bench.task("t1");
        assert_eq!(task.implementers, [agent("coder-1"), agent("human"), agent("coder-2")]);
        assert_eq!(task.body().patch_bundle.as_deref(), Some(".liza/bundles/PB-1.patchbundle.json"));
        assert_eq!(task.body().gates.as_ref().map(|gates| gates.summary()).as_deref(), Some("tests pass"));
        assert!(bench.board.rest.intents.is_empty());
    }

    #[test]
    fn cancelled_apply_leaves_nothing() {
        let mut bench = Bench::with_tasks(&["t1"]);
        bench.claim("coder-1", "t1");
        bench.ok("coder-1", bench.checkpoint("t1"));
        let before = bench.task("t1").clone();
        let begun = begin(&bench, before.epoch);
        bench.ok("coder-1", begun.clone());
        let intent = bench.board.rest.intents[0].id;
        bench.ok("coder-1", CancelApply { intent, owner: begun.owner, reason: "no".to_owned() });
        assert_eq!(bench.task("t1"), &before);
        assert!(bench.board.rest.intents.is_empty());
    }
}
