//! Setting up gates: what `init` proposes, what `liza.yaml` accepts, and which hashes are blessed.

use serde_json::{Value, json};

use crate::support::process::Bounded as _;
use crate::support::{HUMAN, World};

const REPLAY: &str = "gates:\n  - {name: replay, command: ./replay, adapter: trace-hash, on: [], optional: true}\n  - {name: build, command: make, optional: true, on: []}\n";

#[test]
fn init_leaves_existing_liza_yaml_unchanged() {
    let world = World::bare_repo();
    world.write("Cargo.toml", "[package]\nname = \"x\"\n");
    let own = "# mine\nversion: 1\n";
    world.write("liza.yaml", own);
    let ran = world.human(&["init", "A goal"]).ok();
    assert_eq!(world.read("liza.yaml"), own);
    assert!(ran.stdout.contains("Your liza.yaml has no gates"), "{}", ran.stdout);
    let begin = ran.stdout.find("gates:\n").expect("lines to put there");
    let lines: String = ran.stdout[begin..]
        .lines()
        .take_while(|line| !line.is_empty())
        .map(|line| format!("{line}\n"))
        .collect();
    // The printed gates can be pasted into liza.yaml.
    world.write("liza.yaml", &format!("{own}{lines}"));
    let error = world.refused(&HUMAN, &bless("test", "a1b2c3d4", "x"), 1, "refused.value");
    assert!(error["message"].as_str().unwrap().contains("its adapter is cargo-test"), "{error}");
    // With gates in liza.yaml, `init` proposes none.
    let world = World::bare_repo();
    world.write("Cargo.toml", "[package]\nname = \"x\"\n");
    world.write("liza.yaml", REPLAY);
    let ran = world.json(&HUMAN, &["init", "A goal"]).ok();
    assert_eq!(ran.data()["proposed_gates"], Value::Null);
}

#[test]
fn setting_one_gate_accepts_no_other() {
    let world = World::new();
    world
        .write("liza.yaml", "gates:\n  - {name: test, command: 'true'}\n  - {name: lint, command: 'true'}\n");
    world.human(&["gate", "accept"]).ok();
    // An agent may write the file as well.
    world.write(
        "liza.yaml",
        &world.read("liza.yaml").replace("name: test, command: 'true'", "name: test, command: evil"),
    );
    let set = |key: &str, value: &str| world.json(&HUMAN, &["config", "set", key, value]).ok().data();
    let data = set("gates.lint.command", "make lint");
    assert_eq!((&data["accepted"], &data["not_accepted"]), (&json!(["lint"]), &Value::Null));
    let data = set("gating.keep", "[target]");
    assert_eq!((&data["accepted"], &data["not_accepted"]), (&json!(["lint"]), &json!(["test"])));
    let data = set("gates.test.timeout", "60");
    assert_eq!((&data["accepted"], &data["not_accepted"]), (&json!([]), &json!(["test"])));
    let ran = world.human(&["gate", "accept", "--dry-run"]).ok();
    assert!(ran.stdout.contains("evil") && !ran.stdout.contains("make lint"), "{}", ran.stdout);
    world.human(&["gate", "accept"]).ok();
    // What a person sets is accepted, for worktrees too.
    assert_eq!(set("worktrees.setup", "['true']")["accepted"], json!(["worktrees"]));
    assert_eq!(set("provider", "codex")["accepted"], json!([]));
}

#[test]
fn gate_proposal_ignores_links_and_pipes() {
    let world = World::bare_repo();
    std::os::unix::fs::symlink("/etc/passwd", world.path("Cargo.toml")).unwrap();
    let pipe = world.path("Makefile");
    assert!(world.command("mkfifo", world.path(".").as_path()).arg(&pipe).finish_status().unwrap().success());
    world.human(&["init", "A goal"]).ok();
    assert!(world.read("liza.yaml").contains("gates: []"));
}

#[test]
fn invalid_gate_is_refused_by_name() {
    let world = World::new();
    for (gates, wanted) in [
        ("[{name: a b, command: x}]", "gate `a b`: a name is"),
        ("[{name: a, command: x}, {name: A, command: x}]", "gate `A`: another gate has the same name"),
        ("[{name: a, command: ' '}]", "gate `a`: its `command` is empty"),
        ("[{name: a, command: true}]", "a command is a text for `sh -c`"),
        ("[{name: a, command: x, timeout: 0}]", "gate `a`: its `timeout`"),
        ("[{name: a, command: x, adapter: junit}]", "gate `a`: the adapter `junit` needs `report`"),
        ("[{name: a, command: x, adapter: junit, report: ../x}]", "gate `a`: report `../x`"),
        ("[{name: a, command: x, adapter: junit, report: .git/x}]", "gate `a`: report `.git/x`"),
        ("[{name: a, command: x, report: y}]", "the adapter `exit` does not use it"),
        (
            "[{name: a, command: x, adapter: cargo}]",
            "unknown variant `cargo`, expected one of `exit`, `cargo-test`",
        ),
        ("[{name: a, command: x, on: [always]}]", "`on` is `submit`, `merge`, or a list of these"),
        ("[{name: a, command: x, timeout: 1m}]", "`timeout` is a whole number of seconds"),
        ("[{name: a, command: x, retries: 2}]", "unknown field `retries`"),
        ("[{name: a, command: x, flaky_retries: 9}]", "gate `a`: `flaky_retries` is at most 3"),
        ("[{name: a, command: x, environment: {GIT_DIR: y}}]", "gate `a`: `GIT_DIR`"),
        ("[{name: \"a\\e[2J\", command: x}]", "gate `a\\u{1b}[2J`"),
    ] {
        world.write("liza.yaml", &format!("gates: {gates}\n"));
        let error = world.refused(&HUMAN, &bless("a", "a1b2c3d4", "x"), 2, "usage.config");
        let message = error["message"].as_str().unwrap();
        assert!(message.starts_with("liza.yaml: ") && message.contains(wanted), "{gates}: {message}");
        assert!(error["hint"].as_str().unwrap().contains("fix liza.yaml"), "{error}");
    }
    world.write("liza.yaml", "gating: {keep: [../elsewhere]}\n");
    let error = world.refused(&HUMAN, &bless("a", "a1b2c3d4", "x"), 2, "usage.config");
    assert!(error["message"].as_str().unwrap().contains("gating: keep `../elsewhere`"), "{error}");
}

fn bless<'a>(gate: &'a str, hash: &'a str, reason: &'a str) -> Vec<&'a str> {
    vec!["gate", "bless", gate, "--hash", hash, "--reason", reason]
}

fn bless_task<'a>(task: &'a str, hash: &'a str) -> Vec<&'a str> {
    let mut args = bless("replay", hash, "one more step");
    args.extend(["--task", task]);
    args
}

fn commit_config(world: &World, text: &str) {
    world.write("liza.yaml", text);
    world.commit_all("gates");
    world.human(&["integration", "advance", "main", "--reason", "gates"]).ok();
}

#[test]
fn board_keeps_the_hash_a_person_blesses() {
    let world = World::new();
    commit_config(&world, REPLAY);
    let data = world.json(&HUMAN, &bless("replay", "sha256:A1B2C3D4", "first trace")).ok().data();
    assert_eq!(
        (&data["gate"], &data["hash"], &data["former"]),
        (&"replay".into(), &"a1b2c3d4".into(), &Value::Null)
    );
    let state = world.state();
    assert!(state.contains("\nexpectations:\n") && state.contains("first trace"), "{state}");
    let ran = world.human(&bless("replay", "ffffffff", "another step")).ok();
    assert!(ran.stdout.contains("ffffffff, no longer a1b2c3d4"), "{}", ran.stdout);
    assert!(!world.state().contains("first trace"));
    assert!(world.human(&["log"]).ok().stdout.contains("bless_gate"));
    world.sound();
    // A repeated request is done once.
    let mut args = bless("replay", "eeeeeeee", "again");
    args.extend(["--request-id", "r1"]);
    let revision = world.json(&HUMAN, &args).ok().json()["revision"].clone();
    assert_eq!(world.json(&HUMAN, &args).ok().json()["revision"], revision);
}

#[test]
fn bless_without_a_hash_gate_is_refused() {
    let world = World::new();
    let error = world.refused(&HUMAN, &bless("replay", "a1b2c3d4", "x"), 1, "refused.value");
    assert!(error["message"].as_str().unwrap().contains("has no gate `replay`"), "{error}");
    commit_config(&world, REPLAY);
    let error = world.refused(&HUMAN, &bless("build", "a1b2c3d4", "x"), 1, "refused.value");
    assert!(error["message"].as_str().unwrap().contains("its adapter is exit"), "{error}");
    assert!(error["hint"].as_str().unwrap().contains("replay"), "{error}");
    world.refused(&HUMAN, &bless("replay", "soon", "x"), 1, "refused.value");
    world.refused(&HUMAN, &bless("replay", "a1b2c3d4", " "), 1, "refused.incomplete");
    world.refused(&HUMAN, &bless_task("ghost", "a1b2c3d4"), 1, "refused.unknown_task");
    let coder = world.register("coder", "coder-1");
    world.refused(&coder, &bless("replay", "a1b2c3d4", "x"), 1, "refused.human_only");
    world.sound();
}

#[test]
fn reviewers_blessed_hash_lands_with_the_task() {
    let world = World::new();
    commit_config(&world, REPLAY);
    let coder = world.register_roles(&["coder", "code_reviewer"], "both-1");
    let reviewer = world.register("code_reviewer", "reviewer-1");
    world.human(&bless("replay", "aaaaaaaa", "first")).ok();
    world.approved(&coder, &reviewer, "t1", "greet.sh", "echo hello\n");
    world.tier0(&coder, &bless_task("t1", "bbbbbbbb"), "tier0.self_approval");
    world.liza(&reviewer, &bless_task("t1", "bbbbbbbb")).ok();
    let of_task = |state: &str| state.contains("bbbbbbbb") && state.contains("aaaaaaaa");
    assert!(of_task(&world.state()));
    assert!(world.show("t1")["history"].to_string().contains("gate_blessed"));
    world.liza(&reviewer, &["merge", "t1"]).ok();
    let state = world.state();
    assert!(state.contains("hash: bbbbbbbb") && !state.contains("hash: aaaaaaaa"), "{state}");
    world.refused(&reviewer, &bless_task("t1", "cccccccc"), 1, "refused.transition");
    // The blessed hash of an abandoned task is removed.
    world.task("t2", &["other.sh"]);
    world.human(&bless_task("t2", "dddddddd")).ok();
    assert!(world.state().contains("hash: dddddddd"));
    world.human(&["task", "abandon", "t2", "--reason", "not needed"]).ok();
    assert!(!world.state().contains("hash: dddddddd"));
    world.sound();
}

#[test]
fn hash_edited_into_the_board_is_refused() {
    let world = World::new();
    commit_config(&world, REPLAY);
    world.human(&bless("replay", "aaaaaaaa", "first")).ok();
    world.edit_state("hash: aaaaaaaa", "hash: bbbbbbbb");
    world.human(&["note", "hello"]).exits(6);
    world.human(&["resume"]).ok();
    assert!(world.state().contains("hash: aaaaaaaa"));
    world.sound();
}
