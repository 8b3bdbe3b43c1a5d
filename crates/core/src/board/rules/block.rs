//! Blocking a task with a reason and questions, and unblocking it with an answer.

use super::claim::check_paths_free;
use super::intervene::was_halted;
use super::prelude::*;

logged! {
    pub struct Block {
        pub task: TaskId,
        pub epoch: Option<u64>,
        pub reason: String,
        always pub questions: Vec<String>,
        /// The end of the rounds is recorded before the first submission too; older records did not do so.
        pub from_first_claim: bool,
    }
}

/// Whether the caller is the agent that holds or reviews the task, a planner, an overseer or a person.
fn may_block(board: &Board, call: &Call, task: &Task) -> bool {
    let above = call.by.has_any_role(board, &[Role::planner(), Role::overseer()]);
    let by = call.by.id();
    let holds = [&task.lease, &task.review_lease]
        .into_iter()
        .flatten()
        .any(|lease| lease.agent == by && lease.incarnation == call.by.incarnation());
    above || holds
}

outcome!(Blocked { task: TaskId, status: Status, questions: Vec<String> });

impl Verb for Block {
    const OPERATION: Option<Operation> = Some(Operation::Stop);
    type Outcome = Blocked;

    /// An agent may always block the task it holds or reviews, whatever the registry says.
    fn operation(&self, board: &Board, by: &Actor) -> Option<Operation> {
        rights::stops_others(board, &self.task, by).then_some(Operation::Stop)
    }

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        let task = find(board, &self.task)?;
        no_intent(board, &self.task)?;
        check_epoch(task, self.epoch)?;
        if task.status.is_terminal() || task.status == Status::Blocked {
            return Err(wrong_state(task, "blocked", next_step(task)));
        }
        if !may_block(board, call, task) {
            return Err(match &task.lease {
                Some(lease) if !lease_over(board, lease, call.now) => Refusal::new(
                    Code::LeaseLost,
                    format!("task `{}` is held by `{}`, not by `{}`", task.id, lease.agent, call.by.id()),
                )
                .hint("tell the planner with `liza note`"),
                _ => refusal!(
                    Code::Role,
                    "`{}` neither holds task `{}` nor plans, so it cannot block it",
                    call.by.id(),
                    task.id
                )
                .hint("tell the planner with `liza note` or `liza anomaly`"),
            });
        }
        text_given("--reason", &self.reason)?;
        questions_given(&self.questions)
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        let (hold, lease_seconds) = (board.config().blocked_hold_seconds, board.config().lease_seconds);
        let by_overseer = !call.by.is_human() && call.by.has_role(board, &Role::overseer());
        // The runner of a halted agent ends the agent's claim.
        let halted = board.task(&self.task).is_some_and(|task| was_halted(&board.rest.interventions, task));
        let (head, body) = parts(board, &self.task);
        let from = head.status;
        if by_overseer || halted {
            note_failure(head);
        }
        end_claim(head);
        head.status = Status::Blocked;
        if head.holds_paths {
            head.holds_paths_until = Some(Deadline::after(call.now, hold));
        }
        body.blocked_from = Some(from);
        body.blocked_reason = Some(self.reason.clone());
        body.blocked_questions = self.questions.clone();
        conclude_blocked(body, call, lease_seconds, from, self.from_first_claim);
        body.history.push(
            entry(call, Event::Blocked)
                .step(from, Status::Blocked)
                .detail(self.reason.clone())
                .questions(&self.questions),
        );
        Blocked { task: self.task.clone(), status: head.status, questions: self.questions.clone() }
    }
}

logged! {
    pub struct Unblock {
        pub task: TaskId,
        pub answer: String,
        /// Further review cycles granted.
        #[serde(default)]
        pub cycles: u32,
    }
}

outcome!(Unblocked { task: TaskId, status: Status, reserved_for: Option<AgentId> });

impl Verb for Unblock {
    const OPERATION: Option<Operation> = Some(Operation::Plan);
    type Outcome = Unblocked;

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        plans(board, call, "unblock tasks")?;
        let task = find(board, &self.task)?;
        no_intent(board, &self.task)?;
        if task.status != Status::Blocked {
            return Err(wrong_state(task, "unblocked", next_step(task)));
        }
        text_given("--answer", &self.answer)?;
        if task.hypothesis_exhausted() {
            return Err(Refusal::new(
                Code::HypothesisExhausted,
                format!("two agents failed at task `{}`; an answer alone does not help", task.id),
            )
            .hint(format!("split or replan it: `liza task rescope {} --into FILE --reason …`", task.id)));
        }
        let cycles = task.body().max_review_cycles.unwrap_or(board.config().max_review_cycles);
        if task.review_cycles_total >= cycles && self.cycles == 0 {
            return Err(refusal!(
                Code::Limit,
                "task `{}` has used its {cycles} review cycles; the next rejection would block it again",
                task.id
            )
            .hint("grant more with `--cycles N`, or split the task with `liza task rescope`"));
        }
        if returns_to(task) != Status::Idle && !task.is_live(call.now) && task.holds_paths {
            check_paths_free(board, call, task)?;
        }
        Ok(())
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        let reserve = Deadline::after(call.now, board.config().lease_seconds);
        let default_cycles = board.config().max_review_cycles;
        let default_iterations = board.config().max_coder_iterations;
        let Some(task) = board.task(&self.task) else { unreachable!("checked before") };
        let to = returns_to(task);
        let (head, body) = parts(board, &self.task);
        head.status = to;
        let in_progress = matches!(body.blocked_from, Some(Status::Working | Status::Rejected));
        // Paths that were released are acquired again only by the next claim.
        if to == Status::Idle && head.holds_paths_until.as_ref().is_some_and(|until| until.passed(call.now)) {
            head.holds_paths = false;
        }
        head.holds_paths_until = None;
        // An agent that had released the task before it was blocked does not get it back.
        let reserved = in_progress || head.reserved_until.is_some();
        let claimable = matches!(to, Status::Idle | Status::IntegrationFailed);
        head.reserved_until = (claimable && reserved && head.assigned_to.is_some()).then_some(reserve);
        // An answer grants further iterations, even if the limit was reached.
        if in_progress && head.iteration >= body.max_coder_iterations.unwrap_or(default_iterations) {
            body.max_coder_iterations = Some(head.iteration.saturating_add(self.cycles.max(1)));
        }
        if self.cycles > 0 {
            let present = body.max_review_cycles.unwrap_or(default_cycles).max(head.review_cycles_total);
            body.max_review_cycles = Some(present.saturating_add(self.cycles));
        }
        body.consecutive_rejections = 0;
        // A task that was approved before it was blocked stays approved.
        if !matches!(to, Status::Approved | Status::IntegrationFailed) {
            body.review_result = None;
        }
        body.blocked_from = None;
        body.blocked_reason = None;
        body.blocked_questions = Vec::new();
        body.answer = Some(self.answer.clone());
        body.history
            .push(entry(call, Event::Unblocked).step(Status::Blocked, to).detail(self.answer.clone()));
        let reserved_for = head.reserved_until.as_ref().and(head.assigned_to.clone());
        Unblocked { task: self.task.clone(), status: to, reserved_for }
    }
}

/// A claimed task goes back to its agent, who claims it again; any other task continues where it stopped.
fn returns_to(task: &Task) -> Status {
    match task.body().blocked_from {
        None | Some(Status::Working | Status::Rejected | Status::Blocked) => Status::Idle,
        Some(other) => other,
    }
}
