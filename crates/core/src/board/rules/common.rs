//! Checks and changes that several rules share.

use super::prelude::*;

/// The longest text of a field: every command reads the board.
pub const LONGEST_TEXT: usize = 64 * 1024;
pub const LONGEST_TITLE: usize = 200;
pub const MOST_ITEMS: usize = 200;

pub fn find<'b>(board: &'b Board, id: &TaskId) -> Result<&'b Task, Refusal> {
    board.task(id).ok_or_else(|| {
        refusal!(Code::UnknownTask, "there is no task `{id}` on this board")
            .hint(board.hint_for_task(id))
            .detail("task", id.as_str())
    })
}

/// Both halves of a task that `check` has found.
pub fn parts<'b>(board: &'b mut Board, id: &TaskId) -> (&'b mut Head, &'b mut Body) {
    match board.task_mut(id) {
        Some(task) => task.parts_mut(),
        None => unreachable!("task {id} was there when the rule was checked"),
    }
}

pub fn wrong_state(task: &Task, verb: &str, hint: impl Into<String>) -> Refusal {
    refusal!(Code::Transition, "task `{}` is {}, so it cannot be {verb}", task.id, task.status)
        .hint(hint)
        .detail("task", task.id.as_str())
        .detail("status", task.status.as_str())
}

/// The hint what to do next with a task in this state.
pub fn next_step(task: &Task) -> String {
    let id = &task.id;
    match task.status {
        Status::Draft => format!("`liza task finalize {id}` makes it claimable"),
        Status::Idle => format!("`liza task claim {id}` starts work on it"),
        Status::Working if task.kind == Kind::Report => {
            format!("its holder finishes with `liza task submit {id} --result FILE`")
        }
        Status::Working => format!("its holder finishes with `liza task submit {id}`"),
        Status::ReadyForReview if task.stands_on_result() => {
            format!("a planner or a person accepts it with `liza result accept {id}`")
        }
        Status::ReadyForReview => format!("a reviewer takes it with `liza review claim {id}`"),
        Status::Approved if task.awaits_red_team() => {
            format!("the red team takes its turn with `liza review claim {id}`")
        }
        Status::Approved => format!("`liza merge {id}` lands it"),
        Status::Rejected => format!("its coder takes it up again with `liza task claim {id}`"),
        Status::Blocked => format!("`liza task unblock {id} --answer …` once its questions are answered"),
        Status::IntegrationFailed => format!("a coder repairs it with `liza task claim {id}`"),
        Status::Merged | Status::Superseded | Status::Abandoned => "nothing is left to do on it".to_owned(),
    }
}

/// Whether the lease no longer excludes others: it expired, or its agent was registered again or retired.
pub fn lease_over(board: &Board, lease: &Lease, now: &Stamp) -> bool {
    let gone = !lease.agent.is_human()
        && !board
            .agent(&lease.agent)
            .is_some_and(|agent| agent.is_active() && agent.incarnation == lease.incarnation);
    gone || lease.ran_out(now)
}

/// Refuses while git work on this task is under way.
pub fn no_intent(board: &Board, id: &TaskId) -> Result<(), Refusal> {
    match board.intent_of(id) {
        None => Ok(()),
        Some(intent) => Err(refusal!(
            Code::IntentOpen,
            "a {} of `{id}` by {} is under way (process {}, since {})",
            intent.work.verb(),
            intent.by,
            intent.owner.pid,
            intent.time
        )
        .hint("wait for it to end, then repeat; if that process died, the next command ends its work")
        .detail("task", id.as_str())),
    }
}

/// Refuses callers other than the holder of the lease with the epoch of its claim. An expired lease counts until
/// another agent claims.
pub fn holds_lease(task: &Task, call: &Call, epoch: Option<u64>) -> Result<(), Refusal> {
    if !call.guards.on(Guard::Epoch) {
        return Ok(());
    }
    check_epoch(task, epoch)?;
    if task.status != Status::Working {
        return Err(wrong_state(task, "worked on", next_step(task)));
    }
    let by = call.by.id();
    match &task.lease {
        Some(lease) if lease.agent == by && lease.incarnation == call.by.incarnation() => Ok(()),
        Some(lease) => Err(Refusal::new(
            Code::LeaseLost,
            format!("task `{}` is held by `{}` (epoch {}), not by `{by}`", task.id, lease.agent, lease.epoch),
        )
        .hint(if task.was_implemented_by(&by) {
            "stop working on it; what you committed stays on its branch"
        } else {
            "you do not hold it; `liza next --role ROLE` offers what is free"
        })
        .detail("task", task.id.as_str())
        .detail("holder", lease.agent.as_str())),
        None => Err(wrong_state(task, "worked on", next_step(task))),
    }
}

pub fn check_epoch(task: &Task, epoch: Option<u64>) -> Result<(), Refusal> {
    match epoch {
        Some(epoch) if epoch != task.epoch => Err(Refusal::new(
            Code::Epoch,
            format!("your claim on `{}` has ended (epoch {epoch}, now {})", task.id, task.epoch),
        )
        .hint("stop working on it; what you committed stays on its branch")
        .detail("task", task.id.as_str())
        .detail("epoch", task.epoch)),
        _ => Ok(()),
    }
}

/// Whether a task that waits for `id` may start. A superseded dependency counts as its replacements.
pub fn dependency_met(board: &Board, world: &World, id: &TaskId) -> bool {
    dependency_met_by(&|id| board.task(id), world, id)
}

/// The same for callers that ask about many tasks and have a quicker way to find one.
///
/// Follows every chain of replacements to its end, on the board and in the archive. A damaged board may have a chain
/// that leads back into itself: such a dependency is never met.
pub fn dependency_met_by<'b>(find: &dyn Fn(&TaskId) -> Option<&'b Task>, world: &World, id: &TaskId) -> bool {
    let look = |id: &TaskId| -> Option<(Status, Vec<TaskId>)> {
        match (find(id), world.archived.get(id)) {
            (Some(task), _) => Some((task.status, task.superseded_by.clone())),
            (None, Some(archived)) => Some((archived.status, archived.superseded_by.clone())),
            (None, None) => None,
        }
    };
    let mut done: BTreeSet<TaskId> = BTreeSet::new();
    // The tasks that are being followed, outermost first, each with the replacements still to check.
    let mut path: Vec<(TaskId, Vec<TaskId>)> = Vec::new();
    let mut next = Some(id.clone());
    loop {
        if let Some(id) = next.take() {
            match look(&id) {
                Some((Status::Merged, _)) => {}
                Some((Status::Superseded, by)) if !by.is_empty() => {
                    if path.iter().any(|(above, _)| *above == id) {
                        return false;
                    }
                    if !done.contains(&id) {
                        path.push((id, by));
                    }
                }
                _ => return false,
            }
        }
        match path.last_mut() {
            None => return true,
            Some((_, left)) => match left.pop() {
                Some(id) => next = Some(id),
                None => done.extend(path.pop().map(|(id, _)| id)),
            },
        }
    }
}

/// Refuses callers other than planners and people.
pub fn plans(board: &Board, call: &Call, verb: &str) -> Result<(), Refusal> {
    if call.by.has_role(board, &Role::planner()) {
        return Ok(());
    }
    Err(refusal!(Code::Role, "`{}` is not a planner, so it cannot {verb}", call.by.id())
        .hint("tell the planner with `liza note`, `liza discover` or `liza anomaly`"))
}

/// Refuses callers other than liza itself.
pub fn liza_only(call: &Call, verb: &str) -> Result<(), Refusal> {
    if call.by.is_liza() {
        return Ok(());
    }
    Err(refusal!(Code::HumanOnly, "only liza itself may {verb}"))
}

pub fn human_only(call: &Call, verb: &str) -> Result<(), Refusal> {
    if call.by.is_human() {
        return Ok(());
    }
    Err(refusal!(Code::HumanOnly, "only a person may {verb}")
        .hint("say what you need with `liza note` or `liza task block`"))
}

pub fn tier0_role(call: &Call, verb: &str, role: &Role) -> Refusal {
    refusal!(Code::Tier0Role, "`{}` does not have the role {role}, so it may not {verb}", call.by.id())
        .hint("this is recorded as a Tier 0 violation; leave it to an agent of that role")
        .detail("rule", "role_boundary")
}

/// Refuses an empty or oversized text, naming the field.
pub fn text_given(field: &str, text: &str) -> Result<(), Refusal> {
    if text.trim().is_empty() {
        return Err(refusal!(Code::Incomplete, "{field} is empty")
            .hint(format!("say it in {field}; long texts can come from `@file` or `-`"))
            .detail("field", field));
    }
    text_fits(field, text)
}

pub fn text_fits(field: &str, text: &str) -> Result<(), Refusal> {
    if text.len() <= LONGEST_TEXT {
        return Ok(());
    }
    Err(refusal!(Code::Limit, "{field} is {} bytes long; the limit is {LONGEST_TEXT}", text.len())
        .hint("put the long form into a file of the repository and name it")
        .detail("field", field))
}

pub fn questions_given(questions: &[String]) -> Result<(), Refusal> {
    if questions.is_empty() || questions.len() > 3 {
        return Err(refusal!(
            Code::Incomplete,
            "a block needs one to three questions whose answers would end it, not {}",
            questions.len()
        )
        .hint("repeat --question for each, and ask only what you cannot answer yourself"));
    }
    questions.iter().try_for_each(|question| text_given("--question", question))
}

/// Ends the claim on a task: liza refuses further changes by the former holder.
pub fn end_claim(head: &mut Head) {
    head.lease = None;
    head.review_lease = None;
    head.epoch += 1;
}

/// Remembers that the agent that worked on the task reached a limit.
pub fn note_failure(head: &mut Head) {
    if let Some(agent) = head.assigned_to.clone()
        && !head.failed_by.contains(&agent)
    {
        head.failed_by.push(agent);
    }
}

pub fn entry(call: &Call, event: Event) -> HistoryEntry {
    HistoryEntry::new(call.now.wall, event, call.by.id())
}

/// Puts an anomaly on the board and returns its id.
pub fn note_anomaly(
    board: &mut Board,
    call: &Call,
    kind: AnomalyKind,
    task: &TaskId,
    details: BTreeMap<String, String>,
) -> String {
    let known = &mut board.rest.anomalies;
    let id = next_id("anomaly", known.iter().map(|anomaly| anomaly.id.as_str()));
    known.push(Anomaly {
        id: id.clone(),
        kind,
        task_id: task.clone(),
        logged_by: call.by.id(),
        timestamp: call.now.wall,
        details,
        processed_by: None,
    });
    id
}

/// Puts a discovery on the board and returns its id.
pub fn note_discovery(
    board: &mut Board,
    call: &Call,
    task: &TaskId,
    text: String,
    severity: Severity,
    urgency: Urgency,
) -> String {
    let known = &mut board.rest.discovered;
    let id = next_id("discovery", known.iter().map(|found| found.id.as_str()));
    known.push(Discovery {
        id: id.clone(),
        time: call.now.wall,
        by: call.by.id(),
        task_id: task.clone(),
        text,
        severity,
        urgency,
        processed_by: None,
    });
    id
}

/// Records the intent of work that takes more than one step, before the work starts.
pub fn begin(
    board: &mut Board,
    call: &Call,
    task: Option<&TaskId>,
    owner: &Process,
    request: Option<&RequestKey>,
    work: Work,
) -> Begun {
    let id = board.revision + 1;
    board.rest.intents.push(Intent {
        id,
        task: task.cloned(),
        by: call.by.id(),
        owner: owner.clone(),
        time: call.now.wall,
        request: request.cloned(),
        work,
    });
    Begun { intent: id }
}

/// Stores the outcome of finished work, for a repetition of the same request.
pub fn answer(board: &mut Board, intent: &Intent, outcome: &dyn AnyOutcome) {
    if let Some(key) = &intent.request {
        crate::board::apply::remember(board, intent.by.clone(), key, outcome);
    }
}

/// Voids earlier approvals, red team turns and review results.
pub fn forget_approval(head: &mut Head, body: &mut Body) {
    body.approval = None;
    body.review_result = None;
    head.red_team = None;
    head.approvals = None;
}

/// The intent, if this process carries it out. A process that was taken for dead is refused here.
pub fn owned_intent<'b>(board: &'b Board, id: u64, owner: &Process) -> Result<&'b Intent, Refusal> {
    match board.intent(id) {
        Some(intent) if &intent.owner == owner => Ok(intent),
        Some(intent) => Err(Refusal::new(
            Code::IntentGone,
            format!("process {} has taken this {} over", intent.owner.pid, intent.work.verb()),
        )
        .hint("nothing is lost; look at `liza status`")),
        None => Err(refusal!(Code::IntentGone, "another process has ended this work meanwhile")
            .hint("nothing is lost; look at `liza status`")),
    }
}
