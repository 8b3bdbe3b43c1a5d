//! Whole sessions with a simulated clock: which interventions follow, and when.

use super::*;

/// The interventions, with the number of the snapshot.
type Acts = Vec<(u64, Action, Behaviour)>;

/// Runs the overseer on the session until the agent is halted.
fn overseen(count: u64, change: impl Fn(u64, &mut AgentSnapshot)) -> Acts {
    overseen_by(&settings(), count, change, |_| false)
}

/// The same with these settings, and a person who answers "no" after some snapshots.
pub fn overseen_by(
    config: &OverseerConfig,
    count: u64,
    change: impl Fn(u64, &mut AgentSnapshot),
    says_no: impl Fn(u64) -> bool,
) -> Acts {
    let mut ring = Ring::default();
    let mut past: Vec<Intervention> = Vec::new();
    let mut acts = Vec::new();
    for at in 1..=count {
        let mut one = look(at);
        change(at, &mut one);
        let now = one.time;
        ring.push(one, config);
        let found = detect(ring.session(), config);
        if let Some(decision) = decide(&found, &past.iter().collect::<Vec<_>>(), 0, now, config) {
            let behaviour = decision.detection.behaviour;
            past.push(Intervention {
                severity: decision.detection.severity,
                ..done(decision.action, behaviour, now.0)
            });
            acts.push((at, decision.action, behaviour));
            if decision.action == Action::Halt {
                break;
            }
        }
        if says_no(at) {
            past.push(said_no(now.0));
        }
    }
    acts
}

/// Ten minutes inside its own test: no output, no tokens, a busy processor.
#[test]
fn a_healthy_slow_agent_is_not_touched() {
    let config = settings();
    assert_eq!(overseen(60, |at, look| (look.cpu_ms, look.processes) = (9_000 * at, 4)), []);
    // The same if the test only waits, or if an answer takes that long.
    assert_eq!(overseen(60, |_, look| look.processes = 2), []);
    assert_eq!(overseen(60, |_, _| {}), []);
    // The same if it polls the output of a build, which prints and costs tokens.
    let polls = |at: u64, look: &mut AgentSnapshot| {
        (look.cpu_ms, look.processes) = (9_000 * at, 4);
        (look.turns, look.tool_calls, look.repeated_calls) = (4 + at, 9 + at, at);
        (look.last_tool, look.last_call) =
            (Some("BashOutput".to_owned()), Some("BashOutput#00aa".to_owned()));
        (look.tokens, look.output_bytes) = (5_000 + 3_000 * at, 20_000 + 60_000 * at);
    };
    assert_eq!(overseen(60, polls), []);
    // The same if the only output is a test's.
    let prints = |at: u64, look: &mut AgentSnapshot| {
        polls(at, look);
        (look.tokens, look.turns, look.tool_calls) = (0, 0, 0);
        (look.last_tool, look.last_call, look.repeated_calls) = (None, None, 0);
    };
    assert_eq!(overseen(60, prints), []);
    // With a limit of half an hour, ten minutes are no problem.
    assert_eq!(overseen(60, |_, look| look.wall_limit = Some(config.timeout_seconds)), []);
}

/// Edits, red tests, reading in between: ordinary work.
#[test]
fn working_agent_is_not_touched() {
    let acts = overseen(120, |at, look| {
        let step = at / 3;
        look.tree = Some(format!("t{step}"));
        look.tool_calls = 2 * at;
        look.last_call = Some(format!("Edit#{at}"));
        look.tokens = 2_500 * at;
        look.errors = at / 2;
        look.output_bytes += 3_000 * at;
        look.board_mark = format!("b{}", at / 20);
    });
    assert_eq!(acts, []);
}

#[test]
fn looping_coder_is_halted_a_window_after_nudge() {
    let acts = overseen(60, |at, look| {
        (look.tool_calls, look.repeated_calls) = (9 + at, at);
        look.tokens = 1_000 * at;
    });
    let looped = Behaviour::InfiniteLoop;
    assert_eq!(acts, [(5, Action::Nudge, looped), (10, Action::Halt, looped)]);
}

#[test]
fn agent_that_reacts_to_a_nudge_is_left_alone() {
    let acts = overseen(60, |at, look| {
        (look.tool_calls, look.repeated_calls) = (9 + at, if at <= 6 { at } else { 1 });
        look.last_call = Some(if at <= 6 { "Bash#same".to_owned() } else { format!("Edit#{at}") });
        look.tree = Some(format!("t{}", at.saturating_sub(6) / 2));
    });
    assert_eq!(acts, [(5, Action::Nudge, Behaviour::InfiniteLoop)]);
}

#[test]
fn lasting_stagnation_is_nudged_then_halted() {
    let acts = overseen(60, |at, look| {
        look.tokens = 4_000 * at;
        (look.tool_calls, look.last_call) = (at, Some(format!("Read#{at}")));
    });
    let stuck = Behaviour::Stagnation;
    assert_eq!(acts, [(4, Action::Nudge, stuck), (9, Action::Halt, stuck)]);
}

#[test]
fn endless_review_reading_ends_after_a_question() {
    let acts = overseen(200, |at, look| {
        look.role = Role::code_reviewer();
        (look.tree, look.files_modified, look.last_file_modified) = (None, 0, None);
        (look.tokens, look.token_limit) = (20_000 * at, Some(100_000_000));
    });
    let stuck = Behaviour::Stagnation;
    assert_eq!(acts, [(4, Action::Nudge, stuck), (9, Action::Escalate, stuck), (39, Action::Halt, stuck)]);
}

/// At the role's own limit the runner asks for a handoff; at a limit of the overseer alone, the overseer halts.
#[test]
fn overseer_halts_only_at_its_own_time_limit() {
    let late = Behaviour::Timeout;
    let of_role = overseen(200, |_, look| look.wall_limit = Some(1800));
    assert_eq!(of_role, [(135, Action::Nudge, late), (162, Action::Nudge, late)]);
    let of_overseer = overseen(200, |_, look| look.wall_limit = None);
    assert_eq!(of_overseer, [(135, Action::Nudge, late), (162, Action::Halt, late)]);
    let waived = overseen(400, |_, look| (look.wall_limit, look.no_wall_limit) = (None, true));
    assert_eq!(waived, []);
}

/// In a large repository, reading the files is expensive and may be skipped; a copied value is no evidence.
#[test]
fn skipped_looks_do_not_accuse_a_writing_coder() {
    let writes = |every: u64| {
        move |at: u64, look: &mut AgentSnapshot| {
            let seen = at - at % every;
            look.tree = Some(format!("t{seen}"));
            look.tree_seen_at = Some(Wall(BEGAN + 10 * seen as i64));
            (look.tool_calls, look.last_call) = (2 * at, Some(format!("Edit#{at}")));
            (look.tokens, look.output_bytes) = (4_000 * at, 20_000 + 6_000 * at);
        }
    };
    for every in [1, 2, 5, 6, 9, 1000] {
        assert_eq!(overseen(120, writes(every)), [], "{every}");
    }
    // It is no loop and no failure either while the files were not read.
    let same = |at: u64, look: &mut AgentSnapshot| {
        writes(1000)(at, look);
        (look.tool_calls, look.repeated_calls, look.last_call) = (9 + at, at, Some("Bash#11".to_owned()));
    };
    assert_eq!(overseen(60, same), []);
    // An agent that changes no file is still detected at the next snapshot.
    let stands = |at: u64, look: &mut AgentSnapshot| {
        writes(6)(at, look);
        look.tree = Some("t0".to_owned());
    };
    let stuck = Behaviour::Stagnation;
    assert_eq!(overseen(120, stands), [(6, Action::Nudge, stuck), (12, Action::Halt, stuck)]);
}

/// Forty thousand tokens for reading in two and a half minutes, without a written file.
#[test]
fn endless_reading_asks_a_person() {
    let reads = |per_look: u64| {
        move |at: u64, look: &mut AgentSnapshot| {
            (look.has_checkpoint, look.files_modified, look.last_file_modified) = (false, 0, None);
            (look.tool_calls, look.last_call) = (at, Some(format!("Read#{at}")));
            (look.tokens, look.token_limit) = (per_look * at, Some(100_000_000));
        }
    };
    assert_eq!(overseen(60, reads(2_700)), []);
    let stuck = Behaviour::Stagnation;
    assert_eq!(overseen(38, reads(20_000)), [(4, Action::Nudge, stuck), (9, Action::Escalate, stuck)]);
    // An agent that made its checkpoint and writes nothing is halted.
    let announced = overseen(60, |at, look| {
        reads(4_000)(at, look);
        look.has_checkpoint = true;
    });
    assert_eq!(announced.last(), Some(&(16, Action::Halt, stuck)));
}

/// A provider that reports no tokens: output stands for them, which is too little evidence to halt without a question.
#[test]
fn output_alone_halts_only_after_a_question() {
    let acts = overseen(200, |at, look| {
        (look.tokens, look.tool_calls, look.last_call, look.repeated_calls) = (0, 0, None, 0);
        look.output_bytes = 60_000 * at;
    });
    let stuck = Behaviour::Stagnation;
    assert_eq!(acts, [(4, Action::Nudge, stuck), (9, Action::Escalate, stuck), (39, Action::Halt, stuck)]);
}

/// The agent polls a process that itself waits: a download. Snapshots cannot show that, so a person is asked.
#[test]
fn polling_a_waiting_process_asks_a_person() {
    let polls = |at: u64, look: &mut AgentSnapshot| {
        (look.tool_calls, look.repeated_calls) = (9 + at, at);
        look.processes = if at == 1 { 1 } else { 2 };
    };
    let looped = Behaviour::InfiniteLoop;
    let asked = [(5, Action::Nudge, looped), (10, Action::Escalate, looped)];
    assert_eq!(overseen(39, polls), asked);
    // A person who knows of the download answers no, and the agent continues for as long as it takes.
    assert_eq!(overseen_by(&settings(), 400, polls, |at| at == 20), asked);
}

/// Five nudges follow from a warning, then a question, and without an answer the halt.
#[test]
fn number_of_nudges_is_limited() {
    let acts = overseen(400, |at, look| {
        (look.errors, look.tree) = (4 * at, Some(format!("t{at}")));
        (look.last_call, look.repeated_calls) = (None, 0);
    });
    let nudges = acts.iter().filter(|(_, action, _)| *action == Action::Nudge).count();
    assert_eq!((nudges, acts.len()), (5, 7));
    assert_eq!((acts[5].1, acts[6].1), (Action::Escalate, Action::Halt));
    assert_eq!(acts[6].0 - acts[5].0, 30, "a person had five minutes to answer");
}
