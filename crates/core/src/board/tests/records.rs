//! Notes, anomalies, discoveries, changes of specs, and marking them as processed.

use crate::board::records::{AnomalyKind, Urgency};
use crate::board::refusal::Code;
use crate::board::review::Severity;
use crate::board::rules::*;
use crate::board::testing::*;

#[test]
fn every_kind_of_anomaly_needs_its_details() {
    let mut bench = Bench::with_tasks(&["t"]);
    for kind in AnomalyKind::ALL.iter().copied() {
        let all: Vec<(&str, &str)> = kind.required().iter().map(|key| (*key, "something")).collect();
        assert!(!all.is_empty(), "{} asks for nothing", kind.as_str());
        for left_out in 0..all.len() {
            let mut some = all.clone();
            let (key, _) = some.remove(left_out);
            let log = LogAnomaly { kind, task: id("t"), details: details(&some) };
            let refusal = bench.refusal("coder-1", log);
            assert_eq!(refusal.code, Code::Incomplete);
            assert!(refusal.message.contains(key), "{}", refusal.message);
            some.push((key, "  "));
            let blank = LogAnomaly { kind, task: id("t"), details: details(&some) };
            assert_eq!(bench.refused("coder-1", blank), Code::Incomplete);
        }
        bench.ok("coder-1", LogAnomaly { kind, task: id("t"), details: details(&all) });
        assert_eq!(kind.as_str().parse(), Ok(kind));
        let name = serde_json::to_value(kind).expect("a name");
        assert_eq!(name, kind.as_str());
    }
    assert_eq!(bench.board.rest.anomalies.len(), AnomalyKind::ALL.len());
    let nowhere = LogAnomaly {
        kind: AnomalyKind::DebtCreated,
        task: id("nowhere"),
        details: details(&[("what", "x")]),
    };
    assert_eq!(bench.refused("coder-1", nowhere), Code::UnknownTask);
}

#[test]
fn records_are_numbered_and_marked_once() {
    let mut bench = Bench::with_tasks(&["t"]);
    assert_eq!(bench.ok("human", bench.note("one"))["id"], "note-1");
    assert_eq!(bench.ok("coder-1", bench.note("two"))["id"], "note-2");
    let discovery = Discover {
        text: "a leak".to_owned(),
        task: id("t"),
        severity: Severity::Major,
        urgency: Urgency::Immediate,
    };
    assert_eq!(bench.ok("coder-1", discovery)["id"], "discovery-1");
    let anomaly = LogAnomaly {
        kind: AnomalyKind::DebtCreated,
        task: id("t"),
        details: details(&[("what", "a shortcut")]),
    };
    assert_eq!(bench.ok("coder-1", anomaly)["id"], "anomaly-1");
    let change = ChangeSpec {
        spec: "specs/vision.md".to_owned(),
        change: "now with colours".to_owned(),
        affects: vec![id("t")],
        pin: None,
    };
    assert_eq!(bench.ok("planner-1", change)["id"], "spec-change-1");

    let mark = |ids: &[&str]| MarkProcessed { ids: ids.iter().map(|id| (*id).to_owned()).collect() };
    assert_eq!(bench.refused("planner-1", mark(&[])), Code::Incomplete);
    assert_eq!(bench.refused("planner-1", mark(&["note-1", "note-9"])), Code::UnknownRecord);
    assert!(bench.board.rest.human_notes[0].processed_by.is_none());
    bench.ok("planner-1", mark(&["note-1", "discovery-1", "anomaly-1", "spec-change-1"]));
    assert_eq!(bench.board.rest.human_notes[0].processed_by, Some(agent("planner-1")));
    assert!(bench.board.rest.human_notes[1].processed_by.is_none());
    assert!(bench.board.rest.anomalies[0].processed_by.is_some());
    assert!(bench.board.rest.discovered[0].processed_by.is_some());
    assert!(bench.board.rest.spec_changes[0].processed_by.is_some());
    assert_eq!(bench.refused("planner-1", mark(&["note-1"])), Code::Transition);
}

#[test]
fn empty_notes_are_refused() {
    let mut bench = Bench::with_tasks(&["t"]);
    assert_eq!(bench.refused("human", bench.note(" \n")), Code::Incomplete);
    let nowhere = AddNote { text: "hello".to_owned(), task: Some(id("nowhere")) };
    assert_eq!(bench.refused("human", nowhere), Code::UnknownTask);
}
