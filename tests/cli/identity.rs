//! Identity: ids, incarnations, tokens, and where a token must never appear.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::support::process::Bounded as _;
use crate::support::{HUMAN, Ran, Who, World};

fn who(id: &str, token: &str) -> Who {
    Who { id: Some(id.to_owned()), token: Some(token.to_owned()) }
}

#[test]
fn default_id_is_role_and_next_number() {
    let world = World::new();
    for (role, id) in [
        ("coder", "coder-1"),
        ("coder", "coder-2"),
        ("code_reviewer", "code-reviewer-1"),
        ("planner", "planner-1"),
        ("test_engineer", "test-engineer-1"),
        ("red_team", "red-team-1"),
        ("overseer", "overseer-1"),
        ("supervisor", "supervisor-1"),
        ("operator", "operator-1"),
        ("auditor", "auditor-1"),
    ] {
        let data = world.json(&HUMAN, &["agent", "register", "--role", role]).ok().data();
        assert_eq!((&data["id"], &data["incarnation"]), (&json!(id), &json!(1)));
        assert_eq!(data["token_file"], world.path(&format!(".liza/tokens/{id}")).to_str().unwrap());
        assert_eq!(world.read(&format!(".liza/tokens/{id}")).trim(), data["token"].as_str().unwrap());
        let mode = std::fs::metadata(world.path(&format!(".liza/tokens/{id}"))).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    let rows = world.json(&HUMAN, &["agent", "list"]).ok().data()["agents"].clone();
    assert_eq!(rows.as_array().unwrap().len(), 10);
    assert!(!rows.to_string().contains("token"));
}

#[test]
fn inconsistent_identities_are_refused() {
    let world = World::new();
    world.register("coder", "Ada");
    for (args, exit, code) in [
        (vec!["--role", "runner"], 1, "refused.unknown_role"),
        (vec!["--role", "wizard"], 1, "refused.unknown_role"),
        (vec!["--role", "a b"], 2, "usage.argument"),
        (vec!["--role", "coder", "--id", "human"], 1, "refused.id_reserved"),
        (vec!["--role", "coder", "--id", "Human"], 1, "refused.id_reserved"),
        (vec!["--role", "coder", "--id", "runner"], 1, "refused.id_reserved"),
        (vec!["--role", "coder", "--id", "liza"], 1, "refused.id_reserved"),
        (vec!["--role", "coder", "--id", "ada"], 1, "refused.id_taken"),
        (vec!["--role", "coder", "--id", "../x"], 2, "usage.argument"),
        (vec!["--role", "coder", "--id", "a\u{202e}b"], 2, "usage.argument"),
        (vec![], 2, "usage.arguments"),
    ] {
        world.refused(&HUMAN, &[&["agent", "register"], &args[..]].concat(), exit, code);
    }
    // Roles defined in liza.yaml are accepted.
    world.write("liza.yaml", "roles:\n  technical_writer: {}\n");
    world.human(&["agent", "register", "--role", "technical_writer"]).ok();
    world.write("liza.yaml", "rolls: {}\n");
    world.refused(&HUMAN, &["agent", "register", "--role", "coder"], 2, "usage.config");
}

#[test]
fn register_shell_output_can_be_evaluated() {
    let world = World::new();
    let script = "eval \"$(\"$LIZA\" agent register --role coder --shell)\"; \"$LIZA\" --json agent heartbeat; \
                  test -z \"$LIZA_AGENT_TOKEN\" && echo file-only";
    let mut shell = world.command("sh", &world.root);
    shell.args(["-c", script]).env("LIZA", env!("CARGO_BIN_EXE_liza"));
    let ran = Ran::of(shell.finish().unwrap()).ok();
    assert!(ran.stdout.contains("\"coder-1\"") && ran.stdout.contains("file-only"), "{}", ran.stdout);
}

#[test]
fn agent_id_needs_its_token() {
    let world = World::new();
    let coder = world.register("coder", "coder-1");
    let reviewer = world.register("code_reviewer", "reviewer-1");
    world.task("t1", &["a/"]);
    let token = coder.token.clone().unwrap();
    for (name, fake) in [
        ("no token", Who { id: Some("coder-1".into()), token: None }),
        ("no id", Who { id: None, token: Some(token.clone()) }),
        ("wrong token", who("coder-1", "0000")),
        ("hash as token", who("coder-1", &blake3::hash(token.as_bytes()).to_hex())),
        ("another's token", who("reviewer-1", &token)),
        ("unknown id", who("coder-9", &token)),
        ("the human", who("human", &token)),
        ("bad id", who("../x", &token)),
        ("case", who("Coder-1", &token)),
    ] {
        for args in [["task", "claim", "t1"].as_slice(), &["note", "x"], &["next", "--role", "coder"]] {
            let error = world.refused(&fake, args, 1, "refused.identity");
            assert!(!error.to_string().contains(&token), "{name}");
        }
    }
    // A token file works as well as the variable, and blanks around the token are ignored.
    let file = world.path(".liza/tokens/coder-1");
    let env = [("LIZA_AGENT_ID", "coder-1"), ("LIZA_AGENT_TOKEN_FILE", file.to_str().unwrap())];
    world.json_env(&HUMAN, &["task", "claim", "t1"], &env).ok();
    assert_eq!(world.show("t1")["assigned_to"], "coder-1");
    let env = [("LIZA_AGENT_ID", "coder-1"), ("LIZA_AGENT_TOKEN_FILE", "/nonexistent")];
    let ran = world.json_env(&HUMAN, &["note", "x"], &env).exits(1);
    assert_eq!(ran.code(), "refused.identity");
    // An agent may not register agents.
    for fake in [&coder, &reviewer] {
        world.refused(fake, &["agent", "register", "--role", "code_reviewer"], 1, "refused.human_only");
    }
}

#[test]
fn new_registration_ends_former_incarnation() {
    let world = World::new();
    let old = world.register("coder", "coder-1");
    world.task("t1", &["a/"]);
    world.claim(&old, "t1");
    let new = world.register("coder", "coder-1");
    assert_ne!(old.token, new.token);
    assert_eq!(world.json(&HUMAN, &["agent", "list"]).ok().data()["agents"][0]["incarnation"], 2);
    for args in [
        ["task", "renew", "t1"].as_slice(),
        &["task", "submit", "t1"],
        &["note", "x"],
        &["agent", "heartbeat"],
    ] {
        world.refused(&old, args, 1, "refused.identity");
    }
    // Its lease counts as expired: the new incarnation does not hold it, and any coder may claim the task.
    let ran = world.json(&new, &["task", "renew", "t1"]);
    assert_eq!(ran.exit, 3, "{}", ran.stdout);
    assert!(world.row("t1")["why"].as_str().unwrap().contains("taken over"), "{}", world.row("t1"));
    let other = world.register("coder", "coder-2");
    let worktree = world.claim(&other, "t1");
    assert!(worktree.ends_with(".worktrees/t1.2"), "{}", worktree.display());
}

#[test]
fn reregistered_agent_keeps_its_worktree() {
    let world = World::new();
    let old = world.register("coder", "coder-1");
    world.task("t1", &["a/"]);
    let first = world.claim(&old, "t1");
    crate::support::write(&first, "a/x", "half\n");
    let new = world.register("coder", "coder-1");
    let data = world.json(&new, &["task", "claim", "t1"]).ok().data();
    assert_eq!((data["worktree"].as_str(), &data["epoch"]), (first.to_str(), &json!(2)));
    assert_eq!(std::fs::read_to_string(first.join("a/x")).unwrap(), "half\n");
}

#[test]
fn retired_agents_reserved_task_is_claimable() {
    let world = World::new();
    let (one, two) = (world.register("coder", "coder-1"), world.register("coder", "coder-2"));
    let reviewer = world.register("code_reviewer", "reviewer-1");
    let commit = world.submitted(&one, "t1", "a.sh", "x\n");
    world.liza(&reviewer, &["review", "claim", "t1"]).ok();
    world
        .liza(
            &reviewer,
            &["review", "reject", "t1", "--commit", &commit, "--reason", "r", "--issue", "major:a.sh:1:x"],
        )
        .ok();
    world.refused(&two, &["task", "claim", "t1"], 3, "stale.reserved");
    world.refused(&two, &["agent", "retire", "coder-1"], 1, "refused.human_only");
    world.liza(&one, &["agent", "retire", "coder-1"]).ok();
    world.refused(&one, &["note", "x"], 1, "refused.identity");
    world.refused(&HUMAN, &["agent", "retire", "coder-1"], 1, "refused.transition");
    world.refused(&HUMAN, &["agent", "retire", "ghost"], 1, "refused.unknown_agent");
    let worktree = world.claim(&two, "t1");
    // After a rejection another agent starts from the base; the former attempt is kept.
    assert!(!worktree.join("a.sh").exists());
    assert_eq!(world.git(&["rev-parse", "refs/liza/attempts/t1/1"]), commit);
    let task = world.show("t1");
    assert_eq!(
        (&task["iteration"], &task["review_cycles_current"], &task["review_cycles_total"]),
        (&json!(1), &json!(0), &json!(1))
    );
}

#[test]
fn concurrent_registrations_get_distinct_ids() {
    let world = World::new();
    let children: Vec<_> = (0..6)
        .map(|_| {
            let mut command =
                world.liza_command(&HUMAN, &world.root, &["--json", "agent", "register", "--role", "coder"]);
            command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
            command.start().unwrap()
        })
        .collect();
    let answers: Vec<_> =
        children.into_iter().map(|child| Ran::of(child.wait_with_output().unwrap()).ok().data()).collect();
    let ids: BTreeSet<String> = answers.iter().map(|data| data["id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(ids, (1..=6).map(|n| format!("coder-{n}")).collect());
    for data in &answers {
        let agent = who(data["id"].as_str().unwrap(), data["token"].as_str().unwrap());
        world.liza(&agent, &["agent", "heartbeat"]).ok();
    }
}

#[test]
fn token_is_only_in_its_file() {
    let world = World::new();
    let coder = world.register("coder", "coder-1");
    let reviewer = world.register("code_reviewer", "reviewer-1");
    world.merge_task(&coder, &reviewer, "t1", "a.sh", "x\n");
    world.human(&["task", "block", "t1", "--reason", "r", "--question", "q"]).exits(1);
    world.human(&["checkpoint"]).ok();
    world.human(&["resume"]).ok();
    let tokens = [coder.token.clone().unwrap(), reviewer.token.clone().unwrap()];
    let mut looked = 0;
    for entry in walkdir::WalkDir::new(&world.root).into_iter().flatten() {
        if !entry.file_type().is_file() || entry.path().starts_with(world.path(".liza/tokens")) {
            continue;
        }
        looked += 1;
        let text = String::from_utf8_lossy(&std::fs::read(entry.path()).unwrap()).into_owned();
        for token in &tokens {
            assert!(!text.contains(token.as_str()), "{}", entry.path().display());
        }
    }
    assert!(looked > 20);
    for args in [
        ["status"].as_slice(),
        &["log", "-n", "100"],
        &["agent", "list"],
        &["task", "show", "t1"],
        &["doctor"],
        &["verify"],
        &["graph"],
        &["inbox"],
        &["validate"],
    ] {
        for agent in [&coder, &HUMAN] {
            let (text, json) = (world.liza(agent, args), world.json(agent, args));
            for token in &tokens {
                for out in [&text.stdout, &text.stderr, &json.stdout, &json.stderr] {
                    assert!(!out.contains(token.as_str()), "{args:?}");
                }
            }
        }
    }
}
