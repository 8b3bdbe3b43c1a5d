//! Agents without progress, and agents that only seem so, observed by a run or a watcher ten times a
//! second.

use serde_json::json;

use super::*;
use crate::support::process::Bounded as _;

/// Output in Claude's format: one answer with one tool call.
pub const SAYS: &str = r#"
says() { # number tokens tool argument
  printf '{"type":"assistant","message":{"id":"m%s","usage":{"input_tokens":%s,"output_tokens":0},"content":[{"type":"tool_use","id":"c%s","name":"%s","input":{"command":"%s"}}]}}\n' "$1" "$2" "$1" "$3" "$4"
}
"#;

/// Ten checks a second, and no limit but the overseer's.
pub fn overseen(script: &str, overseer: &str, more: &str) -> World {
    let world = World::new();
    play(&world, &format!("{SAYS}\n{script}"));
    let text = format!(
        "    output: claude_stream\nrun: {{ grace_seconds: 1 }}\noverseer: {{ check_interval_seconds: 0.1, {overseer} }}\n{more}"
    );
    configure(&world, &text);
    world
}

pub const NO_LIMITS: &str = "roles: { coder: { limits: { turns: 0, tokens: 0, wall_seconds: 0 } } }\n";

/// The overseer's interventions for an agent, the oldest first.
pub fn interventions_for(world: &World, agent: &str) -> Vec<Value> {
    // The agent may not be registered yet.
    let data = world.json(&HUMAN, &["overseer", "--explain", agent]).data();
    data["interventions"].as_array().cloned().unwrap_or_default()
}

pub fn actions(interventions: &[Value]) -> Vec<(&str, &str)> {
    let text = |one: &'_ Value, key: &str| one[key].as_str().unwrap_or_default().to_owned();
    interventions
        .iter()
        .map(|one| {
            let leak = |text: String| -> &'static str { Box::leak(text.into_boxed_str()) };
            (leak(text(one, "action")), leak(text(one, "behaviour")))
        })
        .collect()
}

/// The first coder that claims t1 repeats itself.
const LOOPS: &str = r#"
case "$LIZA_ROLE:$LIZA_TASK" in
  coder:t1)
    echo "$LIZA_AGENT_ID" > $OUT/looper
    echo draft > t1.txt
    i=0
    while :; do
      i=$((i+2)); says $i 10 Bash "make test"; says $((i+1)) 10 Bash "make test"; sleep 0.02
    done ;;
esac
"#;

#[test]
fn looping_coder_is_nudged_then_halted() {
    // A coder's rights in liza.yaml do not keep its runner from halting it.
    let only_work = NO_LIMITS.replace("limits:", "allow: [work], limits:");
    let world = overseen(&format!("{LOOPS}\n{EVERY_ROLE}"), "nudge_cooldown_seconds: 600", &only_work);
    add(&world, "t1");
    add(&world, "t2");
    // Two processes observe, and one of them acts.
    let mut watch = start(&world, &["watch"]);
    let ran = quickly(&world, &["--json", "run", "--team", "coder=2", "--team", "code_reviewer"]).exits(1);
    signal(watch.id(), "-TERM");
    watch.wait().expect("it ends");
    assert_eq!(world.row("t2")["status"], "MERGED", "a looping agent stops no other agent: {}", ran.stdout);
    let looper = out(&world, "looper").trim().to_owned();
    let done = interventions_for(&world, &looper);
    assert_eq!(actions(&done), [("nudge", "infinite_loop"), ("halt", "infinite_loop")], "{done:?}");
    let evidence = done[1]["evidence"].to_string();
    assert!(evidence.contains("times in a row with the same arguments"), "{evidence}");
    // The work is kept, and the block says why the agent was halted and what to answer.
    let task = world.show("t1");
    assert_eq!(task["status"], "BLOCKED");
    let reason = task["blocked_reason"].as_str().unwrap();
    assert!(reason.starts_with("halted by the overseer (infinite_loop): "), "{reason}");
    assert!(
        reason.contains("times in a row") && reason.contains("t1.txt, kept as refs/liza/wip/t1/1"),
        "{reason}"
    );
    assert!((1..=3).contains(&task["blocked_questions"].as_array().unwrap().len()));
    assert_eq!(task["failed_by"], json!([looper]));
    assert_eq!(world.git(&["show", "refs/liza/wip/t1/1:t1.txt"]), "draft");
    // The agent, the planner and the person got their messages.
    let state = world.state();
    for line in ["role:planner", "type: nudge", "type: halt", "type: escalate"] {
        assert!(state.contains(line), "{line}");
    }
    // The journal holds each with its evidence, in one record.
    let log = world.json(&HUMAN, &["log", "-n", "500"]).ok().data();
    let records = log["records"].as_array().unwrap();
    let acts: Vec<&Value> =
        records.iter().filter(|record| record.to_string().contains("\"intervene\"")).collect();
    assert_eq!(acts.len(), 2, "{acts:?}");
    assert!(acts[1].to_string().contains("with the same arguments"), "{}", acts[1]);
    assert!(
        !world.path(&format!(".liza/overseer/{looper}.json")).exists(),
        "what was seen of it goes with it"
    );
    assert!(agents_of(&world).is_empty());
    world.sound();
}

/// Only heartbeats and tokens: an agent that seems to work.
pub const STANDS_STILL: &str = r#"
case "$LIZA_ROLE" in
  coder)
    i=0
    until [ -e $OUT/go ]; do
      i=$((i+1)); says $i 500 Read "file $i"; liza agent heartbeat > /dev/null; sleep 0.02
    done ;;
esac
"#;

#[test]
fn stagnation_is_nudged_then_asks_a_person() {
    let world = overseen(
        &format!("{STANDS_STILL}\n{EVERY_ROLE}"),
        "stagnation_token_threshold: 20, nudge_cooldown_seconds: 600, halt_on_critical: false",
        &format!("watch: {{ notify: 'echo \"$LIZA_ALERT_TEXT\" >> {{OUT}}/notified' }}\n{NO_LIMITS}"),
    );
    let text = world.read("liza.yaml").replace("{OUT}", &world.home().join("out").display().to_string());
    world.write("liza.yaml", &text);
    add(&world, "t1");
    let child = start(&world, &["--json", "run", "--team", "coder", "--team", "code_reviewer"]);
    until("it is flagged", || !interventions_for(&world, "coder-1").is_empty());
    assert_eq!(actions(&interventions_for(&world, "coder-1"))[0], ("nudge", "stagnation"));
    until("a person is asked", || world.path(".liza/ESCALATION").exists());
    assert_eq!(world.row("t1")["status"], "WORKING", "no agent is halted where liza.yaml forbids it");
    until("a person is notified", || out(&world, "notified").contains("stagnation"));
    let waiting = world.read(".liza/ESCALATION");
    assert!(
        waiting.contains("Shall `coder-1` be halted and `t1` taken from it?")
            && waiting.contains("Yes: `liza overseer halt coder-1"),
        "{waiting}"
    );
    std::fs::write(world.home().join("out/go"), "").unwrap();
    let ran = Ran::of(child.wait_with_output().expect("it ends"));
    assert_eq!(ran.exit, 0, "{}", ran.stdout);
    assert_eq!(world.row("t1")["status"], "MERGED");
    let done = interventions_for(&world, "coder-1");
    assert_eq!(actions(&done), [("nudge", "stagnation"), ("escalate", "stagnation")], "once each");
    let all = events(&ran);
    let said = |kind: &str, part: &str| {
        named(&all, kind).iter().any(|event| event["text"].as_str().is_some_and(|text| text.contains(part)))
    };
    assert!(said("notice", "needs a person's decision") && said("question", "Shall"), "{}", ran.stdout);
    let alerts = world.read(".liza/alerts.log");
    assert_eq!(alerts.lines().filter(|line| line.contains("\"kind\":\"overseer\"")).count(), 1, "{alerts}");
}

#[test]
fn a_healthy_slow_agent_is_not_touched() {
    // The agent reads, starts a long test, asks for its output again and again while the test computes, and prints all the time;
    // then it is silent during a second test. Some thirty checks, none with a result.
    let slow = r#"
case "$LIZA_ROLE" in
  coder)
    i=0; while [ $i -lt 5 ]; do i=$((i+1)); says $i 400 Read "file $i"; sleep 0.1; done
    # Sixteen of them, so that together they compute enough also where many other programs compute.
    for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
      ( j=0; while [ $j -lt 20000 ]; do j=$((j+1)); done; touch $OUT/computes-$n; until [ -e $OUT/waited ]; do :; done ) &
    done
    for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do until [ -e $OUT/computes-$n ]; do sleep 0.05; done; done
    while [ $i -lt 25 ]; do i=$((i+1)); says $i 100 Bash "tail test.log"; echo "still at it"; sleep 0.1; done
    touch $OUT/waited
    wait
    ( i=0; while [ $i -lt 5 ]; do j=0; while [ $j -lt 2000 ]; do j=$((j+1)); done; sleep 0.2; i=$((i+1)); done )
    touch $OUT/was-slow ;;
esac
"#;
    let world = overseen(
        &format!("{slow}\n{EVERY_ROLE}"),
        "stagnation_token_threshold: 5000, loop_detection_window: 4, failure_increase_threshold: 0",
        NO_LIMITS,
    );
    add(&world, "t1");
    world.liza(&HUMAN, &["--json", "run", "--team", "coder", "--team", "code_reviewer"]).ok();
    assert!(world.home().join("out/was-slow").exists());
    assert_eq!(world.row("t1")["status"], "MERGED");
    assert!(interventions_for(&world, "coder-1").is_empty(), "{:?}", interventions_for(&world, "coder-1"));
}

#[test]
fn exhausted_agent_gets_a_fresh_session() {
    let spent = r#"
case "$LIZA_ROLE" in
  coder)
    if [ ! -e $OUT/second ]; then
      touch $OUT/second
      echo half > t1.txt
      says 1 950 Bash "make test"
      sleep 0.5
      says 2 100 Bash "make test"
      sleep 600
    fi ;;
esac
"#;
    let world = overseen(
        &format!("{spent}\n{EVERY_ROLE}"),
        "token_warning_threshold: 1",
        "roles: { coder: { limits: { turns: 0, tokens: 1000, wall_seconds: 0 } } }\n",
    );
    add(&world, "t1");
    let ran = world.liza(&HUMAN, &["--json", "run", "--team", "coder", "--team", "code_reviewer"]).ok();
    assert_eq!(world.row("t1")["status"], "MERGED", "{}", ran.stdout);
    let all_events = events(&ran);
    let handed_off = named(&all_events, "handed_off");
    assert_eq!(handed_off.len(), 1, "{}", ran.stdout);
    assert!(handed_off[0]["text"].as_str().is_some_and(|text| text.contains("tokens")), "{handed_off:?}");
    let done = interventions_for(&world, "coder-1");
    assert!(actions(&done).iter().all(|(_, behaviour)| *behaviour == "token_exhaustion"), "{done:?}");
    assert!(world.show("t1")["failed_by"].as_array().is_none_or(Vec::is_empty), "that is no failure");
    assert_eq!(world.git(&["show", "refs/liza/wip/t1/1:t1.txt"]), "half");
}

#[test]
fn agent_is_not_judged_during_a_pause() {
    let script = r#"
case "$LIZA_ROLE" in
  coder)
    touch $OUT/up
    until [ -e $OUT/loop ]; do sleep 0.02; done
    i=0; while [ $i -lt 40 ]; do i=$((i+1)); says $i 10 Bash "make test"; sleep 0.05; done
    touch $OUT/looped
    until [ -e $OUT/go ]; do sleep 0.02; done ;;
esac
"#;
    let world = overseen(&format!("{script}\n{EVERY_ROLE}"), "loop_detection_window: 3", NO_LIMITS);
    add(&world, "t1");
    let child = start(&world, &["--json", "run", "--team", "coder", "--team", "code_reviewer"]);
    until("it works", || world.home().join("out/up").exists());
    world.human(&["pause", "--reason", "lunch"]).ok();
    let touch = |name: &str| std::fs::write(world.home().join("out").join(name), "").unwrap();
    touch("loop");
    until("it has looped", || world.home().join("out/looped").exists());
    assert!(interventions_for(&world, "coder-1").is_empty(), "{:?}", interventions_for(&world, "coder-1"));
    touch("go");
    world.human(&["resume"]).ok();
    let ran = Ran::of(child.wait_with_output().expect("it ends"));
    assert_eq!(ran.exit, 0, "{}", ran.stdout);
    // The same again with the overseer switched off.
    let text = world.read("liza.yaml").replace("overseer: {", "overseer: { enabled: false,");
    world.write("liza.yaml", &text);
    add(&world, "t2");
    let _ = std::fs::remove_dir_all(world.path(".liza/overseer"));
    world.liza(&HUMAN, &["--json", "run", "--team", "coder", "--team", "code_reviewer"]).ok();
    assert!(interventions_for(&world, "coder-1").is_empty());
    assert!(!world.path(".liza/overseer").exists(), "nothing is even written down");
}

#[test]
fn next_watcher_reports_killed_watchers_decision() {
    let world = overseen(
        STANDS_STILL,
        "stagnation_token_threshold: 20, nudge_cooldown_seconds: 600, halt_on_critical: false",
        NO_LIMITS,
    );
    add(&world, "t1");
    let mut runner = start(&world, &["agent", "run", "--role", "coder"]);
    let mut watch = world.liza_command(&HUMAN, &world.root, &["watch"]);
    watch.env("LIZA_CRASH_AT", "overseer.ordered").stdout(Stdio::null()).stderr(Stdio::null());
    let status = watch.start().expect("liza starts").wait().expect("it ends");
    assert!(!status.success(), "it was killed");
    assert!(!world.path(".liza/ESCALATION").exists());
    let done = interventions_for(&world, "coder-1");
    assert_eq!(
        actions(&done),
        [("nudge", "stagnation"), ("escalate", "stagnation")],
        "what was done is whole"
    );
    world.human(&["watch", "--once"]).ok();
    assert!(world.read(".liza/ESCALATION").contains("coder-1"));
    world.human(&["resume"]).ok();
    world.human(&["watch", "--once"]).ok();
    assert!(!world.path(".liza/ESCALATION").exists(), "and the person is not asked twice");
    let done = interventions_for(&world, "coder-1");
    assert_eq!(
        actions(&done)[2..],
        [("nudge", "stagnation")],
        "resume is the answer no, and nothing follows it"
    );
    signal(runner.id(), "-TERM");
    runner.wait().expect("it ends");
    world.sound();
}

#[test]
fn halted_reviewer_is_replaced_by_another() {
    let script = r#"
case "$LIZA_ROLE" in
  code_reviewer)
    if [ ! -e $OUT/stuck ]; then echo "$LIZA_AGENT_ID" > $OUT/stuck; sleep 600; fi ;;
esac
"#;
    let world = overseen(&format!("{script}\n{EVERY_ROLE}"), "nudge_cooldown_seconds: 600", NO_LIMITS);
    add(&world, "t1");
    let child = start(&world, &["--json", "run", "--team", "coder", "--team", "code_reviewer=2"]);
    until("a reviewer is stuck", || !out(&world, "stuck").is_empty());
    let stuck = out(&world, "stuck").trim().to_owned();
    until("its runner looks at it", || {
        let data = world.json(&HUMAN, &["overseer"]).ok().data();
        data["agents"]
            .as_array()
            .is_some_and(|all| all.iter().any(|one| one["agent"] == stuck && one["last"].is_object()))
    });
    let data = world.json(&HUMAN, &["overseer", "halt", &stuck, "--reason", "it only sleeps"]).ok().data();
    assert_eq!((&data["action"], &data["task"]), (&json!("halt"), &json!("t1")), "{data}");
    let ran = Ran::of(child.wait_with_output().expect("it ends"));
    assert_eq!(ran.exit, 0, "{}", ran.stdout);
    assert_eq!(world.row("t1")["status"], "MERGED");
    assert_eq!(named(&events(&ran), "halted").len(), 1, "{}", ran.stdout);
    let reviews = world.show("t1")["reviews"].clone();
    assert!(!reviews[0].to_string().contains(&stuck), "another reviewer gave the verdict: {reviews}");
    assert!(agents_of(&world).is_empty());
}

#[test]
fn halted_planner_session_alerts_a_person() {
    let script = "case $LIZA_ROLE in planner) touch $OUT/up; sleep 600;; esac";
    let world = overseen(script, "nudge_cooldown_seconds: 1", "");
    let mut runner = start(&world, &["--json", "agent", "run", "--role", "planner"]);
    until("it plans", || world.home().join("out/up").exists());
    let first = agents_of(&world);
    world.human(&["overseer", "halt", "planner-1", "--reason", "it sleeps"]).ok();
    // The runner may start the next session at once.
    until("its session is ended", || !agents_of(&world).iter().any(|pid| first.contains(pid)));
    assert!(runner.try_wait().expect("a child").is_none(), "the runner goes on");
    world.human(&["watch", "--once"]).ok();
    let alerts = world.read(".liza/alerts.log");
    assert!(
        alerts.contains("planner-1 was halted (reported); the planner starts again only for a new event"),
        "{alerts}"
    );
    signal(runner.id(), "-TERM");
    runner.wait().expect("it ends");
}

#[test]
fn overseer_shows_liveness_and_alarm_distance() {
    let world = overseen(LOOPS, "nudge_cooldown_seconds: 600", NO_LIMITS);
    let text = world.human(&["overseer"]).ok().stdout;
    assert!(text.contains("no agent is registered"), "{text}");
    add(&world, "t1");
    let mut runner = start(&world, &["agent", "run", "--role", "coder"]);
    // No watcher runs: `liza overseer` needs none.
    let found = || {
        let data = world.json(&HUMAN, &["overseer"]).ok().data();
        data["agents"].as_array().and_then(|all| all.first().cloned()).unwrap_or_default()
    };
    let mut seen = Value::Null;
    until("something is the matter", || {
        seen = found();
        !seen["detections"].as_array().is_none_or(Vec::is_empty)
    });
    assert_eq!((&seen["task"], &seen["liveness"]["grade"]), (&json!("t1"), &json!("live")), "{seen}");
    assert!(!seen["liveness"]["because"].as_array().unwrap().is_empty());
    assert_eq!(seen["detections"][0]["behaviour"], "infinite_loop");
    assert_eq!(seen["last"]["files_modified"], 1, "{seen}");
    assert!(
        seen["last"]["output_bytes"].as_u64().unwrap() > 0 && seen["last"]["processes"].as_u64().unwrap() > 0
    );
    let revision = world.revision();
    let text = world.human(&["overseer"]).ok().stdout;
    assert!(text.contains("the overseer is not running: start `liza watch`"), "{text}");
    assert!(!text.contains("progress"), "for a looping agent that would be misleading: {text}");
    let text = world.human(&["overseer", "--explain", "coder-1"]).ok().stdout;
    for part in ["coder-1", "infinite_loop", "last call", "Bash (", "distance to each alarm", "scope_creep"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(world.revision(), revision, "looking changes nothing");
    let mode = std::os::unix::fs::MetadataExt::mode(
        &std::fs::metadata(world.path(".liza/overseer/coder-1.json")).expect("a file"),
    );
    assert_eq!(mode & 0o777, 0o600);
    let data = world.json(&HUMAN, &["overseer", "nudge", "coder-1", "--reason", "stop it"]).ok().data();
    assert_eq!((&data["behaviour"], &data["task"]), (&json!("reported"), &json!("t1")));
    world.refused(&HUMAN, &["overseer", "nudge", "coder-9", "--reason", "x"], 1, "refused.unknown_agent");
    let wrong = world.json(&HUMAN, &["overseer", "halt", "coder-1", "--reason", "x", "--behaviour", "lazy"]);
    assert_eq!(wrong.exit, 2);
    // Its runner dies: a dead session is not judged, and there is nothing to end.
    signal(runner.id(), "-KILL");
    runner.wait().expect("it ends");
    until("nothing is left", || agents_of(&world).is_empty());
    assert!(found()["detections"].as_array().is_some_and(Vec::is_empty));
    world.refused(&HUMAN, &["overseer", "halt", "coder-1", "--reason", "x"], 1, "refused.transition");
    let text = world.human(&["overseer", "nudge", "coder-1", "--reason", "x"]).ok().stdout;
    assert!(text.contains("the runner of coder-1 has ended"), "{text}");
    // An agent without the right to halt is refused before anything else is checked.
    let other = world.register("coder", "coder-7");
    let refused = world.json(&other, &["overseer", "halt", "coder-1", "--reason", "x"]);
    assert_eq!(refused.json()["error"]["code"], "refused.role", "{}", refused.stdout);
    // `doctor --fix` removes the old observations.
    let left = world.path(".liza/overseer/coder-1.json");
    let file = std::fs::File::options().write(true).open(&left).expect("it is left");
    file.set_modified(std::time::SystemTime::now() - std::time::Duration::from_secs(600)).expect("its time");
    world.human(&["doctor", "--fix"]);
    assert!(!left.exists());
}

#[test]
fn halt_keeps_work_beside_nested_repository() {
    let script = r#"
case "$LIZA_ROLE" in
  coder) git init -q fixture; echo inside > fixture/x; echo precious > t1.txt; touch $OUT/up; sleep 600 ;;
esac
"#;
    let world = overseen(script, "nudge_cooldown_seconds: 600", NO_LIMITS);
    add(&world, "t1");
    let mut runner = start(&world, &["--json", "agent", "run", "--role", "coder"]);
    until("it works", || world.home().join("out/up").exists());
    world.human(&["overseer", "halt", "coder-1", "--reason", "enough"]).ok();
    until("its task is blocked", || world.row("t1")["status"] == "BLOCKED");
    signal(runner.id(), "-TERM");
    runner.wait().expect("it ends");
    assert_eq!(world.git(&["show", "refs/liza/wip/t1/1:t1.txt"]), "precious");
    let reason = world.show("t1")["blocked_reason"].to_string();
    assert!(reason.contains("kept as refs/liza/wip/t1/1"), "{reason}");
    assert!(reason.contains("only in the worktree, not kept: ") && reason.contains("fixture/"), "{reason}");
}

#[test]
fn forged_observations_halt_no_agent() {
    let script = r#"
case "$LIZA_ROLE" in
  coder) touch $OUT/up; until [ -e $OUT/go ]; do sleep 0.02; done ;;
esac
"#;
    // Its runner observes once an hour, so these observations come from another process.
    let world = overseen(&format!("{script}\n{EVERY_ROLE}"), "nudge_cooldown_seconds: 0", NO_LIMITS);
    let slow = world.read("liza.yaml").replace("check_interval_seconds: 0.1", "check_interval_seconds: 3600");
    world.write("liza.yaml", &slow);
    add(&world, "t1");
    let runner = start(&world, &["--json", "agent", "run", "--role", "coder", "--once"]);
    until("it works", || world.home().join("out/up").exists());
    let quick = slow
        .replace("check_interval_seconds: 3600", "check_interval_seconds: 0.05, loop_detection_window: 2");
    world.write("liza.yaml", &quick);
    let mut number = 0;
    until("the board says that it is halted", || {
        number += 1;
        forge(&world, number);
        world.human(&["watch", "--once"]).ok();
        actions(&interventions_for(&world, "coder-1")).last() == Some(&("halt", "infinite_loop"))
    });
    std::fs::write(world.home().join("out/go"), "").unwrap();
    let ran = Ran::of(runner.wait_with_output().expect("it ends"));
    let all_events = events(&ran);
    let notices = named(&all_events, "notice");
    assert!(
        notices
            .iter()
            .any(|event| event["text"].as_str().is_some_and(|text| text.contains("do not support it"))),
        "{}",
        ran.stdout
    );
    assert!(named(&events(&ran), "halted").is_empty(), "{}", ran.stdout);
    assert_eq!(world.row("t1")["status"], "READY_FOR_REVIEW", "{}", ran.stdout);
}

/// Forged observations that would halt coder-1.
fn forge(world: &World, number: u64) {
    let heartbeat = world.json(&HUMAN, &["agent", "list"]).ok().data()["agents"][0]["heartbeat"].clone();
    let looks: Vec<Value> = (1..=5)
        .map(|at| {
            let count = number * 100 + at * 10;
            json!({
                "agent": "coder-1", "incarnation": 1, "role": "coder", "session": 1, "task": "t1", "epoch": 1,
                "time": heartbeat, "started_at": heartbeat, "elapsed_seconds": number + at * 10, "turns": count,
                "tool_calls": count, "repeated_calls": count, "tokens": count, "last_tool": "Bash",
                "last_call": "Bash#00", "output_bytes": count, "tree": "t0", "tree_seen_at": heartbeat,
                "board_mark": "b", "processes": 1,
            })
        })
        .collect();
    std::fs::create_dir_all(world.path(".liza/overseer")).expect("a directory");
    world.write(".liza/overseer/coder-1.json", &json!({ "snapshots": looks }).to_string());
}
