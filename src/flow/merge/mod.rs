//! Merging: at object level, never in a checkout; the branch moves only by compare-and-swap, and only to the very
//! commit that was tested.
//!
//!  a  intent on the board;
//!  b  merged tree and commit as objects, author and date from the intent so that a redo gives the same id, pinned;
//!  c  gates on exactly that commit, in a private worktree;
//!  d  the move (old, new) recorded in the intent, under the lock;
//!  e  compare-and-swap of the branch; if its head has moved, back to b;
//!  f  sync, and look whether the patch is in the branch;
//!  g  outcome on the board.

mod judged;

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::board::gates::{GateReport, GateStatus};

use crate::board::intent::{Intent, MergeWork, RefMove, Work};
use crate::board::rules::{
    BeginMerge, CancelMerge, ConflictHunk, FailMerge, FinishMerge, MergeFailure, RecordMove, VoidApproval,
};
use crate::board::{Board, CommitId, Needs, Process, SwitchKind, TaskId};
use crate::git::merge::resolve_tree;
use crate::git::{
    Class, ConflictFile, Expected, MergeTree, NewCommit, RefError, branch_checked_out_at, classify,
    commit_tree, merge_tree, refs,
};
use crate::host::crash;
use crate::policy::schedule::{merge_order, needed_for_reviews};
use crate::store::StoreError;
use crate::store::lock::SideLock;

use super::advance::no_private_paths;
use super::claim::integration_head;
use super::context::Context;
use super::failure::Failure;
use judged::Judged;
pub use judged::red_head;

/// How often a merge is made anew because the branch moved underneath.
const TRIES: usize = 8;
/// How long to wait for another's merge: its gates may take their time.
const MERGE_PATIENCE: Duration = Duration::from_secs(3600);

#[derive(Debug, Default)]
pub struct MergeOptions {
    pub resolve_trivial: bool,
    pub resolved: Option<CommitId>,
}

/// What became of a merge, as the command answers it.
pub struct Merged {
    pub data: Value,
    pub revision: u64,
    pub result: MergeResult,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeResult {
    Merged,
    Conflict,
    /// The gates do not let the merged tree through.
    Red,
}

pub fn merge(ctx: &Context, task: &TaskId, options: &MergeOptions) -> Result<Merged, Failure> {
    merge_alone(ctx, task, options, &one_at_a_time(ctx)?)
}

fn merge_alone(
    ctx: &Context,
    task: &TaskId,
    options: &MergeOptions,
    _: &SideLock,
) -> Result<Merged, Failure> {
    let snapshot = ctx.read(&Needs::task(task))?;
    let branch = snapshot.board.config().integration_branch.clone();
    judged::not_foreign(ctx)?;
    not_checked_out(ctx, &branch)?;
    let head = match snapshot.board.task(task).and_then(|task| task.body().attempt()) {
        Some(attempt) => ctx.query()?.head_of_branch(&attempt.branch)?,
        None => None,
    };
    let owner = crate::host::this_process();
    let begin = BeginMerge {
        task: task.clone(),
        branch_head: head.clone(),
        resolved: options.resolved.clone(),
        resolve_trivial: options.resolve_trivial,
        owner: owner.clone(),
        request: ctx.request.clone(),
    };
    let begun = match ctx.begin(begin) {
        Err(failure) if failure.code == "stale.approval_void" => {
            return Err(void(ctx, task, head, failure));
        }
        other => other?,
    };
    if begun.repeated {
        return Ok(told(begun.outcome, begun.board.revision));
    }
    let id = begun.outcome["intent"].as_u64().unwrap_or_default();
    let Some(intent) = begun.board.intent(id).cloned() else {
        return Err(Failure::new("bug.intent", "the merge's intent is not on the board"));
    };
    crash::point("merge.begun");
    carry_out(ctx, &begun.board, &intent, &owner).map_err(|failure| {
        if let Some(step) = moved_all_the_same(ctx, id) {
            return after_the_move(&step, failure);
        }
        // Nothing was moved: the task goes back to what it was. If this fails too, the next command does it.
        let reason = failure.message.clone();
        let _ = ctx.commit_as_liza(CancelMerge { intent: id, owner: owner.clone(), reason });
        failure
    })
}

/// The recorded move of an intent, unless it is certain that it was not made: whatever failed may have failed after it.
pub fn moved_all_the_same(ctx: &Context, intent: u64) -> Option<RefMove> {
    let snapshot = ctx.store.read(&Needs::Nothing).ok()?;
    let step = snapshot.board.intent(intent)?.work.step()?.clone();
    super::recover::contains(ctx, &step.branch, &step.new).unwrap_or(true).then_some(step)
}

/// A branch that has moved is never called back: its intent stays open, and the next command puts it on record.
pub fn after_the_move(step: &RefMove, failure: Failure) -> Failure {
    Failure::new(
        "io.durability_unknown",
        format!(
            "`{}` is at {}, but this could not be put on record: {}",
            step.branch,
            step.new.short(),
            failure.message
        ),
    )
    .hint("the next liza command finishes it; check the disk before relying on it")
}

/// Whose turn it was, and what came of it.
pub struct First {
    pub task: TaskId,
    pub merged: Result<Merged, Failure>,
}

/// Merges the first of the queue that is wanted. Which one that is, is seen only when nobody else is merging: whoever
/// waited may find it merged, or one that is more urgent.
pub fn merge_first(
    ctx: &Context,
    options: &MergeOptions,
    wanted: impl Fn(&TaskId) -> bool,
) -> Result<Option<First>, Failure> {
    let alone = one_at_a_time(ctx)?;
    // What one that died here had landed is approved on the board no longer than until somebody looks.
    super::recover::recover(ctx)?;
    let snapshot = ctx.read_with(needed_for_reviews)?;
    let first = merge_order(&snapshot.board).into_iter().map(|task| task.id.clone()).find(|id| wanted(id));
    Ok(first.map(|task| {
        let merged = merge_alone(ctx, &task, options, &alone);
        First { task, merged }
    }))
}

/// Whoever merges has this; a process that dies gives it back.
fn one_at_a_time(ctx: &Context) -> Result<SideLock, Failure> {
    ctx.store.refuse_other_version()?;
    ctx.check_disk()?;
    let path = ctx.store.layout().merge_lock();
    match SideLock::acquire(&path, Duration::from_millis(200)) {
        Err(StoreError::Busy { .. }) => {}
        other => return Ok(other?),
    }
    ctx.narrate("somebody else is merging; waiting for that to end");
    let until = Instant::now() + MERGE_PATIENCE;
    loop {
        match SideLock::acquire(&path, Duration::from_secs(1)) {
            Err(StoreError::Busy { .. }) if Instant::now() < until => {}
            other => return Ok(other?),
        }
        if let Some(switch) = ctx.store.switches()?.global().filter(|set| set.kind == SwitchKind::Abort) {
            return Err(Failure::new("switch.set", format!("{} is set", switch.kind.as_str()))
                .hint("a person ends it with `liza resume`"));
        }
    }
}

fn told(data: Value, revision: u64) -> Merged {
    let result = match (data["outcome"].as_str(), data["gate"].is_string()) {
        (Some("merged"), _) => MergeResult::Merged,
        (_, true) => MergeResult::Red,
        _ => MergeResult::Conflict,
    };
    Merged { data, revision, result }
}

/// Moving a branch under somebody's checkout would make that checkout lie.
pub fn not_checked_out(ctx: &Context, branch: &str) -> Result<(), Failure> {
    match branch_checked_out_at(&ctx.repo, branch)? {
        None => Ok(()),
        Some(path) => Err(Failure::new(
            "refused.checked_out",
            format!("the branch `{branch}` is checked out in {}", path.display()),
        )
        .hint("switch to another branch there (`git switch -`), or detach (`git switch --detach`), then merge again")
        .detail("path", path.display().to_string())),
    }
}

fn void(ctx: &Context, task: &TaskId, branch_head: Option<CommitId>, failure: Failure) -> Failure {
    match ctx.commit_step(VoidApproval { task: task.clone(), branch_head }) {
        Ok(committed) => failure.with_data(committed.outcome, committed.board.revision),
        Err(error) => error,
    }
}

fn carry_out(ctx: &Context, board: &Board, intent: &Intent, owner: &Process) -> Result<Merged, Failure> {
    let (Work::Merge(work), Some(task)) = (&intent.work, &intent.task) else {
        return Err(Failure::new("bug.intent", "the intent is not a merge"));
    };
    let branch = &board.config().integration_branch;
    let refname = refs::of_branch(branch)?;
    for _ in 0..TRIES {
        // b
        let onto = integration_head(ctx, board)?;
        judged::not_foreign(ctx)?;
        let tree = match merged_tree(ctx, work, &onto)? {
            Tree::Made(tree) => tree,
            Tree::Conflict(failure) => return fail(ctx, intent, owner, &onto, *failure),
        };
        let commit = merge_commit(ctx, board, intent, work, task, &onto, &tree)?;
        ctx.query()?.pin(&format!("refs/liza/merges/{task}/{}", intent.id), &commit)?;
        crash::point("merge.commit");
        // c
        let gates = match judged::merged(ctx, task, &onto, &commit)? {
            Judged::Green(gates) => gates,
            Judged::Red(gates) => return fail(ctx, intent, owner, &onto, red(gates)),
        };
        crash::point("merge.gated");
        // d
        let step = RefMove { branch: branch.clone(), old: Some(onto.clone()), new: commit.clone() };
        ctx.commit_step(RecordMove { intent: intent.id, owner: owner.clone(), step, gates: Some(gates) })?;
        crash::point("merge.recorded");
        not_checked_out(ctx, branch)?;
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
        refs::sync_filesystem(&ctx.repo.common_dir)
            .map_err(|error| Failure::io("sync", &ctx.repo.common_dir, &error))?;
        landed(ctx, branch, work, &commit)?;
        crash::point("merge.synced");
        // g
        let finish = FinishMerge {
            intent: intent.id,
            owner: owner.clone(),
            merge_commit: commit,
            onto: onto.clone(),
            drift: drift(ctx, intent, &onto),
        };
        let finished = ctx.commit_step(finish)?;
        return Ok(told(finished.outcome, finished.board.revision));
    }
    Err(Failure::new("stale.ref", format!("`{branch}` kept moving; gave up after {TRIES} tries"))
        .hint("merge again when it is quieter; nothing was changed"))
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

fn merged_tree(ctx: &Context, work: &MergeWork, onto: &CommitId) -> Result<Tree, Failure> {
    let theirs = work.resolved.as_ref().unwrap_or(&work.review_commit);
    if let Some(resolved) = &work.resolved
        && !ctx.query()?.is_ancestor(&work.review_commit, resolved)?
    {
        return Err(Failure::new(
            "refused.not_ancestor",
            format!(
                "{} does not contain the approved commit {}",
                resolved.short(),
                work.review_commit.short()
            ),
        )
        .hint("make the resolution by merging the task's branch, then name that commit"));
    }
    // What was submitted is checked by its scope; a resolution may hold anything.
    no_private_paths(ctx, onto, theirs)?;
    match merge_tree(&ctx.repo, onto, theirs)? {
        MergeTree::Clean(tree) => Ok(Tree::Made(tree)),
        MergeTree::Conflict { tree, files } => match classify(&files) {
            Class::Trivial(resolutions) if work.resolve_trivial => {
                Ok(Tree::Made(resolve_tree(&ctx.repo, &tree, &resolutions)?))
            }
            Class::Trivial(_) => Ok(Tree::Conflict(Box::new(Conflict {
                failure: MergeFailure::TrivialConflict,
                reason: format!("Trivial conflict in {}", names(&files)),
                files,
                gates: None,
            }))),
            Class::Logic(reason) => Ok(Tree::Conflict(Box::new(Conflict {
                failure: MergeFailure::LogicConflict,
                reason: format!("Conflict in {}: {}", names(&files), reason.why),
                files,
                gates: None,
            }))),
        },
    }
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
) -> Result<CommitId, Failure> {
    let found = board.task(task);
    let title = found.map_or(task.as_str(), |task| task.body().title.as_str());
    let mut reviewers = found.map(crate::board::quorum::approvers).unwrap_or_default().into_iter();
    let first = reviewers.next().map_or("nobody", |reviewer| reviewer.as_str());
    let others: String = reviewers.map(|reviewer| format!("Reviewed-by: {reviewer}\n")).collect();
    let subject: String = title
        .chars()
        .map(|c| if crate::text::is_unseen(c) { ' ' } else { c })
        .take(100)
        .collect::<String>()
        .trim()
        .to_owned();
    // The branch moves here only once these have passed on this commit.
    let config = ctx.project_config()?;
    let gates: Vec<&str> =
        config.gates.iter().filter(|gate| gate.is_required()).map(|gate| gate.name.as_str()).collect();
    let gates = if gates.is_empty() { "none".to_owned() } else { gates.join(", ") };
    let message = format!(
        "Merge {task}: {subject}\n\nLiza-Task: {task}\nReviewed-by: {first}\n{others}Liza-Commit: {}\nLiza-Gates: {gates}\n",
        work.review_commit
    );
    let who = ctx.query()?.identity();
    let signature = who.at(intent.time.0);
    let theirs = work.resolved.clone().unwrap_or_else(|| work.review_commit.clone());
    let commit = NewCommit {
        tree,
        parents: &[onto.clone(), theirs],
        message: &message,
        author: &signature,
        committer: &signature,
    };
    Ok(commit_tree(&ctx.repo, &commit)?)
}

/// The branch contains the merge and with it the very commit that was approved.
fn landed(ctx: &Context, branch: &str, work: &MergeWork, commit: &CommitId) -> Result<(), Failure> {
    let query = ctx.query()?;
    let head = query.head_of_branch(branch)?;
    let there = match &head {
        Some(head) => query.is_ancestor(commit, head)? && query.is_ancestor(&work.review_commit, head)?,
        None => false,
    };
    if there {
        return Ok(());
    }
    Err(Failure::new("git.not_landed", format!("`{branch}` does not contain the merge {}", commit.short()))
        .hint("somebody moved the branch at the same moment; look at it with `git log`, then merge again"))
}

/// How many commits integration gained since the task's base.
pub fn drift(ctx: &Context, intent: &Intent, onto: &CommitId) -> u64 {
    let count = || -> Option<u64> {
        let task = intent.task.as_ref()?;
        let snapshot = ctx.store.read(&Needs::task(task)).ok()?;
        let base = snapshot.board.task(task)?.body().attempt()?.base_commit.clone();
        Some(ctx.query().ok()?.commits_between(&base, onto).ok()?.len() as u64)
    };
    count().unwrap_or(0)
}

fn fail(
    ctx: &Context,
    intent: &Intent,
    owner: &Process,
    onto: &CommitId,
    conflict: Conflict,
) -> Result<Merged, Failure> {
    let hunks = conflict
        .files
        .iter()
        .flat_map(|file| {
            file.hunks().map(|hunk| ConflictHunk {
                file: file.path.clone(),
                line: u32::try_from(hunk.line).unwrap_or(u32::MAX),
                ours: String::from_utf8_lossy(&hunk.ours).into_owned(),
                theirs: String::from_utf8_lossy(&hunk.theirs).into_owned(),
            })
        })
        .take(50)
        .collect();
    let failed = ctx.commit_step(FailMerge {
        intent: intent.id,
        owner: owner.clone(),
        failure: conflict.failure,
        reason: conflict.reason,
        onto: onto.clone(),
        files: conflict.files.into_iter().map(|file| file.path).collect(),
        hunks,
        log: None,
        gates: conflict.gates,
    })?;
    Ok(told(failed.outcome, failed.board.revision))
}
