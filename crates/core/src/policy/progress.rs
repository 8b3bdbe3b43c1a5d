//! An agent's progress, in numbers for people: since when it made none, and how near each of the seven alarms is, by
//! the detectors' own numbers.

use super::overseer::AgentSnapshot;
pub use super::overseer::{Measure, measures};
use super::prelude::*;

/// The time of the last progress: the first snapshot with the current tree and board state. Progress before the first
/// snapshot is unknown, so that is the earliest.
pub fn since(history: &[AgentSnapshot]) -> Option<Wall> {
    let last = history.last()?;
    let same = |look: &&AgentSnapshot| look.tree == last.tree && look.board_mark == last.board_mark;
    history.iter().rev().take_while(same).last().map(|look| look.time)
}

#[cfg(test)]
mod tests {
    use crate::board::oversight::Behaviour;
    use crate::policy::overseer::OverseerConfig;

    use super::*;

    fn look(second: i64, tree: &str, tokens: u64) -> AgentSnapshot {
        let value = serde_json::json!({
            "agent": "coder-1", "incarnation": 1, "role": "coder", "session": 1, "task": "t", "epoch": 1,
            "time": Wall(second), "started_at": Wall(0), "elapsed_seconds": second, "tree": tree,
            "tree_seen_at": Wall(second), "tokens": tokens, "board_mark": "WORKING",
        });
        serde_json::from_value(value).expect("a snapshot")
    }

    #[test]
    fn time_without_progress_starts_at_last_change() {
        let history = [look(10, "a", 0), look(20, "b", 500), look(30, "b", 700), look(40, "b", 1500)];
        assert_eq!(since(&history), Some(Wall(20)));
        assert_eq!(since(&[]), None);
    }

    #[test]
    fn all_seven_measures_need_a_snapshot() {
        let history = [look(10, "a", 0), look(20, "b", 500)];
        let config = OverseerConfig::default();
        let measured: Vec<Behaviour> = measures(&history, &config).iter().map(|one| one.behaviour).collect();
        assert_eq!(measured, Behaviour::ALL);
        assert_eq!(measures(&[], &config), []);
    }
}
