//! The cost of one look of the overseer, compared with reading its input.

use liza::board::oversight::{Action, Behaviour, Gravity, Intervention};
use liza::board::{AgentId, Wall};
use liza::policy::overseer::{AgentSnapshot, OverseerConfig, Ring, Signals, decide, detect, liveness};

use super::*;

const AGENTS: u64 = 50;
const SNAPSHOTS: u64 = 20;
const BEGAN: i64 = 1_790_000_000;

impl Bench {
    /// Detectors, liveness and decision for all agents, with nothing wrong (every detector looks to the end) and with
    /// all agents in a loop (evidence and texts are written).
    pub fn overseer(&mut self) {
        let label = format!("{AGENTS} x {SNAPSHOTS}");
        for (name, looping) in [("look, all at work", false), ("look, all in a loop", true)] {
            let rings: Vec<Ring> = (0..AGENTS).map(|number| ring(number, looping)).collect();
            let past: Vec<Vec<Intervention>> = (0..AGENTS).map(past).collect();
            let kept: Vec<Vec<u8>> =
                rings.iter().map(|ring| serde_json::to_vec(ring).expect("written")).collect();
            let config = OverseerConfig::default();
            let now = Wall(BEGAN + 10_000);
            let mut decided = 0;
            let (looked, read) = self.pair(
                101,
                |_| {
                    decided =
                        rings.iter().zip(&past).filter(|(ring, past)| look(ring, past, now, &config)).count()
                },
                |_| {
                    kept.iter().for_each(|bytes| drop(serde_json::from_slice::<Ring>(bytes).expect("a ring")))
                },
            );
            assert_eq!(decided as u64, if looping { AGENTS } else { 0 });
            self.row(name, &label, looked, "reading the snapshots", read);
        }
    }
}

fn look(ring: &Ring, past: &[Intervention], now: Wall, config: &OverseerConfig) -> bool {
    let history = ring.session();
    let signals = Signals {
        runner_lives: Some(true),
        holds_work: true,
        seconds_since_snapshot: Some(1),
        ..Signals::default()
    };
    let _ = std::hint::black_box(liveness(history, &signals, config));
    let found = detect(history, config);
    decide(&found, &past.iter().collect::<Vec<_>>(), 0, now, config).is_some()
}

fn ring(number: u64, looping: bool) -> Ring {
    let mut ring = Ring::default();
    let config = OverseerConfig { snapshot_history_size: SNAPSHOTS as usize, ..OverseerConfig::default() };
    for at in 1..=SNAPSHOTS {
        ring.push(snapshot(number, at, looping), &config);
    }
    ring
}

fn snapshot(number: u64, at: u64, looping: bool) -> AgentSnapshot {
    AgentSnapshot {
        agent: AgentId::new(&format!("coder-{number}")).expect("an id"),
        incarnation: 1,
        role: Role::coder(),
        session: number,
        task: Some(TaskId::new(&format!("task-{number}")).expect("an id")),
        epoch: Some(1),
        time: Wall(BEGAN + 10 * at as i64),
        started_at: Wall(BEGAN),
        elapsed_seconds: 10 * at,
        turns: at,
        tool_calls: 2 * at,
        tokens: 2_000 * at,
        errors: at / 4,
        last_tool: Some("Bash".to_owned()),
        last_call: Some(format!("Bash#{:016x}", if looping { 0 } else { at })),
        repeated_calls: if looping { 2 * at } else { 1 },
        output_bytes: 4_000 * at,
        files_modified: 3,
        files_unannounced: 0,
        last_file_modified: Some("src/some/where/deep/file.rs".to_owned()),
        tree: Some(format!("{:040x}", if looping { 0 } else { at })),
        board_mark: format!("{:016x}", number),
        messages_sent: 1,
        messages_received: 2,
        processes: 3,
        cpu_ms: 900 * at,
        token_limit: Some(150_000),
        wall_limit: Some(1_800),
        tree_seen_at: Some(Wall(BEGAN + 10 * at as i64)),
        no_token_limit: false,
        no_wall_limit: false,
        has_checkpoint: true,
        still_seconds: 0,
        fewest_processes: 0,
        episodes: Vec::new(),
    }
}

/// Four nudges long ago: none of them delays another.
fn past(number: u64) -> Vec<Intervention> {
    let one = |at: i64| Intervention {
        id: format!("intervention-{at}"),
        time: Wall(BEGAN + 100 * at),
        agent: AgentId::new(&format!("coder-{number}")).expect("an id"),
        incarnation: 1,
        task_id: None,
        epoch: None,
        behaviour: Behaviour::Stagnation,
        action: Action::Nudge,
        severity: Gravity::Warning,
        confidence: 0.75,
        evidence: vec!["12000 tokens were used".to_owned()],
        by: AgentId::new("human").expect("an id"),
    };
    (0..4).map(one).collect()
}
