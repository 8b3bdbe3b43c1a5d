//! Trips caused by liza's own records, without reports of agents.

use crate::board::breaker::{CRASHES_KEPT, Pattern, TRIPS_KEPT};
use crate::board::gates::{GateOutcome, GateReport, GateStatus, Moment};
use crate::board::rules::{AnswerTrip, MergeFailure, ResolveBreaker};
use crate::board::{refusal::Code, testing::commit, testing::id};

use super::super::{decisions, reason};
use super::{Choice, Desk, HOUR, Response, trips};

#[test]
fn same_rejection_on_three_tasks_trips() {
    let mut desk = Desk::new();
    desk.bench.rejected("coder-1", "a", "SQL is built by string concatenation");
    desk.bench.rejected("coder-2", "b", "SQL injection: the query is concatenated from strings");
    desk.bench.rejected("both-1", "c", "names do not say what the function does");
    assert_eq!(desk.would_trip(), []);
    assert_eq!(desk.gauge(Pattern::SameFailure), (2, 3));
    desk.bench.rejected("coder-1", "d", "SQL built by concatenating strings");
    assert_eq!(desk.trip(), [Pattern::SameFailure]);
    assert!(desk.bench.board.rest.anomalies.is_empty());
    let trip = &desk.bench.board.rest.circuit_breaker.trips[0];
    assert!(trip.evidence.iter().all(|record| record.source == "rejected"), "{trip:?}");
}

/// Issues that reviewers find and coders fix are ordinary work: they trip nothing.
#[test]
fn fixed_rejections_trip_nothing() {
    let mut desk = Desk::new();
    let reason = "tests missing for the error path";
    for task in ["a", "b", "c"] {
        desk.bench.rejected("coder-1", task, reason);
        desk.bench.approved("coder-1", task);
    }
    assert_eq!(desk.gauge(Pattern::SameFailure), (0, 0), "approved since");
    for task in ["a", "b"] {
        desk.bench.merge(task);
    }
    desk.bench.rejected("coder-1", "d", reason);
    desk.bench.rejected("coder-1", "e", reason);
    let abandon = desk.bench.abandon("e");
    desk.bench.ok("human", abandon);
    assert_eq!(desk.gauge(Pattern::SameFailure), (1, 3), "d alone is still sent back");
    assert_eq!(desk.would_trip(), []);
}

#[test]
fn rejections_warn_and_red_gates_halt() {
    let mut desk = Desk::new();
    let reason = "pytest: command not found";
    for task in ["a", "b", "c"] {
        desk.bench.rejected("coder-1", task, reason);
    }
    let found = trips(&desk.bench.board, &[], &desk.config, desk.bench.now.wall);
    assert_eq!(found[0].response, Response::Warning);
    assert_eq!(desk.trip(), [Pattern::SameFailure]);
    for (at, task) in ["d", "e", "f"].into_iter().enumerate() {
        desk.bench.hand_in("coder-1", task);
        let report = gate_report(at as u64, GateStatus::CouldNotRun, reason, &[]);
        desk.bench.board.tasks[at + 3].parts_mut().1.gates = Some(report);
    }
    let found = trips(&desk.bench.board, &[], &desk.config, desk.bench.now.wall);
    assert_eq!(found.iter().map(|trip| trip.response).collect::<Vec<_>>(), [Response::Checkpoint]);
    assert!(found[0].evidence.iter().all(|record| record.source.starts_with("gate ")), "{found:?}");
    desk.trip();
    assert_eq!(desk.would_trip(), []);
    desk.resolve();
    assert_eq!(desk.would_trip(), []);
    desk.config.responses.insert(Pattern::SameFailure, Choice::Halt);
    assert_eq!(
        desk.config.response(Pattern::SameFailure, true),
        Some(Response::Halt),
        "a person's word holds"
    );
}

#[test]
fn no_advice_to_rescope_a_finished_task() {
    let mut desk = Desk::new();
    for task in ["a", "b", "c"] {
        desk.bench.rejected("coder-1", task, "SQL is built by string concatenation");
    }
    desk.trip();
    let boxes = |desk: &Desk| {
        let all = decisions(&desk.bench.board.rest.circuit_breaker.trips[0], &desk.bench.board);
        all.into_iter().filter(|decision| decision.contains("rescope")).collect::<Vec<_>>()
    };
    assert!(boxes(&desk)[0].contains("rescope a "));
    let abandon = desk.bench.abandon("a");
    desk.bench.ok("human", abandon);
    assert!(boxes(&desk)[0].contains("rescope b "));
    for task in ["b", "c"] {
        let abandon = desk.bench.abandon(task);
        desk.bench.ok("human", abandon);
    }
    assert_eq!(boxes(&desk), Vec::<String>::new());
}

/// Archived tasks still count as merged.
#[test]
fn tidying_up_does_not_lower_a_threshold() {
    let mut desk = Desk::new();
    for task in ["a", "b", "c"] {
        desk.bench.approved("coder-1", task);
        desk.bench.merge(task);
    }
    desk.cut("planner-1", "d", "d2").cut("planner-1", "e", "e2").cut("planner-1", "f", "f2");
    assert_eq!(desk.would_trip(), []);
    let archived: Vec<_> = desk.bench.board.tasks.drain(..3).collect();
    let now = desk.bench.now.wall;
    assert_eq!(trips(&desk.bench.board, &[], &desk.config, now).len(), 1);
    assert_eq!(trips(&desk.bench.board, &archived, &desk.config, now), []);
}

/// People print the switch file on a terminal.
#[test]
fn a_switch_holds_no_control_bytes() {
    let mut desk = Desk::new();
    desk.outage("coder-1", "a", "PyPI is \u{1b}[31mdown").outage("coder-2", "b", "PyPI \u{1b}[31mdown");
    desk.trip();
    let said = reason(&desk.bench.board.rest.circuit_breaker.trips[0]);
    assert!(said.starts_with("breaker trip-1 (external_outage)") && said.contains("PyPI"), "{said}");
    assert!(!said.chars().any(char::is_control), "{said:?}");
}

#[test]
fn rejections_of_a_single_task_trip_nothing() {
    let mut desk = Desk::new();
    for reason in ["the error path has no test", "no test for the error path of parse", "error path: no test"]
    {
        desk.bench.rejected("coder-1", "a", reason);
        if desk.bench.status("a") == crate::board::Status::Blocked {
            break;
        }
    }
    assert_eq!(desk.would_trip(), []);
}

fn gate_report(at: u64, status: GateStatus, reason: &str, failing: &[&str]) -> GateReport {
    let result = GateOutcome {
        reason: Some(reason.to_owned()),
        failing: failing.iter().map(|name| (*name).to_owned()).collect(),
        ..GateOutcome::new("test", status)
    };
    GateReport {
        required: vec!["test".to_owned()],
        results: vec![result],
        ..GateReport::empty(Moment::Approve, commit(at), commit(at + 100))
    }
}

/// A known fault of other projects: a gate that could not run on any branch was taken for an old failure.
#[test]
fn a_gate_that_can_run_nowhere_trips() {
    let mut desk = Desk::new();
    for (at, task) in ["a", "b", "c"].into_iter().enumerate() {
        desk.bench.hand_in("coder-1", task);
        let report = gate_report(at as u64, GateStatus::CouldNotRun, "pytest: command not found", &[]);
        desk.bench.board.tasks[at].parts_mut().1.gates = Some(report);
        let expected = if at == 2 { vec![Pattern::SameFailure] } else { Vec::new() };
        assert_eq!(desk.would_trip(), expected);
    }
    desk.trip();
    let trip = &desk.bench.board.rest.circuit_breaker.trips[0];
    assert!(trip.affected.contains(&"gate test".to_owned()), "{:?}", trip.affected);
}

#[test]
fn unlike_red_gates_trip_nothing() {
    let mut desk = Desk::new();
    let failing = ["orders::total", "session::expiry", "render::table"];
    for (at, task) in ["a", "b", "c"].into_iter().enumerate() {
        desk.bench.hand_in("coder-1", task);
        let report = gate_report(at as u64, GateStatus::Fail, "1 failed", &[failing[at]]);
        desk.bench.board.tasks[at].parts_mut().1.gates = Some(report);
    }
    assert_eq!(desk.would_trip(), []);
    for at in 0..3 {
        let report = gate_report(at as u64, GateStatus::Pass, "", &[]);
        desk.bench.board.tasks[at].parts_mut().1.gates = Some(report);
    }
    assert_eq!(desk.would_trip(), []);
}

/// A known fault of other projects: gates that ran only locally let the integration branch become red within two days.
#[test]
fn merges_failing_for_the_same_reason_trip() {
    let mut desk = Desk::new();
    for task in ["a", "b", "c"] {
        desk.bench.failed_to_merge("coder-1", task, MergeFailure::RedGate);
    }
    assert_eq!(desk.trip(), [Pattern::SameFailure]);
}

#[test]
fn crashes_of_two_agents_in_five_minutes_are_a_loop() {
    let mut desk = Desk::new();
    desk.crash("coder-1", "exit 1").crash("coder-1", "exit 1").crash("coder-1", "exit 137");
    assert_eq!(desk.would_trip(), [], "one agent alone is its runner's business");
    assert_eq!(desk.gauge(Pattern::CrashLoop), (2, 3));
    desk.crash("coder-2", "killed by signal 9");
    assert_eq!(desk.trip(), [Pattern::CrashLoop]);
    desk.crash("coder-2", "killed by signal 9");
    assert_eq!(desk.trip(), []);
    desk.resolve();
    assert_eq!(desk.trip(), []);
    desk.bench.tick(1);
    desk.crash("coder-1", "exit 1").crash("coder-2", "exit 1");
    assert_eq!(desk.trip(), []);
    desk.crash("coder-1", "exit 1");
    assert_eq!(desk.trip(), [Pattern::CrashLoop]);
}

/// Four crashes by two agents on one task once paused a healthy team.
#[test]
fn crashes_on_a_single_task_never_trip() {
    let mut desk = Desk::new();
    for agent in ["coder-1", "coder-1", "coder-1", "coder-2", "coder-2", "both-1"] {
        desk.crash_at(agent, Some("a"), "exit 9");
    }
    assert_eq!(desk.would_trip(), []);
    assert_eq!(desk.gauge(Pattern::CrashLoop), (2, 3));
    desk.crash_at("coder-2", Some("b"), "exit 9");
    assert_eq!(desk.would_trip(), [Pattern::CrashLoop], "the second task");
    // Crashes on a task that is blocked because of them are explained.
    desk.block("a");
    assert_eq!(desk.would_trip(), []);
    desk.crash_at("coder-1", Some("b"), "exit 9").crash_at("coder-1", Some("c"), "exit 9");
    assert_eq!(desk.trip(), [Pattern::CrashLoop]);
    let trip = &desk.bench.board.rest.circuit_breaker.trips[0];
    assert_eq!(trip.summary, "3 crashes of 2 agents on 2 tasks within 300 s");
}

#[test]
fn crash_tasks_says_how_many_tasks_it_takes() {
    let mut desk = Desk::new();
    desk.config.crash_tasks = 3;
    for (agent, task) in [("coder-1", "a"), ("coder-2", "b"), ("coder-1", "a"), ("coder-2", "b")] {
        desk.crash_at(agent, Some(task), "exit 9");
    }
    assert_eq!(desk.would_trip(), []);
    desk.crash_at("coder-1", Some("c"), "exit 9");
    assert_eq!(desk.would_trip(), [Pattern::CrashLoop]);
}

#[test]
fn crashes_far_apart_or_long_ago_are_no_loop() {
    let mut desk = Desk::new();
    for agent in ["coder-1", "coder-2", "coder-1", "coder-2"] {
        desk.crash(agent, "exit 1");
        desk.bench.tick(200);
    }
    assert_eq!(desk.would_trip(), []);
    for agent in ["coder-1", "coder-2", "coder-1"] {
        desk.crash(agent, "exit 1");
    }
    assert_eq!(desk.would_trip(), [Pattern::CrashLoop]);
    desk.bench.tick(HOUR + 1);
    assert_eq!(desk.would_trip(), []);
}

#[test]
fn rescoping_more_than_merging_is_churn() {
    let mut desk = Desk::new();
    desk.cut("planner-1", "a", "a2").cut("planner-1", "b", "b2");
    desk.cut("human", "c", "c2");
    assert_eq!(desk.would_trip(), [], "a person who replans knows why");
    desk.bench.approved("coder-1", "e");
    desk.bench.merge("e");
    assert_eq!(desk.gauge(Pattern::PlanningChurn), (2, 3));
    desk.cut("planner-1", "d", "d2");
    assert_eq!(desk.trip(), [Pattern::PlanningChurn]);
    desk.cut("planner-1", "f", "f2");
    assert_eq!(desk.trip(), []);
}

#[test]
fn merging_more_than_rescoping_is_no_churn() {
    let mut desk = Desk::new();
    for task in ["a", "b", "c"] {
        desk.bench.approved("coder-1", task);
        desk.bench.merge(task);
    }
    desk.cut("planner-1", "d", "d2").cut("planner-1", "e", "e2").cut("planner-1", "f", "f2");
    assert_eq!(desk.would_trip(), []);
}

#[test]
fn replacements_that_are_replaced_are_churn() {
    let mut desk = Desk::new();
    desk.config.churn_superseded = 100;
    desk.cut("planner-1", "a", "a2").cut("planner-1", "b", "b2").cut("planner-1", "a2", "a3");
    assert_eq!(desk.would_trip(), []);
    desk.cut("planner-1", "b2", "b3");
    assert_eq!(desk.trip(), [Pattern::PlanningChurn]);
}

#[test]
fn a_replacement_that_is_blocked_again_is_a_chain() {
    let mut desk = Desk::new();
    desk.block("a").cut("human", "a", "a2");
    assert_eq!(desk.would_trip(), [], "its replacement may well do");
    desk.block("b").cut("human", "c", "c2").block("c2");
    assert_eq!(desk.would_trip(), [], "b was not replaced, c was not blocked");
    desk.block("a2");
    assert_eq!(desk.trip(), [Pattern::BlockedReplacementChain]);
    let trip = &desk.bench.board.rest.circuit_breaker.trips[0];
    assert_eq!(trip.key, "blocked_replacement_chain:a");
    assert_eq!(trip.affected, ["task a", "task a2"]);
    desk.cut("human", "a2", "a3").block("a3");
    assert_eq!(desk.trip(), [], "the chain has tripped already");
    desk.resolve();
    assert_eq!(desk.trip(), [Pattern::BlockedReplacementChain].as_slice()[..0]);
    let unblock = desk.bench.unblock("a3");
    desk.bench.ok("human", unblock);
    desk.bench.tick(60);
    desk.block("a3");
    assert_eq!(desk.trip(), [Pattern::BlockedReplacementChain], "it is blocked again");
}

#[test]
fn only_liza_trips_and_only_a_person_resolves() {
    let mut desk = Desk::new();
    desk.outage("coder-1", "a", "PyPI is down").outage("coder-2", "b", "cannot reach pypi.org");
    let found = trips(&desk.bench.board, &[], &desk.config, desk.bench.now.wall).remove(0);
    for by in ["coder-1", "human"] {
        assert_eq!(desk.bench.refused(by, found.clone()), Code::HumanOnly);
    }
    let tasks = desk.bench.board.tasks.clone();
    desk.bench.ok("liza", found.clone());
    assert_eq!(desk.bench.refused("liza", found), Code::Transition, "it is open for that");
    let resolve = |id: Option<&str>| ResolveBreaker { id: id.map(str::to_owned), note: "done".to_owned() };
    assert_eq!(desk.bench.refused("planner-1", resolve(None)), Code::HumanOnly);
    assert_eq!(desk.bench.refused("human", resolve(Some("trip-9"))), Code::UnknownRecord);
    assert_eq!(desk.bench.refused("liza", AnswerTrip { id: "trip-9".to_owned() }), Code::UnknownRecord);
    desk.bench.ok("liza", AnswerTrip { id: "trip-1".to_owned() });
    desk.bench.ok("human", resolve(Some("trip-1")));
    assert_eq!(desk.bench.refused("human", resolve(None)), Code::UnknownRecord);
    assert_eq!(desk.bench.board.tasks, tasks);
    assert!(desk.bench.board.rest.circuit_breaker.trips[0].answered.is_some());
}

#[test]
fn number_of_kept_crashes_and_trips_is_limited() {
    let mut desk = Desk::new();
    for _ in 0..CRASHES_KEPT + 5 {
        desk.crash("coder-1", "exit 1");
    }
    assert_eq!(desk.bench.board.rest.circuit_breaker.crashes.len(), CRASHES_KEPT);
    desk.outage("coder-1", "a", "PyPI is down").outage("coder-2", "b", "cannot reach pypi.org");
    let found = trips(&desk.bench.board, &[], &desk.config, desk.bench.now.wall).remove(0);
    for number in 0..TRIPS_KEPT + 5 {
        let mut other = found.clone();
        other.key = format!("external_outage:{number}");
        desk.bench.ok("liza", other);
        if number > 0 {
            let last = desk.bench.board.rest.circuit_breaker.trips.last().map(|trip| trip.id.clone());
            desk.bench.ok("human", ResolveBreaker { id: last, note: "done".to_owned() });
        }
    }
    let kept = &desk.bench.board.rest.circuit_breaker.trips;
    assert!(kept.len() <= TRIPS_KEPT + 1, "{}", kept.len());
    assert_eq!(kept[0].id, "trip-1", "what is open stays");
    assert_eq!(kept.last().map(|trip| trip.id.as_str()), Some("trip-105"));
    assert!(desk.bench.board.task(&id("a")).is_some());
}
