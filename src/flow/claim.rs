//! Claiming: intent under the lock, worktree outside it, outcome under the lock.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use crate::board::intent::{ClaimWork, Work};
use crate::board::rules::{BeginClaim, CancelClaim, FinishClaim, RecordSync, place_names};
use crate::board::task::Handout;
use crate::board::{Board, Call, CommitId, Needs, TaskId, Transition, World, permitted};
use crate::git::{self, Synced, Worktrees, content, refs};
use crate::host::crash;
use crate::store::lock::SideLock;

use super::context::Context;
use super::failure::Failure;

/// Making a worktree of a large repository takes its time; others wait that long.
const WORKTREE_PATIENCE: Duration = Duration::from_secs(300);

/// A claim that was made.
pub struct Claimed {
    pub data: Value,
    pub board: Board,
}

pub fn claim(ctx: &Context, task: &TaskId) -> Result<Claimed, Failure> {
    ctx.check_disk()?;
    let snapshot = ctx.read(&Needs::task(task))?;
    ctx.integration_in_place(&snapshot.board)?;
    let base = integration_head(ctx, &snapshot.board)?;
    let former_head = former_head(ctx, &snapshot.board, task)?;
    let worktree_lost =
        snapshot.board.task(task).and_then(|task| task.body().attempt()).is_some_and(|attempt| {
            git::checkouts::check_sound(&ctx.repo, &ctx.root().join(&attempt.worktree)).is_err()
        });
    let owner = crate::host::this_process();
    let epoch = snapshot.board.task(task).map_or(1, |task| task.epoch + 1);
    let begin = BeginClaim {
        worktree_lost,
        names_taken: names_taken(ctx, task, epoch)?,
        task: task.clone(),
        base: base.clone(),
        former_head,
        owner: owner.clone(),
        request: ctx.request.clone(),
        caps: ctx.caps(&snapshot.board)?,
    };
    // The request is answered when the worktree is there; a repeat of a finished claim ends here.
    let begun = ctx.begin(begin)?;
    if begun.repeated {
        return Ok(Claimed { data: absolute(ctx, begun.outcome), board: begun.board });
    }
    let intent_id = begun.outcome["intent"].as_u64().unwrap_or_default();
    let Some(Work::Claim(work)) = begun.board.intent(intent_id).map(|intent| intent.work.clone()) else {
        return Err(Failure::new("bug.intent", "the claim's intent is not on the board"));
    };
    crash::point("claim.begun");
    let fix = begun.board.task(task).is_some_and(|task| task.integration_fix);
    match make_worktree(ctx, &begun.board, task, &work, &base, fix) {
        Ok(made) => {
            crash::point("claim.made");
            let finish = FinishClaim {
                intent: intent_id,
                owner,
                base: made.base,
                handout: made.handout,
                conflicts: made.conflicts,
            };
            let finished = ctx.commit_step(finish)?;
            Ok(Claimed { data: absolute(ctx, finished.outcome), board: finished.board })
        }
        Err(failure) => {
            sweep(ctx, &work);
            let cancel = CancelClaim { intent: intent_id, owner, reason: failure.message.clone() };
            // If even this fails, the next command undoes the claim.
            let _ = ctx.commit_as_liza(cancel);
            Err(failure)
        }
    }
}

/// The ref that keeps what an attempt at a task committed; attempts are counted from 1.
pub fn attempt_ref(task: &TaskId, number: usize) -> String {
    format!("refs/liza/attempts/{task}/{number}")
}

/// Where the former attempt ended: the head of its branch, or where that was collected, what is kept of it.
fn former_head(ctx: &Context, board: &Board, task: &TaskId) -> Result<Option<CommitId>, Failure> {
    let Some(body) = board.task(task).map(|task| task.body()) else { return Ok(None) };
    let Some(attempt) = body.attempt() else { return Ok(None) };
    if let Some(head) = ctx.query()?.head_of_branch(&attempt.branch)? {
        return Ok(Some(head));
    }
    let kept = refs::last_kept(&ctx.repo, &attempt_ref(task, body.attempts.len()))?;
    if body.left.is_some() {
        let branch = &attempt.branch;
        ctx.narrate(match &kept {
            Some(head) => {
                format!("the branch `{branch}` is gone; what is kept of it, {head}, is where this starts")
            }
            None => {
                format!("the branch `{branch}` is gone and nothing of it is kept: this starts at integration")
            }
        });
    }
    Ok(kept)
}

/// The names for this claim that are in use already: this board's own, or left by a former one.
fn names_taken(ctx: &Context, task: &TaskId, epoch: u64) -> Result<Vec<String>, Failure> {
    let mut taken = Vec::new();
    for (at, name) in place_names(task, epoch).enumerate() {
        let used = ctx.query()?.head_of_branch(&format!("task/{name}"))?.is_some()
            || ctx.worktrees_dir().join(&name).symlink_metadata().is_ok();
        if used {
            taken.push(name);
        } else if at > 0 {
            break;
        }
    }
    Ok(taken)
}

impl Context {
    /// The first step of a longer piece of work: the transition itself carries the request.
    pub fn begin(
        &self,
        what: impl Into<crate::board::Transition>,
    ) -> Result<crate::store::Committed, Failure> {
        Self { request: None, ..self.again() }.commit(what)
    }

    /// The same caller at the same board.
    pub fn again(&self) -> Self {
        Self {
            repo: self.repo.clone(),
            store: self.store.clone(),
            credentials: self.credentials.clone(),
            claim: self.claim.clone(),
            now: self.now.clone(),
            request: self.request.clone(),
            query: std::cell::OnceCell::new(),
            crowded: std::rc::Rc::clone(&self.crowded),
            narrator: std::rc::Rc::clone(&self.narrator),
        }
    }
}

/// Where the integration branch is.
pub fn integration_head(ctx: &Context, board: &Board) -> Result<CommitId, Failure> {
    let branch = &board.config().integration_branch;
    ctx.query()?.head_of_branch(branch)?.ok_or_else(|| {
        Failure::new("git.no_integration", format!("the integration branch `{branch}` does not exist")).hint(
            match &board.rest.integration.head {
                Some(head) => {
                    format!("it was last at {head}; bring it back with `git branch {branch} {head}`")
                }
                None => format!("make it with `git branch {branch}`"),
            },
        )
    })
}

struct Made {
    base: CommitId,
    handout: Handout,
    conflicts: Vec<String>,
}

/// Paths that users script against are absolute.
fn absolute(ctx: &Context, mut data: Value) -> Value {
    if let Some(relative) = data.get("worktree").and_then(Value::as_str).map(str::to_owned) {
        data["worktree"] = json!(ctx.root().join(relative));
    }
    data
}

fn make_worktree(
    ctx: &Context,
    board: &Board,
    task: &TaskId,
    work: &ClaimWork,
    integration: &CommitId,
    fix: bool,
) -> Result<Made, Failure> {
    let path = ctx.root().join(&work.worktree);
    if work.reuse {
        git::checkouts::check_sound(&ctx.repo, &path).map_err(|fault| {
            Failure::new("git.worktree", format!("the worktree of `{task}` cannot be used: {fault}"))
                .hint("`liza doctor` says what is left of it; a person may release the task so that it starts afresh")
        })?;
    } else {
        let _one_at_a_time = SideLock::acquire(&ctx.store.layout().worktree_lock(), WORKTREE_PATIENCE)?;
        pin_former_attempt(ctx, board, task)?;
        let trash = ctx.store.layout().trash();
        let home = ctx.worktrees_dir();
        crate::store::files::make_private_dirs(&home)?;
        let worktrees = Worktrees::new(&ctx.repo, &home, &trash);
        worktrees.add(&path, &work.branch, &work.start, &format!("task {task} epoch {}", work.epoch))?;
    }
    crash::point("claim.added");
    let mut base = match board.task(task).and_then(|task| task.body().attempt()) {
        Some(attempt) if work.reuse => attempt.base_commit.clone(),
        // Work that goes on from a former head still starts from the base that head contains.
        Some(attempt) if &work.start != integration => attempt.base_commit.clone(),
        _ => integration.clone(),
    };
    let mut conflicts = Vec::new();
    if fix {
        let message = format!("Merge integration into {}", work.branch);
        match git::merge_in_worktree(&ctx.repo, &path, integration, &message) {
            Ok(Synced::Merged(_) | Synced::UpToDate) => base = integration.clone(),
            Ok(Synced::Conflict(files)) => conflicts = files.into_iter().map(|file| file.path).collect(),
            // A merge left in progress by the attempt before is what the claim is about.
            Err(git::MergeError::InProgress { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let handout = if work.reuse || fix || checkout_may_differ(ctx, &path) {
        handout(&path)?
    } else {
        // A fresh checkout is its commit's tree: no need to hash every file to know it.
        Handout { head: work.start.clone(), tree: ctx.query()?.tree_of(&work.start)?, merge_head: None }
    };
    Ok(Made { base, handout, conflicts })
}

/// The worktree as it is now, uncommitted work included.
pub fn handout(worktree: &std::path::Path) -> Result<Handout, Failure> {
    let found = content::fingerprint(worktree)?;
    Ok(Handout { head: found.head, tree: found.tree, merge_head: found.merge_head })
}

/// Whether what git checks out may read back as something else: line endings, filters, a hook that adds files.
fn checkout_may_differ(ctx: &Context, worktree: &std::path::Path) -> bool {
    let attributes = [worktree.join(".gitattributes"), ctx.repo.common_dir.join("info/attributes")];
    let hook = ctx.repo.common_dir.join("hooks/post-checkout");
    attributes.iter().any(|path| path.exists())
        || hook.exists()
        || ctx.query().is_ok_and(|query| query.has_checkout_settings())
}

/// Whatever an earlier agent committed stays reachable.
fn pin_former_attempt(ctx: &Context, board: &Board, task: &TaskId) -> Result<(), Failure> {
    let Some(body) = board.task(task).map(|task| task.body()) else { return Ok(()) };
    let Some(attempt) = body.attempt() else { return Ok(()) };
    if let Some(head) = ctx.query()?.head_of_branch(&attempt.branch)? {
        refs::keep(&ctx.repo, &attempt_ref(task, body.attempts.len()), &head)?;
    }
    Ok(())
}

/// Takes away what a claim that failed has made: the directory goes to the trash, the branch only if it holds nothing.
pub fn sweep(ctx: &Context, work: &ClaimWork) {
    if work.reuse {
        return;
    }
    let Ok(_one_at_a_time) = SideLock::acquire(&ctx.store.layout().worktree_lock(), WORKTREE_PATIENCE) else {
        return;
    };
    let trash = ctx.store.layout().trash();
    let home = ctx.worktrees_dir();
    let worktrees = Worktrees::new(&ctx.repo, &home, &trash);
    let path: PathBuf = ctx.root().join(&work.worktree);
    let _ = worktrees.heal();
    // Only what this claim made: the name carries its epoch, or it was the first of all.
    let _ = worktrees.remove_to_trash(&path);
    let _ = refs::delete_branch_if_at(&ctx.repo, &work.branch, &work.start);
}

/// Brings integration into the holder's worktree.
pub fn sync(ctx: &Context, task: &TaskId) -> Result<(Value, u64, bool), Failure> {
    let snapshot = ctx.read(&Needs::task(task))?;
    let record = |base: CommitId, conflicts: Vec<String>| RecordSync {
        task: task.clone(),
        epoch: ctx.epoch_of(task),
        base,
        conflicts,
        handout: None,
    };
    ctx.integration_in_place(&snapshot.board)?;
    let integration = integration_head(ctx, &snapshot.board)?;
    // Asked before anything is touched.
    ctx.ask(&snapshot.board, record(integration.clone(), Vec::new()))?;
    let (path, branch) = worktree_of(ctx, &snapshot.board, task)?;
    let untouched = snapshot
        .board
        .task(task)
        .and_then(|task| task.body().attempt())
        .and_then(|attempt| attempt.handout.clone())
        .is_some_and(|handed_out| handout(&path).is_ok_and(|now| now == handed_out));
    let conflicts = match git::merge_in_worktree(
        &ctx.repo,
        &path,
        &integration,
        &format!("Merge integration into {branch}"),
    )? {
        Synced::Merged(_) | Synced::UpToDate => Vec::new(),
        Synced::Conflict(files) => files.into_iter().map(|file| file.path).collect(),
    };
    let conflicted = !conflicts.is_empty();
    let mut record = record(integration, conflicts);
    if untouched {
        record.handout = Some(handout(&path)?);
    }
    let committed = ctx.commit(record)?;
    Ok((committed.outcome, committed.board.revision, conflicted))
}

/// Before a task is let go: keeps what is not committed in its worktree, under a ref of its own.
///
/// Nothing is touched for a caller that may not let it go. And letting go is never stopped by this: the files stay in
/// the worktree as well.
pub fn keep_uncommitted(ctx: &Context, task: &TaskId, letting_go: &Transition) -> Result<(), Failure> {
    let snapshot = ctx.read(&Needs::task(task))?;
    let actor = snapshot.board.identify(&ctx.credentials)?;
    let world = World::default();
    if permitted(&snapshot.board, letting_go, &Call::new(actor, &ctx.now, &world)).is_err() {
        return Ok(());
    }
    match keep_now(ctx, &snapshot.board, task) {
        Ok(None) => {}
        Ok(Some(kept)) => {
            ctx.narrate(format!(
                "not committed, so not on the branch: {}; kept as {1} (`git show {1}`)",
                kept.saved.files.join(", "),
                kept.refname
            ));
            if !kept.saved.left_out.is_empty() {
                ctx.narrate(format!("not in it, only in {}: {}", kept.path.display(), kept.saved.left_out));
            }
        }
        Err(failure) => ctx.narrate(format!(
            "what is not committed could not be kept under a ref ({}); it stays in the worktree",
            failure.message
        )),
    }
    Ok(())
}

/// What was not committed, and the ref that keeps it.
pub struct Kept {
    pub saved: Saved,
    pub refname: String,
    pub path: PathBuf,
}

/// Keeps what is not committed in a task's worktree under a ref of its own, if there is anything.
pub fn keep_now(ctx: &Context, board: &Board, task: &TaskId) -> Result<Option<Kept>, Failure> {
    let Ok((path, _)) = worktree_of(ctx, board, task) else { return Ok(None) };
    let Some(epoch) = board.task(task).map(|task| task.epoch) else { return Ok(None) };
    let Some(saved) = snapshot_worktree(ctx, task.as_str(), &path)? else { return Ok(None) };
    let refname = refs::keep(&ctx.repo, &format!("refs/liza/wip/{task}/{epoch}"), &saved.commit)?;
    Ok(Some(Kept { saved, refname, path }))
}

/// The content of a worktree as a commit that no ref leads to yet.
pub struct Saved {
    pub commit: CommitId,
    /// The first of the files that were not committed.
    pub files: Vec<String>,
    /// What could not be saved; empty when everything is in.
    pub left_out: String,
}

/// Commits the whole present content of a worktree beside its branch, if anything in it is not committed. The caller
/// keeps the commit under a ref.
pub fn snapshot_worktree(
    ctx: &Context,
    task: &str,
    path: &std::path::Path,
) -> Result<Option<Saved>, Failure> {
    let dirty = content::status(path, content::Filters::Run)?;
    if dirty.is_empty() {
        return Ok(None);
    }
    let who = ctx.query()?.identity().at(ctx.now.wall.0);
    let kept = content::snapshot(&ctx.repo, path, &format!("Uncommitted work on {task}"), &who)?;
    let files = dirty.into_iter().take(10).map(|found| found.path).collect();
    Ok(Some(Saved { commit: kept.commit, files, left_out: kept.left_out }))
}

/// The present worktree of a task, checked to be what it should be.
pub fn worktree_of(ctx: &Context, board: &Board, task: &TaskId) -> Result<(PathBuf, String), Failure> {
    let attempt = board.task(task).and_then(|task| task.body().attempt()).ok_or_else(|| {
        Failure::new("refused.transition", format!("task `{task}` has no worktree: nobody has claimed it"))
            .hint(format!("`liza task claim {task}` makes one"))
    })?;
    let path = ctx.root().join(&attempt.worktree);
    git::checkouts::check_sound(&ctx.repo, &path).map_err(|fault| {
        Failure::new("git.worktree", format!("the worktree of `{task}` cannot be used: {fault}")).hint(
            format!("its commits are on branch `{}`; `liza doctor` says what can be done", attempt.branch),
        )
    })?;
    Ok((path, attempt.branch.clone()))
}
