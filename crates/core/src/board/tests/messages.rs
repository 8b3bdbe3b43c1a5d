//! Messages: which role may send which kind to which recipient, who has seen it, and how many the board keeps.

use std::collections::BTreeMap;

use crate::board::records::{Draft, MessageKind};
use crate::board::refusal::Code;
use crate::board::rules::*;
use crate::board::testing::*;
use crate::board::{Role, Wall};

fn draft(to: &str, kind: MessageKind) -> Draft {
    Draft {
        to: to.parse().expect("an address"),
        kind,
        subject: "about the parser".to_owned(),
        body: String::new(),
        payload: BTreeMap::new(),
        task_id: None,
        in_reply_to: None,
        priority: 0,
        requires_response: false,
        respond_by: None,
    }
}

fn send(to: &str, kind: MessageKind) -> SendMessage {
    SendMessage { message: draft(to, kind) }
}

fn with(message: Draft) -> SendMessage {
    SendMessage { message }
}

fn see(ids: &[&str]) -> SeeMessages {
    SeeMessages { ids: ids.iter().map(|id| (*id).to_owned()).collect() }
}

fn unseen(bench: &Bench, who: &str) -> Vec<String> {
    bench.board.unseen_by(&agent(who)).iter().map(|message| message.id.clone()).collect()
}

#[test]
fn registry_limits_message_recipients() {
    let mut bench = Bench::new();
    for (from, to, allowed) in [
        ("coder-1", "planner-1", true),
        ("coder-1", "role:planner", true),
        ("coder-1", "reviewer-1", false),
        ("coder-1", "role:code_reviewer", false),
        ("coder-1", "coder-1", false),
        ("reviewer-1", "coder-2", true),
        // One of the agent's roles is enough.
        ("both-1", "coder-1", true),
        ("coder-1", "both-1", false),
        ("overseer-1", "red-1", true),
        ("auditor-1", "planner-1", true),
        ("auditor-1", "coder-1", false),
        ("human", "auditor-1", true),
        ("human", "role:auditor", true),
    ] {
        let message = send(to, MessageKind::ProvideInput);
        if allowed {
            bench.ok(from, message);
        } else {
            let refusal = bench.refusal(from, message);
            assert_eq!(refusal.code, Code::Role, "{from} to {to}");
            let hint = refusal.hint.expect("whom it may write to");
            assert!(hint.contains("planner") && hint.contains("human"), "{from} to {to}: {hint}");
        }
    }
    assert_eq!(bench.refused("human", send("coder-9", MessageKind::Nudge)), Code::UnknownAgent);
    let grants = &mut bench.board.rest.agents.get_mut(&agent("coder-1")).expect("it").grants;
    grants.may_message = Some(vec![Role::code_reviewer()]);
    bench.ok("coder-1", send("reviewer-1", MessageKind::ProvideInput));
    let refusal = bench.refusal("coder-1", send("planner-1", MessageKind::ProvideInput));
    assert!(refusal.hint.is_some_and(|hint| hint.contains("code_reviewer")), "{}", refusal.message);
}

#[test]
fn coder_asks_reviewer_for_a_review() {
    let mut bench = Bench::new();
    let kind = MessageKind::SubmitForReview;
    bench.ok("coder-1", send("reviewer-1", kind));
    bench.ok("coder-1", send("role:code_reviewer", kind));
    assert_eq!(bench.refused("coder-1", send("red-1", kind)), Code::Role);
    // The registry's limits on messages do not stop a request for a review.
    let grants = &mut bench.board.rest.agents.get_mut(&agent("coder-1")).expect("it").grants;
    grants.may_message = Some(vec![Role::planner()]);
    bench.ok("coder-1", send("reviewer-1", kind));
    assert_eq!(bench.refused("coder-1", send("reviewer-1", MessageKind::ProvideInput)), Code::Role);
}

#[test]
fn message_kinds_are_limited_by_role() {
    use MessageKind::*;
    let senders = ["human", "planner-1", "coder-1", "reviewer-1", "red-1", "overseer-1"];
    for kind in MessageKind::ALL.iter().copied() {
        assert_eq!(kind.as_str().parse(), Ok(kind));
        let only: &[&str] = match kind {
            Nudge | Halt | Resume => &["human", "overseer-1"],
            ReviewFeedback | ReviewApproved => &["human", "reviewer-1", "red-1"],
            TaskAssignment => &["human", "planner-1"],
            _ => &senders,
        };
        for from in senders {
            let mut bench = Bench::new();
            bench.register("planner-2", &["planner", "coder"]);
            let to = if from == "planner-1" { "role:coder" } else { "planner-2" };
            let by = bench.actor(from);
            let sent = bench.attempt(by, send(to, kind), None);
            assert_eq!(sent.is_ok(), only.contains(&from), "{} from {from}: {sent:?}", kind.as_str());
        }
    }
    let mut bench = Bench::new();
    let grants = &mut bench.board.rest.agents.get_mut(&agent("reviewer-1")).expect("it").grants;
    grants.denied = vec![crate::board::grants::Operation::Review];
    assert_eq!(bench.refused("reviewer-1", send("coder-1", ReviewFeedback)), Code::Role);
}

#[test]
fn all_may_ask_people_only_leads_report_to_them() {
    use MessageKind::*;
    let mut bench = Bench::new();
    for kind in [Escalate, RequestInput, RequestClarification] {
        bench.ok("auditor-1", send("human", kind));
    }
    let refusal = bench.refusal("auditor-1", send("human", TaskComplete));
    assert_eq!(refusal.code, Code::Role);
    assert!(refusal.hint.is_some_and(|hint| hint.contains("escalate, request_input, request_clarification")));
    bench.ok("planner-1", send("human", TaskComplete));
    bench.ok("overseer-1", send("human", TaskFailed));
    assert_eq!(unseen(&bench, "human").len(), 5);
}

#[test]
fn only_the_asked_agent_may_answer() {
    let mut bench = Bench::new();
    let mut question = draft("role:coder", MessageKind::RequestInput);
    question.requires_response = true;
    bench.ok("overseer-1", with(question));
    let answer = || {
        let mut answer = draft("overseer-1", MessageKind::ProvideInput);
        answer.in_reply_to = Some("message-1".to_owned());
        answer
    };
    // The question was not sent to them.
    assert_eq!(bench.refused("auditor-1", with(answer())), Code::Role);
    assert_eq!(bench.refused("coder-1", send("overseer-1", MessageKind::ProvideInput)), Code::Role);
    bench.ok("coder-1", with(answer()));
    let asked = &bench.board.rest.messages[0];
    assert_eq!(asked.answered_by.as_deref(), Some("message-2"));
    // The first answer counts, and another may follow.
    bench.ok("coder-2", with(answer()));
    assert_eq!(bench.board.rest.messages[0].answered_by.as_deref(), Some("message-2"));
    // The sender of a question cannot answer it.
    let mut question = draft("coder-1", MessageKind::RequestInput);
    question.requires_response = true;
    bench.ok("planner-1", with(question));
    let mut more = draft("coder-1", MessageKind::ProvideInput);
    more.in_reply_to = Some("message-4".to_owned());
    bench.ok("planner-1", with(more));
    assert_eq!(bench.board.rest.messages[3].answered_by, None);
    for nowhere in ["message-99", "message-0", "message-x", "note-1", ""] {
        let mut reply = draft("planner-1", MessageKind::ProvideInput);
        reply.in_reply_to = Some(nowhere.to_owned());
        assert_eq!(bench.refused("coder-1", with(reply)), Code::UnknownRecord, "{nowhere}");
    }
}

#[test]
fn inbox_is_by_priority_and_seen_per_agent() {
    let mut bench = Bench::new();
    for priority in [0, 7, 0, 7, -3] {
        let mut message = draft("role:coder", MessageKind::ProvideInput);
        message.priority = priority;
        bench.ok("planner-1", with(message));
    }
    let order = ["message-2", "message-4", "message-1", "message-3", "message-5"];
    assert_eq!(unseen(&bench, "coder-1"), order);
    assert_eq!(unseen(&bench, "both-1"), order);
    assert!(unseen(&bench, "planner-1").is_empty() && unseen(&bench, "human").is_empty());
    let marked = bench.ok("coder-1", see(&["message-2", "message-5", "message-77"]));
    assert_eq!(marked["seen"], serde_json::json!(["message-2", "message-5"]));
    assert_eq!(unseen(&bench, "coder-1"), ["message-4", "message-1", "message-3"]);
    assert_eq!(unseen(&bench, "coder-2"), order);
    // An agent cannot mark messages to other agents as seen.
    bench.ok("reviewer-1", see(&["message-1"]));
    assert_eq!(bench.board.rest.messages[0].seen_by, []);
    // A message to the sender's own role is for the other agents of the role.
    bench.ok("human", send("role:code_reviewer", MessageKind::ProvideInput));
    bench.register("lead-1", &["planner", "coder"]);
    bench.ok("lead-1", send("role:coder", MessageKind::ProvideInput));
    assert!(!unseen(&bench, "lead-1").contains(&"message-7".to_owned()));
    assert!(unseen(&bench, "coder-2").contains(&"message-7".to_owned()));
}

#[test]
fn a_message_has_a_size() {
    let mut bench = Bench::new();
    let mut check = |change: &dyn Fn(&mut Draft), code: Option<Code>| {
        let mut message = draft("role:planner", MessageKind::RequestInput);
        change(&mut message);
        match code {
            None => drop(bench.ok("coder-1", with(message))),
            Some(code) => assert_eq!(bench.refused("coder-1", with(message)), code),
        }
    };
    let pairs = |count: usize| (0..count).map(|n| (format!("k{n}"), "v".to_owned())).collect();
    check(&|m| m.subject = "é".repeat(200), None);
    check(&|m| m.subject = "é".repeat(201), Some(Code::Value));
    check(&|m| m.subject = " ".to_owned(), Some(Code::Incomplete));
    for two_lines in ["a\nb", "a\rb", "a\u{1b}[2Jb", "a\tb"] {
        check(&|m| m.subject = two_lines.to_owned(), Some(Code::Value));
    }
    check(&|m| m.body = "x".repeat(LONGEST_BODY), None);
    check(&|m| m.body = "x".repeat(LONGEST_BODY + 1), Some(Code::Limit));
    check(&|m| m.payload = pairs(20), None);
    check(&|m| m.payload = pairs(21), Some(Code::Limit));
    check(&|m| m.payload = [("k".to_owned(), "x".repeat(LONGEST_BODY))].into(), Some(Code::Limit));
    check(&|m| m.payload = [(" ".to_owned(), "x".to_owned())].into(), Some(Code::Value));
    check(&|m| m.priority = 101, Some(Code::Value));
    check(&|m| m.priority = -100, None);
    check(&|m| m.respond_by = Some(Wall(1_900_000_000)), Some(Code::Incomplete));
    check(&|m| m.task_id = Some(id("nowhere")), Some(Code::UnknownTask));
}

/// Sends to people and agents until refused; returns how many messages were sent.
fn flood(bench: &mut Bench, from: &str, message: &Draft, times: usize) -> usize {
    (0..times).filter(|_| bench.attempt(bench.actor(from), with(message.clone()), None).is_ok()).count()
}

fn bytes(bench: &Bench) -> usize {
    bench.board.rest.messages.iter().map(crate::board::records::Message::size).sum()
}

/// A message of the greatest allowed size.
fn longest(to: &str, kind: MessageKind) -> Draft {
    let mut message = draft(to, kind);
    message.body = "x".repeat(LONGEST_BODY);
    message.payload = [("k".to_owned(), "y".repeat(LONGEST_BODY - 1))].into();
    message
}

#[test]
fn full_inbox_refuses_all_but_newer_orders() {
    let mut bench = Bench::new();
    // Each sender may fill a quarter of the inbox, and all senders together the whole inbox.
    for number in 1..=4 {
        let planner = format!("lead-{number}");
        bench.register(&planner, &["planner"]);
        assert_eq!(flood(&mut bench, &planner, &draft("coder-1", MessageKind::ProvideInput), 30), 25);
    }
    let refusal = bench.refusal("lead-1", send("coder-1", MessageKind::ProvideInput));
    assert_eq!(refusal.code, Code::Limit);
    assert!(
        refusal.message.contains("coder-1") && refusal.message.contains("your earlier messages"),
        "{refusal}"
    );
    let refusal = bench.refusal("planner-1", send("coder-1", MessageKind::ProvideInput));
    assert!(refusal.message.contains("coder-1 has not read earlier messages"), "{refusal}");
    bench.ok("lead-1", send("coder-2", MessageKind::ProvideInput));
    // The first message of a kind is accepted, the next ones replace it.
    for _ in 0..50 {
        bench.ok("overseer-1", send("coder-1", MessageKind::Nudge));
    }
    bench.ok("overseer-1", send("coder-1", MessageKind::Halt));
    bench.ok("human", send("coder-1", MessageKind::Nudge));
    let waiting = bench.board.unseen_by(&agent("coder-1"));
    assert_eq!(waiting.len(), 103);
    let orders: Vec<&str> = waiting.iter().take(3).map(|message| message.id.as_str()).collect();
    assert_eq!(orders, ["message-151", "message-152", "message-153"], "they come first");
}

#[test]
fn flood_of_escalations_silences_no_sender() {
    let mut bench = Bench::new();
    let all_heard = |bench: &mut Bench| {
        bench.ok("coder-2", send("planner-1", MessageKind::RequestInput));
        bench.ok("coder-2", send("human", MessageKind::Escalate));
        bench.ok("planner-1", send("coder-2", MessageKind::ProvideInput));
        bench.ok("human", send("coder-2", MessageKind::ProvideInput));
        bench.ok("overseer-1", send("coder-1", MessageKind::Halt));
    };
    // A sender's newest escalation is always accepted, and its older ones make room: in number and in size.
    assert_eq!(flood(&mut bench, "coder-1", &draft("human", MessageKind::Escalate), 100), 100);
    assert_eq!(unseen(&bench, "human").len(), 25);
    assert_eq!(flood(&mut bench, "coder-1", &longest("human", MessageKind::Escalate), 100), 100);
    assert!(bytes(&bench) <= 50 * 1024, "{}", bytes(&bench));
    all_heard(&mut bench);
    // Only for a person: to agents, an escalation is an ordinary message.
    let sent = flood(&mut bench, "coder-1", &longest("role:planner", MessageKind::Escalate), 100);
    assert_eq!(sent, 1, "a quarter of 128 KiB has room for one beside what it is called");
    all_heard(&mut bench);
}

#[test]
fn messages_without_reader_make_room() {
    let mut bench = Bench::new();
    for message in [
        draft("role:test_engineer", MessageKind::Escalate),
        longest("role:test_engineer", MessageKind::RequestInput),
    ] {
        assert_eq!(flood(&mut bench, "coder-1", &message, 200), 200);
        assert!(bench.board.rest.messages.len() <= 25 && bytes(&bench) <= 32 * 1024);
    }
    bench.ok("human", RetireAgent { id: agent("coder-2") });
    assert_eq!(flood(&mut bench, "planner-1", &longest("coder-2", MessageKind::ProvideInput), 200), 200);
    assert!(bytes(&bench) <= 64 * 1024, "{}", bytes(&bench));
    // The newest message stays, for an agent that is registered later.
    let last = bench.ok("planner-1", send("coder-2", MessageKind::ProvideInput))["id"].clone();
    bench.register("coder-2", &["coder"]);
    assert_eq!(serde_json::json!(unseen(&bench, "coder-2").last()), last);
}

#[test]
fn full_board_accepts_people_and_overseers() {
    let mut bench = Bench::new();
    let mut sent = 0;
    // Every sender has filled its share, until the board is full.
    for number in 0..70 {
        let (from, to) = (format!("lead-{number}"), format!("hand-{number}"));
        bench.register(&from, &["planner"]);
        bench.register(&to, &["coder"]);
        sent += flood(&mut bench, &from, &longest(&to, MessageKind::ProvideInput), 3);
    }
    assert!((60..=64).contains(&sent), "{sent}");
    assert_eq!(bench.refused("planner-1", with(longest("coder-1", MessageKind::ProvideInput))), Code::Limit);
    for from in ["human", "overseer-1"] {
        for kind in [MessageKind::Halt, MessageKind::ProvideInput] {
            assert_eq!(flood(&mut bench, from, &longest("coder-1", kind), 50), 50, "{from}");
        }
    }
    assert_eq!(flood(&mut bench, "coder-1", &longest("human", MessageKind::Escalate), 50), 50);
    assert!(bytes(&bench) <= 1024 * 1024 + 5 * 17 * 1024, "{}", bytes(&bench));
}

#[test]
fn high_priority_needs_the_right_to_stop() {
    let mut bench = Bench::new();
    let of = |to: &str, kind, priority| {
        let mut message = draft(to, kind);
        message.priority = priority;
        with(message)
    };
    let refusal = bench.refusal("reviewer-1", of("coder-1", MessageKind::Escalate, 50));
    assert_eq!(refusal.code, Code::Value);
    assert!(refusal.hint.is_some_and(|hint| hint.contains("--priority 49")));
    for _ in 0..4 {
        bench.ok("reviewer-1", of("coder-1", MessageKind::Escalate, 49));
    }
    bench.ok("human", of("coder-1", MessageKind::ProvideInput, 100));
    bench.ok("overseer-1", of("coder-1", MessageKind::Halt, -5));
    assert_eq!(unseen(&bench, "coder-1")[..2], ["message-6", "message-5"]);
}

#[test]
fn lizas_own_messages_are_not_a_persons() {
    use crate::board::oversight::{Action, Behaviour, Gravity};
    let mut bench = Bench::new();
    let mut intervene = |bounds: Option<Bounds>| {
        let what = Intervene {
            agent: agent("coder-1"),
            incarnation: bench.board.agent(&agent("coder-1")).expect("it").incarnation,
            task: None,
            epoch: None,
            behaviour: Behaviour::Reported,
            action: Action::Nudge,
            severity: Gravity::Warning,
            confidence: 0.9,
            evidence: vec!["it was seen".to_owned()],
            bounds,
            messages: vec![draft("coder-1", MessageKind::Nudge)],
        };
        bench.ok(if bounds.is_some() { "liza" } else { "human" }, what);
        let board = &bench.board;
        (
            board.rest.messages.last().expect("one").from.clone(),
            board.rest.interventions.last().expect("one").by.clone(),
        )
    };
    assert_eq!(
        intervene(Some(Bounds {
            cooldown_seconds: 60,
            max_nudges: 3,
            answer_seconds: None,
            decided_after: None,
            all_work: true,
        })),
        (agent("overseer"), agent("liza"))
    );
    assert_eq!(intervene(None), (agent("human"), agent("human")));
    // Its messages cannot be answered, unlike a person's, and no agent may register under its name.
    let mut reply = draft("overseer", MessageKind::ProvideInput);
    reply.in_reply_to = Some("message-1".to_owned());
    let refusal = bench.refusal("coder-1", with(reply));
    assert_eq!(refusal.code, Code::UnknownAgent);
    assert!(refusal.message.contains("reads no messages"), "{refusal}");
    assert!(agent("Overseer").is_reserved());
}

/// However many messages are sent, the board keeps fewer bytes than this.
const LARGEST_AFTER_STORM: usize = 64 * 1024;

#[test]
fn a_storm_of_messages_leaves_a_small_board() {
    let mut bench = Bench::new();
    // Applies the rules alone: the bench would check the whole board after each message.
    let (mut board, world) = (bench.board.clone(), crate::board::World::default());
    let mut play = |by: &str, what: &dyn crate::board::verb::AnyVerb| {
        let call = crate::board::Call::new(bench.actor(by), &bench.now, &world);
        what.check(&board, &call).expect("it is allowed");
        what.change(&mut board, &call)
    };
    for number in 1..=crate::testing::sweep(1_000, 10_000u64) {
        let id = play("coder-1", &send("role:planner", MessageKind::TaskComplete)).to_json()["id"].clone();
        assert_eq!(id, format!("message-{number}"));
        if number % 25 == 0 {
            let ids = (number - 24..=number).map(|number| format!("message-{number}")).collect();
            play("planner-1", &SeeMessages { ids });
        }
    }
    bench.board = board;
    // The recipient reads no more: other senders are refused with its name, and orders are still accepted.
    assert_eq!(flood(&mut bench, "coder-1", &draft("role:planner", MessageKind::TaskComplete), 100), 25);
    let refusal = bench.refusal("coder-1", send("role:planner", MessageKind::TaskComplete));
    assert!(refusal.code == Code::Limit && refusal.message.contains("role:planner"), "{refusal}");
    bench.ok("human", send("role:planner", MessageKind::Halt));
    assert_eq!(bench.board.rest.messages.len(), READ_KEPT + 26);
    let size = serde_json::to_string(&bench.board.rest.messages).expect("text").len();
    assert!(size < LARGEST_AFTER_STORM, "{size}");
}

#[test]
fn removed_message_numbers_are_not_reused() {
    let mut bench = Bench::new();
    let mut question = draft("coder-1", MessageKind::RequestInput);
    question.requires_response = true;
    bench.ok("planner-1", with(question));
    bench.ok("coder-1", see(&["message-1"]));
    for number in 2..=1_000u64 {
        let id = bench.ok("planner-1", send("coder-1", MessageKind::ProvideInput))["id"].clone();
        assert_eq!(id, format!("message-{number}"));
        if number % 25 == 0 {
            let ids: Vec<String> = unseen(&bench, "coder-1");
            bench.ok("coder-1", SeeMessages { ids });
        }
        assert!(bench.board.rest.messages.len() <= READ_KEPT + 52);
    }
    assert_eq!(bench.board.rest.messages.len(), READ_KEPT + 2);
    assert_eq!(bench.board.rest.messages[0].id, "message-1", "it was never answered");
    // The archive command removes them too, except the newest.
    bench.ok("human", ArchiveTasks { tasks: Vec::new() });
    let left: Vec<&str> = bench.board.rest.messages.iter().map(|message| message.id.as_str()).collect();
    assert_eq!(left, ["message-1", "message-1000"]);
    let next = bench.ok("planner-1", send("coder-1", MessageKind::ProvideInput))["id"].clone();
    assert_eq!(next, "message-1001");
}

#[test]
fn role_message_waits_for_present_agents() {
    let mut bench = Bench::new();
    bench.ok("human", send("role:test_engineer", MessageKind::ProvideInput));
    let waits = |bench: &Bench| bench.board.is_unseen(&bench.board.rest.messages[0]);
    assert!(waits(&bench), "no agent has the role yet");
    bench.register("test-1", &["test_engineer"]);
    bench.register("test-2", &["test_engineer"]);
    bench.ok("test-1", see(&["message-1"]));
    assert!(waits(&bench));
    bench.ok("human", RetireAgent { id: agent("test-2") });
    assert!(!waits(&bench));
    bench.register("test-2", &["test_engineer"]);
    assert_eq!(unseen(&bench, "test-2"), ["message-1"], "it finds what the board still has");
}
