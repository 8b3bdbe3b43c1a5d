//! Branches that move by other means than the merge of a task, and the one place a move is recorded before it is made.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::board::agent::Process;
use crate::board::call::Call;
use crate::board::gates::GateReport;
use crate::board::intent::{Intent, MoveWork, RefMove, Work};
use crate::board::refusal::{Code, Refusal};
use crate::board::state::Board;
use crate::board::transition::{Needs, Rule};

use super::common::{human_only, text_given};
use super::review_lease::reviews;

/// The intent, if this process is the one that carries it out: whoever was thought dead and comes back is stopped here.
pub fn owned_intent<'b>(board: &'b Board, id: u64, owner: &Process) -> Result<&'b Intent, Refusal> {
    match board.intent(id) {
        Some(intent) if &intent.owner == owner => Ok(intent),
        Some(intent) => Refusal::new(
            Code::IntentGone,
            format!("process {} has taken this {} over", intent.owner.pid, intent.work.verb()),
        )
        .hint("nothing is lost; look at `liza status`")
        .err(),
        None => Refusal::new(Code::IntentGone, "another process has ended this work meanwhile")
            .hint("nothing is lost; look at `liza status`")
            .err(),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MoveKind {
    Advance,
    Deliver,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BeginMove {
    pub kind: MoveKind,
    pub branch: String,
    pub reason: String,
    pub owner: Process,
}

impl Rule for BeginMove {
    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        let verb = match self.kind {
            MoveKind::Advance => "advance the integration branch",
            MoveKind::Deliver => "deliver integration to another branch",
        };
        human_only(call, verb)?;
        call.check_switches(None)?;
        text_given("--reason", &self.reason)?;
        let open = board.rest.intents.iter().find(|intent| match &intent.work {
            Work::Advance(work) | Work::Deliver(work) => work.branch == self.branch,
            _ => false,
        });
        match open {
            None => Ok(()),
            Some(intent) => Refusal::new(
                Code::IntentOpen,
                format!("a {} is under way (process {})", intent.work.verb(), intent.owner.pid),
            )
            .hint("wait for it to end, then repeat")
            .err(),
        }
    }

    fn change(&self, board: &mut Board, call: &Call) -> Value {
        let id = board.revision + 1;
        let work =
            MoveWork { branch: self.branch.clone(), reason: self.reason.clone(), step: None, gates: None };
        board.rest.intents.push(Intent {
            id,
            task: None,
            by: call.by.id(),
            owner: self.owner.clone(),
            time: call.now.wall,
            request: None,
            work: match self.kind {
                MoveKind::Advance => Work::Advance(work),
                MoveKind::Deliver => Work::Deliver(work),
            },
        });
        json!({ "intent": id })
    }

    fn needs(&self, _: &Board) -> Needs {
        Needs::Nothing
    }
}

/// Names the move that is about to be made; the hook lets exactly this one pass.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordMove {
    pub intent: u64,
    pub owner: Process,
    pub step: RefMove,
    /// What the gates said about the tree it moves to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gates: Option<GateReport>,
}

impl Rule for RecordMove {
    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        let intent = owned_intent(board, self.intent, &self.owner)?;
        // The last look at the switches before the branch moves.
        call.check_switches(intent.task.as_ref())?;
        match intent.work {
            Work::Claim(_) => Refusal::new(Code::IntentGone, "a claim moves no branch").err(),
            Work::Apply(_) => Refusal::new(Code::IntentGone, "the move of this work is on record").err(),
            // What is delivered has been judged when it came to integration.
            Work::Deliver(_) => Ok(()),
            Work::Merge(_) => self.passed(board, "merge"),
            Work::Advance(_) => self.passed(board, "advance"),
        }
    }

    fn change(&self, board: &mut Board, _: &Call) -> Value {
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
        json!({ "intent": self.intent })
    }

    fn needs(&self, _: &Board) -> Needs {
        Needs::Nothing
    }
}

impl RecordMove {
    /// Integration moves to no tree that its gates did not let through as that very tree.
    fn passed(&self, board: &Board, verb: &str) -> Result<(), Refusal> {
        board.no_gate_is_gone(self.gates.as_ref(), verb)?;
        self.gates.as_ref().map_or(Ok(()), |gates| gates.check(&self.step.new, verb))
    }
}

/// The branch has moved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FinishMove {
    pub intent: u64,
    pub owner: Process,
}

fn recorded_step(board: &Board, intent: u64, owner: &Process) -> Result<(Intent, RefMove), Refusal> {
    let intent = owned_intent(board, intent, owner)?;
    match &intent.work {
        Work::Advance(MoveWork { step: Some(step), .. })
        | Work::Deliver(MoveWork { step: Some(step), .. }) => Ok((intent.clone(), step.clone())),
        _ => Refusal::new(Code::IntentGone, "no move was recorded for this work").err(),
    }
}

impl Rule for FinishMove {
    fn check(&self, board: &Board, _: &Call) -> Result<(), Refusal> {
        recorded_step(board, self.intent, &self.owner).map(|_| ())
    }

    fn change(&self, board: &mut Board, _: &Call) -> Value {
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
        json!({ "branch": step.branch, "old": step.old, "new": step.new, "gates": gates })
    }

    fn needs(&self, _: &Board) -> Needs {
        Needs::Nothing
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CancelMove {
    pub intent: u64,
    pub owner: Process,
    pub reason: String,
}

impl Rule for CancelMove {
    fn check(&self, board: &Board, _: &Call) -> Result<(), Refusal> {
        let intent = owned_intent(board, self.intent, &self.owner)?;
        match intent.work {
            Work::Advance(_) | Work::Deliver(_) => Ok(()),
            _ => Refusal::new(Code::IntentGone, "this work is not a move of a branch").err(),
        }
    }

    fn change(&self, board: &mut Board, _: &Call) -> Value {
        board.rest.intents.retain(|open| open.id != self.intent);
        json!({ "cancelled": self.intent, "reason": self.reason })
    }

    fn needs(&self, _: &Board) -> Needs {
        Needs::Nothing
    }
}

/// What the gates say about the head of integration as it stands: while it is red, nothing is merged on top of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JudgeIntegration {
    pub gates: GateReport,
}

impl Rule for JudgeIntegration {
    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        reviews(board, call, "say whether integration passes its gates")
    }

    fn change(&self, board: &mut Board, _: &Call) -> Value {
        let red = self.gates.lacking().map(|(name, _)| {
            let result = self.gates.result(name);
            let reason = result.and_then(|result| result.reason.as_deref()).unwrap_or("it did not pass");
            let log = result.and_then(|result| result.log.as_deref());
            let log = log.map_or(String::new(), |log| format!(" (log: {log})"));
            format!("gate `{name}` on {}: {reason}{log}", self.gates.commit.short())
        });
        board.rest.integration.red.clone_from(&red);
        json!({ "commit": self.gates.commit, "red": red, "gates": self.gates.results })
    }

    fn needs(&self, _: &Board) -> Needs {
        Needs::Nothing
    }
}

/// A person says that a gate is no longer required.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RetireGate {
    pub gate: String,
    pub reason: String,
}

impl Rule for RetireGate {
    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        human_only(call, "retire a gate")?;
        text_given("--reason", &self.reason)?;
        if board.rest.integration.gates.contains(&self.gate) {
            return Ok(());
        }
        let known = board.rest.integration.gates.join(", ");
        Refusal::new(Code::UnknownRecord, format!("no gate `{}` was ever required here", self.gate))
            .hint(if known.is_empty() { "none was".to_owned() } else { format!("required: {known}") })
            .err()
    }

    fn change(&self, board: &mut Board, _: &Call) -> Value {
        board.rest.integration.gates.retain(|name| name != &self.gate);
        json!({ "gate": self.gate, "required": board.rest.integration.gates })
    }

    fn needs(&self, _: &Board) -> Needs {
        Needs::Nothing
    }
}
