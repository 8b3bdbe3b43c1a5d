//! Boards of the older shell implementation (`version: 1`), written by hand and by `yq`: read the strict way, then
//! mapped as far as they go. What has no place on a board of today is kept as an extra, never dropped.
//!
//! [`read`] says what the file says and serves every reader. [`settle`] makes of it a board that may be worked with:
//! it asks the repository, because the old file is believed only as far as git bears it out.

mod fields;
mod records;
mod rest;
mod settle;
mod task;
mod times;

#[cfg(test)]
mod tests;

use serde_json::Value;

use crate::board::rules::WholeTask;
use crate::board::state::Rest;
use crate::board::{Board, Stamp, Task};

use super::{ForeignError, Limits, read_foreign_value};
use fields::{Extras, Fields};

pub use settle::{Repository, settle};
pub use times::loose_time;

/// The version such boards carry.
pub const VERSION: u64 = 1;

const LIMITS: Limits = Limits { bytes: 96 * 1024 * 1024, depth: 32, tokens: 16 * 1024 * 1024 };

/// The content of the old file.
#[derive(Debug, Clone, PartialEq)]
pub struct OldBoard {
    pub rest: Rest,
    pub tasks: Vec<OldTask>,
    /// Values that were changed or not understood.
    pub remarks: Vec<String>,
}

/// A task with the old file's values about git, unchanged.
#[derive(Debug, Clone, PartialEq)]
pub struct OldTask {
    pub whole: WholeTask,
    pub said: Said,
}

/// Commits may be abbreviated, branches and worktrees gone: liza checks all of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Said {
    /// The old id; branch and worktree were named after it.
    pub id: String,
    pub branch: Option<String>,
    pub worktree: Option<String>,
    pub base_commit: Option<String>,
    pub review_commit: Option<String>,
    pub merge_commit: Option<String>,
    pub approved_by: Option<crate::board::AgentId>,
    /// The old board names an agent that worked on it.
    pub begun: bool,
}

/// Reads the file. `now` is used for missing times.
pub fn read(bytes: &[u8], now: &Stamp) -> Result<OldBoard, ForeignError> {
    let Value::Object(map) = read_foreign_value(bytes, LIMITS)? else {
        return Err(ForeignError { line: None, path: None, message: "it is not a map".to_owned() });
    };
    let mut extras = Extras::default();
    let mut remarks = Vec::new();
    let mut top = Fields::new(map);
    top.take("version");
    let goal = top.map("goal");
    let spec = goal.as_ref().and_then(|goal| goal.peek_text("spec_ref"));
    let tasks = task::tasks(top.list("tasks"), spec.as_deref(), now, &mut extras, &mut remarks);
    let mut rest = rest::rest(&mut top, goal, &tasks, now, &mut extras, &mut remarks);
    records::records(&mut top, &mut rest, &tasks, now, &mut extras, &mut remarks);
    extras.leave("", top);
    rest.extra = extras.into_texts();
    Ok(OldBoard { rest, tasks, remarks })
}

impl OldBoard {
    /// For readers: as the file says, with revision 0, because no change was ever recorded.
    pub fn as_board(&self) -> Board {
        let tasks = self.tasks.iter().map(|old| Task::new(old.whole.head.clone(), old.whole.body.clone()));
        Board { revision: 0, journal: Default::default(), rest: self.rest.clone(), tasks: tasks.collect() }
    }
}

/// One entry of the old log, with the parts that every reader needs.
#[derive(Debug, Clone, PartialEq)]
pub struct OldEntry {
    pub time: String,
    pub agent: String,
    pub action: String,
    pub task: Option<String>,
    pub detail: Option<String>,
    /// The whole entry.
    pub value: Value,
}

/// Reads the old log: a YAML list of maps.
pub fn read_log(bytes: &[u8]) -> Result<Vec<OldEntry>, ForeignError> {
    if bytes.trim_ascii().is_empty() {
        return Ok(Vec::new());
    }
    let entries = match read_foreign_value(bytes, LIMITS)? {
        Value::Array(entries) => entries,
        Value::Null => Vec::new(),
        _ => return Err(ForeignError { line: None, path: None, message: "it is not a list".to_owned() }),
    };
    Ok(entries.into_iter().map(entry).collect())
}

fn entry(value: Value) -> OldEntry {
    let text = |keys: &[&str]| keys.iter().find_map(|key| fields::as_text(value.get(*key)?));
    OldEntry {
        time: text(&["timestamp", "time"]).unwrap_or_default(),
        agent: text(&["agent", "by"]).unwrap_or_default(),
        action: text(&["action", "event"]).unwrap_or_default(),
        task: text(&["task", "task_id"]),
        detail: text(&["detail", "details", "message", "reason"]),
        value,
    }
}
