//! `liza config`.

use super::{Newcomer, plain_agent};
use crate::support::{HUMAN, World};

#[test]
fn config_set_keeps_comments_and_checks_values() {
    let world = World::new();
    let before = "# ours\nversion: 1 # one\n\nprovider: claude # for now\nrun: {window: 4}\n# the end\n";
    world.write("liza.yaml", before);
    world.human(&["config", "set", "run.window", "2"]).ok();
    let after = before.replace("{window: 4}", "{window: 2}");
    assert_eq!(world.read("liza.yaml"), after);
    assert_eq!(world.human(&["config", "get", "run.window"]).ok().stdout.trim(), "2");
    assert_eq!(world.human(&["config", "get", "provider"]).ok().stdout.trim(), "claude");
    // Unset values show their default.
    let data = world.json(&HUMAN, &["config", "get", "run.grace_seconds"]).ok().data();
    assert_eq!((&data["value"], &data["set"]), (&serde_json::json!(10), &serde_json::json!(false)));
    for (key, value, wanted) in [
        ("run.window", "many", "`run.window` cannot be many"),
        ("provder", "codex", "liza.yaml knows no key `provder`"),
        ("gates", "[{name: a b, command: x}]", "a name is up to"),
        ("run.windows", "3", "unknown field"),
    ] {
        let error = world.refused(
            &HUMAN,
            &["config", "set", key, value],
            2,
            if key == "provder" { "usage.argument" } else { "usage.config" },
        );
        assert!(error["message"].as_str().unwrap().contains(wanted), "{key}: {error}");
        assert_eq!(world.read("liza.yaml"), after, "{key}");
    }
    let coder = world.register("coder", "coder-1");
    world.refused(&coder, &["config", "set", "run.window", "9"], 1, "refused.human_only");
    assert_eq!(world.read("liza.yaml"), after);
}

#[test]
fn config_reference_lists_every_key() {
    let world = World::new();
    let text = world.human(&["config", "reference"]).ok().stdout;
    let schema = world.human(&["schema", "config"]).ok().stdout;
    let schema: serde_json::Value = serde_json::from_str(&schema).unwrap();
    for key in schema["properties"].as_object().unwrap().keys() {
        let line = |line: &str| line.trim_start_matches("#   ").starts_with(&format!("{key}:"));
        assert!(text.lines().any(line), "{key}");
    }
    world.write("liza.yaml", &text);
    world.human(&["gate", "list"]).ok();
}

#[test]
fn gate_set_by_a_person_is_accepted() {
    let person = Newcomer::new(&[("Makefile", "test:\n\ttrue\n")], &plain_agent());
    person.liza(&["init", "A goal to reach"]).ok();
    // A person who uses an editor has to accept the gate; `config set` accepts it.
    let config = person.world.read("liza.yaml");
    person.world.write("liza.yaml", &config.replace("make test", "make  test"));
    assert!(person.liza(&["gate", "accept", "--dry-run"]).ok().stdout.contains("nothing was accepted"));
    person.world.write("liza.yaml", &config);
    let set = person.liza(&["config", "set", "gates.test.command", "make -s test"]).ok();
    assert!(set.stdout.contains("accepted: test"), "{}", set.stdout);
    assert!(person.liza(&["gate", "accept"]).ok().stdout.contains("no gate has changed"));
}

#[test]
fn setting_an_unknown_provider_warns() {
    let world = World::new();
    let ran = world.human(&["config", "set", "provider", "claud"]).ok();
    assert!(ran.stderr.contains("there is no provider `claud`"), "{}", ran.stderr);
    assert!(ran.stderr.contains("did you mean `claude`?"), "{}", ran.stderr);
    let ran = world.human(&["config", "set", "provider", "claude"]).ok();
    assert!(!ran.stderr.contains("there is no provider"), "{}", ran.stderr);
}
