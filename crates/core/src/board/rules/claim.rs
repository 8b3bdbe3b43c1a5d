//! Claiming a task: the board changes first (intent), then the worktree is made, then the outcome is recorded.
//!
//! From the first commit on the task counts as WORKING for every guard. If its worktree cannot be made, the former
//! state comes back and only the epoch stays raised, so that no agent can use what was half made.

use super::prelude::*;
use super::usage::check_caps;

logged! {
    pub struct BeginClaim {
        pub task: TaskId,
        /// The head of the integration branch.
        pub base: CommitId,
        /// The head of the former attempt's branch, if there is one.
        pub former_head: Option<CommitId>,
        /// The worktree of the former attempt is no longer usable.
        pub worktree_lost: bool,
        /// Names for a branch or worktree of this task that are already in use, for example by a former board.
        pub names_taken: Vec<String>,
        pub owner: Process,
        pub request: Option<RequestKey>,
        /// The spending limits of liza.yaml.
        #[serde(default, skip_serializing_if = "Caps::is_none")]
        pub caps: Caps,
        #[serde(default, skip_serializing_if = "Edition::is_first")]
        pub edition: Edition,
    }
}

impl Verb for BeginClaim {
    const OPERATION: Option<Operation> = Some(Operation::Work);
    type Outcome = Begun;

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        call.check_switches(Some(&self.task))?;
        let task = find(board, &self.task)?;
        check_claimable(board, call, task)?;
        if self.edition.has(Edition::CONTRACT) {
            check_handoffs(board, call, task)?;
        }
        check_caps(&self.caps, board, call, Some(task))
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        let lease_seconds = board.config().lease_seconds;
        let by = call.by.id();
        let (head, body) = parts(board, &self.task);
        let former = Former {
            status: head.status,
            assigned_to: head.assigned_to.clone(),
            lease: head.lease.clone(),
            reserved_until: head.reserved_until.clone(),
            holds_paths: head.holds_paths,
            iteration: head.iteration,
            review_cycles_current: head.review_cycles_current,
            integration_fix: head.integration_fix,
            left: body.left,
            implementers: head.implementers.clone(),
            consecutive_rejections: body.consecutive_rejections,
        };
        let same_agent = head.assigned_to.as_ref() == Some(&by);
        // An undone claim may have left files under the plain name.
        let first =
            body.attempts.is_empty() && !body.history.iter().any(|line| line.event == Event::ClaimUndone);
        head.epoch += 1;
        head.integration_fix = head.integration_fix || head.status == Status::IntegrationFailed;
        let own = same_agent && body.attempt().is_some_and(|attempt| attempt.agent == by);
        let reuse = own && !self.worktree_lost;
        let (branch, worktree) = match body.attempt() {
            Some(attempt) if reuse => (attempt.branch.clone(), attempt.worktree.clone()),
            // Every name is used once: an agent that writes late writes into the old worktree, which is no longer used.
            _ => {
                let name = place_names(&self.task, head.epoch)
                    .skip(usize::from(!first))
                    .find(|name| !self.names_taken.contains(name))
                    .unwrap_or_else(|| self.task.to_string());
                (format!("task/{name}"), format!(".worktrees/{name}"))
            }
        };
        let goes_on = body.left.is_some() || head.integration_fix;
        let start = match &self.former_head {
            Some(former) if goes_on || own => former.clone(),
            _ => self.base.clone(),
        };
        // An agent that claims the task it handed off continues its iteration.
        let handed_off = self.edition.has(Edition::CONTRACT) && body.left == Some(Left::HandedOff);
        if same_agent && handed_off {
            head.iteration = head.iteration.max(1);
        } else if same_agent {
            head.iteration += 1;
        } else {
            head.iteration = 1;
            head.review_cycles_current = 0;
            body.consecutive_rejections = 0;
        }
        head.status = Status::Working;
        head.assigned_to = Some(by.clone());
        head.lease = Some(Lease {
            agent: by.clone(),
            incarnation: call.by.incarnation(),
            epoch: head.epoch,
            expires: Deadline::after(call.now, lease_seconds),
        });
        head.reserved_until = None;
        head.holds_paths = true;
        head.holds_paths_until = None;
        if !head.implementers.contains(&by) {
            head.implementers.push(by.clone());
        }
        let work = ClaimWork { epoch: head.epoch, branch, worktree, start, reuse, former };
        begin(board, call, Some(&self.task), &self.owner, self.request.as_ref(), Work::Claim(work))
    }

    fn asks_archive(&self, board: &Board) -> Vec<TaskId> {
        board.task(&self.task).map(|task| task.depends_on.clone()).unwrap_or_default()
    }

    fn begins_request(&self) -> Option<&RequestKey> {
        self.request.as_ref()
    }
}

/// Names for the branch and worktree of a claim, best first: only the first claim gets the plain id.
pub fn place_names(task: &TaskId, epoch: u64) -> impl Iterator<Item = String> {
    let numbered = (2..1000).map({
        let task = task.clone();
        move |number| format!("{task}.{epoch}-{number}")
    });
    [task.to_string(), format!("{task}.{epoch}")].into_iter().chain(numbered)
}

/// Refuses unless this caller may claim this task. `next` and `status` show the refusal.
pub fn check_claimable(board: &Board, call: &Call, task: &Task) -> Result<(), Refusal> {
    let by = call.by.id();
    if !call.by.has_role(board, &task.role) {
        return Err(tier0_role(call, &format!("claim task `{}`", task.id), &task.role));
    }
    no_intent(board, &task.id)?;
    match task.status {
        Status::Idle | Status::Rejected | Status::IntegrationFailed => check_reservation(board, call, task)?,
        Status::Working => check_takeover(board, call, task)?,
        _ => return Err(wrong_state(task, "claimed", next_step(task))),
    }
    if task.hypothesis_exhausted() {
        return Err(Refusal::new(
            Code::HypothesisExhausted,
            format!(
                "two agents failed at task `{}`; it must be split or replanned, not tried a third time",
                task.id
            ),
        )
        .hint(format!(
            "a planner or a person splits or replans it: `liza task rescope {} --into FILE --reason …`",
            task.id
        ))
        .detail("task", task.id.as_str()));
    }
    if call.guards.on(Guard::Dependency) {
        let unmet: Vec<&str> = task
            .depends_on
            .iter()
            .filter(|dependency| !dependency_met(board, call.world, dependency))
            .map(TaskId::as_str)
            .collect();
        if !unmet.is_empty() {
            return Err(Refusal::new(
                Code::DependencyUnmet,
                format!("task `{}` waits for {}, not merged yet", task.id, unmet.join(", ")),
            )
            .hint("`liza next --role ROLE` offers work that can start now")
            .detail("waiting_on", unmet));
        }
    }
    if call.guards.on(Guard::PathOverlap) {
        check_paths_free(board, call, task)?;
    }
    let held = board.tasks.iter().find(|other| {
        other.id != task.id
            && other.status == Status::Working
            && other
                .lease
                .as_ref()
                .is_some_and(|lease| lease.agent == by && lease.incarnation == call.by.incarnation())
    });
    if let Some(held) = held {
        return Err(refusal!(Code::HoldsAnother, "`{by}` already works on `{}`", held.id)
            .hint(format!(
                "finish it (`liza task submit {0}`) or let it go (`liza task release {0}`) first",
                held.id
            ))
            .detail("holds", held.id.as_str()));
    }
    match iterations_used_up(board, task, &by) {
        Some(limit) => Err(limit_refusal(task, &format!("`{by}` has had {limit} iterations"))),
        None => Ok(()),
    }
}

/// The limit of iterations that this agent has reached on the task, if it may not claim the task again because of it.
/// If the body is not loaded, a person's answer or a handoff could still allow the claim: then the claim itself
/// decides.
pub fn iterations_used_up(board: &Board, task: &Task, by: &AgentId) -> Option<u32> {
    if task.is_light() && task.status == Status::Idle {
        return None;
    }
    let body = (!task.is_light()).then(|| task.body());
    let own = body.and_then(|body| body.max_coder_iterations);
    let limit = own.unwrap_or(board.config().max_coder_iterations);
    let handed_off = body.is_some_and(|body| body.left == Some(Left::HandedOff));
    let used = task.assigned_to.as_ref() == Some(by)
        && task.iteration >= limit
        && task.status != Status::IntegrationFailed
        && !handed_off;
    used.then_some(limit)
}

/// How often the task went to another agent without a submission, since a person or planner last decided about it.
pub fn handoffs(body: &Body) -> usize {
    let ends = |line: &HistoryEntry| matches!(line.event, Event::Unblocked | Event::Submitted);
    let since = body.history.iter().rposition(ends).map_or(0, |at| at + 1);
    let left = |line: &&HistoryEntry| matches!(line.event, Event::HandedOff | Event::TakenOver);
    body.history[since..].iter().filter(left).count()
}

/// Whether taking over from an expired lease would exceed the limit of handoffs.
pub fn handoffs_used_up(board: &Board, task: &Task) -> Option<u32> {
    let limit = board.config().max_handoffs;
    let used = task.status == Status::Working && handoffs(task.body()) >= limit as usize;
    used.then_some(limit)
}

fn check_handoffs(board: &Board, _: &Call, task: &Task) -> Result<(), Refusal> {
    match handoffs_used_up(board, task) {
        Some(limit) => Err(limit_refusal(
            task,
            &format!("{limit} handoffs or expired leases ended without a submission"),
        )),
        None => Ok(()),
    }
}

fn limit_refusal(task: &Task, what: &str) -> Refusal {
    refusal!(Code::Limit, "{what} on task `{}`", task.id)
        .hint(format!("a planner or a person decides: `liza task block {} --reason … --question …`", task.id))
        .detail("task", task.id.as_str())
        .detail("limit", true)
}

fn check_reservation(board: &Board, call: &Call, task: &Task) -> Result<(), Refusal> {
    let (Some(owner), Some(until)) = (&task.assigned_to, &task.reserved_until) else { return Ok(()) };
    let gone = !owner.is_human() && !board.agent(owner).is_some_and(|agent| agent.is_active());
    if owner == &call.by.id() || until.passed(call.now) || gone {
        return Ok(());
    }
    Err(Refusal::new(
        Code::Reserved,
        format!("task `{}` is {} and reserved for `{owner}` until {}", task.id, task.status, until.at),
    )
    .hint("take other work; it becomes free when that agent releases it, retires or lets the time pass")
    .detail("holder", owner.as_str()))
}

fn check_takeover(board: &Board, call: &Call, task: &Task) -> Result<(), Refusal> {
    let Some(lease) = &task.lease else { return Err(wrong_state(task, "claimed", next_step(task))) };
    if lease_over(board, lease, call.now) {
        return Ok(());
    }
    if lease.agent == call.by.id() && lease.incarnation == call.by.incarnation() {
        return Err(refusal!(Code::Transition, "`{}` holds task `{}` already", lease.agent, task.id)
            .hint(format!("go on in its worktree: `liza task show {}` says where", task.id))
            .detail("holder", lease.agent.as_str()));
    }
    Err(refusal!(Code::Held, "task `{}` is held by `{}` until {}", task.id, lease.agent, lease.expires.at)
        .hint("take other work: `liza next --role ROLE` offers what is free")
        .detail("task", task.id.as_str())
        .detail("holder", lease.agent.as_str()))
}

/// Refuses if a live task owns a path that this task owns too.
pub fn check_paths_free(board: &Board, call: &Call, task: &Task) -> Result<(), Refusal> {
    let Some((other, mine, theirs)) = path_rival(&board.tasks, task, call.now) else { return Ok(()) };
    let holder = other.assigned_to.as_ref().map_or("nobody", |agent| agent.as_str());
    let until = other.holds_paths_until.as_ref().or(other.lease.as_ref().map(|lease| &lease.expires));
    Err(refusal!(
        Code::PathsOverlap,
        "task `{}` owns `{mine}`, which overlaps {}",
        task.id,
        held_words(board, other, theirs, call.now)
    )
    .hint(format!(
        "wait until `{}` is merged, or take other work; if no agent is left to finish it, a person may take its paths \
         back (`liza lock list`)",
        other.id
    ))
    .detail("task", task.id.as_str())
    .detail("waiting_on", vec![other.id.as_str()])
    .detail("holder", holder)
    .detail("path", theirs.as_str())
    .detail("until", until.map(|until| until.at.to_string())))
}

/// Who holds a path and until when, for messages.
pub fn held_words(board: &Board, holder: &Task, path: &PathPattern, now: &Stamp) -> String {
    let who = holder.assigned_to.as_ref().map_or("unassigned", |agent| agent.as_str());
    let until = match (&holder.lease, &holder.holds_paths_until) {
        (_, Some(until)) => format!("until {} at the latest", until.at),
        (Some(lease), _) if lease_over(board, lease, now) => "its lease has ended".to_owned(),
        (Some(lease), _) => format!("lease until {}", lease.expires.at),
        (None, None) => "until it is merged or ends".to_owned(),
    };
    format!("`{path}` of task `{}` ({}, {who}, {until})", holder.id, holder.status)
}

/// The first live task with an overlapping path, and the two overlapping patterns.
pub fn path_rival<'b>(
    others: impl IntoIterator<Item = &'b Task>,
    task: &'b Task,
    now: &Stamp,
) -> Option<(&'b Task, &'b PathPattern, &'b PathPattern)> {
    others
        .into_iter()
        .filter(|other| other.id != task.id && other.is_live(now))
        .find_map(|other| any_overlap(&task.owns, &other.owns).map(|(mine, theirs)| (other, mine, theirs)))
}

fn holds_elsewhere(board: &Board, id: &TaskId, lease: &Lease) -> bool {
    board.tasks.iter().any(|other| {
        &other.id != id
            && other.status == Status::Working
            && other
                .lease
                .as_ref()
                .is_some_and(|held| held.agent == lease.agent && held.incarnation == lease.incarnation)
    })
}

logged! {
    /// The worktree is ready.
    pub struct FinishClaim {
        pub intent: u64,
        pub owner: Process,
        pub base: CommitId,
        pub handout: Handout,
        /// Files left in conflict when integration was merged in.
        pub conflicts: Vec<String>,
        /// Files that liza put into the worktree before the claim ended.
        pub prepared: Vec<String>,
    }
}

fn claim_work(board: &Board, intent: u64, owner: &Process) -> Result<(Intent, ClaimWork, TaskId), Refusal> {
    let intent = owned_intent(board, intent, owner)?;
    match (&intent.work, &intent.task) {
        (Work::Claim(work), Some(task)) => Ok((intent.clone(), work.clone(), task.clone())),
        _ => Err(refusal!(Code::IntentGone, "intent {} is not a claim", intent.id)),
    }
}

outcome!(Claimed { task: TaskId, epoch: u64, worktree: String, branch: String, base_commit: CommitId, iteration: u32, lease_expires: Option<Wall>, integration_fix: bool, conflicts: Vec<String>, read_first: bool,
    // A report: no checkpoint is to be written. Not kept for repeated requests, so that older journals lead to the same boards.
    #[serde(skip)]
    reports: bool });

impl Verb for FinishClaim {
    const OPERATION: Option<Operation> = None;
    type Outcome = Claimed;

    fn check(&self, board: &Board, _: &Call) -> Result<(), Refusal> {
        let (_, work, id) = claim_work(board, self.intent, &self.owner)?;
        let task = find(board, &id)?;
        if task.status == Status::Working && task.epoch == work.epoch {
            return Ok(());
        }
        Err(refusal!(Code::Epoch, "the claim on `{id}` ended before its worktree was ready")
            .detail("task", id.as_str()))
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        let Ok((intent, work, id)) = claim_work(board, self.intent, &self.owner) else {
            unreachable!("checked before")
        };
        board.rest.intents.retain(|open| open.id != self.intent);
        let (head, body) = parts(board, &id);
        let former = if work.reuse { body.attempts.pop() } else { None };
        let began = former.as_ref().map(|former| former.start().clone());
        let (prepared, byproducts) = match former {
            Some(former) => (former.prepared, former.byproducts),
            None => (self.prepared.clone(), Vec::new()),
        };
        body.attempts.push(Attempt {
            agent: intent.by.clone(),
            epoch: work.epoch,
            branch: work.branch.clone(),
            worktree: work.worktree.clone(),
            base_commit: self.base.clone(),
            handout: Some(self.handout.clone()),
            began: began.filter(|began| *began != self.handout.head),
            prepared,
            byproducts,
        });
        let read_first = body.left.is_some() || body.rejection_feedback.is_some() || body.answer.is_some();
        body.left = None;
        // The branch no longer holds the commit that was submitted or approved before.
        forget_approval(head, body);
        body.submission = None;
        head.review_commit = None;
        head.result = None;
        let event = if work.former.status == Status::Working { Event::TakenOver } else { Event::Claimed };
        let line = HistoryEntry::new(call.now.wall, event, intent.by.clone())
            .step(work.former.status, Status::Working);
        body.history.push(line.epoch(work.epoch).iteration(head.iteration));
        let outcome = Claimed {
            task: id,
            epoch: work.epoch,
            worktree: work.worktree,
            branch: work.branch,
            base_commit: self.base.clone(),
            iteration: head.iteration,
            lease_expires: head.lease.as_ref().map(|lease| lease.expires.at),
            integration_fix: head.integration_fix,
            conflicts: self.conflicts.clone(),
            read_first,
            reports: head.kind == Kind::Report,
        };
        answer(board, &intent, &outcome);
        outcome
    }
}

logged! {
    /// The worktree could not be made, or the process that was making it died.
    pub struct CancelClaim {
        pub intent: u64,
        pub owner: Process,
        pub reason: String,
    }
}

impl Verb for CancelClaim {
    const OPERATION: Option<Operation> = None;
    type Outcome = TaskStatus;

    fn check(&self, board: &Board, _: &Call) -> Result<(), Refusal> {
        claim_work(board, self.intent, &self.owner).map(|_| ())
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        let Ok((_, work, id)) = claim_work(board, self.intent, &self.owner) else {
            unreachable!("checked before")
        };
        board.rest.intents.retain(|open| open.id != self.intent);
        let former = &work.former;
        // The agent that lost the task to this claim may have claimed another one meanwhile, and no agent holds two
        // tasks.
        let busy = former.lease.as_ref().is_some_and(|lease| holds_elsewhere(board, &id, lease));
        let (head, body) = parts(board, &id);
        if head.status == Status::Working && head.epoch == work.epoch {
            head.status = former.status;
            head.assigned_to = former.assigned_to.clone();
            // The epoch stays raised, so the former holder has to check its claim before it continues.
            head.lease = former.lease.clone().map(|lease| Lease { epoch: head.epoch, ..lease });
            head.reserved_until = former.reserved_until.clone();
            head.holds_paths = former.holds_paths;
            head.iteration = former.iteration;
            head.review_cycles_current = former.review_cycles_current;
            head.integration_fix = former.integration_fix;
            head.implementers = former.implementers.clone();
            body.left = former.left;
            body.consecutive_rejections = former.consecutive_rejections;
            if busy {
                head.status = Status::Idle;
                head.lease = None;
                body.left = Some(Left::Released);
            }
            body.history.push(
                entry(call, Event::ClaimUndone)
                    .step(Status::Working, head.status)
                    .epoch(work.epoch)
                    .detail(self.reason.clone()),
            );
        }
        TaskStatus { status: head.status, task: id }
    }
}
