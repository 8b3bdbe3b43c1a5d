//! Alerts about the whole board, its switches, disk and integration branch.

use super::{Desk, room};
use crate::board::testing::{Bench, REASONS, id};
use crate::board::{Board, SwitchKind, rules::Discover, rules::MarkProcessed};
use crate::policy::alerts::{Kind, Moved, Problem, Severity, of_damage};

#[test]
fn red_integration_is_reported_for_every_head() {
    let mut desk = Desk::new(Bench::new());
    assert!(desk.news(Kind::IntegrationRed).is_empty());
    let red = |board: &mut Board, why: Option<&str>| board.rest.integration.red = why.map(str::to_owned);
    red(&mut desk.bench.board, Some("2 tests fail"));
    assert_eq!(desk.news(Kind::IntegrationRed), ["integration"]);
    assert!(desk.text(Kind::IntegrationRed).contains("2 tests fail"));
    assert!(desk.news(Kind::IntegrationRed).is_empty());
    red(&mut desk.bench.board, None);
    assert!(desk.news(Kind::IntegrationRed).is_empty());
    red(&mut desk.bench.board, Some("1 test fails"));
    assert_eq!(desk.news(Kind::IntegrationRed), ["integration"]);
}

#[test]
fn moved_integration_is_reported_for_every_commit() {
    let mut desk = Desk::new(Bench::new());
    let at = |to: &str| {
        Some(Moved {
            branch: "integration".to_owned(),
            to: to.to_owned(),
            description: "a push moved it".to_owned(),
            remedy: "look at it".to_owned(),
        })
    };
    assert!(desk.news(Kind::IntegrationMoved).is_empty());
    desk.outside.moved = at("aaaa");
    assert_eq!(desk.news(Kind::IntegrationMoved), ["integration"]);
    assert!(desk.news(Kind::IntegrationMoved).is_empty());
    desk.outside.moved = at("bbbb");
    assert_eq!(desk.news(Kind::IntegrationMoved), ["integration"]);
}

#[test]
fn unprocessed_immediate_discovery_is_reported() {
    let mut desk = Desk::new(Bench::with_tasks(&["t1"]));
    let discover = |urgency| Discover {
        text: "the cache is never emptied".to_owned(),
        task: id("t1"),
        severity: crate::board::review::Severity::Major,
        urgency,
    };
    desk.bench.ok("coder-1", discover(crate::board::records::Urgency::Deferred));
    assert!(desk.of(Kind::ImmediateDiscovery).is_empty());
    desk.bench.ok("coder-1", discover(crate::board::records::Urgency::Immediate));
    let found = desk.bench.board.rest.discovered[1].id.clone();
    assert_eq!(desk.news(Kind::ImmediateDiscovery), [found.as_str()]);
    assert!(desk.news(Kind::ImmediateDiscovery).is_empty());
    desk.bench.ok("planner-1", MarkProcessed { ids: vec![found] });
    assert!(desk.of(Kind::ImmediateDiscovery).is_empty());
}

#[test]
fn late_answer_is_reported_unless_team_is_halted() {
    use crate::board::records::Draft;
    use crate::board::records::{MessageKind, Recipient};
    use crate::board::rules::SendMessage;
    use crate::board::testing::{agent, pause};
    let mut desk = Desk::new(Bench::new());
    let mut message = Draft {
        to: Recipient::One(agent("planner-1")),
        kind: MessageKind::RequestInput,
        subject: "which port?".to_owned(),
        body: String::new(),
        payload: Default::default(),
        task_id: None,
        in_reply_to: None,
        priority: 0,
        requires_response: true,
        respond_by: Some(desk.bench.now.wall.plus_seconds(90)),
    };
    desk.bench.ok("coder-1", SendMessage { message: message.clone() });
    assert_eq!(desk.report().due_in, Some(91));
    desk.bench.tick(90);
    assert!(desk.news(Kind::AnswerOverdue).is_empty());
    desk.bench.tick(1);
    desk.bench.world.switches.set.insert(pause(None));
    assert!(desk.of(Kind::AnswerOverdue).is_empty());
    desk.bench.world.switches.set.clear();
    assert_eq!(desk.news(Kind::AnswerOverdue), ["message-1"]);
    let text = desk.text(Kind::AnswerOverdue);
    assert!(text.contains("coder-1 asked planner-1") && text.contains("which port?"), "{text}");
    assert!(desk.news(Kind::AnswerOverdue).is_empty(), "once");
    message.to = Recipient::One(agent("coder-1"));
    message.in_reply_to = Some("message-1".to_owned());
    message.requires_response = false;
    message.respond_by = None;
    desk.bench.ok("planner-1", SendMessage { message });
    assert!(desk.of(Kind::AnswerOverdue).is_empty());
}

#[test]
fn approval_rate_above_95_percent_is_reported() {
    let names: Vec<String> = (1..=6).map(|number| format!("t{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut desk = Desk::new(Bench::with_tasks(&names));
    for name in &names[..4] {
        desk.bench.approved("coder-1", name);
    }
    assert!(desk.news(Kind::ApprovalRate).is_empty(), "four verdicts say nothing");
    desk.bench.approved("coder-1", names[4]);
    assert_eq!(desk.news(Kind::ApprovalRate), ["reviews"]);
    assert!(desk.news(Kind::ApprovalRate).is_empty());
    desk.bench.rejected("coder-1", names[5], REASONS[0]);
    assert!(desk.of(Kind::ApprovalRate).is_empty(), "5 of 6");
    // 19 of 20 are exactly 95 percent.
    let (_, body) = desk.bench.board.task_mut(&id("t1")).expect("t1").parts_mut();
    let approval = body.reviews[0].clone();
    body.reviews.extend(std::iter::repeat_n(approval.clone(), 14));
    assert!(desk.news(Kind::ApprovalRate).is_empty());
    let (_, body) = desk.bench.board.task_mut(&id("t1")).expect("t1").parts_mut();
    body.reviews.push(approval);
    assert_eq!(desk.news(Kind::ApprovalRate), ["reviews"]);
}

#[test]
fn checkpoint_switch_is_reported_three_times() {
    let mut desk = Desk::new(Bench::new());
    let now = desk.bench.now.clone();
    desk.set(SwitchKind::Pause, None, &now);
    desk.bench.tick(100_000);
    assert!(desk.of(Kind::CheckpointStale).is_empty(), "a pause is a person's decision");
    let now = desk.bench.now.clone();
    desk.set(SwitchKind::Checkpoint, Some("t1"), &now);
    desk.set(SwitchKind::Checkpoint, None, &now);
    let mut waited = 0;
    for (seconds, critical) in [(30 * 60, false), (2 * 3600, false), (8 * 3600, true)] {
        desk.bench.tick(seconds - 1 - waited);
        assert!(desk.news(Kind::CheckpointStale).is_empty(), "{seconds}");
        desk.bench.tick(1);
        waited = seconds;
        assert_eq!(desk.news(Kind::CheckpointStale), ["CHECKPOINT"], "{seconds}");
        assert!(desk.news(Kind::CheckpointStale).is_empty(), "{seconds}");
        let report = desk.report();
        let alert = report.alerts.iter().find(|alert| alert.kind == Kind::CheckpointStale).expect("an alert");
        assert_eq!(alert.severity == Severity::Critical, critical, "{seconds}");
    }
    // The next CHECKPOINT switch counts from 0, and a clock that is set back makes no switch stale.
    desk.outside.switches.clear();
    let now = desk.bench.now.clone();
    desk.set(SwitchKind::Checkpoint, None, &now);
    assert!(desk.news(Kind::CheckpointStale).is_empty());
    desk.bench.now.wall.0 -= 100_000;
    assert!(desk.of(Kind::CheckpointStale).is_empty());
}

#[test]
fn every_set_switch_is_reported_once() {
    let mut desk = Desk::new(Bench::new());
    let now = desk.bench.now.clone();
    desk.set(SwitchKind::Abort, Some("t1"), &now);
    assert_eq!(desk.news(Kind::SwitchSet), ["ABORT-t1"]);
    assert_eq!(desk.text(Kind::SwitchSet), "ABORT is set for t1: because");
    assert!(desk.news(Kind::SwitchSet).is_empty());
    desk.outside.switches[0].identity = "another".to_owned();
    assert_eq!(desk.news(Kind::SwitchSet), ["ABORT-t1"]);
}

#[test]
fn low_disk_is_reported_once() {
    let mut desk = Desk::new(Bench::new());
    for (free, reported) in [
        (1000, false),
        (999, true),
        (500, false),
        (1001, false),
        (999, false),
        (1199, false),
        (900, false),
        (1200, false),
        (999, true),
    ] {
        desk.outside.room = room(free, 1000);
        assert_eq!(!desk.news(Kind::DiskLow).is_empty(), reported, "{free}");
    }
}

#[test]
fn rolled_back_board_is_reported() {
    let mut desk = Desk::new(Bench::new());
    assert!(desk.of(Kind::RolledBack).is_empty());
    desk.outside.rolled_back = Some("revision 3 was published".to_owned());
    assert_eq!(desk.news(Kind::RolledBack), ["board"]);
    assert!(desk.news(Kind::RolledBack).is_empty());
}

#[test]
fn each_damage_is_reported_once() {
    let mut bench = Bench::with_tasks(&["t1"]);
    let block = bench.block("t1");
    bench.ok("human", block);
    let mut desk = Desk::new(bench);
    assert_eq!(desk.news(Kind::Blocked), ["t1"]);
    let damage = |desk: &mut Desk, message: &str| {
        let problem = Problem { message: message.to_owned(), hint: "doctor".to_owned() };
        let report = of_damage(&problem, &desk.outside, &desk.bench.now);
        desk.memory.news(&report).len()
    };
    assert!(!desk.memory.holds(Kind::InvalidBoard));
    assert_eq!(damage(&mut desk, "line 3"), 1);
    assert_eq!(damage(&mut desk, "line 3"), 0);
    assert!(desk.memory.holds(Kind::InvalidBoard));
    assert_eq!(damage(&mut desk, "line 4"), 1);
    // After the repair the block is not reported again, and the next damage is.
    assert!(desk.news(Kind::Blocked).is_empty());
    assert!(!desk.memory.holds(Kind::InvalidBoard));
    assert_eq!(damage(&mut desk, "line 4"), 1);
}

#[test]
fn near_and_used_caps_are_reported() {
    use crate::board::caps::{Cap, Caps};
    use crate::board::rules::RecordUsage;
    use crate::board::spent::{SessionKind, Spent};
    let mut desk = Desk::new(Bench::with_tasks(&["a"]));
    let spend = |desk: &mut Desk, tokens: u64| {
        let spent = Spent { sessions: 1, output_tokens: tokens, ..Spent::default() };
        let record = RecordUsage { task: Some(id("a")), kind: SessionKind::Work, round: None, spent };
        desk.bench.ok("coder-1", record);
    };
    spend(&mut desk, 79);
    assert!(desk.news(Kind::Spend).is_empty(), "no cap is set");
    desk.outside.caps = Caps { task: Cap { tokens: Some(100), usd: None }, ..Caps::default() };
    assert!(desk.news(Kind::Spend).is_empty());
    spend(&mut desk, 1);
    assert_eq!(desk.news(Kind::Spend), ["a"]);
    assert!(desk.news(Kind::Spend).is_empty());
    spend(&mut desk, 20);
    assert_eq!(desk.news(Kind::Spend), ["a"], "used up is news again");
    assert!(desk.text(Kind::Spend).contains("100 of 100 tokens"));
    desk.outside.caps.task.tokens = Some(1000);
    assert!(desk.news(Kind::Spend).is_empty());
    desk.outside.caps.task.tokens = Some(100);
    assert_eq!(desk.news(Kind::Spend), ["a"], "and again when it comes again");
}
