//! Gates that are ended early: by a switch, by a signal, or because the command that started them dies.

use std::process::Stdio;

use serde_json::json;

use crate::support::process::{Bounded as _, Running};
use crate::support::{HUMAN, Ran, World};

use super::{alive, marker, until, with_gates};

/// A board whose gate runs until it is ended, and the word that identifies its processes.
fn endless() -> (World, String) {
    let world = with_gates(json!([]));
    let word = marker(&world, "endless");
    let deaf = format!("sh -c 'trap \"\" TERM INT HUP; while :; do sleep 1; done' {word}");
    let command =
        format!("test ! -e '{}' || exit 0; setsid {deaf} & {deaf}", world.home().join("calm").display());
    super::configure(&world, json!([{ "name": "endless", "command": command }]));
    (world, word)
}

fn started(world: &World, word: &str) -> Running {
    let args = ["--json", "gate", "run", "--tree", "main", "--fresh"];
    let mut command = world.liza_command(&HUMAN, &world.root, &args);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).start().unwrap();
    until("the gate runs", || alive(word).len() >= 2);
    child
}

fn signal(child: &Running, name: &str) {
    let done =
        std::process::Command::new("kill").args([name, &child.id().to_string()]).finish_status().unwrap();
    assert!(done.success());
}

fn ended(child: Running) -> Ran {
    Ran::of(child.wait_with_output().unwrap())
}

/// The next run finds a usable worktree.
fn works_again(world: &World) {
    std::fs::write(world.home().join("calm"), "").unwrap();
    world.human(&["gate", "run", "--tree", "main", "--fresh"]).ok();
    assert_eq!(super::places(world), ["1"]);
    world.sound();
}

#[test]
fn abort_ends_a_running_gate() {
    let (world, word) = endless();
    let child = started(&world, &word);
    world.human(&["pause", "--reason", "looking"]).ok();
    assert!(alive(&word).len() >= 2);
    world.human(&["abort", "--reason", "wrong goal"]).ok();
    let ran = ended(child).exits(5);
    assert_eq!(ran.code(), "switch.set");
    assert!(ran.stdout.contains("wrong goal"), "{}", ran.stdout);
    assert_eq!(alive(&word), Vec::<String>::new());
    world.refused(&HUMAN, &["gate", "run", "--tree", "main"], 5, "switch.set");
    world.human(&["resume"]).ok();
    works_again(&world);
}

#[test]
fn pause_does_not_stop_gates() {
    let world = with_gates(json!([{ "name": "fine", "command": "true" }]));
    world.human(&["pause"]).ok();
    world.human(&["gate", "run", "--tree", "main"]).ok();
}

#[test]
fn signal_ends_gate_and_its_processes() {
    for (name, code, exit) in [
        ("-INT", "signal.interrupted", 130),
        ("-TERM", "signal.terminated", 143),
        ("-HUP", "signal.hangup", 129),
    ] {
        let (world, word) = endless();
        let child = started(&world, &word);
        signal(&child, name);
        let ran = ended(child).exits(exit);
        assert_eq!(ran.code(), code, "{name}");
        assert_eq!(alive(&word), Vec::<String>::new(), "{name}");
        works_again(&world);
    }
}

#[test]
fn signal_ends_the_wait_for_a_retry() {
    let world = with_gates(json!([]));
    let count = world.home().join("count");
    let command = format!("echo x >> '{}'; kill -9 $$", count.display());
    super::configure(&world, json!([{ "name": "shot", "command": command }]));
    let args = ["--json", "gate", "run", "--tree", "main"];
    let mut command = world.liza_command(&HUMAN, &world.root, &args);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).start().unwrap();
    until("it was tried", || count.exists());
    signal(&child, "-TERM");
    assert_eq!(ended(child).exits(143).code(), "signal.terminated");
}

#[test]
fn killed_gate_run_leaves_no_process() {
    let (world, word) = endless();
    let child = started(&world, &word);
    signal(&child, "-KILL");
    ended(child);
    until("all of the gate is gone", || alive(&word).is_empty());
    works_again(&world);
}
