//! Checkpoint and submit: the two moments at which liza itself examines the worktree.

use super::attempt::handout;
use super::branches::no_unnamed_repositories;
use super::gates::{self, Question};
use super::prelude::*;
use super::prepared::{is_prepared, not_work, prepared_for};
use super::{evidence, shell};
use crate::board::any_overlap;
use crate::board::task::Kind;

pub fn checkpoint(ctx: &Context, task: &TaskId, mut checkpoint: Checkpoint) -> Result<(Checkpointed, u64)> {
    let snapshot = ctx.read(&Needs::task(task))?;
    let (path, _) = worktree_of(ctx, &snapshot.board, task)?;
    let body = snapshot.board.task(task).map(|task| task.body());
    if let Some(former) = body.and_then(current_checkpoint) {
        goes_on(&mut checkpoint, former);
    }
    let found = handout(&path, &not_work(&snapshot.board, task))?;
    let tests = match snapshot.board.task(task) {
        Some(task) if task.kind == Kind::Code => test_files(ctx, &snapshot.board, task, &checkpoint, &found)?,
        _ => TestFiles::default(),
    };
    let epoch = ctx.epoch_of(task);
    let write =
        WriteCheckpoint { task: task.clone(), epoch, checkpoint, found, tests, edition: Edition::NOW };
    let hint = |uncommitted| write.hint_to_keep_the_work(&snapshot.board, uncommitted);
    let late = (hint(false), hint(true));
    let committed =
        ctx.commit(write).map_err(|failure| match (failure.code == Code::CheckpointLate, late) {
            (true, (Some(clean), Some(dirty))) => failure.hint(if is_clean(&path) { clean } else { dirty }),
            _ => failure,
        })?;
    Ok(committed.done())
}

/// A checkpoint that only names files adds them to the previous one of the same iteration.
fn goes_on(checkpoint: &mut Checkpoint, former: &Checkpoint) {
    let Checkpoint { intent, assumptions, risks, validation, files_to_modify } = checkpoint;
    let says_nothing = [&*intent, &*risks, &validation.command, &validation.expect]
        .iter()
        .all(|text| text.trim().is_empty());
    if !says_nothing || !assumptions.is_empty() || files_to_modify.is_empty() {
        return;
    }
    let added = std::mem::take(files_to_modify);
    *checkpoint = former.clone();
    for file in added {
        if !checkpoint.files_to_modify.contains(&file) {
            checkpoint.files_to_modify.push(file);
        }
    }
}

/// Which test files the checkpoint and the previous attempt cover. A pattern that can match test files counts.
fn test_files(
    ctx: &Context,
    board: &Board,
    task: &Task,
    checkpoint: &Checkpoint,
    found: &Handout,
) -> Result<TestFiles> {
    let config = ctx.project_config()?;
    let may_be_test = |file: &String| {
        PathPattern::new(file).is_ok_and(|pattern| any_overlap(&[pattern], &config.tests).is_some())
    };
    let former: Vec<&String> = checkpoints_of_attempt(task.body())
        .into_iter()
        .flat_map(|checkpoint| &checkpoint.files_to_modify)
        .collect();
    let (announced, rest): (Vec<&String>, Vec<&String>) =
        checkpoint.files_to_modify.iter().partition(|file| may_be_test(file));
    let others: Vec<String> = rest.into_iter().filter(|file| !former.contains(file)).cloned().collect();
    let announced_before = former.iter().any(|file| may_be_test(file));
    // Git is asked only if it matters: nothing is announced, or the work has begun.
    let handed_out = task.body().attempt().and_then(|attempt| attempt.handout.as_ref());
    let decides = announced.is_empty() && !announced_before || handed_out != Some(found);
    let committed = decides && {
        let query = ctx.query()?;
        let integration = integration_head(ctx, board)?;
        let base = query.merge_base(&integration, &found.head)?.unwrap_or(integration);
        let changed = query.changed_paths(&base, &found.head)?;
        let kept = changed.iter().filter(|change| change.status != ChangeStatus::Deleted);
        !config.tests_among(kept.map(|change| change.path.as_str())).is_empty()
    };
    Ok(TestFiles { announced: announced.into_iter().cloned().collect(), others, announced_before, committed })
}

/// Whether everything in the worktree is committed. If git does not answer, it may not be.
fn is_clean(worktree: &Path) -> bool {
    content::status(worktree, Filters::Run).is_ok_and(|dirty| dirty.is_empty())
}

pub fn submit(ctx: &Context, task: &TaskId) -> Result<(Submitted, u64)> {
    // A repeated request is answered before any command runs.
    if let Some(answer) = ctx.answered()? {
        return Ok(answer);
    }
    let snapshot = ctx.read(&Needs::task(task))?;
    ctx.integration_in_place(&snapshot.board)?;
    let found = match worktree_of(ctx, &snapshot.board, task) {
        Ok((path, _)) => Some((evidence::collect(ctx, &snapshot.board, task, &path)?, path)),
        // Without a worktree the rule itself reports what is wrong with the task.
        Err(failure) => match snapshot.board.task(task) {
            Some(known) if !known.body().attempts.is_empty() => return Err(failure),
            _ => None,
        },
    };
    let Some((before, path)) = found else { return Err(nothing_to_submit(ctx, task)) };
    let first = &before.evidence;
    let mut submit = Submit {
        task: task.clone(),
        epoch: ctx.epoch_of(task),
        evidence: first.clone(),
        edition: Edition::NOW,
    };
    // All checks that need no command.
    ctx.ask_early(&snapshot.board, &submit, |call| submit.check_without_validation(&snapshot.board, call))?;
    no_unnamed_repositories(ctx, &first.merge_base, &first.head)?;
    nothing_prepared(&snapshot.board, task, &first.files)?;
    let known = snapshot.board.task(task);
    let Some((known, plan)) = known.and_then(|task| Some((task, current_checkpoint(task.body())?))) else {
        return Err(failure!(Code::CheckpointMissing, "task `{task}` has no checkpoint"));
    };
    let (epoch, iteration) = (known.epoch, known.iteration);
    let log = ctx.machine.round(task, epoch, iteration).join("validation.log");
    let timeout = Duration::from_secs(snapshot.board.config().validation_timeout_seconds);
    ctx.narrate(format!("running the validation: {}", plan.validation.command));
    let ran = shell::run(&shell::Check {
        machine: &ctx.machine,
        command: &plan.validation.command,
        dir: &path,
        expect: &plan.validation.expect,
        timeout,
        log: &log,
    });
    if ran.interrupted {
        return Err(super::interruption::failure("while the validation ran; nothing was changed"));
    }
    crash::point("submit.validated");
    let green = ran.is_green();
    let gates = if green {
        let question = Question { task: Some(task), ..Question::new(Moment::Submit, &first.head) };
        Some(gates::judge(ctx, &question)?)
    } else {
        None
    };
    crash::point("submit.gated");
    // The command's changes to tracked files count, so the worktree is examined again.
    let mut after = evidence::collect(ctx, &snapshot.board, task, &path)?;
    after.leave_to_command(ctx, &before)?;
    submit.evidence = after.evidence;
    submit.evidence.gates = gates;
    if submit.evidence.head != first.head {
        return Err(failure!(Code::Commit, "the branch of `{task}` moved while its validation ran")
            .hint("submit again; nothing was changed"));
    }
    submit.evidence.validation = Some(Validation {
        command: plan.validation.command.clone(),
        expect: plan.validation.expect.clone(),
        exit: ran.exit,
        output_matched: ran.found,
        duration_ms: u64::try_from(ran.duration.as_millis()).unwrap_or(u64::MAX),
        log: log.strip_prefix(ctx.root()).unwrap_or(&log).display().to_string(),
        problem: ran.problem,
    });
    // Pinned before the board names it, so that git cannot collect the commit.
    let pinned = format!("refs/liza/submitted/{task}/{epoch}-{iteration}");
    refs::pin(&ctx.repo, &pinned, &submit.evidence.head)?;
    // git does not sync the agent's commits; once accepted, they must survive a power cut.
    ctx.sync()?;
    let byproducts = submit.evidence.byproducts.clone();
    let done = ctx.commit(submit)?.done();
    if !byproducts.is_empty() {
        ctx.narrate(format!("files that the validation made are not submitted: {}", list_words(&byproducts)));
    }
    if !after.ignored.is_empty() {
        let (count, some) = (after.ignored.len(), after.ignored[..after.ignored.len().min(10)].join(", "));
        ctx.narrate(format!(
            "ignored files in scope are not submitted ({count}): {some}; to add them: `git add -f`, then commit"
        ));
    }
    Ok(done)
}

/// Refuses commits of files that liza put into the worktree: copies such as `.env` are not the agent's work, and may
/// be secret.
fn nothing_prepared(board: &Board, task: &TaskId, files: &[String]) -> Result<()> {
    let prepared = prepared_for(board, task);
    let found: Vec<String> = files.iter().filter(|file| is_prepared(prepared, file)).cloned().collect();
    if found.is_empty() {
        return Ok(());
    }
    Err(failure!(Code::Scope, "files that liza prepared are committed: {}", found.join(", "))
        .hint(
            "remove them from the commits: git rm --cached FILE, then git commit --amend; they stay on disk",
        )
        .detail("paths", found))
}

/// Whether the checkpoint's validation passes in the present worktree. Submits and records nothing.
pub fn check_validation(ctx: &Context, task: &TaskId) -> Result<shell::Ran> {
    let snapshot = ctx.read(&Needs::task(task))?;
    let (path, _) = worktree_of(ctx, &snapshot.board, task)?;
    let known = snapshot.board.task(task);
    let Some((known, plan)) = known.and_then(|task| Some((task, current_checkpoint(task.body())?))) else {
        return Err(failure!(Code::CheckpointMissing, "task `{task}` has no checkpoint"));
    };
    let log = ctx.machine.round(task, known.epoch, known.iteration).join("validation-check.log");
    let timeout = Duration::from_secs(snapshot.board.config().validation_timeout_seconds);
    Ok(shell::run(&shell::Check {
        machine: &ctx.machine,
        command: &plan.validation.command,
        dir: &path,
        expect: &plan.validation.expect,
        timeout,
        log: &log,
    }))
}

/// Makes the rule refuse, with the input it would have got.
fn nothing_to_submit(ctx: &Context, task: &TaskId) -> Failure {
    let head = match ctx.query().and_then(|query| query.head_commit().map_err(Failure::from)) {
        Ok(Some(head)) => head,
        Ok(None) => return Failure::new(ErrorCode::GitFailed, "the repository has no commit"),
        Err(failure) => return failure,
    };
    let evidence = Evidence {
        head: head.clone(),
        tree: None,
        merge_base: head,
        contains_base: true,
        dirty: Vec::new(),
        files: Vec::new(),
        touched: Vec::new(),
        tests: Vec::new(),
        protected: Vec::new(),
        authors: Vec::new(),
        validation: None,
        gates: None,
        code: Vec::new(),
        byproducts: Vec::new(),
    };
    let submit = Submit { task: task.clone(), epoch: ctx.epoch_of(task), evidence, edition: Edition::NOW };
    match ctx.commit(submit) {
        Err(failure) => failure,
        Ok(_) => Failure::new(ErrorCode::BugSubmit, "a task without a worktree was submitted"),
    }
}
