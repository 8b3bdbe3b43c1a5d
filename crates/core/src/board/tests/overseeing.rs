//! Interventions: which are allowed, how often, and how a halt changes the task.

use crate::board::oversight::{Action, Behaviour, Gravity};
use crate::board::records::{Draft, MessageKind, Recipient};
use crate::board::refusal::Code;
use crate::board::rules::*;
use crate::board::task::Status;
use crate::board::testing::*;

const BOUNDS: Bounds = Bounds {
    cooldown_seconds: 60,
    max_nudges: 2,
    answer_seconds: Some(300),
    decided_after: None,
    all_work: true,
};

/// An intervention against coder-1 at `t`, as a watcher makes it.
fn about(bench: &Bench, action: Action, behaviour: Behaviour) -> Intervene {
    Intervene {
        agent: agent("coder-1"),
        incarnation: bench.board.agent(&agent("coder-1")).expect("an agent").incarnation,
        task: Some(id("t")),
        epoch: Some(bench.task("t").epoch),
        behaviour,
        action,
        severity: Gravity::Warning,
        confidence: 0.9,
        evidence: vec!["the same call 9 times in a row".to_owned()],
        bounds: Some(BOUNDS),
        messages: vec![Draft {
            to: Recipient::One(agent("coder-1")),
            kind: MessageKind::Nudge,
            subject: "you go in circles".to_owned(),
            body: String::new(),
            payload: Default::default(),
            task_id: Some(id("t")),
            in_reply_to: None,
            priority: 50,
            requires_response: false,
            respond_by: None,
        }],
    }
}

fn claimed() -> Bench {
    let mut bench = Bench::with_tasks(&["t"]);
    bench.claim("coder-1", "t");
    bench
}

#[test]
fn intervention_and_its_message_are_one_change() {
    let mut bench = claimed();
    let nudge = about(&bench, Action::Nudge, Behaviour::InfiniteLoop);
    bench.ok("human", nudge);
    let board = &bench.board;
    let one = &board.rest.interventions[0];
    assert_eq!((one.id.as_str(), one.number(), one.action), ("intervention-1", 1, Action::Nudge));
    assert_eq!(one.evidence, ["the same call 9 times in a row"]);
    assert_eq!(board.rest.messages[0].to, Recipient::One(agent("coder-1")));
    let coder = about(&bench, Action::Halt, Behaviour::InfiniteLoop);
    assert_eq!(bench.refused("coder-2", coder), Code::Role);
}

#[test]
fn repeated_nudge_waits_for_the_cooldown() {
    let mut bench = claimed();
    let nudge = about(&bench, Action::Nudge, Behaviour::Stagnation);
    bench.ok("human", nudge.clone());
    assert_eq!(bench.refused("human", nudge.clone()), Code::Limit);
    bench.tick(59);
    assert_eq!(bench.refused("human", nudge.clone()), Code::Limit);
    // The detector reports another behaviour too.
    let other = about(&bench, Action::Nudge, Behaviour::ScopeCreep);
    bench.ok("human", other);
    bench.tick(1);
    // The cooldown is over, but two nudges are enough for one task.
    assert_eq!(bench.refused("human", nudge), Code::Limit);
    let halt = about(&bench, Action::Halt, Behaviour::ScopeCreep);
    bench.ok("human", halt.clone());
    bench.tick(59);
    assert_eq!(bench.refused("human", halt.clone()), Code::Limit, "a halt has its time");
    bench.tick(1);
    bench.ok("human", halt.clone());
    // A person may repeat an order that the runner did not obey, once.
    let by_hand = Intervene { bounds: None, confidence: 1.0, ..halt };
    bench.ok("human", by_hand.clone());
    assert_eq!(bench.refused("human", by_hand), Code::Limit);
    // A person's nudge is not limited.
    let said = Intervene { bounds: None, ..about(&bench, Action::Nudge, Behaviour::Reported) };
    bench.ok("human", said);
}

#[test]
fn halt_of_ended_claim_or_incarnation_is_refused() {
    let mut bench = claimed();
    let halt = about(&bench, Action::Halt, Behaviour::InfiniteLoop);
    let earlier = bench.task("t").epoch;
    bench.ok("coder-1", Release { task: id("t"), epoch: None, reason: "enough".to_owned() });
    assert_eq!(bench.refused("human", halt.clone()), Code::Epoch);
    bench.claim("coder-1", "t");
    assert!(bench.task("t").epoch > earlier);
    assert_eq!(bench.refused("human", halt.clone()), Code::Epoch, "the claim is another one");
    let now = about(&bench, Action::Halt, Behaviour::InfiniteLoop);
    let stranger = Intervene { incarnation: now.incarnation + 1, ..now.clone() };
    assert_eq!(bench.refused("human", stranger), Code::Transition);
    bench.ok("human", now);
}

#[test]
fn evidence_is_given_and_bounded() {
    let mut bench = claimed();
    let nudge = about(&bench, Action::Nudge, Behaviour::InfiniteLoop);
    let line = |length: usize| "x".repeat(length);
    for (evidence, accepted) in [
        (vec![], false),
        (vec![" ".to_owned()], false),
        (vec![line(500)], true),
        (vec![line(501)], false),
        (vec![line(1); 20], true),
        (vec![line(1); 21], false),
    ] {
        let mut bench = bench.clone();
        let given = Intervene { evidence, ..nudge.clone() };
        if accepted {
            bench.ok("human", given);
        } else {
            assert_eq!(bench.refused("human", given), Code::Value);
        }
    }
    for confidence in [f64::NAN, -0.1, 1.1] {
        let given = Intervene { confidence, ..nudge.clone() };
        assert_eq!(bench.refused("human", given), Code::Value);
    }
    let mut stray = nudge;
    stray.messages[0].to = Recipient::One(agent("coder-2"));
    assert_eq!(bench.refused("human", stray), Code::Value, "an intervention writes to no other recipient");
}

#[test]
fn halt_counts_as_failure_exhaustion_does_not() {
    for (behaviour, failed) in
        [(Behaviour::InfiniteLoop, true), (Behaviour::Reported, true), (Behaviour::TokenExhaustion, false)]
    {
        let mut bench = claimed();
        let halt = about(&bench, Action::Halt, behaviour);
        bench.ok("human", halt);
        bench.ok("coder-1", bench.block("t"));
        assert_eq!(bench.task("t").status, Status::Blocked);
        assert_eq!(bench.task("t").failed_by.contains(&agent("coder-1")), failed, "{behaviour:?}");
    }
    // A nudge is no failure.
    let mut bench = claimed();
    let nudge = about(&bench, Action::Nudge, Behaviour::InfiniteLoop);
    bench.ok("human", nudge);
    bench.ok("coder-1", bench.block("t"));
    assert!(bench.task("t").failed_by.is_empty());
}

#[test]
fn halt_after_a_question_skips_the_cooldown() {
    let mut bench = claimed();
    let question = about(&bench, Action::Escalate, Behaviour::Stagnation);
    bench.ok("human", question.clone());
    // The same question is repeated only when its time is over, whatever the cooldown is.
    bench.tick(299);
    assert_eq!(bench.refused("human", question.clone()), Code::Limit);
    let nudge = about(&bench, Action::Nudge, Behaviour::Stagnation);
    bench.tick(1);
    bench.ok("human", question);
    bench.tick(1);
    assert_eq!(bench.refused("human", nudge), Code::Limit, "a person was asked a second ago");
    let halt = about(&bench, Action::Halt, Behaviour::Stagnation);
    bench.ok("human", halt);
}

#[test]
fn decision_that_missed_an_answer_is_refused() {
    let mut bench = claimed();
    let question = about(&bench, Action::Escalate, Behaviour::Stagnation);
    bench.ok("human", question);
    let bounds = |last| Some(Bounds { decided_after: Some(last), ..BOUNDS });
    let halt = Intervene { bounds: bounds(1), ..about(&bench, Action::Halt, Behaviour::Stagnation) };
    // A person declines between the decision and the halt.
    let no = Intervene { bounds: None, confidence: 1.0, ..about(&bench, Action::Nudge, Behaviour::Reported) };
    bench.ok("human", no);
    assert_eq!(bench.refused("human", halt.clone()), Code::Limit);
    bench.ok("human", Intervene { bounds: bounds(2), ..halt });
}

#[test]
fn most_nudges_count_for_all_work_of_an_agent() {
    let mut bench = Bench::with_tasks(&["t", "u"]);
    bench.claim("coder-1", "t");
    let mut nudge = |behaviour| {
        let one = about(&bench, Action::Nudge, behaviour);
        bench.ok("human", one);
        bench.tick(100);
    };
    nudge(Behaviour::InfiniteLoop);
    nudge(Behaviour::Stagnation);
    bench.ok("coder-1", bench.release("t"));
    bench.claim("coder-1", "u");
    let elsewhere = |bounds: Bounds| Intervene {
        task: Some(id("u")),
        epoch: Some(bench.task("u").epoch),
        bounds: Some(bounds),
        ..about(&bench, Action::Nudge, Behaviour::Oscillation)
    };
    let (all, here) = (elsewhere(BOUNDS), elsewhere(Bounds { all_work: false, ..BOUNDS }));
    let refusal = bench.refusal("human", all);
    assert_eq!(refusal.code, Code::Limit);
    assert!(refusal.message.contains("was nudged 2 times"), "{}", refusal.message);
    // Older records are counted by the rules of their time.
    bench.ok("human", here);
}
