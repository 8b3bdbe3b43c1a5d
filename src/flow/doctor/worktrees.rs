//! Worktrees that are incomplete, missing or damaged.

use super::{Finding, Scene};
use crate::flow::ownership::{self, KnownOwners, MERGES, WorktreeEntry};
use crate::flow::prelude::*;

/// Runs an action on liza's worktrees under their lock.
fn with_worktrees<T>(ctx: &Context, act: impl FnOnce(&Worktrees) -> Result<T>) -> Result<T> {
    let _one_at_a_time = ctx.machine.lock_worktrees_within(ctx.store.patience())?;
    act(&ctx.worktrees())
}

fn to_trash(ctx: &Context, path: &Path) -> Result<Option<String>> {
    let kept = with_worktrees(ctx, |worktrees| Ok(worktrees.remove_to_trash(path)?))?;
    Ok(kept.map(|kept| format!("as {}", kept.display())))
}

/// Records that a kill inside `git worktree add` left behind.
pub fn half_made(scene: &Scene) -> Result<Vec<Finding>> {
    let ctx = scene.ctx;
    let worktrees = ctx.worktrees();
    let why = "git may fail in the whole repository while this record exists";
    let mut found = Vec::new();
    for record in checkouts::list(&ctx.repo)?.into_iter().filter(checkouts::Checkout::is_half_made) {
        let what = format!("the worktree record {} is incomplete", record.name);
        found.push(if worktrees.is_ours(&record) {
            let name = record.name.clone();
            Finding::new("worktree.half_made", what, why, "moves it to .liza/trash").fixed_by(move |ctx| {
                // One call fixes all of them; later findings are fixed already.
                with_worktrees(ctx, |worktrees| Ok(worktrees.heal()?))?;
                let left = checkouts::list(&ctx.repo)?;
                if left.iter().any(|record| record.name == name && record.is_half_made()) {
                    return Err(Failure::new(ErrorCode::GitWorktree, "it is still there"));
                }
                Ok(None)
            })
        } else {
            let path = record.admin_dir.display();
            let remedy =
                format!("it is not liza's: look at {path}, and move it away if no process is making it");
            Finding::new("worktree.half_made", what, why, remedy)
        });
    }
    Ok(found)
}

/// Worktrees whose record has the path from before the repository was moved or renamed: the record has liza's mark,
/// nothing exists at the old path, and the directory is at the same path below `.worktrees`.
fn moved_records(ctx: &Context) -> Result<Vec<(checkouts::Checkout, PathBuf)>> {
    let home = ctx.machine.worktrees();
    let mut found = Vec::new();
    for record in checkouts::list(&ctx.repo)? {
        let ours = record.locked.as_deref().is_some_and(Worktrees::is_own_lock) && !record.is_half_made();
        let Some(old) = record.path.clone().filter(|old| ours && !old.starts_with(home)) else { continue };
        let mut parts = old.components().rev();
        let below: Vec<_> =
            parts.by_ref().take_while(|part| part.as_os_str() != crate::store::WORKTREES).collect();
        let now = home.join(below.into_iter().rev().collect::<PathBuf>());
        let is_there = now != home && now.symlink_metadata().is_ok_and(|meta| meta.is_dir());
        if is_there && old.symlink_metadata().is_err() {
            found.push((record, now));
        }
    }
    Ok(found)
}

pub fn moved(scene: &Scene) -> Result<Vec<Finding>> {
    let found = moved_records(scene.ctx)?.into_iter().map(|(record, now)| {
        let old = record.path.clone().unwrap_or_default();
        Finding::new(
            "worktree.moved",
            format!(
                "the worktree {} is on record at {}: the repository was moved",
                now.display(),
                old.display()
            ),
            "git cannot connect record and worktree, so no work can continue there",
            "connects record and worktree again; the files stay as they are",
        )
        .fixed_by(move |ctx| {
            with_worktrees(ctx, |worktrees| Ok(worktrees.relink(&record, &now)?))?;
            checkouts::check_sound(&ctx.repo, &now)
                .map(|()| None)
                .map_err(|fault| Failure::new(ErrorCode::GitWorktree, fault.to_string()))
        })
    });
    Ok(found.collect())
}

/// Tasks whose worktree is gone or unusable.
pub fn of_tasks(scene: &Scene) -> Result<Vec<Finding>> {
    let Some(board) = scene.board() else { return Ok(Vec::new()) };
    let ctx = scene.ctx;
    let mut found = Vec::new();
    let moved = moved_records(ctx)?;
    for task in board.tasks.iter().filter(|task| !task.status.is_terminal()) {
        let Some(attempt) = task.body().attempt() else { continue };
        let path = ctx.root().join(&attempt.worktree);
        if moved.iter().any(|(_, now)| *now == path) {
            continue;
        }
        let Err(fault) = checkouts::check_sound(&ctx.repo, &path) else { continue };
        let what = format!("the worktree of {}: {fault}", task.id);
        if let Some(finding) = lost_git_file(ctx, &path, &what)? {
            found.push(finding);
            continue;
        }
        found.push(Finding::new(
            "worktree.lost",
            what,
            "its agent cannot continue there; the commits are on its branch",
            next_step(task, &attempt.branch),
        ));
    }
    Ok(found)
}

/// What a task without its worktree needs next, by its status.
fn next_step(task: &Task, branch: &str) -> String {
    let id = &task.id;
    let again = format!("a new worktree starts at the branch `{branch}`");
    match task.status {
        Status::Working => format!("`liza task release {id}`, then claim it again: {again}"),
        Status::ReadyForReview if task.stands_on_result() => {
            format!("`liza result accept {id}` works without it; if the result is rejected, {again}")
        }
        Status::ReadyForReview => format!(
            "`liza review claim {id}` works without it: a review has its own checkout; if the task is rejected, {again}"
        ),
        Status::Approved => {
            format!("`liza merge {id}` works without it: a merge needs no worktree of the task")
        }
        Status::Blocked => {
            format!("`liza task unblock {id} --answer …`; then {again} at the next claim")
        }
        _ => format!("`liza task claim {id}`: {again}"),
    }
}

/// If git still has the record, the lost `.git` file can be written again; other files stay as they are.
fn lost_git_file(ctx: &Context, path: &Path, what: &str) -> Result<Option<Finding>> {
    let lost = checkouts::list(&ctx.repo)?.into_iter().any(|record| {
        record.path.as_deref() == Some(path)
            && !record.is_half_made()
            && checkouts::has_lost_git_file(&record, path)
    });
    if !lost {
        return Ok(None);
    }
    let path = path.to_owned();
    let finding = Finding::new(
        "worktree.no_git_file",
        what,
        "git commands there would act on the main checkout, so the agent cannot submit",
        "writes its `.git` file again from git's own record; all other files stay as they are",
    );
    Ok(Some(finding.fixed_by(move |ctx| {
        with_worktrees(ctx, |worktrees| Ok(worktrees.reconnect(&path)?))?;
        checkouts::check_sound(&ctx.repo, &path)
            .map(|()| None)
            .map_err(|fault| Failure::new(ErrorCode::GitWorktree, fault.to_string()))
    })))
}

/// Entries below `.worktrees` that no task needs: records without a directory, directories without an owner,
/// checkouts without a review, and what a killed merge left behind.
pub fn without_owner(scene: &Scene) -> Result<Vec<Finding>> {
    let Some(board) = scene.board() else { return Ok(Vec::new()) };
    let ctx = scene.ctx;
    let archive = scene.archive().as_ref().map_err(Clone::clone)?;
    let known = KnownOwners::of(board, archive);
    let current: Vec<PathBuf> = board
        .tasks
        .iter()
        .filter(|task| !task.status.is_terminal())
        .filter_map(|task| Some(ctx.root().join(&task.body().attempt()?.worktree)))
        .collect();
    let merging = board.rest.intents.iter().any(|intent| ctx.machine.works_on_intents(&intent.owner));
    let mut found = Vec::new();
    for entry in ownership::worktree_entries(ctx)? {
        let half_made = entry.record.as_ref().is_some_and(checkouts::Checkout::is_half_made);
        // The present worktree of a task is examined above, and so are incomplete records. A worktree of the user's
        // own is left alone.
        if half_made || entry.is_unmarked() || current.contains(&entry.path) {
            continue;
        }
        let left_by_merge = entry.name.starts_with(MERGES) && !merging;
        let shown = format!(".worktrees/{}", entry.name.display());
        if !entry.present {
            found.push(stale_record(ctx, &entry, &shown)?);
        } else if left_by_merge || !known.knows_worktree(&entry.name) {
            found.push(ownerless(ctx, entry, &shown, left_by_merge));
        }
    }
    Ok(found)
}

fn stale_record(ctx: &Context, entry: &WorktreeEntry, shown: &str) -> Result<Finding> {
    let finding = |remedy: &str| {
        Finding::new(
            "worktree.stale_record",
            format!("git has a worktree at {shown} on record, but nothing is there"),
            "git refuses to check its branch out anywhere else",
            remedy,
        )
    };
    let record = entry.record.as_ref();
    let only_name = record.is_some_and(|record| record.branch.is_none() && !has_other_name(ctx, record));
    let held = record.and_then(|record| submodules::only_here(&ctx.repo, &record.admin_dir, &entry.path));
    if let Some(held) = held {
        return Ok(finding(&format!("the record holds {held}; it stays until another copy exists")));
    }
    if only_name {
        return Ok(finding(
            "its HEAD is the only name of a commit: make a branch there, then `git worktree prune`",
        ));
    }
    let path = entry.path.clone();
    Ok(finding("moves the record to .liza/trash; its branch stays").fixed_by(move |ctx| to_trash(ctx, &path)))
}

/// Whether the commit of a detached record has another name.
fn has_other_name(ctx: &Context, record: &checkouts::Checkout) -> bool {
    let text = host::plain_text(&record.admin_dir.join("HEAD")).unwrap_or_default();
    let Ok(commit) = CommitId::new(text.trim()) else { return false };
    refs::is_named(&ctx.repo, &commit).unwrap_or(false)
}

fn ownerless(ctx: &Context, entry: WorktreeEntry, shown: &str, left_by_merge: bool) -> Finding {
    let (code, what) = match left_by_merge {
        true => ("worktree.merge_left", format!("{shown} was left by an ended merge")),
        false => ("worktree.of_nobody", format!("{shown} belongs to no task")),
    };
    let why = "it takes disk space, and its owner is unknown";
    match unique_content(ctx, &entry.path) {
        None => {
            let path = entry.path;
            Finding::new(code, what, why, "moves it to .liza/trash: it holds no unique content").fixed_by(
                move |ctx| match unique_content(ctx, &path) {
                    None => to_trash(ctx, &path),
                    Some(held) => Err(failure!(ErrorCode::GitWorktree, "it holds {held} now")),
                },
            )
        }
        Some(held) => Finding::new(
            code,
            format!("{what}, and it holds {held}"),
            why,
            "look at it, and save what you need elsewhere; liza does not remove a possible only copy",
        ),
    }
}

/// What would be lost with this directory, in words; none if nothing would.
fn unique_content(ctx: &Context, path: &Path) -> Option<String> {
    if checkouts::check_sound(&ctx.repo, path).is_err() {
        let empty = fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none());
        return (!empty).then(|| "files that git does not know".to_owned());
    }
    let dirty = match content::status(path, Filters::Skip) {
        Ok(dirty) => dirty,
        Err(error) => return Some(format!("content that git cannot read ({error})")),
    };
    if let Some(first) = dirty.first() {
        return Some(format!("uncommitted work: {} (and {} more)", first.path, dirty.len() - 1));
    }
    let head = match content::head(path) {
        Ok(head) => head,
        Err(error) => return Some(format!("content that git cannot read ({error})")),
    };
    if !refs::is_named(&ctx.repo, &head).unwrap_or(false) {
        return Some(format!("the commit {head}, which has no other name"));
    }
    let record = checkouts::list(&ctx.repo)
        .unwrap_or_default()
        .into_iter()
        .find(|record| record.path.as_deref() == Some(path));
    match record {
        Some(record) => submodules::only_here(&ctx.repo, &record.admin_dir, path),
        None => Some("content that git has no record of".to_owned()),
    }
}
