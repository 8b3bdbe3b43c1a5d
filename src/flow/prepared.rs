//! What liza put into a worktree before handing it to an agent: recorded, and not the agent's work.

use std::fs;
use std::path::{Path, PathBuf};

use super::failure::Failure;
use crate::board::{Board, TaskId};

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
pub fn note(checkout: &Path, prepared: &[String]) -> Result<(), Failure> {
    let file = git_dir(checkout).join(RECORD);
    let text: String = prepared.iter().map(|path| format!("{path}\n")).collect();
    fs::write(&file, text).map_err(|error| Failure::io("write", &file, &error))
}

/// What was prepared in a checkout for reading.
pub fn recorded_paths(checkout: &Path) -> Vec<String> {
    let text = crate::host::plain_text(&git_dir(checkout).join(RECORD)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Git's own directory of a linked worktree.
fn git_dir(checkout: &Path) -> PathBuf {
    let text = crate::host::plain_text(&checkout.join(".git")).unwrap_or_default();
    text.trim().strip_prefix("gitdir: ").map_or_else(|| checkout.join(".git"), PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_below_prepared_directory_is_prepared() {
        let prepared = ["web/node_modules/".to_owned(), ".env".to_owned()];
        for (path, expected) in
            [("web/node_modules/x", true), ("web/node_modules_x", false), (".env", true), (".env/x", false)]
        {
            assert_eq!(is_prepared(&prepared, path), expected, "{path}");
        }
    }
}
