//! Applying a bundle to the branch of a task: all of it or nothing.
//!
//! The commit is made at object level and the gates run on it before anything moves. Then the move is recorded, in the same
//! transaction that checks claim, epoch and paths for the last time; the branch moves by compare-and-swap, the task's
//! worktree follows, and the outcome is noted under the same epoch. Red gates, a conflict or a dirty worktree leave
//! everything unchanged. If a process dies between record and outcome, the next command finishes the work: forward if the
//! branch has moved, and the files follow; otherwise it is cancelled.

use super::super::branches::contains;
use super::super::recover::recover;
use super::{Loaded, build, contributors, examine, failure_for, files_of, listed, shown_path};
use crate::board::verb::TaskStatus;
use crate::flow::gates::{Question, judge};
use crate::flow::prelude::*;
use crate::git::tree::{bring_along, index_lock, is_on_branch, settle};
use crate::wire::bundle::Change;

/// A task's branch and worktree, at one commit.
struct TaskCheckout {
    worktree: PathBuf,
    branch: String,
    head: CommitId,
    prepared: Vec<String>,
}

/// A bundle that was applied, now or before.
#[derive(Debug, Serialize)]
pub struct Apply {
    #[serde(flatten)]
    pub applied: BundleApplied,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gates: Option<GateReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub already_applied: Option<bool>,
}

pub fn apply(ctx: &Context, loaded: &Loaded, task: &TaskId) -> Result<(Apply, u64)> {
    if let Some((applied, revision)) = ctx.answered()? {
        return Ok((Apply { applied, files: None, gates: None, already_applied: None }, revision));
    }
    ctx.check_disk()?;
    let bundle = &loaded.bundle;
    let files = files_of(bundle);
    let mut entry = BundleEntry { task: task.clone(), epoch: ctx.epoch_of(task) };
    let mut snapshot = ctx.read(&Needs::Everything)?;
    if snapshot.board.intent_of(task).is_some_and(|intent| !ctx.machine.works_on_intents(&intent.owner))
        && recover(ctx)? > 0
    {
        snapshot = ctx.read(&Needs::Everything)?;
    }
    ctx.integration_in_place(&snapshot.board)?;
    let holds = check_rule(ctx, &snapshot.board, |board, call| {
        entry.check_place(board, call).map(|task| task.assigned_to.as_ref() == Some(&call.by.id()))
    })?;
    // From here on the command acts under this claim only, not under a later one of the same holder.
    let epoch = snapshot.board.task(task).map(|task| task.epoch).unwrap_or_default();
    entry.epoch = Some(epoch);
    let checkout = task_checkout(ctx, &snapshot.board, task)?;
    if let Some(commit) = applied_before(ctx, &snapshot.board, loaded, task, &checkout)? {
        let applied = BundleApplied {
            task: task.clone(),
            bundle: bundle.metadata.id.clone(),
            path: shown_path(ctx, Path::new(&loaded.path)),
            commit,
        };
        let before = Apply { applied, files: Some(files), gates: None, already_applied: Some(true) };
        return Ok((before, snapshot.board.revision));
    }
    clean(&checkout, task)?;
    let applied = examine(ctx, &snapshot.board, bundle, &checkout.head, Some(task))?;
    if !applied.problems.is_empty() {
        let failure = failure_for(&loaded.path, &applied.problems);
        let only_conflicts = applied.problems.iter().all(|problem| problem.kind.is_conflict());
        // Only the agent that works on the task blocks it by this.
        return Err(if only_conflicts && holds { blocked(ctx, loaded, task, failure) } else { failure });
    }
    check_rule(ctx, &snapshot.board, |board, call| entry.check_paths(board, call, &files))?;
    for file in &applied.unverified {
        let remark = "the bundle has no checksum of this file; liza compared only the lines in its hunks";
        ctx.narrate(format!("{file}: {remark}"));
    }
    in_the_way(ctx, &checkout, task, &applied.changes)?;
    let built = build(ctx, bundle, &checkout.head, &applied.changes, Some(task))?;
    if built.tree == ctx.query()?.tree_of(&checkout.head)? {
        return Err(failure!(Code::NothingSubmitted, "the bundle changes nothing on `{}`", checkout.branch)
            .hint("the branch has this content already; nothing was changed"));
    }
    let implementers = contributors::recorded(ctx, &snapshot.board, bundle, Some(&built.tree))?;
    crash::point("bundle.built");
    let question = Question { task: Some(task), ..Question::new(Moment::Bundle, &built.commit) };
    let gates = judge(ctx, &question)?;
    gates.check(&built.commit, "apply the bundle")?;
    // The gates may have taken long: check the worktree again for changes made meanwhile.
    clean(&checkout, task)?;
    in_the_way(ctx, &checkout, task, &applied.changes)?;
    crash::point("bundle.judged");
    // A caller that lost the task meanwhile is refused here, before anything has moved.
    let begun = ctx.commit_step(BeginApply {
        task: task.clone(),
        epoch,
        bundle: bundle.metadata.id.clone(),
        path: shown_path(ctx, &loaded.path),
        worktree: shown_path(ctx, &checkout.worktree),
        files: files.clone(),
        implementers,
        step: RefMove {
            branch: checkout.branch.clone(),
            old: Some(checkout.head.clone()),
            new: built.commit.clone(),
        },
        owner: host::this_process(),
        gates: Some(gates.clone()),
    })?;
    let intent = begun.outcome.intent;
    crash::point("bundle.begun");
    if let Err(failure) = move_to(ctx, &checkout, &built.commit) {
        let owner = host::this_process();
        let reason = clipped(&failure.message, 500).into_owned();
        // A branch that could not be moved back stays on record: the next command updates the files.
        if !contains(ctx, &checkout.branch, &built.commit)? {
            ctx.commit_step(CancelApply { intent, owner, reason })?;
        }
        return Err(failure);
    }
    let committed = ctx.commit(FinishApply { intent, owner: host::this_process() })?;
    let (applied, revision) = committed.done();
    Ok((Apply { applied, files: Some(files), gates: Some(gates), already_applied: Some(false) }, revision))
}

/// Checks a rule against the present board.
fn check_rule<T>(
    ctx: &Context,
    board: &Board,
    rule: impl Fn(&Board, &Call) -> Result<T, Refusal>,
) -> Result<T> {
    let actor = board.identify(&ctx.credentials)?;
    let world = World { switches: ctx.store.switches()?, ..Default::default() };
    Ok(rule(board, &Call::new(actor, &host::now(), &world))?)
}

fn task_checkout(ctx: &Context, board: &Board, task: &TaskId) -> Result<TaskCheckout> {
    let (worktree, branch) = worktree_of(ctx, board, task)?;
    let head = content::head(&worktree)?;
    if !is_on_branch(&worktree, &branch)? || ctx.query()?.head_of_branch(&branch)?.as_ref() != Some(&head) {
        let path = worktree.display();
        let hint = format!("`git switch {branch}` in {path}, then apply the bundle; nothing was changed");
        let what = format!("the worktree of `{task}` is not on its branch `{branch}`");
        return Err(Failure::new(Code::WorktreeDirty, what).hint(hint).detail("paths", ["HEAD"]));
    }
    refuse_other_checkout(ctx, &worktree, &branch)?;
    let prepared = crate::flow::prepared::not_work(board, task);
    Ok(TaskCheckout { worktree, branch, head, prepared })
}

/// Moving a branch that another checkout has would make that checkout differ from its branch.
fn refuse_other_checkout(ctx: &Context, worktree: &Path, branch: &str) -> Result<()> {
    match checkouts::branch_checked_out_beside(&ctx.repo, branch, Some(worktree))? {
        None => Ok(()),
        Some(path) => {
            let path = path.display();
            Err(failure!(Code::CheckedOut, "the branch `{branch}` is checked out in {path}, too")
                .hint("switch to another branch there (`git switch -`), then apply the bundle; nothing was changed")
                .detail("path", path.to_string()))
        }
    }
}

/// Checks that the worktree has no uncommitted work, its index is not locked, and its branch has not moved.
fn clean(checkout: &TaskCheckout, task: &TaskId) -> Result<()> {
    if content::head(&checkout.worktree)? != checkout.head {
        return Err(failure!(Code::Commit, "the branch of `{task}` moved meanwhile")
            .hint("apply the bundle again; nothing was changed"));
    }
    if let Some(lock) = index_lock(&checkout.worktree)? {
        return Err(failure!(ErrorCode::StaleWorktree, "the index of the worktree of `{task}` is locked: {}", lock.display())
        .hint("if a git command works there, wait for it; otherwise a dead one left this file: move it away, then apply the bundle")
        .detail("path", lock.display().to_string()));
    }
    let mut found = uncommitted(&checkout.worktree, Filters::Run, &checkout.prepared)?;
    if content::merge_head(&checkout.worktree)?.is_some() {
        found.push("a merge in progress".to_owned());
    }
    if found.is_empty() { Ok(()) } else { Err(dirty(task, &found)) }
}

/// Ignored files do not make a worktree dirty, and git would overwrite them: no uncommitted file may be at the path
/// of a new file, or below a directory that a file replaces.
fn in_the_way(ctx: &Context, checkout: &TaskCheckout, task: &TaskId, changes: &[Change]) -> Result<()> {
    let query = ctx.query()?;
    let mut found = Vec::new();
    for change in changes {
        let Change::Write { path, .. } = change else { continue };
        let ends = path.match_indices('/').map(|(end, _)| end).chain([path.len()]);
        for part in ends.map(|end| &path[..end]) {
            let Ok(there) = checkout.worktree.join(part).symlink_metadata() else { break };
            let tracked = query.has_path(&checkout.head, part)?;
            if !tracked && (part == path || !there.is_dir()) {
                found.push(format!("{part} (ignored by git)"));
                break;
            }
            if tracked && part == path && there.is_dir() {
                let known = query.files_below(&checkout.head, path)?;
                collect_unknown_files(&checkout.worktree, path, &known, &mut found);
            }
        }
    }
    if found.is_empty() {
        return Ok(());
    }
    let what = format!("the worktree of `{task}` has files where the bundle adds files: {}", listed(&found));
    Err(Failure::new(Code::WorktreeDirty, what)
        .hint("move them away first, then apply the bundle; nothing was changed")
        .detail("paths", found))
}

/// Every file on disk below a directory except the known ones.
fn collect_unknown_files(worktree: &Path, dir: &str, known: &[String], found: &mut Vec<String>) {
    for entry in fs::read_dir(worktree.join(dir)).into_iter().flatten().flatten() {
        let path = format!("{dir}/{}", entry.file_name().to_string_lossy());
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            collect_unknown_files(worktree, &path, known, found);
        } else if !known.contains(&path) {
            found.push(format!("{path} (ignored by git)"));
        }
    }
}

fn dirty(task: &TaskId, found: &[String]) -> Failure {
    failure!(Code::WorktreeDirty, "the worktree of `{task}` has uncommitted files: {}", listed(found))
        .hint("commit them first, then apply the bundle; nothing was changed")
        .detail("paths", found.to_vec())
}

/// Blocks the task because of a conflict, and records what it waits for.
fn blocked(ctx: &Context, loaded: &Loaded, task: &TaskId, failure: Failure) -> Failure {
    let id = &loaded.bundle.metadata.id;
    let block = Block {
        from_first_claim: true,
        task: task.clone(),
        epoch: ctx.epoch_of(task),
        reason: format!("patch bundle {id} was not applied: {}", failure.message),
        questions: vec![format!(
            "Should the author update {id}, should {id} wait for the owner of the paths, or be dropped?"
        )],
    };
    match ctx.commit_step(block) {
        Ok(committed) => {
            let mut failure = failure;
            failure.hint = Some(format!(
                "nothing was applied and `{task}` is BLOCKED; `liza task unblock {task} --answer …` once that is decided"
            ));
            let (Blocked { task, status, .. }, revision) = committed.done();
            failure.with_data(TaskStatus { task, status }, revision)
        }
        Err(why) => {
            ctx.narrate(format!("the task could not be blocked: {}", why.message));
            failure
        }
    }
}

/// Moves the branch first, by compare-and-swap, then index and files. If the files cannot follow, undoes everything.
fn move_to(ctx: &Context, checkout: &TaskCheckout, commit: &CommitId) -> Result<()> {
    let refname = refs::of_branch(&checkout.branch)?;
    refs::update(&ctx.repo, &refname, commit, Expected::At(&checkout.head))?;
    crash::point("bundle.moved");
    let why = match bring_along(&checkout.worktree, &checkout.head, commit) {
        Ok(()) => {
            crash::point("bundle.brought");
            // Attributes may make git call a file changed that it has just written.
            let left = uncommitted(&checkout.worktree, Filters::Run, &checkout.prepared)?;
            if left.is_empty() {
                return Ok(());
            }
            format!("git reports these files as changed right after writing them: {}", listed(&left))
        }
        Err(error) => in_one_line(&error),
    };
    refs::update(&ctx.repo, &refname, &checkout.head, Expected::At(commit))?;
    let mut left = settle(&ctx.repo, ctx.query()?, &checkout.worktree, commit, &checkout.head)?;
    left.extend(uncommitted(&checkout.worktree, Filters::Run, &checkout.prepared)?);
    let there = match left.is_empty() {
        true => "branch and files are as before".to_owned(),
        false => format!("the branch is as before; look at these files: {}", listed(&left)),
    };
    let what =
        format!("the files of the worktree could not follow the branch: {why}; nothing was applied, {there}");
    Err(Failure::new(ErrorCode::StaleWorktree, what)
        .hint("remove the cause, then apply the bundle again")
        .detail("paths", left))
}

/// The first line of git's error output.
fn in_one_line(error: &GitError) -> String {
    let text = error.to_string();
    let has_text = |line: &&str| !line.trim().is_empty();
    let fatal = text.lines().find(|line| line.starts_with("fatal:"));
    let first = fatal.or_else(|| text.lines().find(has_text)).unwrap_or_default().trim();
    shown_line(&clipped(first, 300)).into_owned()
}

/// The commit on the branch that the board records for this bundle.
fn applied_before(
    ctx: &Context,
    board: &Board,
    loaded: &Loaded,
    task: &TaskId,
    checkout: &TaskCheckout,
) -> Result<Option<CommitId>> {
    let id = &loaded.bundle.metadata.id;
    let query = ctx.query()?;
    let history = board.task(task).map(|task| &task.body().history[..]).unwrap_or_default();
    for line in history.iter().filter(|line| line.event == Event::BundleApplied) {
        let (Some(detail), Some(commit)) = (&line.detail, &line.commit) else { continue };
        if detail != id || !query.has_commit(commit) || !query.is_ancestor(commit, &checkout.head)? {
            continue;
        }
        let [parent] = &query.parents_of(commit)?[..] else { continue };
        let again = crate::wire::bundle::apply(&loaded.bundle, &super::Files { ctx, commit: parent })?;
        if again.problems.is_empty()
            && super::tree_with(ctx, parent, &again.changes)? == query.tree_of(commit)?
        {
            return Ok(Some(commit.clone()));
        }
    }
    Ok(None)
}
