//! Merging: at object level, never in a checkout; the branch moves only by compare-and-swap, and only to exactly
//! the commit that was tested.
//!
//!  a  intent on the board;
//!  b  merged tree and commit as objects, author and date from the intent so that a repeat gives the same id, pinned;
//!  c  gates on exactly that commit, in a private worktree;
//!  d  the move (old, new) recorded in the intent, under the lock;
//!  e  compare-and-swap of the branch; if its head has moved, back to b;
//!  f  sync the merge, and check that the patch is in the branch;
//!  g  outcome on the board.

mod judged;

use judged::Judged;

use super::branches::{
    drift, move_happened, no_private_paths, no_unnamed_repositories, not_checked_out, recording_failed,
};
use super::commit::Begin;
use crate::flow::prelude::*;
use crate::git::merge::resolve_tree;
use crate::git::{Class, ConflictFile, Query, classify};
use crate::host::progress::Progress;
use crate::policy::schedule::{merge_order, needed_for_reviews};
use crate::store::lock::SideLock;
pub use judged::red_head;

/// How often a merge is repeated because the branch moved.
const TRIES: usize = 8;
/// How long to wait for another process's merge: its gates may take long.
const MERGE_PATIENCE: Duration = Duration::from_secs(3600);

#[derive(Debug, Default)]
pub struct MergeOptions {
    pub resolve_trivial: bool,
    pub resolved: Option<CommitId>,
}

/// The result of a merge, as the command answers it.
pub struct Merged {
    pub end: MergeEnd,
    pub revision: u64,
}

pub fn merge(ctx: &Context, task: &TaskId, options: &MergeOptions) -> Result<Merged> {
    merge_alone(ctx, task, options, &one_at_a_time(ctx)?)
}

fn merge_alone(ctx: &Context, task: &TaskId, options: &MergeOptions, _: &SideLock) -> Result<Merged> {
    let snapshot = ctx.read(&Needs::task(task))?;
    let branch = snapshot.board.config().integration_branch.clone();
    judged::not_foreign(ctx)?;
    not_checked_out(ctx, &branch)?;
    let head = head_of(ctx, &snapshot.board, task)?;
    let owner = host::this_process();
    let begin = BeginMerge {
        task: task.clone(),
        branch_head: head.clone(),
        resolved: options.resolved.clone(),
        resolve_trivial: options.resolve_trivial,
        owner: owner.clone(),
        request: ctx.request.clone(),
    };
    let (begun, id) = match ctx.begin(begin) {
        Err(failure) if failure.code == Code::ApprovalVoid => {
            return Err(void(ctx, task, head, failure));
        }
        Err(failure) => return Err(failure),
        Ok(Begin::Before { board, outcome }) => return Ok(Merged { end: outcome, revision: board.revision }),
        Ok(Begin::Now { board, intent }) => (board, intent),
    };
    let Some(intent) = begun.intent(id).cloned() else {
        return Err(Failure::new(ErrorCode::BugIntent, "the merge's intent is not on the board"));
    };
    crash::point("merge.begun");
    let ended = super::tidy::beside_merge(ctx, &begun, || carry_out(ctx, &begun, &intent, &owner));
    let (merged, landed) = ended.map_err(|failure| {
        if let Some(step) = move_happened(ctx, id) {
            return recording_failed(&step, failure);
        }
        // Nothing was moved: the task returns to its former status. If this fails too, the next command does it.
        let reason = failure.message.clone();
        let _ = ctx.commit_as_liza(CancelMerge { intent: id, owner: owner.clone(), reason });
        failure
    })?;
    if let Some((board, review_commit)) = landed {
        super::tidy::after_merge(ctx, &board, task, &review_commit);
    }
    Ok(merged)
}

/// The task that was first, and the result of its merge.
pub struct First {
    pub task: TaskId,
    pub merged: Result<Merged>,
}

/// Merges the first wanted task of the queue. It is chosen only when no other process merges: after waiting, it may
/// be merged already, or another one may be more urgent.
pub fn merge_first(
    ctx: &Context,
    options: &MergeOptions,
    wanted: impl Fn(&TaskId) -> bool,
) -> Result<Option<First>> {
    let alone = one_at_a_time(ctx)?;
    // A task that a dead merge had landed is still APPROVED on the board until a command finishes that merge.
    super::recover::recover(ctx)?;
    let snapshot = ctx.read_with(needed_for_reviews)?;
    let first = merge_order(&snapshot.board).into_iter().map(|task| task.id.clone()).find(|id| wanted(id));
    Ok(first.map(|task| {
        let merged = merge_alone(ctx, &task, options, &alone);
        First { task, merged }
    }))
}

/// Acquires the merge lock; the kernel releases it when its process dies.
fn one_at_a_time(ctx: &Context) -> Result<SideLock> {
    ctx.store.refuse_other_version()?;
    ctx.check_disk()?;
    let patience = crate::store::patience_or(MERGE_PATIENCE);
    match ctx.machine.lock_merging(patience.min(Duration::from_millis(200))) {
        Err(StoreError::Busy { holder, .. }) => {
            let most = patience.as_secs();
            ctx.narrate(format!(
                "another process is merging; waiting for merge.lock, held by {holder}; gives up after {most} s"
            ));
        }
        other => return Ok(other?),
    }
    let until = Instant::now() + patience;
    let mut progress = Progress::default();
    loop {
        match ctx.machine.lock_merging(Duration::from_millis(500)) {
            Err(StoreError::Busy { holder, .. }) if Instant::now() < until => {
                progress.tick(|| format!("waiting for merge.lock, held by {holder}"));
            }
            Err(StoreError::Busy { what, holder, .. }) => {
                return Err(StoreError::Busy { what, holder, waited_seconds: patience.as_secs() }.into());
            }
            other => return Ok(other?),
        }
        if let Some(switch) = ctx.store.switches()?.global().filter(|set| set.kind == SwitchKind::Abort) {
            return Err(failure!(Code::Switched, "{} is set", switch.kind.as_str())
                .hint("a person ends it with `liza resume`"));
        }
    }
}

fn void(ctx: &Context, task: &TaskId, branch_head: Option<CommitId>, failure: Failure) -> Failure {
    match ctx.commit_step(VoidApproval { task: task.clone(), branch_head }) {
        Ok(committed) => failure.with_data(committed.outcome, committed.board.revision),
        Err(error) => error,
    }
}

/// How a merge ended, and if it is on integration the board then and the commit that was reviewed.
type Ended = (Merged, Option<(Board, CommitId)>);

fn carry_out(ctx: &Context, board: &Board, intent: &Intent, owner: &Process) -> Result<Ended> {
    let (Work::Merge(work), Some(task)) = (&intent.work, &intent.task) else {
        return Err(Failure::new(ErrorCode::BugIntent, "the intent is not a merge"));
    };
    let branch = &board.config().integration_branch;
    let refname = refs::of_branch(branch)?;
    for _ in 0..TRIES {
        // b
        let onto = integration_head(ctx, board)?;
        judged::not_foreign(ctx)?;
        let tree = match merged_tree(ctx, work, &onto)? {
            Tree::Made(tree) => tree,
            Tree::Conflict(failure) => return fail(ctx, intent, owner, &onto, *failure).map(without_board),
        };
        let commit = merge_commit(ctx, board, intent, work, task, &onto, &tree)?;
        crash::point("merge.made");
        let pin = format!("refs/liza/merges/{task}/{}", intent.id);
        if !pinned_whole(ctx, &pin, &commit)? {
            ctx.narrate("a `git gc` removed objects of the merge before it was pinned; merging again");
            continue;
        }
        crash::point("merge.commit");
        // c
        let gates = match judged::merged(ctx, task, &onto, &commit)? {
            Judged::Green(gates) => gates,
            Judged::Red(gates) => return fail(ctx, intent, owner, &onto, red(gates)).map(without_board),
        };
        crash::point("merge.gated");
        // d
        let step = RefMove { branch: branch.clone(), old: Some(onto.clone()), new: commit.clone() };
        let record = RecordMove { intent: intent.id, owner: owner.clone(), step, gates: Some(gates) };
        let recorded = ctx.commit_step(record)?;
        crash::point("merge.recorded");
        not_checked_out(ctx, branch)?;
        if !Query::is_whole_now(&ctx.repo, &commit)? {
            ctx.narrate("a `git gc` removed objects of the merge; merging again");
            continue;
        }
        // e
        match refs::update(&ctx.repo, &refname, &commit, Expected::At(&onto)) {
            Ok(()) => {}
            Err(RefError::Moved { .. }) => {
                ctx.narrate(format!("`{branch}` moved meanwhile; merging onto its new head"));
                continue;
            }
            Err(error) => return Err(error.into()),
        }
        crash::point("merge.moved");
        // f
        let parents_are_on_disk =
            work.resolved.is_none() && recorded.board.rest.integration.head.as_ref() == Some(&onto);
        sync(ctx, &commit, parents_are_on_disk, &[&refname, &pin])?;
        landed(ctx, branch, work, &commit)?;
        crash::point("merge.synced");
        // g
        let (drift, owner) = (drift(ctx, intent, &onto), owner.clone());
        let finish = FinishMerge { intent: intent.id, owner, merge_commit: commit, onto, drift };
        let finished = ctx.commit_step(finish)?;
        crash::point("merge.finished");
        let merged = Merged { end: finished.outcome, revision: finished.board.revision };
        return Ok((merged, Some((finished.board, work.review_commit.clone()))));
    }
    Err(failure!(ErrorCode::StaleRef, "`{branch}` kept moving; gave up after {TRIES} tries")
        .hint("merge again later; nothing was changed"))
}

fn without_board(merged: Merged) -> Ended {
    (merged, None)
}

/// Keeps the merge from being collected. False if a collection was faster and removed parts of it: then the ref,
/// which leads to an incomplete merge, is removed again.
fn pinned_whole(ctx: &Context, pin: &str, commit: &CommitId) -> Result<bool> {
    let query = ctx.query()?;
    let pinned = query.pin(pin, commit);
    if Query::is_whole_now(&ctx.repo, commit)? {
        return Ok(pinned.map(|()| true)?);
    }
    if pinned.is_ok() {
        refs::delete_if_at(&ctx.repo, pin, commit)?;
    }
    Ok(false)
}

/// Above this a sync of the file system waits for other programs' writes, such as a large checkout. Below it one sync
/// of everything is cheaper than one per object, ref and directory.
const MUCH_UNWRITTEN: u64 = 32 * 1024 * 1024;

/// Syncs the merge and the refs that lead to it.
///
/// Its parents are on disk already if they are a submission, which submit syncs, and a head of integration that the
/// board names, which is named only after a sync. A person's resolution may be new.
fn sync(ctx: &Context, commit: &CommitId, parents_are_on_disk: bool, refnames: &[&str]) -> Result<()> {
    let waits_for_others = || crate::host::unwritten().is_some_and(|bytes| bytes > MUCH_UNWRITTEN);
    if parents_are_on_disk
        && waits_for_others()
        && crate::git::durable::sync_merge(&ctx.repo, ctx.query()?, commit, refnames)?
    {
        return Ok(());
    }
    ctx.sync()
}

enum Tree {
    Made(CommitId),
    Conflict(Box<Conflict>),
}

struct Conflict {
    failure: MergeFailure,
    reason: String,
    files: Vec<ConflictFile>,
    gates: Option<GateReport>,
}

fn red(gates: GateReport) -> Conflict {
    let result = gates.lacking().and_then(|(gate, _)| gates.result(gate));
    let reason = result.map_or(String::new(), |red| {
        let mut text = match red.status {
            GateStatus::CouldNotRun => {
                format!("Gate `{}` can run on integration and not on the merged tree", red.name)
            }
            _ => format!("Gate `{}` is red on the merged tree", red.name),
        };
        if let Some(reason) = &red.reason {
            text.push_str(&format!(": {reason}"));
        }
        if !red.failing.is_empty() {
            text.push_str(&format!(" ({})", red.failing.join(", ")));
        }
        text
    });
    Conflict { failure: MergeFailure::RedGate, reason, files: Vec::new(), gates: Some(gates) }
}

fn merged_tree(ctx: &Context, work: &MergeWork, onto: &CommitId) -> Result<Tree> {
    let theirs = work.resolved.as_ref().unwrap_or(&work.review_commit);
    if let Some(resolved) = &work.resolved
        && !ctx.query()?.is_ancestor(&work.review_commit, resolved)?
    {
        let (resolved, approved) = (resolved.short(), work.review_commit.short());
        return Err(failure!(
            Code::NotAncestor,
            "{resolved} does not contain the approved commit {approved}"
        )
        .hint("make the resolution by merging the task's branch, then name that commit"));
    }
    // A submission was checked against its scope; a resolution may hold anything.
    no_private_paths(ctx, onto, theirs)?;
    no_unnamed_repositories(ctx, onto, theirs)?;
    // The git program merges and checks out whatever object has the id, even a forged one.
    ctx.query()?.check_objects(onto, theirs)?;
    match merge_tree(&ctx.repo, onto, theirs)? {
        MergeTree::Clean(tree) => Ok(Tree::Made(tree)),
        MergeTree::Conflict { tree, files } => match classify(&files) {
            Class::Trivial(resolutions) if work.resolve_trivial => {
                Ok(Tree::Made(resolve_tree(&ctx.repo, &tree, &resolutions)?))
            }
            Class::Trivial(_) => {
                let reason = format!("Trivial conflict in {}", names(&files));
                Ok(conflict(MergeFailure::TrivialConflict, reason, files))
            }
            Class::Logic(logic) => {
                let reason = format!("Conflict in {}: {}", names(&files), logic.why);
                Ok(conflict(MergeFailure::LogicConflict, reason, files))
            }
        },
    }
}

fn conflict(failure: MergeFailure, reason: String, files: Vec<ConflictFile>) -> Tree {
    Tree::Conflict(Box::new(Conflict { failure, reason, files, gates: None }))
}

fn names(files: &[ConflictFile]) -> String {
    files.iter().map(|file| file.path.as_str()).collect::<Vec<_>>().join(", ")
}

/// The commit object: parents, author and dates come from the intent and the tree, so the same merge has the same id.
fn merge_commit(
    ctx: &Context,
    board: &Board,
    intent: &Intent,
    work: &MergeWork,
    task: &TaskId,
    onto: &CommitId,
    tree: &CommitId,
) -> Result<CommitId> {
    let found = board.task(task);
    let title = found.map_or(task.as_str(), |task| task.body().title.as_str());
    let mut reviewers = found.map(|task| task.approvers()).unwrap_or_default().into_iter();
    let first = reviewers.next().map_or("nobody", |reviewer| reviewer.as_str());
    let others: String = reviewers.map(|reviewer| format!("Reviewed-by: {reviewer}\n")).collect();
    let subject: String =
        title.chars().map(|c| if crate::text::is_unseen(c) { ' ' } else { c }).take(100).collect();
    let subject = subject.trim();
    // The branch moves only after these have passed on this commit.
    let config = ctx.project_config()?;
    let gates: Vec<&str> =
        config.gates.iter().filter(|gate| gate.is_required()).map(|gate| gate.name.as_str()).collect();
    let gates = if gates.is_empty() { "none".to_owned() } else { gates.join(", ") };
    let message = format!(
        "Merge {task}: {subject}\n\nLiza-Task: {task}\nReviewed-by: {first}\n{others}Liza-Commit: {}\nLiza-Gates: {gates}\n",
        work.review_commit
    );
    let who = ctx.query()?.identity().at(intent.time.0);
    let theirs = work.resolved.clone().unwrap_or_else(|| work.review_commit.clone());
    commit_by(ctx, &who, tree, &[onto.clone(), theirs], &message)
}

/// Checks that the branch contains the merge and with it exactly the approved commit.
fn landed(ctx: &Context, branch: &str, work: &MergeWork, commit: &CommitId) -> Result<()> {
    let query = ctx.query()?;
    let head = query.head_of_branch(branch)?;
    let there = match &head {
        Some(head) => query.is_ancestor(commit, head)? && query.is_ancestor(&work.review_commit, head)?,
        None => false,
    };
    if there {
        return Ok(());
    }
    Err(failure!(ErrorCode::GitNotLanded, "`{branch}` does not contain the merge {}", commit.short()).hint(
        "another process moved the branch at the same moment; look at it with `git log`, then merge again",
    ))
}

fn fail(
    ctx: &Context,
    intent: &Intent,
    owner: &Process,
    onto: &CommitId,
    conflict: Conflict,
) -> Result<Merged> {
    let Conflict { failure, reason, files, gates } = conflict;
    let hunks = files.iter().flat_map(|file| {
        file.hunks().map(|hunk| ConflictHunk {
            file: file.path.clone(),
            line: u32::try_from(hunk.line).unwrap_or(u32::MAX),
            ours: String::from_utf8_lossy(&hunk.ours).into_owned(),
            theirs: String::from_utf8_lossy(&hunk.theirs).into_owned(),
        })
    });
    let hunks = hunks.take(50).collect();
    let (intent, owner, onto) = (intent.id, owner.clone(), onto.clone());
    let files = files.into_iter().map(|file| file.path).collect();
    let failed =
        ctx.commit_step(FailMerge { intent, owner, failure, reason, onto, files, hunks, log: None, gates })?;
    Ok(Merged { end: failed.outcome, revision: failed.board.revision })
}
