//! Submitting a result: one JSON value that liza has validated, from an unchanged worktree.

use super::merge::end_merged;
use super::prelude::*;

logged! {
    /// What liza found in the worktree of a task that changes no file.
    pub struct Unchanged {
        pub head: CommitId,
        /// Tracked files that are not as they were handed out.
        pub changed: Vec<String>,
        /// Files that git does not know and does not ignore; they are listed and stay.
        pub untracked: Vec<String>,
    }

    pub struct SubmitResult {
        pub task: TaskId,
        pub epoch: Option<u64>,
        /// The status that the result states.
        pub status: ResultStatus,
        pub summary: String,
        pub blocked_reason: Option<String>,
        pub evidence: Vec<EvidenceItem>,
        /// BLAKE3 over the bytes of `results/<task>.<epoch>.json`, which is there already.
        pub digest: String,
        pub found: Unchanged,
    }
}

outcome!(ResultSubmitted {
    task: TaskId,
    status: Status,
    result: ResultStatus,
    digest: String,
    epoch: u64,
    attempt: u32,
    untracked: Vec<String>,
});

/// What is asked when a slice ends without its result.
pub const SLICE_QUESTIONS: [&str; 2] =
    ["Can what stops the slice be removed?", "Should the slice be made smaller, changed or abandoned?"];

impl SubmitResult {
    fn check_worktree(&self, task: &Task) -> Result<(), Refusal> {
        let handed_out = task.body().attempt().and_then(|attempt| attempt.handout.as_ref());
        let moved = handed_out.is_some_and(|before| before.head != self.found.head);
        if !moved && self.found.changed.is_empty() {
            return Ok(());
        }
        let what = if moved { "its head has moved".to_owned() } else { self.found.changed.join(", ") };
        Err(refusal!(
            Code::WorktreeDirty,
            "the worktree of `{}` is not as it was handed out: {what}",
            task.id
        )
        .hint("a result comes from an unchanged worktree: undo the change (`git restore`, `git reset`) and submit again")
        .detail("paths", self.found.changed.clone()))
    }
}

impl Verb for SubmitResult {
    const OPERATION: Option<Operation> = Some(Operation::Work);
    type Outcome = ResultSubmitted;

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        let task = find(board, &self.task)?;
        call.check_switches(Some(&self.task))?;
        no_intent(board, &self.task)?;
        check_epoch(task, self.epoch)?;
        if matches!(task.status, Status::Draft | Status::Idle) {
            return Err(refusal!(
                Code::Tier0SkippedState,
                "task `{}` is {}: no agent has claimed it, so it has no result",
                task.id,
                task.status
            )
            .hint(format!("`liza task claim {}` first; this is recorded as a Tier 0 violation", task.id)));
        }
        if task.status != Status::Working {
            return Err(wrong_state(task, "submitted", next_step(task)));
        }
        holds_lease(task, call, self.epoch)?;
        if !task.delivers_result() {
            return Err(refusal!(
                Code::KindMismatch,
                "task `{}` is of kind {}: it delivers a commit, no result",
                task.id,
                task.kind.as_str()
            )
            .hint(format!("commit the work, then `liza task submit {}`", task.id))
            .detail("task", task.id.as_str()));
        }
        text_given("summary", &self.summary)?;
        if self.status == ResultStatus::Blocked {
            text_given("blocked_reason", self.blocked_reason.as_deref().unwrap_or_default())?;
        }
        if self.digest.len() != 64 || !self.digest.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(refusal!(Code::Value, "`{}` is no digest", self.digest).detail("field", "digest"));
        }
        self.check_worktree(task)
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        let config = board.config().clone();
        let (head, body) = parts(board, &self.task);
        let (attempt, epoch) = (body.dispatch_attempt(), head.epoch);
        head.result = Some(TaskResult {
            status: self.status,
            digest: self.digest.clone(),
            epoch,
            by: call.by.id(),
            time: call.now.wall,
        });
        head.review_commit = None;
        body.submission = None;
        let waits = head.is_stream_plan() || head.is_merge_slice();
        let line = |to: Status| {
            entry(call, Event::ResultSubmitted).step(Status::Working, to).epoch(epoch).detail(format!(
                "{}: {}",
                self.status.as_str(),
                self.summary
            ))
        };
        match self.status {
            ResultStatus::Complete if waits => {
                head.status = Status::ReadyForReview;
                head.lease = None;
                body.history.push(line(Status::ReadyForReview).iteration(head.iteration));
            }
            ResultStatus::Complete => {
                let line = line(Status::Merged).iteration(head.iteration);
                end_with_nothing(board, &self.task, call, line);
            }
            ResultStatus::Blocked => {
                let why = self.blocked_reason.clone().unwrap_or_default();
                body.history.push(line(Status::Working));
                body.previous =
                    Some(Previous::after(body.previous.as_ref(), EndCause::Blocked, &why, &self.evidence));
                block_slice(head, body, call, &config, &why);
            }
            ResultStatus::Partial => {
                body.history.push(line(Status::Working));
                let why = format!("partial result: {}", self.summary);
                again_or_blocked(head, body, call, &config, EndCause::Partial, &why, &self.evidence);
            }
        }
        ResultSubmitted {
            task: self.task.clone(),
            status: parts(board, &self.task).0.status,
            result: self.status,
            digest: self.digest.clone(),
            epoch,
            attempt,
            untracked: self.found.untracked.clone(),
        }
    }
}

/// Ends a task whose result is all there is: nothing was to be merged.
pub(super) fn end_with_nothing(board: &mut Board, id: &TaskId, call: &Call, line: HistoryEntry) {
    super::expectations::forget(board, id);
    let (head, body) = parts(board, id);
    body.history.push(line);
    body.rejection_reason = None;
    body.rejection_feedback = None;
    let (by, time) = (call.by.id(), call.now.wall);
    end_merged(head, body, MergeRecord { commit: None, onto: None, nothing: true, by, time, drift: 0 });
}

/// Blocks a slice that did not end; its holder is fenced from here on.
pub(super) fn block_slice(head: &mut Head, body: &mut Body, call: &Call, config: &Config, why: &str) {
    let from = head.status;
    end_claim(head);
    head.status = Status::Blocked;
    head.reserved_until = None;
    head.holds_paths_until = head.holds_paths.then(|| Deadline::after(call.now, config.blocked_hold_seconds));
    body.blocked_from = Some(Status::Working);
    body.blocked_reason = Some(why.to_owned());
    body.blocked_questions = SLICE_QUESTIONS.map(str::to_owned).to_vec();
    conclude_blocked(body, call, config.lease_seconds, Status::Working, true);
    let questions = body.blocked_questions.clone();
    let line = entry(call, Event::Blocked).step(from, Status::Blocked);
    body.history.push(line.detail(why).questions(&questions));
}

/// The slice is dispatched once more with what was learnt, or blocked after its last dispatch.
pub(super) fn again_or_blocked(
    head: &mut Head,
    body: &mut Body,
    call: &Call,
    config: &Config,
    cause: EndCause,
    why: &str,
    evidence: &[EvidenceItem],
) {
    let attempt = body.dispatch_attempt();
    let previous = Previous::after(body.previous.as_ref(), cause, why, evidence);
    if attempt >= MOST_DISPATCHES {
        body.previous = Some(previous);
        block_slice(head, body, call, config, &format!("attempt {attempt}: {why}"));
        return;
    }
    let from = head.status;
    body.previous = Some(previous);
    end_claim(head);
    head.status = Status::Idle;
    head.reserved_until = None;
    // What was committed or saved is where the next attempt goes on.
    body.left = Some(Left::Released);
    let line = entry(call, Event::Redispatched).step(from, Status::Idle);
    body.history.push(line.detail(format!("attempt {}: {why}", attempt + 1)));
}
