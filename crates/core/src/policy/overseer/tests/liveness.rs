use super::*;

fn working() -> Signals {
    Signals {
        runner_lives: Some(true),
        seconds_since_heartbeat: 20,
        seconds_since_snapshot: Some(5),
        holds_work: true,
        lease_expired: false,
    }
}

fn grade(history: &[AgentSnapshot], signals: &Signals) -> Grade {
    let said = liveness(history, signals, &settings());
    assert!(!said.because.is_empty(), "it says why");
    said.grade
}

#[test]
fn any_sign_makes_an_agent_live() {
    assert_eq!(grade(&film(30, |at, look| look.output_bytes += at), &working()), Grade::Live);
    let tree = film(30, |at, look| look.tree = Some(if at > 28 { "t1" } else { "t0" }.to_owned()));
    assert_eq!(grade(&tree, &working()), Grade::Live);
    let board = film(30, |at, look| look.board_mark = if at > 28 { "b1" } else { "b0" }.to_owned());
    let said = liveness(&board, &working(), &settings());
    assert_eq!((said.grade, said.because.len()), (Grade::Live, 1));
    assert!(said.because[0].contains("on the board"), "{:?}", said.because);
    assert_eq!(grade(&film(1, |_, _| {}), &working()), Grade::Live, "it has only begun");
}

/// gastown #3998: healthy agents were called dead because one sign was missing.
#[test]
fn agent_inside_a_long_test_is_quiet() {
    let busy = film(60, |at, look| (look.cpu_ms, look.processes) = (1_000 + 9_000 * at, 3));
    assert_eq!(busy.last().map(|look| look.still_seconds), Some(0));
    let said = liveness(&busy, &working(), &settings());
    assert_eq!(said.grade, Grade::Quiet);
    assert!(said.because.iter().any(|line| line.contains("processor time")), "{:?}", said.because);
    assert_eq!(grade(&film(60, |at, look| look.cpu_ms += 200 * at), &working()), Grade::Quiet);
    // A test that sleeps: its process exists for two hours.
    let sleeping = film(720, |at, look| look.processes = if at == 1 { 2 } else { 3 });
    assert_eq!(grade(&sleeping, &working()), Grade::Quiet);
}

#[test]
fn silent_agent_is_suspect_and_never_dead() {
    assert_eq!(grade(&film(90, |_, _| {}), &working()), Grade::Quiet);
    let still = film(91, |_, _| {});
    assert_eq!(still.last().map(|look| look.still_seconds), Some(900));
    assert_eq!(grade(&still, &working()), Grade::Suspect);
    assert_eq!(grade(&film(500, |_, _| {}), &working()), Grade::Suspect);
    // Idle processor use while waiting is no work.
    assert_eq!(grade(&film(100, |at, look| look.cpu_ms += 40 * at), &working()), Grade::Suspect);
    assert_eq!(detect(&still, &settings()), [], "silence alone is no detection");
    // Two processes that were there from the beginning belong to the provider.
    assert_eq!(grade(&film(91, |_, look| look.processes = 2), &working()), Grade::Suspect);
    // The ring remembers less than that.
    let mut ring = Ring::default();
    (1..=120).for_each(|at| ring.push(look(at), &settings()));
    assert_eq!(ring.snapshots.len(), 20);
    assert_eq!(grade(ring.session(), &working()), Grade::Suspect);
}

#[test]
fn pause_does_not_count_as_silence() {
    let paused = film(400, |_, look| look.elapsed_seconds = 50);
    assert_eq!(grade(&paused, &working()), Grade::Quiet);
}

#[test]
fn dead_needs_the_process_gone_and_the_lease_over() {
    let still = film(200, |_, _| {});
    let gone = Signals { runner_lives: Some(false), ..working() };
    assert_eq!(grade(&still, &gone), Grade::Suspect);
    assert_eq!(grade(&still, &Signals { lease_expired: true, ..gone.clone() }), Grade::Dead);
    assert_eq!(grade(&still, &Signals { lease_expired: true, ..working() }), Grade::Suspect);
    assert_eq!(grade(&[], &Signals { holds_work: false, ..gone }), Grade::Finished);
}

/// gastown #3584: an agent that waited for work was taken for dead.
#[test]
fn idle_agent_is_live_without_signs() {
    let idle = Signals { holds_work: false, seconds_since_heartbeat: 86_400, ..working() };
    assert_eq!(grade(&[], &idle), Grade::Live);
    assert_eq!(grade(&[], &Signals { runner_lives: None, ..idle.clone() }), Grade::Quiet);
    // A planner holds no task, but its session has snapshots.
    assert_eq!(grade(&film(100, |_, _| {}), &idle), Grade::Suspect);
}

#[test]
fn without_snapshots_only_the_board_counts() {
    let by_hand = Signals { runner_lives: None, seconds_since_snapshot: None, ..working() };
    assert_eq!(grade(&[], &by_hand), Grade::Live);
    let silent = |seconds| Signals { seconds_since_heartbeat: seconds, ..by_hand.clone() };
    assert_eq!(grade(&[], &silent(600)), Grade::Quiet);
    assert_eq!(grade(&[], &silent(900)), Grade::Suspect);
    assert_eq!(grade(&[], &Signals { lease_expired: true, ..silent(600) }), Grade::Suspect);
    // Old snapshots say nothing about the present.
    let old = Signals { seconds_since_snapshot: Some(500), seconds_since_heartbeat: 500, ..working() };
    assert_eq!(grade(&film(9, |at, look| look.output_bytes += at), &old), Grade::Quiet);
}
