//! Claiming: intent under the lock, worktree outside it, outcome under the lock.

use super::attempt::{handout, sweep};
use super::commit::Begin;
use super::prelude::*;
use crate::board::intent::ClaimWork;
use crate::git::{self, Synced};

/// Returns the claim, its worktree as an absolute path, and the resulting board.
pub fn claim(ctx: &Context, task: &TaskId) -> Result<(Claimed, Board)> {
    ctx.check_disk()?;
    let snapshot = ctx.read(&Needs::task(task))?;
    ctx.integration_in_place(&snapshot.board)?;
    let begin = beginning(ctx, &snapshot.board, task)?;
    let (base, owner) = (begin.base.clone(), begin.owner.clone());
    // The request is answered when the worktree exists; a repeat of a finished claim ends here.
    let begun = ctx.begin(begin).map_err(|failure| blocked_at_limit(ctx, &snapshot.board, task, failure))?;
    let (begun, intent_id) = match begun {
        Begin::Before { board, outcome } => return Ok((absolute(ctx, outcome), board)),
        Begin::Now { board, intent } => (board, intent),
    };
    let Some(Work::Claim(work)) = begun.intent(intent_id).map(|intent| intent.work.clone()) else {
        return Err(Failure::new(ErrorCode::BugIntent, "the claim's intent is not on the board"));
    };
    crash::point("claim.begun");
    let fix = begun.task(task).is_some_and(|task| task.integration_fix);
    match make_worktree(ctx, &begun, task, &work, &base, fix) {
        Ok(made) => {
            crash::point("claim.made");
            let Made { base, handout, conflicts, prepared } = made;
            let finish = FinishClaim { intent: intent_id, owner, base, handout, conflicts, prepared };
            let finished = ctx.commit_step(finish)?;
            Ok((absolute(ctx, finished.outcome), finished.board))
        }
        Err(failure) => {
            sweep(ctx, &work);
            let cancel = CancelClaim { intent: intent_id, owner, reason: failure.message.clone() };
            // If this fails too, the next command undoes the claim.
            let _ = ctx.commit_as_liza(cancel);
            Err(failure)
        }
    }
}

/// If the refused task has no iteration or handoff left, blocks it until a planner or a person decides, and says so.
fn blocked_at_limit(ctx: &Context, board: &Board, task: &TaskId, failure: Failure) -> Failure {
    if failure.code != Code::Limit || !failure.details.contains_key("limit") {
        return failure;
    }
    let Ok(agent) = board.identify(&ctx.credentials).map(|actor| actor.id()) else { return failure };
    let Ok(blocked) = ctx.commit_as_liza(BlockAtLimit { task: task.clone(), agent }) else { return failure };
    let reason = blocked.outcome.blocked_reason;
    Failure::new(Code::Limit, format!("task `{task}` is BLOCKED now: {reason}"))
        .hint(format!(
            "take other work; a planner or a person decides: `liza task unblock {task} --answer …`"
        ))
        .detail("task", task.as_str())
        .detail("status", Status::Blocked.as_str())
}

/// The claim of this task as it would start now.
fn beginning(ctx: &Context, board: &Board, task: &TaskId) -> Result<BeginClaim> {
    let worktree_lost = attempt_of(board, task).is_some_and(|attempt| {
        git::checkouts::check_sound(&ctx.repo, &ctx.root().join(&attempt.worktree)).is_err()
    });
    let epoch = board.task(task).map_or(1, |task| task.epoch + 1);
    Ok(BeginClaim {
        worktree_lost,
        names_taken: names_taken(ctx, task, epoch)?,
        task: task.clone(),
        base: integration_head(ctx, board)?,
        former_head: former_head(ctx, board, task)?,
        owner: host::this_process(),
        request: ctx.request.clone(),
        caps: ctx.caps(board)?,
        edition: Edition::NOW,
    })
}

/// The result of a claim, computed without making it.
pub struct Foreseen {
    pub epoch: u64,
    pub iteration: u32,
    pub worktree: PathBuf,
    pub branch: String,
    pub base: CommitId,
}

/// The body of the task must be loaded.
pub fn foreseen(ctx: &Context, board: &Board, agent: &AgentId, task: &TaskId) -> Result<Foreseen> {
    let begin = beginning(ctx, board, task)?;
    let incarnation = board.agent(agent).map_or(1, |agent| agent.incarnation);
    let world = World::default();
    let call = Call::new(Actor::Agent { id: agent.clone(), incarnation }, &ctx.now, &world);
    let mut then = board.clone();
    begin.change(&mut then, &call);
    let iteration = then.task(task).map_or(1, |task| task.iteration);
    let work = then.rest.intents.iter().rev().find_map(|intent| match &intent.work {
        Work::Claim(work) if intent.task.as_ref() == Some(task) => Some(work.clone()),
        _ => None,
    });
    let work = work.ok_or_else(|| Failure::new(ErrorCode::BugIntent, "no claim was foreseen"))?;
    let worktree = ctx.root().join(&work.worktree);
    Ok(Foreseen { epoch: work.epoch, iteration, worktree, branch: work.branch, base: begin.base })
}

/// The end of the former attempt: the head of its branch, or if that was collected, the kept commit.
fn former_head(ctx: &Context, board: &Board, task: &TaskId) -> Result<Option<CommitId>> {
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
                format!("the branch `{branch}` is gone; this claim starts at its kept commit {head}")
            }
            None => {
                format!("the branch `{branch}` is gone and no commit of it is kept: this claim starts at integration")
            }
        });
    }
    Ok(kept)
}

/// The names for this claim that are already in use, by this board or an earlier one.
fn names_taken(ctx: &Context, task: &TaskId, epoch: u64) -> Result<Vec<String>> {
    let mut taken = Vec::new();
    for (at, name) in place_names(task, epoch).enumerate() {
        let used = ctx.query()?.head_of_branch(&format!("task/{name}"))?.is_some()
            || ctx.machine.worktrees().join(&name).symlink_metadata().is_ok();
        if used {
            taken.push(name);
        } else if at > 0 {
            break;
        }
    }
    Ok(taken)
}

impl Context {
    /// The same caller on the same board.
    pub fn again(&self) -> Self {
        Self {
            repo: self.repo.clone(),
            store: self.store.clone(),
            machine: self.machine.clone(),
            credentials: self.credentials.clone(),
            claim: self.claim.clone(),
            now: self.now.clone(),
            request: self.request.clone(),
            query: std::cell::OnceCell::new(),
            crowded: std::rc::Rc::clone(&self.crowded),
            narrator: std::rc::Rc::clone(&self.narrator),
            door: self.door.clone(),
        }
    }
}

struct Made {
    base: CommitId,
    handout: Handout,
    conflicts: Vec<String>,
    prepared: Vec<String>,
}

/// Paths for users' scripts are absolute.
fn absolute(ctx: &Context, claimed: Claimed) -> Claimed {
    Claimed { worktree: ctx.root().join(&claimed.worktree).display().to_string(), ..claimed }
}

fn make_worktree(
    ctx: &Context,
    board: &Board,
    task: &TaskId,
    work: &ClaimWork,
    integration: &CommitId,
    fix: bool,
) -> Result<Made> {
    let path = ctx.root().join(&work.worktree);
    let prepared = if work.reuse {
        git::checkouts::check_sound(&ctx.repo, &path).map_err(|fault| {
            failure!(ErrorCode::GitWorktree, "the worktree of `{task}` cannot be used: {fault}")
                .hint("`liza doctor` shows the rest of it; a person may release the task, and the next claim makes a new worktree")
        })?;
        super::prepared::not_work(board, task)
    } else {
        let one_at_a_time = ctx.machine.lock_worktrees()?;
        pin_former_attempt(ctx, board, task)?;
        ctx.machine.make_worktrees_dir(ctx.machine.worktrees())?;
        let owner = format!("task {task} epoch {}", work.epoch);
        ctx.worktrees().add(&path, &work.branch, &work.start, &owner)?;
        drop(one_at_a_time);
        crash::point("claim.registered");
        ctx.check_out(&path, &work.start)?;
        let iteration = board.task(task).map_or(1, |task| task.iteration);
        let log = ctx.machine.round(task, work.epoch, iteration).join("setup.log");
        super::prepare::prepare(ctx, &ctx.project_config()?.worktrees, &path, &log)?
    };
    crash::point("claim.added");
    let mut base = match attempt_of(board, task) {
        Some(attempt) if work.reuse => attempt.base_commit.clone(),
        // Work that continues from a former head still has the base that this head contains.
        Some(attempt) if &work.start != integration => attempt.base_commit.clone(),
        _ => integration.clone(),
    };
    let mut conflicts = Vec::new();
    if fix {
        let message = format!("Merge integration into {}", work.branch);
        match git::merge_in_worktree(&ctx.repo, &path, integration, &message) {
            Ok(Synced::Merged(_) | Synced::UpToDate) => base = integration.clone(),
            Ok(Synced::Conflict(files)) => conflicts = files.into_iter().map(|file| file.path).collect(),
            // A merge left in progress by the former attempt is the work of this claim.
            Err(git::MergeError::InProgress { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let handout = if work.reuse || fix || !git::fresh::reads_back_as_committed(ctx.query()?, &path) {
        handout(&path, &prepared)?
    } else {
        // A fresh checkout equals its commit's tree: no file need be read.
        Handout { head: work.start.clone(), tree: ctx.query()?.tree_of(&work.start)?, merge_head: None }
    };
    Ok(Made { base, handout, conflicts, prepared })
}

/// Keeps the commits of an earlier agent reachable.
fn pin_former_attempt(ctx: &Context, board: &Board, task: &TaskId) -> Result<()> {
    let Some(body) = board.task(task).map(|task| task.body()) else { return Ok(()) };
    let Some(attempt) = body.attempt() else { return Ok(()) };
    if let Some(head) = ctx.query()?.head_of_branch(&attempt.branch)? {
        refs::keep(&ctx.repo, &attempt_ref(task, body.attempts.len()), &head)?;
    }
    Ok(())
}

/// Merges integration into the holder's worktree.
pub fn sync(ctx: &Context, task: &TaskId) -> Result<(SyncRecorded, u64)> {
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
    // Checked before anything is changed.
    ctx.ask(&snapshot.board, record(integration.clone(), Vec::new()))?;
    let (path, branch) = worktree_of(ctx, &snapshot.board, task)?;
    // A git that died here, in an earlier `task sync` for example, cannot remove its locks. In a container `liza doctor`
    // removes them, once they are old: a git outside, which may own them, cannot be seen.
    if git::locks::sees_every_process() {
        git::locks::clear_dead(&path, &super::leftovers::git_dir(ctx, &path));
        git::refs::clear_free_lock(&ctx.repo, &branch);
    }
    let not_work = super::prepared::not_work(&snapshot.board, task);
    let untouched = attempt_of(&snapshot.board, task)
        .and_then(|attempt| attempt.handout.clone())
        .is_some_and(|handed_out| handout(&path, &not_work).is_ok_and(|now| now == handed_out));
    let conflicts = match git::merge_in_worktree(
        &ctx.repo,
        &path,
        &integration,
        &format!("Merge integration into {branch}"),
    )? {
        Synced::Merged(_) | Synced::UpToDate => Vec::new(),
        Synced::Conflict(files) => files.into_iter().map(|file| file.path).collect(),
    };
    let mut record = record(integration, conflicts);
    if untouched {
        record.handout = Some(handout(&path, &not_work)?);
    }
    Ok(ctx.commit(record)?.done())
}
