//! Hashes that somebody vouched for: what a gate that compares hashes is to find.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ids::{AgentId, TaskId};
use super::state::Board;
use super::time::Wall;

/// One hash that was declared right.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    pub gate: String,
    pub hash: String,
    /// It holds for the work of this task only, until that is merged; without it, for the integration branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    pub reason: String,
    pub by: AgentId,
    pub time: Wall,
}

/// The fewest digits that a hash has.
const SHORTEST_HASH: usize = 8;
const LONGEST_HASH: usize = 256;

/// A hash in its plain form, if the text is one: hexadecimal digits in lower case, without the name of what made it.
pub fn plain_hash(text: &str) -> Option<String> {
    let text = text.trim();
    let hash =
        ["trace-hash:", "hash:", "sha256:"].iter().find_map(|name| text.strip_prefix(name)).unwrap_or(text);
    let hash = hash.trim_start();
    let fits = (SHORTEST_HASH..=LONGEST_HASH).contains(&hash.len());
    (fits && hash.bytes().all(|byte| byte.is_ascii_hexdigit())).then(|| hash.to_ascii_lowercase())
}

impl Board {
    /// What was declared right for a gate: for this task, or else for the integration branch.
    pub fn expectation(&self, gate: &str, task: Option<&TaskId>) -> Option<&Expectation> {
        let of = |task: Option<&TaskId>| {
            self.rest.expectations.iter().find(|known| known.gate == gate && known.task.as_ref() == task)
        };
        task.and_then(|task| of(Some(task)).filter(|known| self.is_independent(known))).or_else(|| of(None))
    }

    /// Whoever takes up a task after he said what it is to find has no say in that any more.
    fn is_independent(&self, known: &Expectation) -> bool {
        let task = known.task.as_ref().and_then(|task| self.task(task));
        !task.is_some_and(|task| task.was_implemented_by(&known.by))
    }
}

/// What was declared right for the work of a task holds for the branch that now has it.
pub(super) fn land(board: &mut Board, task: &TaskId) {
    let of_task = |known: &&Expectation| known.task.as_ref() == Some(task) && board.is_independent(known);
    let landing: Vec<Expectation> = board.rest.expectations.iter().filter(of_task).cloned().collect();
    forget(board, task);
    for expectation in landing {
        replace(board, Expectation { task: None, ..expectation });
    }
}

/// What was declared right for work that will never land is forgotten.
pub(super) fn forget(board: &mut Board, task: &TaskId) {
    board.rest.expectations.retain(|known| known.task.as_ref() != Some(task));
}

/// One hash for each gate and each task, and one for the integration branch.
pub(super) fn replace(board: &mut Board, expectation: Expectation) {
    let same = |known: &Expectation| known.gate == expectation.gate && known.task == expectation.task;
    board.rest.expectations.retain(|known| !same(known));
    board.rest.expectations.push(expectation);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_hexadecimal_and_long_enough() {
        for text in ["a1b2c3d4", " A1B2C3D4\n", "hash: a1b2c3d4", "sha256:A1B2C3D4", "trace-hash: a1b2c3d4"] {
            assert_eq!(plain_hash(text).as_deref(), Some("a1b2c3d4"), "{text}");
        }
        for text in ["", "a1b2c3d", "a1b2c3dg", "a1b2 c3d4", "md5:a1b2c3d4", "hash:", &"a".repeat(257)] {
            assert_eq!(plain_hash(text), None, "{text}");
        }
    }
}
