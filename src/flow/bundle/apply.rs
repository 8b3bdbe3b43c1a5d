//! Applying a bundle to the branch of a task: all of it or nothing.
//!
//! The commit is made at object level and judged by the gates before anything moves. Then the branch moves by
//! compare-and-swap, the task's worktree follows, and it is noted on the board. Red gates, a conflict or a dirty worktree
//! leave everything as it was. Whoever dies between the move and the worktree leaves a branch that is ahead of its
//! worktree by exactly this commit; applying the bundle again finds that and brings the worktree along.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::board::gates::Moment;
use crate::board::history::Event;
use crate::board::rules::{Block, BundleApplied, BundleEntry, RecordBundle};
use crate::board::{Board, Call, CommitId, Needs, TaskId, World};
use crate::flow::claim::worktree_of;
use crate::flow::gates::{Question, judge};
use crate::git::content::{self, Filters};
use crate::git::tree::{blob_of, bring_along, is_on_branch, restore_files};
use crate::git::{Expected, Query, locks, refs};
use crate::host::crash;
use crate::store::files::read_whole;
use crate::wire::bundle::Change;

use super::super::context::Context;
use super::super::failure::Failure;
use super::super::leftovers::git_dir;
use super::{BUNDLE_TRAILER, Loaded, build, examine, files_of, shown_path, told};

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
    let snapshot = ctx.read(&Needs::task(task))?;
    ctx.integration_in_place(&snapshot.board)?;
    allowed(ctx, &snapshot.board, |board, call| entry.check_place(board, call).map(|_| ()))?;
    // From here on it is this claim and no later one, also of the same holder.
    entry.epoch = snapshot.board.task(task).map(|task| task.epoch);
    let place = place(ctx, &snapshot.board, task)?;
    if let Some((commit, parent)) = applied_before(ctx, &snapshot.board, loaded, task, &place)? {
        return finish(ctx, loaded, task, &place, (&commit, &parent));
    }
    clean(&place, task)?;
    let applied = examine(ctx, &snapshot.board, bundle, &place.head, Some(task))?;
    if !applied.problems.is_empty() {
        let failure = told(&loaded.path, &applied.problems);
        let fits_not = applied.problems.iter().all(|problem| problem.kind.is_conflict());
        return Err(if fits_not { blocked(ctx, loaded, task, failure) } else { failure });
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
    crash::point("bundle.built");
    let question = Question { task: Some(task), ..Question::new(Moment::Bundle, &built.commit) };
    let gates = judge(ctx, &question)?;
    gates.check(&built.commit, "apply the bundle")?;
    // The gates may have taken long: whoever lost the task meanwhile, or changed the worktree, is heard now.
    let snapshot = ctx.read(&Needs::task(task))?;
    allowed(ctx, &snapshot.board, |board, call| {
        entry.check_place(board, call)?;
        entry.check_paths(board, call, &files)
    })?;
    clean(&place, task)?;
    in_the_way(ctx, &place, task, &applied.changes)?;
    crash::point("bundle.judged");
    move_to(ctx, &place, &built.commit)?;
    let (mut data, revision) = record(ctx, loaded, task, &built.commit)?;
    data["gates"] = serde_json::to_value(&gates).unwrap_or_default();
    data["already_applied"] = json!(false);
    Ok((data, revision))
}

/// Asks a rule about the board as it is.
fn allowed(
    ctx: &Context,
    board: &Board,
    rule: impl Fn(&Board, &Call) -> Result<(), crate::board::Refusal>,
) -> Result<(), Failure> {
    let actor = board.identify(&ctx.credentials)?;
    let world = World { switches: ctx.store.switches()?, ..Default::default() };
    Ok(rule(board, &Call::new(actor, &crate::host::now(), &world))?)
}

fn place(ctx: &Context, board: &Board, task: &TaskId) -> Result<Place, Failure> {
    let (worktree, branch) = worktree_of(ctx, board, task)?;
    let head = content::head(&worktree)?;
    if !is_on_branch(&worktree, &branch)? || ctx.query()?.head_of_branch(&branch)?.as_ref() != Some(&head) {
        return Err(dirty(task, &[format!("HEAD (not at the head of branch {branch})")]));
    }
    Ok(Place { worktree, branch, head })
}

/// The worktree has nothing in it that is not committed, and is still where it was.
fn clean(place: &Place, task: &TaskId) -> Result<(), Failure> {
    if content::head(&place.worktree)? != place.head {
        return Err(Failure::new("stale.commit", format!("the branch of `{task}` moved meanwhile"))
            .hint("apply the bundle again; nothing was changed"));
    }
    let mut found: Vec<String> =
        content::status(&place.worktree, Filters::Run)?.into_iter().map(|found| found.path).collect();
    if content::merge_head(&place.worktree)?.is_some() {
        found.push("a merge in progress".to_owned());
    }
    if found.is_empty() { Ok(()) } else { Err(dirty(task, &found)) }
}

/// Ignored files do not make a worktree dirty, and git would write over them: where a new file is to come, nothing may be.
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

fn listed(found: &[String]) -> String {
    let mut text = found.iter().take(20).cloned().collect::<Vec<_>>().join(", ");
    if found.len() > 20 {
        text.push_str(&format!(" and {} more", found.len() - 20));
    }
    text
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

/// The branch first, by compare-and-swap, then index and files. What cannot follow takes the branch back.
fn move_to(ctx: &Context, place: &Place, commit: &CommitId) -> Result<(), Failure> {
    let refname = refs::of_branch(&place.branch)?;
    refs::update(&ctx.repo, &refname, commit, Expected::At(&place.head))?;
    crash::point("bundle.moved");
    if let Err(error) = bring_along(&place.worktree, &place.head, commit) {
        // Somebody writes there at this very moment: git refused before it changed a file.
        refs::update(&ctx.repo, &refname, &place.head, Expected::At(commit))?;
        return Err(Failure::new(
            "stale.worktree",
            format!("the worktree changed while the bundle was applied; nothing was applied ({error})"),
        )
        .hint("commit or put away what is there, then apply the bundle again"));
    }
    crash::point("bundle.brought");
    Ok(())
}

fn record(ctx: &Context, loaded: &Loaded, task: &TaskId, commit: &CommitId) -> Result<(Value, u64), Failure> {
    let metadata = &loaded.bundle.metadata;
    let record = RecordBundle {
        task: task.clone(),
        id: metadata.id.clone(),
        path: shown_path(ctx, &loaded.path),
        applied: Some(BundleApplied { commit: commit.clone(), author: metadata.author.clone() }),
    };
    let committed = ctx.commit(record)?;
    let mut data = committed.outcome;
    data["commit"] = json!(commit);
    data["files"] = json!(files_of(&loaded.bundle));
    Ok((data, committed.board.revision))
}

/// The commit on the branch that is this very bundle, and the one before it: its head, or one that the board knows of.
fn applied_before(
    ctx: &Context,
    board: &Board,
    loaded: &Loaded,
    task: &TaskId,
    place: &Place,
) -> Result<Option<(CommitId, CommitId)>, Failure> {
    let id = &loaded.bundle.metadata.id;
    let mark = format!("{BUNDLE_TRAILER}{id}");
    let query = ctx.query()?;
    let mut commits = Vec::new();
    if query.message_of(&place.head)?.lines().any(|line| line == mark) {
        commits.push(place.head.clone());
    }
    let history = board.task(task).map(|task| &task.body().history[..]).unwrap_or_default();
    for line in history.iter().filter(|line| line.event == Event::BundleApplied) {
        if let (Some(detail), Some(commit)) = (&line.detail, &line.commit)
            && detail == id
            && query.is_ancestor(commit, &place.head)?
        {
            commits.push(commit.clone());
        }
    }
    for commit in commits {
        let [parent] = &query.parents_of(&commit)?[..] else { continue };
        let again = crate::wire::bundle::apply(&loaded.bundle, &super::Files { ctx, commit: parent })?;
        if again.problems.is_empty()
            && super::tree_with(ctx, parent, &again.changes)? == query.tree_of(&commit)?
        {
            return Ok(Some((commit, parent.clone())));
        }
    }
    Ok(None)
}

/// The branch is there already: brings a worktree along that stayed behind, and notes what was not noted.
fn finish(
    ctx: &Context,
    loaded: &Loaded,
    task: &TaskId,
    place: &Place,
    (commit, parent): (&CommitId, &CommitId),
) -> Result<(Value, u64), Failure> {
    let behind = content::status(&place.worktree, Filters::Run)?;
    // Behind a branch that went on since, only somebody's own changes can be.
    if commit == &place.head && !behind.is_empty() {
        let mut paths: Vec<String> = behind.iter().map(|found| found.path.clone()).collect();
        // One that differs from the index and from the commit is told twice.
        paths.dedup();
        let foreign = not_ours(ctx, loaded, place, parent, &paths)?;
        if !foreign.is_empty() {
            return Err(dirty(task, &foreign));
        }
        // A git that died with the command has left its lock.
        locks::clear_dead(&place.worktree, &git_dir(ctx, &place.worktree));
        if bring_along(&place.worktree, parent, &place.head).is_err() {
            // Some files follow already. Every one that differs was seen to be as before or as afterwards.
            restore_files(&place.worktree, &place.head, &paths)?;
        }
        clean(place, task)?;
        ctx.narrate("an earlier command moved the branch and died; the worktree was brought along");
    }
    let (mut data, revision) = record_once(ctx, loaded, task, commit)?;
    data["already_applied"] = json!(true);
    Ok((data, revision))
}

/// Those of the paths that the bundle does not change, or whose content is neither as before nor as afterwards.
fn not_ours(
    ctx: &Context,
    loaded: &Loaded,
    place: &Place,
    parent: &CommitId,
    paths: &[String],
) -> Result<Vec<String>, Failure> {
    let query = ctx.query()?;
    let changed = files_of(&loaded.bundle);
    let mut foreign = Vec::new();
    for path in paths {
        // One that is missing was on its way from one to the other; what is no file is somebody's.
        let ours = changed.contains(path)
            && match blob_of(&place.worktree, path) {
                Ok(None) => true,
                Ok(now) => {
                    now == query.blob_id(parent, path)?
                        || now == query.blob_id(&place.head, path)?
                        || is_half_written(query, place, path)?
                }
                Err(_) => false,
            };
        if !ours {
            foreign.push(path.clone());
        }
    }
    Ok(foreign)
}

/// Whether a file is the beginning of what it is to be: git was killed while it wrote it, and nothing of anybody's is in it.
fn is_half_written(query: &Query, place: &Place, path: &str) -> Result<bool, Failure> {
    let Some(whole) = query.file_at(&place.head, path)? else { return Ok(false) };
    let now = read_whole(&place.worktree.join(path), whole.len() as u64);
    Ok(now.is_ok_and(|(now, _)| whole.starts_with(&now)))
}

fn record_once(
    ctx: &Context,
    loaded: &Loaded,
    task: &TaskId,
    commit: &CommitId,
) -> Result<(Value, u64), Failure> {
    let snapshot = ctx.read(&Needs::task(task))?;
    let noted = snapshot.board.task(task).is_some_and(|task| {
        let history = &task.body().history;
        history.iter().any(|line| line.event == Event::BundleApplied && line.commit.as_ref() == Some(commit))
    });
    if !noted {
        return record(ctx, loaded, task, commit);
    }
    let data = json!({
        "task": task, "bundle": loaded.bundle.metadata.id, "path": shown_path(ctx, Path::new(&loaded.path)),
        "commit": commit, "files": files_of(&loaded.bundle),
    });
    Ok((data, snapshot.board.revision))
}
