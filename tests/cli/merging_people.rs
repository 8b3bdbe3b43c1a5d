//! What only people do to branches: resolving, advancing, delivering.

use serde_json::json;

use crate::merging::Team;
use crate::support::{HUMAN, World};

/// Two tasks in a real conflict, the second one BLOCKED.
fn blocked() -> Team {
    let team = Team::sharing("shared.sh", "one\n");
    team.rivals("shared.sh", "first\n", "second\n");
    team.world.liza(&team.reviewer, &["merge", "t1"]).ok();
    team.conflicts("t2", "blocked");
    team
}

/// A commit on a branch of a person's that merges integration and the task.
fn resolution(world: &World, more: &[(&str, &str)]) -> String {
    let dir = world.home().join("mine");
    world.git(&["worktree", "add", "-q", "-b", "resolution", dir.to_str().unwrap(), "integration"]);
    world.git_in(&dir, &["merge", "-q", "-s", "ours", "--no-commit", "task/t2"]);
    let mut files = vec![("shared.sh", "first and second\n"), ("tests/test_t2.sh", "echo ok\n")];
    files.extend(more);
    for (file, text) in files {
        crate::support::write(&dir, file, text);
        world.git_in(&dir, &["add", "-f", file]);
    }
    world.git_in(&dir, &["commit", "-q", "-m", "both"]);
    world.git_in(&dir, &["rev-parse", "HEAD"])
}

#[test]
fn a_persons_resolution_lands_through_the_same_way() {
    let team = blocked();
    let world = &team.world;
    let commit = resolution(world, &[]);
    world.refused(&team.reviewer, &["merge", "t2", "--resolved", &commit], 1, "refused.human_only");
    world.refused(&HUMAN, &["merge", "t2", "--resolved", "nonsense"], 1, "refused.value");
    // It must contain what was approved.
    let ran = world.json(&HUMAN, &["merge", "t2", "--resolved", "main"]).exits(1);
    assert_eq!(ran.code(), "refused.not_ancestor");
    assert_eq!(world.status_of("t2"), "BLOCKED");
    let data = world.json(&HUMAN, &["merge", "t2", "--resolved", "resolution"]).ok().data();
    assert_eq!(data["outcome"], "merged");
    assert_eq!(world.git(&["show", "integration:shared.sh"]), "first and second");
    let task = world.show("t2");
    assert_eq!((&task["status"], &task["blocked_reason"]), (&json!("MERGED"), &serde_json::Value::Null));
    world.sound();
}

#[test]
fn a_resolution_cannot_smuggle_liza_files_in() {
    let team = blocked();
    let world = &team.world;
    let commit = resolution(world, &[(".liza/state.yaml", "evil\n")]);
    let before = team.head();
    let ran = world.json(&HUMAN, &["merge", "t2", "--resolved", &commit]).exits(1);
    assert_eq!(ran.code(), "refused.scope");
    assert_eq!(team.head(), before);
    assert_eq!(world.status_of("t2"), "BLOCKED");
    world.sound();
}

#[test]
fn an_unblocked_conflict_may_be_tried_again() {
    let team = blocked();
    let world = &team.world;
    world.human(&["task", "unblock", "t2", "--answer", "try again"]).ok();
    assert_eq!(world.status_of("t2"), "APPROVED");
    team.conflicts("t2", "blocked");
    world.sound();
}

/// A branch with one commit of a person's, made without touching the checkout.
fn branch(world: &World, name: &str, from: &str, files: &[(&str, &str)]) -> String {
    let dir = world.home().join(format!("on-{name}"));
    world.git(&["worktree", "add", "-q", "-b", name, dir.to_str().unwrap(), from]);
    for (file, text) in files {
        crate::support::write(&dir, file, text);
        world.git_in(&dir, &["add", "-f", file]);
    }
    world.git_in(&dir, &["commit", "-q", "-m", name]);
    world.git_in(&dir, &["rev-parse", "HEAD"])
}

#[test]
fn advance_fast_forwards_or_merges() {
    let Team { world, one, reviewer, .. } = Team::new();
    let commit = branch(&world, "up1", "main", &[("up1.txt", "1\n")]);
    let data = world.json(&HUMAN, &["integration", "advance", "up1", "--reason", "upstream"]).ok().data();
    assert_eq!((&data["branch"], &data["new"]), (&json!("integration"), &json!(commit)));
    assert_eq!(world.git(&["rev-parse", "integration"]), commit);
    world.merge_task(&one, &reviewer, "t1", "a.sh", "echo a\n");
    let before = world.git(&["rev-parse", "integration"]);
    let commit = branch(&world, "up2", "main", &[("up2.txt", "2\n")]);
    let data = world
        .json(&HUMAN, &["integration", "advance", &commit, "--reason", "a fix\nof two lines"])
        .ok()
        .data();
    let new = data["new"].as_str().unwrap();
    assert_eq!(world.git(&["log", "-1", "--format=%P", new]), format!("{before} {commit}"));
    assert_eq!(world.git(&["show", "integration:a.sh"]), "echo a");
    assert_eq!(world.git(&["show", "integration:up2.txt"]), "2");
    let log = world.human(&["log"]).ok().stdout;
    assert!(log.contains("a fix\\nof two lines") || log.contains("a fix"), "{log}");
    world.refused(&HUMAN, &["integration", "advance", "up2", "--reason", "again"], 1, "refused.empty");
    world.sound();
}

#[test]
fn advance_is_for_people_and_refuses_what_would_hurt() {
    let Team { world, one, reviewer, .. } = Team::new();
    let planner = world.register("planner", "planner-1");
    branch(&world, "up", "main", &[("up.txt", "1\n")]);
    for who in [&one, &reviewer, &planner] {
        world.refused(who, &["integration", "advance", "up", "--reason", "r"], 1, "refused.human_only");
        world.refused(who, &["deliver", "--to", "release"], 1, "refused.human_only");
    }
    world.refused(&HUMAN, &["integration", "advance", "up", "--reason", ""], 1, "refused.incomplete");
    world.refused(&HUMAN, &["integration", "advance", "up"], 2, "usage.arguments");
    world.refused(&HUMAN, &["integration", "advance", "no-such", "--reason", "r"], 1, "refused.value");
    world.refused(&HUMAN, &["integration", "advance", "--reason", "r", "--", "--all"], 1, "refused.value");
    // Runtime state never travels through git.
    for (name, path) in [("evil1", ".liza/state.yaml"), ("evil2", ".worktrees/t1/x"), ("evil3", ".LIZA/x")] {
        branch(&world, name, "main", &[(path, "evil\n")]);
        let error =
            world.refused(&HUMAN, &["integration", "advance", name, "--reason", "r"], 1, "refused.scope");
        assert!(error["message"].as_str().unwrap().contains(path), "{error}");
    }
    world.git(&["checkout", "-q", "integration"]);
    world.refused(&HUMAN, &["integration", "advance", "up", "--reason", "r"], 1, "refused.checked_out");
    world.git(&["checkout", "-q", "main"]);
    world.human(&["integration", "advance", "up", "--reason", "r"]).ok();
}

#[test]
fn a_conflicting_advance_changes_nothing() {
    let Team { world, one, reviewer, .. } = Team::new();
    world.merge_task(&one, &reviewer, "t1", "a.sh", "echo a\n");
    branch(&world, "up", "main", &[("a.sh", "echo other\n")]);
    let head = world.git(&["rev-parse", "integration"]);
    let ran = world.json(&HUMAN, &["integration", "advance", "up", "--reason", "r"]).exits(11);
    assert_eq!(ran.code(), "git.conflict");
    assert_eq!(ran.json()["error"]["details"]["files"], json!(["a.sh"]));
    assert_eq!(world.git(&["rev-parse", "integration"]), head);
    assert_eq!(world.json(&HUMAN, &["status"]).ok().data()["intents"], json!([]));
    world.sound();
}

#[test]
fn deliver_moves_a_branch_nobody_has_checked_out() {
    let Team { world, one, reviewer, .. } = Team::new();
    let commit = world.merge_task(&one, &reviewer, "t1", "a.sh", "echo a\n");
    // Checked out: the person gets the command.
    let error = world.refused(&HUMAN, &["deliver"], 1, "refused.checked_out");
    assert!(error["hint"].as_str().unwrap().contains("git merge --ff-only integration"), "{error}");
    world.git(&["checkout", "-q", "-b", "elsewhere"]);
    let data = world.json(&HUMAN, &["deliver", "--to", "main"]).ok().data();
    assert_eq!((&data["branch"], &data["new"]), (&json!("main"), &json!(commit)));
    assert_eq!(world.git(&["rev-parse", "main"]), commit);
    world.refused(&HUMAN, &["deliver"], 1, "refused.empty");
    world.refused(&HUMAN, &["deliver", "--to", "integration"], 2, "usage.argument");
    // A branch that is not there yet is made.
    world.human(&["deliver", "--to", "release/1"]).ok();
    assert_eq!(world.git(&["rev-parse", "release/1"]), commit);
    let ran = world.json(&HUMAN, &["deliver", "--to", "-f"]);
    assert_eq!(ran.exit, 2, "{}", ran.stdout);
    for bad in ["a..b", "x y", "refs/../x"] {
        let ran = world.json(&HUMAN, &["deliver", "--to", bad]);
        assert!(matches!(ran.exit, 1 | 2 | 8), "{bad}: {}", ran.stdout);
    }
    world.sound();
}

#[test]
fn a_diverged_branch_is_not_delivered_to() {
    let Team { world, one, reviewer, .. } = Team::new();
    world.merge_task(&one, &reviewer, "t1", "a.sh", "echo a\n");
    let mine = branch(&world, "release", "main", &[("mine.txt", "x\n")]);
    world.git_in(&world.home().join("on-release"), &["checkout", "-q", "--detach"]);
    let error = world.refused(&HUMAN, &["deliver", "--to", "release"], 1, "refused.not_ancestor");
    assert!(error["hint"].as_str().unwrap().contains("liza integration advance release"), "{error}");
    assert_eq!(world.git(&["rev-parse", "release"]), mine);
    // The way out that the hint names.
    world.human(&["integration", "advance", "release", "--reason", "theirs"]).ok();
    world.human(&["deliver", "--to", "release"]).ok();
    assert_eq!(world.git(&["rev-parse", "release"]), world.git(&["rev-parse", "integration"]));
    world.sound();
}

#[test]
fn a_lost_integration_branch_is_named_with_the_way_back() {
    let Team { world, one, reviewer, .. } = Team::new();
    world.approved(&one, &reviewer, "t1", "a.sh", "echo a\n");
    let head = world.git(&["rev-parse", "integration"]);
    world.git(&["branch", "-q", "-D", "integration"]);
    let ran = world.json(&reviewer, &["merge", "t1"]).exits(8);
    let hint = ran.json()["error"]["hint"].as_str().unwrap().to_owned();
    assert!(hint.contains(&format!("git branch integration {head}")), "{hint}");
    assert_eq!(world.status_of("t1"), "APPROVED");
    world.git(&["branch", "integration", &head]);
    world.liza(&reviewer, &["merge", "t1"]).ok();
}
