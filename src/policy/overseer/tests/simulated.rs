//! Sessions from beginning to end, with a clock that is only a number: what would have been done, and when.

use super::*;

/// Looks at it as the overseer does, until it is halted; what was done, with the number of the look.
fn overseen(count: u64, change: impl Fn(u64, &mut AgentSnapshot)) -> Vec<(u64, Action, Behaviour)> {
    let config = settings();
    let mut ring = Ring::default();
    let mut past: Vec<Intervention> = Vec::new();
    let mut acts = Vec::new();
    for at in 1..=count {
        let mut one = look(at);
        change(at, &mut one);
        let now = one.time;
        ring.push(one, config.snapshot_history_size);
        let found = detect(ring.session(), &config);
        let Some(decision) = decide(&found, &past.iter().collect::<Vec<_>>(), now, &config) else { continue };
        let behaviour = decision.detection.behaviour;
        past.push(done(decision.action, behaviour, now.0));
        acts.push((at, decision.action, behaviour));
        if decision.action == Action::Halt {
            break;
        }
    }
    acts
}

/// Ten minutes inside a test of its own: no output, no tokens, the processor at work.
#[test]
fn a_healthy_slow_agent_is_not_touched() {
    let config = settings();
    assert_eq!(overseen(60, |at, look| (look.cpu_ms, look.processes) = (9_000 * at, 4)), []);
    // Nor if the test only waits, or if an answer takes that long.
    assert_eq!(overseen(60, |_, look| look.processes = 2), []);
    assert_eq!(overseen(60, |_, _| {}), []);
    // With a limit of half an hour, ten minutes are nothing.
    assert_eq!(overseen(60, |_, look| look.wall_limit = Some(config.timeout_seconds)), []);
}

/// Edits, red tests, reading in between: what work looks like.
#[test]
fn somebody_at_work_is_not_touched() {
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
fn a_looping_coder_is_told_then_halted_a_window_later() {
    let acts = overseen(60, |at, look| {
        (look.tool_calls, look.repeated_calls) = (9 + at, at);
        look.tokens = 1_000 * at;
    });
    let looped = Behaviour::InfiniteLoop;
    assert_eq!(acts, [(5, Action::Nudge, looped), (10, Action::Halt, looped)]);
}

#[test]
fn whoever_changes_course_after_a_word_is_left_alone() {
    let acts = overseen(60, |at, look| {
        (look.tool_calls, look.repeated_calls) = (9 + at, if at <= 6 { at } else { 1 });
        look.last_call = Some(if at <= 6 { "Bash#same".to_owned() } else { format!("Edit#{at}") });
        look.tree = Some(format!("t{}", at.saturating_sub(6) / 2));
    });
    assert_eq!(acts, [(5, Action::Nudge, Behaviour::InfiniteLoop)]);
}

#[test]
fn stagnation_is_told_within_one_window_and_halted_when_it_goes_on() {
    let acts = overseen(60, |at, look| {
        look.tokens = 4_000 * at;
        (look.tool_calls, look.last_call) = (at, Some(format!("Read#{at}")));
    });
    let stuck = Behaviour::Stagnation;
    assert_eq!(acts, [(4, Action::Nudge, stuck), (9, Action::Halt, stuck)]);
}

#[test]
fn a_reviewer_that_reads_and_reads_is_told_and_then_a_person_is_asked_once() {
    let acts = overseen(200, |at, look| {
        look.role = Role::code_reviewer();
        (look.tree, look.files_modified, look.last_file_modified) = (None, 0, None);
        (look.tokens, look.token_limit) = (20_000 * at, Some(100_000_000));
    });
    let stuck = Behaviour::Stagnation;
    assert_eq!(acts, [(4, Action::Nudge, stuck), (9, Action::Escalate, stuck)]);
}

#[test]
fn time_is_told_once_and_then_over() {
    let acts = overseen(180, |_, look| look.wall_limit = Some(1800));
    let late = Behaviour::Timeout;
    assert_eq!(acts, [(135, Action::Nudge, late), (162, Action::Halt, late)]);
}

/// Nothing but words can follow from a warning, and not more than five of them.
#[test]
fn words_come_to_an_end() {
    let acts = overseen(400, |at, look| {
        (look.errors, look.tree) = (4 * at, Some(format!("t{at}")));
        (look.last_call, look.repeated_calls) = (None, 0);
    });
    let nudges = acts.iter().filter(|(_, action, _)| *action == Action::Nudge).count();
    assert_eq!((nudges, acts.len()), (5, 6));
    assert_eq!(acts[5].1, Action::Escalate);
}
