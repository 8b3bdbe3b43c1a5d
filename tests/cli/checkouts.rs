//! Writing the files of a new worktree: without the lock, announced when it takes long, and undone after a kill.

use std::path::PathBuf;
use std::process::Stdio;

use crate::concurrency::{go_on, make_executable, wait_for};
use crate::support::process::Bounded as _;
use crate::support::{HUMAN, Ran, Who, World, write};

/// A board whose files `slow.txt` pass through this program at checkout.
fn filtered(script: &str) -> (World, Who) {
    let world = World::bare_repo();
    world.write(".gitattributes", "slow.txt filter=slow\n");
    for name in ["a.txt", "slow.txt", "z.txt"] {
        world.write(name, &format!("{name}\n"));
    }
    world.commit_all("files");
    let program = world.home().join("slow.sh");
    write(world.home(), "slow.sh", &format!("#!/bin/sh\n{script}\ncat\n"));
    make_executable(&program);
    world.git(&["config", "filter.slow.smudge", program.to_str().expect("a path")]);
    world.human(&["init", "A goal"]).ok();
    let coder = world.register("coder", "coder-1");
    world.task("t1", &["new.txt"]);
    (world, coder)
}

#[test]
fn claim_killed_in_its_checkout_is_undone() {
    // Kills liza once while files are written, and goes on as an orphaned git would.
    let (world, coder) = filtered(
        "if mkdir \"$HOME/killed\" 2>/dev/null; then\n\
         p=$PPID\n\
         while [ \"$(cat /proc/$p/comm)\" != liza ]; do p=$(cut -d' ' -f4 /proc/$p/stat); done\n\
         kill -9 $p\n\
         fi",
    );
    let ran = world.liza(&coder, &["task", "claim", "t1"]);
    assert!(ran.exit != 0 && world.home().join("killed").exists(), "{ran:?}");
    world.recovers("a kill inside the checkout");
    assert_eq!(world.status_of("t1"), "IDLE");
    assert!(!world.path(".worktrees/t1").exists(), "half a worktree is not left where it was");
    let worktree = world.claim(&coder, "t1");
    assert_eq!(worktree, world.path(".worktrees/t1.2"));
    assert_eq!(world.git_in(&worktree, &["status", "--porcelain"]), "");
    world.checkpoint(&coder, "t1", &["new.txt"]);
    world.sound();
}

#[test]
fn long_checkout_is_announced_once() {
    let (world, coder) = filtered("sleep 1.3");
    let ran = world.liza(&coder, &["task", "claim", "t1"]).ok();
    let files = world.git(&["ls-files"]).lines().count();
    let said = format!("checking out {files} files into {}", world.path(".worktrees/t1").display());
    assert_eq!(ran.stderr.matches("checking out").count(), 1, "{}", ran.stderr);
    assert!(ran.stderr.contains(&said), "{}", ran.stderr);
    let quick = World::new();
    let coder = quick.register("coder", "coder-1");
    quick.task("t1", &["a.txt"]);
    assert!(!quick.liza(&coder, &["task", "claim", "t1"]).ok().stderr.contains("checking out"));
}

#[test]
fn failed_checkout_leaves_no_worktree() {
    let (world, coder) = filtered("exit 1");
    world.git(&["config", "filter.slow.required", "true"]);
    world.human(&["doctor", "--accept-git"]).ok();
    world.liza(&coder, &["task", "claim", "t1"]).exits(8);
    assert_eq!(world.status_of("t1"), "IDLE");
    assert!(!world.path(".worktrees/t1").exists());
    world.sound();
}

#[test]
fn claims_do_not_wait_for_each_others_files() {
    let world = World::new();
    let (one, two) = (world.register("coder", "coder-1"), world.register("coder", "coder-2"));
    world.task("t1", &["a.txt"]);
    world.task("t2", &["b.txt"]);
    let slow = world.stopped_at(&one, "claim.registered", &["task", "claim", "t1"]);
    let worktree = world.claim(&two, "t2");
    world.checkpoint(&two, "t2", &["b.txt"]);
    assert_eq!(world.git_in(&worktree, &["status", "--porcelain"]), "");
    // Nor is a half-made worktree removed while a command is making it.
    world.human(&["worktree", "prune"]).ok();
    world.human(&["doctor", "--fix"]);
    go_on(slow).ok();
    world.checkpoint(&one, "t1", &["a.txt"]);
    world.sound();
}

#[test]
fn two_claims_of_a_review_share_its_checkout() {
    let world = World::new();
    let (coder, reviewer) = (world.register("coder", "c"), world.register("code_reviewer", "r"));
    let commit = world.submitted(&coder, "t1", "a.sh", "echo a\n");
    let slow = world.stopped_at(&reviewer, "checkout.registered", &["review", "claim", "t1"]);
    let mut command = world.liza_command(&reviewer, &world.root, &["--json", "review", "claim", "t1"]);
    let other = command.stdout(Stdio::piped()).stderr(Stdio::piped()).start().expect("liza starts");
    let (waiter, pid) = ("-> FLOCK", format!(" {} ", other.id()));
    wait_for("the second to wait", || {
        let locks = std::fs::read_to_string("/proc/locks").expect("the kernel's table");
        locks.lines().any(|line| line.contains(waiter) && line.contains(&pid))
    });
    go_on(slow).ok();
    let data = Ran::of(other.wait_with_output().expect("liza ends")).ok().data();
    let checkout = PathBuf::from(data["checkout"].as_str().expect("a checkout"));
    assert_eq!(world.git_in(&checkout, &["rev-parse", "HEAD"]), commit);
    assert_eq!(world.git_in(&checkout, &["status", "--porcelain"]), "");
    let trashed = world.json(&HUMAN, &["trash", "list"]).ok().data();
    assert_eq!(trashed["trash"], serde_json::json!([]), "the first one's files were not thrown away");
}

#[test]
fn post_checkout_hook_runs_as_under_git() {
    let world = World::new();
    let hook = "#!/bin/sh\necho \"$@\" >> \"$HOME/checked-out\"\necho x > generated.txt\n";
    write(&world.path(".git/hooks"), "post-checkout", hook);
    make_executable(&world.path(".git/hooks/post-checkout"));
    world.human(&["doctor", "--accept-git"]).ok();
    let coder = world.register("coder", "coder-1");
    world.task("t1", &["a.txt"]);
    let worktree = world.claim(&coder, "t1");
    let head = world.git_in(&worktree, &["rev-parse", "HEAD"]);
    let said = std::fs::read_to_string(world.home().join("checked-out")).expect("it ran");
    assert_eq!(said.trim_end(), format!("{} {head} 1", "0".repeat(40)));
    // Files that the hook makes belong to the checkout and do not count as work before the checkpoint.
    assert!(worktree.join("generated.txt").exists());
    world.checkpoint(&coder, "t1", &["a.txt"]);
}
