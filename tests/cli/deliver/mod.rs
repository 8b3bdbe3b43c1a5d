//! `liza deliver`: moves the branch a person has checked out, with its files; refuses where git would; recovers after kills.

mod requests;

use std::path::Path;

use serde_json::json;

use crate::concurrency::make_executable;
use crate::crash::{Saved, points};
use crate::merging::Team;
use crate::support::process::Bounded as _;
use crate::support::{HUMAN, World, write};

/// A person has `main` checked out with own changes, and integration has changed, added and removed files.
pub fn scene() -> World {
    let world = World::bare_repo();
    for (file, text) in
        [("keep.txt", "old\n"), ("old.txt", "gone\n"), ("notes.txt", "n\n"), (".gitignore", "*.ignored\n")]
    {
        world.write(file, text);
    }
    world.commit_all("files");
    world.human(&["init", "A greeting program"]).ok();
    advance_integration(&world);
    // Files of the person that do not conflict with the delivery.
    world.write("notes.txt", "changed\n");
    world.write("staged.txt", "staged\n");
    world.git(&["add", "staged.txt"]);
    world.write("mine.txt", "mine\n");
    world
}

/// Brings a change of every kind into integration.
fn advance_integration(world: &World) {
    let up = world.home().join("up");
    world.git(&["worktree", "add", "-q", "-b", "up", up.to_str().unwrap(), "main"]);
    write(&up, "keep.txt", &"new\n".repeat(1000));
    write(&up, "dir/new.txt", &"more\n".repeat(1000));
    write(&up, "run.sh", "#!/bin/sh\n");
    make_executable(&up.join("run.sh"));
    std::os::unix::fs::symlink("keep.txt", up.join("link")).unwrap();
    std::fs::remove_file(up.join("old.txt")).unwrap();
    world.git_in(&up, &["add", "-A"]);
    world.git_in(&up, &["commit", "-q", "-m", "up"]);
    world.human(&["integration", "advance", "up", "--reason", "work"]).ok();
}

/// The status that git prints for the person's checkout.
fn status(world: &World) -> String {
    world.git(&["status", "--porcelain", "--untracked-files=all"])
}

fn head(world: &World, branch: &str) -> String {
    world.git(&["rev-parse", &format!("refs/heads/{branch}")])
}

#[test]
fn deliver_equals_a_fast_forward_merge() {
    let world = scene();
    let (before, old) = (status(&world), head(&world, "main"));
    let data = world.json(&HUMAN, &["deliver", "--dry-run"]).ok().data();
    assert_eq!((&data["dry_run"], &data["commits"], &data["files"]), (&json!(true), &json!(1), &json!(5)));
    assert_eq!((status(&world), head(&world, "main")), (before.clone(), old.clone()));
    let data = world.json(&HUMAN, &["deliver"]).ok().data();
    assert_eq!(data["checkout"], json!(world.root.display().to_string()));
    assert_eq!(head(&world, "main"), head(&world, "integration"));
    assert_eq!(status(&world), before, "the person's own changes are as they were");
    assert_eq!(world.read("dir/new.txt").len(), 5000);
    assert!(!world.path("old.txt").exists() && world.path("link").is_symlink());
    assert_eq!(world.git(&["rev-parse", "ORIG_HEAD"]), old);
    assert!(world.git(&["reflog", "-1", "HEAD"]).contains("liza deliver"));
    world.refused(&HUMAN, &["deliver"], 1, "refused.empty");
    world.sound();
}

#[test]
fn deliver_refuses_conflicting_local_files() {
    let world = scene();
    let old = head(&world, "main");
    let refused = |path: &str| {
        let before = status(&world);
        for args in [&["deliver"][..], &["deliver", "--dry-run"]] {
            let error = world.refused(&HUMAN, args, 1, "refused.worktree_dirty");
            assert_eq!(error["details"]["paths"], json!([path]), "{error}");
        }
        assert_eq!((status(&world), head(&world, "main")), (before, old.clone()));
    };
    world.write("keep.txt", "mine\n");
    refused("keep.txt");
    world.git(&["add", "keep.txt"]);
    refused("keep.txt");
    world.git(&["checkout", "-q", "HEAD", "keep.txt"]);
    world.write("dir/new.txt", "not in git\n");
    refused("dir/new.txt");
    std::fs::remove_dir_all(world.path("dir")).unwrap();
    world.write("dir", "a file\n");
    refused("dir");
    // Git would overwrite an ignored file, which may be the only copy.
    std::fs::remove_file(world.path("dir")).unwrap();
    std::fs::write(world.path(".git/info/exclude"), ".liza\n.worktrees\nrun.sh\n").unwrap();
    world.write("run.sh", "precious\n");
    refused("run.sh");
    assert_eq!(world.read("run.sh"), "precious\n");
    std::fs::remove_file(world.path("run.sh")).unwrap();
    world.write("old.txt", "changed\n");
    refused("old.txt");
    world.git(&["checkout", "-q", "old.txt"]);
    std::fs::write(world.path(".git/index.lock"), "").unwrap();
    world.refused(&HUMAN, &["deliver"], 3, "stale.worktree");
    std::fs::remove_file(world.path(".git/index.lock")).unwrap();
    world.human(&["deliver"]).ok();
}

#[test]
fn killed_delivery_recovers_at_any_step() {
    let world = scene();
    let (before, old) = (status(&world), head(&world, "main"));
    let wanted = head(&world, "integration");
    let saved = Saved::of(&world);
    let own = ["move.begun", "move.pinned", "move.recorded", "deliver.files", "move.moved"];
    for point in points(&own, 3) {
        saved.restore();
        world.dies_at(&point, &HUMAN, &["deliver"]);
        world.recovers(&point);
        let moved = ["deliver.files", "move.moved"].contains(&&*point) || point.ends_with(":3");
        assert_eq!(head(&world, "main"), if moved { &*wanted } else { &*old }, "{point}");
        assert_eq!(status(&world), before, "{point}");
        if !moved {
            world.human(&["deliver"]).ok();
        }
        assert_eq!((head(&world, "main"), status(&world)), (wanted.clone(), before.clone()), "{point}");
        world.sound();
    }
}

#[test]
fn killed_delivery_restores_partial_files() {
    let world = scene();
    let (before, old) = (status(&world), head(&world, "main"));
    let saved = Saved::of(&world);
    // As a killed git leaves them: written, half written, removed, with git's lock.
    let halfway = || {
        world.dies_at("move.recorded", &HUMAN, &["deliver"]);
        world.write("keep.txt", &"new\n".repeat(1000));
        world.write("dir/new.txt", &"more\n".repeat(700));
        std::fs::remove_file(world.path("old.txt")).unwrap();
        std::os::unix::fs::symlink("keep.txt", world.path("link")).unwrap();
        std::fs::write(world.path(".git/index.lock"), "").unwrap();
    };
    halfway();
    world.recovers("halfway");
    assert_eq!((head(&world, "main"), status(&world)), (old.clone(), before.clone()));
    assert!(!world.path("dir").exists() && !world.path(".git/index.lock").exists());
    world.human(&["deliver"]).ok();
    assert_eq!(status(&world), before);
    // Files that the person wrote meanwhile stay.
    saved.restore();
    halfway();
    world.write("keep.txt", "the person's\n");
    // Nothing ever writes into this pipe.
    let pipe = world.path("run.sh");
    assert!(world.command("mkfifo", &world.root).arg(&pipe).finish_status().unwrap().success());
    let said = world.recovers("halfway with an edit").stderr;
    assert!(said.contains("keep.txt") && said.contains("stay as they are"), "{said}");
    assert!(said.contains("run.sh"), "{said}");
    assert_eq!((world.read("keep.txt").as_str(), head(&world, "main")), ("the person's\n", old));
    assert_eq!(world.read("old.txt"), "gone\n");
}

#[test]
fn targets_own_commits_are_gated_before_delivery() {
    let world = scene();
    world.write("liza.yaml", "gates: [{name: check, command: 'test ! -e broken'}]\n");
    world.git(&["stash", "-q", "--include-untracked"]);
    world.write("broken", "x\n");
    world.commit_all("own work");
    world.write("liza.yaml", "gates: [{name: check, command: 'test ! -e broken'}]\n");
    let (old, integration) = (head(&world, "main"), head(&world, "integration"));
    let ran = world.json(&HUMAN, &["deliver"]).exits(7);
    assert_eq!(ran.code(), "gate.red");
    assert_eq!((head(&world, "main"), head(&world, "integration")), (old, integration));
    world.git(&["rm", "-q", "broken"]);
    world.git(&["commit", "-q", "-m", "fixed"]);
    let saved = Saved::of(&world);
    for point in ["deliver.advanced", "move.moved:1", "move.recorded:2", "deliver.files", "move.moved:2"] {
        saved.restore();
        world.dies_at(point, &HUMAN, &["deliver"]);
        world.recovers(point);
        if head(&world, "main") != head(&world, "integration") {
            world.human(&["deliver"]).ok();
        }
        assert_eq!(head(&world, "main"), head(&world, "integration"), "{point}");
        assert_eq!(status(&world), "?? liza.yaml", "{point}");
        world.sound();
    }
    assert!(world.git(&["log", "--format=%s", "main"]).contains("own work"));
}

#[test]
fn attributes_do_not_hide_a_changed_liza_yaml() {
    let world = World::bare_repo();
    world.write(".gitattributes", "liza.yaml -diff\n");
    world.write("liza.yaml", "version: 1\n");
    world.commit_all("files");
    world.human(&["init", "A greeting program"]).ok();
    let up = world.home().join("up");
    world.git(&["worktree", "add", "-q", "-b", "up", up.to_str().unwrap(), "main"]);
    write(&up, "liza.yaml", "gates: [{name: test, command: evil}]\n");
    world.git_in(&up, &["commit", "-qam", "other gates"]);
    world.human(&["integration", "advance", "up", "--reason", "work"]).ok();
    let ran = world.json(&HUMAN, &["deliver"]).exits(2);
    assert_eq!(ran.code(), "usage.confirm");
    let shown = ran.json()["error"]["details"]["diff"].to_string();
    assert!(shown.contains("+gates: [{name: test, command: evil}]"), "{shown}");
}

#[test]
fn delivery_conflict_notifies_planner_once() {
    let world = scene();
    world.git(&["checkout", "-q", "HEAD", "notes.txt"]);
    world.write("keep.txt", "of the person\n");
    world.git(&["commit", "-q", "-m", "own", "keep.txt"]);
    let old = head(&world, "main");
    world.refused(&HUMAN, &["deliver", "--dry-run"], 11, "git.conflict");
    for _ in 0..2 {
        let ran = world.json(&HUMAN, &["deliver"]).exits(11);
        assert_eq!(ran.json()["error"]["details"]["files"], json!(["keep.txt"]));
    }
    assert_eq!(head(&world, "main"), old);
    let notes = world.json(&HUMAN, &["inbox"]).ok().data()["human_notes"].clone();
    assert_eq!(notes.as_array().map(Vec::len), Some(1), "{notes}");
    // The command that the hint names.
    world.git(&["reset", "-q", "staged.txt"]);
    world.git_as(&HUMAN, &world.root, &["merge", "-q", "refs/heads/integration"], &[]);
    world.refused(&HUMAN, &["deliver"], 1, "refused.checked_out");
    world.write("keep.txt", "of both\n");
    world.git(&["commit", "-q", "-a", "-m", "resolved"]);
    world.refused(&HUMAN, &["deliver"], 1, "refused.empty");
    world.human(&["integration", "advance", "main", "--reason", "resolved"]).ok();
    assert_eq!(head(&world, "main"), head(&world, "integration"));
}

#[test]
fn delivery_of_changed_liza_yaml_needs_consent() {
    let Team { world, .. } = Team::new();
    let up = world.home().join("up");
    world.git(&["worktree", "add", "-q", "-b", "up", up.to_str().unwrap(), "main"]);
    world.write_and_commit(&up, &[("liza.yaml", "gates: [{name: evil, command: 'true'}]\n")]);
    world.human(&["integration", "advance", "up", "--reason", "settings"]).ok();
    std::fs::remove_file(world.path("liza.yaml")).unwrap();
    let old = head(&world, "main");
    let error = world.refused(&HUMAN, &["deliver"], 2, "usage.confirm");
    assert!(error["details"]["diff"].as_str().unwrap().contains("+gates: [{name: evil"), "{error}");
    assert_eq!(head(&world, "main"), old);
    let shown = world.human(&["deliver", "--dry-run"]).ok().stdout;
    assert!(shown.contains("+gates: [{name: evil"), "{shown}");
    world.human(&["deliver", "--accept-config"]).ok();
    assert_eq!(head(&world, "main"), head(&world, "integration"));
}

#[test]
fn deliver_updates_any_checkout_or_says_why_not() {
    let world = scene();
    let (wanted, side) = (head(&world, "integration"), world.home().join("side"));
    // In another worktree of the person, called from there and from the main one.
    world.git(&["worktree", "add", "-q", "-b", "side", side.to_str().unwrap(), "main"]);
    write(&side, "keep.txt", "mine\n");
    world.refused(&HUMAN, &["deliver", "--to", "side"], 1, "refused.worktree_dirty");
    world.git_in(&side, &["checkout", "-q", "keep.txt"]);
    let ran = world.liza_in(&HUMAN, &side, &["--json", "deliver"]).ok();
    assert_eq!((&ran.data()["branch"], &ran.data()["new"]), (&json!("side"), &json!(wanted)));
    assert_eq!(world.git_in(&side, &["status", "--porcelain"]), "");
    assert!(side.join("dir/new.txt").is_file() && !world.path("dir").exists());
    // Two checkouts of the branch, one in a rebase, one deleted, one detached.
    let twice = world.home().join("twice");
    world.git(&["worktree", "add", "-q", "-f", twice.to_str().unwrap(), "main"]);
    world.refused(&HUMAN, &["deliver"], 1, "refused.checked_out");
    world.git(&["worktree", "remove", "-f", twice.to_str().unwrap()]);
    std::fs::write(world.path(".git/MERGE_HEAD"), format!("{wanted}\n")).unwrap();
    let error = world.refused(&HUMAN, &["deliver"], 1, "refused.checked_out");
    assert!(error["message"].as_str().unwrap().contains("in the middle of a merge"), "{error}");
    std::fs::remove_file(world.path(".git/MERGE_HEAD")).unwrap();
    world.git(&["checkout", "-q", "--detach"]);
    let error = world.refused(&HUMAN, &["deliver"], 1, "refused.checked_out");
    assert!(error["hint"].as_str().unwrap().contains("--to"), "{error}");
    world.human(&["deliver", "--to", "main"]).ok();
    assert_eq!(head(&world, "main"), wanted);
    assert!(!world.path("dir").exists(), "a detached checkout is left alone");
    // Unknown names, new names, and a name without a commit.
    let error = world.refused(&HUMAN, &["deliver", "--to", "mian"], 1, "refused.value");
    assert!(error["hint"].as_str().unwrap().contains("did you mean `main`"), "{error}");
    world.human(&["deliver", "--to", "release", "--create"]).ok();
    assert_eq!(head(&world, "release"), wanted);
    let unborn = world.home().join("unborn");
    world.git(&["worktree", "add", "-q", "--detach", unborn.to_str().unwrap(), "main"]);
    world.git_in(&unborn, &["switch", "-q", "--orphan", "fresh"]);
    world.liza_in(&HUMAN, &unborn, &["deliver"]).ok();
    assert_eq!((head(&world, "fresh"), unborn.join("keep.txt").is_file()), (wanted, true));
    world.refused(&HUMAN, &["deliver", "--to", "integration"], 2, "usage.argument");
    world.sound();
}

/// Accepted filters and line endings make the files what the person works with.
#[test]
fn accepted_filters_write_the_delivered_files() {
    let world = World::bare_repo();
    world.git(&["config", "filter.large.smudge", "sed s/stored/working/"]);
    world.git(&["config", "filter.large.clean", "sed s/working/stored/"]);
    world.write(".gitattributes", "*.bin filter=large\n*.crlf text eol=crlf\n");
    world.commit_all("attributes");
    world.human(&["init", "A greeting program"]).ok();
    world.git(&["config", "filter.evil.smudge", "touch /tmp/never; cat"]);
    let up = world.home().join("up");
    world.git(&["worktree", "add", "-q", "-b", "up", up.to_str().unwrap(), "main"]);
    world.write_and_commit(&up, &[("a.bin", "working copy\n"), ("b.crlf", "line\r\n")]);
    world.human(&["integration", "advance", "up", "--reason", "work"]).ok();
    assert_eq!(world.git(&["show", "integration:a.bin"]), "stored copy");
    let saved = Saved::of(&world);
    world.human(&["deliver"]).ok();
    let files = || (world.read("a.bin"), world.read("b.crlf"), status(&world));
    let wanted = ("working copy\n".to_owned(), "line\r\n".to_owned(), "?? liza.yaml".to_owned());
    assert_eq!(files(), wanted);
    // A partial file, as the filter wrote it.
    saved.restore();
    world.dies_at("move.recorded", &HUMAN, &["deliver"]);
    world.write("a.bin", "working");
    world.write("b.crlf", "line\r\n");
    world.recovers("filtered");
    assert_eq!(status(&world), "?? liza.yaml");
    world.human(&["deliver"]).ok();
    assert_eq!(files(), wanted);
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|meta| meta.permissions().mode() & 0o111 != 0)
}

#[test]
fn delivered_modes_and_hooks_match_git() {
    let world = scene();
    let hook = world.path(".git/hooks/post-merge");
    std::fs::write(&hook, "#!/bin/sh\ntouch \"$HOME/merged-$1\"\n").unwrap();
    make_executable(&hook);
    let saved = Saved::of(&world);
    world.human(&["deliver"]).ok();
    assert!(is_executable(&world.path("run.sh")));
    assert!(!world.home().join("merged-0").exists(), "a hook that was not accepted does not run");
    saved.restore();
    world.human(&["doctor", "--accept-git"]).ok();
    world.human(&["deliver"]).ok();
    assert!(world.home().join("merged-0").exists());
}
