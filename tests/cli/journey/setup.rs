//! What `liza init` finds, chooses and writes.

use super::{Newcomer, plain_agent, program};

const MAKEFILE: &str = "test:\n\tsh tests/all.sh\n";

#[test]
fn red_gate_is_written_inactive_with_its_reason() {
    let person =
        Newcomer::new(&[("Makefile", MAKEFILE), ("tests/all.sh", "echo broken; exit 3\n")], &plain_agent());
    let ran = person.liza(&["init", "A goal to reach"]).ok();
    assert!(ran.stdout.contains("gate      test: make test, INACTIVE: red on "), "{}", ran.stdout);
    assert!(ran.stdout.contains("liza config set gates.test.inactive null"), "{}", ran.stdout);
    let config = person.world.read("liza.yaml");
    assert!(config.contains("    inactive: \"red on "), "{config}");
    let list = person.liza(&["gate", "list"]).ok();
    assert!(list.stdout.contains("inactive"), "{}", list.stdout);
    assert!(person.liza(&["gate", "run", "--tree", "HEAD"]).ok().stdout.contains("no gates are configured"));
    // After the fix, the printed command activates the gate.
    person.world.write("tests/all.sh", "true\n");
    person.world.commit_all("fixed");
    person.liza(&["config", "set", "gates.test.inactive", "null"]).ok();
    person.liza(&["gate", "run", "--tree", "HEAD"]).ok();
    assert!(person.liza(&["gate", "accept"]).ok().stdout.contains("no gate has changed"));
}

#[test]
fn options_override_detected_setup() {
    let files = [("Makefile", MAKEFILE), ("tests/all.sh", "true\n")];
    let person = Newcomer::new(&files, &plain_agent());
    program(&person.world.home().join("bin/codex"), "#!/bin/sh\n");
    let ran = person
        .liza(&[
            "--json",
            "init",
            "A goal to reach",
            "--provider",
            "codex",
            "--gate",
            "test -f Makefile",
            "-y",
        ])
        .ok();
    let setup = &ran.data()["setup"];
    assert_eq!(setup["provider"], "codex");
    assert_eq!(setup["installed"], serde_json::json!(["claude", "codex"]));
    assert_eq!(setup["gates"][0]["command"], "test -f Makefile");
    assert_eq!(setup["gates"][0].get("inactive"), None);

    let person = Newcomer::new(&files, &plain_agent());
    let ran = person.liza(&["init", "A goal to reach", "--no-gate"]).ok();
    assert!(ran.stdout.contains("gate      none: as you asked"), "{}", ran.stdout);
    assert!(person.world.read("liza.yaml").contains("gates: []"));
    // As the file says, one command adds and accepts a gate.
    let set = person.liza(&["config", "set", "gates.test.command", "make test"]).ok();
    assert!(set.stdout.contains("accepted: test"), "{}", set.stdout);
    person.liza(&["gate", "run", "--tree", "HEAD"]).ok();
}

#[test]
fn unknown_provider_is_refused_first() {
    let person = Newcomer::new(&[], &plain_agent());
    let ran = person.liza(&["init", "A goal to reach", "--provider", "claud"]).exits(2);
    assert!(ran.stderr.contains("there is no provider `claud`"), "{}", ran.stderr);
    assert!(!person.world.path(".liza").exists() && !person.world.path("liza.yaml").exists());
}

#[test]
fn init_adds_options_to_existing_liza_yaml() {
    let person = Newcomer::new(&[], &plain_agent());
    person.world.write("liza.yaml", "# ours\nversion: 1\nprovider: claude # for now\n");
    person.liza(&["init", "A goal to reach", "--provider", "codex", "--gate", "true"]).ok();
    let config = person.world.read("liza.yaml");
    let wanted =
        "# ours\nversion: 1\nprovider: codex  # for now\ngates:\n  - {name: test, command: \"true\"}\n";
    assert_eq!(config, wanted);
}
