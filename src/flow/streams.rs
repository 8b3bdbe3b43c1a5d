//! Workstreams and audits, as far as results are read for them: a supervisor's plan becomes tasks or goes back, and an auditor's
//! verdict is put on record. Both are one commit, so that a process that dies before it leaves what the next one finds.

use super::prelude::*;
use crate::board::goals::{SpecPin, Specs};
use crate::board::graph::Graph;
use crate::board::result::TaskResult;
use crate::director::reading::Problem;
use crate::director::results::{AuditResult, DispatchPlan, SliceResult};
use crate::director::slices::tasks_of;
use crate::policy::audit;
use crate::policy::plan_check::{self, Around, Severity};

/// So many findings go back to a supervisor.
const MOST_FINDINGS: usize = 20;

/// What became of a result.
#[derive(Debug, Clone)]
pub enum Decided {
    Accepted { task: TaskId, tasks: Vec<TaskId> },
    SentBack { task: TaskId, findings: Vec<String> },
}

/// What a supervisor delivered, and what would come of it.
pub enum Plan {
    /// These tasks, with the specs that were found for them.
    Good {
        tasks: Vec<NewTask>,
        specs: Specs,
    },
    Bad(Vec<String>),
}

/// Plans that wait to be accepted. The run is asked for those of workstreams.
pub fn waiting_plans(board: &Board) -> Vec<TaskId> {
    let waits = |task: &&Task| {
        task.status == Status::ReadyForReview
            && task.is_stream_plan()
            && task.result.is_some()
            && board.planned_by(&task.id).is_some()
    };
    board.tasks.iter().filter(waits).map(|task| task.id.clone()).collect()
}

/// The result of a task as it was delivered.
fn read(ctx: &Context, board: &Board, id: &TaskId) -> Result<(TaskResult, SliceResult)> {
    let found = board.task(id).and_then(|task| Some((task, task.result.clone()?)));
    let Some((task, result)) = found else {
        return Err(failure!(Code::Transition, "task `{id}` has delivered no result")
            .hint(format!("`liza task show {id}` says how it stands")));
    };
    let Some(bytes) = ctx.store.result_bytes(id, &result) else {
        return Err(failure!(ErrorCode::IoFailed, "the result of `{id}` is gone, and no copy of it is left")
            .hint("`liza doctor` says more"));
    };
    match super::results::read_for(task, &bytes) {
        Ok(read) => Ok((result, read)),
        Err(problems) => Err(super::results::invalid(task, &problems)),
    }
}

/// What would come of the plan that this task delivered.
pub fn plan_of(ctx: &Context, board: &Board, id: &TaskId) -> Result<(TaskResult, Plan)> {
    let (result, value) = read(ctx, board, id)?;
    let SliceResult::Supervisor(value) = value else {
        return Err(failure!(Code::Result, "`{id}` is no plan of a supervisor"));
    };
    let words = |problems: Vec<Problem>| problems.iter().map(ToString::to_string).collect::<Vec<_>>();
    let (Some(stream), Some(plan)) = (board.planned_by(id), &value.dispatch_plan) else {
        return Ok((result, Plan::Bad(vec!["dispatch_plan: is missing".to_owned()])));
    };
    let plan: &DispatchPlan = plan;
    let tasks = match tasks_of(board, stream, plan) {
        Ok(tasks) => tasks,
        Err(problems) => return Ok((result, Plan::Bad(words(problems)))),
    };
    let specs = ctx.pin_specs(&tasks)?;
    let accept = accepting(id, &result, &tasks, &specs);
    let mut found = errors(ctx, board, &tasks, &specs)?;
    if found.is_empty()
        && let Err(refusal) = ctx.asked(board, |call| {
            let call = Call { by: Actor::Liza, ..call.clone() };
            Verb::check(&accept, board, &call)
        })?
    {
        found.push(refusal.message);
    }
    let plan = if found.is_empty() { Plan::Good { tasks, specs } } else { Plan::Bad(found) };
    Ok((result, plan))
}

/// Everything that the plan check calls an error, where a supervisor's plan has to be without any.
fn errors(ctx: &Context, board: &Board, tasks: &[NewTask], specs: &Specs) -> Result<Vec<String>> {
    let named = crate::board::rules::named(tasks);
    let archived = ctx.store.archived_among(board, named)?;
    let known = board.tasks.iter().map(|task| task.id.clone()).chain(archived.keys().cloned()).collect();
    let around = Around {
        known: &known,
        board: &Graph::of(&board.tasks),
        specs_found: &specs.found,
        finalize: true,
        as_graph: false,
        ground: &BTreeMap::new(),
        strict: true,
    };
    let checked = plan_check::check(tasks, &around);
    let errors = checked.findings.iter().filter(|finding| finding.severity == Severity::Error);
    Ok(errors.map(|finding| format!("{}: {} ({})", finding.code, finding.message, finding.hint)).collect())
}

fn accepting(id: &TaskId, result: &TaskResult, tasks: &[NewTask], specs: &Specs) -> AcceptResult {
    AcceptResult {
        task: id.clone(),
        digest: result.digest.clone(),
        tasks: tasks.to_vec(),
        specs_found: specs.found.clone(),
        pins: specs.pins.clone(),
    }
}

/// Accepts the result of a plan or of a merge slice. The plan of a workstream brings its tasks in the same commit.
pub fn accept(ctx: &Context, id: &TaskId) -> Result<(ResultAccepted, u64)> {
    let shown = super::results::show(ctx, id)?;
    let mut verb = super::results::accepting(&shown)?;
    let board = ctx.read(&Needs::task(id))?.board;
    if board.planned_by(id).is_some() {
        (verb.tasks, verb.specs_found, verb.pins) = tasks_for(ctx, &board, id)?;
    }
    Ok(ctx.commit(verb)?.done())
}

/// The tasks of a plan that a planner or a person accepts; a plan with errors is refused with them.
fn tasks_for(ctx: &Context, board: &Board, id: &TaskId) -> Result<(Vec<NewTask>, Vec<TaskId>, Vec<SpecPin>)> {
    match plan_of(ctx, board, id)?.1 {
        Plan::Good { tasks, specs: Specs { found, pins } } => Ok((tasks, found, pins)),
        Plan::Bad(findings) => {
            Err(failure!(Code::Result, "the plan `{id}` cannot be accepted: {}", findings.join("; "))
                .hint(format!("send it back: `liza result reject {id} --reason \"…\" --finding \"…\"`"))
                .detail("findings", findings))
        }
    }
}

/// The run decides about a plan: its tasks come to the board, or it goes back with what is wrong.
pub fn decide(ctx: &Context, id: &TaskId) -> Result<Decided> {
    let board = ctx.read(&Needs::task(id))?.board;
    let (result, plan) = plan_of(ctx, &board, id)?;
    crash::point("plan.read");
    match plan {
        Plan::Good { tasks, specs } => {
            let done = ctx.commit_as_liza(accepting(id, &result, &tasks, &specs))?.outcome;
            Ok(Decided::Accepted { task: id.clone(), tasks: done.tasks })
        }
        Plan::Bad(mut findings) => {
            findings.truncate(MOST_FINDINGS);
            let reason = format!("The plan has {}", plural(findings.len(), "error"));
            // What is wrong names the rejection, so that another fault is another reason.
            let reason = format!("{reason}: {}", findings.join("; "));
            let reject = RejectResult {
                task: id.clone(),
                digest: result.digest,
                reason: clipped(&reason, 2000).into_owned(),
                findings: findings.clone(),
            };
            ctx.commit_as_liza(reject)?;
            Ok(Decided::SentBack { task: id.clone(), findings })
        }
    }
}

/// Adds the task of an auditor.
pub fn ask_auditor(ctx: &Context, board: &Board, round: u32) -> Result<TaskId> {
    let task = audit::audit_task(board, round);
    let id = task.id.clone();
    let specs = ctx.pin_specs(std::slice::from_ref(&task))?;
    ctx.commit_as_liza(AddTasks::one(task, true, specs))?;
    Ok(id)
}

/// Puts what an auditor said on record, with the probes it asks for.
pub fn record_audit(ctx: &Context, id: &TaskId) -> Result<Audited> {
    let board = ctx.read(&Needs::task(id))?.board;
    let (_, value) = read(ctx, &board, id)?;
    let SliceResult::Audit(AuditResult { verdict, findings, evidence_requests, .. }) = value else {
        return Err(failure!(Code::Result, "`{id}` is no audit"));
    };
    let wanted = verdict == crate::board::route::AuditVerdict::NeedsEvidence;
    let probes = if wanted { audit::probes(&board, id, &evidence_requests) } else { Vec::new() };
    let probes = match probes.is_empty() {
        true => None,
        false => {
            let specs = ctx.pin_specs(&probes)?;
            Some(AddTasks::several(probes, true, specs))
        }
    };
    let attempt = board.task(id).and_then(|task| task.body().attempt());
    let head = attempt.and_then(|attempt| attempt.handout.as_ref()).map(|handout| handout.head.clone());
    let record = RecordAudit { task: id.clone(), verdict, findings, evidence_requests, head, probes };
    Ok(ctx.commit_as_liza(record)?.outcome)
}
