//! Checkpoint and submit as commands. Their checks are tested in src/flow/tests/checkpoint_submit.rs.

use serde_json::json;

use crate::support::{HUMAN, Who, World, checkpoint_args, paths, write};

/// A claimed task that may change `a.sh`, `docs/` but not `docs/secret/`, and `tests/`.
fn claimed() -> (World, Who, std::path::PathBuf) {
    let world = World::new();
    let coder = world.register("coder", "coder-1");
    world.task_with("t1", &["a.sh", "docs/", "tests/"], &["--out", "docs/secret/"]);
    let worktree = world.claim(&coder, "t1");
    (world, coder, worktree)
}

fn good() -> Vec<&'static str> {
    checkpoint_args("t1", &["a.sh", "tests/test_a.sh"], "echo ok", "ok")
}

#[test]
fn claim_prints_everything_the_agent_needs() {
    let world = World::new();
    let coder = world.register("coder", "coder-1");
    world.task("t1", &["a.sh"]);
    let data = world.json(&coder, &["task", "claim", "t1"]).ok().data();
    assert_eq!(
        (&data["task"], &data["epoch"], &data["branch"]),
        (&json!("t1"), &json!(1), &json!("task/t1"))
    );
    assert_eq!(data["base_commit"], world.git(&["rev-parse", "integration"]));
    assert_eq!(data["worktree"], world.path(".worktrees/t1").to_str().unwrap());
    assert!(data["lease_expires"].as_str().unwrap().ends_with('Z'));
    let worktree = world.path(".worktrees/t1");
    assert_eq!(world.git_in(&worktree, &["rev-parse", "--abbrev-ref", "HEAD"]), "task/t1");
    assert_eq!(world.git_in(&worktree, &["status", "--porcelain"]), "");
    let list = world.git(&["worktree", "list", "--porcelain"]);
    assert!(list.contains("locked"), "{list}");
    // The main checkout shows the file as untracked.
    assert!(!world.git(&["status", "--porcelain"]).contains("worktrees"));
}

#[test]
fn checkpoint_can_be_read_from_yaml_or_json() {
    let (world, coder, _) = claimed();
    let yaml = "intent: greet accepts a name\nassumptions:\n  - {text: sh is there, critical: true}\nrisks: none, stdlib\nvalidation: {command: echo ok, expect: ok}\nfiles_to_modify: [a.sh, tests/test_a.sh]\n";
    world.json_stdin(&coder, &["task", "checkpoint", "t1", "--from", "-"], yaml).ok();
    let (other, second) = (World::new(), "coder-2");
    let coder = other.register("coder", second);
    other.task("t1", &["a.sh"]);
    other.claim(&coder, "t1");
    let text = json!({ "intent": "greet accepts a name", "assumptions": [], "risks": "none at all", "validation": {
        "command": "echo ok", "expect": "ok" }, "files_to_modify": ["a.sh"] });
    other.json_stdin(&coder, &["task", "checkpoint", "t1", "--from", "-"], &text.to_string()).ok();
    let ran =
        other.json_stdin(&coder, &["task", "checkpoint", "t1", "--from", "-"], "intent: x\nvibes: good\n");
    assert_eq!(ran.exits(2).code(), "usage.input");
}

#[test]
fn checkpoint_passes_after_work_is_put_aside() {
    let (world, coder, worktree) = claimed();
    write(&worktree, "a.sh", "early\n");
    world.refused(&coder, &good(), 1, "refused.checkpoint_late");
    world.git_in(&worktree, &["stash", "-q", "-u"]);
    world.liza(&coder, &good()).ok();
    world.git_in(&worktree, &["stash", "pop", "-q"]);
    assert_eq!(std::fs::read_to_string(worktree.join("a.sh")).unwrap(), "early\n");
    // Changed file times do not matter.
    let (world, coder, _) = claimed();
    world.json_env(&coder, &good(), &[("LIZA_TEST_WALL_SHIFT", "-86400")]).ok();
}

/// Without arguments, the error lists every missing part with its flag.
#[test]
fn weak_checkpoint_names_every_missing_flag() {
    let (world, coder, _) = claimed();
    let error = world.refused(&coder, &["task", "checkpoint", "t1"], 1, "refused.checkpoint_weak");
    let weak = error["details"]["weak"].to_string();
    for part in ["intent", "risks", "--validate", "--expect", "--file"] {
        assert!(weak.contains(part), "{part}: {weak}");
    }
    let mut four = good();
    for text in ["one", "two", "three", "four"] {
        four.extend(["--assume-critical", text]);
    }
    four.extend(["--assume", "harmless"]);
    let data = world.json(&coder, &four).ok().data();
    assert_eq!((&data["status"], &data["critical_assumptions"]), (&json!("BLOCKED"), &json!(4)));
}

#[test]
fn submit_names_paths_and_renew_needs_the_lease() {
    let (world, coder, worktree) = claimed();
    world.refused(&HUMAN, &["task", "renew", "t1"], 3, "stale.lease_lost");
    world.liza(&coder, &["task", "renew", "t1"]).ok();
    world.refused(&coder, &["task", "submit", "t1"], 1, "refused.checkpoint_missing");
    world.liza(&coder, &good()).ok();
    let commit = world
        .write_and_commit(&worktree, &[("a.sh", "x\n"), ("tests/test_a.sh", "x\n"), ("src/x.sh", "x\n")]);
    let error = world.refused(&coder, &["task", "submit", "t1"], 1, "refused.scope");
    assert!(paths(&error)[0].starts_with("src/x.sh"), "{error}");
    world.git_in(&worktree, &["rm", "-q", "-r", "src"]);
    world.git_in(&worktree, &["commit", "-q", "-m", "out again"]);
    let data = world.json(&coder, &["task", "submit", "t1"]).ok().data();
    assert_eq!(data["files"], json!(["a.sh", "tests/test_a.sh"]));
    assert_ne!(data["review_commit"], commit);
    assert_eq!(data["validation"]["output_matched"], true);
}
