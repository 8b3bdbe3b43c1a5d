//! How far an agent has come, in numbers for people: since when nothing came of its work, and how near each of the seven
//! alarms is. The alarms themselves are [`super::overseer::detect`]; these numbers decide nothing.

use serde::Serialize;

use crate::board::Wall;
use crate::board::oversight::Behaviour;

use super::overseer::{AgentSnapshot, OverseerConfig};

/// How near one alarm is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Measure {
    pub behaviour: Behaviour,
    /// What is counted.
    pub what: &'static str,
    pub now: u64,
    /// From here on it is looked at more closely; none, where there is no limit.
    pub alarm: Option<u64>,
}

/// When the work last came to something: the first look at which tree and board stood as they stand now. Progress before
/// the first look is not known, so that is the earliest.
pub fn since(history: &[AgentSnapshot]) -> Option<Wall> {
    standing(history).first().map(|look| look.time)
}

/// The looks since then.
fn standing(history: &[AgentSnapshot]) -> &[AgentSnapshot] {
    let Some(last) = history.last() else { return &[] };
    let same = |look: &AgentSnapshot| look.tree == last.tree && look.board_mark == last.board_mark;
    let start = history.iter().rposition(|look| !same(look)).map_or(0, |at| at + 1);
    &history[start..]
}

/// `history` is of one session, the oldest first.
pub fn measures(history: &[AgentSnapshot], config: &OverseerConfig) -> Vec<Measure> {
    let (Some(first), Some(last)) = (history.first(), history.last()) else { return Vec::new() };
    let standing = standing(history);
    let used_since = standing.first().map_or(0, |look| last.tokens.saturating_sub(look.tokens));
    let recent = &history[history.len().saturating_sub(3)..];
    let failures = recent.first().map_or(0, |look| last.errors.saturating_sub(look.errors));
    let limit = |own: Option<u64>, general: u64| Some(own.unwrap_or(general)).filter(|limit| *limit > 0);
    let one = |behaviour, what, now, alarm| Measure { behaviour, what, now, alarm };
    vec![
        one(
            Behaviour::InfiniteLoop,
            "times in a row the same call",
            last.repeated_calls,
            Some(config.loop_detection_window as u64),
        ),
        one(
            Behaviour::RepeatedFailures,
            "failures in the last 3 looks",
            failures,
            Some(config.failure_increase_threshold.saturating_add(1)),
        ),
        one(
            Behaviour::Stagnation,
            "tokens since something came of it",
            used_since,
            Some(config.stagnation_token_threshold),
        ),
        one(
            Behaviour::TokenExhaustion,
            "tokens of the session",
            last.tokens,
            limit(last.token_limit, config.max_tokens),
        ),
        one(
            Behaviour::Timeout,
            "seconds of the session",
            last.elapsed_seconds,
            limit(last.wall_limit, config.timeout_seconds),
        ),
        one(Behaviour::Oscillation, "returns to a tree that had been left", returns(history), Some(2)),
        one(
            Behaviour::ScopeCreep,
            "more files outside scope and announcement",
            last.files_unannounced.saturating_sub(first.files_unannounced),
            Some(3),
        ),
    ]
}

/// How often the tree came back to one that had been left.
fn returns(history: &[AgentSnapshot]) -> u64 {
    let mut left: Vec<&str> = Vec::new();
    let mut count = 0;
    let trees = history.iter().filter_map(|look| look.tree.as_deref());
    let mut before: Option<&str> = None;
    for tree in trees {
        if before.is_some_and(|before| before != tree) {
            left.extend(before);
            if left.contains(&tree) {
                count += 1;
            }
        }
        before = Some(tree);
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(second: i64, tree: &str, tokens: u64) -> AgentSnapshot {
        let value = serde_json::json!({
            "agent": "coder-1", "incarnation": 1, "role": "coder", "session": 1, "task": "t", "epoch": 1,
            "time": Wall(second), "started_at": Wall(0), "elapsed_seconds": second, "tree": tree,
            "tokens": tokens, "board_mark": "WORKING",
        });
        serde_json::from_value(value).expect("a snapshot")
    }

    fn measured(history: &[AgentSnapshot], behaviour: Behaviour) -> Measure {
        let all = measures(history, &OverseerConfig::default());
        all.into_iter().find(|one| one.behaviour == behaviour).expect("all seven")
    }

    #[test]
    fn nothing_since_counts_from_the_first_look_at_what_stands_now() {
        let history = [look(10, "a", 0), look(20, "b", 500), look(30, "b", 700), look(40, "b", 1500)];
        assert_eq!(since(&history), Some(Wall(20)));
        assert_eq!(measured(&history, Behaviour::Stagnation).now, 1000);
        assert_eq!(since(&[]), None);
    }

    #[test]
    fn trees_that_come_back_are_counted_and_all_seven_are_told() {
        let history: Vec<AgentSnapshot> =
            "abab".chars().zip(0..).map(|(tree, at)| look(at, &tree.to_string(), 0)).collect();
        assert_eq!(measured(&history, Behaviour::Oscillation).now, 2);
        let told: Vec<Behaviour> =
            measures(&history, &OverseerConfig::default()).iter().map(|one| one.behaviour).collect();
        assert_eq!(told, Behaviour::ALL);
    }
}
