//! Reviewing: a sealed checkout of exactly the submission, and verdicts that check the branch again.

use super::drift;
use super::gates::{self, Question};
use super::prelude::*;
use crate::git::reviewed;

/// A claimed review, and its checkout.
#[derive(Debug, Serialize)]
pub struct Review {
    #[serde(flatten)]
    pub started: ReviewStarted,
    #[serde(serialize_with = "crate::text::serialize_path")]
    pub checkout: PathBuf,
}

/// Claims the review and makes the checkout. Repeating it gives the same checkout again.
pub fn claim(ctx: &Context, task: &TaskId) -> Result<(Review, u64)> {
    let board = ctx.read(&Needs::Nothing)?.board;
    ctx.integration_in_place(&board)?;
    ctx.check_disk()?;
    let started = ctx.commit(StartReview { task: task.clone(), caps: ctx.caps(&board)? })?;
    crash::point("review.started");
    let Some(commit) = started
        .board
        .task(task)
        .and_then(|task| task.review_commit.clone())
        .or_else(|| started.outcome.review_commit.clone())
        // A merge slice without changes: the review is about the present integration.
        .or_else(|| {
            let on_result = started.board.task(task).is_some_and(|task| task.stands_on_result());
            integration_head(ctx, &started.board).ok().filter(|_| on_result)
        })
    else {
        return Err(Failure::new(ErrorCode::BugReview, "the task under review names no commit"));
    };
    let checkout = make_checkout(ctx, task, &commit)?;
    let (started, revision) = started.done();
    Ok((Review { started, checkout }, revision))
}

/// The review checkout of a task, at exactly this commit and clean.
pub fn make_checkout(ctx: &Context, task: &TaskId, commit: &CommitId) -> Result<PathBuf> {
    let dir = ctx.machine.worktrees().join(".review");
    let log = ctx.machine.runs_of(task).join("review-setup.log");
    let owner = format!("review of {task}");
    super::worktrees::detached_checkout(ctx, &dir, task.as_str(), commit, &owner, Some(&log))
}

#[derive(Debug, Clone, Copy)]
pub enum VerdictKind {
    Approve,
    Reject,
    Discuss,
}

/// The result of a verdict.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Judged {
    Approved(Approved),
    Cleared(Cleared),
    Rejected(Rejected),
    Discussed(Blocked),
}

pub fn verdict(
    ctx: &Context,
    kind: VerdictKind,
    task: &TaskId,
    commit: CommitId,
    feedback: Feedback,
    allow_protected: bool,
) -> Result<(Judged, u64)> {
    let snapshot = ctx.read(&Needs::task(task))?;
    ctx.integration_in_place(&snapshot.board)?;
    let branch_head = head_of(ctx, &snapshot.board, task)?;
    let found = snapshot.board.task(task).map(|task| task.head());
    let red_team = found.and_then(|head| head.judged_by()) == Some(Role::red_team());
    let config = ctx.project_config()?;
    let quorum = found.map_or(1, |head| config.review.quorum.of(head.risk));
    let of_risk = found.map(|head| config.checklists.of(head.risk).to_vec()).unwrap_or_default();
    shows_the_commit(ctx, &snapshot.board, task, &commit)?;
    let (id, seen) = (task.clone(), commit.clone());
    let about = (&id, &seen);
    let task = task.clone();
    let max_seconds = Some(config.review.max_seconds).filter(|max| *max > 0);
    let red_team_from = config.red_team.map(|red_team| red_team.from);
    let drift = drift::since_reviews(ctx, &snapshot.board, &task, &commit, &feedback)?;
    match kind {
        VerdictKind::Approve if red_team => {
            let (outcome, revision) =
                record_verdict(ctx, about, ClearByRedTeam { task, commit, branch_head, feedback })?;
            Ok((Judged::Cleared(outcome), revision))
        }
        VerdictKind::Reject if red_team => {
            let reject = RejectByRedTeam {
                task,
                commit,
                branch_head,
                feedback,
                max_seconds,
                line_ranges: true,
                edition: Edition::NOW,
            };
            let (outcome, revision) = record_verdict(ctx, about, reject)?;
            Ok((Judged::Rejected(Rejected::SentBack(outcome)), revision))
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
                edition: Edition::NOW,
            };
            if let Some((outcome, revision)) = ctx.answered()? {
                return Ok((Judged::Approved(outcome), revision));
            }
            // Checks that need no gate come first: a reviewer should not wait for tests to learn that another agent
            // holds the review.
            let without_gates = |call: &Call| approve.check_without_gates(&snapshot.board, call);
            ctx.ask_early(&snapshot.board, &approve, without_gates)?;
            let question =
                Question { task: Some(&approve.task), ..Question::new(Moment::Approve, &approve.commit) };
            approve.gates = Some(gates::judge(ctx, &question)?);
            // The gates may have taken long, and the branch may have moved meanwhile.
            approve.branch_head = head_of(ctx, &snapshot.board, &approve.task)?;
            let (outcome, revision) = record_verdict(ctx, about, approve)?;
            Ok((Judged::Approved(outcome), revision))
        }
        VerdictKind::Reject => {
            let mut reject = Reject {
                task,
                commit,
                branch_head,
                feedback,
                of_risk,
                drift,
                max_seconds,
                acceptance: None,
                line_ranges: true,
                edition: Edition::NOW,
            };
            if config.review.accept_minor && is_taste(ctx, &snapshot.board, &reject)? {
                if let Some((outcome, revision)) = ctx.answered()? {
                    return Ok((Judged::Rejected(outcome), revision));
                }
                // Whether it counts as an approval depends on the conditions of an approval.
                let question =
                    Question { task: Some(&reject.task), ..Question::new(Moment::Approve, &reject.commit) };
                // If the gates cannot run, it stays an ordinary rejection: it must not be lost.
                reject.acceptance = gates::judge(ctx, &question).ok().map(|gates| Acceptance {
                    gates,
                    red_team_from,
                    quorum,
                });
                reject.branch_head = head_of(ctx, &snapshot.board, &reject.task)?;
            }
            let (outcome, revision) = record_verdict(ctx, about, reject)?;
            Ok((Judged::Rejected(outcome), revision))
        }
        VerdictKind::Discuss => {
            let discuss = Discuss { task, commit, branch_head, feedback, of_risk, drift };
            let (outcome, revision) = record_verdict(ctx, about, discuss)?;
            Ok((Judged::Discussed(outcome), revision))
        }
    }
}

/// Records a verdict and removes its checkout.
fn record_verdict<V: Verb + Into<Transition>>(
    ctx: &Context,
    (task, commit): (&TaskId, &CommitId),
    verdict: V,
) -> Result<(V::Outcome, u64)> {
    let committed = ctx.commit(verdict)?;
    crash::point("review.judged");
    super::tidy::after_review(ctx, &committed.board, task, Some(commit));
    Ok(committed.done())
}

/// Refuses a verdict if files of the review checkout differ from the commit.
fn shows_the_commit(ctx: &Context, board: &Board, task: &TaskId, commit: &CommitId) -> Result<()> {
    let known = board.task(task).filter(|task| task.review_commit.as_ref() == Some(commit));
    let checkout = ctx.machine.worktrees().join(".review").join(task.as_str());
    let (Some(known), true) = (known, checkout.join(".git").symlink_metadata().is_ok()) else {
        return Ok(());
    };
    let query = ctx.query()?;
    let read =
        known.body().submission.iter().flat_map(|submission| submission.files.iter().cloned()).collect();
    let changed = reviewed::changed_files(query, &checkout, commit, &read)?;
    if changed.is_empty() {
        return Ok(());
    }
    let what = format!("files of the review checkout differ from {}: {}", commit.short(), changed.join(", "));
    Err(failure!(Code::WorktreeDirty, "{what}")
        .hint(format!("a verdict is about the commit; `liza review claim {task}` makes the checkout again; review it again"))
        .detail("paths", changed))
}

/// Whether a permitted rejection leaves only minor issues for the second time.
fn is_taste(ctx: &Context, board: &Board, reject: &Reject) -> Result<bool> {
    ctx.with_call(board, |call| reject.check(board, call).is_ok() && reject.is_taste(board, call))
}

/// Runs every gate that an approval needs on the commit under review, and records the results on the board.
pub fn ask_gates(ctx: &Context, task: &TaskId) -> Result<()> {
    let snapshot = ctx.read(&Needs::Nothing)?;
    let commit = snapshot.board.task(task).and_then(|task| task.review_commit.clone());
    let (Some(commit), false) = (commit, ctx.project_config()?.gates.is_empty()) else { return Ok(()) };
    let gates = gates::judge(ctx, &Question { task: Some(task), ..Question::new(Moment::Approve, &commit) })?;
    ctx.commit_step(RecordGates { task: task.clone(), gates }).map(|_| ())
}
