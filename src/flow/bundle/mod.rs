//! Patch bundles: made from a task's branch, checked against a commit, reviewed in a private tree, applied to a
//! branch. Everything happens at object level; only the task's own checkout is changed.

mod apply;
mod contributors;
mod create;
mod follow;
mod review;

use crate::flow::prelude::*;
use crate::git::AccessError;
use crate::git::tree::{Edit, Entry, edited};
use crate::wire::bundle::{self, Applied, Bundle, Change, Found, Kind, LARGEST, Problem};

pub use apply::{Apply, apply};
pub use create::{Made, between, create, paths_between};
pub use follow::follow;
pub use review::{Answered, Verdict, review};

/// The refs of commits that are a base with a bundle applied.
pub const BUNDLE_REFS: &str = "refs/liza/bundles/";

/// A bundle as read from its file.
pub struct Loaded {
    pub bundle: Bundle,
    pub bytes: Vec<u8>,
    pub path: PathBuf,
}

/// Reads a bundle; refuses one that is invalid in itself.
pub fn load(path: &Path) -> Result<Loaded> {
    let unreadable = |why: &dyn std::fmt::Display| {
        failure!(ErrorCode::UsageInput, "the bundle {} cannot be read: {why}", path.display())
            .hint("name a .patchbundle.json file; `liza bundle create TASK` makes one")
    };
    let meta = fs::metadata(path).map_err(|error| unreadable(&error))?;
    if !meta.is_file() {
        return Err(unreadable(&"it is not a file"));
    }
    let file = fs::File::open(path).map_err(|error| unreadable(&error))?;
    let mut bytes = Vec::new();
    file.take(LARGEST as u64 + 1).read_to_end(&mut bytes).map_err(|error| unreadable(&error))?;
    let bundle = bundle::read(&bytes).map_err(|problems| failure_for(path, &problems))?;
    let path = path.canonicalize().map_err(|error| unreadable(&error))?;
    Ok(Loaded { bundle, bytes, path })
}

/// The failure for these problems: exit 11 if the bundle is valid and only does not fit.
pub fn failure_for(path: &Path, problems: &[Problem]) -> Failure {
    let only_conflicts = problems.iter().all(|problem| problem.kind.is_conflict());
    let first = problems.first().map(|problem| problem.message.clone()).unwrap_or_default();
    let more = match problems.len() {
        0 | 1 => String::new(),
        more => format!(" (and {} more)", more - 1),
    };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let failure = if only_conflicts {
        failure!(ErrorCode::GitConflict, "{name} does not fit: {first}{more}").hint(
            "nothing was applied; update the bundle to the present files, or wait for the owner of the paths",
        )
    } else {
        failure!(ErrorCode::RefusedBundle, "{name} is refused: {first}{more}")
            .hint("nothing was applied; ask its author for a new bundle")
    };
    failure.detail("problems", list(problems))
}

pub fn list(problems: &[Problem]) -> Value {
    serde_json::to_value(problems).unwrap_or_default()
}

/// A commit, as the files that a bundle is applied to.
struct Files<'c> {
    ctx: &'c Context,
    commit: &'c CommitId,
}

impl bundle::Tree for Files<'_> {
    type Error = Failure;

    fn at(&self, path: &str) -> Result<Found> {
        Ok(match self.ctx.query()?.entry_at(self.commit, path)? {
            Entry::Absent => Found::Absent,
            Entry::Directory => Found::Directory,
            Entry::File { bytes, executable } => Found::File { bytes, executable },
            Entry::Symlink => Found::Symlink,
            Entry::Submodule => Found::Submodule,
        })
    }

    fn files_below(&self, path: &str) -> Result<Vec<String>> {
        Ok(self.ctx.query()?.files_below(self.commit, path)?)
    }
}

/// Every path that a bundle changes or removes.
pub fn files_of(bundle: &Bundle) -> Vec<String> {
    let mut files: Vec<String> = bundle
        .patches
        .iter()
        .flat_map(|patch| std::iter::once(&patch.file).chain(&patch.renamed_from))
        .cloned()
        .collect();
    files.sort();
    files
}

/// Whether a bundle fits a commit, and whether other tasks own the paths it changes.
pub fn examine(
    ctx: &Context,
    board: &Board,
    bundle: &Bundle,
    onto: &CommitId,
    own: Option<&TaskId>,
) -> Result<Applied> {
    let mut applied = bundle::apply(bundle, &Files { ctx, commit: onto })?;
    let held = paths_held(board, &ctx.now, own, &files_of(bundle));
    let mut modules = Vec::new();
    for module in &bundle.metadata.touched_modules {
        let there =
            |path: &str| Ok::<_, Failure>(!matches!(ctx.query()?.entry_at(onto, path)?, Entry::Absent));
        modules.push((module.clone(), module.contains('/') || there(module.trim_end_matches('/'))?));
    }
    let declared = modules_held(board, &ctx.now, own, &modules);
    let declared: Vec<_> =
        declared.into_iter().filter(|one| held.iter().all(|file| file.task != one.task)).collect();
    let words = |held: &PathHeld, whose: &str| {
        let holder = held.holder.as_ref().map_or_else(|| "no agent now".to_owned(), ToString::to_string);
        let what = format!("task {} ({holder}) owns `{}`{whose}", held.task, held.owns);
        Problem::of(Kind::Lock, &held.file, what)
    };
    let files = held.iter().map(|held| words(held, ""));
    let modules = declared
        .iter()
        .map(|held| words(held, ", which lies in a module that the bundle declares as touched"));
    let locks: Vec<Problem> = files.chain(modules).collect();
    applied.problems.splice(0..0, locks);
    Ok(applied)
}

impl From<AccessError> for Failure {
    fn from(error: AccessError) -> Self {
        match error {
            AccessError::Git(error) => error.into(),
            AccessError::Query(error) => error.into(),
        }
    }
}

/// The tree that a commit with these changes has.
fn tree_with(ctx: &Context, onto: &CommitId, changes: &[Change]) -> Result<CommitId> {
    let edits: Vec<Edit<'_>> = changes
        .iter()
        .map(|change| match change {
            Change::Write { path, bytes, executable } => Edit::Write { path, bytes, executable: *executable },
            Change::Remove { path } => Edit::Remove { path },
        })
        .collect();
    let query = ctx.query()?;
    Ok(edited(&ctx.repo, query, &query.tree_of(onto)?, &edits)?)
}

/// A commit on top of `onto` with the bundle's changes, kept under a ref and synced; no branch moves.
struct Built {
    commit: CommitId,
    tree: CommitId,
}

fn build(
    ctx: &Context,
    bundle: &Bundle,
    onto: &CommitId,
    changes: &[Change],
    task: Option<&TaskId>,
) -> Result<Built> {
    let tree = tree_with(ctx, onto, changes)?;
    let base_tree = ctx.query()?.tree_of(onto)?;
    // A bundle without a base claims its resulting tree for any base.
    let made_against = match (&bundle.base_tree, &bundle.base_commit) {
        (None, Some(commit)) if ctx.query()?.has_commit(commit) => Some(ctx.query()?.tree_of(commit)?),
        (tree, _) => tree.clone(),
    };
    if made_against.is_none_or(|made_against| made_against == base_tree)
        && let Some(wanted) = bundle.result_tree.as_ref().filter(|wanted| **wanted != tree)
    {
        let what = format!("it gives the tree {tree}, but claims {wanted}");
        return Err(failure_for(Path::new(&bundle.metadata.id), &[Problem::new(Kind::Format, what)]));
    }
    // The time is the bundle's own: repeating the call gives the same commit.
    let who = ctx.query()?.identity().at(bundle.metadata.timestamp.0);
    let commit = commit_by(ctx, &who, &tree, std::slice::from_ref(onto), &message(bundle, task))?;
    refs::keep(&ctx.repo, &format!("{BUNDLE_REFS}{}", bundle.metadata.id), &commit)?;
    // git synced the commit, but libgit2 none of the files in it.
    ctx.sync()?;
    Ok(Built { commit, tree })
}

/// Only the first line of the intent: its text cannot look like a trailer.
fn message(bundle: &Bundle, task: Option<&TaskId>) -> String {
    let metadata = &bundle.metadata;
    let first = metadata.intent.trim().lines().next().unwrap_or_default();
    let subject: String = shown_line(first).chars().take(100).collect();
    let task = task.map_or(String::new(), |task| format!("Liza-Task: {task}\n"));
    let run = contributors::run_of(bundle).map(|run| format!("Liza-Experiment: {}\n", shown_line(run)));
    let task = format!("{task}{}", run.unwrap_or_default());
    format!(
        "{subject}\n\n{task}{BUNDLE_TRAILER}{}\n{AUTHOR_TRAILER}{}\n",
        metadata.id,
        shown_line(&metadata.author)
    )
}

/// How the author of a bundle from a run of `liza experiment` begins.
pub const EXPERIMENT: &str = "experiment:";
const BUNDLE_TRAILER: &str = "Liza-Bundle: ";
/// For people: the author by the bundle's own claim. The board decides who counts as an implementer.
const AUTHOR_TRAILER: &str = "Liza-Bundle-Author: ";

/// The answer of `bundle check`.
#[derive(Debug, Serialize)]
pub struct Checked {
    pub bundle: String,
    pub author: String,
    pub task: Option<TaskId>,
    pub onto: CommitId,
    pub files: Vec<String>,
    pub applies: bool,
    pub problems: Vec<Problem>,
    pub unverified: Vec<String>,
}

pub fn report(bundle: &Bundle, onto: &CommitId, applied: Applied) -> Checked {
    Checked {
        bundle: bundle.metadata.id.clone(),
        author: bundle.metadata.author.clone(),
        task: bundle.task.clone(),
        onto: onto.clone(),
        files: files_of(bundle),
        applies: applied.problems.is_empty(),
        problems: applied.problems,
        unverified: applied.unverified,
    }
}

/// A path as shown on the board and to people.
fn shown_path(ctx: &Context, path: &Path) -> String {
    path.strip_prefix(ctx.root()).unwrap_or(path).display().to_string()
}

fn listed(found: &[String]) -> String {
    let mut text = found.iter().take(20).cloned().collect::<Vec<_>>().join(", ");
    if found.len() > 20 {
        text.push_str(&format!(" and {} more", found.len() - 20));
    }
    text
}
