//! A routed goal: every step that director, supervisor, operator, auditor and person may try, and what must hold after each.

use std::collections::{BTreeMap, BTreeSet};

use crate::board::call::Archived;
use crate::board::intent::{RefMove, Work};
use crate::board::result::{EndCause, ResultStatus};
use crate::board::route::{AuditVerdict, Estimate, RunMode, Way};
use crate::board::rules::*;
use crate::board::slice::SliceKind;
use crate::board::task::{Kind, Risk, Scope, Status, Task};
use crate::board::testing::*;
use crate::board::workstream::NewStream;
use crate::board::{Board, Role, TaskId, Transition, WorkstreamId};
use crate::policy::audit::{self, AuditConfig, Step};
use crate::text::ssot_id;

use super::acts::{Menu, offer_task};
use super::properties::judge_any;
use super::{CODE, CODERS, Scene, State, TASKS};

/// Who takes part beside the team of the three tasks; one is planner and supervisor.
pub const TEAM: [(&str, &[&str]); 4] = [
    ("supervisor-1", &["supervisor"]),
    ("director-1", &["planner", "supervisor"]),
    ("operator-1", &["operator"]),
    ("auditor-1", &["auditor"]),
];

/// Each of them is accepted somewhere, and refused somewhere.
pub const VERBS: [&str; 11] = [
    "record_route",
    "record_audit",
    "waive_audit",
    "collapse_stream",
    "submit_result",
    "accept_result",
    "reject_result",
    "redispatch",
    "complete_goal",
    "begin_move",
    "archive_tasks",
];

const DIGEST: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
const STREAM: &str = "a";
const MOST_AUDITS: usize = 3;

/// What the walk itself records about the routed goal, independent of the board.
#[derive(Clone, Default, Hash)]
pub struct Routed {
    /// Who ever got a worktree for a report.
    authors: BTreeMap<String, BTreeSet<String>>,
    /// The plan of the workstream was accepted.
    planned: bool,
    /// The workstream was collapsed; these of its tasks were begun by then.
    collapsed: Option<BTreeSet<String>>,
    /// Goals that an auditor has to approve, and neither did nor was waived.
    owed: BTreeSet<String>,
}

fn stream_id(name: &str) -> WorkstreamId {
    WorkstreamId::new(name).expect("an id")
}

fn stream() -> NewStream {
    NewStream {
        id: stream_id(STREAM),
        goal: "The part a".to_owned(),
        ownership_paths: patterns(&["a-code/", "a-merge/"]),
        allowed_paths: Vec::new(),
        depends_on: Vec::new(),
        timebox_minutes: Some(10),
    }
}

/// The tasks of the workstream's plan: code, a probe, and what brings them together.
fn slices() -> Vec<NewTask> {
    let of_stream = |name: &str, paths: &[&str]| NewTask {
        workstream: Some(stream_id(STREAM)),
        scope: Scope { inside: patterns(paths), outside: Vec::new() },
        ..new_task(name, "a-code/")
    };
    let mut probe = of_stream("a-probe", &["a-code/"]);
    (probe.kind, probe.role, probe.slice_kind) = (Kind::Report, Role::operator(), Some(SliceKind::Probe));
    let mut merge = of_stream("a-merge", &["a-code/", "a-merge/"]);
    (merge.role, merge.slice_kind, merge.timebox_minutes) =
        (Role::supervisor(), Some(SliceKind::Merge), Some(20));
    merge.depends_on = vec![id("a-code"), id("a-probe")];
    vec![of_stream("a-code", &["a-code/"]), probe, merge]
}

fn route(board: &Board, way: Way) -> RecordRoute {
    let estimate =
        Estimate { t_max_s: 60, t_why: "one line".to_owned(), tiny: true, clear: true, risk: Risk::Low };
    RecordRoute {
        ssot_id: ssot_id("a goal"),
        goal: Some(board.rest.goal.id.clone()),
        task: None,
        job: (way == Way::Single).then(|| plan_of(vec![new_task("job", "job/")])),
        estimate: Some(estimate),
        unknown: None,
        mode: RunMode::Write,
        risk: None,
        force: Some(way),
        after: None,
        once: true,
    }
}

fn submit(task: &Task, status: ResultStatus) -> SubmitResult {
    SubmitResult {
        task: task.id.clone(),
        epoch: Some(task.epoch),
        status,
        summary: "looked at".to_owned(),
        blocked_reason: (status == ResultStatus::Blocked).then(|| "no network".to_owned()),
        evidence: Vec::new(),
        digest: DIGEST.to_owned(),
        found: Unchanged { head: untouched().head, changed: Vec::new(), untracked: Vec::new() },
    }
}

fn accept(task: &Task, tasks: Vec<NewTask>) -> AcceptResult {
    let specs_found = tasks.iter().map(|task| task.id.clone()).collect();
    AcceptResult { task: task.id.clone(), digest: DIGEST.to_owned(), tasks, specs_found, pins: Vec::new() }
}

/// What of a person's or planner's would keep a long story from getting anywhere. The breadth-first walk tries it at once.
fn rare(state: &State) -> usize {
    if state.wanders { 2 } else { 1 }
}

fn is_slice(name: &str) -> bool {
    CODE.contains(&name) && !TASKS.contains(&name)
}

/// Everything that may be tried for the routed goal.
pub fn offer(menu: &mut Menu, state: &State) {
    let board = state.board();
    offer_route(menu, state);
    for task in &board.tasks {
        let name = task.id.as_str();
        if is_slice(name) {
            let workers: &[&str] = if name == "a-merge" { &["supervisor-1"] } else { &CODERS };
            offer_task(menu, name, false, workers);
            offer_result_of_merge(menu, task);
        } else if !TASKS.contains(&name) {
            offer_report(menu, task);
        }
        if !TASKS.contains(&name) {
            let what = ArchiveTasks { tasks: vec![task.id.clone()] };
            menu.offer(1, if task.status.is_terminal() { "planner-1" } else { "liza" }, what);
        }
    }
    offer_audit(menu, state);
    offer_end(menu, state);
}

fn offer_route(menu: &mut Menu, state: &State) {
    let board = state.board();
    let routed = board.route().map(|route| route.route);
    let first = if routed.is_none() { 0 } else { 2 };
    menu.offer(first, "liza", route(board, Way::Multi));
    menu.offer(0, "planner-1", route(board, Way::Multi));
    if board.task(&id("job")).is_none() {
        menu.offer(1, "human", route(board, Way::Single));
    }
    menu.offer(0, "human", RecordRoute { goal: Some("goal-99".to_owned()), ..route(board, Way::Multi) });
    if board.workstream(&stream_id(STREAM)).is_none() {
        let plan = plan_task(&stream()).expect("a task");
        menu.offer(0, "planner-1", AddTasks { workstreams: vec![stream()], ..plan_of(vec![plan]) });
    } else {
        let collapse = |name: &str| CollapseStream {
            stream: stream_id(name),
            reason: "it hangs".to_owned(),
            unbegun: true,
        };
        menu.offer(rare(state), "planner-1", collapse(STREAM));
        menu.offer(0, "coder-1", collapse(STREAM));
        menu.offer(0, "human", collapse("zz"));
        if board.task(&id("a-code")).is_none() {
            let early = slices().into_iter().take(1).collect();
            menu.offer(1, "planner-1", plan_of(early));
        }
    }
}

fn offer_report(menu: &mut Menu, task: &Task) {
    let (bench, name) = (menu.bench, task.id.as_str());
    let workers: &[&str] = match task.role.as_str() {
        "supervisor" => &["supervisor-1", "director-1"],
        "operator" => &["operator-1"],
        _ => &["auditor-1"],
    };
    if bench.board.intent_of(&task.id).is_some() {
        menu.offer(0, "human", bench.finish(name));
        menu.offer(1, "human", bench.cancel(name));
        return;
    }
    for worker in workers {
        match task.status {
            Status::Idle | Status::Rejected => menu.offer(0, worker, bench.begin(name)),
            Status::Working => {
                menu.offer(0, worker, bench.begin(name));
                menu.offer(0, worker, submit(task, ResultStatus::Complete));
                menu.offer(1, worker, submit(task, ResultStatus::Partial));
                menu.offer(1, worker, submit(task, ResultStatus::Blocked));
                let mut dirty = submit(task, ResultStatus::Complete);
                dirty.found.changed = vec!["README.md".to_owned()];
                menu.offer(0, worker, dirty);
                menu.offer(1, worker, bench.release(name));
                menu.offer(1, worker, redispatch(task));
            }
            _ => menu.offer(0, worker, submit(task, ResultStatus::Complete)),
        }
    }
    menu.offer(0, "coder-1", bench.begin(name));
    menu.offer(0, "coder-1", redispatch(task));
    if task.status == Status::ReadyForReview {
        for by in ["liza", "planner-1", "director-1", "supervisor-1"] {
            menu.offer(0, by, accept(task, slices()));
        }
        menu.offer(0, "liza", accept(task, Vec::new()));
        offer_rejection(menu, task, "planner-1");
    }
    if task.status == Status::Blocked {
        menu.offer(0, "planner-1", bench.unblock(name));
    } else if !task.status.is_terminal() {
        menu.offer(1, "planner-1", bench.block(name));
        menu.offer(2, "planner-1", bench.abandon(name));
    }
}

fn redispatch(task: &Task) -> Redispatch {
    Redispatch {
        task: task.id.clone(),
        epoch: Some(task.epoch),
        cause: EndCause::BadOutput,
        reason: "prose".to_owned(),
        evidence: Vec::new(),
    }
}

fn offer_rejection(menu: &mut Menu, task: &Task, by: &str) {
    let reason = REASONS[task.review_cycles_total as usize % 2].to_owned();
    let findings = vec!["a slice has no criterion".to_owned()];
    let reject = RejectResult { task: task.id.clone(), digest: DIGEST.to_owned(), reason, findings };
    menu.offer(0, by, RejectResult { findings: Vec::new(), ..reject.clone() });
    menu.offer(1, by, reject);
}

/// A merge slice with nothing left to change ends with a result, which a reviewer accepts.
fn offer_result_of_merge(menu: &mut Menu, task: &Task) {
    if menu.bench.board.intent_of(&task.id).is_some() || task.status.is_terminal() {
        return;
    }
    if task.status == Status::Working {
        let by = if task.is_merge_slice() { "supervisor-1" } else { "coder-1" };
        menu.offer(0, by, submit(task, ResultStatus::Complete));
        menu.offer(1, by, redispatch(task));
    }
    if task.status == Status::ReadyForReview {
        for by in ["reviewer-1", "supervisor-1", "planner-1"] {
            menu.offer(0, by, accept(task, Vec::new()));
        }
        offer_rejection(menu, task, "reviewer-1");
    }
}

fn offer_audit(menu: &mut Menu, state: &State) {
    let board = state.board();
    let mut audits: Vec<&Task> = board.tasks.iter().filter(|task| task.role == Role::auditor()).collect();
    let open = audits.iter().any(|task| !task.status.is_terminal());
    if let Step::Ask { round } = audit::next_step(board, &AuditConfig::default())
        && !open
        && audits.len() < MOST_AUDITS
    {
        // The run asks when everything else is done; a person may ask before.
        let cost = usize::from(board.open_of_goal().next().is_some());
        menu.offer(cost, "human", plan_of(vec![audit::audit_task(board, round)]));
    }
    audits.extend(board.task(&id("a-plan")));
    for task in audits {
        let record = |verdict: AuditVerdict, asked: &[String]| RecordAudit {
            task: task.id.clone(),
            verdict,
            findings: vec!["seen".to_owned()],
            evidence_requests: asked.to_vec(),
            head: None,
            probes: (!asked.is_empty()).then(|| plan_of(audit::probes(board, &task.id, asked))),
        };
        menu.offer(0, "liza", record(AuditVerdict::Approve, &[]));
        menu.offer(1, "liza", record(AuditVerdict::Block, &[]));
        menu.offer(1, "liza", record(AuditVerdict::NeedsEvidence, &["how fast?".to_owned()]));
        menu.offer(0, "planner-1", record(AuditVerdict::Approve, &[]));
    }
    if !board.rest.routes.is_empty() {
        let waive = |reason: &str| WaiveAudit { reason: reason.to_owned(), counted: true };
        menu.offer(rare(state), "human", waive("I have read it"));
        menu.offer(0, "human", waive(""));
        menu.offer(0, "planner-1", waive("fine"));
    }
}

fn offer_end(menu: &mut Menu, state: &State) {
    let board = state.board();
    if board.rest.goal.is_open() {
        menu.offer(0, "human", CompleteGoal { audited: true });
        menu.offer(0, "planner-1", CompleteGoal { audited: true });
    }
    if board.rest.goals.is_empty() {
        let (goal, spec_ref) = ("the next".to_owned(), "goal".to_owned());
        menu.offer(2, "human", AddGoal { goal, spec_ref, routing: None, audited: true });
    }
    menu.offer(0, "human", StartGoal { audited: true });
    let open = board.rest.intents.iter().find(|intent| matches!(intent.work, Work::Deliver(_)));
    match open {
        Some(intent) => {
            let (intent, owner) = (intent.id, process(1));
            let step = RefMove { branch: "main".to_owned(), old: Some(commit(1)), new: commit(50) };
            menu.offer(0, "human", RecordMove { intent, owner: owner.clone(), step, gates: None });
            menu.offer(0, "human", FinishMove { intent, owner: owner.clone() });
            menu.offer(1, "human", CancelMove { intent, owner, reason: "no room".to_owned() });
        }
        None => {
            let deliver = BeginMove {
                kind: MoveKind::Deliver,
                branch: "main".to_owned(),
                reason: "it is done".to_owned(),
                owner: process(1),
                checkout: None,
                audited: true,
            };
            menu.offer(rare(state), "human", deliver.clone());
            menu.offer(0, "planner-1", deliver);
        }
    }
}

/// Results of agents that still use an old epoch.
pub fn offer_late(menu: &mut Menu) {
    let bench = menu.bench;
    for task in bench.board.tasks.iter().filter(|task| task.delivers_result()) {
        let Some(former) = task.epoch.checked_sub(1) else { continue };
        for (worker, _) in TEAM {
            menu.offer(
                0,
                worker,
                SubmitResult { epoch: Some(former), ..submit(task, ResultStatus::Complete) },
            );
            menu.offer(0, worker, Redispatch { epoch: Some(former), ..redispatch(task) });
        }
    }
}

/// Keeps the walk's own record, and what the archive would tell of tasks that have left the board.
pub fn note(next: &mut State, before: &State, what: &Transition) {
    if before.scene == Scene::Tasks {
        return;
    }
    let goal = before.board().rest.goal.id.clone();
    match what {
        Transition::FinishClaim(finish) => {
            let Some(intent) = before.board().intent(finish.intent) else { return };
            let Some(task) = &intent.task else { return };
            next.routed.authors.entry(task.to_string()).or_default().insert(intent.by.to_string());
        }
        Transition::RecordRoute(record) => {
            let multi = record.force == Some(Way::Multi);
            let owed = &mut next.routed.owed;
            let _ = if multi { owed.insert(goal) } else { owed.remove(&goal) };
        }
        Transition::RecordAudit(record) => {
            let owed = &mut next.routed.owed;
            let _ =
                if record.verdict == AuditVerdict::Approve { owed.remove(&goal) } else { owed.insert(goal) };
        }
        Transition::WaiveAudit(_) => next.routed.owed.clear(),
        Transition::AcceptResult(accept) if accept.task == id("a-plan") => next.routed.planned = true,
        Transition::CollapseStream(_) => {
            let begun = CODE.iter().zip(&before.known).filter(|(_, known)| !known.implementers.is_empty());
            next.routed.collapsed = Some(begun.map(|(name, _)| (*name).to_owned()).collect());
        }
        Transition::ArchiveTasks(archive) => {
            for id in &archive.tasks {
                let Some(task) = before.board().task(id) else { continue };
                let left = Archived { status: task.status, superseded_by: task.superseded_by.clone() };
                next.bench.world.archived.insert(id.clone(), left);
            }
        }
        _ => {}
    }
}

/// A task leaves the board for the archive alone, and only when it is over.
pub fn left_the_board(old: &Task, what: &Transition) -> Result<(), String> {
    match what {
        Transition::ArchiveTasks(archive) if archive.tasks.contains(&old.id) && old.status.is_terminal() => {
            Ok(())
        }
        _ => Err(format!("it is gone after {}", what.name())),
    }
}

pub fn judge(before: &State, after: &State, what: &Transition) -> Result<(), String> {
    if before.scene == Scene::Tasks {
        return Ok(());
    }
    for old in before.board().tasks.iter().filter(|task| task.kind == Kind::Report) {
        let wrong = |wrong: String| format!("{}: {wrong}", old.id);
        match after.board().task(&old.id) {
            Some(new) => judge_report(before, after, old, new, what).map_err(wrong)?,
            None => left_the_board(old, what).map_err(wrong)?,
        }
    }
    results_of_merges(before, after, what)?;
    judge_stream(before, after, what)?;
    judge_audit(before, after, what)
}

fn judge_report(
    before: &State,
    after: &State,
    old: &Task,
    new: &Task,
    what: &Transition,
) -> Result<(), String> {
    judge_any(before, after, old, new)?;
    let body = new.body();
    if new.review_commit.is_some() || body.approval.is_some() || !new.owns.is_empty() {
        return Err("a report has a commit, an approval or paths".to_owned());
    }
    if body.merge.as_ref().is_some_and(|merge| merge.commit.is_some() || !merge.nothing) {
        return Err("a report has a merge commit".to_owned());
    }
    if new.status != Status::Merged || old.status == Status::Merged {
        return Ok(());
    }
    if new.result.as_ref().is_none_or(|result| result.status != ResultStatus::Complete) {
        return Err("a report ended without a complete result".to_owned());
    }
    let ended_by = body.merge.as_ref().map(|merge| merge.by.to_string()).unwrap_or_default();
    let authors = before.routed.authors.get(old.id.as_str());
    let by_author = authors.is_some_and(|authors| authors.contains(&ended_by));
    match what {
        Transition::AcceptResult(_) if old.id == id("a-plan") && !by_author => Ok(()),
        Transition::SubmitResult(_) if old.id != id("a-plan") && by_author => Ok(()),
        _ => Err(format!("{ended_by} ended it by {}", what.name())),
    }
}

/// Who made the result of a merge slice does not accept it.
fn results_of_merges(before: &State, after: &State, what: &Transition) -> Result<(), String> {
    let Transition::AcceptResult(accept) = what else { return Ok(()) };
    let Some(task) = after.board().task(&accept.task).filter(|task| task.is_merge_slice()) else {
        return Ok(());
    };
    let by = task.body().merge.as_ref().map(|merge| merge.by.to_string()).unwrap_or_default();
    let made = before.routed.authors.get(task.id.as_str()).is_some_and(|authors| authors.contains(&by));
    if made { Err(format!("{by} made the result of {} and accepted it", task.id)) } else { Ok(()) }
}

/// Slices come after the plan, and a collapsed stream begins no change.
fn judge_stream(before: &State, after: &State, what: &Transition) -> Result<(), String> {
    let member = |task: &&Task| task.workstream.is_some() && task.id != id("a-plan");
    let slice = after.board().tasks.iter().find(member);
    if let Some(slice) = slice.filter(|_| !after.routed.planned) {
        return Err(format!("{} joined its workstream before its plan was accepted", slice.id));
    }
    let Some(begun) = &after.routed.collapsed else { return Ok(()) };
    let was_begun = |id: &TaskId| begun.contains(id.as_str());
    for task in after.board().tasks.iter().filter(|task| task.kind != Kind::Report).filter(member) {
        if !was_begun(&task.id) && task.status != Status::Abandoned {
            // A claim that is cut off may stand between: it never had a worktree.
            return Err(format!("{} is {} in a workstream that only looks", task.id, task.status));
        }
    }
    match what {
        Transition::BeginClaim(claim) if is_slice(claim.task.as_str()) && claim.task != id("job") => {
            let allowed = before.routed.collapsed.is_none() || was_begun(&claim.task);
            if allowed { Ok(()) } else { Err(format!("{} was claimed after the collapse", claim.task)) }
        }
        _ => Ok(()),
    }
}

/// Nothing is complete or delivered before its auditor approves or a person waives it; audits are kept as they were given.
fn judge_audit(before: &State, after: &State, what: &Transition) -> Result<(), String> {
    let owed = &before.routed.owed;
    let current = &before.board().rest.goal.id;
    let over = before.board().rest.goal.is_open()
        && (!after.board().rest.goal.is_open() || &after.board().rest.goal.id != current);
    if over && owed.contains(current) {
        return Err(format!("{current} is over, and its auditor has not approved it"));
    }
    if matches!(what, Transition::BeginMove(_)) && !owed.is_empty() {
        return Err(format!("{owed:?} is delivered, and its auditor has not approved it"));
    }
    let (old, new) = (&before.board().rest.routes, &after.board().rest.routes);
    if new.len() < old.len() {
        return Err("a route is gone".to_owned());
    }
    for (old, new) in old.iter().zip(new) {
        let kept = new.audits.len() >= old.audits.len() && new.audits[..old.audits.len()] == old.audits[..];
        if !kept || (old.route, &old.goal, &old.reason) != (new.route, &new.goal, &new.reason) {
            return Err("a route was rewritten".to_owned());
        }
        if new.audits.len() > old.audits.len() && !matches!(what, Transition::RecordAudit(_)) {
            return Err(format!("{} recorded an audit", what.name()));
        }
    }
    Ok(())
}
