//! Which task holds which paths, computed from the board. There is no other table of locks: a task holds the paths it
//! owns from its first claim until it ends or releases them.

use super::prelude::*;
use crate::board::intent::Work;

words! {
    /// How much a lock covers.
    pub enum Granularity {
        /// Everything below a directory.
        Directory = "directory",
        /// One file.
        File = "file",
        /// The paths that match a pattern with `*` or `?`.
        Pattern = "pattern",
    }
}

impl Granularity {
    pub fn of(path: &PathPattern) -> Self {
        let text = path.as_str();
        match text.trim_end_matches('/') {
            "**" => Self::Directory,
            inner if inner.contains(['*', '?']) => Self::Pattern,
            _ if text.ends_with('/') => Self::Directory,
            _ => Self::File,
        }
    }
}

/// What ends a lock without a command of a person or an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EndsWith {
    /// After `until`, another agent may claim the task; its paths stay with the task.
    Lease,
    /// After `until`, a blocked task holds no paths.
    BlockedHold,
    /// Only the end of the task.
    Task,
}

/// One path pattern that one task holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Lock {
    pub path: PathPattern,
    pub granularity: Granularity,
    pub task: TaskId,
    pub status: Status,
    /// The agent that works on the task, or did last.
    pub agent: Option<AgentId>,
    pub epoch: u64,
    /// When the task was claimed last.
    pub since: Option<Wall>,
    pub until: Option<Wall>,
    pub ends_with: EndsWith,
    /// No unexpired lease exists for the task, so perhaps no agent is left to release the paths.
    pub stale: bool,
}

/// The bodies that show since when paths are held.
pub fn needed_for_locks(board: &Board, now: &Stamp) -> Needs {
    Needs::Tasks(board.tasks.iter().filter(|task| task.is_live(now)).map(|task| task.id.clone()).collect())
}

/// All locks, ordered by path. Without a loaded body, the start of a lock is unknown.
pub fn locks(board: &Board, now: &Stamp) -> Vec<Lock> {
    let live = board.tasks.iter().filter(|task| task.is_live(now));
    let mut all: Vec<Lock> = live.flat_map(|task| locks_of(board, task, now)).collect();
    all.sort_by(|one, other| (&one.path, &one.task).cmp(&(&other.path, &other.task)));
    all
}

/// The locks that keep other tasks from `path`.
pub fn locks_on(board: &Board, now: &Stamp, path: &PathPattern) -> Vec<Lock> {
    locks(board, now).into_iter().filter(|lock| lock.path.overlaps(path).is_some()).collect()
}

fn locks_of(board: &Board, task: &Task, now: &Stamp) -> Vec<Lock> {
    let (until, ends_with) = match (&task.lease, &task.holds_paths_until) {
        (_, Some(until)) => (Some(until.at), EndsWith::BlockedHold),
        (Some(lease), None) => (Some(lease.expires.at), EndsWith::Lease),
        (None, None) => (None, EndsWith::Task),
    };
    // Computed once: neither depends on the path.
    let (since, stale) = (claimed_at(board, task), is_stale(board, task, now));
    let lock = |path: &PathPattern| Lock {
        path: path.clone(),
        granularity: Granularity::of(path),
        task: task.id.clone(),
        status: task.status,
        agent: task.assigned_to.clone(),
        epoch: task.epoch,
        since,
        until,
        ends_with,
        stale,
    };
    task.owns.iter().map(lock).collect()
}

fn claimed_at(board: &Board, task: &Task) -> Option<Wall> {
    if let Some(intent) = board.intent_of(&task.id).filter(|intent| matches!(intent.work, Work::Claim(_))) {
        return Some(intent.time);
    }
    if task.is_light() {
        return None;
    }
    let claim = |event: Event| matches!(event, Event::Claimed | Event::TakenOver);
    task.body().history.iter().rfind(|line| claim(line.event)).map(|line| line.time)
}

fn is_stale(board: &Board, task: &Task, now: &Stamp) -> bool {
    match task.status {
        Status::Working => task.lease.as_ref().is_none_or(|lease| lease_over(board, lease, now)),
        Status::Idle | Status::Rejected | Status::IntegrationFailed => {
            task.reserved_until.as_ref().is_none_or(|until| until.passed(now))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::rules::MergeFailure;
    use crate::board::testing::{Bench, LEASE, REASONS, new_task, plan_of};

    fn table(bench: &Bench) -> Vec<Lock> {
        locks(&bench.board, &bench.now)
    }

    #[test]
    fn lock_granularity_follows_the_pattern() {
        for (text, granularity) in [
            ("crates/core/", Granularity::Directory),
            ("crates/core/**", Granularity::Directory),
            ("**", Granularity::Directory),
            ("docs/guide.md", Granularity::File),
            ("src/*.rs", Granularity::Pattern),
            ("**/mod.rs", Granularity::Pattern),
            ("src/?/", Granularity::Pattern),
        ] {
            assert_eq!(Granularity::of(&PathPattern::new(text).expect("a pattern")), granularity, "{text}");
        }
    }

    /// For every status: whether the task holds its paths, what ends the lock, and whether it is stale then and a lease
    /// later.
    #[test]
    fn lock_list_covers_every_task_state() {
        use EndsWith::{BlockedHold, Lease};
        type Scene = fn(&mut Bench);
        let scenes: [(&str, Scene, Option<EndsWith>, bool, bool); 10] = [
            ("idle", |_| {}, None, false, false),
            ("working", |bench| drop(bench.claim("coder-1", "t")), Some(Lease), false, true),
            ("ready", |bench| bench.hand_in("coder-1", "t"), Some(EndsWith::Task), false, false),
            ("approved", |bench| bench.approved("coder-1", "t"), Some(EndsWith::Task), false, false),
            (
                "rejected",
                |bench| {
                    bench.rejected("coder-1", "t", REASONS[0]);
                },
                Some(EndsWith::Task),
                false,
                true,
            ),
            (
                "failed",
                |bench| bench.failed_to_merge("coder-1", "t", MergeFailure::RedGate),
                Some(EndsWith::Task),
                false,
                true,
            ),
            (
                "blocked",
                |bench| {
                    bench.claim("coder-1", "t");
                    bench.ok("planner-1", bench.block("t"));
                },
                Some(BlockedHold),
                false,
                false,
            ),
            (
                "released",
                |bench| {
                    bench.claim("coder-1", "t");
                    bench.ok("coder-1", bench.release("t"));
                },
                Some(EndsWith::Task),
                true,
                true,
            ),
            (
                "unlocked",
                |bench| {
                    bench.claim("coder-1", "t");
                    bench.ok("human", bench.unlock("t"));
                },
                None,
                false,
                false,
            ),
            (
                "merged",
                |bench| {
                    bench.approved("coder-1", "t");
                    bench.merge("t");
                },
                None,
                false,
                false,
            ),
        ];
        for (name, scene, ends_with, stale, stale_later) in scenes {
            let mut bench = Bench::with_tasks(&["t"]);
            scene(&mut bench);
            let rows = table(&bench);
            assert_eq!(rows.first().map(|lock| lock.ends_with), ends_with, "{name}");
            assert_eq!(rows.first().is_some_and(|lock| lock.stale), stale, "{name}");
            assert!(rows.iter().all(|lock| lock.since.is_some()), "{name}");
            bench.tick(LEASE + 1);
            let rows = table(&bench);
            assert_eq!(rows.first().is_some_and(|lock| lock.stale), stale_later, "{name}, later");
        }
    }

    #[test]
    fn lock_of_a_path_is_found_by_any_covering_pattern() {
        let mut bench = Bench::new();
        let tasks = vec![new_task("dir", "src/"), new_task("file", "docs/a.md"), new_task("some", "x/*.rs")];
        bench.ok("planner-1", plan_of(tasks));
        bench.claim("coder-1", "dir");
        bench.claim("coder-2", "file");
        let found = |text: &str| -> Vec<String> {
            let path = PathPattern::new(text).expect("a pattern");
            locks_on(&bench.board, &bench.now, &path).iter().map(|lock| lock.task.to_string()).collect()
        };
        assert_eq!(found("src/deep/main.rs"), ["dir"]);
        assert_eq!(found("docs/"), ["file"]);
        assert_eq!(found("**"), ["file", "dir"]);
        assert!(found("x/y.rs").is_empty(), "no agent has begun on it");
    }
}
