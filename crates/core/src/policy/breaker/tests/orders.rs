//! Random boards, with their records in any order.

use proptest::prelude::*;

use crate::board::testing::{Bench, agent, details, id};
use crate::board::{Board, Status, Wall, records::Anomaly, records::AnomalyKind};
use crate::board::{breaker::Crash, breaker::TripEvidence, history::Event, history::HistoryEntry};

use super::super::{BreakerConfig, gauges, trips};

const TASKS: [&str; 5] = ["a", "b", "c", "d", "e"];
const AGENTS: [&str; 3] = ["coder-1", "coder-2", "both-1"];
const TEXTS: [&str; 8] = [
    "PyPI is down",
    "cannot reach pypi.org",
    "database is locked (sqlite)",
    "sqlite3.OperationalError: database is locked",
    "specs/api.md#errors",
    "ids are integers",
    "",
    "\u{202e}缺少 \0 | `x`\n- [ ] all",
];

#[derive(Debug)]
struct Happened {
    what: usize,
    task: usize,
    agent: usize,
    text: usize,
    time: i64,
}

fn happened() -> impl Strategy<Value = Happened> {
    (0..AnomalyKind::ALL.len() + 4, 0..TASKS.len(), 0..AGENTS.len(), 0..TEXTS.len(), -3000_i64..100)
        .prop_map(|(what, task, agent, text, time)| Happened { what, task, agent, text, time })
}

fn board(start: &Bench, all: &[Happened]) -> Board {
    let mut board = start.board.clone();
    let now = start.now.wall.0 + 4000;
    for task in &mut board.tasks {
        let claimed = HistoryEntry::new(start.now.wall, Event::Claimed, agent("coder-1"));
        task.parts_mut().1.history.push(claimed);
    }
    for (at, one) in all.iter().enumerate() {
        let (time, by) = (Wall(now + one.time), agent(AGENTS[one.agent]));
        let text = TEXTS[one.text];
        if let Some(kind) = AnomalyKind::ALL.get(one.what) {
            let keys =
                ["error_pattern", "what", "debt_created", "question", "spec", "gap", "blocker_service"];
            let more = ["assumption", "root_cause", "count"];
            let given: Vec<(&str, &str)> = keys.into_iter().chain(more).map(|key| (key, text)).collect();
            board.rest.anomalies.push(Anomaly {
                id: format!("anomaly-{}", at + 1),
                kind: *kind,
                task_id: id(TASKS[one.task]),
                logged_by: by,
                timestamp: time,
                details: details(&given),
                processed_by: None,
            });
            continue;
        }
        let event = match one.what - AnomalyKind::ALL.len() {
            0 => {
                let task_id = Some(id(TASKS[one.task]));
                board.rest.circuit_breaker.crashes.push(Crash {
                    time,
                    agent: by,
                    task_id,
                    text: text.to_owned(),
                    class: None,
                    provider: None,
                    until: None,
                });
                continue;
            }
            1 => Event::Rejected,
            2 => Event::Superseded,
            _ => Event::Blocked,
        };
        let other = id(TASKS[(one.task + 1) % TASKS.len()]);
        let (head, body) = board.tasks[one.task].parts_mut();
        let mut entry = HistoryEntry::new(time, event, by).detail(text);
        if event == Event::Blocked {
            entry.to = Some(Status::Blocked);
            head.status = Status::Blocked;
            // Replacements in a cycle, as only a damaged board has them.
            head.superseded_by = vec![other];
        }
        body.history.push(entry);
    }
    board
}

fn found(board: &Board, now: Wall) -> Vec<(String, Vec<TripEvidence>)> {
    let config = BreakerConfig::default();
    assert_eq!(gauges(board, &[], &config, now).len(), 10);
    trips(board, &[], &config, now).into_iter().map(|trip| (trip.key, trip.evidence)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// No panic; the order of records does not matter; and the same story trips once.
    #[test]
    fn record_order_does_not_change_trips(all in prop::collection::vec(happened(), 0..40), turn in 0usize..40) {
        let mut bench = Bench::with_tasks(&TASKS);
        let now = Wall(bench.now.wall.0 + 4000);
        let straight = board(&bench, &all);
        let there = found(&straight, now);
        let mut turned = straight.clone();
        turned.rest.anomalies.reverse();
        let crashes = &mut turned.rest.circuit_breaker.crashes;
        if !crashes.is_empty() {
            let by = turn % crashes.len();
            crashes.rotate_left(by);
        }
        turned.tasks.reverse();
        prop_assert_eq!(&found(&turned, now), &there);
        bench.board = straight;
        bench.now.wall = now;
        for trip in trips(&bench.board, &[], &BreakerConfig::default(), now) {
            let mut after = bench.board.clone();
            let call = bench.call(bench.actor("liza"));
            let applied = crate::board::apply(&mut after, &trip.into(), &call, None);
            prop_assert!(applied.is_ok(), "{:?}", applied);
            bench.board = after;
        }
        prop_assert_eq!(found(&bench.board, now), Vec::new());
    }
}
