//! Records of gate results, and how they are shown.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::support::{HUMAN, World};

use super::{configure, with_gates};

const CARGO: &str =
    "echo 'test result: ok. 179 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.1s'";

fn three() -> Value {
    json!([
        { "name": "compile", "command": "echo built" },
        { "name": "test", "command": CARGO, "adapter": "cargo-test" },
        { "name": "replay", "command": "echo a1b2c3d4e5f60718", "adapter": "trace-hash", "expect": "a1b2c3d4e5f60718" },
    ])
}

#[test]
fn gate_file_of_task_has_documented_keys() {
    let world = with_gates(json!([]));
    let coder = world.register("coder", "coder-1");
    let commit = world.submitted(&coder, "t1", "a.txt", "a\n");
    configure(&world, three());
    let data = world.json(&coder, &["gate", "run", "t1"]).ok().data();
    assert_eq!((&data["passed"], &data["commit"]), (&json!(true), &json!(commit)));
    let mut object: Value = serde_json::from_str(&world.read(".liza/gates/t1.gate.json")).unwrap();
    assert_eq!(object["node_id"], "t1");
    assert_eq!(object["tree"], world.git(&["rev-parse", &format!("{commit}^{{tree}}")]));
    assert_eq!(object["moment"], "by_hand");
    let keys: Vec<&String> = object["gates"].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["compile", "test", "replay"]);
    for gate in object["gates"].as_object_mut().unwrap().values_mut() {
        assert!(gate["duration_ms"].is_u64());
        let log = gate["log"].as_str().unwrap().to_owned();
        assert!(log.starts_with(".liza/runs/t1/1-1/gate-by-hand-"), "{log}");
        let mode = std::fs::metadata(world.path(&log)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    assert_eq!(object["gates"]["compile"]["status"], "pass");
    assert_eq!(
        (&object["gates"]["test"]["total"], &object["gates"]["test"]["passed"]),
        (&json!(179), &json!(179))
    );
    assert_eq!(object["gates"]["replay"]["hash"], "a1b2c3d4e5f60718");

    // Running one gate alone keeps the results of the others on the same tree, in order.
    world.human(&["gate", "run", "t1", "--gate", "test", "--fresh"]).ok();
    let object: Value = serde_json::from_str(&world.read(".liza/gates/t1.gate.json")).unwrap();
    let keys: Vec<&String> = object["gates"].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["compile", "test", "replay"]);
    let shown = world.json(&HUMAN, &["gate", "show", "t1"]).ok().data();
    assert_eq!(shown, object);
    let text = world.human(&["gate", "show", "t1"]).ok().stdout;
    assert!(text.contains("test           pass          179 of 179"), "{text}");
    let log = world.human(&["gate", "show", "t1", "--log", "compile"]).ok().stdout;
    assert_eq!(log, "$ echo built\nbuilt\n");
    private(&world);
    world.sound();
}

/// Only the owner may read files below `.liza`.
fn private(world: &World) {
    let mut looked_at = 0;
    let mut left = vec![world.path(".liza/gates"), world.path(".liza/locks")];
    while let Some(path) = left.pop() {
        let mode = std::fs::symlink_metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{}", path.display());
        looked_at += 1;
        if path.is_dir() {
            left.extend(std::fs::read_dir(&path).unwrap().flatten().map(|entry| entry.path()));
        }
    }
    assert!(looked_at > 4, "{looked_at}");
}

#[test]
fn gate_run_on_a_tree_has_own_file_and_logs() {
    let world = with_gates(three());
    world.human(&["gate", "run", "--tree", "main"]).ok();
    let tree = world.git(&["rev-parse", "main^{tree}"]);
    let object: Value =
        serde_json::from_str(&world.read(&format!(".liza/gates/tree-{}.gate.json", &tree[..12]))).unwrap();
    assert!(object.get("node_id").is_none());
    assert_eq!(object["gates"]["test"]["log"], format!(".liza/gates/logs/{}-test.log", &tree[..12]));
    let shown = world.json(&HUMAN, &["gate", "show", "--tree", "main"]).ok().data();
    assert_eq!(shown, object);
}

#[test]
fn gate_output_is_shown_escaped() {
    let world =
        with_gates(json!([{ "name": "rude", "command": "printf '\\033[31mred\\033[2J\\007\\n'; exit 1" }]));
    world.human(&["gate", "run", "--tree", "main"]).exits(7);
    let shown = world.human(&["gate", "show", "--tree", "main", "--log", "rude"]).ok().stdout;
    assert!(shown.contains("red") && !shown.contains('\u{1b}') && !shown.contains('\u{7}'), "{shown:?}");
    // A tampered record that points to another path opens no file.
    let tree = world.git(&["rev-parse", "main^{tree}"]);
    let path = format!(".liza/gates/tree-{}.gate.json", &tree[..12]);
    for away in ["/etc/passwd", ".liza/../liza.yaml", "liza.yaml"] {
        let mut object: Value = serde_json::from_str(&world.read(&path)).unwrap();
        object["gates"]["rude"]["log"] = json!(away);
        world.write(&path, &object.to_string());
        world.refused(&HUMAN, &["gate", "show", "--tree", "main", "--log", "rude"], 9, "io.failed");
    }
}

#[test]
fn gate_run_uses_submitted_commit_or_branch() {
    let world = with_gates(json!([{ "name": "test", "command": "ls" }]));
    let coder = world.register("coder", "coder-1");
    world.task("t1", &["a.txt", "tests/"]);
    world.refused(&HUMAN, &["gate", "run", "t1"], 1, "refused.transition");
    world.refused(&HUMAN, &["gate", "run", "t2"], 1, "refused.unknown_task");
    world.refused(&HUMAN, &["gate", "show", "--tree", "main"], 1, "refused.no_results");
    world.refused(&HUMAN, &["gate", "run", "--tree", "no-such"], 2, "usage.argument");
    world.refused(&HUMAN, &["gate", "run", "--tree", "main", "--gate", "tset"], 2, "usage.gate");
    let worktree = world.claim(&coder, "t1");
    world.checkpoint(&coder, "t1", &["a.txt", "tests/test_a.sh"]);
    let head = world.write_and_commit(&worktree, &[("a.txt", "a\n"), ("tests/test_a.sh", "echo ok\n")]);
    assert_eq!(world.json(&coder, &["gate", "run", "t1"]).ok().data()["commit"], head);
    world.liza(&coder, &["task", "submit", "t1"]).ok();
    assert_eq!(world.json(&coder, &["gate", "run", "t1"]).ok().data()["commit"], head);
}

#[test]
fn gate_run_without_gates_says_how_to_add_one() {
    let world = World::new();
    std::fs::remove_file(world.path("liza.yaml")).unwrap();
    for args in [&["gate", "list"][..], &["gate", "run", "--tree", "main"]] {
        let text = world.human(args).ok().stdout;
        assert!(text.contains("no gates are configured") && text.contains("gates:\n"), "{text}");
    }
    assert_eq!(world.json(&HUMAN, &["gate", "list"]).ok().data()["gates"], json!([]));
    assert!(!world.path(".worktrees/.gates").exists());
    // The recommended example is valid.
    let text = world.human(&["gate", "list"]).ok().stdout;
    let (_, example) = text.split_once("such as\n").unwrap();
    let example: String =
        example.lines().map(|line| format!("{}\n", line.strip_prefix("  ").unwrap_or(line))).collect();
    world.write("liza.yaml", &example);
    assert_eq!(world.json(&HUMAN, &["gate", "list"]).ok().data()["gates"][0]["name"], "test");
    let text = world.human(&["gate", "list"]).ok().stdout;
    assert!(
        text.contains(
            "test           required  approve, merge         cargo-test  1800 s   cargo test --workspace"
        ),
        "{text}"
    );
}
