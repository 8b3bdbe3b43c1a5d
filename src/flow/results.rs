//! Results of tasks that deliver JSON: handed in, read, accepted and sent back.

use super::prelude::*;
use super::prepared::{is_prepared, prepared_for};
use crate::board::result::TaskResult;
use crate::director::reading::{Shape, listed};
use crate::director::{Expected, Problem, SliceResult, read_result};
use crate::git::DirtyKind;

/// So much of a refused result is kept.
const LONGEST_KEPT: usize = 4 * 1024 * 1024;

/// The result that these bytes are, for this task.
pub fn read_for(task: &Task, bytes: &[u8]) -> std::result::Result<SliceResult, Vec<Problem>> {
    let scenario = super::dispatch::scenario_of(task);
    let expected = Expected {
        role: &task.role,
        slice_id: &task.id,
        ssot_id: Some(&scenario),
        shape: Shape::of(task.head()),
    };
    read_result(bytes, &expected)
}

/// What is wrong with a result, as an answer to its author.
pub fn invalid(task: &TaskId, problems: &[Problem]) -> Failure {
    let schema = "`liza schema worker-result-operator` (or -supervisor, -coder, review-result-auditor) shows what is expected";
    let first = problems.first().map(|problem| problem.field.clone()).unwrap_or_default();
    let all: Vec<String> = problems.iter().map(ToString::to_string).collect();
    failure!(Code::Result, "the result of `{task}` is not valid: {}", listed(problems))
        .hint(schema)
        .detail("field", first)
        .detail("problems", all)
}

/// Hands in the result of a task; the caller must hold it. A result that is refused is kept beside the run.
pub fn submit(
    ctx: &Context,
    id: &TaskId,
    epoch: Option<u64>,
    bytes: &[u8],
) -> Result<(ResultSubmitted, u64)> {
    if let Some(answer) = ctx.answered()? {
        return Ok(answer);
    }
    let snapshot = ctx.read(&Needs::task(id))?;
    let Some(task) = snapshot.board.task(id) else {
        return Err(failure!(Code::UnknownTask, "there is no task `{id}` on this board")
            .hint(snapshot.board.hint_for_task(id)));
    };
    let result = match read_for(task, bytes) {
        Ok(result) => result,
        Err(problems) => {
            keep_refused(ctx, task, bytes);
            return Err(invalid(id, &problems));
        }
    };
    let common = result.common();
    let mut verb = SubmitResult {
        task: id.clone(),
        epoch,
        status: common.status,
        summary: common.summary.to_owned(),
        blocked_reason: common.blocked_reason.map(str::to_owned),
        evidence: common.evidence.to_vec(),
        digest: crate::director::digest(bytes),
        found: unchanged(ctx, &snapshot.board, task)?,
    };
    if let Err(failure) = ctx.ask_early(&snapshot.board, &verb, |call| verb.check(&snapshot.board, call)) {
        keep_refused(ctx, task, bytes);
        return Err(failure);
    }
    verb.digest = ctx.store.stage_result(bytes)?;
    crash::point("result.staged");
    let (done, revision) = match ctx.commit(verb) {
        Ok(committed) => committed.done(),
        Err(failure) => {
            keep_refused(ctx, task, bytes);
            return Err(failure);
        }
    };
    crash::point("result.committed");
    // The board names the digest, and the bytes are there under it: a name that cannot be given now is no loss.
    if let Err(error) = ctx.store.publish_result(id, done.epoch, &done.digest) {
        ctx.narrate(format!("the result of {id} keeps its temporary name: {error}"));
    }
    Ok((done, revision))
}

/// What was refused stays beside the run, for people.
pub fn keep_refused(ctx: &Context, task: &Task, bytes: &[u8]) {
    let dir = ctx.machine.round(&task.id, task.epoch, task.iteration);
    let kept = (1..100).map(|number| dir.join(format!("refused-result-{number}.txt")));
    let Some(path) = kept.into_iter().find(|path| !path.exists()) else { return };
    if crate::store::files::make_private_dirs(ctx.machine.home(), &dir).is_ok() {
        let kept = &bytes[..bytes.len().min(LONGEST_KEPT)];
        let _ = crate::store::files::replace_disposable(&path, kept);
    }
}

/// What stands in the worktree of a task that changes no file.
fn unchanged(ctx: &Context, board: &Board, task: &Task) -> Result<Unchanged> {
    if task.body().attempts.is_empty() {
        // The rule itself says that no agent has claimed it.
        let head = integration_head(ctx, board)?;
        return Ok(Unchanged { head, changed: Vec::new(), untracked: Vec::new() });
    }
    let (path, _) = worktree_of(ctx, board, &task.id)?;
    let prepared = prepared_for(board, &task.id);
    let (mut changed, mut untracked) = (Vec::new(), Vec::new());
    for found in content::status(&path, Filters::Run)? {
        if is_prepared(prepared, &found.path) {
            continue;
        }
        if found.kind == DirtyKind::Untracked { untracked.push(found.path) } else { changed.push(found.path) }
    }
    // What an attempt before this one left there was there when it was handed out.
    if !changed.is_empty() {
        let handed_out = task.body().attempt().and_then(|attempt| attempt.handout.as_ref());
        if handed_out == Some(&super::attempt::handout(&path, prepared)?) {
            changed.clear();
        }
    }
    Ok(Unchanged { head: content::head(&path)?, changed, untracked })
}

/// A result as it stands on disk.
pub struct Shown {
    pub task: Task,
    pub result: TaskResult,
    pub bytes: Vec<u8>,
    pub revision: u64,
}

/// The last result of a task, on the board or archived.
pub fn show(ctx: &Context, id: &TaskId) -> Result<Shown> {
    let snapshot = ctx.read(&Needs::task(id))?;
    let archived = match snapshot.board.task(id) {
        Some(_) => None,
        None => ctx.store.archived_beside(&snapshot.board, id)?,
    };
    let Some(task) = snapshot.board.task(id).or(archived.as_ref()) else {
        return Err(
            failure!(Code::UnknownTask, "there is no task `{id}`").hint(snapshot.board.hint_for_task(id))
        );
    };
    let Some(result) = task.result.clone() else {
        return Err(failure!(
            Code::Result,
            "task `{id}` ({}, kind {}) has no result",
            task.status,
            task.kind.as_str()
        )
        .hint(format!("`liza task show {id}` shows where it stands")));
    };
    let bytes = ctx.store.result_bytes(id, &result).ok_or_else(|| {
        failure!(
            ErrorCode::BoardArchive,
            "the result of `{id}` is gone or changed: {}",
            ctx.store.result_file(id, result.epoch).display()
        )
        .hint("`liza doctor --fix` restores it from its copy below .git, if there is one")
    })?;
    Ok(Shown { task: task.clone(), result, bytes, revision: snapshot.board.revision })
}

/// The acceptance of this result. A plan brings its tasks in the same commit.
pub fn accepting(shown: &Shown) -> Result<AcceptResult> {
    let id = &shown.task.id;
    read_for(&shown.task, &shown.bytes).map_err(|problems| invalid(id, &problems))?;
    Ok(AcceptResult {
        task: id.clone(),
        digest: shown.result.digest.clone(),
        tasks: Vec::new(),
        specs_found: Vec::new(),
        pins: Vec::new(),
    })
}

/// Sends a result back to its author.
pub fn reject(
    ctx: &Context,
    id: &TaskId,
    reason: &str,
    findings: Vec<String>,
) -> Result<(ResultRejected, u64)> {
    let digest = show(ctx, id)?.result.digest;
    let verb = RejectResult { task: id.clone(), digest, reason: reason.to_owned(), findings };
    Ok(ctx.commit(verb)?.done())
}
