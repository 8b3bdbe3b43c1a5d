//! A pass is reused only for the same tree, command, settings and environment.

use serde_json::{Value, json};

use crate::support::{HUMAN, World};

use super::{configure, run_all, text_of, with_gates};

/// A gate that counts how often it runs, outside of its tree.
fn counting(world: &World, then: &str) -> Value {
    let count = world.home().join("count");
    json!([{ "name": "count", "command": format!("echo x >> '{}'; {then}", count.display()) }])
}

fn runs(world: &World) -> usize {
    text_of(&world.home().join("count")).lines().count()
}

#[test]
fn same_gate_and_tree_run_once() {
    let world = with_gates(json!([]));
    configure(&world, counting(&world, "sleep 0.2"));
    let first = run_all(&world)["gates"]["count"].clone();
    let second = run_all(&world)["gates"]["count"].clone();
    assert_eq!(runs(&world), 1);
    assert_eq!(second["reused"], true);
    assert_eq!((&first["duration_ms"], &first["log"]), (&second["duration_ms"], &second["log"]));
    // The same tree in another commit.
    world.git(&["commit", "-q", "--allow-empty", "-m", "same tree"]);
    run_all(&world);
    assert_eq!(runs(&world), 1);
    world.json(&HUMAN, &["gate", "run", "--tree", "main", "--fresh"]).ok();
    assert_eq!(runs(&world), 2);
    // Variables that gates do not get do not matter for reuse.
    let args = ["gate", "run", "--tree", "main"];
    world.json_env(&HUMAN, &args, &[("TERM", "xterm"), ("SHELL", "/bin/other"), ("SOMETHING", "else")]).ok();
    assert_eq!(runs(&world), 2);
}

#[test]
fn changed_tree_command_or_env_runs_gate_again() {
    let world = with_gates(json!([]));
    configure(&world, counting(&world, "true"));
    run_all(&world);
    world.json_env(&HUMAN, &["gate", "run", "--tree", "main"], &[("LANG", "de_DE.UTF-8")]).ok();
    assert_eq!(runs(&world), 2);
    world.write("more.txt", "x\n");
    world.commit_all("more");
    run_all(&world);
    assert_eq!(runs(&world), 3);
    configure(&world, counting(&world, ":"));
    run_all(&world);
    assert_eq!(runs(&world), 4);
    let mut gates = counting(&world, ":");
    gates[0]["environment"] = json!({ "MODE": "strict" });
    configure(&world, gates.clone());
    run_all(&world);
    run_all(&world);
    assert_eq!(runs(&world), 5);
    gates[0]["name"] = json!("other");
    configure(&world, gates.clone());
    run_all(&world);
    assert_eq!(runs(&world), 6);
    gates[0]["flaky_retries"] = json!(1);
    configure(&world, gates);
    run_all(&world);
    assert_eq!(runs(&world), 7);
}

#[test]
fn only_readable_passes_are_reused() {
    let world = with_gates(json!([]));
    configure(&world, counting(&world, "exit 1"));
    for count in 1..=2 {
        world.human(&["gate", "run", "--tree", "main"]).exits(7);
        assert_eq!(runs(&world), count);
    }
    configure(&world, counting(&world, "true"));
    run_all(&world);
    let dir = world.path(".liza/gates/cache");
    let kept = || std::fs::read_dir(&dir).unwrap().flatten().map(|entry| entry.path()).next().unwrap();
    let whole = std::fs::read(kept()).unwrap();
    let red = String::from_utf8_lossy(&whole).replace("\"pass\"", "\"fail\"");
    let elsewhere = String::from_utf8_lossy(&whole).replacen("\"key\":\"", "\"key\":\"0", 1);
    for (number, broken) in [b"".to_vec(), b"{".to_vec(), whole[..20].to_vec(), red.into(), elsewhere.into()]
        .into_iter()
        .enumerate()
    {
        std::fs::write(kept(), broken).unwrap();
        run_all(&world);
        assert_eq!(runs(&world), 4 + number);
    }
}
