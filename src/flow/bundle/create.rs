//! Makes a bundle from the changes of a task's branch.

use super::{shown_path, tree_with};
use crate::flow::prelude::*;
use crate::git::EntryKind;
use crate::git::tree::{Difference, Entry, differences};
use crate::policy::gate::AdapterKind;
use crate::store::files::publish_new;
use crate::wire::bundle::{self, Bundle, ENDING, ExpectedChecks, LARGEST, Metadata, Patch, Side, VERSION};

/// A new bundle, and its path.
#[derive(Debug, Serialize)]
pub struct Made {
    pub task: Option<TaskId>,
    pub bundle: String,
    #[serde(serialize_with = "crate::text::serialize_path")]
    pub path: PathBuf,
    pub files: Vec<String>,
    pub base_commit: Option<CommitId>,
    pub result_tree: Option<CommitId>,
    /// Uncommitted files of the worktree.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub uncommitted: Vec<String>,
}

/// Makes the bundle of a task's branch and notes its path on the task.
pub fn create(ctx: &Context, id: &TaskId, out: Option<&Path>) -> Result<(Made, u64)> {
    if let Some((BundleRecorded { path, .. }, revision)) = ctx.answered()? {
        let path = ctx.root().join(path);
        let bundle = super::load(&path)?.bundle;
        return Ok((summary_of(&bundle, &check_out_path(out)?.unwrap_or(path)), revision));
    }
    let snapshot = ctx.read(&Needs::task(id))?;
    // Checked first: a caller that is not on the board may not make a bundle either.
    snapshot.board.identify(&ctx.credentials)?;
    let archived = ctx.store.archived_beside(&snapshot.board, id)?;
    let Some(task) = snapshot.board.task(id).or(archived.as_ref()) else {
        return Err(failure!(Code::UnknownTask, "there is no task `{id}` on this board")
            .hint(snapshot.board.hint_for_task(id)));
    };
    let on_board = snapshot.board.task(id).is_some();
    let record = |bundle: &Bundle, path: &Path, bytes: &[u8]| RecordBundle {
        task: id.clone(),
        id: bundle.metadata.id.clone(),
        path: shown_path(ctx, path),
        blake3: bundle::checksum(bytes),
    };
    let elsewhere = check_out_path(out)?;
    if let Some(out) = &elsewhere {
        may_lie_at(ctx, out)?;
    }
    let (base, head) = range(ctx, &snapshot.board, task)?;
    let mut bundle = describe(ctx, task, &base, &head)?;
    bundle.patches = patches(ctx, &base, &head)?;
    if bundle.patches.is_empty() {
        return Err(failure!(Code::NothingSubmitted, "task `{id}` changes nothing")
            .hint("commit the work on its branch first"));
    }
    bundle.metadata.touched_modules = modules(&bundle.patches);
    check_round_trip(ctx, &bundle, &base)?;
    let left_out = uncommitted(ctx, task)?;
    let (path, bytes) = publish(ctx, &mut bundle, elsewhere.as_deref())?;
    let mut data = summary_of(&bundle, elsewhere.as_deref().unwrap_or(&path));
    data.uncommitted = left_out;
    let note = record(&bundle, &path, &bytes);
    let actor = snapshot.board.identify(&ctx.credentials)?;
    let world = World::default();
    // A caller that only reads the work may make a bundle of it; the task lists only those of its own agents.
    let call = Call::new(actor, &ctx.now, &world);
    let may_note = on_board && permitted(&snapshot.board, &note, &call).is_ok();
    if !may_note {
        ctx.narrate("the bundle is not noted on the task: only its agent, a planner or a person may do that");
        return Ok((data, snapshot.board.revision));
    }
    let committed = ctx.commit(note)?;
    Ok((data, committed.board.revision))
}

/// Makes a bundle for a task from the difference of two other commits, by this author. Returns its file.
pub fn between(
    ctx: &Context,
    id: &TaskId,
    base: &CommitId,
    head: &CommitId,
    author: &str,
) -> Result<PathBuf> {
    let snapshot = ctx.read(&Needs::task(id))?;
    snapshot.board.identify(&ctx.credentials)?;
    let task = snapshot
        .board
        .task(id)
        .ok_or_else(|| failure!(Code::UnknownTask, "there is no task `{id}` on this board"))?;
    let mut bundle = describe(ctx, task, base, head)?;
    author.clone_into(&mut bundle.metadata.author);
    bundle.patches = patches(ctx, base, head)?;
    bundle.metadata.touched_modules = modules(&bundle.patches);
    check_round_trip(ctx, &bundle, base)?;
    Ok(publish(ctx, &mut bundle, None)?.0)
}

/// The paths by which two commits differ, including removed ones.
pub fn paths_between(ctx: &Context, base: &CommitId, head: &CommitId) -> Result<Vec<String>> {
    let found = differences(&ctx.repo, base, head)?.into_iter();
    let paths: BTreeSet<String> =
        found.flat_map(|found| [Some(found.path), found.renamed_from]).flatten().collect();
    Ok(paths.into_iter().collect())
}

fn check_out_path(out: Option<&Path>) -> Result<Option<PathBuf>> {
    out.map(|out| std::path::absolute(out).map_err(|error| Failure::io("find", out, &error))).transpose()
}

/// A bundle may not be written into git's or liza's own directories or into a worktree.
fn may_lie_at(ctx: &Context, out: &Path) -> Result<()> {
    let dir = out.parent().map(|dir| dir.canonicalize().unwrap_or_else(|_| dir.to_owned()));
    let real = |path: PathBuf| path.canonicalize().unwrap_or(path);
    let own = [
        real(ctx.repo.common_dir.clone()),
        real(ctx.root().join(".git")),
        real(ctx.machine.home().to_owned()),
        real(ctx.machine.worktrees().to_owned()),
    ];
    match own.iter().find(|own| dir.as_ref().is_some_and(|dir| dir.starts_with(own))) {
        None => Ok(()),
        Some(own) => {
            let (out, own) = (out.display(), own.display());
            Err(failure!(Code::Value, "--out {out} is in {own}, which is reserved for git and liza")
                .hint("name a path outside of it, or omit --out; nothing was written"))
        }
    }
}

/// Uncommitted files of the worktree, which are not in the bundle.
fn uncommitted(ctx: &Context, task: &Task) -> Result<Vec<String>> {
    let body = task.body();
    let Some(attempt) = body.attempt().filter(|_| body.merge.is_none()) else { return Ok(Vec::new()) };
    let worktree = ctx.root().join(&attempt.worktree);
    if checkouts::check_sound(&ctx.repo, &worktree).is_err() {
        return Ok(Vec::new());
    }
    let found = crate::flow::attempt::uncommitted(&worktree, Filters::Run, &attempt.not_work())?;
    if !found.is_empty() {
        ctx.narrate(format!("the bundle does not contain uncommitted files: {}", super::listed(&found)));
    }
    Ok(found)
}

fn summary_of(bundle: &Bundle, path: &Path) -> Made {
    Made {
        task: bundle.task.clone(),
        bundle: bundle.metadata.id.clone(),
        path: path.to_owned(),
        files: super::files_of(bundle),
        base_commit: bundle.base_commit.clone(),
        result_tree: bundle.result_tree.clone(),
        uncommitted: Vec::new(),
    }
}

/// From where the branch left integration to its head; for merged work, the merged range.
fn range(ctx: &Context, board: &Board, task: &Task) -> Result<(CommitId, CommitId)> {
    let body = task.body();
    if let (Some(_), Some(submission)) = (&body.merge, &body.submission) {
        return Ok((submission.merge_base.clone(), submission.commit.clone()));
    }
    let Some(attempt) = body.attempt() else {
        return Err(failure!(Code::Transition, "no agent has worked on `{}` yet", task.id)
            .hint(format!("`liza task claim {}` starts it", task.id)));
    };
    let query = ctx.query()?;
    let head = query.head_of_branch(&attempt.branch)?.ok_or_else(|| {
        failure!(ErrorCode::GitRef, "the branch `{}` of {} is gone", attempt.branch, task.id)
            .hint("`liza doctor` shows what is left")
    })?;
    let base = query.merge_base(&integration_head(ctx, board)?, &head)?;
    Ok((base.unwrap_or_else(|| attempt.base_commit.clone()), head))
}

fn describe(ctx: &Context, task: &Task, base: &CommitId, head: &CommitId) -> Result<Bundle> {
    let body = task.body();
    let query = ctx.query()?;
    let planned = current_checkpoint(body).map(|checkpoint| checkpoint.intent.clone());
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
        implementers: task.implementers.iter().map(ToString::to_string).collect(),
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

fn patches(ctx: &Context, base: &CommitId, head: &CommitId) -> Result<Vec<Patch>> {
    let mut made = Vec::new();
    for found in differences(&ctx.repo, base, head)? {
        let strange = found.kinds.iter().flatten().find_map(|kind| match kind {
            EntryKind::Symlink => Some("a symbolic link"),
            EntryKind::Submodule => Some("a submodule"),
            EntryKind::File | EntryKind::Executable => None,
        });
        if let Some(what) = strange {
            return Err(unsupported_file(&found.path, &format!("it is {what}, which no bundle can carry")));
        }
        let (old, new) = sides(ctx, base, head, &found)?;
        let patch = bundle::patch(&found.path, found.renamed_from.as_deref(), side(&old), side(&new));
        made.push(patch);
    }
    Ok(made)
}

fn sides(ctx: &Context, base: &CommitId, head: &CommitId, found: &Difference) -> Result<(Entry, Entry)> {
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

fn unsupported_file(file: &str, why: &str) -> Failure {
    failure!(ErrorCode::RefusedBundle, "{} cannot be in a bundle: {why}", quoted(file))
        .hint("nothing was written; hand the work on as a branch, or remove this file from it")
}

/// The directories with changes; a file in the root counts by itself.
fn modules(patches: &[Patch]) -> Vec<String> {
    // File by file: a directory would keep the bundle from every task whose neighbour owns another file in it.
    let files = patches.iter().flat_map(|patch| std::iter::once(&patch.file).chain(&patch.renamed_from));
    let mut found: Vec<String> = files.cloned().collect();
    found.sort();
    found.dedup();
    found.truncate(1_000);
    found
}

/// A bundle is written only if applying it gives exactly the tree it was made from.
fn check_round_trip(ctx: &Context, bundle: &Bundle, base: &CommitId) -> Result<()> {
    let named =
        Bundle { metadata: Metadata { id: "new".to_owned(), ..bundle.metadata.clone() }, ..bundle.clone() };
    let bytes = bundle::write(&named);
    if bytes.len() + 1024 > LARGEST {
        let size = bytes.len();
        return Err(failure!(Code::Limit, "the bundle would have {size} bytes; at most {LARGEST} are read")
            .hint("hand the work on as a branch; nothing was written"));
    }
    let read = bundle::read(&bytes).map_err(|problems| {
        let first = problems.first().map(|problem| problem.message.clone()).unwrap_or_default();
        failure!(ErrorCode::RefusedBundle, "this work cannot be a bundle: {first}")
            .hint("nothing was written; hand the work on as a branch, or remove this from it")
            .detail("problems", super::list(&problems))
    })?;
    let applied = bundle::apply(&read, &super::Files { ctx, commit: base })?;
    let tree = tree_with(ctx, base, &applied.changes)?;
    if applied.problems.is_empty() && Some(&tree) == bundle.result_tree.as_ref() {
        return Ok(());
    }
    Err(Failure::new(
        ErrorCode::BugBundle,
        "applying the bundle does not give the tree it was made from; nothing was written",
    )
    .detail("problems", super::list(&applied.problems)))
}

/// Writes the complete file to an unused path, under the next unused number. A bundle with `--out` is written here
/// too: that reserves its number, and the board names a file that stays.
fn publish(ctx: &Context, bundle: &mut Bundle, out: Option<&Path>) -> Result<(PathBuf, Vec<u8>)> {
    let taken = |out: &Path| {
        failure!(Code::Value, "{} exists already", out.display())
            .hint("name a file that does not exist; nothing was overwritten")
    };
    if let Some(out) = out.filter(|out| out.symlink_metadata().is_ok()) {
        return Err(taken(out));
    }
    let day: String = ctx.now.wall.to_string().chars().take(10).filter(char::is_ascii_digit).collect();
    for number in 1_u32.. {
        bundle.metadata.id = format!("PB-{day}-{number:03}");
        let name = format!("{}{ENDING}", bundle.metadata.id);
        if ctx.store.has_bundle(&name) {
            continue;
        }
        let bytes = bundle::write(bundle);
        crash::point("bundle.making");
        let Some(path) = ctx.store.publish_bundle(&name, &bytes)? else { continue };
        crash::point("bundle.made");
        if let Some(out) = out
            && !publish_new(out, &bytes)?
        {
            return Err(taken(out));
        }
        return Ok((path, bytes));
    }
    Err(Failure::new(ErrorCode::BugBundle, "all bundle numbers are taken"))
}
