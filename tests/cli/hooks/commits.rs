//! What the hooks check of commits and pushes.

use super::*;

#[test]
fn commit_needs_checkpoint_lease_and_scope() {
    let world = with_hooks();
    let (coder, other) = (world.register("coder", "coder-1"), world.register("coder", "coder-2"));
    world.task("t1", &["src/", "tests/"]);
    let worktree = world.claim(&coder, "t1");
    let refused = |who: &Who, file: &str, words: &str| {
        let head = world.git_in(&worktree, &["rev-parse", "HEAD"]);
        let ran = commit_as(&world, who, &worktree, file);
        assert_eq!(ran.exit, 1, "{file}: {}", ran.stderr);
        assert!(ran.stderr.contains(words) && ran.stderr.contains("hint:"), "{}", ran.stderr);
        assert_eq!(world.git_in(&worktree, &["rev-parse", "HEAD"]), head);
        world.git_in(&worktree, &["rm", "-q", "--cached", "-f", "--", file]);
        std::fs::remove_file(worktree.join(file)).expect("the file");
    };
    refused(&coder, "src/a.sh", "has no checkpoint");
    world.checkpoint(&coder, "t1", &["src/a.sh", "src/b.sh"]);
    refused(&other, "src/a.sh", "held by `coder-1`");
    let forged = Who { id: coder.id.clone(), token: Some("no such token".to_owned()) };
    refused(&forged, "src/a.sh", "does not belong");
    refused(&coder, "lib/x.sh", "not inside scope IN");
    refused(&coder, "src/c.sh", "not in files_to_modify");
    refused(&coder, ".liza/state.yaml", "liza's own files");
    refused(&coder, ".Worktrees/x", "liza's own files");
    commit_as(&world, &coder, &worktree, "src/a.sh").ok();
    // The holder by name only: git started by liza does not get the token.
    let named = Who { id: coder.id.clone(), token: None };
    commit_as(&world, &named, &worktree, "src/b.sh").ok();
    // And a caller without identity: tools clear the environment of commands they run.
    crate::support::write(&worktree, "src/b.sh", "echo again\n");
    world.git_as(&HUMAN, &worktree, &["commit", "-q", "-am", "silent"], &[]).ok();
    // With a partial commit, the hook checks the index that git commits.
    crate::support::write(&worktree, "lib/x.sh", "out\n");
    crate::support::write(&worktree, "src/a.sh", "echo more\n");
    world.git_as(&HUMAN, &worktree, &["add", "-A"], &[]).ok();
    world.git_as(&coder, &worktree, &["commit", "-q", "-m", "part", "--", "src/a.sh"], &[]).ok();
    world.git_as(&coder, &worktree, &["commit", "-q", "-m", "rest"], &[]).exits(1);
}

#[test]
fn hook_refuses_commits_in_old_worktrees() {
    let world = with_hooks();
    let (coder, other) = (world.register("coder", "coder-1"), world.register("coder", "coder-2"));
    let reviewer = world.register("code_reviewer", "rev-1");
    let worktree = working(&world, &coder);
    commit_as(&world, &coder, &worktree, "src/a.sh").ok();
    commit_as(&world, &coder, &worktree, "tests/test_a.sh").ok();
    world.liza(&coder, &["task", "submit", "t1"]).ok();
    let late = commit_as(&world, &coder, &worktree, "src/late.sh").exits(1);
    assert!(late.stderr.contains("READY_FOR_REVIEW"), "{}", late.stderr);
    let checkout = world.json(&reviewer, &["review", "claim", "t1"]).ok().data()["checkout"]
        .as_str()
        .unwrap()
        .to_owned();
    let sealed = commit_as(&world, &reviewer, Path::new(&checkout), "src/fix.sh").exits(1);
    assert!(sealed.stderr.contains("only shows a commit"), "{}", sealed.stderr);
    // Another agent has claimed the task: the first worktree is no longer used.
    world.task("t2", &["b/"]);
    let first = world.claim(&coder, "t2");
    world.liza(&coder, &["task", "release", "t2"]).ok();
    let second = world.claim(&other, "t2");
    assert_ne!(first, second);
    let dead = commit_as(&world, &coder, &first, "b/x.sh").exits(1);
    assert!(dead.stderr.contains("former worktree"), "{}", dead.stderr);
    commit_as(&world, &HUMAN, &first, "b/y.sh").exits(1);
    // Released and not claimed again: there is no lease.
    world.liza(&other, &["task", "release", "t2"]).ok();
    let idle = commit_as(&world, &HUMAN, &second, "b/z.sh").exits(1);
    assert!(idle.stderr.contains("IDLE"), "{}", idle.stderr);
}

#[test]
fn hook_refuses_commits_of_liza_files() {
    let world = with_hooks();
    let ran = commit_as(&world, &HUMAN, &world.root, ".liza/x").exits(1);
    assert!(ran.stderr.contains(".liza/x"), "{}", ran.stderr);
    world.git(&["rm", "-q", "--cached", ".liza/x"]);
    // Also as the first commit of a new history.
    world.git(&["checkout", "-q", "--orphan", "fresh"]);
    let orphan = commit_as(&world, &HUMAN, &world.root, ".liza/y").exits(1);
    assert!(orphan.stderr.contains(".liza/y"), "{}", orphan.stderr);
    world.git(&["rm", "-q", "--cached", ".liza/y"]);
    world.git(&["checkout", "-q", "-f", "main"]);
    world.git_as(&HUMAN, &world.root, &["commit", "-q", "--allow-empty", "-m", "nothing staged"], &[]).ok();
}

#[test]
fn invalid_board_stops_commits_only_in_worktrees() {
    let world = with_hooks();
    let coder = world.register("coder", "coder-1");
    let worktree = working(&world, &coder);
    let text = world.state();
    std::fs::write(world.path(".liza/state.yaml"), &text[..text.len() / 2]).expect("a cut");
    let ran = commit_as(&world, &coder, &worktree, "src/a.sh").exits(1);
    assert!(ran.stderr.contains("doctor"), "{}", ran.stderr);
    let main = commit_as(&world, &HUMAN, &world.root, "a.txt").ok();
    assert!(main.stderr.contains("the board is broken"), "{}", main.stderr);
    // Housekeeping goes on, and integration does not move while the board cannot be read.
    world.git(&["pack-refs", "--all"]);
    world.git(&["gc", "-q"]);
    world.git_as(&HUMAN, &world.root, &["branch", "-f", "integration", "main"], &[]).exits(128);
}

#[test]
fn hook_refuses_forged_liza_trailers() {
    let world = with_hooks();
    for message in ["x\n\nLiza-Task: t1", "x\n\nliza-gates: all"] {
        let ran = world
            .git_as(&HUMAN, &world.root, &["commit", "-q", "--allow-empty", "-m", message], &[])
            .exits(1);
        assert!(ran.stderr.contains("only liza's own merges"), "{}", ran.stderr);
    }
    world
        .git_as(&HUMAN, &world.root, &["commit", "-q", "--allow-empty", "-m", "about Liza-Task: lines"], &[])
        .ok();
}

#[test]
fn task_branch_push_needs_permission() {
    let world = with_hooks();
    let (coder, reviewer) = (world.register("coder", "coder-1"), world.register("code_reviewer", "rev-1"));
    let remote = world.home().join("remote.git");
    world.git(&["init", "-q", "--bare", remote.to_str().unwrap()]);
    let remote = remote.to_str().unwrap();
    let worktree = working(&world, &coder);
    commit_as(&world, &coder, &worktree, "src/a.sh").ok();
    for args in [
        vec!["push", "-q", remote, "task/t1"],
        vec!["push", "-q", remote, "HEAD:main"],
        vec!["push", "-q", remote, "HEAD:refs/heads/task/t1"],
        vec!["push", "-q", "--all", remote],
    ] {
        let ran = world.git_as(&coder, &worktree, &args, &[]);
        assert_ne!(ran.exit, 0, "{args:?}");
        assert!(ran.stderr.contains("push_task_branches"), "{args:?}: {}", ran.stderr);
    }
    assert_eq!(world.git_in(Path::new(remote), &["for-each-ref"]), "");
    world.git(&["push", "-q", remote, "main", "integration"]);
    // Merged commits may be pushed under any name.
    commit_as(&world, &coder, &worktree, "tests/test_a.sh").ok();
    let sha = world.json(&coder, &["task", "submit", "t1"]).ok().data()["review_commit"]
        .as_str()
        .unwrap()
        .to_owned();
    world.approve(&reviewer, "t1", &sha);
    world.liza(&reviewer, &["merge", "t1"]).ok();
    world.git_as(&coder, &worktree, &["push", "-q", remote, "HEAD:landed"], &[]).ok();
    world.write("liza.yaml", "hooks: {push_task_branches: true}\n");
    world.git_as(&coder, &worktree, &["push", "-q", remote, "task/t1"], &[]).ok();
    world.write("liza.yaml", "hooks: {push_task_branches: false}\n");
    world.git_as(&coder, &worktree, &["push", "-q", remote, ":task/t1"], &[]).ok();
}
