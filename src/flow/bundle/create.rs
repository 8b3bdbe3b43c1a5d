//! Making a bundle from what a task's branch changes.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::board::rules::RecordBundle;
use crate::board::{Board, CommitId, Needs, Task, TaskId};
use crate::flow::claim::integration_head;
use crate::git::EntryKind;
use crate::git::tree::{Difference, Entry, differences};
use crate::policy::gate::{AdapterKind, Gate};
use crate::store::files::publish_new;
use crate::wire::bundle::{self, Bundle, ENDING, ExpectedChecks, LARGEST, Metadata, Patch, Side, VERSION};

use super::super::context::Context;
use super::super::failure::Failure;
use super::{shown_path, tree_with};

/// Makes the bundle of a task's branch and notes on the task where it is.
pub fn create(ctx: &Context, id: &TaskId, out: Option<&Path>) -> Result<(Value, u64), Failure> {
    if let Some((outcome, revision)) = ctx.answered()? {
        let path = ctx.root().join(outcome["path"].as_str().unwrap_or_default());
        return Ok((told_of(&super::load(&path)?.bundle, &path), revision));
    }
    let snapshot = ctx.read(&Needs::task(id))?;
    // Asked first: whoever is none of the board's people may not make one either.
    snapshot.board.identify(&ctx.credentials)?;
    let archived = ctx.store.archived_beside(&snapshot.board, id)?;
    let Some(task) = snapshot.board.task(id).or(archived.as_ref()) else {
        return Err(Failure::new("refused.unknown_task", format!("there is no task `{id}` on this board"))
            .hint("`liza task list` shows every task"));
    };
    let (base, head) = range(ctx, &snapshot.board, task)?;
    let mut bundle = describe(ctx, task, &base, &head)?;
    bundle.patches = patches(ctx, &base, &head)?;
    if bundle.patches.is_empty() {
        return Err(Failure::new("refused.empty", format!("task `{id}` changes nothing"))
            .hint("commit the work on its branch first"));
    }
    bundle.metadata.touched_modules = modules(&bundle.patches);
    proven(ctx, &bundle, &base)?;
    let path = publish(ctx, &mut bundle, out)?;
    let shown = shown_path(ctx, &path);
    let data = told_of(&bundle, &path);
    if archived.is_some() && snapshot.board.task(id).is_none() {
        return Ok((data, snapshot.board.revision));
    }
    let record = RecordBundle { task: id.clone(), id: bundle.metadata.id, path: shown, applied: None };
    let committed = ctx.commit(record)?;
    Ok((data, committed.board.revision))
}

fn told_of(bundle: &Bundle, path: &Path) -> Value {
    json!({
        "task": bundle.task, "bundle": bundle.metadata.id, "path": path, "files": super::files_of(bundle),
        "base_commit": bundle.base_commit, "result_tree": bundle.result_tree,
    })
}

/// From where the branch left integration to its head; of merged work, what was merged.
fn range(ctx: &Context, board: &Board, task: &Task) -> Result<(CommitId, CommitId), Failure> {
    let body = task.body();
    if let (Some(_), Some(submission)) = (&body.merge, &body.submission) {
        return Ok((submission.merge_base.clone(), submission.commit.clone()));
    }
    let Some(attempt) = body.attempt() else {
        return Err(Failure::new("refused.transition", format!("nobody has worked on `{}` yet", task.id))
            .hint(format!("`liza task claim {}` starts it", task.id)));
    };
    let query = ctx.query()?;
    let head = query.head_of_branch(&attempt.branch)?.ok_or_else(|| {
        Failure::new("git.ref", format!("the branch `{}` of {} is gone", attempt.branch, task.id))
            .hint("`liza doctor` says what is left")
    })?;
    let base = query.merge_base(&integration_head(ctx, board)?, &head)?;
    Ok((base.unwrap_or_else(|| attempt.base_commit.clone()), head))
}

fn describe(ctx: &Context, task: &Task, base: &CommitId, head: &CommitId) -> Result<Bundle, Failure> {
    let body = task.body();
    let query = ctx.query()?;
    let planned = crate::board::rules::current_checkpoint(body).map(|checkpoint| checkpoint.intent.clone());
    let author = body.attempt().map_or(&body.created_by, |attempt| &attempt.agent);
    Ok(Bundle {
        version: VERSION,
        metadata: Metadata {
            id: String::new(),
            intent: planned.unwrap_or_else(|| body.title.clone()),
            author: author.to_string(),
            timestamp: ctx.now.wall,
            touched_modules: Vec::new(),
            risk_level: task.risk,
        },
        patches: Vec::new(),
        expected_checks: expected(&ctx.project_config()?.gates),
        reviewer_checklist: match body.checklist.is_empty() {
            true => body.done_when.clone(),
            false => body.checklist.clone(),
        },
        task: Some(task.id.clone()),
        base_commit: Some(base.clone()),
        base_tree: Some(query.tree_of(base)?),
        result_tree: Some(query.tree_of(head)?),
    })
}

/// The required gates, by name.
fn expected(gates: &[Gate]) -> ExpectedChecks {
    let required = || gates.iter().filter(|gate| gate.is_required());
    let named = |name: &str| required().any(|gate| gate.name == name);
    let documented = ["compile", "test", "replay"];
    ExpectedChecks {
        compile: named("compile"),
        test: named("test"),
        replay: named("replay"),
        diagnostics_count: required()
            .filter(|gate| gate.adapter == AdapterKind::Diag)
            .find_map(|gate| gate.at_most),
        gates: required()
            .map(|gate| gate.name.clone())
            .filter(|name| !documented.contains(&name.as_str()))
            .collect(),
    }
}

fn patches(ctx: &Context, base: &CommitId, head: &CommitId) -> Result<Vec<Patch>, Failure> {
    let mut made = Vec::new();
    for found in differences(&ctx.repo, base, head)? {
        let strange = found.kinds.iter().flatten().find_map(|kind| match kind {
            EntryKind::Symlink => Some("a symbolic link"),
            EntryKind::Submodule => Some("a submodule"),
            EntryKind::File | EntryKind::Executable => None,
        });
        if let Some(what) = strange {
            return Err(cannot(&found.path, &format!("it is {what}, which no bundle can carry")));
        }
        let (old, new) = sides(ctx, base, head, &found)?;
        let patch = bundle::patch(&found.path, found.renamed_from.as_deref(), side(&old), side(&new));
        made.push(patch);
    }
    Ok(made)
}

fn sides(
    ctx: &Context,
    base: &CommitId,
    head: &CommitId,
    found: &Difference,
) -> Result<(Entry, Entry), Failure> {
    let query = ctx.query()?;
    let before = found.renamed_from.as_deref().unwrap_or(&found.path);
    let at = |commit: &CommitId, path: &str, kind: Option<EntryKind>| match kind {
        Some(_) => query.entry_at(commit, path),
        None => Ok(Entry::Absent),
    };
    Ok((at(base, before, found.kinds[0])?, at(head, &found.path, found.kinds[1])?))
}

fn side(entry: &Entry) -> Option<Side<'_>> {
    match entry {
        Entry::File { bytes, executable } => Some(Side { bytes, executable: *executable }),
        _ => None,
    }
}

fn cannot(file: &str, why: &str) -> Failure {
    Failure::new("refused.bundle", format!("{} cannot be in a bundle: {why}", crate::text::quoted(file)))
        .hint("nothing was written; hand the work on as a branch, or take this file out of it")
}

/// The directories something changes in; a file of the root stands for itself.
fn modules(patches: &[Patch]) -> Vec<String> {
    let mut found: Vec<String> = patches
        .iter()
        .flat_map(|patch| std::iter::once(&patch.file).chain(&patch.renamed_from))
        .map(|file| file.rsplit_once('/').map_or(file.as_str(), |(dir, _)| dir).to_owned())
        .collect();
    found.sort();
    found.dedup();
    found.truncate(1_000);
    found
}

/// A bundle is given away only if it leads to exactly the tree it was made of.
fn proven(ctx: &Context, bundle: &Bundle, base: &CommitId) -> Result<(), Failure> {
    let named =
        Bundle { metadata: Metadata { id: "new".to_owned(), ..bundle.metadata.clone() }, ..bundle.clone() };
    let bytes = bundle::write(&named);
    if bytes.len() + 1024 > LARGEST {
        return Err(Failure::new(
            "refused.limit",
            format!("the bundle would have {} bytes; at most {LARGEST} are read", bytes.len()),
        )
        .hint("hand the work on as a branch; nothing was written"));
    }
    let read = bundle::read(&bytes).map_err(|problems| {
        let first = problems.first().map(|problem| problem.message.clone()).unwrap_or_default();
        Failure::new("refused.bundle", format!("this work cannot be a bundle: {first}"))
            .hint("nothing was written; hand the work on as a branch, or take this out of it")
            .detail("problems", super::list(&problems))
    })?;
    let applied = bundle::apply(&read, &super::Files { ctx, commit: base })?;
    let tree = tree_with(ctx, base, &applied.changes)?;
    if applied.problems.is_empty() && Some(&tree) == bundle.result_tree.as_ref() {
        return Ok(());
    }
    Err(Failure::new(
        "bug.bundle",
        "the bundle does not lead back to the tree it was made of; nothing was written",
    )
    .detail("problems", super::list(&applied.problems)))
}

/// Puts the file where nothing is, whole; its number is the next that nobody has.
fn publish(ctx: &Context, bundle: &mut Bundle, out: Option<&Path>) -> Result<PathBuf, Failure> {
    let dir = ctx.store.layout().bundles();
    crate::store::files::make_private_dirs(&dir)?;
    let day: String = ctx.now.wall.to_string().chars().take(10).filter(char::is_ascii_digit).collect();
    for number in 1_u32.. {
        bundle.metadata.id = format!("PB-{day}-{number:03}");
        let usual = dir.join(format!("{}{ENDING}", bundle.metadata.id));
        if usual.symlink_metadata().is_ok() {
            continue;
        }
        let bytes = bundle::write(bundle);
        let path = match out {
            Some(out) => std::path::absolute(out).map_err(|error| Failure::io("find", out, &error))?,
            None => usual,
        };
        crate::host::crash::point("bundle.making");
        if publish_new(&path, &bytes)? {
            crate::host::crash::point("bundle.made");
            return Ok(path);
        }
        if out.is_some() {
            return Err(Failure::new("refused.value", format!("{} is there already", path.display()))
                .hint("name a file that is not there yet; nothing was written over"));
        }
    }
    Err(Failure::new("bug.bundle", "no number is free"))
}
