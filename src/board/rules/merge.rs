//! Landing approved work: intent, then git and gates without the lock, then the outcome.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::board::agent::Process;
use crate::board::call::Call;
use crate::board::gates::GateReport;
use crate::board::history::Event;
use crate::board::ids::{CommitId, Role, TaskId};
use crate::board::intent::{Intent, MergeWork, RequestKey, Work};
use crate::board::records::{Anomaly, AnomalyKind, next_number};
use crate::board::refusal::{Code, Refusal};
use crate::board::state::Board;
use crate::board::task::{IntegrationFailure, MergeRecord, Status};
use crate::board::time::Deadline;
use crate::board::transition::{Needs, Rule};

use super::approve::approval_holds;
use super::common::{entry, find, human_only, next_step, no_intent, parts, tier0_role, wrong_state};
use super::moves::owned_intent;
use super::red_team::red_team_is_through;
use super::review_lease::reviews;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BeginMerge {
    pub task: TaskId,
    /// Where the task's branch is now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch_head: Option<CommitId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved: Option<CommitId>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub resolve_trivial: bool,
    pub owner: Process,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<RequestKey>,
}

impl Rule for BeginMerge {
    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        let task = find(board, &self.task)?;
        call.check_switches(Some(&self.task))?;
        if !call.by.has_role(board, &Role::code_reviewer()) {
            return Err(tier0_role(call, &format!("merge task `{}`", self.task), &Role::code_reviewer()));
        }
        no_intent(board, &self.task)?;
        if self.resolved.is_some() {
            human_only(call, "land a resolution of a conflict")?;
        }
        match task.status {
            Status::Approved | Status::IntegrationFailed => {}
            Status::Blocked if self.resolved.is_some() && task.body().approval.is_some() => {}
            Status::Blocked | Status::Merged | Status::Superseded | Status::Abandoned => {
                return Err(wrong_state(task, "merged", next_step(task)));
            }
            _ => {
                return Refusal::new(
                    Code::Tier0UnapprovedMerge,
                    format!("task `{}` is {}, not approved, so it cannot be merged", task.id, task.status),
                )
                .hint(format!("{}; this is recorded as a Tier 0 violation", next_step(task)))
                .detail("task", task.id.as_str())
                .err();
            }
        }
        approval_holds(task, call)?;
        if self.branch_head.is_none() || self.branch_head != task.review_commit {
            return Refusal::new(
                Code::ApprovalVoid,
                format!(
                    "the branch of `{}` moved after it was approved, so the approval no longer holds",
                    task.id
                ),
            )
            .hint("it goes back to its coder as REJECTED; submit and review what stands there now")
            .detail("task", task.id.as_str())
            .detail("branch_head", self.branch_head.as_ref().map(|head| head.as_str().to_owned()))
            .err();
        }
        // Asked last: an approval that does not hold any more is void, whoever was still to look at it.
        red_team_is_through(task)
    }

    fn change(&self, board: &mut Board, call: &Call) -> Value {
        let id = board.revision + 1;
        let Some(task) = board.task(&self.task) else { unreachable!("checked before") };
        let Some(review_commit) = task.review_commit.clone() else { unreachable!("checked before") };
        let former_status = task.status;
        board.rest.intents.push(Intent {
            id,
            task: Some(self.task.clone()),
            by: call.by.id(),
            owner: self.owner.clone(),
            time: call.now.wall,
            request: self.request.clone(),
            work: Work::Merge(MergeWork {
                review_commit,
                former_status,
                resolved: self.resolved.clone(),
                resolve_trivial: self.resolve_trivial,
                step: None,
                gates: None,
            }),
        });
        json!({ "intent": id, "task": self.task })
    }

    fn needs(&self, _: &Board) -> Needs {
        Needs::task(&self.task)
    }

    fn begins_request(&self) -> Option<&RequestKey> {
        self.request.as_ref()
    }
}

fn merge_work(board: &Board, intent: u64, owner: &Process) -> Result<(Intent, MergeWork, TaskId), Refusal> {
    let intent = owned_intent(board, intent, owner)?;
    match (&intent.work, &intent.task) {
        (Work::Merge(work), Some(task)) => Ok((intent.clone(), work.clone(), task.clone())),
        _ => Refusal::new(Code::IntentGone, format!("intent {} is not a merge", intent.id)).err(),
    }
}

/// The integration branch holds it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FinishMerge {
    pub intent: u64,
    pub owner: Process,
    pub merge_commit: CommitId,
    pub onto: CommitId,
    #[serde(default)]
    pub drift: u64,
}

impl Rule for FinishMerge {
    fn check(&self, board: &Board, _: &Call) -> Result<(), Refusal> {
        let (_, work, id) = merge_work(board, self.intent, &self.owner)?;
        // Only the move that was recorded beforehand can have happened.
        match work.step {
            Some(step) if step.new == self.merge_commit && step.old.as_ref() == Some(&self.onto) => Ok(()),
            _ => Refusal::new(Code::IntentGone, format!("no such move was recorded for the merge of `{id}`"))
                .err(),
        }
    }

    fn change(&self, board: &mut Board, call: &Call) -> Value {
        let Ok((intent, work, id)) = merge_work(board, self.intent, &self.owner) else {
            unreachable!("checked before")
        };
        board.rest.intents.retain(|open| open.id != self.intent);
        board.rest.integration.head = Some(self.merge_commit.clone());
        board.rest.integration.red = None;
        crate::board::expectation::land(board, &id);
        let (head, body) = parts(board, &id);
        let from = head.status;
        head.status = Status::Merged;
        head.lease = None;
        head.review_lease = None;
        head.reserved_until = None;
        head.holds_paths = false;
        head.holds_paths_until = None;
        body.blocked_from = None;
        body.blocked_reason = None;
        body.blocked_questions = Vec::new();
        body.integration_failure = None;
        if work.gates.is_some() {
            body.gates.clone_from(&work.gates);
        }
        body.actual_outputs = body.submission.as_ref().map(|found| found.files.clone()).unwrap_or_default();
        body.merge = Some(MergeRecord {
            commit: self.merge_commit.clone(),
            onto: self.onto.clone(),
            by: intent.by.clone(),
            time: call.now.wall,
            drift: self.drift,
        });
        let mut line = entry(call, Event::Merged).step(from, Status::Merged).commit(&self.merge_commit);
        line.agent = intent.by.clone();
        if work.resolved.is_some() {
            line = line.detail("with a person's resolution");
        }
        body.history.push(line);
        let outcome = json!({
            "task": id, "outcome": "merged", "status": head.status, "merge_commit": self.merge_commit,
            "gates": work.gates.map(|gates| gates.results).unwrap_or_default(), "drift": self.drift,
        });
        if let Some(key) = &intent.request {
            crate::board::apply::remember(board, intent.by.clone(), key, &outcome);
        }
        outcome
    }

    fn needs(&self, board: &Board) -> Needs {
        Needs::intent(board, self.intent)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MergeFailure {
    TrivialConflict,
    LogicConflict,
    RedGate,
}

/// The two sides of one place that did not merge.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConflictHunk {
    pub file: String,
    pub line: u32,
    pub ours: String,
    pub theirs: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FailMerge {
    pub intent: u64,
    pub owner: Process,
    pub failure: MergeFailure,
    pub reason: String,
    pub onto: CommitId,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hunks: Vec<ConflictHunk>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
    /// What the gates said about the merged tree, if it came to that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gates: Option<GateReport>,
}

impl Rule for FailMerge {
    fn check(&self, board: &Board, _: &Call) -> Result<(), Refusal> {
        merge_work(board, self.intent, &self.owner).map(|_| ())
    }

    fn change(&self, board: &mut Board, call: &Call) -> Value {
        let Ok((intent, work, id)) = merge_work(board, self.intent, &self.owner) else {
            unreachable!("checked before")
        };
        board.rest.intents.retain(|open| open.id != self.intent);
        let (lease, hold) = (board.config().lease_seconds, board.config().blocked_hold_seconds);
        let live = board.task(&id).is_some_and(|task| task.is_live(call.now));
        let (head, body) = parts(board, &id);
        let logic = self.failure == MergeFailure::LogicConflict;
        let to = if logic { Status::Blocked } else { Status::IntegrationFailed };
        let red = self.gates.as_ref().and_then(|gates| gates.result(gates.lacking()?.0));
        body.integration_failure = Some(IntegrationFailure {
            reason: self.reason.clone(),
            onto: self.onto.clone(),
            files: self.files.clone(),
            log: self.log.clone().or_else(|| red.and_then(|red| red.log.clone())),
            gate: red.map(|red| red.name.clone()),
            failing: red.map(|red| red.failing.clone()).unwrap_or_default(),
        });
        if self.gates.is_some() {
            body.gates.clone_from(&self.gates);
        }
        let mut line =
            entry(call, Event::IntegrationFailed).step(work.former_status, to).detail(self.reason.clone());
        line.agent = intent.by.clone();
        body.history.push(line);
        head.status = to;
        if logic {
            body.blocked_from = Some(Status::Approved);
            body.blocked_reason = Some(self.reason.clone());
            body.blocked_questions = vec![
                format!("How shall the two versions of {} be brought together?", self.files.join(", ")),
                format!(
                    "Land the resolution with `liza merge {id} --resolved COMMIT`, or unblock it for another try?"
                ),
            ];
            head.reserved_until = None;
            // Paths that were given back meanwhile may be somebody else's now.
            if live {
                head.holds_paths_until = Some(Deadline::after(call.now, hold));
            }
        } else {
            body.blocked_from = None;
            body.blocked_reason = None;
            body.blocked_questions = Vec::new();
            head.reserved_until = Some(Deadline::after(call.now, lease));
            head.holds_paths = live;
            head.holds_paths_until = None;
        }
        let outcome = json!({
            "task": id, "outcome": if logic { "blocked" } else { "integration_failed" }, "status": to,
            "merge_commit": null, "gates": self.gates.as_ref().map(|gates| &gates.results[..]).unwrap_or_default(),
            "gate": body.integration_failure.as_ref().and_then(|failure| failure.gate.clone()),
            "log": body.integration_failure.as_ref().and_then(|failure| failure.log.clone()),
            "failing": body.integration_failure.as_ref().map(|failure| failure.failing.clone()),
            "reason": self.reason, "files": self.files, "hunks": self.hunks,
        });
        if self.failure != MergeFailure::RedGate {
            self.log_conflict(board, call, &id);
        }
        if let Some(key) = &intent.request {
            crate::board::apply::remember(board, intent.by.clone(), key, &outcome);
        }
        outcome
    }

    fn needs(&self, board: &Board) -> Needs {
        Needs::intent(board, self.intent)
    }
}

impl FailMerge {
    fn log_conflict(&self, board: &mut Board, call: &Call, task: &TaskId) {
        let mut details = BTreeMap::from([
            ("files".to_owned(), self.files.join(", ")),
            ("onto".to_owned(), self.onto.to_string()),
        ]);
        for (number, hunk) in self.hunks.iter().take(20).enumerate() {
            let clip = |text: &str| text.chars().take(2000).collect::<String>();
            details.insert(
                format!("hunk_{:02}", number + 1),
                format!(
                    "{}:{}\n<<<<<<< integration\n{}=======\n{}>>>>>>> {task}",
                    hunk.file,
                    hunk.line,
                    clip(&hunk.ours),
                    clip(&hunk.theirs)
                ),
            );
        }
        let number = next_number("anomaly", board.rest.anomalies.iter().map(|anomaly| anomaly.id.as_str()));
        board.rest.anomalies.push(Anomaly {
            id: format!("anomaly-{number}"),
            kind: AnomalyKind::IntegrationConflict,
            task_id: task.clone(),
            logged_by: call.by.id(),
            timestamp: call.now.wall,
            details,
            processed_by: None,
        });
    }
}

/// Nothing was moved; the task is what it was.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CancelMerge {
    pub intent: u64,
    pub owner: Process,
    pub reason: String,
}

impl Rule for CancelMerge {
    fn check(&self, board: &Board, _: &Call) -> Result<(), Refusal> {
        merge_work(board, self.intent, &self.owner).map(|_| ())
    }

    fn change(&self, board: &mut Board, call: &Call) -> Value {
        let Ok((_, _, id)) = merge_work(board, self.intent, &self.owner) else {
            unreachable!("checked before")
        };
        board.rest.intents.retain(|open| open.id != self.intent);
        let (head, body) = parts(board, &id);
        body.history.push(entry(call, Event::MergeCancelled).detail(self.reason.clone()));
        json!({ "task": id, "status": head.status })
    }

    fn needs(&self, board: &Board) -> Needs {
        Needs::intent(board, self.intent)
    }
}

/// The branch moved after the approval: what was approved is not what would land.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VoidApproval {
    pub task: TaskId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch_head: Option<CommitId>,
}

impl Rule for VoidApproval {
    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        let task = find(board, &self.task)?;
        reviews(board, call, &format!("void the approval of task `{}`", self.task))?;
        no_intent(board, &self.task)?;
        if !matches!(task.status, Status::Approved | Status::IntegrationFailed) {
            return Err(wrong_state(task, "voided", next_step(task)));
        }
        if self.branch_head == task.review_commit {
            return Refusal::new(Code::Transition, format!("the approval of `{}` still holds", self.task))
                .err();
        }
        Ok(())
    }

    fn change(&self, board: &mut Board, call: &Call) -> Value {
        let lease = board.config().lease_seconds;
        let (head, body) = parts(board, &self.task);
        let from = head.status;
        let reason =
            "The branch moved after it was approved; the approval is void. Submit what stands there now.";
        head.status = Status::Rejected;
        head.reserved_until = Some(Deadline::after(call.now, lease));
        body.approval = None;
        crate::board::convergence::take_back_unnamed(&mut body.issues);
        body.review_result = None;
        head.red_team = None;
        head.approvals = None;
        head.review_lease = None;
        body.rejection_reason = Some(reason.to_owned());
        body.rejection_feedback = Some(reason.to_owned());
        body.history.push(entry(call, Event::ApprovalVoided).step(from, Status::Rejected).detail(reason));
        json!({ "task": self.task, "status": head.status })
    }

    fn needs(&self, _: &Board) -> Needs {
        Needs::task(&self.task)
    }
}
