//! Changes outside the worktree of a task since its claim: in the main checkout, and in worktrees that no agent holds.
//! Shown to the reviewer, and never a reason to refuse: liza does not know who made them.

use std::os::unix::fs::MetadataExt;

use super::prelude::*;
use super::worktrees::task_of;

/// At most this many worktrees are examined.
const MOST_PLACES: usize = 20;
/// Further paths are only counted.
const MOST_PATHS: usize = 50;

/// Uncommitted files of one checkout that changed since the claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Outside {
    /// `main checkout`, or the worktree relative to the repository.
    pub place: String,
    pub paths: Vec<String>,
    /// How many more there are.
    #[serde(skip_serializing_if = "is_zero")]
    pub more: usize,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl Outside {
    /// In one line.
    pub fn words(&self) -> String {
        let paths: Vec<String> = self.paths.iter().map(|path| shown_line(path).into_owned()).collect();
        let more = if self.more > 0 { format!(" and {} more", self.more) } else { String::new() };
        format!("{}: {}{more}", shown_line(&self.place), paths.join(", "))
    }
}

/// What changed since the present claim of the task. A checkout that cannot be examined is skipped.
pub fn since_claim(ctx: &Context, board: &Board, task: &TaskId) -> Vec<Outside> {
    let history = board.task(task).map(|task| task.body().history.as_slice()).unwrap_or_default();
    let claimed = history.iter().rfind(|line| matches!(line.event, Event::Claimed | Event::TakenOver));
    let Some(claimed) = claimed.map(|line| line.time) else { return Vec::new() };
    // The board has only the second; the worktree made for the claim has the exact time.
    let attempt = board.task(task).and_then(|task| task.body().attempt());
    let made =
        attempt.and_then(|attempt| ctx.root().join(&attempt.worktree).join(".git").symlink_metadata().ok());
    let since =
        made.map_or(KernelTime::of(claimed), |meta| KernelTime::of(claimed).max(KernelTime::changed(&meta)));
    let main = changed_in(ctx.root(), "main checkout", since);
    let unheld = unheld(ctx, board);
    let names = unheld.into_iter().map(|name| {
        let path = ctx.machine.worktrees().join(&name);
        changed_in(&path, &format!(".worktrees/{name}"), since)
    });
    main.into_iter().chain(names.flatten()).collect()
}

/// The worktrees of tasks that no agent works on now, the one under review included.
fn unheld(ctx: &Context, board: &Board) -> Vec<String> {
    let entries = fs::read_dir(ctx.machine.worktrees()).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let is_unheld = |name: &String| {
        let task = task_of(name).and_then(|id| board.task(&id).map(|task| task.status));
        !name.starts_with('.') && task.is_some_and(|status| status != Status::Working)
    };
    let mut names: Vec<String> = names.filter(is_unheld).collect();
    names.sort();
    names.truncate(MOST_PLACES);
    names
}

/// Seconds and nanoseconds, as the kernel counts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct KernelTime(i64, i64);

impl KernelTime {
    fn of(wall: Wall) -> Self {
        Self(wall.0, 0)
    }

    fn changed(meta: &fs::Metadata) -> Self {
        Self(meta.ctime(), meta.ctime_nsec())
    }
}

fn changed_in(dir: &Path, place: &str, since: KernelTime) -> Option<Outside> {
    if !dir.join(".git").exists() {
        return None;
    }
    let dirty = content::status(dir, Filters::Skip).ok()?;
    let mut paths: Vec<String> = dirty
        .into_iter()
        .map(|found| found.path)
        .filter(|path| !is_ours(path) && is_changed_since(dir, path, since))
        .collect();
    let more = paths.len().saturating_sub(MOST_PATHS);
    paths.truncate(MOST_PATHS);
    (!paths.is_empty()).then(|| Outside { place: place.to_owned(), paths, more })
}

/// Liza's own files do not count.
fn is_ours(path: &str) -> bool {
    super::branches::is_private(path)
}

/// The kernel records the last change of a file or its name; for a missing file, its directory decides.
fn is_changed_since(dir: &Path, path: &str, since: KernelTime) -> bool {
    let mut at = dir.join(path);
    loop {
        if let Ok(meta) = at.symlink_metadata() {
            return KernelTime::changed(&meta) > since;
        }
        if !at.pop() || !at.starts_with(dir) {
            return true;
        }
    }
}
