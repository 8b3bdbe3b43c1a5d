//! The dispatch: the message that starts an agent on a slice.

use super::prelude::*;
use crate::board::slice::SliceKind;
use crate::director::dispatch::{DispatchSchema, Mode, PreviousAttempt};
use crate::director::results::schema_of;
use crate::director::{AgentType, Problem, TaskContract, TaskDispatch};
use crate::text::ssot_id;

/// The agent that gets the slice, and its prompt.
pub struct Addressee<'a> {
    pub provider: &'a str,
    pub model: Option<&'a str>,
    /// Whether its provider is the role's fallback.
    pub fallback: bool,
    pub instructions: &'a str,
}

/// The scenario of a task, from its route or else its title. The body must be loaded.
pub fn scenario_of(task: &Task) -> String {
    task.body().ssot_id.clone().unwrap_or_else(|| ssot_id(task.title()))
}

/// The timebox of a slice in minutes: its own, or the most that its kind should take.
pub fn timebox_of(task: &Task) -> u32 {
    let slice = task.slice_kind.unwrap_or_else(|| SliceKind::of_role(&task.role));
    task.body().timebox_minutes.unwrap_or_else(|| *slice.band(&task.role).end())
}

/// The dispatch of a task, or every rule it breaks.
pub fn build(
    ctx: &Context,
    board: &Board,
    task: &Task,
    to: &Addressee<'_>,
) -> Result<std::result::Result<TaskDispatch, Vec<Problem>>> {
    let body = task.body();
    let Some(agent_type) = AgentType::of(&task.role, to.fallback) else {
        return Ok(Err(vec![Problem::new("agent_type", format!("the role {} takes no slices", task.role))]));
    };
    let mut goal = body.title.clone();
    if !body.description.trim().is_empty() {
        goal.push_str("\n\n");
        goal.push_str(body.description.trim());
    }
    let previous = body.previous.as_ref();
    let dispatch = TaskDispatch {
        schema: DispatchSchema::V1,
        ssot_id: scenario_of(task),
        run_id: board.rest.run.as_ref().map_or("by-hand".to_owned(), |run| format!("run-{}", run.time)),
        slice_id: task.id.clone(),
        workstream: task.workstream.clone(),
        agent_type,
        slice_kind: task.slice_kind.unwrap_or_else(|| SliceKind::of_role(&task.role)),
        mode: board.route_of_goal(board.goal_of(task)).map_or(Mode::Write, |route| route.mode),
        timebox_minutes: timebox_of(task),
        ownership_paths: task.owns.clone(),
        allowed_paths: body.scope.inside.clone(),
        forbidden_paths: body.scope.outside.clone(),
        depends_on: task.depends_on.clone(),
        inputs: inputs(ctx, board, task)?,
        task_contract: TaskContract {
            goal,
            acceptance: body.done_when.clone(),
            constraints: body.checklist.clone(),
            spec_ref: body.spec_ref.clone(),
            validation: None,
        },
        provider: to.provider.to_owned(),
        model: to.model.map(str::to_owned),
        instructions: to.instructions.to_owned(),
        result_schema: schema_of(&task.role).unwrap_or_default().to_owned(),
        attempt: body.dispatch_attempt(),
        previous: previous.map(|previous| PreviousAttempt {
            reason: previous.reason.clone(),
            evidence: previous.evidence.clone(),
        }),
    };
    let problems = dispatch.problems();
    Ok(if problems.is_empty() { Ok(dispatch) } else { Err(problems) })
}

/// The results of the task's dependencies, by task.
fn inputs(ctx: &Context, board: &Board, task: &Task) -> Result<BTreeMap<TaskId, Value>> {
    let mut found = BTreeMap::new();
    for id in &task.depends_on {
        let archived = if board.task(id).is_none() { ctx.store.archived_beside(board, id)? } else { None };
        let Some(other) = board.task(id).or(archived.as_ref()) else { continue };
        let Some(result) = other.result.as_ref().filter(|_| other.stands_on_result()) else { continue };
        let value = ctx.store.result_bytes(id, result).and_then(|bytes| serde_json::from_slice(&bytes).ok());
        found.insert(id.clone(), value.unwrap_or(Value::Null));
    }
    Ok(found)
}

/// The last dispatch of a task: its file and its text.
pub fn last_sent(ctx: &Context, task: &TaskId) -> Option<(PathBuf, String)> {
    let files = ctx.machine.rounds(task).into_iter().flat_map(|dir| crate::store::files::paths_in(&dir));
    let sent = files.filter(|path| path.to_string_lossy().ends_with(".dispatch.json"));
    let age = |path: &PathBuf| fs::metadata(path).and_then(|meta| meta.modified()).ok();
    let last = sent.max_by_key(age)?;
    let (bytes, _) = read_whole(&last, 4 * 1024 * 1024).ok()?;
    Some((last, String::from_utf8_lossy(&bytes).into_owned()))
}
