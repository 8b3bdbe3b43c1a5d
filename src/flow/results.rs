//! Results of tasks that deliver JSON: handed in, read, accepted and sent back.

use super::prelude::*;
use super::prepared::{is_not_work, prepared_for};
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
pub fn invalid(task: &Task, problems: &[Problem]) -> Failure {
    let schema = crate::director::results::schema_of(&task.role).unwrap_or_default();
    let schema = format!("`liza schema {}` shows what is expected", crate::director::schema::name_of(schema));
    let task = &task.id;
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
    let board = &snapshot.board;
    hand_in(ctx, board, task, epoch, bytes).map_err(|failure| {
        let Some(kept) = keep_refused(ctx, task, bytes) else { return failure };
        let where_it_is = format!("the refused result is kept in {}", kept.display());
        let hint = failure.hint.iter().cloned().chain([where_it_is]).collect::<Vec<_>>().join("; ");
        failure.hint(hint).detail("kept", kept.display().to_string())
    })
}

fn hand_in(
    ctx: &Context,
    board: &Board,
    task: &Task,
    epoch: Option<u64>,
    bytes: &[u8],
) -> Result<(ResultSubmitted, u64)> {
    let id = &task.id;
    let result = read_for(task, bytes).map_err(|problems| invalid(task, &problems))?;
    let common = result.common();
    let mut verb = SubmitResult {
        task: id.clone(),
        epoch,
        status: common.status,
        summary: common.summary.to_owned(),
        blocked_reason: common.blocked_reason.map(str::to_owned),
        evidence: common.evidence.to_vec(),
        digest: crate::director::digest(bytes),
        found: unchanged(ctx, board, task)?,
    };
    ctx.ask_early(board, &verb, |call| verb.check(board, call))?;
    verb.digest = ctx.store.stage_result(bytes)?;
    crash::point("result.staged");
    let (done, revision) = ctx.commit(verb)?.done();
    crash::point("result.committed");
    // The board names the digest, and the bytes are there under it: a name that cannot be given now is no loss.
    if let Err(error) = ctx.store.publish_result(id, done.epoch, &done.digest) {
        ctx.narrate(format!("the result of {id} keeps its temporary name: {error}"));
    }
    Ok((done, revision))
}

/// What was refused stays beside the run, for people; where, if it could be written.
pub fn keep_refused(ctx: &Context, task: &Task, bytes: &[u8]) -> Option<PathBuf> {
    let dir = ctx.machine.round(&task.id, task.epoch, task.iteration);
    let kept = (1..100).map(|number| dir.join(format!("refused-result-{number}.txt")));
    let path = kept.into_iter().find(|path| !path.exists())?;
    crate::store::files::make_private_dirs(&dir).ok()?;
    let kept = &bytes[..bytes.len().min(LONGEST_KEPT)];
    crate::store::files::replace_disposable(&path, kept).ok().map(|_| path)
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
        if is_not_work(prepared, &found) {
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
    read_for(&shown.task, &shown.bytes).map_err(|problems| invalid(&shown.task, &problems))?;
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
