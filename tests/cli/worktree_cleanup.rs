//! Automatic removal: review checkouts at the verdict, worktrees of merged tasks once newer ones are merged.

use serde_json::json;

use crate::crash::Saved;
use crate::merging::Team;
use crate::support::{HUMAN, World, write};

fn names(world: &World, dir: &str) -> Vec<String> {
    let entries = std::fs::read_dir(world.path(dir)).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.retain(|name| dir != ".worktrees" || !name.starts_with('.') || name.starts_with(".going"));
    names.sort();
    names
}

fn records(world: &World) -> usize {
    world.git(&["worktree", "list"]).lines().count() - 1
}

#[test]
fn verdict_removes_the_review_checkout() {
    let Team { world, one, reviewer, .. } = Team::new();
    let commit = world.submitted(&one, "t1", "a.sh", "x\n");
    let claim = || world.json(&reviewer, &["review", "claim", "t1"]).ok().data()["checkout"].clone();
    let checkout = std::path::PathBuf::from(claim().as_str().unwrap());
    // Ignored files of a test run are deleted with it.
    write(&checkout, "build.ignored", "x\n");
    std::fs::write(world.path(".git/info/exclude"), ".liza\n.worktrees\n*.ignored\n").unwrap();
    let approve = ["review", "approve", "t1", "--commit", &commit];
    // While the reviewer's process is in it, it stays: its runner removes it afterwards.
    let ran = world.liza_in(&reviewer, &checkout, &["--json", "review", "show", "t1"]);
    assert_eq!(ran.exit, 0);
    world.liza(&reviewer, &approve).ok();
    assert!(!checkout.exists());
    assert_eq!((names(&world, ".liza/trash"), records(&world)), (vec![], 1));
    world.sound();
}

#[test]
fn review_checkout_in_use_is_kept() {
    let Team { world, one, reviewer, .. } = Team::new();
    let commit = world.submitted(&one, "t1", "a.sh", "x\n");
    world.liza(&reviewer, &["review", "claim", "t1"]).ok();
    let checkout = world.path(".worktrees/.review/t1");
    world.liza_in(&reviewer, &checkout, &["review", "approve", "t1", "--commit", &commit]).ok();
    assert!(checkout.exists());
    world.liza(&reviewer, &["merge", "t1"]).ok();
    assert!(!checkout.exists(), "the reviewer is no longer in it");
    // A reviewer's notes are in no commit: they go to the trash.
    let commit = world.submitted(&one, "t2", "b.sh", "x\n");
    world.liza(&reviewer, &["review", "claim", "t2"]).ok();
    write(&world.path(".worktrees/.review/t2"), "notes.txt", "look at line 3\n");
    world.liza(&reviewer, &["review", "approve", "t2", "--commit", &commit]).ok();
    assert_eq!(names(&world, ".worktrees/.review"), Vec::<String>::new());
    assert_eq!(names(&world, ".liza/trash"), ["review-t2"]);
}

#[test]
fn only_newest_merged_worktrees_are_kept() {
    let Team { world, one, reviewer, .. } = Team::new();
    for number in 1..=5 {
        world.merge_task(&one, &reviewer, &format!("t{number}"), &format!("f{number}.sh"), "x\n");
    }
    assert_eq!(names(&world, ".worktrees"), ["t3", "t4", "t5"]);
    assert_eq!((names(&world, ".liza/trash"), records(&world)), (vec![], 3));
    assert!(world.git(&["branch", "--list", "task/t1"]).contains("task/t1"), "branches are `gc`'s");
    let text = world.human(&["gc"]).ok().stdout;
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(text.contains("3 worktrees newest merged") && text.contains("liza gc -v"), "{text}");
    let text = world.human(&["gc", "-v"]).ok().stdout;
    assert!(text.contains("t3 is one of the newest merged tasks"), "{text}");
    // With other values of `keep_merged`.
    world.write("liza.yaml", "worktrees: {keep_merged: 1}\n");
    let text = world.human(&["gc", "--dry-run"]).ok().stdout;
    assert!(text.contains("would be freed: 2 worktrees deleted"), "{text}");
    assert_eq!(names(&world, ".worktrees").len(), 3);
    world.human(&["gc"]).ok();
    assert_eq!(names(&world, ".worktrees"), ["t5"]);
    world.write("liza.yaml", "worktrees: {keep_merged: all}\n");
    world.merge_task(&one, &reviewer, "t6", "f6.sh", "x\n");
    assert_eq!(names(&world, ".worktrees"), ["t5", "t6"]);
    world.write("liza.yaml", "worktrees: {keep_merged: some}\n");
    world.refused(&HUMAN, &["gc"], 2, "usage.config");
    std::fs::remove_file(world.path("liza.yaml")).unwrap();
    world.sound();
}

#[test]
fn only_copies_of_work_are_never_deleted() {
    let Team { world, one, reviewer, .. } = Team::new();
    world.write("liza.yaml", "worktrees: {keep_merged: 0}\n");
    std::fs::write(world.path(".git/info/exclude"), ".liza\n.worktrees\n*.ignored\n").unwrap();
    // Uncommitted files, a further commit, and an ignored file in scope.
    for (id, file) in [("dirty", "d.sh"), ("more", "m.sh"), ("kept", "k.ignored")] {
        let dir = world.path(&format!(".worktrees/{id}"));
        if id == "kept" {
            world.task_with(id, &["k.sh", "k.ignored", "tests/test_kept.sh"], &[]);
        } else {
            world.task(id, &[file, &format!("tests/test_{id}.sh")]);
        }
        let commit = world.submit_work(&one, id, if id == "kept" { "k.sh" } else { file }, "x\n");
        world.approve(&reviewer, id, &commit);
        if id == "dirty" {
            write(&dir, "left.txt", "not committed\n");
        }
        if id == "kept" {
            write(&dir, "k.ignored", "precious\n");
        }
        world.liza(&reviewer, &["merge", id]).ok();
        if id == "more" {
            assert!(!dir.exists());
        }
    }
    assert_eq!(names(&world, ".worktrees"), ["dirty"]);
    let kept = world.git(&["for-each-ref", "--format=%(refname)", "refs/liza/wip/kept"]);
    assert_eq!(world.git(&["show", &format!("{kept}:k.ignored")]), "precious");
    let text = world.human(&["gc"]).ok().stdout;
    assert!(text.contains("1 worktree uncommitted work"), "{text}");
    // A commit without approval keeps its worktree.
    world.task("late", &["l.sh", "tests/test_late.sh"]);
    let commit = world.submit_work(&one, "late", "l.sh", "x\n");
    world.approve(&reviewer, "late", &commit);
    world.write("liza.yaml", "worktrees: {keep_merged: all}\n");
    world.liza(&reviewer, &["merge", "late"]).ok();
    world.write_and_commit(&world.path(".worktrees/late"), &[("after.txt", "x\n")]);
    world.write("liza.yaml", "worktrees: {keep_merged: 0}\n");
    world.human(&["gc"]).ok();
    assert!(names(&world, ".worktrees").contains(&"late".to_owned()));
    std::fs::remove_file(world.path("liza.yaml")).unwrap();
    world.sound();
}

#[test]
fn staged_work_without_its_file_is_kept() {
    let Team { world, one, reviewer, .. } = Team::new();
    world.write("liza.yaml", "worktrees: {keep_merged: 0}\n");
    let commit = world.submitted(&one, "t1", "a.sh", "x\n");
    world.approve(&reviewer, "t1", &commit);
    let dir = world.path(".worktrees/t1");
    write(&dir, "a.sh", "only staged\n");
    world.git_in(&dir, &["add", "a.sh"]);
    write(&dir, "a.sh", "x\n");
    world.liza(&reviewer, &["merge", "t1"]).ok();
    assert_eq!(names(&world, ".worktrees"), ["t1"], "its index has the only copy");
    world.git_in(&dir, &["reset", "-q"]);
    world.human(&["gc"]).ok();
    assert_eq!((names(&world, ".worktrees"), names(&world, ".liza/trash")), (vec![], vec![]));
}

#[test]
fn ignored_files_that_cannot_be_saved_keep_their_worktree() {
    use std::os::unix::ffi::OsStrExt;
    let Team { world, one, reviewer, .. } = Team::new();
    world.write("liza.yaml", "worktrees: {keep_merged: all}\n");
    std::fs::write(world.path(".git/info/exclude"), ".liza\n.worktrees\nbuild/\n").unwrap();
    world.task("t1", &["out/", "tests/test_t1.sh"]);
    let commit = world.submit_work(&one, "t1", "out/a.sh", "x\n");
    world.approve(&reviewer, "t1", &commit);
    world.liza(&reviewer, &["merge", "t1"]).ok();
    let build = world.path(".worktrees/t1/out/build");
    let nested = build.join("nested");
    std::fs::create_dir_all(&nested).unwrap();
    world.git_in(&nested, &["init", "-q"]);
    write(&nested, "only-here.txt", "precious\n");
    world.write("liza.yaml", "worktrees: {keep_merged: 0}\n");
    let refused = |why: &str| {
        let text = world.human(&["gc", "-v"]).ok().stdout;
        assert!(text.contains(why), "{why}: {text}");
        assert!(build.exists());
        let data = world.json(&HUMAN, &["worktree", "prune"]).ok().data();
        assert_eq!(
            (&data["stay"][0]["prunable"], data["pruned"].as_array().unwrap().len()),
            (&json!(false), 0)
        );
    };
    refused("separate repository");
    std::fs::remove_dir_all(&nested).unwrap();
    let odd = build.join(std::ffi::OsStr::from_bytes(b"b\xff.txt"));
    std::fs::write(&odd, "precious\n").unwrap();
    refused("not UTF-8");
    std::fs::remove_file(odd).unwrap();
    for number in 0..5_000 {
        std::fs::create_dir(build.join(format!("d{number}"))).unwrap();
    }
    write(&build, "file.txt", "precious\n");
    refused("more than 5000");
    for number in 0..5_000 {
        std::fs::remove_dir(build.join(format!("d{number}"))).unwrap();
    }
    std::os::unix::fs::symlink("file.txt", build.join("link")).unwrap();
    world.human(&["gc"]).ok();
    assert!(!build.exists());
    let kept = world.git(&["for-each-ref", "--format=%(refname)", "refs/liza/wip/t1"]);
    let tree = world.git(&["ls-tree", "-r", kept.lines().last().unwrap(), "out/build"]);
    assert!(tree.contains("120000 blob") && tree.contains("out/build/file.txt"), "{tree}");
}

#[test]
fn killed_worktree_removal_recovers_at_any_step() {
    let Team { world, one, reviewer, .. } = Team::new();
    world.write("liza.yaml", "worktrees: {keep_merged: 0}\n");
    world.task("t1", &["a.sh", "tests/test_t1.sh"]);
    let commit = world.submit_work(&one, "t1", "a.sh", "x\n");
    world.liza(&reviewer, &["review", "claim", "t1"]).ok();
    let saved = Saved::of(&world);
    let approve = ["review", "approve", "t1", "--commit", &commit];
    for point in ["review.judged", "worktree.going", "worktree.unrecorded"] {
        saved.restore();
        world.dies_at(point, &reviewer, &approve);
        world.recovers(point);
        world.liza(&reviewer, &["merge", "t1"]).ok();
        assert!(names(&world, ".worktrees").is_empty() && names(&world, ".worktrees/.review").is_empty());
        assert_eq!(records(&world), 0, "{point}");
    }
    for point in ["merge.finished", "prune.saved", "worktree.going", "worktree.unrecorded", "prune.moved"] {
        saved.restore();
        world.liza(&reviewer, &approve).ok();
        world.dies_at(point, &reviewer, &["merge", "t1"]);
        world.recovers(point);
        assert_eq!(world.status_of("t1"), "MERGED", "{point}");
        world.human(&["gc"]).ok();
        assert_eq!((names(&world, ".worktrees"), records(&world)), (vec![], 0), "{point}");
        world.sound();
    }
}
