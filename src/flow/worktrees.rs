//! Lists worktrees, decides which are no longer needed, and removes those.
//!
//! A worktree moves to the trash only if all of this holds: liza made it; its task has left the board, or it belongs
//! to an attempt or review that has ended; nothing in it is uncommitted (or that was saved under a ref first); a
//! branch or ref keeps its head, and the main repository has its submodules' commits. Everything else stays, with a
//! reason. The checkout of a review, and a worktree whose work is proven to be on integration, are deleted instead.

use super::attempt::snapshot_worktree;
use super::ownership::GATES;
use super::prelude::*;
use crate::git::{Checkout, DirtyPath, Query, Repo, reviewed};
use crate::store::lock::SideLock;
use crate::store::trash::bytes_of;

/// What a worktree is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    Task,
    Review,
    Merge,
    Gate,
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
            Self::Experiment => "experiment",
        }
    }
}

/// One worktree, and whether it may be removed.
#[derive(Debug, Clone, Serialize)]
pub struct Place {
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
    over: Result<String, String>,
    #[serde(skip)]
    whose: Whose,
    /// It may be deleted: its work is on integration, as long as its head is this commit.
    #[serde(skip)]
    landed: bool,
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

/// What happened to one worktree.
#[derive(Debug, Clone, Serialize)]
pub struct Pruned {
    #[serde(serialize_with = "crate::text::serialize_path")]
    pub path: PathBuf,
    pub task: Option<TaskId>,
    pub bytes: u64,
    /// Its new path; absent in a dry run, and if it was deleted.
    #[serde(serialize_with = "crate::text::serialize_path")]
    pub trash: Option<PathBuf>,
    pub why: String,
    /// Whether it is deleted: its content is on integration, or it was a checkout for reading.
    pub deleted: bool,
    /// Refs that keep its content beside its branch.
    pub kept: Vec<String>,
}

#[derive(Debug, Clone, Copy, Default)]
pub struct PruneOptions {
    pub dry_run: bool,
    /// Save uncommitted work under a ref; it is then no reason to stay.
    pub save: bool,
}

#[derive(Debug, Default, Serialize)]
pub struct PruneReport {
    pub pruned: Vec<Pruned>,
    pub stay: Vec<Place>,
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
pub fn list(ctx: &Context) -> Result<Vec<Place>> {
    sized(ctx, None)
}

/// The same without computing sizes, which takes long.
pub fn places(ctx: &Context) -> Result<Vec<Place>> {
    gather(ctx, None, |_| ())
}

fn sized(ctx: &Context, only: Option<&[TaskId]>) -> Result<Vec<Place>> {
    gather(ctx, only, |place| place.bytes = bytes_of(&place.path))
}

/// Examines every worktree, or those of these tasks; several at a time, because git is slow.
fn gather(ctx: &Context, only: Option<&[TaskId]>, also: impl Fn(&mut Place) + Sync) -> Result<Vec<Place>> {
    let snapshot = ctx.read(&only.map_or(Needs::Everything, |only| Needs::Tasks(only.to_vec())))?;
    let mut known = Known::new(&snapshot.board);
    let records = checkouts::list(&ctx.repo)?;
    let kept = super::merged::newest_merged(ctx, &snapshot.board)?;
    known.kept = kept.into_iter().collect();
    let mut places = Vec::new();
    let named = |path: &Path| task_of(&path.file_name().unwrap_or_default().to_string_lossy());
    let is_asked_for =
        |path: &Path| only.is_none_or(|only| named(path).is_some_and(|task| only.contains(&task)));
    for (path, purpose) in found(ctx, &records)?.into_iter().filter(|(path, _)| is_asked_for(path)) {
        let place = look(ctx, &snapshot.board, &mut known, record_of(&records, &path), path, purpose)?;
        let asked_for = |only: &[TaskId]| place.task.as_ref().is_some_and(|task| only.contains(task));
        if only.is_none_or(asked_for) {
            places.push(place);
        }
    }
    let repo = &ctx.repo;
    host::for_each(&mut places, |place| {
        inside(repo, place, record_of(&records, &place.path), Filters::Skip);
        also(place);
    });
    Ok(places)
}

/// Directories, and git's records whose directory is gone.
fn found(ctx: &Context, records: &[Checkout]) -> Result<BTreeMap<PathBuf, Purpose>> {
    let home = ctx.machine.worktrees();
    let mut all = BTreeMap::new();
    let homes = [
        (home.to_owned(), Purpose::Task),
        (home.join(".review"), Purpose::Review),
        (home.join(".merge"), Purpose::Merge),
        (home.join(GATES), Purpose::Gate),
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
) -> Result<Place> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let id = task_of(&name);
    let mut place = Place {
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
        over: Err("liza did not make it, and it belongs to no task of this board".to_owned()),
        whose: Whose::Foreign,
        landed: false,
        newest: false,
        prepared: Vec::new(),
        path,
    };
    let kept = id.as_ref().is_some_and(|id| known.kept.contains(id));
    let found = match &id {
        Some(id) if !matches!(purpose, Purpose::Merge | Purpose::Gate | Purpose::Experiment) => {
            known.find(ctx, id)?
        }
        _ => None,
    };
    let lock = record.and_then(|record| record.locked.as_deref());
    let marked = lock.is_some_and(Worktrees::is_own_lock);
    let attempts = purpose == Purpose::Task
        && found.is_some_and(|(task, _)| is_of_attempt(task, &format!(".worktrees/{name}"), record));
    place.whose = match lock {
        // Experiments need no board, and outlive it.
        _ if purpose == Purpose::Experiment => Whose::Foreign,
        _ if marked => Whose::Marked,
        None if attempts => Whose::Likely,
        _ => Whose::Foreign,
    };
    if purpose == Purpose::Merge && marked {
        place.over = match board.rest.intents.is_empty() {
            true => Ok("no merge is under way".to_owned()),
            false => Err("git work is under way".to_owned()),
        };
    } else if purpose == Purpose::Gate && marked {
        let stays = "it stays for the next gates: a new one costs more than updating it";
        let runs = ctx.machine.gates_run_at(&name);
        place.over = Err(if runs { "gates run there" } else { stays }.to_owned());
    } else if purpose == Purpose::Experiment {
        let command = "liza experiment prune";
        place.over =
            Err(format!("it belongs to the run {name}; `{command}` removes it when the run has ended"));
    } else if let Some((task, archived)) = found
        && (marked || attempts)
    {
        place.status = Some(task.status);
        place.archived = archived;
        (place.over, place.landed) = over(ctx, board, task, archived, &place, &name, kept)?;
        let own = format!(".worktrees/{name}");
        let attempt = task.body().attempts.iter().rfind(|attempt| attempt.worktree == own);
        place.prepared = match purpose {
            Purpose::Review => super::prepared::noted(&ctx.repo, &place.path),
            _ => attempt.map_or(Vec::new(), |attempt| attempt.not_work()),
        };
        place.task = id;
        place.newest = kept;
    }
    if let Some(reason) = lock.filter(|_| !marked) {
        place.over = Err(format!("it was locked by hand: {reason}"));
    }
    Ok(place)
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
fn over(
    ctx: &Context,
    board: &Board,
    task: &Task,
    archived: bool,
    place: &Place,
    name: &str,
    kept: bool,
) -> Result<(Result<String, String>, bool)> {
    let id = &task.id;
    let stays = |why: String| Ok((Err(why), false));
    if let Some(intent) = board.intent_of(id) {
        return stays(format!("a {} of {id} is under way", intent.work.verb()));
    }
    if place.purpose == Purpose::Review {
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
        return Ok((Ok(format!("a former attempt at {id}, which is over")), false));
    }
    if !task.status.is_terminal() {
        return stays(format!("{id} is {}", task.status));
    }
    let branch = present.map(|attempt| attempt.branch.as_str()).unwrap_or_default();
    let Some(head) = ctx.query()?.head_of_branch(branch)? else {
        return Ok((Ok(format!("{id} is {} and its branch was collected", task.status)), false));
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
fn inside(repo: &Repo, place: &mut Place, record: Option<&Checkout>, filters: Filters) {
    let sound = checkouts::check_sound(repo, &place.path);
    let sound_here = sound.is_ok();
    let gone = place.path.symlink_metadata().is_err();
    let mut fault = None;
    if sound.is_ok() {
        let path = &place.path;
        place.untouched = Query::open(repo).is_ok_and(|query| reviewed::is_untouched(&query, path));
        let status = match place.untouched {
            true => Ok(Vec::new()),
            false => content::status(path, filters),
        };
        match (content::head(path), status, content::merge_head(path)) {
            (Ok(head), Ok(dirty), Ok(merging)) => {
                place.head = Some(head);
                let is_work = |found: &DirtyPath| !super::prepared::is_not_work(&place.prepared, found);
                place.uncommitted = dirty.into_iter().filter(is_work).map(|found| found.path).collect();
                if merging.is_some() && place.uncommitted.is_empty() {
                    place.uncommitted.push("a merge in progress".to_owned());
                }
                place.dirty = !place.uncommitted.is_empty();
            }
            (Err(error), ..) | (_, Err(error), _) | (.., Err(error)) => fault = Some(error.to_string()),
        }
    } else if let Err(error) = sound
        && !gone
    {
        fault = Some(error.to_string());
    }
    let only_here =
        record.and_then(|record| submodules::only_here(repo, &record.admin_dir, &place.path)).or_else(|| {
            // What liza prepared is known to be ignored for a reason.
            let asks = place.whose == Whose::Likely && sound_here && !place.untouched;
            let ignored = asks.then(|| content::ignored(&place.path));
            Some(format!("the ignored file `{}`", ignored?.ok()??))
        });
    if let (Ok(_), Some(held)) = (&place.over, only_here) {
        place.over = Err(format!("it holds {held}, possibly as the only copy"));
    }
    (place.prunable, place.why) = match (&place.over, fault) {
        (Err(why), _) => (false, why.clone()),
        (Ok(_), Some(fault)) => {
            (false, format!("it cannot be read: {fault}; save what you need from it yourself"))
        }
        (Ok(why), None) if !place.dirty => (true, why.clone()),
        (Ok(_), None) => {
            let some = place.uncommitted[..place.uncommitted.len().min(5)].join(", ");
            (false, format!("uncommitted work: {some} (`liza worktree prune --save` keeps it under a ref)"))
        }
    };
}

impl Place {
    /// Why it stays, as a heading.
    pub fn stays(&self) -> &'static str {
        match self.purpose {
            Purpose::Experiment => "of experiments",
            _ if !self.is_ours() => "not made by liza",
            Purpose::Gate => "for the next gates",
            _ if self.over.is_ok() && self.dirty => "uncommitted work",
            _ if self.status.is_some_and(|status| !status.is_terminal()) => "in use",
            Purpose::Task if self.newest => "newest merged",
            Purpose::Task if self.over.is_err() => "until archived",
            _ => "cannot be read",
        }
    }

    /// Whether liza made it, as far as can be determined.
    pub fn is_ours(&self) -> bool {
        self.whose != Whose::Foreign
    }

    /// Whether it may be removed once its uncommitted work is saved.
    pub fn prunable_with(&self, save: bool) -> bool {
        self.prunable || (save && self.dirty && self.over.is_ok() && self.head.is_some())
    }
}

/// Moves every removable worktree into the trash; only those of `only`, if given.
pub fn prune(ctx: &Context, options: PruneOptions, only: Option<&[TaskId]>) -> Result<PruneReport> {
    let _one_at_a_time = ctx.machine.lock_worktrees()?;
    if !options.dry_run {
        super::merged::finish_deletions(ctx)?;
    }
    let mut report = PruneReport::default();
    for mut place in sized(ctx, only)? {
        // For a removal, git itself must judge files that pass through a filter.
        if place.dirty && !options.dry_run {
            let records = checkouts::list(&ctx.repo)?;
            let record = record_of(&records, &place.path);
            inside(&ctx.repo, &mut place, record, Filters::Run);
        }
        if !place.prunable_with(options.save) {
            report.stay.push(place);
            continue;
        }
        let mut pruned = Pruned {
            path: place.path.clone(),
            task: place.task.clone(),
            bytes: place.bytes,
            trash: None,
            why: place.over.clone().unwrap_or_default(),
            deleted: place.landed && !place.dirty && leads_nowhere_else(ctx, &place)?,
            kept: Vec::new(),
        };
        if !options.dry_run {
            pruned.kept = save(ctx, &place)?;
            if pruned.deleted && !place.untouched {
                pruned.kept.extend(keep_ignored(ctx, &place)?);
            }
            crash::point("prune.saved");
            if pruned.deleted {
                ctx.worktrees().delete(&place.path)?;
            } else {
                pruned.trash = remove(ctx, &place.path)?;
            }
            crash::point("prune.moved");
        }
        report.pruned.push(pruned);
    }
    Ok(report)
}

/// Whether the worktree is at the head of its branch, which has landed; a checkout for reading has no branch.
fn leads_nowhere_else(ctx: &Context, place: &Place) -> Result<bool> {
    match (&place.branch, place.purpose) {
        (_, Purpose::Review) => Ok(true),
        (Some(branch), _) => Ok(ctx.query()?.head_of_branch(branch)? == place.head),
        (None, _) => Ok(false),
    }
}

/// Keeps ignored files of a task, before its worktree is deleted.
fn keep_ignored(ctx: &Context, place: &Place) -> Result<Vec<String>> {
    let (Some(task), Purpose::Task) = (&place.task, place.purpose) else { return Ok(Vec::new()) };
    let snapshot = ctx.read(&Needs::task(task))?;
    let Some(known) = snapshot.board.task(task) else { return Ok(Vec::new()) };
    let scope = &known.body().scope;
    let prepared = &place.prepared;
    let saved = snapshot_worktree(ctx, task.as_str(), &place.path, Some(scope), prepared)?;
    let Some(saved) = saved else { return Ok(Vec::new()) };
    if !saved.left_out.is_empty() {
        let path = place.path.display();
        return Err(failure!(
            ErrorCode::GitUnsaved,
            "not everything in {path} could be saved: {}",
            saved.left_out
        )
        .hint("make those files readable, or move them away yourself, then try again"));
    }
    let Some(head) = &place.head else { return Ok(Vec::new()) };
    Ok(vec![refs::keep(&ctx.repo, &wip_ref(task.as_str(), place, head), &saved.commit)?])
}

/// A clean checkout for reading, at exactly this commit. With a `log` it is prepared, and the log has the result.
pub(super) fn detached_checkout(
    ctx: &Context,
    dir: &Path,
    name: &str,
    commit: &CommitId,
    owner: &str,
    log: Option<&Path>,
) -> Result<PathBuf> {
    let path = dir.join(name);
    let one_at_a_time = lock_when_written(ctx, &path)?;
    let sound = checkouts::check_sound(&ctx.repo, &path).is_ok()
        && content::head(&path).is_ok_and(|head| &head == commit)
        && content::status(&path, Filters::Run).is_ok_and(|dirty| {
            let prepared = super::prepared::noted(&ctx.repo, &path);
            dirty.iter().all(|found| super::prepared::is_not_work(&prepared, found))
        });
    if sound {
        return Ok(path);
    }
    ctx.machine.make_worktrees_dir(dir)?;
    ctx.worktrees().remove_to_trash(&path)?;
    ctx.worktrees().add_detached(&path, commit, owner)?;
    let _being_written = ctx.machine.lock_checkout(&path)?;
    drop(one_at_a_time);
    crash::point("checkout.registered");
    let made = ctx.check_out(&path, commit).and_then(|()| match log {
        Some(log) => {
            let prepared = super::prepare::prepare(ctx, &ctx.project_config()?.worktrees, &path, log)?;
            if prepared.is_empty() { Ok(()) } else { super::prepared::note(&ctx.repo, &path, &prepared) }
        }
        None => Ok(()),
    });
    if let Err(failure) = made {
        let _one_at_a_time = ctx.machine.lock_worktrees()?;
        let _ = remove(ctx, &path);
        return Err(failure);
    }
    Ok(path)
}

/// Acquires the worktrees lock when no living process writes the files of this one.
fn lock_when_written(ctx: &Context, path: &Path) -> Result<SideLock> {
    loop {
        let one_at_a_time = ctx.machine.lock_worktrees()?;
        if !ctx.machine.is_checkout_locked(path) {
            return Ok(one_at_a_time);
        }
        // The waiting process holds no lock that others need.
        drop(one_at_a_time);
        ctx.machine.lock_checkout(path)?;
    }
}

impl Context {
    /// Writes the files of a worktree that was just registered. Reports it if it takes long.
    pub(super) fn check_out(&self, path: &Path, commit: &CommitId) -> Result<()> {
        let say = || {
            let files = self.query().ok().and_then(|query| query.count_files(commit).ok());
            let files = files.map_or("the files".to_owned(), |files| plural(files, "file"));
            self.narrate(format!("checking out {files} into {} …", path.display()));
        };
        Ok(self.worktrees().check_out(path, commit, say)?)
    }
}

/// Moves a worktree and git's record of it into the trash.
pub fn remove(ctx: &Context, path: &Path) -> Result<Option<PathBuf>> {
    ctx.machine.make_trash()?;
    Ok(ctx.worktrees().remove_to_trash(path)?)
}

/// Keeps what only this worktree has: uncommitted files, and a head that is on no branch.
pub fn save(ctx: &Context, place: &Place) -> Result<Vec<String>> {
    let mut kept = Vec::new();
    let Some(head) = &place.head else { return Ok(kept) };
    // What gates leave is no work.
    if place.purpose == Purpose::Gate {
        return Ok(kept);
    }
    let name = place.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let task = place.task.as_ref().map_or(name.clone(), ToString::to_string);
    if place.dirty
        && let Some(saved) = snapshot_worktree(ctx, &task, &place.path, None, &place.prepared)?
    {
        if !saved.left_out.is_empty() {
            let (path, left) = (place.path.display(), saved.left_out);
            return Err(failure!(ErrorCode::GitUnsaved, "not everything in {path} could be saved: {left}")
                .hint("make those files readable, or move them away yourself, then try again"));
        }
        kept.push(refs::keep(&ctx.repo, &wip_ref(&task, place, head), &saved.commit)?);
    }
    if place.branch.is_none() && !is_kept(ctx, head)? {
        let refname = format!("refs/liza/wip/{task}/head-{}", head.short());
        kept.push(refs::keep(&ctx.repo, &refname, head)?);
    }
    Ok(kept)
}

/// The ref that keeps the uncommitted work of a worktree. Two worktrees of one task may be at the same head: each has
/// its own ref.
pub fn wip_ref(task: &str, place: &Place, head: &CommitId) -> String {
    let name = place.path.file_name().unwrap_or_default().to_string_lossy();
    format!("refs/liza/wip/{task}/{}-{}-{}", place.purpose.as_str(), in_ref(&name), head.short())
}

/// A directory's name as a part of a ref name.
fn in_ref(name: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let plain: String = name.chars().map(|c| if allowed(c) { c } else { '_' }).collect();
    plain.replace("..", "__")
}

/// Whether a branch or a ref of liza keeps this commit.
fn is_kept(ctx: &Context, commit: &CommitId) -> Result<bool> {
    let query = ctx.query()?;
    for prefix in ["refs/liza", "refs/heads"] {
        for (_, at) in refs::list(&ctx.repo, prefix)? {
            if &at == commit || query.is_ancestor(commit, &at)? {
                return Ok(true);
            }
        }
    }
    Ok(false)
}
