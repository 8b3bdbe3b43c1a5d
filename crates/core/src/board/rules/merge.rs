//! Landing approved work: intent, then git and gates without the lock, then the outcome.

use super::approve::approval_holds;
use super::prelude::*;
use super::red_team::red_team_is_through;

logged! {
    pub struct BeginMerge {
        pub task: TaskId,
        /// Where the task's branch is now.
        pub branch_head: Option<CommitId>,
        pub resolved: Option<CommitId>,
        pub resolve_trivial: bool,
        pub owner: Process,
        pub request: Option<RequestKey>,
    }
}

impl Verb for BeginMerge {
    const OPERATION: Option<Operation> = Some(Operation::Merge);
    type Outcome = Begun;

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
                return Err(Refusal::new(
                    Code::Tier0UnapprovedMerge,
                    format!("task `{}` is {}, not approved, so it cannot be merged", task.id, task.status),
                )
                .hint(format!("{}; this is recorded as a Tier 0 violation", next_step(task)))
                .detail("task", task.id.as_str()));
            }
        }
        // An implementer does not merge its own task; a person may merge theirs, once a reviewer has approved it.
        if let Actor::Agent { id, .. } = &call.by {
            not_an_implementer(task, call, id, "merge")?;
        }
        approval_holds(task, call)?;
        if self.branch_head.is_none() || self.branch_head != task.review_commit {
            return Err(refusal!(
                Code::ApprovalVoid,
                "the branch of `{}` moved after it was approved, so the approval no longer holds",
                task.id
            )
            .hint("it goes back to its coder as REJECTED; submit and review what stands there now")
            .detail("task", task.id.as_str())
            .detail("branch_head", self.branch_head.as_ref().map(|head| head.as_str().to_owned())));
        }
        // Checked last: if the approval is void, the missing red team's turn does not matter.
        red_team_is_through(task)
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        let Some(task) = board.task(&self.task) else { unreachable!("checked before") };
        let Some(review_commit) = task.review_commit.clone() else { unreachable!("checked before") };
        let work = Work::Merge(MergeWork {
            review_commit,
            former_status: task.status,
            resolved: self.resolved.clone(),
            resolve_trivial: self.resolve_trivial,
            step: None,
            gates: None,
        });
        begin(board, call, Some(&self.task), &self.owner, self.request.as_ref(), work)
    }

    fn begins_request(&self) -> Option<&RequestKey> {
        self.request.as_ref()
    }
}

fn merge_work(board: &Board, intent: u64, owner: &Process) -> Result<(Intent, MergeWork, TaskId), Refusal> {
    let intent = owned_intent(board, intent, owner)?;
    match (&intent.work, &intent.task) {
        (Work::Merge(work), Some(task)) => Ok((intent.clone(), work.clone(), task.clone())),
        _ => Err(refusal!(Code::IntentGone, "intent {} is not a merge", intent.id)),
    }
}

logged! {
    /// The integration branch holds it.
    pub struct FinishMerge {
        pub intent: u64,
        pub owner: Process,
        pub merge_commit: CommitId,
        pub onto: CommitId,
        #[serde(default)]
        pub drift: u64,
    }
}

words! {
    /// How a merge ended.
    pub enum MergeResult {
        Merged = "merged",
        /// A coder fixes it, or a trivial resolution does.
        IntegrationFailed = "integration_failed",
        /// A person brings the two sides together.
        Blocked = "blocked",
    }
}

outcome!(MergeEnd {
    task: TaskId,
    outcome: MergeResult,
    status: Status,
    merge_commit: Option<CommitId>,
    gates: Vec<GateOutcome>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    drift: Option<u64>,
    #[serde(flatten)]
    failure: Option<NotMerged>,
});

outcome!(NotMerged {
    gate: Option<String>,
    log: Option<String>,
    failing: Vec<String>,
    reason: String,
    files: Vec<String>,
    hunks: Vec<ConflictHunk>,
});

/// Ends a task as MERGED: it holds nothing any more.
pub(super) fn end_merged(head: &mut Head, body: &mut Body, record: MergeRecord) {
    head.status = Status::Merged;
    head.lease = None;
    head.review_lease = None;
    head.reserved_until = None;
    head.holds_paths = false;
    head.holds_paths_until = None;
    body.merge = Some(record);
}

impl Verb for FinishMerge {
    const OPERATION: Option<Operation> = None;
    type Outcome = MergeEnd;

    fn check(&self, board: &Board, _: &Call) -> Result<(), Refusal> {
        let (_, work, id) = merge_work(board, self.intent, &self.owner)?;
        // Only the move that was recorded beforehand can have happened.
        match work.step {
            Some(step) if step.new == self.merge_commit && step.old.as_ref() == Some(&self.onto) => Ok(()),
            _ => Err(refusal!(Code::IntentGone, "no such move was recorded for the merge of `{id}`")),
        }
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        let Ok((intent, work, id)) = merge_work(board, self.intent, &self.owner) else {
            unreachable!("checked before")
        };
        board.rest.intents.retain(|open| open.id != self.intent);
        board.rest.integration.head = Some(self.merge_commit.clone());
        board.rest.integration.red = None;
        super::expectations::land(board, &id);
        let (head, body) = parts(board, &id);
        let from = head.status;
        let record = MergeRecord {
            commit: Some(self.merge_commit.clone()),
            onto: Some(self.onto.clone()),
            nothing: false,
            by: intent.by.clone(),
            time: call.now.wall,
            drift: self.drift,
        };
        end_merged(head, body, record);
        body.blocked_from = None;
        body.blocked_reason = None;
        body.blocked_questions = Vec::new();
        body.integration_failure = None;
        if work.gates.is_some() {
            body.gates.clone_from(&work.gates);
        }
        body.actual_outputs = body.submission.as_ref().map(|found| found.files.clone()).unwrap_or_default();
        let mut line = entry(call, Event::Merged).step(from, Status::Merged).commit(&self.merge_commit);
        line.agent = intent.by.clone();
        if work.resolved.is_some() {
            line = line.detail("with a person's resolution");
        }
        body.history.push(line);
        let outcome = MergeEnd {
            task: id,
            outcome: MergeResult::Merged,
            status: head.status,
            merge_commit: Some(self.merge_commit.clone()),
            gates: results(work.gates.as_ref()),
            drift: Some(self.drift),
            failure: None,
        };
        answer(board, &intent, &outcome);
        outcome
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MergeFailure {
    TrivialConflict,
    LogicConflict,
    RedGate,
}

logged! {
    /// The two sides of one place that did not merge.
    pub struct ConflictHunk {
        pub file: String,
        pub line: u32,
        pub ours: String,
        pub theirs: String,
    }

    pub struct FailMerge {
        pub intent: u64,
        pub owner: Process,
        pub failure: MergeFailure,
        pub reason: String,
        pub onto: CommitId,
        pub files: Vec<String>,
        pub hunks: Vec<ConflictHunk>,
        pub log: Option<String>,
        /// What the gates said about the merged tree, if it came to that.
        pub gates: Option<GateReport>,
    }
}

impl Verb for FailMerge {
    const OPERATION: Option<Operation> = None;
    type Outcome = MergeEnd;

    fn check(&self, board: &Board, _: &Call) -> Result<(), Refusal> {
        merge_work(board, self.intent, &self.owner).map(|_| ())
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
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
        let log = self.log.clone().or_else(|| red.and_then(|red| red.log.clone()));
        body.integration_failure = Some(IntegrationFailure {
            reason: self.reason.clone(),
            onto: self.onto.clone(),
            files: self.files.clone(),
            log: log.clone(),
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
            // Paths that were given back meanwhile may belong to another task now.
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
        let outcome = MergeEnd {
            task: id.clone(),
            outcome: if logic { MergeResult::Blocked } else { MergeResult::IntegrationFailed },
            status: to,
            merge_commit: None,
            gates: results(self.gates.as_ref()),
            drift: None,
            failure: Some(NotMerged {
                gate: red.map(|red| red.name.clone()),
                log,
                failing: red.map(|red| red.failing.clone()).unwrap_or_default(),
                reason: self.reason.clone(),
                files: self.files.clone(),
                hunks: self.hunks.clone(),
            }),
        };
        if self.failure != MergeFailure::RedGate {
            self.log_conflict(board, call, &id);
        }
        answer(board, &intent, &outcome);
        outcome
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
        note_anomaly(board, call, AnomalyKind::IntegrationConflict, task, details);
    }
}

logged! {
    /// Nothing was moved; the task is what it was.
    pub struct CancelMerge {
        pub intent: u64,
        pub owner: Process,
        pub reason: String,
    }
}

impl Verb for CancelMerge {
    const OPERATION: Option<Operation> = None;
    type Outcome = TaskStatus;

    fn check(&self, board: &Board, _: &Call) -> Result<(), Refusal> {
        merge_work(board, self.intent, &self.owner).map(|_| ())
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        let Ok((_, _, id)) = merge_work(board, self.intent, &self.owner) else {
            unreachable!("checked before")
        };
        board.rest.intents.retain(|open| open.id != self.intent);
        let (head, body) = parts(board, &id);
        body.history.push(entry(call, Event::MergeCancelled).detail(self.reason.clone()));
        TaskStatus { status: head.status, task: id }
    }
}

logged! {
    /// The branch moved after the approval: what was approved is not what would land.
    pub struct VoidApproval {
        pub task: TaskId,
        pub branch_head: Option<CommitId>,
    }
}

impl Verb for VoidApproval {
    const OPERATION: Option<Operation> = Some(Operation::Merge);
    type Outcome = TaskStatus;

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        let task = find(board, &self.task)?;
        reviews(board, call, &format!("void the approval of task `{}`", self.task))?;
        no_intent(board, &self.task)?;
        if !matches!(task.status, Status::Approved | Status::IntegrationFailed) {
            return Err(wrong_state(task, "voided", next_step(task)));
        }
        if self.branch_head == task.review_commit {
            return Err(refusal!(Code::Transition, "the approval of `{}` still holds", self.task));
        }
        Ok(())
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        let lease = board.config().lease_seconds;
        let (head, body) = parts(board, &self.task);
        let from = head.status;
        let reason =
            "The branch moved after it was approved; the approval is void. Submit what stands there now.";
        head.status = Status::Rejected;
        head.reserved_until = Some(Deadline::after(call.now, lease));
        forget_approval(head, body);
        take_back_unnamed(&mut body.issues);
        head.review_lease = None;
        body.rejection_reason = Some(reason.to_owned());
        body.rejection_feedback = Some(reason.to_owned());
        body.history.push(entry(call, Event::ApprovalVoided).step(from, Status::Rejected).detail(reason));
        TaskStatus { task: self.task.clone(), status: head.status }
    }
}
