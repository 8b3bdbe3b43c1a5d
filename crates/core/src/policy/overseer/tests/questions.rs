//! Grades that one snapshot does not lower, and questions that no person answers.

use super::simulated::overseen_by;
use super::*;
use crate::board::rules::{Intervene, Release};
use crate::board::testing::{Bench, agent, id};
use crate::policy::halting::{follows_question, is_borne_out};

const LOOPED: Behaviour = Behaviour::InfiniteLoop;

/// Ten snapshots a second of an agent that repeats the same call: 22,260 calls and 222,600 tokens by snapshot 5,565.
fn hangs(at: u64, look: &mut AgentSnapshot) {
    (look.tool_calls, look.repeated_calls, look.turns, look.tokens) = (4 * at, 4 * at, 4 * at, 40 * at);
    (look.elapsed_seconds, look.time) = (at / 10, Wall(BEGAN + at as i64 / 10));
    look.tree_seen_at = Some(look.time);
}

/// The same agent, so slow that it could be polling.
fn loops_slowly(at: u64, look: &mut AgentSnapshot) {
    (look.tool_calls, look.repeated_calls) = (9 + at, at);
}

fn overseen(count: u64, change: impl Fn(u64, &mut AgentSnapshot)) -> Vec<(u64, Action, Behaviour)> {
    overseen_by(&settings(), count, change, |_| false)
}

const HALTED: [(u64, Action, Behaviour); 2] = [(5, Action::Nudge, LOOPED), (10, Action::Halt, LOOPED)];

#[test]
fn hanging_agent_is_halted_despite_idle_child() {
    let config = OverseerConfig { check_interval_seconds: 0.1, ..settings() };
    let ends = |processes: &dyn Fn(u64) -> u64| {
        let changed = |at: u64, look: &mut AgentSnapshot| {
            hangs(at, look);
            look.processes = processes(at);
        };
        let acts = overseen_by(&config, 5_565, changed, |_| false);
        let actions: Vec<Action> = acts.iter().map(|act| act.1).collect();
        assert_eq!(actions, [Action::Nudge, Action::Halt], "{acts:?}");
        assert!(acts[1].0 <= 20, "{acts:?}");
    };
    for one in 1..=12 {
        // One snapshot without a child makes every later child count.
        ends(&|at| if at == one { 1 } else { 2 });
        // One snapshot with an idle child.
        ends(&|at| if at == one { 2 } else { 1 });
    }
}

#[test]
fn slow_loop_stays_critical_when_a_child_appears() {
    let acts = overseen(60, |at, look| {
        loops_slowly(at, look);
        look.processes = if at <= 5 { 1 } else { 2 };
    });
    assert_eq!(acts, HALTED);
    // Also if the critical snapshot has left the ring: the nudge waits for the cooldown of another one.
    let config = OverseerConfig { snapshot_history_size: 5, ..settings() };
    let history = |count: u64| {
        let mut ring = Ring::default();
        for at in 1..=count {
            let mut one = look(at);
            loops_slowly(at, &mut one);
            one.processes = if at <= 5 { 1 } else { 2 };
            ring.push(one, &config);
        }
        ring
    };
    let found = detect(history(40).session(), &config);
    assert_eq!((found[0].severity, found[0].suggested), (Gravity::Critical, Action::Halt));
    assert!(found[0].evidence.last().is_some_and(|line| line.contains("was critical")), "{found:?}");
}

#[test]
fn progress_or_another_call_ends_certainty() {
    let graded = |moves: fn(u64, &mut AgentSnapshot)| {
        let history = film(12, move |at, look| {
            loops_slowly(at, look);
            look.processes = if at <= 5 { 1 } else { 2 };
            if at > 6 {
                moves(at, look);
            }
        });
        detect(&history, &settings()).iter().map(|one| one.suggested).collect::<Vec<_>>()
    };
    assert_eq!(graded(|_, _| {}), [Action::Halt]);
    assert_eq!(graded(|_, look| look.tree = Some("t1".to_owned())), [Action::Escalate]);
    assert_eq!(graded(|_, look| look.board_mark = "b1".to_owned()), [Action::Escalate]);
    assert_eq!(graded(|_, look| look.messages_sent = 1), [Action::Escalate]);
    // Another call in between; then the same one again.
    assert_eq!(graded(|at, look| (look.tool_calls, look.repeated_calls) = (10 + at, at)), [Action::Escalate]);
}

/// Reading in bursts is no episode; a behaviour that was critical once lasts until the work progresses.
#[test]
fn uncertain_episode_ends_after_a_clean_window() {
    let left = |certain: bool, clean_looks: u64| {
        let mut before = look(1);
        let evidence = vec!["9 of them".to_owned()];
        let shown = match certain {
            true => Detection::critical(Behaviour::Stagnation, &before, 0.9, evidence),
            false => Detection::warning(Behaviour::Stagnation, &before, 0.7, evidence),
        };
        before.episodes = episode::at_look(None, &before, &[shown], 5);
        for at in 2..2 + clean_looks {
            let mut now = look(at);
            now.episodes = episode::at_look(Some(&before), &now, &[], 5);
            before = now;
        }
        before.episodes.len()
    };
    assert_eq!([left(false, 4), left(false, 5), left(true, 50)], [1, 0, 1]);
}

#[test]
fn stagnation_stays_critical_while_a_build_runs() {
    let history = film(12, |at, look| {
        look.tokens = 60_000 * at;
        look.token_limit = Some(100_000_000);
        (look.tool_calls, look.last_call) = (at, Some(format!("Read#{at}")));
        look.cpu_ms = 9_000 * at.saturating_sub(8);
    });
    let found = detect(&history, &settings());
    assert_eq!((found[0].behaviour, found[0].suggested), (Behaviour::Stagnation, Action::Halt));
    // An agent that computed from the start never had a critical detection.
    let history = film(12, |at, look| {
        look.tokens = 60_000 * at;
        look.token_limit = Some(100_000_000);
        (look.tool_calls, look.last_call) = (at, Some(format!("Read#{at}")));
        look.cpu_ms = 9_000 * at;
    });
    assert_eq!(detect(&history, &settings())[0].suggested, Action::Escalate);
}

#[test]
fn oscillation_stays_critical_while_a_test_runs() {
    let flips = |busy_from: u64| {
        film(18, move |at, look| {
            look.tree = Some(if (at - 1) / 2 % 2 == 0 { "x" } else { "y" }.to_owned());
            (look.tool_calls, look.last_call, look.repeated_calls) = (2 * at, None, 0);
            look.last_file_modified = Some(format!("src/{}.rs", at % 2));
            look.cpu_ms = 60_000 * at.saturating_sub(busy_from);
        })
    };
    let graded = |busy_from: u64| {
        let found = detect(&flips(busy_from), &settings());
        found.iter().find(|one| one.behaviour == Behaviour::Oscillation).map(|one| one.suggested)
    };
    assert_eq!(graded(14), Some(Action::Halt));
    assert_eq!(graded(0), Some(Action::Escalate));
}

#[test]
fn failures_are_certain_until_a_file_changes() {
    // Two bad windows without any change, then one that is just bad.
    let failing = |tree_at: u64| {
        film(9, move |at, look| {
            look.errors = if at <= 6 { 4 * at } else { 24 + 3 * (at - 6) };
            (look.last_call, look.repeated_calls) = (None, 0);
            look.tree = Some(if at >= tree_at { "t1" } else { "t0" }.to_owned());
        })
    };
    assert_eq!(detect(&failing(99), &settings())[0].suggested, Action::Halt);
    assert_eq!(detect(&failing(8), &settings())[0].suggested, Action::Nudge);
}

/// Waits for an answer: asked at snapshot 10, ten seconds per snapshot.
fn waits(at: u64, look: &mut AgentSnapshot) {
    loops_slowly(at, look);
    look.processes = if at == 1 { 1 } else { 2 };
}

const ASKED: [(u64, Action, Behaviour); 2] = [(5, Action::Nudge, LOOPED), (10, Action::Escalate, LOOPED)];

#[test]
fn unanswered_question_is_followed_by_the_halt() {
    let acts = overseen(400, waits);
    assert_eq!(acts, [ASKED[0], ASKED[1], (40, Action::Halt, LOOPED)]);
    let quick = OverseerConfig { answer_seconds: 10, ..settings() };
    assert_eq!(overseen_by(&quick, 400, waits, |_| false)[2], (11, Action::Halt, LOOPED));
}

#[test]
fn answer_no_holds_for_the_session() {
    for answered in [10, 20, 39] {
        assert_eq!(overseen_by(&settings(), 400, waits, |at| at == answered), ASKED);
    }
    // A person's nudge before the question is no answer to it.
    assert_eq!(overseen_by(&settings(), 400, waits, |at| at == 6).last(), Some(&(40, Action::Halt, LOOPED)));
    // The answer holds for the behaviour in question, even if that becomes critical; not for other behaviour.
    let acts = overseen_by(
        &settings(),
        100,
        |at, look| {
            waits(at, look);
            look.processes = if at == 1 || at >= 60 { 1 } else { 2 };
            look.tokens = if at < 60 { 5_000 } else { 50_000 * at };
            look.token_limit = Some(100_000_000);
        },
        |at| at == 20,
    );
    assert_eq!(acts[..2], ASKED);
    assert!(acts[2..].iter().all(|(_, _, behaviour)| *behaviour == Behaviour::Stagnation), "{acts:?}");
    assert_eq!(acts.last().map(|act| act.1), Some(Action::Halt), "{acts:?}");
}

#[test]
fn late_nudge_is_no_answer() {
    // The question is asked at snapshot 10; the agent works from snapshot 12 on, gets a nudge about another matter, and
    // hangs in the end.
    let hangs_again = |at: u64, look: &mut AgentSnapshot| {
        waits(at, look);
        if (12..100).contains(&at) {
            (look.tree, look.last_call) = (Some(format!("t{at}")), Some(format!("Edit#{at}")));
            look.repeated_calls = 1;
        } else if at >= 100 {
            (look.tree, look.last_call) = (Some("t99".to_owned()), Some("Bash#other".to_owned()));
            (look.tool_calls, look.repeated_calls) = (9 + at, at - 99);
            look.processes = 1;
        }
    };
    let ends =
        |said: u64| overseen_by(&settings(), 200, hangs_again, |at| at == said).last().map(|act| act.1);
    assert_eq!(ends(90), Some(Action::Halt));
    assert_eq!(ends(20), Some(Action::Escalate), "in time it is an answer, for all of the session");
}

#[test]
fn only_a_person_can_answer() {
    let answer = |one: Intervention| {
        let past = [done(Action::Nudge, LOOPED, BEGAN), done(Action::Escalate, LOOPED, BEGAN + 60), one];
        let found = detect(&film(40, waits), &settings());
        decide(&found, &past.iter().collect::<Vec<_>>(), 0, Wall(BEGAN + 400), &settings())
            .map(|one| one.action)
    };
    assert_eq!(answer(said_no(BEGAN + 70)), None);
    let overseer = AgentId::new("overseer-1").expect("an id");
    assert_eq!(answer(Intervention { by: overseer, ..said_no(BEGAN + 70) }), Some(Action::Halt));
    // A watcher's own intervention is no person's answer.
    assert_eq!(answer(done(Action::Nudge, Behaviour::Stagnation, BEGAN + 70)), Some(Action::Halt));
}

#[test]
fn halt_follows_at_answer_seconds_not_before() {
    let at = |asked: i64, now: i64, config: &OverseerConfig| {
        let past = [done(Action::Nudge, LOOPED, BEGAN), done(Action::Escalate, LOOPED, BEGAN + asked)];
        let found = detect(&film(12, waits), config);
        let decision = decide(&found, &past.iter().collect::<Vec<_>>(), 0, Wall(BEGAN + now), config);
        decision.map(|one| (one.action, one.detection.evidence.concat()))
    };
    let config = settings();
    assert_eq!(at(60, 359, &config), None);
    let (action, evidence) = at(60, 360, &config).expect("a decision");
    assert_eq!(action, Action::Halt);
    assert!(
        evidence.contains("a person was asked at ") && evidence.contains("no answer in 300 s"),
        "{evidence}"
    );
    // A project without automatic halts gets the question again.
    let careful = OverseerConfig { halt_on_critical: false, ..settings() };
    assert_eq!(at(60, 359, &careful), None);
    assert_eq!(at(60, 360, &careful).map(|one| one.0), Some(Action::Escalate));
}

#[test]
fn clock_set_back_keeps_the_time_of_the_halt() {
    let action = |asked: i64, now: i64| {
        let past = [done(Action::Nudge, LOOPED, BEGAN), done(Action::Escalate, LOOPED, BEGAN + asked)];
        let found = detect(&film(12, waits), &settings());
        decide(&found, &past.iter().collect::<Vec<_>>(), 0, Wall(BEGAN + now), &settings())
            .map(|one| one.action)
    };
    assert_eq!(action(1000, 999), None, "a second back");
    assert_eq!(action(1000, 700), None);
    // With a clock set back further, the wait would be too long: the question is asked again.
    assert_eq!(action(1000, 699), Some(Action::Escalate));
    // The whole session, with a clock that goes back by an hour after the question.
    let acts = overseen(400, |at, look| {
        waits(at, look);
        if at > 12 {
            look.time = Wall(look.time.0 - 3600);
            look.tree_seen_at = Some(look.time);
        }
    });
    assert_eq!(acts[..2], ASKED);
    let kinds: Vec<Action> = acts[2..].iter().map(|act| act.1).collect();
    assert_eq!(kinds, [Action::Escalate, Action::Halt], "{acts:?}");
    assert_eq!(acts[3].0 - acts[2].0, 30, "{acts:?}");
}

#[test]
fn question_about_an_ended_episode_halts_nothing() {
    // The question is asked at snapshot 10; the agent works from snapshot 12 on, and waits for another reason an hour
    // later.
    let acts = overseen(420, |at, look| {
        waits(at, look);
        if (12..400).contains(&at) {
            look.tree = Some(format!("t{at}"));
            look.last_call = Some(format!("Edit#{at}"));
            look.repeated_calls = 1;
        } else if at >= 400 {
            (look.tree, look.last_call) = (Some("t399".to_owned()), Some("Bash#other".to_owned()));
            (look.tool_calls, look.repeated_calls) = (9 + at, at - 399);
        }
    });
    assert_eq!(acts[..2], ASKED);
    assert_eq!(acts.get(2).map(|act| act.1), Some(Action::Escalate), "asked again: {acts:?}");
    assert_eq!(acts.len(), 3, "{acts:?}");
}

#[test]
fn question_says_who_when_and_what_to_type() {
    let found = detect(&film(12, waits), &settings());
    let past = [done(Action::Nudge, LOOPED, BEGAN)];
    let ask = |config: &OverseerConfig| {
        let decision = decide(&found, &past.iter().collect::<Vec<_>>(), 0, Wall(BEGAN + 100), config);
        decision.expect("a question").question.expect("a question")
    };
    let due = Wall(BEGAN + 400).to_string();
    let asked = ask(&settings());
    for part in [
        "Shall `coder-1` be halted and `t1` taken from it?",
        "`liza overseer halt coder-1 --reason infinite_loop`",
        "`liza overseer nudge coder-1 --reason \"go on\"`",
        "`liza resume`",
        "is halted at ",
        &due,
    ] {
        assert!(asked.contains(part), "{part}: {asked}");
    }
    let asked = ask(&OverseerConfig { halt_on_critical: false, ..settings() });
    assert!(asked.contains("is asked again at ") && asked.contains(&due), "{asked}");
}

fn numbered(number: u64, one: Intervention) -> Intervention {
    Intervention { id: format!("intervention-{number}"), ..one }
}

/// Nudge, question and halt on the board, with these seconds for the last two.
fn halted(asked: i64, halted: i64) -> (Bench, Intervention) {
    let mut bench = Bench::new();
    let halt = numbered(3, done(Action::Halt, LOOPED, BEGAN + halted));
    bench.board.rest.interventions = vec![
        numbered(1, done(Action::Nudge, LOOPED, BEGAN + 50)),
        numbered(2, done(Action::Escalate, LOOPED, BEGAN + asked)),
        halt.clone(),
    ];
    (bench, halt)
}

#[test]
fn runner_obeys_halt_after_a_confirmed_question() {
    let config = settings();
    let seen = film(40, waits);
    assert!(!is_borne_out(&seen, &config), "what it sees is not enough by itself");
    let (bench, halt) = halted(100, 400);
    assert!(follows_question(&bench.board, &halt, &seen, &config));
    // The person had less time than promised.
    let (early, halt_early) = halted(100, 399);
    assert!(!follows_question(&early.board, &halt_early, &seen, &config));
    // The project has no automatic halt.
    let careful = OverseerConfig { halt_on_critical: false, ..settings() };
    assert!(!follows_question(&bench.board, &halt, &seen, &careful));
    // The question is about another agent, or another behaviour.
    for change in [
        |one: &mut Intervention| one.agent = agent("coder-2"),
        |one: &mut Intervention| one.behaviour = Behaviour::Stagnation,
        |one: &mut Intervention| one.incarnation += 1,
        |one: &mut Intervention| one.task_id = Some(id("t2")),
        |one: &mut Intervention| one.action = Action::Nudge,
    ] {
        let (mut other, halt) = halted(100, 400);
        change(&mut other.board.rest.interventions[1]);
        assert!(!follows_question(&other.board, &halt, &seen, &config));
    }
    // A person answered.
    let (mut answered, _) = halted(100, 400);
    let halt = numbered(4, done(Action::Halt, LOOPED, BEGAN + 400));
    answered.board.rest.interventions[2] = numbered(3, said_no(BEGAN + 200));
    answered.board.rest.interventions.push(halt.clone());
    assert!(!follows_question(&answered.board, &halt, &seen, &config));
}

#[test]
fn forged_question_halts_no_agent_that_works() {
    let config = settings();
    let (bench, halt) = halted(100, 400);
    // Its runner has no snapshot of the behaviour.
    assert!(!follows_question(&bench.board, &halt, &[], &config));
    let works = film(40, |at, look| look.tree = Some(format!("t{at}")));
    assert!(!follows_question(&bench.board, &halt, &works, &config));
    // It shows the behaviour now, but did not when the question was asked.
    let lately = film(40, |at, look| {
        waits(at, look);
        look.tree = Some(format!("t{}", at.min(30)));
    });
    assert!(!detect(&lately, &config).is_empty());
    assert!(!follows_question(&bench.board, &halt, &lately, &config));
}

#[test]
fn open_questions_are_those_no_person_answered() {
    let mut bench = Bench::with_tasks(&["t"]);
    bench.claim("coder-1", "t");
    let act = |bench: &Bench, action: Action, by_hand: bool| Intervene {
        agent: agent("coder-1"),
        incarnation: bench.board.agent(&agent("coder-1")).expect("an agent").incarnation,
        task: Some(id("t")),
        epoch: Some(bench.task("t").epoch),
        behaviour: LOOPED,
        action,
        severity: Gravity::Warning,
        confidence: if by_hand { 1.0 } else { 0.7 },
        evidence: vec!["called 9 times".to_owned()],
        bounds: None,
        messages: Vec::new(),
    };
    let open = |bench: &Bench| {
        let all = open_questions(&bench.board, &settings());
        all.into_iter().map(|one| (one.id, one.due.since(one.asked), one.halts)).collect::<Vec<_>>()
    };
    assert_eq!(open(&bench), []);
    let question = act(&bench, Action::Escalate, false);
    bench.ok("human", question.clone());
    assert_eq!(open(&bench), [("intervention-1".to_owned(), 300, true)]);
    // Asked again, it is one question.
    bench.ok("human", question.clone());
    assert_eq!(open(&bench), [("intervention-2".to_owned(), 300, true)]);
    let mut answered = bench.clone();
    answered.ok("human", act(&bench, Action::Nudge, true));
    assert_eq!(open(&answered), []);
    let mut halted = bench.clone();
    halted.ok("human", act(&bench, Action::Halt, false));
    assert_eq!(open(&halted), []);
    bench.ok("coder-1", Release { task: id("t"), epoch: None, reason: "enough".to_owned() });
    assert_eq!(open(&bench), [], "what it was about has ended");
}
