//! Processes started by a gate may not change the board: a gate runs code that a coder wrote.

use serde_json::json;

use crate::support::{HUMAN, Who, World, write};

use super::{GATE_REFUSAL, configure, log_of, said, with_gates};

const LIZA: &str = env!("CARGO_BIN_EXE_liza");

/// All attempts to change the board at `root`, one per line; `$T` is the token file of the reviewer.
fn attempts(world: &World, commit: &str) -> Vec<String> {
    let root = world.root.display();
    let file = world.path(".liza/tokens/code-reviewer-1");
    let token = format!("LIZA_AGENT_ID=code-reviewer-1 LIZA_AGENT_TOKEN_FILE='{}'", file.display());
    let acts = [
        "review claim t1".to_owned(),
        format!("review approve t1 --commit {commit} --summary fine"),
        "task block t1 --reason no --question why".to_owned(),
        "task abandon t1 --reason no".to_owned(),
        "note hacked".to_owned(),
        "pause --reason hacked".to_owned(),
        "abort".to_owned(),
        "merge t1".to_owned(),
        "merge --all".to_owned(),
        "agent register --role code_reviewer --id evil".to_owned(),
        "integration advance main --reason hacked".to_owned(),
        "doctor --fix".to_owned(),
        "gc".to_owned(),
        "worktree prune".to_owned(),
        "archive t1".to_owned(),
        "uninstall --yes".to_owned(),
        "gate run t1".to_owned(),
        "hooks install".to_owned(),
    ];
    let mut all = Vec::new();
    for act in &acts {
        all.push(format!("'{LIZA}' {act}"));
        all.push(format!("cd '{root}' && {token} '{LIZA}' {act}"));
    }
    let approve = &acts[1];
    all.push(format!("cd '{root}' && env -i '{LIZA}' {approve}"));
    all.push(format!("env -i {token} '{LIZA}' --board '{root}/.liza' {approve}"));
    all.push(format!("cd / && LIZA_DIR='{root}/.worktrees/../.liza' '{LIZA}' {approve}"));
    all.push(format!("setsid sh -c \"cd '{root}'; setsid '{LIZA}' {approve}\""));
    // Forked twice: its parents have ended when it acts.
    all.push(format!(
        "setsid sh -c \"(sh -c 'sleep 0.2; cd {root}; env -i {LIZA} note late; echo over >&2') & exit 0\"; sleep 1"
    ));
    all
}

fn board_of(world: &World) -> (Vec<u8>, Vec<u8>, String, Vec<String>) {
    let (state, log) = world.bytes();
    let entries = std::fs::read_dir(world.path(".liza")).unwrap().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    (state, log, world.git(&["for-each-ref"]), names)
}

fn reviewed() -> (World, Who, String) {
    let world = with_gates(json!([]));
    let coder = world.register("coder", "coder-1");
    world.register("code_reviewer", "code-reviewer-1");
    let commit = world.submitted(&coder, "t1", "a.txt", "a\n");
    (world, coder, commit)
}

#[test]
fn gate_descendants_cannot_change_the_board() {
    let (world, _, commit) = reviewed();
    let attempts = attempts(&world, &commit);
    let count = attempts.len();
    let script: String = attempts.iter().map(|attempt| format!("( {attempt} )\n")).collect();
    configure(&world, json!([{ "name": "actor", "command": format!("{script}true") }]));
    let before = board_of(&world);
    let found = said(&world, "actor");
    assert_eq!(found["status"], "pass", "{found}");
    let log = log_of(&world, &found);
    assert_eq!(log.matches(GATE_REFUSAL).count(), count, "{log}");
    assert_eq!(board_of(&world), before);
    // Reading commands are allowed.
    let looks = format!("'{LIZA}' status && '{LIZA}' task show t1 && '{LIZA}' gate list && '{LIZA}' log");
    configure(&world, json!([{ "name": "looker", "command": looks }]));
    assert_eq!(said(&world, "looker")["status"], "pass");
    assert_eq!(board_of(&world), before);
    world.sound();
}

/// Kills the holder, so that the orphan becomes a child of liza, and stops liza until the orphan has tried to act. The
/// file holds the answer.
fn gate_that_kills_its_holder(world: &World) -> (String, std::path::PathBuf) {
    let seen = world.home().join("seen");
    let parent = |of: &str| format!("$(awk '/^PPid/{{print $2}}' /proc/{of}/status)");
    let act = |how: &str| format!("{how} '{LIZA}' note freed >>'{}' 2>&1", seen.display());
    let git = format!("git -c alias.act='!\"{LIZA}\" note freed' act >>'{}' 2>&1", seen.display());
    let script = format!(
        "kill -STOP {}; kill -9 $PPID; cd '{}'; {}; {}; {git}; kill -CONT {}; sleep 600",
        parent("$PPID"),
        world.root.display(),
        act(""),
        act("env -i"),
        parent("$$"),
    );
    (script, seen)
}

#[test]
fn gate_that_kills_its_holder_is_still_refused() {
    let (world, _, _) = reviewed();
    let (script, seen) = gate_that_kills_its_holder(&world);
    configure(&world, json!([{ "name": "rebel", "command": script }]));
    let before = board_of(&world);
    assert_eq!(said(&world, "rebel")["status"], "could_not_run");
    // Three commands in each of three attempts.
    assert_eq!(super::text_of(&seen).matches(GATE_REFUSAL).count(), 9, "{}", super::text_of(&seen));
    assert_eq!(board_of(&world), before);

    let coder = world.register("coder", "coder-2");
    world.task("t2", &["b.txt", "tests/test_t2.sh"]);
    let worktree = world.claim(&coder, "t2");
    std::fs::write(world.home().join("rebel.sh"), &script).unwrap();
    let validate = format!("exec sh '{}'", world.home().join("rebel.sh").display());
    world.checkpoint_with(&coder, "t2", &["b.txt", "tests/test_t2.sh"], &validate, "ok");
    world.write_and_commit(&worktree, &[("b.txt", "b\n"), ("tests/test_t2.sh", "echo ok\n")]);
    std::fs::remove_file(&seen).unwrap();
    let before = world.bytes();
    world.refused(&coder, &["task", "submit", "t2"], 7, "gate.validation");
    assert_eq!(super::text_of(&seen).matches(GATE_REFUSAL).count(), 9, "{}", super::text_of(&seen));
    assert_eq!(world.bytes(), before);
}

#[test]
fn validation_processes_cannot_change_the_board() {
    let world = with_gates(json!([]));
    let coder = world.register("coder", "coder-1");
    world.register("code_reviewer", "code-reviewer-1");
    world.task("t1", &["a.txt", "tests/"]);
    let worktree = world.claim(&coder, "t1");
    let script = world.home().join("validate.sh");
    world.checkpoint_with(
        &coder,
        "t1",
        &["a.txt", "tests/test_a.sh"],
        &format!("sh '{}'", script.display()),
        "ok",
    );
    let commit = world.write_and_commit(&worktree, &[("a.txt", "a\n"), ("tests/test_a.sh", "echo ok\n")]);
    let attempts = attempts(&world, &commit);
    let lines: String = attempts.iter().map(|attempt| format!("( {attempt} )\n")).collect();
    write(world.home(), "validate.sh", &format!("{lines}echo ok\n"));
    let revision = world.revision();
    let data = world.json(&coder, &["task", "submit", "t1"]).ok().data();
    let log = world.read(data["validation"]["log"].as_str().unwrap());
    assert_eq!(log.matches(GATE_REFUSAL).count(), attempts.len(), "{log}");
    assert_eq!(world.revision(), revision + 1, "only the submission");
    assert!(!world.state().contains("hacked") && !world.path(".liza/PAUSE").exists());
}

#[test]
fn gate_process_runs_no_recovery() {
    let (world, coder, _) = reviewed();
    // A killed claim waits for recovery by the next command of an agent or a person.
    world.task("t2", &["b.txt", "tests/test_t2.sh"]);
    let _ = world.json_env(&coder, &["task", "claim", "t2"], &[("LIZA_CRASH_AT", "claim.begun")]);
    let before = board_of(&world);
    assert!(!world.state().contains("intents: []"), "nothing was left half done");
    let acts = format!("'{LIZA}' note x; '{LIZA}' status; '{LIZA}' task list; '{LIZA}' validate; true");
    configure(&world, json!([{ "name": "actor", "command": acts }]));
    assert_eq!(said(&world, "actor")["status"], "pass");
    assert_eq!(board_of(&world), before);
    // A person's command recovers it.
    world.human(&["note", "y"]).ok();
    assert!(world.state().contains("intents: []"), "{}", world.state());
}

#[test]
fn gate_may_change_a_board_it_created() {
    let own = format!(
        "d=$(mktemp -d) && cd \"$d\" && git init -q -b main && git -c user.name=x -c user.email=x@x commit -q --allow-empty -m s \
         && '{LIZA}' init goal && '{LIZA}' note mine && '{LIZA}' status && rm -rf \"$d\""
    );
    let world = with_gates(json!([{ "name": "own", "command": own }]));
    let found = said(&world, "own");
    assert_eq!(found["status"], "pass", "{}", log_of(&world, &found));
    world.liza(&HUMAN, &["note", "afterwards a person is a person"]).ok();
}
