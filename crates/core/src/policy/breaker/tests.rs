//! Histories for every pattern: one that must trip, one that nearly does and must not, and cases known from other projects.

mod orders;
mod reported_by_agents;
mod seen_by_liza;

use std::collections::BTreeSet;

use crate::board::records::AnomalyKind;
use crate::board::rules::{LogAnomaly, RecordCrash, Rescope, ResolveBreaker};
use crate::board::testing::{Bench, agent, details, id, new_task};
use crate::board::{breaker::Pattern, breaker::Response, history::Event, history::HistoryEntry};

use super::{BreakerConfig, Choice, gauges, trips};

const HOUR: u64 = 3600;

/// A board with many tasks, and the breaker.
struct Desk {
    bench: Bench,
    config: BreakerConfig,
}

impl Desk {
    fn new() -> Self {
        let mut bench = Bench::with_tasks(&["a", "b", "c", "d", "e", "f"]);
        // Each task was claimed before.
        let now = bench.now.wall;
        for task in &mut bench.board.tasks {
            task.parts_mut().1.history.push(HistoryEntry::new(now, Event::Claimed, agent("coder-1")));
        }
        Self { bench, config: BreakerConfig::default() }
    }

    #[track_caller]
    fn log(&mut self, by: &str, task: &str, kind: AnomalyKind, given: &[(&str, &str)]) -> &mut Self {
        self.bench.ok(by, LogAnomaly { kind, task: id(task), details: details(given) });
        self.bench.tick(10);
        self
    }

    fn outage(&mut self, by: &str, task: &str, service: &str) -> &mut Self {
        self.log(by, task, AnomalyKind::ExternalBlocker, &[("blocker_service", service)])
    }

    fn crash(&mut self, by: &str, text: &str) -> &mut Self {
        self.crash_at(by, None, text)
    }

    fn crash_at(&mut self, by: &str, task: Option<&str>, text: &str) -> &mut Self {
        self.bench.ok(by, RecordCrash::plain(task.map(id), text));
        self.bench.tick(10);
        self
    }

    /// Replaces a task by a new task of this name.
    fn cut(&mut self, by: &str, task: &str, into: &str) -> &mut Self {
        self.bench.ok(
            by,
            Rescope {
                task: id(task),
                into: vec![new_task(into, &format!("{into}/"))],
                existing: Vec::new(),
                reason: format!("{task} was cut too large"),
                specs_found: vec![id(into)],
                pins: Vec::new(),
                strict: true,
                slices: true,
            },
        );
        self.bench.tick(10);
        self
    }

    fn block(&mut self, task: &str) -> &mut Self {
        let block = self.bench.block(task);
        self.bench.ok("human", block);
        self.bench.tick(10);
        self
    }

    /// Trips the breaker for all patterns that are due, and returns them.
    fn trip(&mut self) -> Vec<Pattern> {
        let found = trips(&self.bench.board, &[], &self.config, self.bench.now.wall);
        let patterns = found.iter().map(|trip| trip.pattern).collect();
        for trip in found {
            assert!(
                !trip.evidence.is_empty() && !trip.summary.is_empty() && !trip.affected.is_empty(),
                "{trip:?}"
            );
            self.bench.ok("liza", trip);
        }
        patterns
    }

    fn would_trip(&self) -> Vec<Pattern> {
        trips(&self.bench.board, &[], &self.config, self.bench.now.wall)
            .iter()
            .map(|trip| trip.pattern)
            .collect()
    }

    fn resolve(&mut self) -> &mut Self {
        self.bench.ok("human", ResolveBreaker { id: None, note: "settled".to_owned() });
        self
    }

    /// The count and the threshold of a pattern.
    fn gauge(&self, pattern: Pattern) -> (u64, u64) {
        let all = gauges(&self.bench.board, &[], &self.config, self.bench.now.wall);
        assert_eq!(all.len(), Pattern::ALL.len());
        let nearest = all.into_iter().find(|gauge| gauge.pattern == pattern).and_then(|gauge| gauge.nearest);
        nearest.map_or((0, 0), |story| (story.count, story.needed))
    }
}

#[test]
fn breaker_patterns_have_names_and_settings() {
    let page = include_str!("../../../../../specs/protocols/circuit-breaker.md");
    let template = include_str!("../../../../../templates/liza.yaml");
    let mut names = BTreeSet::new();
    for pattern in Pattern::ALL {
        let json = serde_json::to_value(pattern).expect("a name");
        assert_eq!(json, pattern.as_str());
        assert!(names.insert(pattern.as_str()));
        assert!(
            page.contains(&format!("| `{}` |", pattern.as_str())),
            "{} is not in the page",
            pattern.as_str()
        );
        let setting = super::threshold(pattern);
        assert!(page.contains(setting) && template.contains(setting), "{setting} is not documented");
        assert!(!super::meaning(pattern).is_empty());
    }
    let settings = serde_json::to_value(BreakerConfig::default()).expect("settings");
    for name in settings.as_object().expect("a map").keys() {
        assert!(page.contains(name.as_str()), "{name} is not in the page");
    }
}

#[test]
fn response_to_each_pattern_is_configurable() {
    let mut desk = Desk::new();
    desk.outage("coder-1", "a", "PyPI is down").outage("coder-2", "b", "cannot reach pypi.org");
    for (choice, response) in [
        (Choice::Warning, Some(Response::Warning)),
        (Choice::Checkpoint, Some(Response::Checkpoint)),
        (Choice::Halt, Some(Response::Halt)),
        (Choice::Off, None),
    ] {
        desk.config.responses.insert(Pattern::ExternalOutage, choice);
        let found = trips(&desk.bench.board, &[], &desk.config, desk.bench.now.wall);
        assert_eq!(found.first().map(|trip| trip.response), response);
    }
    desk.config.responses.clear();
    desk.config.enabled = false;
    assert_eq!(desk.would_trip(), []);
    assert_eq!(desk.gauge(Pattern::ExternalOutage), (2, 2), "it can be looked at all the same");
}

#[test]
fn zero_thresholds_need_at_least_one_event() {
    let mut desk = Desk::new();
    desk.config = serde_json::from_value(serde_json::json!({
        "window_hours": 0, "retry_tasks": 0, "debt_records": 0, "debt_per_merged": -1.0, "assumption_tasks": 0, "workaround_tasks": 0,
        "spec_gap_tasks": 0, "outage_agents": 0, "outage_hours": 0, "churn_superseded": 0, "churn_again": 0, "chain_depth": 0,
        "crash_count": 0, "crash_agents": 0, "crash_tasks": 0, "crash_seconds": 0, "failure_tasks": 0,
    }))
    .expect("settings");
    assert_eq!(desk.trip(), []);
    desk.outage("coder-1", "a", "PyPI is down").crash("coder-1", "exit 1");
    assert_eq!(desk.trip(), [Pattern::ExternalOutage, Pattern::CrashLoop]);
}
