//! A result that waits is accepted or sent back: by the run, a planner or a person, never by its author.

use super::add_tasks::{NewTask, add, check_finalizable, check_new, check_slice, named};
use super::prelude::*;
use super::reject::{block, rounds_used_up};
use super::streams::{check_accepted, check_stream_plan, note_accepted};
use super::submit_result::end_with_nothing;
use crate::text::same_reason;

logged! {
    pub struct AcceptResult {
        pub task: TaskId,
        /// The result that was read and found good.
        pub digest: String,
        /// The tasks that the accepted plan asks for: they come to the board in the same commit.
        pub tasks: Vec<NewTask>,
        /// Those whose `spec_ref` names a file that is there.
        pub specs_found: Vec<TaskId>,
        pub pins: Vec<SpecPin>,
    }

    pub struct RejectResult {
        pub task: TaskId,
        pub digest: String,
        pub reason: String,
        /// What is wrong with it, one by one.
        pub findings: Vec<String>,
    }
}

outcome!(ResultAccepted { task: TaskId, status: Status, digest: String, tasks: Vec<TaskId> });

outcome!(ResultRejected {
    task: TaskId,
    status: Status,
    cycles: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    blocked_reason: Option<String>,
});

/// Whether this caller may decide about what this task delivered, and it is still what stands there.
fn check_decision(board: &Board, call: &Call, id: &TaskId, digest: &str, verb: &str) -> Result<(), Refusal> {
    let task = find(board, id)?;
    call.check_switches(Some(id))?;
    no_intent(board, id)?;
    let decides = if task.is_merge_slice() { Role::code_reviewer() } else { Role::planner() };
    if !call.by.is_liza() && !call.by.has_role(board, &decides) {
        return Err(refusal!(
            Code::Role,
            "`{}` does not have the role {decides}, so it cannot {verb} the result of `{id}`",
            call.by.id()
        )
        .hint("leave it to the run, an agent of that role or a person")
        .detail("role", decides.as_str()));
    }
    let Some(result) = task.result.as_ref().filter(|_| task.status == Status::ReadyForReview) else {
        return Err(wrong_state(task, &format!("{verb}ed"), next_step(task)));
    };
    if !task.stands_on_result() {
        return Err(wrong_state(task, &format!("{verb}ed as a result"), next_step(task)));
    }
    not_an_implementer(task, call, &call.by.id(), verb)?;
    if result.digest != digest {
        return Err(refusal!(Code::Commit, "the result of `{id}` is {}, not {digest}", result.digest)
            .hint(format!("read it again: `liza result show {id}`"))
            .detail("digest", result.digest.as_str()));
    }
    Ok(())
}

impl Verb for AcceptResult {
    const OPERATION: Option<Operation> = Some(Operation::Plan);
    type Outcome = ResultAccepted;

    fn operation(&self, board: &Board, _: &Actor) -> Option<Operation> {
        Some(decision_right(board, &self.task))
    }

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        check_decision(board, call, &self.task, &self.digest, "accept")?;
        if self.tasks.is_empty() {
            return check_stream_plan(board, &self.task);
        }
        check_accepted(board, call, &self.task, &self.tasks)?;
        check_spawn(board, call, self.tasks.iter().map(|task| &task.role))?;
        check_new(board, call, &self.tasks, true)?;
        self.tasks.iter().try_for_each(check_slice)?;
        check_finalizable(board, call, &self.tasks, &self.specs_found)
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        let line = entry(call, Event::ResultAccepted).step(Status::ReadyForReview, Status::Merged);
        end_with_nothing(board, &self.task, call, line.detail(format!("digest {}", self.digest)));
        if !self.tasks.is_empty() {
            add(board, call, &self.tasks, true, &self.pins);
        }
        note_accepted(board, call, &self.task, &self.tasks);
        let tasks = self.tasks.iter().map(|task| task.id.clone()).collect();
        ResultAccepted { task: self.task.clone(), status: Status::Merged, digest: self.digest.clone(), tasks }
    }

    fn asks_archive(&self, _: &Board) -> Vec<TaskId> {
        named(&self.tasks)
    }
}

/// Plans are the planner's to decide about, merge slices the reviewer's.
fn decision_right(board: &Board, id: &TaskId) -> Operation {
    let merge = board.task(id).is_some_and(|task| task.is_merge_slice());
    if merge { Operation::Review } else { Operation::Plan }
}

impl Verb for RejectResult {
    const OPERATION: Option<Operation> = Some(Operation::Plan);
    type Outcome = ResultRejected;

    fn operation(&self, board: &Board, _: &Actor) -> Option<Operation> {
        Some(decision_right(board, &self.task))
    }

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        check_decision(board, call, &self.task, &self.digest, "reject")?;
        text_given("--reason", &self.reason)?;
        if self.findings.is_empty() {
            return Err(refusal!(Code::FeedbackIncomplete, "a rejection names at least one finding")
                .hint("--finding TEXT, repeated for each"));
        }
        if self.findings.len() > MOST_ITEMS {
            return Err(refusal!(Code::Limit, "a rejection names at most {MOST_ITEMS} findings"));
        }
        self.findings.iter().try_for_each(|finding| text_given("--finding", finding))
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        let config = board.config().clone();
        let (head, body) = parts(board, &self.task);
        let former = body.rejection_reason.as_deref();
        let same = former.is_some_and(|former| same_reason(former, &self.reason, config.same_reason_ratio));
        head.review_cycles_current += 1;
        head.review_cycles_total += 1;
        body.consecutive_rejections += 1;
        body.rejection_reason = Some(self.reason.clone());
        let listed = self.findings.iter().map(|finding| format!("- {}", finding.trim()));
        let text: Vec<String> = std::iter::once(self.reason.trim().to_owned()).chain(listed).collect();
        body.rejection_feedback = Some(text.join("\n"));
        head.status = Status::Rejected;
        head.review_lease = None;
        head.reserved_until = Some(Deadline::after(call.now, config.lease_seconds));
        let line = entry(call, Event::Rejected).step(Status::ReadyForReview, Status::Rejected);
        body.history.push(line.detail(self.reason.clone()));
        let blocked_reason = rounds_used_up(head, body, &config, same);
        if let Some(reason) = &blocked_reason {
            note_failure(head);
            block(head, body, call, &config, reason, &super::limit::LIMIT_QUESTIONS.map(str::to_owned));
        }
        ResultRejected {
            task: self.task.clone(),
            status: head.status,
            cycles: head.review_cycles_total,
            blocked_reason,
        }
    }
}
