//! Routes, workstreams and audits: what a plan may open, when slices join, and what an auditor decides.

use crate::board::goals::GoalStatus;
use crate::board::refusal::Code;
use crate::board::result::ResultStatus;
use crate::board::route::{AuditVerdict, Estimate, RunMode, Way};
use crate::board::rules::*;
use crate::board::slice::SliceKind;
use crate::board::task::{Kind, Risk};
use crate::board::testing::*;
use crate::board::workstream::NewStream;
use crate::board::{Role, Status, WorkstreamId};
use crate::policy::audit::{self, AuditConfig, Step};
use crate::text::ssot_id;

fn stream_id(name: &str) -> WorkstreamId {
    WorkstreamId::new(name).expect("an id")
}

fn stream(name: &str, owns: &[&str]) -> NewStream {
    NewStream {
        id: stream_id(name),
        goal: format!("The part {name}"),
        ownership_paths: patterns(owns),
        allowed_paths: Vec::new(),
        depends_on: Vec::new(),
        timebox_minutes: Some(10),
    }
}

fn plan_with(streams: Vec<NewStream>) -> AddTasks {
    let tasks = streams.iter().map(|stream| plan_task(stream).expect("a task")).collect();
    AddTasks { workstreams: streams, ..plan_of(tasks) }
}

fn route(force: Option<Way>, mode: RunMode) -> RecordRoute {
    RecordRoute {
        ssot_id: ssot_id("a goal"),
        goal: Some("goal-1".to_owned()),
        task: None,
        job: None,
        estimate: Some(Estimate {
            t_max_s: 60,
            t_why: "one line".to_owned(),
            tiny: true,
            clear: true,
            risk: Risk::Low,
        }),
        unknown: None,
        mode,
        risk: None,
        force,
        after: None,
        once: true,
    }
}

fn deliver() -> BeginMove {
    BeginMove {
        kind: MoveKind::Deliver,
        branch: "main".to_owned(),
        reason: "it is done".to_owned(),
        owner: process(1),
        checkout: None,
        audited: true,
    }
}

fn multi(mode: RunMode) -> Bench {
    let mut bench = Bench::new();
    bench.ok("human", route(Some(Way::Multi), mode));
    bench
}

/// An auditor claims it and hands in a complete result.
fn end_report(bench: &mut Bench, name: &str) {
    bench.register("auditor-1", &["auditor"]);
    bench.claim("auditor-1", name);
    let result = SubmitResult {
        task: id(name),
        epoch: Some(bench.task(name).epoch),
        status: ResultStatus::Complete,
        summary: "looked at".to_owned(),
        blocked_reason: None,
        evidence: Vec::new(),
        digest: "0123456789abcdef".repeat(4),
        found: Unchanged { head: untouched().head, changed: Vec::new(), untracked: Vec::new() },
    };
    bench.ok("auditor-1", result);
}

#[test]
fn route_is_computed_from_its_estimate() {
    let mut bench = Bench::new();
    assert_eq!(bench.refused("planner-1", route(None, RunMode::Mixed)), Code::HumanOnly);
    let wrong = RecordRoute { ssot_id: "scenario-1".to_owned(), ..route(None, RunMode::Mixed) };
    assert_eq!(bench.refused("human", wrong), Code::Value);
    // The task of a single job comes with it, and with nothing else.
    let job = plan_of(vec![new_task("job", "src/")]);
    let high = RecordRoute { risk: Some(Risk::High), job: Some(job.clone()), ..route(None, RunMode::Mixed) };
    bench.ok("human", high);
    assert_eq!(bench.board.route().map(|route| route.route), Some(Way::Multi));
    assert!(bench.board.tasks.is_empty(), "no single job");
    let mut bench = Bench::new();
    bench.ok("human", RecordRoute { job: Some(job), ..route(None, RunMode::Mixed) });
    let recorded = bench.board.route().expect("a route");
    assert_eq!((recorded.route, recorded.task.clone()), (Way::Single, Some(id("job"))));
    assert_eq!(bench.status("job"), Status::Idle);
    assert!(!recorded.is_audited() && recorded.needs_no_approval());
}

#[test]
fn multi_plan_needs_streams_of_disjoint_paths() {
    let mut bench = multi(RunMode::Mixed);
    assert_eq!(bench.refused("planner-1", plan_of(vec![new_task("t", "t/")])), Code::StreamsNeeded);
    let mut look = new_task("look", "t/");
    (look.kind, look.role, look.scope) = (Kind::Report, Role::operator(), Default::default());
    assert_eq!(bench.refused("planner-1", plan_of(vec![look.clone()])), Code::StreamsNeeded);
    // A person may look at something all the same.
    bench.ok("human", plan_of(vec![look]));
    let overlapping = vec![stream("a", &["src/"]), stream("b", &["src/b.rs"])];
    assert_eq!(bench.refused("planner-1", plan_with(overlapping)), Code::PathsOverlap);
    let long = NewStream { timebox_minutes: Some(13), ..stream("a", &["src/"]) };
    assert_eq!(bench.refused("planner-1", plan_with(vec![long])), Code::Limit);
    let lost = NewStream { depends_on: vec![stream_id("zz")], ..stream("a", &["src/"]) };
    assert_eq!(bench.refused("planner-1", plan_with(vec![lost])), Code::DependencyMissing);
    let beyond = NewStream { allowed_paths: patterns(&["docs/"]), ..stream("a", &["src/"]) };
    assert_eq!(bench.refused("planner-1", plan_with(vec![beyond])), Code::Scope);
    bench.ok("planner-1", plan_with(vec![stream("a", &["a/"]), stream("b", &["b/"])]));
    assert_eq!(bench.refused("planner-1", plan_with(vec![stream("A", &["c/"])])), Code::IdTaken);
    let plan = bench.task("a-plan");
    assert_eq!((plan.kind, plan.role.clone()), (Kind::Report, Role::supervisor()));
    assert_eq!((plan.slice_kind, plan.body().timebox_minutes), (Some(SliceKind::Work), Some(10)));
    assert!(plan.owns.is_empty());
}

#[test]
fn slice_joins_after_its_plan_and_inside_its_stream() {
    let mut bench = multi(RunMode::Mixed);
    bench.ok("planner-1", plan_with(vec![stream("a", &["a/"])]));
    let slice = |name: &str, path: &str, of: &str| {
        let mut task = new_task(name, path);
        task.workstream = Some(stream_id(of));
        task
    };
    assert_eq!(bench.refused("planner-1", plan_of(vec![slice("s", "a/x.rs", "a")])), Code::PlanFirst);
    assert_eq!(bench.refused("planner-1", plan_of(vec![slice("s", "a/x.rs", "zz")])), Code::UnknownRecord);
    bench.board.rest.workstreams[0].accepted = Some(bench.now.wall);
    assert_eq!(bench.refused("planner-1", plan_of(vec![slice("s", "b/x.rs", "a")])), Code::Scope);
    bench.ok("planner-1", plan_of(vec![slice("s", "a/x.rs", "a"), slice("u", "a/y.rs", "a")]));
    // Collapsed, it gives up what is not begun, and takes reports only.
    bench.claim("coder-1", "s");
    let collapse =
        CollapseStream { stream: stream_id("A"), reason: "it hangs together".to_owned(), unbegun: true };
    assert_eq!(bench.refused("coder-1", collapse.clone()), Code::Role);
    bench.ok("planner-1", collapse.clone());
    assert_eq!((bench.status("s"), bench.status("u")), (Status::Working, Status::Abandoned));
    assert_eq!(bench.refused("planner-1", collapse), Code::Transition);
    assert_eq!(bench.refused("planner-1", plan_of(vec![slice("v", "a/z.rs", "a")])), Code::ReadOnly);
    let mut look = slice("look", "a/", "a");
    (look.kind, look.role, look.slice_kind) = (Kind::Report, Role::operator(), Some(SliceKind::Probe));
    bench.ok("planner-1", plan_of(vec![look]));
}

#[test]
fn reading_goal_takes_reports_only() {
    let mut bench = multi(RunMode::ReadOnly);
    bench.ok("planner-1", plan_with(vec![stream("a", &["a/"])]));
    bench.board.rest.workstreams[0].accepted = Some(bench.now.wall);
    let mut task = new_task("s", "a/x.rs");
    task.workstream = Some(stream_id("a"));
    assert_eq!(bench.refused("planner-1", plan_of(vec![task])), Code::ReadOnly);
    assert!(!bench.board.route().expect("a route").is_audited());
}

#[test]
fn audit_decides_and_five_rounds_are_the_most() {
    let mut bench = multi(RunMode::Write);
    let config = AuditConfig::default();
    assert_eq!(bench.refused("human", deliver()), Code::Unaudited);
    for round in 1..=5 {
        assert_eq!(audit::next_step(&bench.board, &config), Step::Ask { round });
        let task = audit::audit_task(&bench.board, round);
        let name = task.id.to_string();
        bench.ok("human", plan_of(vec![task]));
        assert_eq!(audit::unrecorded(&bench.board), None, "it is not over");
        end_report(&mut bench, &name);
        assert_eq!(audit::unrecorded(&bench.board).map(|task| task.id.clone()), Some(id(&name)));
        let record = RecordAudit {
            task: id(&name),
            verdict: AuditVerdict::Block,
            findings: vec!["not good enough".to_owned()],
            evidence_requests: Vec::new(),
            head: None,
            probes: None,
        };
        assert_eq!(bench.refused("planner-1", record.clone()), Code::HumanOnly);
        bench.ok("human", record.clone());
        assert_eq!(bench.refused("human", record), Code::Transition, "once");
        assert_eq!(bench.refused("human", CompleteGoal { audited: true }), Code::Unaudited);
    }
    assert_eq!(
        audit::next_step(&bench.board, &config),
        Step::Exhausted { rounds: 5, verdict: AuditVerdict::Block }
    );
    assert_eq!(
        bench.refused("planner-1", WaiveAudit { reason: "fine".to_owned(), counted: true }),
        Code::HumanOnly
    );
    bench.ok("human", WaiveAudit { reason: "I have read it".to_owned(), counted: true });
    bench.ok("human", deliver());
}

#[test]
fn unaudited_goal_lets_no_other_start() {
    let mut bench = multi(RunMode::Write);
    let next =
        || AddGoal { goal: "the next".to_owned(), spec_ref: "goal".to_owned(), routing: None, audited: true };
    let again = bench.refusal("human", route(Some(Way::Single), RunMode::Write));
    assert_eq!(again.code, Code::Transition, "a second route would take the audits away");
    // Everything is done, and the auditor was not asked.
    let task = audit::audit_task(&bench.board, 1);
    let name = task.id.to_string();
    bench.ok("human", plan_of(vec![task]));
    end_report(&mut bench, &name);
    let mut before = bench.clone();
    before.ok("human", AddGoal { audited: false, ..next() });
    assert_eq!(before.board.rest.goal.id, "goal-2", "older records are replayed as they were");
    assert_eq!(bench.ok("human", next())["status"], "QUEUED");
    assert_eq!(bench.refused("human", StartGoal { audited: true }), Code::Unaudited);
    assert_eq!(bench.refused("human", CompleteGoal { audited: true }), Code::Unaudited);
    let record = |verdict: AuditVerdict| RecordAudit {
        task: id(&name),
        verdict,
        findings: Vec::new(),
        evidence_requests: Vec::new(),
        head: None,
        probes: None,
    };
    let mut approved = bench.clone();
    approved.ok("liza", record(AuditVerdict::Approve));
    approved.ok("human", CompleteGoal { audited: true });
    approved.ok("human", StartGoal { audited: true });
    // A waiver covers what was said before, not a verdict of the same second.
    bench.ok("human", WaiveAudit { reason: "I have read it".to_owned(), counted: true });
    assert_eq!(
        audit::next_step(&bench.board, &AuditConfig::default()),
        Step::Nothing,
        "a person has decided"
    );
    let mut waived = bench.clone();
    waived.ok("human", deliver());
    bench.ok("liza", record(AuditVerdict::Block));
    assert_eq!(bench.refused("human", deliver()), Code::Unaudited);
    assert_eq!(bench.refused("human", StartGoal { audited: true }), Code::Unaudited);
}

#[test]
fn collapse_leaves_nothing_to_be_claimed() {
    let mut bench = multi(RunMode::Mixed);
    bench.ok("planner-1", plan_with(vec![stream("a", &["a/"])]));
    bench.board.rest.workstreams[0].accepted = Some(bench.now.wall);
    let slice = |name: &str| {
        let mut task = new_task(name, &format!("a/{name}.rs"));
        task.workstream = Some(stream_id("a"));
        task
    };
    bench.ok("planner-1", plan_of(vec![slice("s"), slice("u"), slice("v")]));
    bench.ok("planner-1", bench.block("s"));
    bench.claim("coder-1", "u");
    bench.ok("coder-1", bench.block("u"));
    let collapse = CollapseStream { stream: stream_id("a"), reason: "it hangs".to_owned(), unbegun: true };
    // A claim that is being made may be undone: it is waited for.
    bench.ok("coder-2", bench.begin("v"));
    assert_eq!(bench.refused("planner-1", collapse.clone()), Code::IntentOpen);
    bench.ok("human", bench.cancel("v"));
    let mut before = bench.clone();
    before.ok("planner-1", CollapseStream { unbegun: false, ..collapse.clone() });
    assert_eq!(before.status("s"), Status::Blocked, "older records are replayed as they were");
    let done = bench.ok("planner-1", collapse);
    assert_eq!(
        (&done["abandoned"], &done["under_way"]),
        (&serde_json::json!(["s", "v"]), &serde_json::json!(["u"]))
    );
    assert_eq!(bench.status("u"), Status::Blocked, "what an agent has begun goes on to its end");
}

#[test]
fn approval_ends_with_the_next_merge() {
    let mut bench = multi(RunMode::Write);
    let seen = bench.board.rest.integration.head.clone();
    let task = audit::audit_task(&bench.board, 1);
    let name = task.id.to_string();
    bench.ok("human", plan_of(vec![task]));
    end_report(&mut bench, &name);
    let approve = RecordAudit {
        task: id(&name),
        verdict: AuditVerdict::Approve,
        findings: Vec::new(),
        evidence_requests: Vec::new(),
        head: seen.clone(),
        probes: None,
    };
    bench.ok("human", approve);
    assert!(check_audited(&bench.board, &bench.call(bench.actor("human"))).is_ok());
    // More is merged for the goal: the auditor has not seen it.
    let later = Some(commit(9));
    bench.board.rest.integration.head.clone_from(&later);
    let refusal = check_audited(&bench.board, &bench.call(bench.actor("human"))).expect_err("not audited");
    assert_eq!(refusal.code, Code::Unaudited);
    assert!(refusal.message.contains("changed since"), "{}", refusal.message);
    assert_eq!(audit::next_step(&bench.board, &AuditConfig::default()), Step::Ask { round: 1 });
    // What is merged for later goals does not count against a goal that is over.
    bench.board.rest.goal.status = GoalStatus::Complete;
    assert!(check_audited(&bench.board, &bench.call(bench.actor("human"))).is_ok());
}
