//! Valid and invalid answers of agents, and dispatches.

use super::reading::{Expected, Problem, Shape, read_result};
use super::*;
use crate::board::slice::SliceKind;
use crate::board::{PathPattern, Role, TaskId};

const SSOT: &str = "scenario-0123456789ab";

fn read(role: &str, shape: Shape, text: &str) -> Result<SliceResult, Vec<Problem>> {
    let (role, slice_id) = (Role::new(role).expect("a role"), TaskId::new("probe-1").expect("an id"));
    read_result(text.as_bytes(), &Expected { role: &role, slice_id: &slice_id, ssot_id: Some(SSOT), shape })
}

fn operator(more: &str) -> String {
    format!(
        r#"{{"schema":"worker-result.operator/1","ssot_id":"{SSOT}","slice_id":"probe-1","status":"complete","summary":"ran"{more}}}"#
    )
}

#[track_caller]
fn refused(text: &str, field: &str, why: &str) {
    let problems = read("operator", Shape::Other, text).expect_err("refused");
    let all = reading::listed(&problems);
    assert!(problems.iter().any(|one| one.field == field), "{field} is not named: {all}");
    assert!(all.contains(why), "{why:?} is not said: {all}");
}

#[test]
fn one_value_of_the_schema_is_taken() {
    let text = operator(
        r#","commands":[{"cmd":"make","exit":0,"seconds":1.5}],"measurements":{"size_bytes":12},"evidence":[{"kind":"command","ref":"make","exit":0}]"#,
    );
    let result = read("operator", Shape::Other, &format!("\n  {text}\n")).expect("valid");
    let SliceResult::Operator(result) = result else { panic!("an operator's") };
    assert_eq!((result.commands[0].exit, result.evidence[0].reference.as_str()), (0, "make"));
}

#[test]
fn everything_but_one_value_is_refused() {
    let good = operator("");
    refused("", "(message)", "empty");
    refused("Done!", "(message)", "Done!");
    refused(&format!("```json\n{good}\n```"), "(message)", "code fence");
    refused(&format!("Here it is: {good}"), "(message)", "begins with");
    refused(&format!("{good}\n{good}"), "(message)", "more than one JSON value");
    refused(&format!("{good} That is all."), "(message)", "text follows");
    refused(&good[..good.len() - 9], "(message)", "ends before");
    refused(&operator(&format!(r#","findings":["{}"]"#, "x".repeat(600_000))), "(message)", "bytes");
    let deep = format!(r#","measurements":{{"a":{}1{}}}"#, "[".repeat(60), "]".repeat(60));
    refused(&operator(&deep), "(message)", "deep");
}

#[test]
fn wrong_fields_are_named() {
    refused(&operator(r#","extra":1"#), "extra", "unknown field");
    refused(&operator(r#","commands":[{"cmd":"x","exit":"0"}]"#), "commands[0].exit", "");
    refused(&operator("").replace("probe-1", "probe-2"), "slice_id", "probe-1");
    refused(&operator("").replace(SSOT, "scenario-ba9876543210"), "ssot_id", SSOT);
    refused(&operator("").replace("complete", "blocked"), "blocked_reason", "required");
    refused(&operator("").replace("operator/1", "operator/2"), "schema", "");
    refused(&operator("").replace(r#""summary":"ran""#, r#""summary":" ""#), "summary", "empty");
    refused(&operator("").replace(r#","summary":"ran""#, ""), "summary", "missing field");
}

fn plan(slice: &str) -> String {
    format!(
        r#"{{"schema":"worker-result.supervisor/1","ssot_id":"{SSOT}","slice_id":"probe-1","status":"complete","summary":"planned",
        "dispatch_plan":{{"workstream":"w","timebox_minutes":8,"ownership_paths":["src/"],"slices":[{slice}]}}}}"#
    )
}

#[test]
fn slices_of_a_plan_obey_the_cross_rules() {
    let slice = |kind: &str, minutes: u32, owns: &str| {
        format!(
            r#"{{"slice_id":"w-1","agent_type":"coder_spark","slice_kind":"{kind}","timebox_minutes":{minutes},
            "ownership_paths":["{owns}"],"allowed_paths":["src/"],"task_contract":{{"goal":"g","acceptance":["a"]}}}}"#
        )
    };
    read("supervisor", Shape::Plan, &plan(&slice("work", 12, "src/a/"))).expect("valid");
    for (slice, field) in [
        (slice("work", 13, "src/a/"), "timebox_minutes"),
        (slice("merge", 8, "src/a/"), "slice_kind"),
        (slice("work", 8, "lib/"), "ownership_paths[0]"),
        (slice("work", 8, "src/a/").replace(r#"["a"]"#, "[]"), "task_contract.acceptance"),
    ] {
        let problems = read("supervisor", Shape::Plan, &plan(&slice)).expect_err("refused");
        let wanted = format!("dispatch_plan.slices[0].{field}");
        assert!(problems.iter().any(|one| one.field == wanted), "{wanted}: {}", reading::listed(&problems));
    }
    let none = plan("").replace("dispatch_plan", "unused");
    assert!(read("supervisor", Shape::Plan, &none).is_err());
}

#[test]
fn auditor_says_what_it_wants() {
    let audit = |verdict: &str, more: &str| {
        format!(
            r#"{{"schema":"review-result.auditor/1","ssot_id":"{SSOT}","slice_id":"probe-1","status":"complete","summary":"s","verdict":"{verdict}"{more}}}"#
        )
    };
    read("auditor", Shape::Other, &audit("APPROVE", "")).expect("valid");
    for (verdict, field) in
        [("BLOCK", "findings"), ("NEEDS_EVIDENCE", "evidence_requests"), ("MAYBE", "verdict")]
    {
        let problems = read("auditor", Shape::Other, &audit(verdict, "")).expect_err("refused");
        assert_eq!(problems[0].field, field, "{}", reading::listed(&problems));
    }
}

pub fn dispatch() -> TaskDispatch {
    let path = |text: &str| PathPattern::new(text).expect("a pattern");
    TaskDispatch {
        schema: dispatch::DispatchSchema::V1,
        ssot_id: SSOT.to_owned(),
        run_id: "run-1".to_owned(),
        slice_id: TaskId::new("w-1").expect("an id"),
        workstream: None,
        agent_type: AgentType::CoderSpark,
        slice_kind: SliceKind::Work,
        mode: Default::default(),
        timebox_minutes: 8,
        ownership_paths: vec![path("src/a/")],
        allowed_paths: vec![path("src/")],
        forbidden_paths: Vec::new(),
        depends_on: Vec::new(),
        inputs: Default::default(),
        task_contract: TaskContract {
            goal: "greet".to_owned(),
            acceptance: vec!["prints Hello".to_owned()],
            constraints: Vec::new(),
            spec_ref: None,
            validation: None,
        },
        provider: "claude".to_owned(),
        model: None,
        instructions: "You are a coder.".to_owned(),
        result_schema: "worker-result.coder/1".to_owned(),
        attempt: 1,
        previous: None,
    }
}

#[test]
fn dispatch_names_every_broken_rule() {
    assert_eq!(dispatch().problems(), []);
    let fields = |change: &dyn Fn(&mut TaskDispatch)| {
        let mut wrong = dispatch();
        change(&mut wrong);
        wrong.problems().into_iter().map(|problem| problem.field).collect::<Vec<_>>()
    };
    assert_eq!(fields(&|it| it.timebox_minutes = 13), ["timebox_minutes"]);
    assert_eq!(fields(&|it| it.allowed_paths.clear()), ["ownership_paths[0]"]);
    assert_eq!(fields(&|it| it.task_contract.acceptance.clear()), ["task_contract.acceptance"]);
    assert_eq!(fields(&|it| it.attempt = 2), ["previous"]);
    assert_eq!(fields(&|it| it.ssot_id = "2026-01-01".to_owned()), ["ssot_id"]);
    assert_eq!(fields(&|it| it.slice_kind = SliceKind::Probe), ["slice_kind", "slice_kind"]);
    assert_eq!(fields(&|it| it.result_schema = "other/1".to_owned()), ["result_schema"]);
    assert_eq!(
        fields(&|it| {
            it.agent_type = AgentType::Operator;
            it.result_schema = "worker-result.operator/1".to_owned();
        }),
        ["ownership_paths"]
    );
}
