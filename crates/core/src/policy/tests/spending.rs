//! Caps and the scheduler: work at its cap is not started, other work continues, and a stuck run says why.

use crate::board::testing::*;
use crate::board::{Needs, Role, rules::RecordUsage, spent::SessionKind, spent::Spent};
use crate::policy::run::{CauseKind, Next, Seat, State, Team, next};
use crate::policy::spend::{Cap, SpendConfig, near, needed_to_begin};

fn spend(bench: &mut Bench, by: &str, task: Option<&str>, tokens: u64) {
    let spent = Spent { sessions: 1, input_tokens: tokens, ..Spent::default() };
    bench.ok(by, RecordUsage { task: task.map(id), kind: SessionKind::Work, round: None, spent });
}

fn cap(tokens: u64) -> Cap {
    Cap { tokens: Some(tokens), usd: None }
}

fn team(caps: SpendConfig) -> Team {
    let seat = |name: &str, role: Role| Seat { agent: agent(name), role };
    Team {
        seats: vec![
            seat("coder-1", Role::coder()),
            seat("coder-2", Role::coder()),
            seat("reviewer-1", Role::code_reviewer()),
        ],
        window: 4,
        caps,
        ..Team::default()
    }
}

fn decide(bench: &Bench, caps: SpendConfig) -> Next {
    next(&bench.board, &bench.world, &bench.now, &team(caps))
}

fn started(next: &Next) -> Vec<String> {
    next.starts
        .iter()
        .map(|start| format!("{} {}", start.agent, start.task.as_ref().map_or("-", |task| task.as_str())))
        .collect()
}

#[test]
fn task_at_its_cap_waits_and_others_go_on() {
    let mut bench = Bench::with_tasks(&["a", "b"]);
    spend(&mut bench, "coder-1", Some("a"), 100);
    let caps = SpendConfig { task: cap(100), ..SpendConfig::default() };
    assert_eq!(started(&decide(&bench, caps)), ["coder-1 b"]);
    let raised = SpendConfig { task: cap(101), ..SpendConfig::default() };
    assert_eq!(started(&decide(&bench, raised)), ["coder-1 a", "coder-2 b"]);
    let abandon = bench.abandon("b");
    bench.ok("human", abandon);
    let State::Stuck(causes) = decide(&bench, caps).state else { panic!("it stands still") };
    assert_eq!(causes[0].kind, CauseKind::Spend);
    assert!(causes[0].why.contains("task `a` has used 100 of 100 tokens"), "{causes:?}");
    assert!(causes[0].hint.contains("`spend.task.tokens`"), "{causes:?}");
}

#[test]
fn agent_at_its_cap_stops_and_another_takes_over() {
    let mut bench = Bench::with_tasks(&["a", "b"]);
    spend(&mut bench, "coder-1", None, 50);
    let caps = SpendConfig { agent: cap(50), ..SpendConfig::default() };
    assert_eq!(started(&decide(&bench, caps)), ["coder-2 a"]);
    // Approved work costs nothing more: it is merged even if its reviewer may not spend.
    bench.approved("coder-2", "a");
    spend(&mut bench, "reviewer-1", None, 50);
    spend(&mut bench, "coder-2", None, 50);
    assert_eq!(started(&decide(&bench, caps)), ["reviewer-1 a"]);
    // A task reserved for an agent at its cap is free for others once the reservation expires.
    let mut bench = Bench::with_tasks(&["a"]);
    bench.rejected("coder-1", "a", REASONS[0]);
    spend(&mut bench, "coder-1", None, 50);
    let State::Waiting(causes) = decide(&bench, caps).state else { panic!("it waits") };
    assert_eq!(causes[0].kind, CauseKind::Later, "{causes:?}");
    let of_task = SpendConfig { task: cap(1), ..caps };
    spend(&mut bench, "coder-1", Some("a"), 1);
    let State::Stuck(causes) = decide(&bench, of_task).state else { panic!("waiting does not help") };
    assert_eq!(causes[0].kind, CauseKind::Spend, "{causes:?}");
}

#[test]
fn near_caps_cover_tasks_agents_and_the_run() {
    let mut bench = Bench::with_tasks(&["a", "b"]);
    bench.ok("human", crate::board::rules::BeginRun { owner: process(1) });
    spend(&mut bench, "coder-1", Some("a"), 79);
    let caps = SpendConfig { task: cap(100), agent: cap(100), run: cap(100) };
    assert!(near(&bench.board, &caps).is_empty());
    spend(&mut bench, "coder-1", Some("a"), 1);
    let settings =
        |bench: &Bench| near(&bench.board, &caps).iter().map(|cap| cap.setting).collect::<Vec<_>>();
    assert_eq!(settings(&bench), ["spend.task.tokens", "spend.agent.tokens", "spend.run.tokens"]);
    let abandon = bench.abandon("a");
    bench.ok("human", abandon);
    assert_eq!(settings(&bench), ["spend.agent.tokens", "spend.run.tokens"]);
    assert!(near(&bench.board, &SpendConfig::default()).is_empty());
}

#[test]
fn bodies_are_read_for_a_cap_on_tasks_only() {
    let bench = Bench::with_tasks(&["a", "b"]);
    assert_eq!(needed_to_begin(&bench.board, &SpendConfig::default()), Needs::Tasks(Vec::new()));
    let caps = SpendConfig { task: cap(1), ..SpendConfig::default() };
    assert_eq!(needed_to_begin(&bench.board, &caps), Needs::Tasks(vec![id("a"), id("b")]));
}
