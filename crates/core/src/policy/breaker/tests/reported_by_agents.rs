//! Trips caused by anomalies that agents report.

use crate::board::rules::MarkProcessed;
use crate::board::testing::{agent, details, id};
use crate::board::{breaker::Pattern, history::Event, records::Anomaly, records::AnomalyKind};

use super::{Desk, HOUR};

#[test]
fn an_outage_in_three_wordings_trips_once() {
    let mut desk = Desk::new();
    desk.outage("coder-1", "a", "PyPI is down");
    assert_eq!(desk.would_trip(), [], "one agent may be mistaken");
    assert_eq!(desk.gauge(Pattern::ExternalOutage), (1, 2));
    desk.outage("coder-2", "b", "cannot reach pypi.org: HTTP 503");
    assert_eq!(desk.trip(), [Pattern::ExternalOutage]);
    desk.outage("both-1", "c", "package index pypi gives timeouts");
    assert_eq!(desk.trip(), [], "it is the same outage");
    let trip = &desk.bench.board.rest.circuit_breaker.trips[0];
    assert_eq!(trip.key, "external_outage:pypi");
    assert_eq!(trip.affected, ["task a", "task b", "service pypi"]);
    assert_eq!(trip.evidence[0].source, "anomaly-1");
}

#[test]
fn one_agent_and_different_services_are_no_outage() {
    let mut desk = Desk::new();
    for task in ["a", "b", "c"] {
        desk.outage("coder-1", task, "PyPI is down");
    }
    desk.outage("coder-2", "d", "npm registry is down").outage("both-1", "e", "GitHub API unavailable");
    assert_eq!(desk.would_trip(), []);
}

#[test]
fn two_outages_are_two_trips() {
    let mut desk = Desk::new();
    desk.outage("coder-1", "a", "PyPI is down").outage("coder-2", "b", "pypi.org unreachable");
    assert_eq!(desk.trip(), [Pattern::ExternalOutage]);
    desk.outage("coder-1", "a", "GitHub API unavailable").outage("coder-2", "b", "github is down");
    assert_eq!(desk.trip(), [Pattern::ExternalOutage]);
    assert_eq!(desk.bench.board.rest.circuit_breaker.open().count(), 2);
}

#[test]
fn reports_hours_apart_do_not_add_up() {
    let mut desk = Desk::new();
    desk.outage("coder-1", "a", "PyPI is down");
    desk.bench.tick(5 * HOUR);
    desk.outage("coder-2", "b", "pypi.org unreachable");
    assert_eq!(desk.would_trip(), []);
}

#[test]
fn resolved_trip_needs_new_records_to_trip() {
    let mut desk = Desk::new();
    desk.outage("coder-1", "a", "PyPI is down").outage("coder-2", "b", "cannot reach pypi.org");
    assert_eq!(desk.trip().len(), 1);
    // The report joins the open trip.
    desk.outage("both-1", "c", "pypi gives 503");
    desk.resolve();
    assert_eq!(desk.trip(), [], "all of it is settled");
    desk.bench.tick(60);
    desk.outage("coder-1", "a", "PyPI is down");
    assert_eq!(desk.trip(), [], "one new report is one report");
    desk.outage("coder-2", "b", "pypi.org times out");
    assert_eq!(desk.trip(), [Pattern::ExternalOutage]);
    let ids: Vec<&str> =
        desk.bench.board.rest.circuit_breaker.trips.iter().map(|trip| trip.id.as_str()).collect();
    assert_eq!(ids, ["trip-1", "trip-2"]);
}

#[test]
fn resolve_settles_only_the_trips_own_records() {
    let mut desk = Desk::new();
    desk.outage("coder-1", "a", "PyPI is down").outage("coder-2", "b", "cannot reach pypi.org");
    desk.trip();
    desk.resolve();
    assert_eq!(desk.trip(), []);
    desk.outage("coder-1", "c", "PyPI is down again").outage("coder-2", "d", "pypi.org does not answer");
    assert_eq!(desk.trip(), [Pattern::ExternalOutage]);
}

#[test]
fn only_a_persons_processing_discounts_a_record() {
    let mut desk = Desk::new();
    desk.outage("coder-1", "a", "PyPI is down").outage("coder-2", "b", "cannot reach pypi.org");
    desk.bench.ok("planner-1", MarkProcessed { ids: vec!["anomaly-1".to_owned()] });
    assert_eq!(desk.would_trip(), [Pattern::ExternalOutage]);
    desk.bench.ok("human", MarkProcessed { ids: vec!["anomaly-2".to_owned()] });
    assert_eq!(desk.would_trip(), []);
}

fn retry(desk: &mut Desk, by: &str, task: &str, error: &str) {
    desk.log(by, task, AnomalyKind::RetryLoop, &[("count", "3"), ("error_pattern", error)]);
}

#[test]
fn the_same_error_on_three_tasks_is_a_retry_cluster() {
    let mut desk = Desk::new();
    retry(&mut desk, "coder-1", "a", "sqlite3.OperationalError: database is locked");
    retry(&mut desk, "coder-2", "b", "database is locked (sqlite)");
    assert_eq!(desk.would_trip(), []);
    assert_eq!(desk.gauge(Pattern::RetryCluster), (2, 3));
    retry(&mut desk, "coder-1", "c", "sqlite: database is locked after 3 tries");
    assert_eq!(desk.trip(), [Pattern::RetryCluster]);
}

/// A known fault of other projects: a detector that counted equal events stopped healthy work after three of them.
#[test]
fn one_task_that_retries_three_times_is_no_cluster() {
    let mut desk = Desk::new();
    for _ in 0..3 {
        retry(&mut desk, "coder-1", "a", "sqlite3.OperationalError: database is locked");
    }
    retry(&mut desk, "coder-2", "b", "sqlite3.OperationalError: no such table: users");
    retry(&mut desk, "coder-2", "c", "sqlite3.OperationalError: disk image is malformed");
    assert_eq!(desk.would_trip(), []);
}

#[test]
fn reports_of_yesterday_do_not_trip_today() {
    let mut desk = Desk::new();
    retry(&mut desk, "coder-1", "a", "linker cannot find -lssl");
    retry(&mut desk, "coder-1", "b", "ld: cannot find -lssl");
    desk.bench.tick(25 * HOUR);
    retry(&mut desk, "coder-1", "c", "linker: cannot find -lssl");
    assert_eq!(desk.would_trip(), []);
    desk.config.window_hours = 48;
    assert_eq!(desk.would_trip(), [Pattern::RetryCluster]);
    desk.bench.board.rest.sprint.timeline.started = desk.bench.now.wall;
    assert_eq!(desk.would_trip(), [], "nor does one of the sprint before");
}

#[test]
fn an_assumption_that_fails_on_two_tasks_cascades() {
    let mut desk = Desk::new();
    let wrong = AnomalyKind::AssumptionViolated;
    desk.log("coder-1", "a", wrong, &[("assumption", "ids are integers"), ("reality", "UUIDs")]);
    desk.log("coder-2", "b", wrong, &[("assumption", "names are unique"), ("reality", "no")]);
    desk.log("coder-2", "a", wrong, &[("assumption", "ids are integers"), ("reality", "they are not")]);
    assert_eq!(desk.would_trip(), [], "the same task twice is one");
    desk.log("coder-2", "c", wrong, &[("assumption", "all ids are integers"), ("reality", "UUIDs")]);
    assert_eq!(desk.trip(), [Pattern::AssumptionCascade]);
}

#[test]
fn assumptions_of_a_single_agent_do_not_cascade() {
    let mut desk = Desk::new();
    let wrong = AnomalyKind::AssumptionViolated;
    let said = [("assumption", "ids are integers"), ("reality", "UUIDs")];
    desk.log("coder-1", "a", wrong, &said)
        .log("coder-1", "b", wrong, &said)
        .log("coder-1", "c", wrong, &said);
    assert_eq!(desk.would_trip(), [], "one agent may be mistaken on many tasks");
    assert_eq!(desk.gauge(Pattern::AssumptionCascade), (1, 2));
    for at in [3, 4] {
        desk.bench.board.tasks[at].parts_mut().1.history.retain(|line| line.event != Event::Claimed);
    }
    desk.log("coder-2", "d", wrong, &said).log("coder-2", "e", wrong, &said);
    assert_eq!(desk.would_trip(), [], "no agent has begun those");
    desk.log("coder-2", "f", wrong, &said);
    assert_eq!(desk.would_trip(), [Pattern::AssumptionCascade]);
}

#[test]
fn comparison_of_many_reports_is_bounded() {
    let mut desk = Desk::new();
    let now = desk.bench.now.wall;
    for at in 0..250 {
        let word: String = (0..6).map(|step| char::from(b'a' + ((at >> step) % 26 + step) as u8)).collect();
        desk.bench.board.rest.anomalies.push(Anomaly {
            id: format!("anomaly-{at}"),
            kind: AnomalyKind::RetryLoop,
            task_id: id("a"),
            logged_by: agent("coder-1"),
            timestamp: now,
            details: details(&[("error_pattern", &format!("{word} broke in {word}{word}")), ("count", "3")]),
            processed_by: None,
        });
    }
    let all = super::gauges(&desk.bench.board, &[], &desk.config, now);
    let story = all.into_iter().find_map(|gauge| gauge.nearest).expect("a story");
    assert!(story.summary.ends_with("(50 older records not looked at)"), "{}", story.summary);
}

#[test]
fn three_workarounds_of_a_cause_are_a_pattern() {
    let mut desk = Desk::new();
    let around = |desk: &mut Desk, task: &str, cause: &str| {
        desk.log("coder-1", task, AnomalyKind::Workaround, &[("what", "patched"), ("root_cause", cause)]);
    };
    around(&mut desk, "a", "no retry in the HTTP client");
    around(&mut desk, "b", "the http client does not retry");
    around(&mut desk, "c", "the http client follows no redirects");
    assert_eq!(desk.would_trip(), []);
    around(&mut desk, "d", "HTTP client without retry");
    assert_eq!(desk.trip(), [Pattern::WorkaroundPattern]);
}

#[test]
fn debts_count_against_what_was_merged() {
    let mut desk = Desk::new();
    let debt = |desk: &mut Desk, task: &str| {
        desk.log("coder-1", task, AnomalyKind::DebtCreated, &[("what", "no index yet")]);
    };
    for task in ["a", "b", "c", "d"] {
        debt(&mut desk, task);
    }
    let none = [("what", "a list"), ("why", "simple"), ("debt_created", "none")];
    desk.log("coder-1", "e", AnomalyKind::TradeOff, &none);
    assert_eq!(desk.would_trip(), [], "a trade-off without debt is none");
    assert_eq!(desk.gauge(Pattern::DebtAccumulation), (4, 5));
    let some = [("what", "a list"), ("why", "simple"), ("debt_created", "linear search")];
    desk.log("coder-1", "e", AnomalyKind::TradeOff, &some);
    assert_eq!(desk.would_trip(), [Pattern::DebtAccumulation]);
    // More merged tasks allow more debt.
    for task in ["a", "b", "c", "d", "e"] {
        desk.bench.approved("coder-1", task);
        desk.bench.merge(task);
    }
    assert_eq!(desk.would_trip(), []);
    debt(&mut desk, "f");
    assert_eq!(desk.trip(), [Pattern::DebtAccumulation]);
    debt(&mut desk, "f");
    assert_eq!(desk.trip(), [], "it has tripped already");
}

#[test]
fn three_gaps_in_a_spec_are_a_cluster() {
    let mut desk = Desk::new();
    let gap = |desk: &mut Desk, task: &str, spec: &str, gap: &str| {
        desk.log("coder-1", task, AnomalyKind::SpecGap, &[("spec", spec), ("gap", gap)]);
    };
    gap(&mut desk, "a", "./specs/api.md#errors", "no format of errors");
    gap(&mut desk, "a", "specs/api.md", "no word on paging");
    gap(&mut desk, "b", "specs/api.md#limits", "no limits");
    gap(&mut desk, "c", "specs/ui.md", "no colours");
    assert_eq!(desk.would_trip(), []);
    assert_eq!(desk.gauge(Pattern::SpecGapCluster), (2, 3));
    // A question names no file: it is about the spec of its task.
    desk.bench.board.tasks[3].parts_mut().1.spec_ref = Some("specs/api.md".to_owned());
    desk.log("coder-2", "d", AnomalyKind::SpecAmbiguity, &[("question", "which order?")]);
    assert_eq!(desk.trip(), [Pattern::SpecGapCluster]);
    let trip = &desk.bench.board.rest.circuit_breaker.trips[0];
    assert_eq!(trip.key, "spec_gap_cluster:specs/api.md");
    assert!(trip.affected.contains(&"spec specs/api.md#errors".to_owned()), "{:?}", trip.affected);
    desk.resolve();
    desk.bench.tick(60);
    gap(&mut desk, "e", "specs/api.md", "no versions");
    assert_eq!(desk.trip(), []);
}
