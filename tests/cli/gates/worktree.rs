//! Where gates run: a reused private worktree of exactly that commit, never the checkout of a person or an agent.

use serde_json::{Value, json};

use crate::support::process::Bounded as _;
use crate::support::{HUMAN, World};

use super::{configure, configure_with, log_of, optional, places, said, until, with_gates};

#[test]
fn gate_sees_the_commit_not_a_checkout() {
    let world =
        with_gates(json!([{ "name": "look", "command": "pwd; git rev-parse HEAD; cat README.md; ls -A" }]));
    world.write("README.md", "changed here and not committed\n");
    world.write("new.txt", "x\n");
    let log = log_of(&world, &said(&world, "look"));
    assert!(log.contains(&format!("{}/.worktrees/.gates/1\n", world.root.display())), "{log}");
    assert!(log.contains(&world.git(&["rev-parse", "HEAD"])) && log.contains("hello\n"), "{log}");
    assert!(!log.contains("new.txt"), "{log}");
    assert_eq!(world.read("README.md"), "changed here and not committed\n");
    world.git(&["checkout", "-q", "README.md"]);
    // The next commit runs in the same worktree.
    world.git(&["rm", "-q", "specs/vision.md"]);
    world.write("next.txt", "next\n");
    world.commit_all("next");
    let log = log_of(&world, &said(&world, "look"));
    assert!(log.contains("next.txt") && !log.contains("specs"), "{log}");
    assert_eq!(places(&world), ["1"]);
    assert_eq!(std::fs::read_dir(world.path(".liza/trash")).unwrap().count(), 0, "it was made anew");
}

#[test]
fn gate_that_changes_its_tree_does_not_count() {
    let table = [
        ("writes", "echo x >> README.md", "README.md"),
        ("removes", "rm README.md", "README.md"),
        ("stages", "echo x > README.md; git add README.md", "README.md"),
        ("hides", "git update-index --assume-unchanged README.md; echo x > README.md", "README.md"),
        ("skips", "git update-index --skip-worktree README.md; echo x > README.md", "README.md"),
        ("commits", "git -c user.name=x -c user.email=x@x commit -q --allow-empty -m sly", "moved the tree"),
        ("deletes", "rm -rf \"$PWD\"", "removed its working directory"),
        ("unlinks", "rm .git", "removed its working directory"),
    ];
    let commands: Vec<(&str, Value)> =
        table.iter().map(|(name, command, _)| (*name, json!(command))).collect();
    let mut gates = optional(&commands);
    let checks = "test \"$(cat README.md)\" = hello && test -z \"$(git status --porcelain)\"";
    gates.as_array_mut().unwrap().push(json!({ "name": "whole", "command": checks }));
    let world = with_gates(gates);
    for (name, _, why) in table {
        let found = said(&world, name);
        assert_eq!(found["status"], "could_not_run", "{name}: {found}");
        assert!(found["reason"].as_str().unwrap().contains(why), "{name}: {found}");
        // The tree is restored for the next gate.
        let found = said(&world, "whole");
        assert_eq!(found["status"], "pass", "after {name}: {found}");
    }
    assert_eq!(places(&world), ["1"]);
    assert_eq!(world.read("README.md"), "hello\n");
    world.sound();
}

#[test]
fn gate_leftovers_are_removed_unless_kept() {
    let world = with_gates(json!([]));
    world.write(".gitignore", "*.o\ntarget/\n");
    world.commit_all("ignore");
    let leaves = "test ! -e junk && test ! -e a.o && test ! -e other && touch junk a.o && mkdir other && git -C other init -q";
    let gates = json!([
        { "name": "one", "command": leaves },
        { "name": "two", "command": leaves },
        { "name": "kept", "command": "mkdir -p target && echo x >> target/count && cat target/count" },
    ]);
    configure_with(&world, gates.clone(), json!({ "keep": ["target/"] }));
    for count in 1..=2 {
        let ran = world.json(&HUMAN, &["gate", "run", "--tree", "main", "--fresh"]).ok();
        assert_eq!(log_of(&world, &ran.data()["gates"]["kept"]).matches("x\n").count(), count);
    }
    configure_with(&world, gates, json!({}));
    let ran = world.json(&HUMAN, &["gate", "run", "--tree", "main", "--fresh"]).ok();
    assert_eq!(log_of(&world, &ran.data()["gates"]["kept"]).matches("x\n").count(), 1);
}

#[test]
fn damaged_gate_worktree_is_recreated() {
    let world = with_gates(json!([{ "name": "fine", "command": "test -f README.md && test ! -e junk" }]));
    let place = world.path(".worktrees/.gates/1");
    let admin = world.path(".git/worktrees/1");
    type Break = fn(&std::path::Path, &std::path::Path);
    let table: [(&str, Break); 6] = [
        ("its directory is gone", |place, _| std::fs::remove_dir_all(place).unwrap()),
        ("its .git file is gone", |place, _| std::fs::remove_file(place.join(".git")).unwrap()),
        ("its record is gone", |_, admin| std::fs::remove_dir_all(admin).unwrap()),
        ("its record is half-made", |_, admin| std::fs::write(admin.join("commondir"), "").unwrap()),
        ("a dead git's lock", |_, admin| std::fs::write(admin.join("index.lock"), "").unwrap()),
        ("a broken index", |_, admin| std::fs::write(admin.join("index"), "x").unwrap()),
    ];
    for (what, damage) in table {
        assert_eq!(said(&world, "fine")["status"], "pass", "before {what}");
        damage(&place, &admin);
        std::fs::create_dir_all(&place).unwrap();
        std::fs::write(place.join("junk"), "x").unwrap();
        assert_eq!(said(&world, "fine")["status"], "pass", "{what}");
        assert_eq!(places(&world), ["1"], "{what}");
    }
    world.sound();
}

#[test]
fn concurrent_gate_runs_use_two_worktrees() {
    let world = with_gates(json!([]));
    let seen = world.home().join("seen");
    let wait = "pwd >> \"$SEEN\"; while test ! -e \"$SEEN.go\"; do sleep 0.02; done";
    configure(&world, json!([{ "name": "wait", "command": wait, "environment": { "SEEN": seen } }]));
    let start = || {
        let args = ["gate", "run", "--tree", "main", "--fresh"];
        world.liza_command(&HUMAN, &world.root, &args).stdout(std::process::Stdio::null()).start().unwrap()
    };
    let mut both = [start(), start()];
    until("two gates run", || super::text_of(&seen).lines().count() == 2);
    std::fs::write(world.home().join("seen.go"), "").unwrap();
    for one in &mut both {
        assert!(one.wait().unwrap().success());
    }
    let text = super::text_of(&seen);
    let lines: std::collections::BTreeSet<&str> = text.lines().collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert_eq!(places(&world), ["1", "2"]);
    check_listed_and_not_pruned(&world);
}

fn check_listed_and_not_pruned(world: &World) {
    let data = world.json(&HUMAN, &["worktree", "list"]).ok().data();
    let purposes: Vec<&Value> =
        data["worktrees"].as_array().unwrap().iter().map(|place| &place["purpose"]).collect();
    assert_eq!(purposes, ["gate", "gate"]);
    // The worktrees stay for later gates, and doctor does not report them.
    let data = world.json(&HUMAN, &["worktree", "prune"]).ok().data();
    assert_eq!(data["pruned"], json!([]));
    world.human(&["gc"]).ok();
    world.human(&["doctor"]).ok();
    world.sound();
    assert_eq!(places(world), ["1", "2"]);
    world.human(&["uninstall", "--yes"]).ok();
    assert!(!world.path(".worktrees").exists());
    assert!(!world.git(&["worktree", "list"]).contains(".gates"));
    assert_eq!(world.git(&["for-each-ref", "refs/liza/wip"]), "");
}

#[test]
fn users_hooks_do_not_run_in_gate_worktrees() {
    let world = with_gates(json!([{ "name": "fine", "command": "true" }]));
    let canary = world.home().join("hooked");
    for hook in ["post-checkout", "post-index-change", "reference-transaction"] {
        let path = world.path(".git/hooks").join(hook);
        std::fs::write(&path, format!("#!/bin/sh\necho {hook} >> '{}'\n", canary.display())).unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    for _ in 0..2 {
        assert_eq!(said(&world, "fine")["status"], "pass");
    }
    assert_eq!(super::text_of(&canary), "");
}
