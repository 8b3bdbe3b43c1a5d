//! Which refs and worktrees belong to a known owner: a task on the board or in the archive, or work in progress. The
//! only module that knows how liza names them.

use super::prelude::*;

/// The prefix of all refs of liza, beside the branches of tasks.
pub const OUR_REFS: &str = "refs/liza/";
/// What an earlier board kept, and branches that looked like a task's branch when this board began.
pub const FORMER_REFS: &str = "refs/liza/former/";
/// Failing tests on top of integration, one for each reported bug.
pub const BUG_REFS: &str = "refs/liza/bugs/";
/// The changes of runs of `liza experiment`, which need no board.
pub const EXPERIMENT_REFS: &str = "refs/liza/experiments/";
pub const TASK_BRANCHES: &str = "refs/heads/task/";
/// Checkouts for reviewers, and private ones for merging.
pub const REVIEWS: &str = ".review";
pub const MERGES: &str = ".merge";
/// Where gates run.
pub const GATES: &str = ".gates";
/// Checkouts that planners read, one for each.
pub const PLANS: &str = ".plan";

/// The parts of an archived task that are needed here.
#[derive(Debug, Clone, serde::Deserialize)]
pub struct ArchivedTask {
    pub id: TaskId,
    pub status: Status,
    #[serde(default)]
    pub epoch: Option<u64>,
    #[serde(default)]
    pub merge: Option<Landed>,
    #[serde(default)]
    pub approval: Option<Landed>,
    #[serde(default)]
    pub result: Option<crate::board::result::TaskResult>,
}

#[derive(Debug, Clone, serde::Deserialize)]
pub struct Landed {
    #[serde(default)]
    pub commit: Option<CommitId>,
    /// A result was accepted, and nothing was merged.
    #[serde(default)]
    pub nothing: bool,
}

#[derive(Debug, Clone)]
pub struct KnownOwners {
    /// The highest epoch of every present or former task, by its lower-cased id; none if it cannot be determined.
    tasks: BTreeMap<String, Option<u64>>,
    /// Branches and worktrees that open claims name.
    claims: Vec<(String, String)>,
    revision: u64,
    /// Branches that existed before this board began.
    former: Vec<String>,
}

impl KnownOwners {
    pub fn of(board: &Board, archive: &[ArchivedTask]) -> Self {
        let mut tasks: BTreeMap<String, Option<u64>> =
            archive.iter().map(|task| (task.id.folded(), task.epoch)).collect();
        tasks.extend(board.tasks.iter().map(|task| (task.id.folded(), Some(task.epoch))));
        let claims = board.rest.intents.iter().filter_map(|intent| match &intent.work {
            Work::Claim(work) => Some((work.branch.clone(), work.worktree.clone())),
            _ => None,
        });
        Self { tasks, claims: claims.collect(), revision: board.revision, former: Vec::new() }
    }

    /// Branches that `init` found count as known: it noted each below [`FORMER_REFS`].
    pub fn beside(mut self, refs: &[String]) -> Self {
        let noted = refs.iter().filter_map(|name| name.strip_prefix(FORMER_REFS)?.split_once("/heads/"));
        self.former = noted.map(|(_, branch)| branch.to_owned()).collect();
        self
    }

    fn task(&self, id: &str) -> bool {
        self.tasks.contains_key(&id.to_lowercase())
    }

    /// Whether the task ever had this epoch.
    fn epoch(&self, id: &str, epoch: u64) -> bool {
        match self.tasks.get(&id.to_lowercase()) {
            Some(Some(highest)) => (1..=*highest).contains(&epoch),
            Some(None) => true,
            None => false,
        }
    }

    /// `t1`, `t1.EPOCH`, or `t1.EPOCH-N` if other names were taken: the name of a branch and of a worktree.
    fn attempt(&self, name: &str) -> bool {
        let Some((id, rest)) = name.split_once('.') else { return self.epoch(name, 1) };
        let (epoch, number) = rest.split_once('-').unwrap_or((rest, "1"));
        number.parse::<u64>().is_ok() && epoch.parse().is_ok_and(|epoch| self.epoch(id, epoch))
    }

    pub fn knows_ref(&self, refname: &str) -> bool {
        if let Some(branch) = refname.strip_prefix("refs/heads/") {
            return branch.strip_prefix("task/").is_some_and(|name| self.attempt(name))
                || self.former.iter().any(|known| known == branch)
                || self.claims.iter().any(|(known, _)| known == branch);
        }
        let parts: Vec<&str> = refname.strip_prefix(OUR_REFS).unwrap_or_default().split('/').collect();
        let number = |text: &str| text.parse::<u64>().ok();
        // `3`, or `3-2` if another commit had that name.
        let numbered = |text: &str| {
            let (first, more) = text.split_once('-').unwrap_or((text, "2"));
            number(first).filter(|_| number(more).is_some_and(|more| more > 1))
        };
        match parts[..] {
            ["attempts", task, n] => self.task(task) && numbered(n).is_some(),
            ["merges", task, id] => self.task(task) && number(id).is_some_and(|id| id <= self.revision),
            ["submitted", task, round] => round
                .split_once('-')
                .and_then(|(epoch, iteration)| Some((number(epoch)?, number(iteration)?)))
                .is_some_and(|(epoch, _)| self.epoch(task, epoch)),
            ["wip", task] => self.task(task),
            // The ref is made before its task; if the reporter died in between, the ref belongs to no task.
            ["bugs", task] => task.strip_prefix("bug-").and_then(number).is_some(),
            // Kept before a worktree moved to the trash.
            ["wip", task, name]
                if ["task-", "review-", "head-"].iter().any(|kind| name.starts_with(kind)) =>
            {
                self.task(task)
            }
            ["wip", task, epoch] => numbered(epoch).is_some_and(|epoch| self.epoch(task, epoch)),
            ["former", n, ..] => number(n).is_some(),
            // Named after a bundle, which may come from another board.
            ["bundles", id] => crate::wire::bundle::is_id(id),
            ["moves", id] => number(id).is_some_and(|id| id <= self.revision),
            ["experiments", _] => true,
            _ => false,
        }
    }

    /// A path below `.worktrees`, such as `t1.2` or `.review/t1`.
    pub fn knows_worktree(&self, name: &Path) -> bool {
        let Some(name) = name.to_str() else { return false };
        match name.split_once('/') {
            Some((REVIEWS, task)) => self.task(task),
            Some((MERGES | PLANS, _)) => true,
            Some((GATES, number)) => number.parse::<u16>().is_ok(),
            Some(_) => false,
            None => {
                let of_claim = |worktree: &str| worktree.rsplit('/').next() == Some(name);
                self.attempt(name) || self.claims.iter().any(|(_, worktree)| of_claim(worktree))
            }
        }
    }
}

/// Every archived task whose file can be read. Unreadable files are an error that names them.
pub fn archive(ctx: &Context) -> Result<Vec<ArchivedTask>> {
    const LARGEST: usize = crate::store::read::LARGEST_STATE as usize;
    let mut found = Vec::new();
    for file in ctx.store.archive_files()? {
        let (path, bytes) = file?;
        let task = read_foreign(&bytes, Limits::of_bytes(LARGEST)).map_err(|error| {
            failure!(ErrorCode::BoardArchive, "{} cannot be read: {error}", path.display())
        })?;
        found.push(task);
    }
    Ok(found)
}

/// The paths of liza's worktrees: what git has on record below `.worktrees`, and what exists there.
pub fn worktree_entries(ctx: &Context) -> Result<Vec<WorktreeEntry>> {
    let home = ctx.machine.worktrees();
    let mut found: BTreeMap<PathBuf, WorktreeEntry> = BTreeMap::new();
    for record in checkouts::list(&ctx.repo)? {
        let Some(name) = record.path.as_ref().and_then(|path| path.strip_prefix(home).ok()) else {
            continue;
        };
        let name = name.to_owned();
        found.insert(
            name.clone(),
            WorktreeEntry { present: false, path: home.join(&name), record: Some(record), name },
        );
    }
    let mut present = |below: &str| -> Result<()> {
        let dir = home.join(below);
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            let name = Path::new(below).join(entry.file_name());
            // An entry being deleted belongs to no task; the next deletion finishes an interrupted one.
            let going = entry.file_name().to_string_lossy().starts_with(crate::git::worktree::GOING);
            if going || [REVIEWS, MERGES, PLANS, GATES].iter().any(|own| name == Path::new(own)) {
                continue;
            }
            let path = home.join(&name);
            let entry = WorktreeEntry { present: true, path, record: None, name: name.clone() };
            found.entry(name).or_insert(entry).present = true;
        }
        Ok(())
    };
    ["", REVIEWS, MERGES, PLANS, GATES].into_iter().try_for_each(&mut present)?;
    Ok(found.into_values().collect())
}

/// One path below `.worktrees`.
pub struct WorktreeEntry {
    /// Relative to `.worktrees`.
    pub name: PathBuf,
    pub path: PathBuf,
    pub record: Option<checkouts::Checkout>,
    /// Whether the path exists.
    pub present: bool,
}

impl WorktreeEntry {
    /// Whether git has it on record without liza's mark: then it is the user's own, unless it is at the path of a
    /// task's worktree.
    pub fn is_unmarked(&self) -> bool {
        let marked = |record: &checkouts::Checkout| {
            record.locked.as_deref().is_some_and(crate::git::Worktrees::is_own_lock)
        };
        self.record.as_ref().is_some_and(|record| !record.is_half_made() && !marked(record))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owners() -> KnownOwners {
        let tasks = [("t1".to_owned(), Some(2)), ("t2".to_owned(), Some(0)), ("old".to_owned(), None)];
        let claims = vec![("task/t3".to_owned(), ".worktrees/t3".to_owned())];
        KnownOwners { tasks: tasks.into(), claims, revision: 9, former: Vec::new() }
            .beside(&["refs/liza/former/1/heads/task/theirs".to_owned()])
    }

    #[test]
    fn refs_are_known_by_task_and_number() {
        let known = owners();
        for name in [
            "refs/heads/task/t1",
            "refs/heads/task/T1.2",
            "refs/heads/task/old.7",
            "refs/heads/task/t3",
            "refs/liza/attempts/t1/1",
            "refs/liza/merges/t1/9",
            "refs/liza/submitted/t1/2-1",
            "refs/liza/wip/t1/1",
            "refs/liza/wip/t1",
            "refs/liza/wip/t1/1-2",
            "refs/liza/wip/t1/task-t1.2-0123456789ab",
            "refs/liza/wip/t1/review-t1-0123456789ab-2",
            "refs/liza/attempts/t1/1-2",
            "refs/liza/moves/3",
            "refs/liza/bundles/PB-20260220-001",
            "refs/liza/bundles/PB-20260220-001-2",
            "refs/liza/former/1/heads/task/theirs",
            "refs/liza/former/2/merges/x/3",
            "refs/heads/task/theirs",
            "refs/heads/task/t1.2-3",
        ] {
            assert!(known.knows_ref(name), "{name}");
        }
        for name in [
            "refs/heads/task/t2",
            "refs/heads/task/t1.3",
            "refs/heads/task/t1.x",
            "refs/heads/task/t1.2-x",
            "refs/heads/task/theirs2",
            "refs/liza/former/x/y",
            "refs/liza/wip/t4/task-t4",
            "refs/heads/task/t4",
            "refs/heads/task/t1/x",
            "refs/liza/attempts/t4/1",
            "refs/liza/attempts/t1/x",
            "refs/liza/attempts/t1/1-x",
            "refs/liza/attempts/t1/1-1",
            "refs/liza/wip/t1/3-2",
            "refs/liza/merges/t1/10",
            "refs/liza/submitted/t1/3-1",
            "refs/liza/wip/t1/3",
            "refs/liza/moves/10",
            "refs/liza/other/t1",
            "refs/liza/bundles/a b",
            "refs/liza/bundles/a/b",
            "refs/liza/x",
        ] {
            assert!(!known.knows_ref(name), "{name}");
        }
    }

    #[test]
    fn worktrees_are_known_by_task_and_epoch() {
        let known = owners();
        for name in ["t1", "t1.2", "t3", ".review/t1", ".review/old", ".merge/anything"] {
            assert!(known.knows_worktree(Path::new(name)), "{name}");
        }
        for name in ["t2", "t1.3", "t4", ".review/t4", "t1/inner", ""] {
            assert!(!known.knows_worktree(Path::new(name)), "{name}");
        }
    }
}
