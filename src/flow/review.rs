//! Reviewing: a sealed checkout of exactly what was submitted, and verdicts that look at the branch once more.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use crate::board::gates::Moment;
use crate::board::review::Feedback;
use crate::board::rules::{
    Acceptance, Approve, ClearByRedTeam, Discuss, RecordGates, Reject, RejectByRedTeam, StartReview,
};
use crate::board::transition::Rule;
use crate::board::{Board, CommitId, Needs, Role, TaskId, Transition};
use crate::git::{Worktrees, checkouts, content};
use crate::store::lock::SideLock;

use super::context::Context;
use super::drift;
use super::failure::Failure;
use super::gates::{self, Question};

const WORKTREE_PATIENCE: Duration = Duration::from_secs(300);

/// Takes the review and makes the checkout. Repeating it gives the same checkout again.
pub fn claim(ctx: &Context, task: &TaskId) -> Result<(Value, u64), Failure> {
    let board = ctx.read(&Needs::Nothing)?.board;
    ctx.integration_in_place(&board)?;
    ctx.check_disk()?;
    let started = ctx.commit(StartReview { task: task.clone(), caps: ctx.caps(&board)? })?;
    crate::host::crash::point("review.started");
    let Some(commit) = started
        .board
        .task(task)
        .and_then(|task| task.review_commit.clone())
        .or_else(|| started.outcome["review_commit"].as_str().and_then(|text| CommitId::new(text).ok()))
    else {
        return Err(Failure::new("bug.review", "the task under review names no commit"));
    };
    let checkout = make_checkout(ctx, task, &commit)?;
    let mut data = started.outcome;
    data["checkout"] = json!(checkout);
    Ok((data, started.board.revision))
}

/// The review checkout of a task, at exactly this commit and clean.
pub fn make_checkout(ctx: &Context, task: &TaskId, commit: &CommitId) -> Result<PathBuf, Failure> {
    let _one_at_a_time = SideLock::acquire(&ctx.store.layout().worktree_lock(), WORKTREE_PATIENCE)?;
    let home = ctx.worktrees_dir();
    let path = home.join(".review").join(task.as_str());
    let sound = checkouts::check_sound(&ctx.repo, &path).is_ok()
        && content::head(&path).is_ok_and(|head| &head == commit)
        && content::status(&path, content::Filters::Run).is_ok_and(|dirty| dirty.is_empty());
    if sound {
        return Ok(path);
    }
    let trash = ctx.store.layout().trash();
    let worktrees = Worktrees::new(&ctx.repo, &home, &trash);
    crate::store::files::make_private_dirs(&home.join(".review"))?;
    worktrees.remove_to_trash(&path)?;
    worktrees.add_detached(&path, commit, &format!("review of {task}"))?;
    Ok(path)
}

#[derive(Debug, Clone, Copy)]
pub enum VerdictKind {
    Approve,
    Reject,
    Discuss,
}

pub fn verdict(
    ctx: &Context,
    kind: VerdictKind,
    task: &TaskId,
    commit: CommitId,
    feedback: Feedback,
    allow_protected: bool,
) -> Result<(Value, u64), Failure> {
    let snapshot = ctx.read(&Needs::task(task))?;
    ctx.integration_in_place(&snapshot.board)?;
    let branch_head = head_of(ctx, &snapshot.board, task)?;
    let found = snapshot.board.task(task).map(|task| task.head());
    let red_team = found.and_then(|head| head.judged_by()) == Some(Role::red_team());
    let config = ctx.project_config()?;
    let quorum = found.map_or(1, |head| config.review.quorum.of(head.risk));
    let of_risk = found.map(|head| config.checklists.of(head.risk).to_vec()).unwrap_or_default();
    let task = task.clone();
    let max_seconds = Some(config.review.max_seconds).filter(|max| *max > 0);
    let red_team_from = config.red_team.map(|red_team| red_team.from);
    let drift = drift::since_reviews(ctx, &snapshot.board, &task, &commit, &feedback)?;
    let what: Transition = match kind {
        VerdictKind::Approve if red_team => ClearByRedTeam { task, commit, branch_head, feedback }.into(),
        VerdictKind::Reject if red_team => {
            RejectByRedTeam { task, commit, branch_head, feedback, max_seconds }.into()
        }
        VerdictKind::Approve => {
            let mut approve = Approve {
                task,
                commit,
                branch_head,
                feedback,
                allow_protected,
                gates: None,
                of_risk,
                red_team_from,
                quorum,
                drift,
            };
            if let Some(answer) = ctx.answered()? {
                return Ok(answer);
            }
            without_gates(ctx, &snapshot.board, &approve)?;
            let question =
                Question { task: Some(&approve.task), ..Question::new(Moment::Approve, &approve.commit) };
            approve.gates = Some(gates::judge(ctx, &question)?);
            // The gates took their time, and the branch may have moved meanwhile.
            approve.branch_head = head_of(ctx, &snapshot.board, &approve.task)?;
            approve.into()
        }
        VerdictKind::Reject => {
            let mut reject =
                Reject { task, commit, branch_head, feedback, of_risk, drift, max_seconds, acceptance: None };
            if config.review.accept_minor && is_taste(ctx, &snapshot.board, &reject)? {
                if let Some(answer) = ctx.answered()? {
                    return Ok(answer);
                }
                // Whether it amounts to an approval depends on what an approval depends on.
                let question =
                    Question { task: Some(&reject.task), ..Question::new(Moment::Approve, &reject.commit) };
                // Where they cannot be asked it is a rejection like any: it must not be lost for that.
                reject.acceptance = gates::judge(ctx, &question).ok().map(|gates| Acceptance {
                    gates,
                    red_team_from,
                    quorum,
                });
                reject.branch_head = head_of(ctx, &snapshot.board, &reject.task)?;
            }
            reject.into()
        }
        VerdictKind::Discuss => Discuss { task, commit, branch_head, feedback, of_risk, drift }.into(),
    };
    let committed = ctx.commit(what)?;
    Ok((committed.outcome, committed.board.revision))
}

/// Whether a rejection that may be given at all leaves only small issues for the second time.
fn is_taste(ctx: &Context, board: &Board, reject: &Reject) -> Result<bool, Failure> {
    let actor = board.identify(&ctx.credentials)?;
    let world = crate::board::World { switches: ctx.store.switches()?, ..Default::default() };
    let call = crate::board::Call::new(actor, &ctx.now, &world);
    Ok(reject.check(board, &call).is_ok() && reject.is_taste(board, &call))
}

/// Where the branch of the task is now.
fn head_of(ctx: &Context, board: &Board, task: &TaskId) -> Result<Option<CommitId>, Failure> {
    match board.task(task).and_then(|task| task.body().attempt()) {
        Some(attempt) => Ok(ctx.query()?.head_of_branch(&attempt.branch)?),
        None => Ok(None),
    }
}

/// Asks every gate that an approval needs about what is under review, and puts its word on the board.
pub fn ask_gates(ctx: &Context, task: &TaskId) -> Result<(), Failure> {
    let snapshot = ctx.read(&Needs::Nothing)?;
    let commit = snapshot.board.task(task).and_then(|task| task.review_commit.clone());
    let (Some(commit), false) = (commit, ctx.project_config()?.gates.is_empty()) else { return Ok(()) };
    let gates = gates::judge(ctx, &Question { task: Some(task), ..Question::new(Moment::Approve, &commit) })?;
    ctx.commit_step(RecordGates { task: task.clone(), gates }).map(|_| ())
}

/// What needs no gate is asked first: nobody should wait for tests to hear that the review is somebody else's. A refusal
/// that is to be put on record is asked for once more inside a commit.
fn without_gates(ctx: &Context, board: &Board, approve: &Approve) -> Result<(), Failure> {
    let actor = board.identify(&ctx.credentials)?;
    let world = crate::board::World { switches: ctx.store.switches()?, ..Default::default() };
    let call = crate::board::Call::new(actor, &ctx.now, &world);
    match approve.check_without_gates(board, &call) {
        Ok(()) => Ok(()),
        Err(refusal) if refusal.code.is_tier0() => ctx.commit(approve.clone()).map(|_| ()),
        Err(refusal) => Err(refusal.into()),
    }
}
