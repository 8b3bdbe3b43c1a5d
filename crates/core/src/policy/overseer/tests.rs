//! Snapshot histories, and the expected detections.

mod any;
mod decisions;
mod detectors;
mod liveness;
mod questions;
mod settings;
mod simulated;

use crate::board::oversight::{Action, Behaviour, Gravity, Intervention};
use crate::board::{AgentId, Role, TaskId, Wall};

use super::*;

const BEGAN: i64 = 1_790_000_000;

/// A snapshot of a coder in the middle of its work, without activity.
fn look(at: u64) -> AgentSnapshot {
    AgentSnapshot {
        agent: AgentId::new("coder-1").expect("an id"),
        incarnation: 1,
        role: Role::coder(),
        session: 7,
        task: Some(TaskId::new("t1").expect("an id")),
        epoch: Some(1),
        time: Wall(BEGAN + 10 * at as i64),
        started_at: Wall(BEGAN),
        elapsed_seconds: 10 * at,
        turns: 4,
        tool_calls: 9,
        tokens: 5_000,
        errors: 0,
        last_tool: Some("Bash".to_owned()),
        last_call: Some("Bash#00112233".to_owned()),
        repeated_calls: 1,
        output_bytes: 20_000,
        files_modified: 2,
        files_unannounced: 0,
        last_file_modified: Some("src/a.rs".to_owned()),
        tree: Some("t0".to_owned()),
        tree_seen_at: Some(Wall(BEGAN + 10 * at as i64)),
        board_mark: "b0".to_owned(),
        has_checkpoint: true,
        messages_sent: 0,
        messages_received: 0,
        processes: 1,
        cpu_ms: 1_000,
        token_limit: Some(1_000_000),
        wall_limit: Some(100_000),
        no_token_limit: false,
        no_wall_limit: false,
        still_seconds: 0,
        fewest_processes: 0,
        episodes: Vec::new(),
    }
}

/// Snapshots ten seconds apart, stored in the ring as a runner does.
fn film(count: u64, change: impl Fn(u64, &mut AgentSnapshot)) -> Vec<AgentSnapshot> {
    let mut ring = Ring::default();
    for at in 1..=count {
        let mut one = look(at);
        change(at, &mut one);
        ring.push(one, &OverseerConfig { snapshot_history_size: 100, ..settings() });
    }
    ring.snapshots
}

fn settings() -> OverseerConfig {
    OverseerConfig::default()
}

/// A history that a test has changed, with the values that the ring computes.
fn reckoned(history: &[AgentSnapshot]) -> Vec<AgentSnapshot> {
    let mut ring = Ring::default();
    let config = OverseerConfig { snapshot_history_size: 100, ..settings() };
    history.iter().for_each(|look| ring.push(look.clone(), &config));
    ring.snapshots
}

/// The detected behaviours and their severity.
fn found(history: &[AgentSnapshot]) -> Vec<(Behaviour, Gravity)> {
    let found = detect(&reckoned(history), &settings());
    for one in &found {
        assert!((0.0..=1.0).contains(&one.confidence) && !one.evidence.is_empty());
        assert!(one.evidence[0].chars().any(|c| c.is_ascii_digit()), "a number to check: {:?}", one.evidence);
        assert_eq!(one.agent, history[0].agent);
    }
    found.iter().map(|one| (one.behaviour, one.severity)).collect()
}

fn only(history: &[AgentSnapshot], behaviour: Behaviour, severity: Gravity) {
    assert_eq!(found(history), [(behaviour, severity)]);
}

fn nothing(history: &[AgentSnapshot]) {
    assert_eq!(found(history), []);
}

fn done(action: Action, behaviour: Behaviour, at: i64) -> Intervention {
    Intervention {
        id: "intervention-1".to_owned(),
        time: Wall(at),
        agent: AgentId::new("coder-1").expect("an id"),
        incarnation: 1,
        task_id: Some(TaskId::new("t1").expect("an id")),
        epoch: Some(1),
        behaviour,
        action,
        severity: Gravity::Warning,
        confidence: 0.8,
        evidence: vec!["5 of them".to_owned()],
        by: AgentId::new("human").expect("an id"),
    }
}

/// A person's nudge: the answer "no, it may continue".
fn said_no(at: i64) -> Intervention {
    Intervention { confidence: 1.0, ..done(Action::Nudge, Behaviour::Reported, at) }
}
