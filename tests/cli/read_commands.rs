//! Reading the board: status, log, graph, diff, validate, verify, schema, and the command line itself.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::process::Bounded as _;
use crate::support::{HUMAN, World};

fn scene() -> World {
    let world = World::new();
    let coder = world.register("coder", "coder-1");
    let reviewer = world.register("code_reviewer", "reviewer-1");
    world.merge_task(&coder, &reviewer, "m1", "m1.sh", "echo merged\n");
    world.submitted(&coder, "s1", "s1.sh", "x\n");
    world.task("w1", &["w1/"]);
    world.claim(&coder, "w1");
    world.task_with("i1", &["i1/"], &["--depends", "m1", "--priority", "3"]);
    world.task_with("i2", &["i2/"], &["--depends", "w1", "--depends", "s1"]);
    world.task("i3", &["w1/deep.sh"]);
    world.human(&["task", "add", "--id", "d1", "--title", "a draft"]).ok();
    world.task("b1", &["b1/"]);
    world.human(&["task", "block", "b1", "--reason", "r", "--question", "q"]).ok();
    world.task("x1", &["x1/"]);
    world.human(&["task", "abandon", "x1", "--reason", "r"]).ok();
    world
}

#[test]
fn status_shows_what_each_task_waits_for() {
    let world = scene();
    let ran = world.json(&HUMAN, &["status"]).ok();
    let answer = ran.json();
    assert_eq!((&answer["liza"], &answer["ok"]), (&json!(1), &json!(true)));
    assert!(answer["revision"].as_u64().unwrap() > 10);
    let data = &answer["data"];
    assert!(data["switch"].is_null());
    assert_eq!(
        (&data["counts"]["MERGED"], &data["counts"]["IDLE"], &data["counts"]["DRAFT"]),
        (&json!(1), &json!(3), &json!(1))
    );
    let expected = [
        ("m1", "MERGED", "passed", "coder-1", json!([])),
        ("s1", "READY_FOR_REVIEW", "running", "coder-1", json!(["code_reviewer"])),
        ("w1", "WORKING", "running", "coder-1", json!([])),
        ("i1", "IDLE", "ready", "", json!(["coder"])),
        ("i2", "IDLE", "pending", "", json!(["w1", "s1"])),
        ("i3", "IDLE", "blocked", "", json!(["w1"])),
        ("d1", "DRAFT", "pending", "", json!(["planner"])),
        ("b1", "BLOCKED", "blocked", "", json!(["human"])),
        ("x1", "ABANDONED", "failed", "", json!([])),
    ];
    let rows = data["tasks"].as_array().unwrap();
    assert_eq!(rows.len(), expected.len());
    for (row, (id, status, node, agent, waiting)) in rows.iter().zip(expected) {
        assert_eq!(row["id"], id);
        assert_eq!((&row["status"], &row["node_state"]), (&json!(status), &json!(node)), "{id}");
        assert_eq!(row["assigned_to"].as_str().unwrap_or_default(), agent, "{id}");
        assert_eq!(row["waiting_on"], waiting, "{id}");
        assert_eq!(row["why"].is_string(), waiting != json!([]), "{id}: {row}");
    }
    assert!(world.row("i3")["why"].as_str().unwrap().contains("overlaps"));
    let text = world.human(&["status"]).ok().stdout;
    for part in [
        "A greeting program",
        "IDLE 3",
        "coder-1",
        "waits for w1 (WORKING), s1 (READY_FOR_REVIEW)",
        "2 tasks finished",
        "liza task unblock",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(!text.contains("m1") && world.human(&["status", "--all"]).ok().stdout.contains("m1"));
    // A read changes no byte.
    let before = world.bytes();
    for args in [
        ["status"].as_slice(),
        &["task", "list"],
        &["log"],
        &["graph"],
        &["verify"],
        &["validate"],
        &["doctor"],
    ] {
        world.human(args).ok();
    }
    assert!(world.bytes() == before);
}

#[test]
fn log_shows_actor_and_action() {
    let world = scene();
    let records = world.json(&HUMAN, &["log", "-n", "1000"]).ok().data()["records"].clone();
    let records = records.as_array().unwrap();
    let revisions: Vec<u64> = records.iter().map(|record| record["revision"].as_u64().unwrap()).collect();
    assert_eq!(revisions, (1..=world.revision()).collect::<Vec<_>>());
    assert_eq!((&records[0]["event"], &records[0]["by"]), (&json!("init"), &json!("human")));
    assert!(records.iter().all(|record| record["time"].as_str().unwrap().ends_with('Z')));
    assert_eq!(world.json(&HUMAN, &["log", "-n", "3"]).ok().data()["records"].as_array().unwrap().len(), 3);
    let about = world.json(&HUMAN, &["log", "--task", "b1"]).ok().data()["records"].clone();
    let events: Vec<&str> =
        about.as_array().unwrap().iter().filter_map(|record| record["event"].as_str()).collect();
    assert_eq!(events, ["add_tasks", "block"]);
    let text = world.human(&["log", "--task", "m1"]).ok().stdout;
    assert!(text.contains("coder-1 submit m1") && text.contains("reviewer-1 approve m1"), "{text}");
    // Every line is YAML and, without its dash, JSON.
    for line in world.read(".liza/log.yaml").lines() {
        serde_json::from_str::<Value>(line.strip_prefix("- ").unwrap()).unwrap();
    }
    let yaml: Vec<Value> = serde_yaml::from_str(&world.read(".liza/log.yaml")).unwrap();
    assert_eq!(yaml.len(), revisions.len());
    let state: Value = serde_yaml::from_str(&world.state()).unwrap();
    assert_eq!(state["revision"], world.revision());
}

#[test]
fn log_follow_prints_new_records() {
    use std::io::{BufRead, BufReader};
    let world = World::new();
    let mut command = world.liza_command(&HUMAN, &world.root, &["--json", "log", "-f"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).start().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let first: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    assert_eq!(first["event"], "init");
    world.human(&["note", "hello"]).ok();
    let second: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    assert_eq!((&second["event"], &second["revision"]), (&json!("add_note"), &json!(2)));
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn graph_prints_every_format() {
    let world = scene();
    world.task_with("q1", &["q1/"], &["--desc", "x", "--depends", "i1"]);
    let text = world.human(&["graph"]).ok().stdout;
    assert!(text.contains("i2 [pending]") && text.contains("after w1, s1"), "{text}");
    let mermaid = world.human(&["graph", "--format", "mermaid"]).ok().stdout;
    assert!(mermaid.starts_with("graph TD\n") && mermaid.contains("n_w1 --> n_i2"), "{mermaid}");
    let dot = world.human(&["graph", "--format", "dot"]).ok().stdout;
    assert!(dot.starts_with("digraph liza {") && dot.contains("\"w1\" -> \"i2\";"), "{dot}");
    let data: Value = serde_json::from_str(&world.human(&["graph", "--format", "json"]).ok().stdout).unwrap();
    assert_eq!(data["nodes"].as_array().unwrap().len(), 10);
    let groups = data["groups"].as_array().unwrap();
    assert!(groups[0].to_string().contains("m1") && groups[2].to_string().contains("q1"), "{data}");
    let answer = world.json(&HUMAN, &["graph", "--format", "dot"]).ok().data();
    assert_eq!(answer["groups"], data["groups"]);
}

#[test]
fn diff_shows_what_a_task_changes() {
    let world = scene();
    let data = world.json(&HUMAN, &["diff", "m1"]).ok().data();
    assert_eq!(data["files"], json!(["m1.sh", "tests/test_m1.sh"]));
    assert!(data["diff"].as_str().unwrap().contains("+echo merged"));
    // In progress: the diff of the branch, without uncommitted files.
    let worktree = world.path(".worktrees/w1");
    world.write_and_commit(&worktree, &[("w1/x", "committed\n")]);
    crate::support::write(&worktree, "w1/y", "not yet\n");
    let text = world.human(&["diff", "w1"]).ok().stdout;
    assert!(text.contains("+committed") && !text.contains("not yet"), "{text}");
    world.refused(&HUMAN, &["diff", "i1"], 1, "refused.transition");
    world.refused(&HUMAN, &["diff", "zz"], 1, "refused.unknown_task");
}

#[test]
fn validate_names_path_and_line() {
    let world = scene();
    let good = world.state();
    let copy = world.home().join("copy.yaml");
    let check = |text: &str| {
        std::fs::write(&copy, text).unwrap();
        world.json(&HUMAN, &["validate", copy.to_str().unwrap()])
    };
    check(&good).ok();
    let line_of = |text: &str, what: &str| text.lines().position(|line| line.contains(what)).unwrap() + 1;
    for (from, to, wanted) in [
        ("    title: i2\n", "    title: i2\n    colour: blue\n", "colour"),
        ("goal:\n", "goal:\n  mood: good\n", "mood"),
        ("config:\n", "config:\n  max_fun: 3\n", "max_fun"),
        ("circuit_breaker:\n", "surprise: 1\ncircuit_breaker:\n", "surprise"),
    ] {
        let text = good.replacen(from, to, 1);
        let ran = check(&text).exits(6);
        let message = ran.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(message.contains(wanted), "{wanted} in {message}");
        let line = line_of(&text, wanted);
        assert!(message.contains(&format!("line {line}")), "line {line} in {message}");
    }
    // Each broken invariant is named with its path.
    let text = good.replacen("    status: WORKING", "    status: MERGED", 1);
    let ran = check(&text).exits(6);
    assert_eq!(ran.code(), "board.violations");
    let list = ran.json()["error"]["details"]["violations"].clone();
    assert!(
        list.as_array().unwrap().iter().any(|item| item["place"].as_str().unwrap().contains("w1")),
        "{list}"
    );
    world.json(&HUMAN, &["validate", "/nonexistent"]).exits(6);
    check("").exits(6);
    check("tasks: [").exits(6);
    world.sound();
}

#[test]
fn every_schema_is_json() {
    let world = World::new();
    for name in ["state", "task", "new-task", "plan", "feedback", "checkpoint", "config"] {
        let text = world.human(&["schema", name]).ok().stdout;
        let schema: Value = serde_json::from_str(&text).unwrap();
        assert!(schema["properties"].is_object() || schema["anyOf"].is_array(), "{name}: {text}");
        assert_eq!(world.json(&HUMAN, &["schema", name]).ok().data(), schema, "{name}");
    }
    let error = world.json(&HUMAN, &["schema", "nope"]).exits(2).json();
    assert!(error["error"]["message"].as_str().unwrap().contains("feedback"));
    // It needs no repository.
    world.liza_in(&HUMAN, std::path::Path::new("/"), &["schema", "plan"]).ok();
}

#[test]
fn verify_finds_a_changed_or_missing_record() {
    let world = scene();
    let log = world.read(".liza/log.yaml");
    let lines: Vec<&str> = log.lines().collect();
    let put = |lines: &[String]| {
        std::fs::write(world.path(".liza/log.yaml"), format!("{}\n", lines.join("\n"))).unwrap()
    };
    let owned: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
    for at in (0..lines.len()).step_by(5) {
        let mut changed = owned.clone();
        changed[at] = changed[at].replacen("\"wall\":\"20", "\"wall\":\"21", 1);
        put(&changed);
        let ran = world.json(&HUMAN, &["verify"]).exits(6);
        assert!(ran.stdout.contains("log chain") || ran.stdout.contains("record"), "{}", ran.stdout);
        let mut shorter = owned.clone();
        shorter.remove(at);
        put(&shorter);
        world.json(&HUMAN, &["verify"]).exits(6);
        let mut twice = owned.clone();
        twice.insert(at, owned[at].clone());
        put(&twice);
        world.json(&HUMAN, &["verify"]).exits(6);
    }
    let mut swapped = owned.clone();
    swapped.swap(2, 3);
    put(&swapped);
    world.json(&HUMAN, &["verify"]).exits(6);
    put(&owned);
    world.sound();
    // With a missing record, commands that change the board stop.
    put(&owned[..owned.len() - 1]);
    world.json(&HUMAN, &["note", "x"]).exits(6);
}

#[test]
fn verify_finds_a_forged_board() {
    let world = scene();
    // Changed with a matching checksum, as a forger would; then with a matching task hash, too.
    let stale = resealed(&world.state().replacen("    status: READY_FOR_REVIEW", "    status: IDLE", 1));
    let at = stale.find("    status: IDLE").unwrap();
    let begins = stale[..at].rfind("  - id: ").unwrap();
    let ends = stale[at..].find("\n  - id: ").or(stale[at..].find("\nend: ")).unwrap() + at + 1;
    let (head, rest) = stale[begins..ends].split_once("    hash: \"").unwrap();
    let (hash, body) = rest.split_once("\"\n").unwrap();
    let right = blake3::hash(format!("{head}{body}").as_bytes()).to_hex();
    let right = resealed(&stale.replacen(hash, &right, 1));
    for (forged, found) in [(stale, "its hash"), (right, "replay")] {
        std::fs::write(world.path(".liza/state.yaml"), forged).unwrap();
        assert_eq!(world.status_of("s1"), "IDLE");
        let ran = world.json(&HUMAN, &["verify"]).exits(6);
        assert!(ran.stdout.contains(found), "{}", ran.stdout);
    }
}

/// With the checksum of a board with so few tasks.
fn resealed(state: &str) -> String {
    let end = state.rfind("\nend:").unwrap() + 1;
    let tasks = state.find("\ntasks:\n").unwrap() + "\ntasks:\n".len();
    let mut hasher = blake3::Hasher::new();
    for part in [&state[..tasks], &state[tasks..end]] {
        hasher.update(blake3::hash(part.as_bytes()).as_bytes());
    }
    format!("{}end: \"{}\"\n", &state[..end], hasher.finalize().to_hex())
}

#[test]
fn verify_finds_integration_moved_by_hand() {
    let world = scene();
    let head = world.git(&["rev-parse", "integration"]);
    world.git(&["update-ref", "refs/heads/integration", "main"]);
    let ran = world.json(&HUMAN, &["verify"]).exits(6);
    assert!(ran.stdout.contains("m1") || ran.stdout.contains("moved"), "{}", ran.stdout);
    world.git(&["update-ref", "refs/heads/integration", &head]);
    world.git(&["commit", "-q", "--allow-empty", "-m", "by hand"]);
    let by_hand = world.git(&["commit-tree", "-p", "integration", "-m", "by hand", "integration^{tree}"]);
    world.git(&["update-ref", "refs/heads/integration", &by_hand]);
    let ran = world.json(&HUMAN, &["verify"]).exits(6);
    assert!(ran.stdout.contains("liza did not move it"), "{}", ran.stdout);
    world.git(&["update-ref", "refs/heads/integration", &head]);
    world.sound();
}

#[test]
fn closed_pipe_is_no_crash() {
    let world = scene();
    for args in [
        ["status"].as_slice(),
        &["--json", "status"],
        &["log"],
        &["graph"],
        &["schema", "state"],
        &["task", "show", "m1"],
        &["--help"],
        &["diff", "m1"],
        &["doctor"],
        &["verify"],
        &["note", "still written"],
        &["no-such-command"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = world.liza_command(&HUMAN, &world.root, args);
        command.stdout(writer.try_clone().unwrap()).stderr(writer);
        let status = command.finish_status().unwrap();
        assert!(matches!(status.code(), Some(code) if code != 101 && code != 70), "{args:?}: {status}");
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut command = world.liza_command(&HUMAN, &world.root, args);
        command.stdout(full).stderr(Stdio::null());
        let status = command.finish_status().unwrap();
        assert!(matches!(status.code(), Some(code) if code != 101 && code != 70), "{args:?}: {status}");
    }
    assert_eq!(world.state().matches("still written").count(), 2);
    world.sound();
}

#[test]
fn usage_errors_are_json_too() {
    let world = World::new();
    for args in [
        ["--json", "no-such-command"].as_slice(),
        &["task", "claim", "--json"],
        &["--json", "task", "add", "--id"],
        &["--json", "--no-such-flag", "status"],
        &["--json"],
        &["next", "--json", "--role", "coder", "--wait", "soon"],
        &["--json", "graph", "--format", "xml"],
        &["--json", "task", "add", "--id", "t1", "--title", "t", "--kind", "poem"],
    ] {
        let ran = world.liza(&HUMAN, args);
        assert_eq!(ran.exit, 2, "{args:?}: {}{}", ran.stdout, ran.stderr);
        let error = &ran.json()["error"];
        assert!(error["code"].as_str().unwrap().starts_with("usage."), "{args:?}: {error}");
        assert_eq!(error["exit"], 2);
        assert!(!error["message"].as_str().unwrap().is_empty());
    }
    world.human(&["no-such-command"]).exits(2);
    world.human(&["--version"]).ok();
}

/// The commands that `--help` lists: in groups at the top level, else under `Commands:`.
fn subcommands(help: &str) -> Vec<String> {
    let list = match (help.split_once("\nStart:\n"), help.split_once("\nCommands:\n")) {
        (Some((_, groups)), _) => groups.split("Global options:").next(),
        (None, Some((_, list))) => list.split("\n\n").next(),
        (None, None) => None,
    };
    list.unwrap_or_default()
        .lines()
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next().map(str::to_owned))
        .filter(|name| name != "help")
        .collect()
}

#[test]
fn every_help_page_has_an_example() {
    let world = World::new();
    let mut open: Vec<Vec<String>> = vec![Vec::new()];
    let mut leaves = 0;
    while let Some(path) = open.pop() {
        let mut args: Vec<&str> = path.iter().map(String::as_str).collect();
        args.push("--help");
        let help = world.human(&args).ok().stdout;
        let below = subcommands(&help);
        if below.is_empty() {
            leaves += 1;
            assert!(help.contains("Example: "), "{path:?} has no example:\n{help}");
            assert!(help.contains("liza"), "{path:?}");
        }
        open.extend(below.into_iter().map(|name| [path.clone(), vec![name]].concat()));
    }
    assert!(leaves > 40, "{leaves}");
}
