//! Gates through the binary: scripts as gates, on real repositories.

mod board_access;
mod outcomes;
mod records;
mod reuse;
mod secrets;
mod stopping;
mod tampering;
mod worktree;

use std::path::Path;

use serde_json::{Value, json};

use crate::support::{HUMAN, World};

/// A board whose `liza.yaml` holds only these gates.
pub fn with_gates(gates: Value) -> World {
    let world = World::new();
    configure(&world, gates);
    world
}

pub fn configure(world: &World, gates: Value) {
    configure_with(world, gates, json!({}));
}

/// JSON is YAML, and needs no quoting by hand.
pub fn configure_with(world: &World, gates: Value, gating: Value) {
    world.write("liza.yaml", &json!({ "version": 1, "gates": gates, "gating": gating }).to_string());
}

/// Optional gates with these names and commands, which do not fail the run.
pub fn optional(commands: &[(&str, Value)]) -> Value {
    let gate =
        |(name, command): &(&str, Value)| json!({ "name": name, "command": command, "optional": true });
    commands.iter().map(gate).collect()
}

/// The results of all gates on `main`.
#[track_caller]
pub fn run_all(world: &World) -> Value {
    world.json(&HUMAN, &["gate", "run", "--tree", "main"]).ok().data()
}

/// The result of one gate on `main`, run again without reuse.
#[track_caller]
pub fn said(world: &World, name: &str) -> Value {
    let ran = world.json(&HUMAN, &["gate", "run", "--tree", "main", "--gate", name, "--fresh"]);
    ran.data()["gates"][name].clone()
}

/// The output of a gate.
#[track_caller]
pub fn log_of(world: &World, said: &Value) -> String {
    let log = said["log"].as_str().unwrap_or_else(|| panic!("no log: {said}"));
    String::from_utf8_lossy(&std::fs::read(world.path(log)).expect("a log")).into_owned()
}

/// Processes whose command line contains this word.
pub fn alive(marker: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").expect("/proc").flatten() {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        let state = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        if line.contains(marker) && !state.contains(") Z ") {
            found.push(line);
        }
    }
    found
}

/// A word that only this world's processes have, from its own paths.
pub fn marker(world: &World, word: &str) -> String {
    format!("{}-{word}", world.home().file_name().expect("a name").to_string_lossy().replace('.', "x"))
}

/// Checks repeatedly until the condition holds.
#[track_caller]
pub fn until(what: &str, holds: impl Fn() -> bool) {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while !holds() {
        assert!(std::time::Instant::now() < deadline, "still not: {what}");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

/// The private worktrees that exist.
pub fn places(world: &World) -> Vec<String> {
    let entries = std::fs::read_dir(world.path(".worktrees/.gates")).expect("places").flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

pub fn text_of(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// The refusal of a process started by a gate, as the gate's output shows it.
pub const GATE_REFUSAL: &str = "started by a gate or by git for liza; it may not change the board";
