//! Lists worktrees and decides which are no longer needed; `prune` removes those, `reading` makes checkouts for reading.
//!
//! A worktree moves to the trash only if all of this holds: liza made it; its task has left the board, or it belongs
//! to an attempt or review that has ended; nothing in it is uncommitted (or that was saved under a ref first); a
//! branch or ref keeps its head, and the main repository has its submodules' commits. Everything else stays, with a
//! reason. The checkout of a review, and a worktree whose work is proven to be on integration, are deleted instead.

mod prune;
mod reading;

use super::ownership::{GATES, MERGES, PLANS, REVIEWS};
use super::prelude::*;
use crate::git::{Checkout, DirtyPath, Query, Repo, reviewed};
use crate::policy::worktrees::KeepMerged;
use crate::store::trash::bytes_of;
pub(super) use prune::prune_on;
pub use prune::{PruneOptions, PruneReport, Pruned, prune, remove, save, wip_ref};
pub(super) use reading::detached_checkout;

/// The purpose of a worktree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    Task,
    Review,
    Merge,
    Gate,
    /// A planner reads there.
    Plan,
    /// Of a run of `liza experiment`.
    Experiment,
}

impl Purpose {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Task => "task",
            Self::Review => "review",
            Self::Merge => "merge",
            Self::Gate => "gate",
            Self::Plan => "plan",
            Self::Experiment => "experiment",
        }
    }
}

/// One worktree, and whether it may be removed.
#[derive(Debug, Clone, Serialize)]
pub struct ListedWorktree {
    #[serde(serialize_with = "crate::text::serialize_path")]
    pub path: PathBuf,
    pub purpose: Purpose,
    pub task: Option<TaskId>,
    pub status: Option<Status>,
    pub archived: bool,
    pub branch: Option<String>,
    pub head: Option<CommitId>,
    pub bytes: u64,
    pub dirty: bool,
    pub prunable: bool,
    /// Why it may be removed, or why it stays.
    pub why: String,
    #[serde(skip)]
    uncommitted: Vec<String>,
    /// It holds its commit and nothing else, not even an ignored file.
    #[serde(skip)]
    untouched: bool,
    #[serde(skip)]
    /// Ok: why no agent works there any more. Err: why the worktree stays.
    ended: Result<String, String>,
    #[serde(skip)]
    whose: Whose,
    /// It may be deleted: its work is on integration, as long as its head is this commit.
    #[serde(skip)]
    landed: bool,
    /// It was about to be removed: something in it cannot be saved, or changed meanwhile.
    #[serde(skip)]
    pub kept_back: bool,
    /// What liza put there and no commit has.
    #[serde(skip)]
    prepared: Vec<String>,
    /// It belongs to one of the newest merged tasks.
    #[serde(skip)]
    newest: bool,
}

/// Who made a worktree below `.worktrees`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// Git's record of it has liza's mark.
    Marked,
    /// It is at the path and on the branch of an attempt, but has no mark: a person may have made it again.
    Likely,
    /// The user's. liza does not change it.
    Foreign,
}

/// Tasks of the board and of the archive, looked up once.
pub struct Known<'b> {
    board: &'b Board,
    archived: BTreeMap<TaskId, Option<Task>>,
    /// Merged tasks whose worktree stays for now.
    kept: BTreeSet<TaskId>,
}

impl<'b> Known<'b> {
    pub fn new(board: &'b Board) -> Self {
        Self { board, archived: BTreeMap::new(), kept: BTreeSet::new() }
    }

    /// The task of exactly this id, and whether it is archived.
    pub fn find(&mut self, ctx: &Context, id: &TaskId) -> Result<Option<(&Task, bool)>> {
        if let Some(task) = self.board.task(id) {
            return Ok(Some((task, false)));
        }
        if !self.archived.contains_key(id) {
            self.archived.insert(id.clone(), ctx.store.archived_beside(self.board, id)?);
        }
        Ok(self.archived.get(id).and_then(Option::as_ref).map(|task| (task, true)))
    }
}

pub use super::merged::task_of_name as task_of;

/// Every worktree under `.worktrees` and of experiments, by path, with its size.
pub fn list(ctx: &Context) -> Result<Vec<ListedWorktree>> {
    sized(ctx, &ctx.read(&Needs::Everything)?.board, None, None)
}

/// The same without sizes, which take long to compute.
pub fn list_without_sizes(ctx: &Context) -> Result<Vec<ListedWorktree>> {
    gather(ctx, &ctx.read(&Needs::Everything)?.board, None, None, |_| ())
}

fn sized(
    ctx: &Context,
    board: &Board,
    only: Option<&[TaskId]>,
    keep: Option<KeepMerged>,
) -> Result<Vec<ListedWorktree>> {
    gather(ctx, board, only, keep, |worktree| worktree.bytes = bytes_of(&worktree.path))
}

/// Examines every worktree, or those of these tasks, whose bodies the board must have; several at a time, because git is slow.
fn gather(
    ctx: &Context,
    board: &Board,
    only: Option<&[TaskId]>,
    keep: Option<KeepMerged>,
    also: impl Fn(&mut ListedWorktree) + Sync,
) -> Result<Vec<ListedWorktree>> {
    let mut known = Known::new(board);
    let records = checkouts::list(&ctx.repo)?;
    let keep = keep.map_or_else(|| Ok::<_, Failure>(ctx.project_config()?.worktrees.keep_merged), Ok)?;
    known.kept = super::merged::newest_merged(ctx, board, keep).into_iter().collect();
    let mut worktrees = Vec::new();
    let named = |path: &Path| task_of(&path.file_name().unwrap_or_default().to_string_lossy());
    let is_asked_for =
        |path: &Path| only.is_none_or(|only| named(path).is_some_and(|task| only.contains(&task)));
    for (path, purpose) in worktree_paths(ctx, &records)?.into_iter().filter(|(path, _)| is_asked_for(path)) {
        let worktree = look(ctx, board, &mut known, record_of(&records, &path), path, purpose)?;
        let asked_for = |only: &[TaskId]| worktree.task.as_ref().is_some_and(|task| only.contains(task));
        if only.is_none_or(asked_for) {
            worktrees.push(worktree);
        }
    }
    let repo = &ctx.repo;
    host::for_each(&mut worktrees, |worktree| {
        examine_content(repo, worktree, record_of(&records, &worktree.path), Filters::Skip);
        also(worktree);
    });
    Ok(worktrees)
}

/// Directories, and git's records whose directory is gone.
fn worktree_paths(ctx: &Context, records: &[Checkout]) -> Result<BTreeMap<PathBuf, Purpose>> {
    let home = ctx.machine.worktrees();
    let mut all = BTreeMap::new();
    let homes = [
        (home.to_owned(), Purpose::Task),
        (home.join(REVIEWS), Purpose::Review),
        (home.join(MERGES), Purpose::Merge),
        (home.join(GATES), Purpose::Gate),
        (home.join(PLANS), Purpose::Plan),
        (ctx.root().join(&ctx.project_config()?.experiment.worktree_root), Purpose::Experiment),
    ];
    for (dir, purpose) in &homes {
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            let hidden = entry.file_name().to_string_lossy().starts_with('.');
            if !hidden && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                all.insert(entry.path(), *purpose);
            }
        }
    }
    for path in records.iter().filter_map(|record| record.path.as_ref()) {
        if let Some((_, purpose)) = homes.iter().find(|(dir, _)| path.parent() == Some(dir)) {
            all.insert(path.clone(), *purpose);
        }
    }
    Ok(all)
}

/// What the board and git's record show of a worktree.
fn look(
    ctx: &Context,
    board: &Board,
    known: &mut Known<'_>,
    record: Option<&Checkout>,
    path: PathBuf,
    purpose: Purpose,
) -> Result<ListedWorktree> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let id = task_of(&name);
    let mut worktree = ListedWorktree {
        purpose,
        task: None,
        status: None,
        archived: false,
        branch: record.and_then(|record| record.branch.clone()),
        head: None,
        bytes: 0,
        dirty: false,
        prunable: false,
        why: String::new(),
        uncommitted: Vec::new(),
        untouched: false,
        ended: Err("liza did not make it, and it belongs to no task of this board".to_owned()),
        whose: Whose::Foreign,
        landed: false,
        kept_back: false,
        newest: false,
        prepared: Vec::new(),
        path,
    };
    let kept = id.as_ref().is_some_and(|id| known.kept.contains(id));
    let found = match &id {
        Some(id) if matches!(purpose, Purpose::Task | Purpose::Review) => known.find(ctx, id)?,
        _ => None,
    };
    let lock = record.and_then(|record| record.locked.as_deref());
    let marked = lock.is_some_and(Worktrees::is_own_lock);
    let attempts = purpose == Purpose::Task
        && found.is_some_and(|(task, _)| is_of_attempt(task, &format!(".worktrees/{name}"), record));
    worktree.whose = match lock {
        // Experiments need no board, and outlive it.
        _ if purpose == Purpose::Experiment => Whose::Foreign,
        _ if marked => Whose::Marked,
        None if attempts => Whose::Likely,
        _ => Whose::Foreign,
    };
    if purpose == Purpose::Merge && marked {
        worktree.ended = match board.rest.intents.is_empty() {
            true => Ok("no merge is under way".to_owned()),
            false => Err("git work is under way".to_owned()),
        };
    } else if purpose == Purpose::Gate && marked {
        let stays = "it stays for the next gates: a new one costs more than updating it";
        let runs = ctx.machine.gates_run_at(&name);
        worktree.ended = Err(if runs { "gates run there" } else { stays }.to_owned());
    } else if purpose == Purpose::Plan && marked {
        worktree.ended = Err(format!("it stays for the next session of {name}"));
    } else if purpose == Purpose::Experiment {
        let command = "liza experiment prune";
        worktree.ended =
            Err(format!("it belongs to the run {name}; `{command}` removes it when the run has ended"));
    } else if let Some((task, archived)) = found
        && (marked || attempts)
    {
        worktree.status = Some(task.status);
        worktree.archived = archived;
        (worktree.ended, worktree.landed) = work_ended(ctx, board, task, archived, &worktree, &name, kept)?;
        let own = format!(".worktrees/{name}");
        let attempt = task.body().attempts.iter().rfind(|attempt| attempt.worktree == own);
        worktree.prepared = match purpose {
            Purpose::Review => super::prepared::noted(&ctx.repo, &worktree.path),
            _ => attempt.map_or(Vec::new(), |attempt| attempt.not_work()),
        };
        worktree.task = id;
        worktree.newest = kept;
    }
    if let Some(reason) = lock.filter(|_| !marked) {
        worktree.ended = Err(format!("a person locked it: {reason}"));
    }
    Ok(worktree)
}

fn record_of<'r>(records: &'r [Checkout], path: &Path) -> Option<&'r Checkout> {
    records.iter().find(|record| record.path.as_deref() == Some(path))
}

/// Whether this is the worktree of an attempt: by its path, and if git has a record, its branch.
fn is_of_attempt(task: &Task, path: &str, record: Option<&Checkout>) -> bool {
    let on = |branch: &String| record.is_none_or(|record| record.branch.as_ref() == Some(branch));
    task.body().attempts.iter().any(|attempt| attempt.worktree == path && on(&attempt.branch))
}

/// Whether the board shows that no agent works there any more, and whether it may then be deleted.
fn work_ended(
    ctx: &Context,
    board: &Board,
    task: &Task,
    archived: bool,
    worktree: &ListedWorktree,
    name: &str,
    kept: bool,
) -> Result<(Result<String, String>, bool)> {
    let id = &task.id;
    let stays = |why: String| Ok((Err(why), false));
    if let Some(intent) = board.intent_of(id) {
        return stays(format!("a {} of {id} is under way", intent.work.verb()));
    }
    if worktree.purpose == Purpose::Review {
        return Ok(match task.judged_by() {
            Some(_) if !archived => (Err(format!("{id} is under review")), false),
            _ => (Ok(format!("no review of {id} is open ({})", task.status)), true),
        });
    }
    if archived {
        return Ok((Ok(format!("{id} is {} and archived", task.status)), false));
    }
    let present = task.body().attempt();
    let own = format!(".worktrees/{name}");
    if present.is_none_or(|attempt| attempt.worktree != own) {
        return Ok((Ok(format!("a former attempt at {id}, which has ended")), false));
    }
    if !task.status.is_terminal() {
        return stays(format!("{id} is {}", task.status));
    }
    let branch = present.map(|attempt| attempt.branch.as_str()).unwrap_or_default();
    let Some(head) = ctx.query()?.head_of_branch(branch)? else {
        return Ok((Ok(format!("{id} is {} and `liza gc` removed its branch", task.status)), false));
    };
    if task.status == Status::Merged && !kept && super::merged::has_landed(ctx, board, task, &head)? {
        return Ok((Ok(format!("{id} is merged, and its work is on integration")), true));
    }
    stays(match kept {
        true => format!("{id} is one of the newest merged tasks (`worktrees.keep_merged` in liza.yaml)"),
        false => format!("it stays until {id} is archived (`liza archive {id}`)"),
    })
}

/// Examines the worktree and decides whether it may be removed.
fn examine_content(repo: &Repo, worktree: &mut ListedWorktree, record: Option<&Checkout>, filters: Filters) {
    let sound = checkouts::check_sound(repo, &worktree.path);
    let sound_here = sound.is_ok();
    let gone = worktree.path.symlink_metadata().is_err();
    let mut fault = None;
    if sound.is_ok() {
        let path = &worktree.path;
        worktree.untouched = Query::open(repo).is_ok_and(|query| reviewed::is_untouched(&query, path));
        let status = match worktree.untouched {
            true => Ok(Vec::new()),
            false => content::status(path, filters),
        };
        match (content::head(path), status, content::merge_head(path)) {
            (Ok(head), Ok(dirty), Ok(merging)) => {
                worktree.head = Some(head);
                let is_work = |found: &DirtyPath| !super::prepared::is_not_work(&worktree.prepared, found);
                worktree.uncommitted = dirty.into_iter().filter(is_work).map(|found| found.path).collect();
                if merging.is_some() && worktree.uncommitted.is_empty() {
                    worktree.uncommitted.push("a merge in progress".to_owned());
                }
                worktree.dirty = !worktree.uncommitted.is_empty();
            }
            (Err(error), ..) | (_, Err(error), _) | (.., Err(error)) => fault = Some(error.to_string()),
        }
    } else if let Err(error) = sound
        && !gone
    {
        fault = Some(error.to_string());
    }
    let only_here = record
        .and_then(|record| submodules::only_here(repo, &record.admin_dir, &worktree.path))
        .or_else(|| {
            // What liza prepared is known to be ignored for a reason.
            let asks = worktree.whose == Whose::Likely && sound_here && !worktree.untouched;
            let ignored = asks.then(|| content::ignored(&worktree.path));
            Some(format!("the ignored file `{}`", ignored?.ok()??))
        });
    if let (Ok(_), Some(held)) = (&worktree.ended, only_here) {
        worktree.ended = Err(format!("it holds {held}, possibly as the only copy"));
    }
    (worktree.prunable, worktree.why) = match (&worktree.ended, fault) {
        (Err(why), _) => (false, why.clone()),
        (Ok(_), Some(fault)) => {
            (false, format!("it cannot be read: {fault}; save what you need from it yourself"))
        }
        (Ok(why), None) if !worktree.dirty => (true, why.clone()),
        (Ok(_), None) => {
            let some = worktree.uncommitted[..worktree.uncommitted.len().min(5)].join(", ");
            (false, format!("uncommitted work: {some} (`liza worktree prune --save` keeps it under a ref)"))
        }
    };
}

impl ListedWorktree {
    /// Why it stays, as a heading.
    pub fn stay_heading(&self) -> &'static str {
        match self.purpose {
            Purpose::Experiment => "of experiments",
            _ if !self.is_ours() => "not made by liza",
            Purpose::Gate => "for the next gates",
            Purpose::Plan => "for planners",
            _ if self.kept_back => "with files that cannot be saved, or that changed",
            _ if self.ended.is_ok() && self.dirty => "uncommitted work",
            _ if self.status.is_some_and(|status| !status.is_terminal()) => "in use",
            Purpose::Task if self.newest => "newest merged",
            Purpose::Task if self.ended.is_err() => "until archived",
            _ => "cannot be read",
        }
    }

    /// It was about to be removed, and stays for this reason.
    fn kept_back(self, why: String) -> Self {
        Self { kept_back: true, prunable: false, ended: Err(why.clone()), why, ..self }
    }

    /// Whether liza made it, as far as can be determined.
    pub fn is_ours(&self) -> bool {
        self.whose != Whose::Foreign
    }

    /// Whether it may be removed once its uncommitted work is saved.
    pub fn prunable_with(&self, save: bool) -> bool {
        self.prunable || (save && self.dirty && self.ended.is_ok() && self.head.is_some())
    }
}
