use Behaviour::{InfiniteLoop, RepeatedFailures, Stagnation, Timeout, TokenExhaustion};

use super::*;

fn warning(behaviour: Behaviour) -> Detection {
    Detection {
        behaviour,
        agent: AgentId::new("coder-1").expect("an id"),
        role: Role::coder(),
        task: Some(TaskId::new("t1").expect("an id")),
        severity: Gravity::Warning,
        confidence: 0.75,
        evidence: vec!["12000 tokens were used".to_owned()],
        suggested: Action::Nudge,
        session_began: Wall(BEGAN),
        episode_began: Wall(BEGAN),
    }
}

fn critical(behaviour: Behaviour) -> Detection {
    Detection { severity: Gravity::Critical, suggested: Action::Halt, ..warning(behaviour) }
}

/// The decision at second `now` after these `(action, behaviour, second)`.
fn answer(
    detections: &[Detection],
    past: &[(Action, Behaviour, i64)],
    now: i64,
    config: &OverseerConfig,
) -> Option<Decision> {
    let past: Vec<Intervention> =
        past.iter().map(|(action, behaviour, at)| done(*action, *behaviour, BEGAN + at)).collect();
    decide(detections, &past.iter().collect::<Vec<_>>(), 0, Wall(BEGAN + now), config)
}

fn action(detections: &[Detection], past: &[(Action, Behaviour, i64)], now: i64) -> Option<Action> {
    answer(detections, past, now, &settings()).map(|decision| decision.action)
}

#[test]
fn a_minute_lies_between_nudges() {
    let found = [warning(Stagnation)];
    assert_eq!(action(&[], &[], 0), None);
    assert_eq!(action(&found, &[], 0), Some(Action::Nudge));
    for behaviour in [Stagnation, RepeatedFailures] {
        assert_eq!(action(&found, &[(Action::Nudge, behaviour, 0)], 59), None);
        assert_eq!(action(&found, &[(Action::Nudge, behaviour, 0)], 60), Some(Action::Nudge));
    }
}

#[test]
fn after_five_nudges_a_person_is_asked_once() {
    let mut past: Vec<_> = (0..5).map(|n| (Action::Nudge, Stagnation, 60 * n)).collect();
    let asked = answer(&[warning(Stagnation)], &past, 300, &settings()).expect("a decision");
    assert_eq!(asked.action, Action::Escalate);
    let question = asked.question.expect("a question");
    for part in [
        "`t1`",
        "`coder-1`",
        "stagnation",
        "12000 tokens",
        "nudged 5 times",
        "`liza overseer halt coder-1 --reason stagnation`",
    ] {
        assert!(question.contains(part), "{part}: {question}");
    }
    past.push((Action::Escalate, Stagnation, 300));
    for now in [310, 599] {
        assert_eq!(action(&[warning(Stagnation)], &past, now), None);
        assert_eq!(action(&[warning(RepeatedFailures)], &past, now), None, "one question at a time");
    }
    assert_eq!(action(&[warning(RepeatedFailures)], &past, 600), Some(Action::Escalate));
}

#[test]
fn nudge_comes_before_a_halt() {
    let found = [critical(InfiniteLoop)];
    assert_eq!(action(&found, &[], 0), Some(Action::Nudge));
    // A nudge about another behaviour does not count for this one.
    assert_eq!(action(&found, &[(Action::Nudge, Stagnation, 0)], 70), Some(Action::Nudge));
    let nudged = [(Action::Nudge, InfiniteLoop, 0)];
    assert_eq!(action(&found, &nudged, 49), None, "it has a window to change something");
    assert_eq!(action(&found, &nudged, 50), Some(Action::Halt));
    assert_eq!(action(&[warning(InfiniteLoop)], &nudged, 60), Some(Action::Nudge), "a warning never halts");
    // A nudge long ago about an ended episode does not count.
    assert_eq!(action(&found, &nudged, 3600), Some(Action::Nudge));
}

#[test]
fn halt_is_not_repeated_and_resets_nudges() {
    let found = [critical(InfiniteLoop)];
    let past = [(Action::Nudge, InfiniteLoop, 0), (Action::Halt, InfiniteLoop, 50)];
    assert_eq!(action(&found, &past, 60), None);
    assert_eq!(action(&[critical(Timeout)], &past, 60), None);
    assert_eq!(action(&found, &past, 110), Some(Action::Nudge), "the next session is nudged first");
}

#[test]
fn exhaustion_halts_at_once_and_nudges_once() {
    for behaviour in [TokenExhaustion, Timeout] {
        assert_eq!(action(&[critical(behaviour)], &[], 0), Some(Action::Halt));
        assert_eq!(action(&[warning(behaviour)], &[], 0), Some(Action::Nudge));
        for now in [60, 600] {
            assert_eq!(action(&[warning(behaviour)], &[(Action::Nudge, behaviour, 0)], now), None);
        }
    }
}

/// The runner ends a session at its role's limit by itself: the overseer nudges at each grade, and neither halts nor asks.
#[test]
fn near_role_limit_nudges_twice_and_never_halts() {
    for behaviour in [TokenExhaustion, Timeout] {
        let near = Detection { suggested: Action::Nudge, ..critical(behaviour) };
        assert_eq!(action(std::slice::from_ref(&near), &[], 0), Some(Action::Nudge));
        let nudged = (Action::Nudge, behaviour, 0);
        assert_eq!(
            action(std::slice::from_ref(&near), &[nudged], 100),
            Some(Action::Nudge),
            "it had the first word only"
        );
        let mut second = done(Action::Nudge, behaviour, BEGAN + 100);
        second.severity = Gravity::Critical;
        let past = [done(Action::Nudge, behaviour, BEGAN), second];
        let past: Vec<&Intervention> = past.iter().collect();
        assert_eq!(decide(std::slice::from_ref(&near), &past, 0, Wall(BEGAN + 500), &settings()), None);
        let many: Vec<_> = (0..5).map(|n| (Action::Nudge, Stagnation, 60 * n)).collect();
        assert_eq!(action(&[near], &many, 900), None, "no question about a session that ends by itself");
    }
}

#[test]
fn nudge_of_earlier_session_does_not_count() {
    let found = |began: i64| [Detection { session_began: Wall(BEGAN + began), ..critical(InfiniteLoop) }];
    let nudged = [(Action::Nudge, InfiniteLoop, 0)];
    assert_eq!(action(&found(0), &nudged, 70), Some(Action::Halt));
    assert_eq!(action(&found(20), &nudged, 70), Some(Action::Nudge));
    // The same when all nudges are used up: then a person is asked, and the agent is not halted.
    let many: Vec<_> = (0..5).map(|n| (Action::Nudge, InfiniteLoop, 60 * n)).collect();
    assert_eq!(action(&found(250), &many, 310), Some(Action::Escalate));
    assert_eq!(action(&found(0), &many, 310), Some(Action::Halt));
    // A question about the earlier session is asked again.
    let asked = [(Action::Nudge, InfiniteLoop, 0), (Action::Escalate, InfiniteLoop, 60)];
    assert_eq!(action(&found(100), &asked, 200), Some(Action::Nudge));
}

#[test]
fn escalation_follows_a_single_nudge() {
    let found = [Detection { suggested: Action::Escalate, ..warning(Stagnation) }];
    let nudged = (Action::Nudge, Stagnation, 0);
    assert_eq!(action(&found, &[nudged], 49), None);
    for now in [50, 100, 3600] {
        assert_eq!(action(&found, &[nudged], now), Some(Action::Escalate));
    }
    for now in [50, 100, 349] {
        assert_eq!(action(&found, &[nudged, (Action::Escalate, Stagnation, 50)], now), None);
    }
}

#[test]
fn without_halting_a_person_is_asked_repeatedly() {
    let careful = OverseerConfig { halt_on_critical: false, ..settings() };
    let nudged = [(Action::Nudge, InfiniteLoop, 0)];
    let asked =
        |past: &[_], now| answer(&[critical(InfiniteLoop)], past, now, &careful).map(|one| one.action);
    assert_eq!(asked(&[], 0), Some(Action::Nudge));
    assert_eq!(asked(&nudged, 60), Some(Action::Escalate));
    let past = [nudged[0], (Action::Escalate, InfiniteLoop, 60)];
    for now in [70, 200, 359] {
        assert_eq!(asked(&past, now), None, "{now}");
    }
    for now in [360, 4000] {
        assert_eq!(
            asked(&past, now),
            Some(Action::Escalate),
            "a project that halts nothing is never left in silence"
        );
    }
    let at_once = answer(&[critical(Timeout)], &[], 0, &careful).expect("a decision");
    assert_eq!(at_once.action, Action::Escalate);
    assert!(at_once.question.is_some_and(|question| question.contains("was not nudged")));
}

#[test]
fn reviewer_is_nudged_then_a_person_is_asked() {
    let mut found = warning(Stagnation);
    (found.role, found.suggested) = (Role::code_reviewer(), Action::Escalate);
    let found = [found];
    assert_eq!(action(&found, &[], 0), Some(Action::Nudge));
    let asked = answer(&found, &[(Action::Nudge, Stagnation, 0)], 60, &settings()).expect("a decision");
    assert_eq!(asked.action, Action::Escalate);
    assert!(asked.question.is_some_and(|question| question.contains("was nudged once")));
}

#[test]
fn only_the_strongest_action_is_taken() {
    let nudged = [(Action::Nudge, InfiniteLoop, 0)];
    let both = [warning(Stagnation), critical(Timeout), critical(InfiniteLoop)];
    let decision = answer(&both, &nudged, 60, &settings()).expect("a decision");
    assert_eq!((decision.action, decision.detection.behaviour), (Action::Halt, InfiniteLoop));
    let decision = answer(&both, &[], 60, &settings()).expect("a decision");
    assert_eq!((decision.action, decision.detection.behaviour), (Action::Halt, Timeout));
}

#[test]
fn clock_set_back_silences_no_nudge() {
    assert_eq!(action(&[warning(Stagnation)], &[(Action::Nudge, Stagnation, 9_000)], 0), Some(Action::Nudge));
}

#[test]
fn every_behaviour_has_its_own_words_and_a_command() {
    let mut texts = std::collections::BTreeSet::new();
    for behaviour in Behaviour::ALL {
        let decision = answer(&[warning(behaviour)], &[], 0, &settings()).expect("a nudge");
        let text = decision.text;
        assert!(text.contains("`liza "), "{text}");
        assert!(text.contains(" t1 "), "it names the task: {text}");
        assert!(texts.insert(text.lines().next().unwrap_or_default().to_owned()));
        let mut reviewer = warning(behaviour);
        reviewer.role = Role::code_reviewer();
        let text = answer(&[reviewer], &[], 0, &settings()).expect("a nudge").text;
        assert!(!text.contains("task block") && !text.contains("task handoff"), "not a reviewer's: {text}");
        let mut planner = warning(behaviour);
        (planner.role, planner.task) = (Role::planner(), None);
        let text = answer(&[planner], &[], 0, &settings()).expect("a nudge").text;
        assert!(behaviour == Behaviour::ScopeCreep || !text.contains("TASK"), "{text}");
    }
    let halted = answer(&[critical(Timeout)], &[], 0, &settings()).expect("a halt");
    assert!(halted.text.contains("Your work is kept") && halted.question.is_none());
}
