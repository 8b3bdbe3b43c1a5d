//! Branches that move by other means than the merge of a task, and the one place a move is recorded before it is made.

use super::audit::check_audited;
use super::prelude::*;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MoveKind {
    Advance,
    Deliver,
}

logged! {
    pub struct BeginMove {
        pub kind: MoveKind,
        pub branch: String,
        pub reason: String,
        pub owner: Process,
        /// The checkout of that branch, whose files move along.
        pub checkout: Option<String>,
        /// A delivery needs the auditors of routed goals, or a person's waiver; not so in older records.
        pub audited: bool,
    }
}

impl Verb for BeginMove {
    const OPERATION: Option<Operation> = None;
    type Outcome = Begun;

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        let verb = match self.kind {
            MoveKind::Advance => "advance the integration branch",
            MoveKind::Deliver => "deliver integration to another branch",
        };
        human_only(call, verb)?;
        call.check_switches(None)?;
        text_given("--reason", &self.reason)?;
        if self.audited && self.kind == MoveKind::Deliver {
            check_audited(board, call)?;
        }
        let open = board.rest.intents.iter().find(|intent| match &intent.work {
            Work::Advance(work) | Work::Deliver(work) => work.branch == self.branch,
            _ => false,
        });
        match open {
            None => Ok(()),
            Some(intent) => Err(Refusal::new(
                Code::IntentOpen,
                format!("a {} is under way (process {})", intent.work.verb(), intent.owner.pid),
            )
            .hint("wait for it to end, then repeat")),
        }
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        let work = MoveWork {
            branch: self.branch.clone(),
            reason: self.reason.clone(),
            checkout: self.checkout.clone(),
            step: None,
            gates: None,
        };
        let work = match self.kind {
            MoveKind::Advance => Work::Advance(work),
            MoveKind::Deliver => Work::Deliver(work),
        };
        begin(board, call, None, &self.owner, None, work)
    }
}

logged! {
    /// Names the move that is about to be made; the hook lets exactly this one pass.
    pub struct RecordMove {
        pub intent: u64,
        pub owner: Process,
        pub step: RefMove,
        /// What the gates said about the tree it moves to.
        pub gates: Option<GateReport>,
    }
}

impl Verb for RecordMove {
    const OPERATION: Option<Operation> = None;
    type Outcome = Begun;

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        let intent = owned_intent(board, self.intent, &self.owner)?;
        // The last look at the switches before the branch moves.
        call.check_switches(intent.task.as_ref())?;
        match intent.work {
            Work::Claim(_) => Err(refusal!(Code::IntentGone, "a claim moves no branch")),
            Work::Apply(_) => Err(refusal!(Code::IntentGone, "the move of this work is on record")),
            // The gates judged delivered work when it was merged into the integration branch.
            Work::Deliver(_) => Ok(()),
            Work::Merge(_) => self.passed(board, "merge"),
            Work::Advance(_) => self.passed(board, "advance"),
        }
    }

    fn change(&self, board: &mut Board, _: &Call) -> Self::Outcome {
        board.note_gates(self.gates.as_ref());
        if let Some(intent) = board.rest.intents.iter_mut().find(|intent| intent.id == self.intent) {
            match &mut intent.work {
                Work::Merge(work) => {
                    work.step = Some(self.step.clone());
                    work.gates.clone_from(&self.gates);
                }
                Work::Advance(work) | Work::Deliver(work) => {
                    work.step = Some(self.step.clone());
                    work.gates.clone_from(&self.gates);
                }
                Work::Claim(_) | Work::Apply(_) => {}
            }
        }
        Begun { intent: self.intent }
    }
}

impl RecordMove {
    /// The integration branch moves only to a tree that its gates passed.
    fn passed(&self, board: &Board, verb: &str) -> Result<(), Refusal> {
        board.no_gate_is_gone(self.gates.as_ref(), verb)?;
        self.gates.as_ref().map_or(Ok(()), |gates| gates.check(&self.step.new, verb))
    }
}

logged! {
    /// The branch has moved.
    pub struct FinishMove {
        pub intent: u64,
        pub owner: Process,
    }
}

fn recorded_step(board: &Board, intent: u64, owner: &Process) -> Result<(Intent, RefMove), Refusal> {
    let intent = owned_intent(board, intent, owner)?;
    match &intent.work {
        Work::Advance(MoveWork { step: Some(step), .. })
        | Work::Deliver(MoveWork { step: Some(step), .. }) => Ok((intent.clone(), step.clone())),
        _ => Err(refusal!(Code::IntentGone, "no move was recorded for this work")),
    }
}

outcome!(Moved { branch: String, old: Option<CommitId>, new: CommitId, gates: Vec<GateOutcome> });

impl Verb for FinishMove {
    const OPERATION: Option<Operation> = None;
    type Outcome = Moved;

    fn check(&self, board: &Board, _: &Call) -> Result<(), Refusal> {
        recorded_step(board, self.intent, &self.owner).map(|_| ())
    }

    fn change(&self, board: &mut Board, _: &Call) -> Self::Outcome {
        let Ok((intent, step)) = recorded_step(board, self.intent, &self.owner) else {
            unreachable!("checked before")
        };
        board.rest.intents.retain(|open| open.id != self.intent);
        if matches!(intent.work, Work::Advance(_)) {
            board.rest.integration.head = Some(step.new.clone());
            board.rest.integration.red = None;
        }
        let gates = match &intent.work {
            Work::Advance(MoveWork { gates: Some(gates), .. }) => gates.results.clone(),
            _ => Vec::new(),
        };
        Moved { branch: step.branch, old: step.old, new: step.new, gates }
    }
}

logged! {
    /// Integration was pushed to a remote for a pull or merge request.
    pub struct RecordRequest {
        pub remote: String,
        /// The branch there.
        pub branch: String,
        /// The branch that it is to come to.
        pub base: String,
        pub commit: CommitId,
        /// Where the request is; none if a person opens it.
        pub url: Option<String>,
    }
}

outcome!(Requested { remote: String, branch: String, base: String, commit: CommitId, url: Option<String> });

impl Verb for RecordRequest {
    const OPERATION: Option<Operation> = None;
    type Outcome = Requested;

    fn check(&self, _: &Board, call: &Call) -> Result<(), Refusal> {
        human_only(call, "deliver integration to another branch")
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        let Self { remote, branch, base, commit, url } = self.clone();
        let outcome = Requested { remote, branch, base, commit, url };
        let Self { remote, branch, base, commit, url } = self.clone();
        let time = call.now.wall;
        board.rest.integration.request =
            Some(crate::board::state::MergeRequest { remote, branch, base, commit, url, time });
        outcome
    }
}

logged! {
    pub struct CancelMove {
        pub intent: u64,
        pub owner: Process,
        pub reason: String,
    }
}

impl Verb for CancelMove {
    const OPERATION: Option<Operation> = None;
    type Outcome = Cancelled;

    fn check(&self, board: &Board, _: &Call) -> Result<(), Refusal> {
        let intent = owned_intent(board, self.intent, &self.owner)?;
        match intent.work {
            Work::Advance(_) | Work::Deliver(_) => Ok(()),
            _ => Err(refusal!(Code::IntentGone, "this work is not a move of a branch")),
        }
    }

    fn change(&self, board: &mut Board, _: &Call) -> Self::Outcome {
        board.rest.intents.retain(|open| open.id != self.intent);
        Cancelled { cancelled: self.intent, reason: self.reason.clone() }
    }
}

logged! {
    /// What the gates say about the head of integration as it stands: while it is red, nothing is merged on top of it.
    pub struct JudgeIntegration {
        pub gates: GateReport,
    }
}

outcome!(IntegrationJudged { commit: CommitId, red: Option<String>, gates: Vec<GateOutcome> });

impl Verb for JudgeIntegration {
    const OPERATION: Option<Operation> = None;
    type Outcome = IntegrationJudged;

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        if call.by.is_liza() {
            return Ok(());
        }
        reviews(board, call, "say whether integration passes its gates")
    }

    fn change(&self, board: &mut Board, _: &Call) -> Self::Outcome {
        let red = self.gates.lacking().map(|(name, _)| {
            let result = self.gates.result(name);
            let reason = result.and_then(|result| result.reason.as_deref()).unwrap_or("it did not pass");
            let log = result.and_then(|result| result.log.as_deref());
            let log = log.map_or(String::new(), |log| format!(" (log: {log})"));
            format!("gate `{name}` on {}: {reason}{log}", self.gates.commit.short())
        });
        board.rest.integration.red.clone_from(&red);
        IntegrationJudged { commit: self.gates.commit.clone(), red, gates: self.gates.results.clone() }
    }
}

logged! {
    /// A person says that a gate is no longer required.
    pub struct RetireGate {
        pub gate: String,
        pub reason: String,
    }
}

outcome!(GateRetired { gate: String, required: Vec<String> });

impl Verb for RetireGate {
    const OPERATION: Option<Operation> = None;
    type Outcome = GateRetired;

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        human_only(call, "retire a gate")?;
        text_given("--reason", &self.reason)?;
        if board.rest.integration.gates.contains(&self.gate) {
            return Ok(());
        }
        let known = board.rest.integration.gates.join(", ");
        Err(refusal!(Code::UnknownRecord, "no gate `{}` was ever required here", self.gate)
            .hint(if known.is_empty() { "none was".to_owned() } else { format!("required: {known}") }))
    }

    fn change(&self, board: &mut Board, _: &Call) -> Self::Outcome {
        board.rest.integration.gates.retain(|name| name != &self.gate);
        GateRetired { gate: self.gate.clone(), required: board.rest.integration.gates.clone() }
    }
}
