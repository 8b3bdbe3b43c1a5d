//! Variants of the attacks in specs/trust.md that have no other test file.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::support::{HUMAN, Who, World};

struct Team {
    world: World,
    coder: Who,
    reviewer: Who,
}

fn team() -> Team {
    let world = World::new();
    let coder = world.register("coder", "coder-1");
    let reviewer = world.register("code_reviewer", "reviewer-1");
    Team { world, coder, reviewer }
}

/// A program that creates a file of its name where it runs.
fn trap(dir: &Path, name: &str) -> String {
    let path = dir.join(name);
    std::fs::write(&path, format!("#!/bin/sh\ntouch '{}/ran-{name}'\ncat 2>/dev/null\n", dir.display()))
        .unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

fn ran(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).unwrap().flatten();
    entries
        .map(|entry| entry.file_name().into_string().unwrap())
        .filter(|name| name.starts_with("ran-"))
        .collect()
}

/// Every setting that makes git run a program, set where agents can write, and variables of the caller.
#[test]
fn no_git_setting_runs_an_agents_program() {
    let Team { world, coder, reviewer } = team();
    world.task("t1", &["a.sh", "tests/"]);
    world.task("t2", &["b.sh"]);
    let traps = world.home().join("traps");
    std::fs::create_dir_all(traps.join("hooks")).unwrap();
    let set = |key: &str, name: &str| {
        let program = trap(&traps, name);
        world.git(&["config", key, &program]);
    };
    for (at, key) in [
        "core.fsmonitor",
        "core.sshCommand",
        "core.editor",
        "sequence.editor",
        "core.askPass",
        "diff.external",
        "gpg.program",
        "gpg.ssh.program",
        "core.pager",
        "credential.helper",
        "core.alternateRefsCommand",
        "uploadpack.packObjectsHook",
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.evil.process",
        "merge.evil.driver",
        "diff.evil.textconv",
        "diff.evil.command",
        "trailer.Liza-Task.command",
        "trailer.Reviewed-by.cmd",
        "interactive.diffFilter",
        "gpg.x509.program",
        "mergetool.evil.cmd",
        "browser.x.cmd",
        "core.gitProxy",
        "remote.origin.uploadpack",
        "submodule.x.update",
    ]
    .iter()
    .enumerate()
    {
        set(key, &format!("key-{at}"));
    }
    for alias in ["status", "merge-tree", "worktree", "update-ref", "cat-file", "checkout"] {
        world.git(&[
            "config",
            &format!("alias.{alias}"),
            &format!("!{}", trap(&traps, &format!("alias-{alias}"))),
        ]);
    }
    let hooks = [
        "post-checkout",
        "pre-commit",
        "post-commit",
        "reference-transaction",
        "post-merge",
        "pre-merge-commit",
        "prepare-commit-msg",
        "commit-msg",
        "post-index-change",
        "post-rewrite",
        "pre-auto-gc",
        "fsmonitor-watchman",
    ];
    for hook in hooks {
        let program = trap(&traps, &format!("hook-{hook}"));
        std::fs::copy(&program, traps.join("hooks").join(hook)).unwrap();
        std::fs::create_dir_all(world.path(".git/hooks")).unwrap();
        std::fs::copy(&program, world.path(".git/hooks").join(hook)).unwrap();
    }
    let attributes = "* merge=evil filter=evil diff=evil\n";
    std::fs::write(traps.join("attributes"), attributes).unwrap();
    std::fs::create_dir_all(world.path(".git/info")).unwrap();
    std::fs::write(world.path(".git/info/attributes"), attributes).unwrap();
    let included = trap(&traps, "included");
    std::fs::write(
        traps.join("included.conf"),
        format!("[core]\n\tfsmonitor = {included}\n[merge \"evil\"]\n\tdriver = {included}\n"),
    )
    .unwrap();
    for (key, value) in [
        ("core.hooksPath", traps.join("hooks").display().to_string()),
        ("core.attributesFile", traps.join("attributes").display().to_string()),
        ("include.path", traps.join("included.conf").display().to_string()),
        ("includeIf.gitdir:/.path", traps.join("included.conf").display().to_string()),
        ("merge.default", "evil".to_owned()),
        ("commit.gpgSign", "true".to_owned()),
        ("tag.gpgSign", "true".to_owned()),
        ("extensions.worktreeConfig", "true".to_owned()),
    ] {
        world.git(&["config", key, &value]);
    }
    std::fs::write(world.path(".git/config.worktree"), format!("[core]\n\tfsmonitor = {included}\n"))
        .unwrap();
    let clean = || ran(&traps).iter().for_each(|name| std::fs::remove_file(traps.join(name)).unwrap());
    clean();
    let variable = trap(&traps, "variable");
    let env: Vec<(&str, &str)> = [
        "GIT_EXTERNAL_DIFF",
        "GIT_SSH_COMMAND",
        "GIT_SSH",
        "GIT_EDITOR",
        "GIT_SEQUENCE_EDITOR",
        "GIT_PAGER",
        "GIT_ASKPASS",
        "GIT_PROXY_COMMAND",
        "GIT_CONFIG_VALUE_0",
    ]
    .iter()
    .map(|name| (*name, variable.as_str()))
    .chain([
        ("GIT_CONFIG_COUNT", "1"),
        ("GIT_CONFIG_KEY_0", "core.fsmonitor"),
        ("GIT_INDEX_FILE", "/nowhere"),
    ])
    .collect();
    let run = |who: &Who, args: &[&str]| {
        let done = world.json_env(who, args, &env);
        assert_eq!(ran(&traps), [""; 0], "liza {args:?} ran it");
        done
    };
    let worktree =
        run(&coder, &["task", "claim", "t1"]).ok().data()["worktree"].as_str().map(PathBuf::from).unwrap();
    let checkpoint =
        crate::support::checkpoint_args("t1", &["a.sh", "tests/a.sh"], "true && echo fine", "fine");
    run(&coder, &checkpoint).ok();
    // The agent's own git runs what the agent configured; that is the agent's affair.
    std::fs::write(worktree.join("a.sh"), "echo a\n").unwrap();
    std::fs::create_dir_all(worktree.join("tests")).unwrap();
    std::fs::write(worktree.join("tests/a.sh"), "true\n").unwrap();
    let plain =
        ["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "commit.gpgSign=false"];
    let attrs =
        ["-c", "core.attributesFile=/dev/null", "-c", "filter.evil.process=", "-c", "filter.evil.clean="];
    let git = |args: &[&str]| world.git_in(&worktree, &[&plain[..], &attrs[..], args].concat());
    git(&["add", "a.sh", "tests/a.sh"]);
    git(&["commit", "-qm", "t1"]);
    world.git(&["config", "core.worktree", &traps.display().to_string()]);
    clean();
    let commit =
        run(&coder, &["task", "submit", "t1"]).ok().data()["review_commit"].as_str().unwrap().to_owned();
    run(&reviewer, &["review", "claim", "t1"]).ok();
    run(&reviewer, &["review", "show", "t1"]).ok();
    run(&HUMAN, &["diff", "t1"]).ok();
    run(&reviewer, &["review", "approve", "t1", "--commit", &commit, "--summary", "fine"]).ok();
    run(&reviewer, &["merge", "t1"]).ok();
    run(&coder, &["task", "claim", "t2"]).ok();
    run(&coder, &["task", "sync", "t2"]).ok();
    run(&coder, &["task", "release", "t2"]).ok();
    for args in [
        ["verify"].as_slice(),
        &["doctor"],
        &["gc"],
        &["worktree", "prune"],
        &["archive", "--all"],
        &["deliver", "--to", "released"],
    ] {
        run(&HUMAN, args);
    }
    assert_eq!(
        world.git(&["--no-replace-objects", "cat-file", "-p", "refs/heads/integration:a.sh"]),
        "echo a"
    );
}

#[test]
fn every_change_of_the_review_checkout_is_seen() {
    let Team { world, coder, reviewer } = team();
    let commit = world.submitted(&coder, "t1", "a.sh", "echo a\n");
    let approve = ["review", "approve", "t1", "--commit", &commit, "--summary", "fine"];
    type Change = fn(&World, &Path);
    let changes: [(&str, Change); 6] = [
        ("hidden by skip-worktree", |world, at| {
            std::fs::write(at.join("a.sh"), "echo b\n").unwrap();
            world.git_in(at, &["update-index", "--skip-worktree", "a.sh"]);
        }),
        ("written through another link", |world, at| {
            let other = world.home().join("other-link");
            std::fs::hard_link(at.join("a.sh"), &other).unwrap();
            std::fs::write(&other, "echo c\n").unwrap();
        }),
        ("with the time put back", |_, at| {
            let path = at.join("a.sh");
            let then = std::fs::metadata(&path).unwrap().modified().unwrap();
            std::fs::write(&path, "echo d\n").unwrap();
            std::fs::File::options().write(true).open(&path).unwrap().set_modified(then).unwrap();
        }),
        ("executable", |_, at| {
            std::fs::set_permissions(at.join("a.sh"), std::fs::Permissions::from_mode(0o755)).unwrap();
        }),
        ("a link in its place", |_, at| {
            std::fs::remove_file(at.join("a.sh")).unwrap();
            std::os::unix::fs::symlink("/etc/hostname", at.join("a.sh")).unwrap();
        }),
        ("added to the index", |world, at| {
            std::fs::write(at.join("a.sh"), "echo e\n").unwrap();
            world.git_in(at, &["add", "a.sh"]);
        }),
    ];
    for (name, change) in changes {
        let checkout = world.json(&reviewer, &["review", "claim", "t1"]).ok().data()["checkout"].clone();
        change(&world, Path::new(checkout.as_str().unwrap()));
        let error = world.refused(&reviewer, &approve, 1, "refused.worktree_dirty");
        assert!(error["message"].as_str().unwrap().contains("a.sh"), "{name}: {error}");
    }
    world.liza(&reviewer, &["review", "claim", "t1"]).ok();
    world.liza(&reviewer, &approve).ok();
}

#[test]
fn every_change_of_a_gates_definition_stops_approvals() {
    let Team { world, coder, reviewer } = team();
    let gate = "name: words, command: 'true', on: [submit, merge], timeout: 60, environment: { A: b }";
    let other = "  - { name: lint, command: 'true' }\n";
    let config =
        |gates: &str, more: &str| world.write("liza.yaml", &format!("version: 1\ngates:\n{gates}{more}"));
    let right = format!("  - {{ {gate} }}\n{other}");
    config(&right, "");
    let commit = world.submitted(&coder, "t1", "a.sh", "echo a\n");
    world.liza(&reviewer, &["review", "claim", "t1"]).ok();
    let approve = ["review", "approve", "t1", "--commit", &commit];
    let changed = |from: &str, to: &str| {
        assert!(gate.contains(from), "{from}");
        format!("  - {{ {} }}\n{other}", gate.replace(from, to))
    };
    let variants = [
        (changed("'true'", "'exit 0'"), ""),
        (changed("'true'", "['true']"), ""),
        (changed("timeout: 60", "timeout: 61"), ""),
        (changed("A: b", "A: c"), ""),
        (changed("environment: { A: b }", "environment: { A: b, PATH: /tmp }"), ""),
        (changed("on: [submit, merge]", "on: [submit]"), ""),
        (changed("timeout", "optional: true, timeout"), ""),
        (changed("timeout", "adapter: pytest, timeout"), ""),
        (changed("timeout", "flaky_retries: 2, timeout"), ""),
        (changed("timeout", "pass_environment: [HOME], timeout"), ""),
        (other.to_owned(), ""),
        (right.clone(), "gating: { keep: [target] }\n"),
    ];
    for (gates, more) in variants {
        config(&gates, more);
        let ran = world.json(&reviewer, &approve);
        assert_eq!(ran.exit, 7, "{gates}{more}: {} {}", ran.stdout, ran.stderr);
        assert_eq!(world.status_of("t1"), "READY_FOR_REVIEW", "{gates}{more}");
    }
    config(&right, "");
    world.liza(&reviewer, &approve).ok();
    // A renamed gate is one missing gate and one new gate.
    config(&changed("name: words", "name: word"), "");
    assert_eq!(world.json(&reviewer, &["merge", "t1"]).exit, 7);
    config(&changed("'true'", "'exit 0'"), "");
    world.human(&["gate", "retire", "word", "--reason", "not a gate of ours"]).ok();
    assert_eq!(world.json(&reviewer, &["merge", "t1"]).exit, 7);
    config(other, "");
    assert_eq!(world.json(&HUMAN, &["merge", "t1"]).exit, 7);
    config(&right, "");
    world.liza(&reviewer, &["merge", "t1"]).ok();
}

/// An accepted gate is required even if it never ran.
#[test]
fn gate_cannot_vanish_before_its_first_run() {
    for gone in [
        "version: 1\n",
        "version: 1\ngates:\n  - { name: words, command: 'false', optional: true, on: [merge] }\n",
    ] {
        let Team { world, coder, reviewer } = team();
        world.write("liza.yaml", "version: 1\ngates:\n  - { name: words, command: 'false', on: [merge] }\n");
        world.human(&["gate", "accept"]).ok();
        let commit = world.submitted(&coder, "t1", "a.sh", "echo a\n");
        world.liza(&reviewer, &["review", "claim", "t1"]).ok();
        world.write("liza.yaml", gone);
        let ran = world.json(&reviewer, &["review", "approve", "t1", "--commit", &commit]);
        assert_eq!(
            (ran.exit, world.status_of("t1").as_str()),
            (7, "READY_FOR_REVIEW"),
            "{gone}: {}",
            ran.stdout
        );
        world.human(&["gate", "retire", "words", "--reason", "it says nothing"]).ok();
        world.json(&HUMAN, &["gate", "accept"]).ok();
        world.liza(&reviewer, &["review", "approve", "t1", "--commit", &commit]).ok();
        world.sound();
    }
}
