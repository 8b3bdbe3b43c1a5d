//! Caps and sprints: what is refused, counted and kept.

use crate::board::caps::{Cap, Caps};
use crate::board::refusal::Code;
use crate::board::rules::*;
use crate::board::spent::{SessionKind, Spent};
use crate::board::state::{DeadlineHalt, SPRINTS_KEPT};
use crate::board::testing::*;

fn used(task: Option<&str>, tokens: u64, cost_usd: f64) -> RecordUsage {
    let kind = if task.is_some() { SessionKind::Work } else { SessionKind::Plan };
    let spent = Spent { sessions: 1, output_tokens: tokens, cost_usd, ..Spent::default() };
    RecordUsage { task: task.map(id), kind, round: None, spent }
}

fn tokens(tokens: u64) -> Cap {
    Cap { tokens: Some(tokens), usd: None }
}

#[test]
fn session_cost_is_summed_for_task_agent_board() {
    let mut bench = Bench::with_tasks(&["a"]);
    bench.ok("coder-1", used(Some("a"), 5, 0.5));
    bench.ok("coder-1", used(Some("a"), 6, 0.0));
    bench.ok("planner-1", used(None, 7, 0.0));
    bench.ok("coder-2", used(Some("gone"), 1, 0.0));
    let rest = &bench.board.rest;
    assert_eq!((rest.spent.tokens(), rest.spent.sessions, rest.spent_planning.tokens()), (19, 4, 7));
    assert_eq!(bench.task("a").body().spent.tokens(), 11);
    assert_eq!(bench.task("a").body().spent_rounds.len(), 1);
    assert_eq!(rest.agents[&agent("coder-1")].spent.tokens(), 11);
    // The cost stays with the agent when it is registered again.
    bench.register("coder-1", &["coder"]);
    assert_eq!(bench.board.rest.agents[&agent("coder-1")].spent.tokens(), 11);
    assert_eq!(bench.refused("human", used(None, 1, 0.0)), Code::Identity);
    assert_eq!(bench.refused("coder-1", used(None, 1, f64::NAN)), Code::Value);
}

#[test]
fn used_cap_refuses_claims_and_names_setting() {
    let mut bench = Bench::with_tasks(&["a", "b", "c"]);
    bench.ok("coder-1", used(Some("a"), 100, 0.0));
    let caps = Caps { task: tokens(100), ..Caps::default() };
    let refusal = bench.refusal("coder-2", BeginClaim { caps, ..bench.begin("a") });
    assert_eq!(refusal.code, Code::Spend);
    assert_eq!(refusal.details["setting"], "spend.task.tokens");
    assert!(refusal.message.contains("100 of 100 tokens"), "{refusal}");
    assert!(refusal.hint.unwrap_or_default().contains("spend.task.tokens"));
    // A higher cap, another task, or a person: not refused.
    let raised = Caps { task: tokens(101), ..Caps::default() };
    bench.ok("coder-1", BeginClaim { caps: raised, ..bench.begin("a") });
    bench.ok("coder-2", BeginClaim { caps, ..bench.begin("b") });
    let caps = Caps { agent: tokens(100), ..Caps::default() };
    bench.ok("reviewer-1", used(None, 100, 0.0));
    bench.hand_in("both-1", "c");
    assert_eq!(bench.refused("reviewer-1", StartReview { task: id("c"), caps }), Code::Spend);
    bench.ok("reviewer-2", StartReview { task: id("c"), caps });
}

#[test]
fn run_cap_counts_from_start_and_zero_is_none() {
    let mut bench = Bench::with_tasks(&["a", "b"]);
    bench.ok("coder-1", used(None, 1000, 2.0));
    assert_eq!(bench.refused("coder-1", BeginRun { owner: process(1) }), Code::HumanOnly);
    bench.ok("human", BeginRun { owner: process(1) });
    let caps = Caps { run: Cap { tokens: Some(0), usd: Some(0.5) }, ..Caps::default() };
    bench.ok("coder-1", BeginClaim { caps, ..bench.begin("a") });
    bench.ok("coder-1", used(None, 1, 0.5));
    assert_eq!(bench.refused("coder-2", BeginClaim { caps, ..bench.begin("b") }), Code::Spend);
    bench.ok("human", BeginRun { owner: process(2) });
    bench.ok("coder-2", BeginClaim { caps, ..bench.begin("b") });
}

fn start(id: &str) -> StartSprint {
    StartSprint { id: id.to_owned(), goal: None, scope: Vec::new(), deadline: None }
}

fn close(id: &str) -> CloseSprint {
    CloseSprint { id: id.to_owned(), metrics: Default::default(), retrospective: None, note: None }
}

#[test]
fn only_one_sprint_is_open_at_a_time() {
    let mut bench = Bench::with_tasks(&["a", "b"]);
    assert_eq!(bench.refused("human", start("sprint-2")), Code::Transition);
    assert_eq!(bench.refused("planner-1", close("sprint-1")), Code::HumanOnly);
    assert_eq!(bench.refused("human", close("sprint-7")), Code::Transition);
    let broken = CloseSprint { metrics: [("x".to_owned(), f64::NAN)].into(), ..close("sprint-1") };
    assert_eq!(bench.refused("human", broken), Code::Value);
    bench.ok("human", close("sprint-1"));
    assert_eq!(bench.refused("human", close("sprint-1")), Code::Transition);
    assert_eq!(bench.refused("human", start("SPRINT-1")), Code::IdTaken);
    assert_eq!(bench.refused("human", start("../x")), Code::Value);
    let past = StartSprint { deadline: Some(bench.now.wall), ..start("two") };
    assert_eq!(bench.refused("human", past), Code::Value);
    assert_eq!(
        bench.refused("human", StartSprint { scope: vec![id("x")], ..start("two") }),
        Code::UnknownTask
    );
    bench.ok("human", StartSprint { scope: vec![id("a"), id("a")], ..start("two") });
    assert_eq!(bench.board.rest.sprint.scope, [id("a")]);
    assert_eq!(bench.board.rest.former_sprints[0].id, "sprint-1");
    let scope = |add: &[&str], drop: &[&str]| SetSprintScope {
        id: "two".to_owned(),
        add: add.iter().map(|name| id(name)).collect(),
        drop: drop.iter().map(|name| id(name)).collect(),
    };
    assert_eq!(bench.refused("human", scope(&[], &["b"])), Code::UnknownTask);
    assert_eq!(bench.refused("human", scope(&[], &["a"])), Code::Incomplete);
    bench.ok("human", scope(&["b"], &["a"]));
    assert_eq!(bench.board.rest.sprint.scope, [id("b")]);
    for number in 0..SPRINTS_KEPT + 3 {
        let open = bench.board.rest.sprint.id.clone();
        bench.ok("human", close(&open));
        bench.ok("human", start(&format!("s{number}")));
    }
    assert_eq!(bench.board.rest.former_sprints.len(), SPRINTS_KEPT);
}

#[test]
fn deadline_is_handled_once() {
    let mut bench = Bench::new();
    bench.ok("human", close("sprint-1"));
    let deadline = Some(bench.now.wall.plus_seconds(60));
    bench.ok("human", StartSprint { deadline, ..start("two") });
    let pass = |halt| PassDeadline { id: "two".to_owned(), halt };
    assert_eq!(bench.refused("liza", pass(DeadlineHalt::Begun)), Code::Transition);
    bench.tick(60);
    assert_eq!(bench.refused("liza", pass(DeadlineHalt::Done)), Code::Transition);
    for by in ["coder-1", "human"] {
        assert_eq!(bench.refused(by, pass(DeadlineHalt::Begun)), Code::HumanOnly);
    }
    bench.ok("liza", pass(DeadlineHalt::Begun));
    assert_eq!(bench.refused("liza", pass(DeadlineHalt::Begun)), Code::Transition);
    bench.ok("liza", pass(DeadlineHalt::Done));
    bench.tick(600);
    assert_eq!(bench.refused("liza", pass(DeadlineHalt::Begun)), Code::Transition);
}
