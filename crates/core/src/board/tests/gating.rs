//! No approval and no move of integration without a pass of every required gate on exactly that tree.

use crate::board::gates::{GateOutcome, GateReport, GateStatus, Moment};
use crate::board::ids::CommitId;
use crate::board::refusal::Code;
use crate::board::rules::*;
use crate::board::task::Status;
use crate::board::testing::*;

fn said(about: &CommitId, status: GateStatus) -> Option<GateReport> {
    let mut report = GateReport::empty(Moment::Merge, about.clone(), commit(90));
    report.required = vec!["test".to_owned()];
    let mut result = GateOutcome::new("test", status);
    if status == GateStatus::Fail {
        result.reason = Some("1 of 2 failed".to_owned());
        result.failing = vec!["tests::a".to_owned()];
        result.log = Some(".liza/runs/t/1-1/gate-merge-test.log".to_owned());
    }
    report.results = vec![result];
    Some(report)
}

/// Every kind of missing or red gate result about a commit, with the code of its refusal.
fn lacking(about: &CommitId) -> Vec<(Option<GateReport>, Code)> {
    let mut missing = said(about, GateStatus::Pass);
    if let Some(report) = &mut missing {
        report.results.clear();
    }
    vec![
        (said(about, GateStatus::Fail), Code::GateRed),
        (said(about, GateStatus::CouldNotRun), Code::GateNotRun),
        (missing, Code::GateNotRun),
        (said(&commit(77), GateStatus::Pass), Code::GateNotRun),
    ]
}

#[test]
fn submit_needs_its_gates_green() {
    let mut bench = Bench::with_tasks(&["t"]);
    bench.claim("coder-1", "t");
    bench.ok("coder-1", bench.checkpoint("t"));
    let submit = bench.submit("t");
    let with = |gates| {
        let mut submit = submit.clone();
        submit.evidence.gates = gates;
        submit
    };
    for (gates, code) in lacking(&submit.evidence.head) {
        assert_eq!(bench.refused("coder-1", with(gates)), code);
    }
    bench.ok("coder-1", with(said(&submit.evidence.head, GateStatus::Pass)));
    assert!(bench.task("t").body().gates.as_ref().is_some_and(GateReport::passed));
}

#[test]
fn approve_needs_every_required_gate() {
    let mut bench = Bench::with_tasks(&["t"]);
    bench.hand_in("coder-1", "t");
    bench.ok("reviewer-1", bench.start_review("t"));
    let approve = bench.approve("t");
    for (gates, code) in lacking(&approve.commit) {
        assert_eq!(bench.refused("reviewer-1", Approve { gates, ..approve.clone() }), code);
    }
    bench.ok("reviewer-1", Approve { gates: said(&approve.commit, GateStatus::Pass), ..approve.clone() });
    assert_eq!(bench.task("t").status, Status::Approved);
}

#[test]
fn merge_needs_green_gates_on_merged_tree() {
    let mut bench = Bench::with_tasks(&["t"]);
    bench.approved("coder-1", "t");
    bench.ok("reviewer-1", bench.begin_merge("t"));
    let record = bench.record_move("t");
    for (gates, code) in lacking(&record.step.new) {
        assert_eq!(bench.refused("reviewer-1", RecordMove { gates, ..record.clone() }), code);
    }
    bench.ok("reviewer-1", RecordMove { gates: said(&record.step.new, GateStatus::Pass), ..record.clone() });
    let outcome = bench.ok("reviewer-1", bench.finish_merge("t"));
    assert_eq!(outcome["gates"][0]["status"], "pass");
    assert!(bench.task("t").body().gates.as_ref().is_some_and(GateReport::passed));
}

#[test]
fn a_red_merge_goes_back_with_its_evidence() {
    let mut bench = Bench::with_tasks(&["t"]);
    bench.approved("coder-1", "t");
    bench.ok("reviewer-1", bench.begin_merge("t"));
    let fail = FailMerge {
        gates: said(&commit(50), GateStatus::Fail),
        ..bench.fail_merge("t", MergeFailure::RedGate)
    };
    let outcome = bench.ok("reviewer-1", fail);
    assert_eq!(
        (outcome["gate"].as_str(), outcome["outcome"].as_str()),
        (Some("test"), Some("integration_failed"))
    );
    let task = bench.task("t");
    assert_eq!(task.status, Status::IntegrationFailed);
    let failure = task.body().integration_failure.as_ref().expect("a reason");
    assert_eq!(failure.gate.as_deref(), Some("test"));
    assert_eq!(failure.failing, ["tests::a"]);
    assert!(failure.log.as_deref().is_some_and(|log| log.ends_with("gate-merge-test.log")));
}

#[test]
fn a_red_head_is_on_record_until_it_is_green() {
    let mut bench = Bench::with_tasks(&["t"]);
    for status in [GateStatus::Fail, GateStatus::Pass] {
        let Some(gates) = said(&commit(1), status) else { unreachable!() };
        assert_eq!(bench.refused("coder-1", JudgeIntegration { gates: gates.clone() }), Code::Tier0Role);
        bench.ok("reviewer-1", JudgeIntegration { gates });
        let red = &bench.board.rest.integration.red;
        assert_eq!(red.is_some(), status == GateStatus::Fail);
        assert!(red.as_ref().is_none_or(|why| why.contains("`test`") && why.contains("gate-merge-test.log")));
    }
}

#[test]
fn gate_record_must_match_reviewed_commit() {
    let mut bench = Bench::with_tasks(&["t"]);
    let record = |about: &CommitId| RecordGates {
        task: id("t"),
        gates: said(about, GateStatus::Fail).unwrap_or_else(|| unreachable!()),
    };
    assert_eq!(bench.refused("reviewer-1", record(&commit(1))), Code::Transition);
    bench.hand_in("coder-1", "t");
    let under_review = bench.approve("t").commit;
    assert_eq!(bench.refused("coder-1", record(&under_review)), Code::Tier0Role);
    assert_eq!(bench.refused("reviewer-1", record(&commit(77))), Code::Commit);
    bench.ok("reviewer-1", record(&under_review));
    assert!(bench.task("t").body().gates.is_some());
}

#[test]
fn required_gate_stays_until_a_person_retires_it() {
    let mut bench = Bench::with_tasks(&["t", "u"]);
    bench.hand_in("coder-1", "t");
    bench.ok("reviewer-1", bench.start_review("t"));
    let approve = bench.approve("t");
    bench.ok("reviewer-1", Approve { gates: said(&approve.commit, GateStatus::Pass), ..approve });
    assert_eq!(bench.board.rest.integration.gates, ["test"]);
    // Without the gate's result there is no approval and no merge, whether the gate was dropped or not run.
    bench.ok("reviewer-1", bench.begin_merge("t"));
    let record = bench.record_move("t");
    let none = Some(GateReport::empty(Moment::Merge, record.step.new.clone(), commit(90)));
    for gates in [None, none] {
        assert_eq!(bench.refused("reviewer-1", RecordMove { gates, ..record.clone() }), Code::GateNotRun);
    }
    let retire = RetireGate { gate: "test".to_owned(), reason: "it says nothing new".to_owned() };
    assert_eq!(bench.refused("reviewer-1", retire.clone()), Code::HumanOnly);
    bench.ok("human", retire.clone());
    assert_eq!(bench.refused("human", retire), Code::UnknownRecord);
    bench.ok("reviewer-1", record);
}
