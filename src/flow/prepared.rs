//! What liza put into a worktree before handing it to an agent: recorded, and not the agent's work.

use std::fs;
use std::path::Path;

use super::failure::Failure;
use crate::board::{Board, TaskId};
use crate::git::checkouts::admin_dir;
use crate::git::{DirtyKind, DirtyPath, Repo};

/// The name of the preparation among the definitions that a person accepts.
pub const NAME: &str = "worktrees";
/// The file in the git directory of a review or plan checkout that lists what was prepared there.
const RECORD: &str = "liza-prepared";

/// Whether a path is a prepared one, or below one.
pub fn is_prepared(prepared: &[String], path: &str) -> bool {
    prepared.iter().any(|known| match known.strip_suffix('/') {
        Some(dir) => path.strip_prefix(dir).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')),
        None => path == known,
    })
}

/// Whether this is no agent's work: a prepared path that git does not track. A file that an agent has added to git is work.
pub fn is_not_work(prepared: &[String], found: &DirtyPath) -> bool {
    found.kind == DirtyKind::Untracked && is_prepared(prepared, &found.path)
}

/// What liza put into the present worktree of a task; its body must be loaded.
pub fn prepared_for<'b>(board: &'b Board, task: &TaskId) -> &'b [String] {
    let attempt = board.task(task).and_then(|task| task.body().attempt());
    attempt.map_or(&[], |attempt| &attempt.prepared)
}

/// The same, and what the validation left there: neither is an agent's work.
pub fn not_work(board: &Board, task: &TaskId) -> Vec<String> {
    let attempt = board.task(task).and_then(|task| task.body().attempt());
    attempt.map_or(Vec::new(), |attempt| attempt.not_work())
}

/// Notes what was prepared in a checkout for reading.
pub fn note(repo: &Repo, checkout: &Path, prepared: &[String]) -> Result<(), Failure> {
    let file = admin_dir(repo, checkout).join(RECORD);
    let text: String = prepared.iter().map(|path| format!("{path}\n")).collect();
    fs::write(&file, text).map_err(|error| Failure::io("write", &file, &error))
}

/// What was prepared in a checkout for reading.
pub fn noted(repo: &Repo, checkout: &Path) -> Vec<String> {
    let text = crate::host::plain_text(&admin_dir(repo, checkout).join(RECORD)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prepared_directories_hold_what_is_below() {
        let prepared = ["web/node_modules/".to_owned(), ".env".to_owned()];
        for (path, expected) in
            [("web/node_modules/x", true), ("web/node_modules_x", false), (".env", true), (".env/x", false)]
        {
            assert_eq!(is_prepared(&prepared, path), expected, "{path}");
        }
    }
}
