//! For every detector a history that must alarm, one that nearly does, and a known false alarm of other projects.

use Behaviour::{
    InfiniteLoop, Oscillation, RepeatedFailures, ScopeCreep, Stagnation, Timeout, TokenExhaustion,
};
use Gravity::{Critical, Warning};

use super::*;

fn detect(history: &[AgentSnapshot], config: &OverseerConfig) -> Vec<Detection> {
    super::detect(&reckoned(history), config)
}

/// The same call once more at every look.
fn looping(count: u64) -> Vec<AgentSnapshot> {
    film(count, |at, look| {
        (look.tool_calls, look.repeated_calls) = (9 + at, at);
        look.turns += at;
    })
}

#[test]
fn five_equal_calls_without_progress_are_a_loop() {
    nothing(&looping(4));
    only(&looping(5), InfiniteLoop, Critical);
    let said = detect(&looping(5), &settings());
    assert_eq!((said[0].confidence, said[0].suggested), (0.9, Action::Halt));
    assert!(said[0].evidence[0].contains("called 5 times in a row"), "{:?}", said[0].evidence);
}

#[test]
fn loop_needs_equal_calls_and_no_progress() {
    // Four of five snapshots show the same call.
    let mut history = looping(5);
    history[0].last_call = Some("Bash#other".to_owned());
    nothing(&history);
    // One long call is work, not a loop.
    nothing(&film(30, |_, look| look.repeated_calls = 6));
    // Other calls in between.
    nothing(&film(5, |at, look| (look.tool_calls, look.repeated_calls) = (9 + 2 * at, at)));
    // The same tool all day, with other arguments.
    nothing(&film(5, |at, look| (look.tool_calls, look.last_call, look.repeated_calls) = (9 + at, None, 0)));
    // Progress: a finding, a message, a file.
    nothing(&film(5, |at, look| {
        (look.tool_calls, look.repeated_calls) = (9 + at, at);
        look.board_mark = format!("b{}", at / 3);
    }));
}

/// ralph-orchestrator #143: three equal events in a row stopped work that went on well.
#[test]
fn equal_events_with_progress_are_work() {
    nothing(&film(20, |at, look| {
        (look.tool_calls, look.repeated_calls) = (9 + at, at);
        look.tree = Some(format!("t{at}"));
    }));
}

#[test]
fn file_returning_to_old_content_is_churn() {
    let churn = |trees: [&'static str; 5]| {
        film(5, move |at, look| {
            look.tree = Some(trees[at as usize - 1].to_owned());
            (look.last_call, look.repeated_calls) = (None, 0);
            look.tool_calls += at;
        })
    };
    only(&churn(["a", "b", "c", "d", "b"]), InfiniteLoop, Warning);
    nothing(&churn(["a", "b", "c", "d", "e"]));
    // Not changed in every snapshot: the agent went back once.
    nothing(&churn(["a", "b", "b", "b", "a"]));
    let mut elsewhere = churn(["a", "b", "c", "d", "b"]);
    elsewhere[2].last_file_modified = Some("src/b.rs".to_owned());
    nothing(&elsewhere);
}

#[test]
fn growing_failures_are_nudged_then_halted() {
    let failing = |count, per_look: u64| {
        film(count, move |at, look| {
            look.errors = per_look * at;
            (look.last_call, look.repeated_calls) = (None, 0);
        })
    };
    nothing(&failing(2, 9));
    only(&failing(3, 3), RepeatedFailures, Warning);
    assert_eq!(detect(&failing(3, 3), &settings())[0].confidence, 0.8);
    only(&failing(5, 3), RepeatedFailures, Warning);
    only(&failing(6, 3), RepeatedFailures, Critical);
    // Two windows of two snapshots each; five more in one window is just not too many.
    nothing(&film(8, |at, look| look.errors = 5 * at / 2));
}

#[test]
fn failures_on_the_way_are_part_of_the_work() {
    // Red tests between edits: a nudge, never a halt.
    only(
        &film(12, |at, look| (look.errors, look.tree) = (4 * at, Some(format!("t{at}")))),
        RepeatedFailures,
        Warning,
    );
    // A high counter from before.
    nothing(&film(12, |_, look| look.errors = 400));
    // Each failure led to a step on the board.
    nothing(&film(12, |at, look| (look.errors, look.board_mark) = (4 * at, format!("b{at}"))));
    // A falling counter belongs to another session.
    nothing(&film(3, |at, look| look.errors = [40, 20, 60][at as usize - 1]));
}

fn burning(count: u64, per_look: u64) -> Vec<AgentSnapshot> {
    film(count, move |at, look| {
        look.tokens = 100_000 + per_look * at;
        look.tool_calls += at;
        (look.last_call, look.repeated_calls) = (Some(format!("Read#{at}")), 1);
        look.output_bytes += 1_000 * at;
    })
}

/// Heartbeats continue, tokens are used, and there is no progress.
#[test]
fn heartbeat_without_progress_is_stagnation() {
    nothing(&burning(3, 4_000));
    only(&burning(4, 4_000), Stagnation, Warning);
    let said = detect(&burning(4, 4_000), &settings());
    assert_eq!((said[0].confidence, said[0].suggested), (0.75, Action::Nudge));
    assert!(said[0].evidence[0].contains("12000 tokens"), "{:?}", said[0].evidence);
}

#[test]
fn tokens_are_compared_by_difference() {
    // The sum of the counters is far above the threshold; 9,999 tokens were used.
    nothing(&burning(20, 3_333));
    only(&burning(7, 4_000), Stagnation, Warning);
    only(&burning(8, 4_000), Stagnation, Critical);
}

#[test]
fn agent_without_files_has_longer_to_read() {
    let reading = |count| {
        let mut history = burning(count, 4_000);
        history.iter_mut().for_each(|look| look.files_modified = 0);
        history
    };
    only(&reading(4), Stagnation, Warning);
    only(&reading(15), Stagnation, Warning);
    only(&reading(16), Stagnation, Critical);
}

#[test]
fn reading_roles_may_use_more_and_are_not_halted() {
    for role in ["code_reviewer", "planner", "red_team"] {
        let as_role = |mut history: Vec<AgentSnapshot>| {
            for look in &mut history {
                look.role = Role::new(role).expect("a role");
                (look.tree, look.files_modified, look.last_file_modified) = (None, 0, None);
            }
            history
        };
        nothing(&as_role(burning(20, 4_000)));
        let long = as_role(burning(20, 20_000));
        only(&long, Stagnation, Warning);
        assert_eq!(detect(&long, &settings())[0].suggested, Action::Escalate);
        // Every finding is progress.
        let mut finding = long;
        finding.iter_mut().enumerate().for_each(|(at, look)| look.board_mark = format!("b{}", at / 3));
        nothing(&finding);
    }
}

#[test]
fn output_replaces_unreported_tokens() {
    let speaking = |bytes: u64| {
        film(4, move |at, look| {
            look.tokens = 0;
            look.output_bytes += bytes * at;
        })
    };
    only(&speaking(14_000), Stagnation, Warning);
    nothing(&speaking(13_000));
    assert!(detect(&speaking(14_000), &settings())[0].evidence[0].contains("42000 bytes of output"));
}

#[test]
fn limits_warn_at_75_and_90_percent() {
    let spent = |tokens: u64, limit: Option<u64>| {
        film(2, move |at, look| {
            look.tokens = tokens - 2 + at;
            look.token_limit = limit;
        })
    };
    nothing(&spent(74_999, Some(100_000)));
    only(&spent(75_000, Some(100_000)), TokenExhaustion, Warning);
    only(&spent(89_999, Some(100_000)), TokenExhaustion, Warning);
    only(&spent(90_000, Some(100_000)), TokenExhaustion, Critical);
    let said = detect(&spent(90_000, Some(100_000)), &settings());
    assert_eq!((said[0].confidence, said[0].suggested), (1.0, Action::Nudge), "its runner ends it");
    // Without a limit of the role, the limit of the settings applies.
    nothing(&spent(112_499, None));
    only(&spent(112_500, None), TokenExhaustion, Warning);
    only(&spent(135_000, None), TokenExhaustion, Critical);
    assert_eq!(detect(&spent(135_000, None), &settings())[0].suggested, Action::Halt);
    // A role with limit 0 has no limit.
    let mut waived = spent(900_000, None);
    waived.iter_mut().for_each(|look| look.no_token_limit = true);
    nothing(&waived);
    let with = |max_tokens: u64| OverseerConfig { max_tokens, ..settings() };
    assert_eq!(detect(&spent(100_000, None), &with(101_000)), [], "no warning below the threshold");
    assert_eq!(detect(&spent(900_000, None), &with(0)), [], "0 is no limit");

    let late = |elapsed: u64, limit: Option<u64>| {
        film(2, move |at, look| {
            look.elapsed_seconds = elapsed - 10 * (2 - at);
            look.wall_limit = limit;
        })
    };
    nothing(&late(1349, None));
    only(&late(1350, None), Timeout, Warning);
    only(&late(1620, None), Timeout, Critical);
    only(&late(600, Some(600)), Timeout, Critical);
    nothing(&late(1620, Some(3600)));
    let mut waived = late(9000, None);
    waived.iter_mut().for_each(|look| look.no_wall_limit = true);
    nothing(&waived);
}

/// Each of these trees for so many snapshots, with calls in between.
fn through(trees: &'static [&'static str], looks: u64) -> Vec<AgentSnapshot> {
    film(trees.len() as u64 * looks, move |at, look| {
        look.tree = Some(trees[(at as usize - 1) / looks as usize].to_owned());
        look.tool_calls += 2 * at;
        (look.last_call, look.repeated_calls) = (None, 0);
        look.last_file_modified = Some(format!("src/{}.rs", at % 2));
    })
}

#[test]
fn oscillation_is_critical_at_third_return() {
    nothing(&through(&["x", "y", "x"], 2));
    only(&through(&["x", "y", "x", "y"], 2), Oscillation, Warning);
    only(&through(&["x", "y", "x", "y", "x"], 2), Oscillation, Critical);
    only(&through(&["x", "y", "z", "x", "z"], 2), Oscillation, Warning);
    // A new tree is a new attempt.
    nothing(&through(&["x", "y", "x", "y", "z"], 2));
    nothing(&through(&["x", "y", "x", "z", "x", "w", "x", "v"], 2));
}

#[test]
fn test_files_made_and_removed_are_no_oscillation() {
    const TREES: &[&str] = &["x", "y", "x", "y", "x", "y", "x"];
    // Changes within one call of the agent.
    nothing(&film(7, |at, look| look.tree = Some(TREES[at as usize - 1].to_owned())));
    // With another call each time: no tree stays for two snapshots.
    nothing(&through(TREES, 1));
    // Each tree stays for long, but changes within a call.
    nothing(&film(28, |at, look| {
        look.tree = Some(TREES[(at as usize - 1) / 4].to_owned());
        (look.tool_calls, look.repeated_calls) = (9 + (at - 1) / 8, 1);
        look.last_call = Some(format!("Bash#{}", (at - 1) / 8));
    }));
    // A computing agent gets a warning, and a person is asked.
    let mut computing = through(TREES, 2);
    computing.iter_mut().enumerate().for_each(|(at, look)| look.cpu_ms = 5_000 * at as u64);
    only(&computing, Oscillation, Warning);
    assert_eq!(detect(&computing, &settings())[0].suggested, Action::Escalate);
    // The same for an agent that reports no calls.
    let mut silent = through(TREES, 2);
    silent.iter_mut().for_each(|look| look.tool_calls = 0);
    only(&silent, Oscillation, Warning);
    assert_eq!(detect(&silent, &settings())[0].suggested, Action::Escalate);
    // Copied snapshots do not count.
    let mut copied = through(TREES, 2);
    copied.iter_mut().skip(1).step_by(2).for_each(|look| {
        look.tree_seen_at = Some(Wall(look.time.0 - 10 - 1));
    });
    nothing(&copied);
}

#[test]
fn asking_for_the_output_of_a_build_is_waiting() {
    let polling = |cpu_per_look: u64| {
        film(20, move |at, look| {
            (look.tool_calls, look.repeated_calls) = (9 + at, at);
            look.cpu_ms = cpu_per_look * at;
        })
    };
    nothing(&polling(9_000));
    nothing(&polling(2_500));
    // A provider that only talks uses a little processor time too.
    only(&polling(500), InfiniteLoop, Critical);
}

#[test]
fn steps_on_the_board_end_an_oscillation() {
    let mut history = through(&["x", "y", "x", "y", "x"], 2);
    history.iter_mut().skip(8).for_each(|look| look.board_mark = "b1".to_owned());
    nothing(&history);
}

#[test]
fn spreading_unannounced_files_are_scope_creep() {
    let astray = |counts: &'static [u64], announced: u64| {
        film(counts.len() as u64, move |at, look| {
            look.files_unannounced = counts[at as usize - 1];
            look.files_modified = announced + look.files_unannounced;
            look.tree = Some(format!("t{at}"));
        })
    };
    only(&astray(&[0, 1, 2, 3], 9), ScopeCreep, Warning);
    nothing(&astray(&[0, 1, 2], 9));
    nothing(&astray(&[0, 1, 2, 2], 9));
    nothing(&astray(&[1, 1, 1, 1], 0));
    only(&astray(&[0, 0, 0, 4], 3), ScopeCreep, Warning);
    nothing(&astray(&[0, 0, 0, 4], 4));
    // Reported when it happens, not for ever after.
    nothing(&astray(&[4, 4, 4, 4], 1));
}

#[test]
fn no_detection_across_sessions_or_pauses() {
    let mut two = looping(8);
    two[..4].iter_mut().for_each(|look| look.session = 6);
    nothing(&two);
    let mut other_task = looping(8);
    other_task[3].task = None;
    nothing(&other_task);

    // The session time stands still while wall time continues.
    let mut paused = looping(9);
    for look in &mut paused[4..] {
        look.elapsed_seconds = 40;
    }
    nothing(&paused);
    // Snapshots during a pause do not count: two of five are left before it and two after.
    let mut resumed = looping(9);
    for (at, look) in resumed.iter_mut().enumerate().skip(2) {
        look.elapsed_seconds = if at < 7 { 20 } else { 20 + 10 * (at as u64 - 6) };
    }
    nothing(&resumed);
    // A clock that goes back belongs to another session.
    let mut back = looping(6);
    back[4].elapsed_seconds = 3;
    back[5].elapsed_seconds = 13;
    nothing(&back);
}

#[test]
fn looks_within_a_second_are_looks() {
    let mut quick = looping(5);
    for look in &mut quick {
        (look.elapsed_seconds, look.time) = (3, Wall(BEGAN + 3));
    }
    only(&quick, InfiniteLoop, Critical);
}

/// `--explain` shows the numbers of the alarms, with the factors and resets of this agent.
#[test]
fn explained_measures_match_the_alarms() {
    let measured = |history: &[AgentSnapshot], behaviour: Behaviour| {
        let all = measures(history, &settings());
        all.into_iter().find(|one| one.behaviour == behaviour).map(|one| (one.now, one.alarm))
    };
    assert_eq!(measured(&burning(4, 4_000), Stagnation), Some((12_000, Some(10_001))));
    let mut reviewer = burning(4, 4_000);
    reviewer.iter_mut().for_each(|look| look.role = Role::code_reviewer());
    assert_eq!(measured(&reviewer, Stagnation), Some((12_000, Some(50_001))));
    let mut stepped = burning(4, 4_000);
    stepped[3].board_mark = "b1".to_owned();
    assert_eq!(measured(&stepped, Stagnation), Some((0, Some(10_001))));
    let bytes = film(4, |at, look| (look.tokens, look.output_bytes) = (0, 14_000 * at));
    assert_eq!(measured(&bytes, Stagnation), Some((10_500, Some(10_001))));
    assert_eq!(measured(&looping(3), InfiniteLoop), Some((3, Some(5))));
    assert_eq!(measured(&looping(9), InfiniteLoop), Some((5, Some(5))));
    assert_eq!(measured(&looping(9), TokenExhaustion), Some((5_000, Some(750_000))));
    assert_eq!(measured(&looping(9), Timeout), Some((90, Some(75_000))));
    let mut waived = looping(9);
    waived.iter_mut().for_each(|look| (look.token_limit, look.no_token_limit) = (None, true));
    assert_eq!(measured(&waived, TokenExhaustion), Some((5_000, None)));
    assert_eq!(measured(&through(&["x", "y", "x", "y"], 2), Oscillation), Some((2, Some(2))));
    assert_eq!(measured(&film(4, |at, look| look.errors = 3 * at), RepeatedFailures), Some((6, Some(6))));
    let astray = film(3, |at, look| look.files_unannounced = at);
    assert_eq!(measured(&astray, ScopeCreep), Some((2, Some(3))));
}
