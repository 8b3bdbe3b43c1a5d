//! A git that liza started is killed, or outlives liza: the next command works, and no branch is forced.

use std::path::PathBuf;
use std::process::Stdio;

use crate::concurrency::{make_executable, wait_for};
use crate::crash::{approved, people};
use crate::support::process::Bounded as _;
use crate::support::{HUMAN, Who, World, write};

/// A `git` in the search path that runs a script if its arguments contain a text, and is git otherwise.
fn other_git(world: &World, wanted: &str, script: &str) -> [(&'static str, String); 2] {
    let real = std::env::var("PATH").expect("a path");
    let git = format!(
        "#!/bin/sh\nexport PATH=\"$REAL\"\ncase \" $* \" in *{wanted}*) {script} ;; esac\nexec git \"$@\"\n"
    );
    write(&world.home().join("bin"), "git", &git);
    make_executable(&world.home().join("bin/git"));
    [("PATH", format!("{}:{real}", world.home().join("bin").display())), ("REAL", real)]
}

/// A `git` that writes a file when it starts and waits for permission to go on.
fn waiting_git(world: &World, wanted: &str) -> (PathBuf, PathBuf, [(&'static str, String); 2]) {
    let (reached, go) = (world.home().join("reached"), world.home().join("go"));
    let (there, on) = (reached.display(), go.display());
    let env = other_git(world, wanted, &format!("touch {there}; while [ ! -e {on} ]; do sleep 0.01; done"));
    (reached, go, env)
}

#[test]
fn git_that_outlives_its_merge_does_no_harm() {
    let world = World::new();
    let (people, commit) = approved(&world);
    let (reached, go, env) = waiting_git(&world, "' update-ref '*refs/heads/integration");
    let mut command = world.liza_command(&people.reviewer, &world.root, &["merge", "t1"]);
    command.envs(env);
    let mut merging = command.stdout(Stdio::null()).stderr(Stdio::null()).start().expect("liza starts");
    wait_for("git", || reached.exists());
    let old = world.git(&["rev-parse", "integration"]);
    merging.kill().expect("killed");
    merging.wait().expect("it ends");
    // The branch has not moved, so recovery cancels the merge; then the surviving git moves it.
    world.human(&["note", "meanwhile"]).ok();
    std::fs::write(&go, "").expect("written");
    wait_for("the late move", || {
        world.git(&["rev-parse", "integration"]) != old
            && !world.path(".git/refs/heads/integration.lock").exists()
    });
    world.human(&["note", "afterwards"]).ok();
    world.human(&["validate"]).ok();
    if world.status_of("t1") != "MERGED" {
        world.liza(&people.reviewer, &["merge", "t1"]).ok();
    }
    assert_eq!(world.status_of("t1"), "MERGED");
    let head = world.git(&["rev-parse", "integration"]);
    assert_eq!(world.git(&["merge-base", &commit, &head]), commit);
    world.sound();
}

#[test]
fn git_that_outlives_its_claim_does_no_harm() {
    let world = World::new();
    let people = people(&world);
    world.task("t1", &["a.txt"]);
    let (reached, go, env) = waiting_git(&world, "' reset '");
    let mut command = world.liza_command(&people.coder, &world.root, &["task", "claim", "t1"]);
    command.envs(env);
    let mut claiming = command.stdout(Stdio::null()).stderr(Stdio::null()).start().expect("liza starts");
    wait_for("git", || reached.exists());
    claiming.kill().expect("killed");
    claiming.wait().expect("it ends");
    world.human(&["note", "meanwhile"]).ok();
    assert_eq!(world.status_of("t1"), "IDLE");
    std::fs::write(&go, "").expect("written");
    let git = world.home().join("bin/git").display().to_string();
    wait_for("the late git to end", || crate::team::processes_with(&git).is_empty());
    let worktree = world.claim(&people.other, "t1");
    assert_eq!(world.git_in(&worktree, &["status", "--porcelain"]), "");
    world.checkpoint(&people.other, "t1", &["a.txt"]);
    world.sound();
    world.git(&["fsck", "--no-dangling"]);
}

#[test]
fn completed_branch_move_is_never_undone() {
    let world = World::new();
    let (people, commit) = approved(&world);
    world.write("more.md", "more\n");
    world.git(&["add", "more.md"]);
    world.git(&["commit", "-q", "-m", "by hand"]);
    // Git dies after it moved the branch, so it seems to have failed.
    let env = other_git(&world, "' update-ref '*refs/heads/integration", "git \"$@\"; kill -9 $$");
    for (who, args) in [
        (&people.reviewer, &["merge", "t1"][..]),
        (&HUMAN, &["integration", "advance", "main", "--reason", "take it in"]),
    ] {
        let before = world.git(&["rev-parse", "integration"]);
        let env = env.each_ref().map(|(name, value)| (*name, value.as_str()));
        let ran = world.liza_with(who, args, b"", &env).exits(10);
        assert!(ran.stderr.contains("could not be recorded"), "{}", ran.stderr);
        assert_ne!(world.git(&["rev-parse", "integration"]), before);
        world.recovers("a move that looked like a failure");
    }
    assert_eq!(world.status_of("t1"), "MERGED");
    for part in [&commit, "main"] {
        world.git(&["merge-base", "--is-ancestor", part, "integration"]);
    }
}

/// Runs a command whose git is killed when it has made these locks.
fn with_killed_git(world: &World, who: &Who, wanted: &str, locks: &[PathBuf], args: &[&str]) {
    let made = locks.iter().map(|lock| format!(": > '{}'; ", lock.display())).collect::<String>();
    let env = other_git(world, wanted, &format!("{made}kill -9 $$"));
    let env = env.each_ref().map(|(name, value)| (*name, value.as_str()));
    let ran = world.liza_with(who, args, b"", &env);
    assert_ne!(ran.exit, 0, "{wanted} was not reached: {ran:?}");
}

#[test]
fn gc_works_after_killed_ref_deletion() {
    // Elsewhere liza cannot list processes, and leaves every lock to a person.
    if !cfg!(target_os = "linux") {
        return;
    }
    let world = World::new();
    let (people, _) = approved(&world);
    world.liza(&people.reviewer, &["merge", "t1"]).ok();
    world.human(&["archive", "t1"]).ok();
    let doomed = world.git(&["for-each-ref", "--format=%(refname)", "refs/liza/submitted"]);
    world.git(&["pack-refs", "--all"]);
    let locks = [&format!("{doomed}.lock"), "packed-refs.lock", "packed-refs.new"]
        .map(|name| world.path(&format!(".git/{name}")));
    // A lock that another program made stays, and is named.
    std::fs::write(&locks[1], "").expect("written");
    let refused = world.human(&["gc", "--keep-days", "0"]).exits(8);
    assert!(refused.stderr.contains("packed-refs.lock"), "{}", refused.stderr);
    std::fs::remove_file(&locks[1]).expect("removed");
    with_killed_git(&world, &HUMAN, "' -d '*refs/liza/submitted", &locks, &["gc", "--keep-days", "0"]);
    assert!(locks.iter().all(|lock| !lock.exists()), "a lock is left");
    world.human(&["gc", "--keep-days", "0"]).ok();
    assert_eq!(world.git(&["for-each-ref", "refs/liza/submitted"]), "");
    world.sound();
}

#[test]
fn sync_works_after_killed_merge() {
    // Where liza cannot see every process, it leaves young locks alone.
    if !liza::git::locks::sees_every_process() {
        eprintln!("skipped: this is a container, where the locks of a killed git must be old");
        return;
    }
    let world = World::new();
    let people = people(&world);
    world.task("t1", &["a.txt"]);
    let worktree = world.claim(&people.coder, "t1");
    world.write("more.md", "more\n");
    world.git(&["add", "more.md"]);
    world.git(&["commit", "-q", "-m", "by hand"]);
    world.human(&["integration", "advance", "main", "--reason", "take it in"]).ok();
    let locks = ["worktrees/t1/index.lock", "worktrees/t1/ORIG_HEAD.lock", "refs/heads/task/t1.lock"];
    let locks = locks.map(|name| world.path(&format!(".git/{name}")));
    with_killed_git(&world, &people.coder, "' merge '", &locks, &["task", "sync", "t1"]);
    world.liza(&people.coder, &["task", "sync", "t1"]).ok();
    assert!(worktree.join("more.md").exists());
    assert!(locks.iter().all(|lock| !lock.exists()), "a lock is left");
    world.sound();
}
