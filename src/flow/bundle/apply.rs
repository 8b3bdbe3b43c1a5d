//! Applying a bundle to the branch of a task: all of it or nothing.
//!
//! The commit is made at object level and judged by the gates before anything moves. Then the move is put on record, in the
//! same transaction that looks at claim, epoch and paths for the last time; the branch moves by compare-and-swap, the task's
//! worktree follows, and the outcome is noted under the same epoch. Red gates, a conflict or a dirty worktree leave
//! everything as it was. What a dead process left between the record and the outcome is ended by whatever command comes
//! next: forward if the branch has moved, and the files follow; otherwise it is cancelled.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::board::gates::Moment;
use crate::board::history::Event;
use crate::board::intent::{ApplyWork, RefMove};
use crate::board::rules::{BeginApply, Block, BundleEntry, CancelApply, FinishApply};
use crate::board::{AgentId, Board, Call, CommitId, Needs, TaskId, World};
use crate::flow::claim::worktree_of;
use crate::flow::gates::{Question, judge};
use crate::git::content::{self, Filters};
use crate::git::tree::{bring_along, index_lock, is_on_branch, settle};
use crate::git::{Expected, GitError, checkouts, refs};
use crate::host::crash;
use crate::wire::bundle::Change;

use super::super::context::Context;
use super::super::failure::Failure;
use super::super::recover::{contains, recover};
use super::{Loaded, build, examine, files_of, hands, listed, shown_path, told};

/// A task's own place: its branch and worktree, at one commit.
struct Place {
    worktree: PathBuf,
    branch: String,
    head: CommitId,
}

pub fn apply(ctx: &Context, loaded: &Loaded, task: &TaskId) -> Result<(Value, u64), Failure> {
    if let Some(answer) = ctx.answered()? {
        return Ok(answer);
    }
    ctx.check_disk()?;
    let bundle = &loaded.bundle;
    let files = files_of(bundle);
    let mut entry = BundleEntry { task: task.clone(), epoch: ctx.epoch_of(task) };
    let mut snapshot = ctx.read(&Needs::Everything)?;
    if snapshot.board.intent_of(task).is_some_and(|intent| !crate::host::lives(&intent.owner))
        && recover(ctx)? > 0
    {
        snapshot = ctx.read(&Needs::Everything)?;
    }
    ctx.integration_in_place(&snapshot.board)?;
    let holds = allowed(ctx, &snapshot.board, |board, call| {
        entry.check_place(board, call).map(|task| task.assigned_to.as_ref() == Some(&call.by.id()))
    })?;
    // From here on it is this claim and no later one, also of the same holder.
    let epoch = snapshot.board.task(task).map(|task| task.epoch).unwrap_or_default();
    entry.epoch = Some(epoch);
    let place = place(ctx, &snapshot.board, task)?;
    if let Some(commit) = applied_before(ctx, &snapshot.board, loaded, task, &place)? {
        let data = json!({
            "task": task, "bundle": bundle.metadata.id, "path": shown_path(ctx, Path::new(&loaded.path)),
            "commit": commit, "files": files, "already_applied": true,
        });
        return Ok((data, snapshot.board.revision));
    }
    clean(&place, task)?;
    let applied = examine(ctx, &snapshot.board, bundle, &place.head, Some(task))?;
    if !applied.problems.is_empty() {
        let failure = told(&loaded.path, &applied.problems);
        let fits_not = applied.problems.iter().all(|problem| problem.kind.is_conflict());
        // Only whoever works on the task stops it by this.
        return Err(if fits_not && holds { blocked(ctx, loaded, task, failure) } else { failure });
    }
    allowed(ctx, &snapshot.board, |board, call| entry.check_paths(board, call, &files))?;
    for file in &applied.unverified {
        ctx.narrate(format!(
            "{file}: the bundle gives no checksum of it; only the lines it names were compared"
        ));
    }
    in_the_way(ctx, &place, task, &applied.changes)?;
    let built = build(ctx, bundle, &place.head, &applied.changes, Some(task))?;
    if built.tree == ctx.query()?.tree_of(&place.head)? {
        return Err(Failure::new(
            "refused.empty",
            format!("the bundle changes nothing on `{}`", place.branch),
        )
        .hint("its content is there already; nothing was changed"));
    }
    let implementers = hands::recorded(ctx, &snapshot.board, bundle, Some(&built.tree))?;
    crash::point("bundle.built");
    // Asked for no task: what a task's own gates said last is about what it handed in.
    let gates = judge(ctx, &Question::new(Moment::Bundle, &built.commit))?;
    gates.check(&built.commit, "apply the bundle")?;
    // The gates may have taken long: whoever changed the worktree meanwhile is heard now.
    clean(&place, task)?;
    in_the_way(ctx, &place, task, &applied.changes)?;
    crash::point("bundle.judged");
    let begin = Begun { loaded, task, epoch, files: &files, implementers };
    let intent = begin.record(ctx, &place, &built.commit)?;
    crash::point("bundle.begun");
    if let Err(failure) = move_to(ctx, &place, &built.commit) {
        let owner = crate::host::this_process();
        let reason = crate::text::clipped(&failure.message, 500).into_owned();
        // A branch that could not be taken back stays on record: the next command brings the files along.
        if !contains(ctx, &place.branch, &built.commit)? {
            ctx.commit_step(CancelApply { intent, owner, reason })?;
        }
        return Err(failure);
    }
    let committed = ctx.commit(FinishApply { intent, owner: crate::host::this_process() })?;
    let mut data = committed.outcome;
    data["files"] = json!(files);
    data["gates"] = serde_json::to_value(&gates).unwrap_or_default();
    data["already_applied"] = json!(false);
    Ok((data, committed.board.revision))
}

struct Begun<'b> {
    loaded: &'b Loaded,
    task: &'b TaskId,
    epoch: u64,
    files: &'b [String],
    implementers: Vec<AgentId>,
}

impl Begun<'_> {
    /// Puts the move on record; whoever lost the task meanwhile is refused here, before anything has moved.
    fn record(self, ctx: &Context, place: &Place, commit: &CommitId) -> Result<u64, Failure> {
        let begun = ctx.commit_step(BeginApply {
            task: self.task.clone(),
            epoch: self.epoch,
            bundle: self.loaded.bundle.metadata.id.clone(),
            path: shown_path(ctx, &self.loaded.path),
            worktree: shown_path(ctx, &place.worktree),
            files: self.files.to_vec(),
            implementers: self.implementers,
            step: RefMove {
                branch: place.branch.clone(),
                old: Some(place.head.clone()),
                new: commit.clone(),
            },
            owner: crate::host::this_process(),
        })?;
        begun.outcome["intent"]
            .as_u64()
            .ok_or_else(|| Failure::new("bug.bundle", "the board did not say which work was begun"))
    }
}

/// Asks a rule about the board as it is.
fn allowed<T>(
    ctx: &Context,
    board: &Board,
    rule: impl Fn(&Board, &Call) -> Result<T, crate::board::Refusal>,
) -> Result<T, Failure> {
    let actor = board.identify(&ctx.credentials)?;
    let world = World { switches: ctx.store.switches()?, ..Default::default() };
    Ok(rule(board, &Call::new(actor, &crate::host::now(), &world))?)
}

fn place(ctx: &Context, board: &Board, task: &TaskId) -> Result<Place, Failure> {
    let (worktree, branch) = worktree_of(ctx, board, task)?;
    let head = content::head(&worktree)?;
    if !is_on_branch(&worktree, &branch)? || ctx.query()?.head_of_branch(&branch)?.as_ref() != Some(&head) {
        return Err(Failure::new(
            "refused.worktree_dirty",
            format!("the worktree of `{task}` is not on its branch `{branch}`"),
        )
        .hint(format!(
            "`git switch {branch}` in {}, then apply the bundle; nothing was changed",
            worktree.display()
        ))
        .detail("paths", ["HEAD"]));
    }
    elsewhere(ctx, &worktree, &branch)?;
    Ok(Place { worktree, branch, head })
}

/// Moving a branch under another checkout would make that one lie.
fn elsewhere(ctx: &Context, worktree: &Path, branch: &str) -> Result<(), Failure> {
    match checkouts::branch_checked_out_beside(&ctx.repo, branch, Some(worktree))? {
        None => Ok(()),
        Some(path) => Err(Failure::new(
            "refused.checked_out",
            format!("the branch `{branch}` is checked out in {}, too", path.display()),
        )
        .hint("switch to another branch there (`git switch -`), then apply the bundle; nothing was changed")
        .detail("path", path.display().to_string())),
    }
}

/// The worktree has nothing in it that is not committed, nobody is at work on its index, and it is still where it was.
fn clean(place: &Place, task: &TaskId) -> Result<(), Failure> {
    if content::head(&place.worktree)? != place.head {
        return Err(Failure::new("stale.commit", format!("the branch of `{task}` moved meanwhile"))
            .hint("apply the bundle again; nothing was changed"));
    }
    if let Some(lock) = index_lock(&place.worktree)? {
        return Err(Failure::new(
            "stale.worktree",
            format!("the index of the worktree of `{task}` is locked: {}", lock.display()),
        )
        .hint("wait for the git that is at work there; if none is, it died and left this file: move it away, then apply the bundle")
        .detail("path", lock.display().to_string()));
    }
    let mut found: Vec<String> =
        content::status(&place.worktree, Filters::Run)?.into_iter().map(|found| found.path).collect();
    if content::merge_head(&place.worktree)?.is_some() {
        found.push("a merge in progress".to_owned());
    }
    if found.is_empty() { Ok(()) } else { Err(dirty(task, &found)) }
}

/// Ignored files do not make a worktree dirty, and git would write over them: where a file is to come, nothing may be that
/// is in no commit, and neither may anything below a directory whose place it takes.
fn in_the_way(ctx: &Context, place: &Place, task: &TaskId, changes: &[Change]) -> Result<(), Failure> {
    let query = ctx.query()?;
    let mut found = Vec::new();
    for change in changes {
        let Change::Write { path, .. } = change else { continue };
        let ends = path.match_indices('/').map(|(end, _)| end).chain([path.len()]);
        for part in ends.map(|end| &path[..end]) {
            let Ok(there) = place.worktree.join(part).symlink_metadata() else { break };
            let tracked = query.has_path(&place.head, part)?;
            if !tracked && (part == path || !there.is_dir()) {
                found.push(format!("{part} (ignored by git)"));
                break;
            }
            if tracked && part == path && there.is_dir() {
                let known = query.files_below(&place.head, path)?;
                below(&place.worktree, path, &known, &mut found);
            }
        }
    }
    if found.is_empty() {
        return Ok(());
    }
    Err(Failure::new(
        "refused.worktree_dirty",
        format!("the worktree of `{task}` has files where new ones are to come: {}", listed(&found)),
    )
    .hint("move them away first, then apply the bundle; nothing was changed")
    .detail("paths", found))
}

/// Everything on disk below a directory that is none of the known files.
fn below(worktree: &Path, dir: &str, known: &[String], found: &mut Vec<String>) {
    for entry in std::fs::read_dir(worktree.join(dir)).into_iter().flatten().flatten() {
        let path = format!("{dir}/{}", entry.file_name().to_string_lossy());
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            below(worktree, &path, known, found);
        } else if !known.contains(&path) {
            found.push(format!("{path} (ignored by git)"));
        }
    }
}

fn dirty(task: &TaskId, found: &[String]) -> Failure {
    Failure::new(
        "refused.worktree_dirty",
        format!("the worktree of `{task}` has uncommitted files: {}", listed(found)),
    )
    .hint("commit them first, then apply the bundle; nothing was changed")
    .detail("paths", found.to_vec())
}

/// A conflict stops the task, and the task says what it waits for.
fn blocked(ctx: &Context, loaded: &Loaded, task: &TaskId, failure: Failure) -> Failure {
    let id = &loaded.bundle.metadata.id;
    let block = Block {
        task: task.clone(),
        epoch: ctx.epoch_of(task),
        reason: format!("patch bundle {id} was not applied: {}", failure.message),
        questions: vec![format!(
            "Is {id} to be brought up to date, to wait for whoever owns the paths, or to be dropped?"
        )],
    };
    match ctx.commit_step(block) {
        Ok(committed) => {
            let mut failure = failure;
            failure.hint = Some(format!(
                "nothing was applied and `{task}` is BLOCKED; `liza task unblock {task} --answer …` once it is settled"
            ));
            failure.with_data(json!({ "task": task, "status": "BLOCKED" }), committed.board.revision)
        }
        Err(why) => {
            ctx.narrate(format!("the task could not be blocked: {}", why.message));
            failure
        }
    }
}

/// The branch first, by compare-and-swap, then index and files. What cannot follow takes everything back.
fn move_to(ctx: &Context, place: &Place, commit: &CommitId) -> Result<(), Failure> {
    let refname = refs::of_branch(&place.branch)?;
    refs::update(&ctx.repo, &refname, commit, Expected::At(&place.head))?;
    crash::point("bundle.moved");
    let why = match bring_along(&place.worktree, &place.head, commit) {
        Ok(()) => {
            crash::point("bundle.brought");
            // Attributes may make git call a file changed that it has just written.
            let left = content::status(&place.worktree, Filters::Run)?;
            if left.is_empty() {
                return Ok(());
            }
            let left: Vec<String> = left.into_iter().map(|found| found.path).collect();
            format!("git calls these changed as soon as it wrote them: {}", listed(&left))
        }
        Err(error) => in_one_line(&error),
    };
    refs::update(&ctx.repo, &refname, &place.head, Expected::At(commit))?;
    let theirs = settle(&ctx.repo, ctx.query()?, &place.worktree, commit, &place.head)?;
    let left = content::status(&place.worktree, Filters::Run)?;
    let left: Vec<String> = theirs.into_iter().chain(left.into_iter().map(|found| found.path)).collect();
    let there = match left.is_empty() {
        true => "branch and files are as before".to_owned(),
        false => format!("the branch is as before; look at these files: {}", listed(&left)),
    };
    Err(Failure::new(
        "stale.worktree",
        format!("the files of the worktree could not follow the branch: {why}; nothing was applied, {there}"),
    )
    .hint("put right what stands in the way, then apply the bundle again")
    .detail("paths", left))
}

/// What git complains of first.
fn in_one_line(error: &GitError) -> String {
    let text = error.to_string();
    let said = |line: &&str| !line.trim().is_empty();
    let fatal = text.lines().find(|line| line.starts_with("fatal:"));
    let first = fatal.or_else(|| text.lines().find(said)).unwrap_or_default().trim();
    crate::text::shown_line(&crate::text::clipped(first, 300)).into_owned()
}

/// Ends what a dead process began and had moved the branch for already: the files follow, as far as they are its own.
pub fn follow(ctx: &Context, work: &ApplyWork) -> Result<(), Failure> {
    let worktree = ctx.root().join(&work.worktree);
    let Some(old) = &work.step.old else { return Ok(()) };
    let query = ctx.query()?;
    // A worktree that is gone, or has been led elsewhere since, is nobody's to follow.
    if checkouts::check_sound(&ctx.repo, &worktree).is_err()
        || !is_on_branch(&worktree, &work.step.branch)?
        || query.head_of_branch(&work.step.branch)?.as_ref() != Some(&work.step.new)
    {
        return Ok(());
    }
    // A git that died with the command has left its lock.
    crate::git::locks::clear_dead(&worktree, &super::super::leftovers::git_dir(ctx, &worktree));
    if let Some(lock) = index_lock(&worktree)? {
        return Err(Failure::new(
            "stale.worktree",
            format!("the index of {} is locked: {}", worktree.display(), lock.display()),
        )
        .hint("wait for the git that is at work there; if none is, move this file away"));
    }
    let theirs = settle(&ctx.repo, query, &worktree, old, &work.step.new)?;
    if !theirs.is_empty() {
        ctx.narrate(format!(
            "in {}, these were changed by somebody else and stay as they are: {}",
            worktree.display(),
            listed(&theirs)
        ));
    }
    Ok(())
}

/// The commit on the branch that is this very bundle, as the board noted it.
fn applied_before(
    ctx: &Context,
    board: &Board,
    loaded: &Loaded,
    task: &TaskId,
    place: &Place,
) -> Result<Option<CommitId>, Failure> {
    let id = &loaded.bundle.metadata.id;
    let query = ctx.query()?;
    let history = board.task(task).map(|task| &task.body().history[..]).unwrap_or_default();
    for line in history.iter().filter(|line| line.event == Event::BundleApplied) {
        let (Some(detail), Some(commit)) = (&line.detail, &line.commit) else { continue };
        if detail != id || !query.has_commit(commit) || !query.is_ancestor(commit, &place.head)? {
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
