//! Disturbed runs: pipes held by other processes, agent ids in use by hand, boards that become invalid.

use std::io::{BufRead, BufReader, Lines};
use std::process::ChildStdout;

use serde_json::json;

use super::*;
use crate::support::process::Bounded as _;

/// The arguments of a run with one coder and one reviewer.
const PAIR: [&str; 6] = ["--json", "run", "--team", "coder", "--team", "code_reviewer"];

/// The output of a run while it runs.
fn output_lines(child: &mut Running) -> Lines<BufReader<ChildStdout>> {
    BufReader::new(child.stdout.take().expect("a pipe")).lines()
}

/// Reads until this text appears.
#[track_caller]
fn read_until(lines: &mut Lines<BufReader<ChildStdout>>, text: &str) {
    let mut before = String::new();
    for line in lines.map_while(Result::ok) {
        if line.contains(text) {
            return;
        }
        before.push_str(&line);
        before.push('\n');
    }
    panic!("it ended without `{text}`: {before}");
}

/// The rest of the output.
fn to_the_end(child: &mut Running, lines: Lines<BufReader<ChildStdout>>) -> (Option<i32>, String) {
    let rest: Vec<String> = lines.map_while(Result::ok).collect();
    (child.wait().expect("it ends").code(), rest.join("\n"))
}

fn last_of(said: &str) -> Value {
    serde_json::from_str(said.lines().last().unwrap_or_default()).unwrap_or_default()
}

fn runner_of(world: &World, agent: &str) -> Option<u32> {
    let agents = world.json(&HUMAN, &["agent", "list"]).ok().data();
    let row = agents["agents"].as_array()?.iter().find(|row| row["id"] == agent)?.clone();
    row["runner"].as_u64().and_then(|pid| u32::try_from(pid).ok())
}

#[test]
fn second_signal_ends_run_with_stopped_runner() {
    let world = scripted("touch $OUT/up; sleep 600");
    add(&world, "t1");
    let child = start_quickly(&world, &PAIR);
    until("an agent works", || world.home().join("out/up").exists());
    let runner = runner_of(&world, "coder-1").expect("a runner");
    signal(runner, "-STOP");
    signal(child.id(), "-INT");
    signal(child.id(), "-TERM");
    let ran = Ran::of(child.wait_with_output().expect("it ends"));
    assert!(ran.exit == 130 || ran.exit == 143, "{} {}", ran.exit, ran.stdout);
    until("nothing is left", || agents_of(&world).is_empty());
}

#[test]
fn run_spares_processes_started_before_it() {
    let world = scripted(EVERY_ROLE);
    add(&world, "t1");
    let canary = world.home().join("server-of-this-test");
    let liza = world.liza_command(&HUMAN, &world.root, &PAIR);
    let mut words = vec![liza.get_program().to_owned()];
    words.extend(liza.get_args().map(|arg| arg.to_owned()));
    let mut command = std::process::Command::new("bash");
    let script = format!("CANARY={} sleep 600 > /dev/null 2>&1 & exec \"$@\"", canary.display());
    command.arg("-c").arg(script).arg("bash").args(words).current_dir(&world.root);
    for (name, value) in liza.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let ran = Ran::of(command.finish().expect("it runs"));
    let left = processes_with(&format!("CANARY={}", canary.display()));
    for pid in &left {
        signal(*pid, "-KILL");
    }
    assert_eq!(ran.exit, 0, "{}", ran.stdout);
    assert_eq!(left.len(), 1, "{}", ran.stdout);
}

#[test]
fn unwritable_checkpoint_summary_stops_no_run() {
    let world = scripted(&format!(
        "case $LIZA_ROLE in coder) touch $OUT/up; until [ -e $OUT/go ]; do sleep 0.05; done;; esac\n{EVERY_ROLE}"
    ));
    add(&world, "t1");
    let reports = world.path(".liza/reports");
    let _ = std::fs::remove_dir_all(&reports);
    std::fs::write(&reports, "in the way").unwrap();
    let mut child = start(&world, &PAIR);
    let mut lines = output_lines(&mut child);
    until("an agent works", || world.home().join("out/up").exists());
    std::fs::write(world.path(".liza/CHECKPOINT"), "").unwrap();
    read_until(&mut lines, "could not write the summary");
    std::fs::remove_file(world.path(".liza/CHECKPOINT")).unwrap();
    std::fs::write(world.home().join("out/go"), "").unwrap();
    let (exit, said) = to_the_end(&mut child, lines);
    assert_eq!(exit, Some(0), "{said}");
    let data = last_of(&said)["data"].clone();
    assert_eq!((&data["outcome"], &data["report"]), (&json!("complete"), &json!(null)), "{data}");
    assert_eq!(world.row("t1")["status"], "MERGED");
}

#[test]
fn run_with_abandoned_tasks_ends_stuck() {
    let world = scripted(EVERY_ROLE);
    add(&world, "t1");
    world.human(&["task", "abandon", "t1", "--reason", "not needed"]).ok();
    let ran = world.liza(&HUMAN, &PAIR).exits(1);
    let said = answer(&ran);
    assert_eq!((&said["ok"], &said["error"]["code"]), (&json!(false), &json!("refused.stuck")), "{said}");
    assert_eq!(said["data"]["outcome"], "stuck");
    assert!(
        said["data"]["causes"][0]["why"].as_str().unwrap().contains("everything was abandoned"),
        "{said}"
    );
    let text = world.human(&PAIR[1..]).exits(1).stdout;
    assert!(text.contains("no task can proceed without a person:\n  everything was abandoned"), "{text}");
}

#[test]
fn agent_run_by_hand_keeps_token_and_worktree() {
    let world = scripted(EVERY_ROLE);
    let me = world.register("coder", "coder-1");
    add(&world, "t1");
    add(&world, "t2");
    world.json(&me, &["task", "claim", "t1"]).ok();
    let mut child = start(&world, &PAIR);
    let mut lines = output_lines(&mut child);
    read_until(&mut lines, "\"waiting\"");
    assert_eq!(
        (&world.row("t1")["status"], &world.row("t2")["status"]),
        (&json!("WORKING"), &json!("MERGED"))
    );
    // The token is still valid.
    world.json(&me, &["task", "renew", "t1"]).ok();
    world.json(&me, &["task", "release", "t1"]).ok();
    let (exit, said) = to_the_end(&mut child, lines);
    assert_eq!(exit, Some(0), "{said}");
    assert!(!said.contains("\"agent\":\"coder-1\""), "{said}");
    // The next run uses the next free id, too.
    add(&world, "t3");
    let ran = world.liza(&HUMAN, &PAIR).ok();
    assert!(events(&ran).iter().any(|event| event["agent"] == "coder-2"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("coder-3"), "{}", ran.stdout);
}

#[test]
fn team_entries_keep_their_own_provider() {
    let world = scripted("");
    let script = world.home().join("agent.sh");
    play(&world, &format!("echo $WHO >> $OUT/$LIZA_AGENT_ID\n{EVERY_ROLE}"));
    let provider = |name: &str| {
        format!("  {name}: {{ command: [sh, -c, 'WHO={name} exec sh {}'] }}\n", script.display())
    };
    world.write(
        "liza.yaml",
        &format!(
            "version: 1\nprovider: usual\nproviders:\n{}{}team:\n  - {{ role: coder, provider: special }}\n  - {{ role: coder }}\n  - {{ role: code_reviewer }}\n",
            provider("usual"),
            provider("special")
        ),
    );
    add(&world, "a");
    add(&world, "b");
    let ran = world.json(&HUMAN, &["run"]).ok();
    assert!(out(&world, "coder-1").starts_with("special"), "{}", ran.stdout);
    assert!(out(&world, "coder-2").starts_with("usual"), "{}", ran.stdout);
    // Each is checked before anything starts.
    world.write(
        "liza.yaml",
        "version: 1\nproviders: { ghost: { command: [no-such-agent] }, there: { command: [sh] } }\nteam:\n  - { role: coder, provider: there }\n  - { role: coder, provider: ghost }\n",
    );
    world.refused(&HUMAN, &["run"], 2, "usage.provider");
}

#[test]
fn single_job_is_added_only_if_team_can_run() {
    let world = scripted("");
    world.write(
        "liza.yaml",
        "version: 1\nprovider: ghost\nproviders: { ghost: { command: [no-such-agent] } }\n",
    );
    let before = world.bytes();
    world.refused(&HUMAN, &["run", "--single", "Write a greeting"], 2, "usage.provider");
    world.json(&HUMAN, &["run", "--window", "0"]).exits(2);
    let said = world.json(&HUMAN, &["run", "--team", "coder=1000000"]).exits(2).stdout;
    assert!(said.contains("1 to 64"), "{said}");
    assert!(world.bytes() == before);
}

#[test]
fn board_that_stays_broken_ends_the_run() {
    let world = scripted(EVERY_ROLE);
    let me = world.register("coder", "me");
    add(&world, "t1");
    world.json(&me, &["task", "claim", "t1"]).ok();
    let mut child = start_quickly(&world, &PAIR);
    let mut lines = output_lines(&mut child);
    read_until(&mut lines, "\"waiting\"");
    let good = world.state();
    std::fs::write(world.path(".liza/state.yaml"), "no: board\n").unwrap();
    let (exit, text) = to_the_end(&mut child, lines);
    std::fs::write(world.path(".liza/state.yaml"), good).unwrap();
    assert_eq!(exit, Some(1), "{text}");
    let said = last_of(&text);
    assert_eq!(said["error"]["code"], "refused.stuck", "{said}");
    assert!(said["data"]["causes"][0]["hint"].as_str().is_some_and(|hint| !hint.is_empty()), "{said}");
}

#[test]
fn checked_out_integration_is_reported_once() {
    let world = scripted("exit 9");
    add(&world, "t1");
    world.git(&["checkout", "-q", "integration"]);
    let ran = quickly(&world, &["--json", "run", "--team", "coder"]).exits(1);
    let all = events(&ran);
    assert!(all[0]["text"].as_str().unwrap().contains("is checked out in"), "{}", ran.stdout);
    let about = |event: &&&Value| event["text"].as_str().unwrap_or_default().contains("is checked out in");
    assert_eq!(named(&all, "notice").iter().filter(about).count(), 1, "{}", ran.stdout);
    world.git(&["checkout", "-q", "-"]);
}

#[test]
fn interrupted_planner_is_woken_again() {
    let world = scripted(&format!(
        r#"good_planner() {{
  echo x >> $OUT/planned
  [ $(wc -l < $OUT/planned) -gt 1 ] || sleep 600
  liza task add --id a --title "Task a" --spec specs/vision.md --done "it is there" --in a.txt --in tests/test_a.sh --finalize
}}
{EVERY_ROLE}"#
    ));
    configure(&world, "run: { grace_seconds: 1 }\nroles:\n  planner: { limits: { wall_seconds: 2 } }\n");
    let ran = world.json(&HUMAN, &["run"]).ok();
    assert_eq!(out(&world, "planned").lines().count(), 2, "{}", ran.stdout);
    assert_eq!(world.row("a")["status"], "MERGED");
}

#[test]
fn stopped_agents_log_is_named_once() {
    let world = scripted("echo the reason is this; exit 9");
    add(&world, "a");
    add(&world, "b");
    let text = quickly(&world, &["run", "--team", "coder"]).exits(1).stdout;
    let ending = text.split("no task can proceed without a person:").nth(1).expect("an ending");
    assert_eq!(ending.matches("has stopped").count(), 1, "{text}");
    assert!(ending.contains("a, b: ") && ending.contains("`liza agent log coder-1`"), "{text}");
}
