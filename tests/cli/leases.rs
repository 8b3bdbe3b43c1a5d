//! Leases: expiry alone changes nothing, a new claim does, and the late holder writes into a worktree that is no longer used.

use serde_json::json;

use crate::support::process::Bounded as _;
use crate::support::{HUMAN, Who, World, checkpoint_args};

fn two_coders() -> (World, Who, Who) {
    let world = World::new();
    let (one, two) = (world.register("coder", "coder-1"), world.register("coder", "coder-2"));
    world.task("t1", &["a.sh", "tests/"]);
    (world, one, two)
}

#[test]
fn expired_lease_allows_a_new_claim() {
    let (world, one, two) = two_coders();
    let reviewer = world.register("code_reviewer", "reviewer-1");
    let first = world.claim(&one, "t1");
    world.checkpoint(&one, "t1", &["a.sh"]);
    let late = world.write_and_commit(&first, &[("a.sh", "late\n")]);
    let ran = world.later(1700, &two, &["task", "claim", "t1"]).exits(3);
    assert_eq!(ran.code(), "stale.held");
    assert_eq!(ran.json()["error"]["details"]["holder"], "coder-1");
    let data = world.later(1900, &two, &["task", "claim", "t1"]).ok().data();
    assert_eq!((&data["epoch"], &data["branch"]), (&json!(2), &json!("task/t1.2")));
    let second = std::path::PathBuf::from(data["worktree"].as_str().unwrap());
    assert_eq!(second, world.path(".worktrees/t1.2"));
    assert!(!second.join("a.sh").exists(), "a takeover starts at the base");
    assert_eq!(world.git(&["rev-parse", "refs/liza/attempts/t1/1"]), late);
    // The late writer is refused, and nothing changes; its worktree is still there.
    for args in [
        vec!["task", "renew", "t1"],
        vec!["task", "submit", "t1"],
        vec!["task", "sync", "t1"],
        vec!["task", "release", "t1"],
        vec!["task", "handoff", "t1", "--summary", "s", "--next", "n"],
        vec!["task", "block", "t1", "--reason", "r", "--question", "q"],
        checkpoint_args("t1", &["a.sh"], "echo ok", "ok"),
    ] {
        world.refused(&one, &args, 3, "stale.lease_lost");
    }
    assert!(first.join("a.sh").is_file());
    // The late holder's commits never land.
    world.write_and_commit(&first, &[("a.sh", "later still\n")]);
    world.checkpoint(&two, "t1", &["a.sh", "tests/x.sh"]);
    let commit = world.write_and_commit(&second, &[("a.sh", "mine\n"), ("tests/x.sh", "echo ok\n")]);
    world.liza(&two, &["task", "submit", "t1"]).ok();
    world.write_and_commit(&first, &[("a.sh", "even later\n")]);
    world.approve(&reviewer, "t1", &commit);
    world.liza(&reviewer, &["merge", "t1"]).ok();
    assert_eq!(world.git(&["show", "integration:a.sh"]), "mine");
    let log = world.git(&["log", "--format=%H", "integration"]);
    assert!(!log.contains(&late));
    world.sound();
}

#[test]
fn expired_holder_may_finish_until_next_claim() {
    let (world, one, _) = two_coders();
    let worktree = world.claim(&one, "t1");
    world.checkpoint(&one, "t1", &["a.sh"]);
    world.write_and_commit(&worktree, &[("a.sh", "x\n"), ("tests/a.sh", "x\n")]);
    assert!(
        world.later(90_000, &HUMAN, &["status"]).ok().data()["tasks"][0]["why"]
            .as_str()
            .unwrap()
            .contains("ended")
    );
    world.later(90_000, &one, &["task", "renew", "t1"]).ok();
    world.later(200_000, &one, &["task", "submit", "t1"]).ok();
    assert_eq!(world.status_of("t1"), "READY_FOR_REVIEW");
}

#[test]
fn acting_on_the_task_renews_its_lease() {
    for args in [
        vec!["task", "renew", "t1"],
        vec!["agent", "heartbeat"],
        checkpoint_args("t1", &["a.sh", "tests/"], "echo ok", "ok"),
        vec!["note", "about it", "--task", "t1"],
        vec!["anomaly", "debt_created", "--task", "t1", "--detail", "what=x"],
    ] {
        let (world, one, two) = two_coders();
        world.claim(&one, "t1");
        world.later(1700, &one, &args).ok();
        let ran = world.later(3400, &two, &["task", "claim", "t1"]);
        assert_eq!((ran.exit, ran.code().as_str()), (3, "stale.held"), "{args:?}: {}", ran.stdout);
        world.later(3600, &two, &["task", "claim", "t1"]).ok();
    }
}

#[test]
fn any_command_of_the_holder_renews_its_lease() {
    let (world, one, two) = two_coders();
    world.task("t2", &["two/"]);
    world.claim(&one, "t1");
    for args in [
        ["note", "hello"].as_slice(),
        &["anomaly", "debt_created", "--task", "t2", "--detail", "what=x"],
        &["discover", "x", "--task", "t2", "--severity", "minor", "--urgency", "deferred"],
    ] {
        world.later(1700, &one, args).ok();
        let ran = world.later(3400, &two, &["task", "claim", "t1"]);
        assert_eq!((ran.exit, ran.code().as_str()), (3, "stale.held"), "{args:?}: {}", ran.stdout);
    }
}

#[test]
fn reviewers_lease_expires() {
    let (world, one, _) = two_coders();
    let (first, second) = (world.register("code_reviewer", "r1"), world.register("code_reviewer", "r2"));
    let commit = world.submit_work(&one, "t1", "a.sh", "x\n");
    world.liza(&first, &["review", "claim", "t1"]).ok();
    world.later(1700, &second, &["review", "claim", "t1"]).exits(3);
    // The first reviewer still holds it until another reviewer claims it.
    world.later(1900, &first, &["review", "renew", "t1"]).ok();
    world.later(3500, &second, &["review", "claim", "t1"]).exits(3);
    world.later(3800, &second, &["review", "claim", "t1"]).ok();
    world.refused(&first, &["review", "approve", "t1", "--commit", &commit], 3, "stale.lease_lost");
    world.liza(&second, &["review", "approve", "t1", "--commit", &commit]).ok();
}

#[test]
fn wall_clock_change_expires_no_lease() {
    let (world, one, two) = two_coders();
    world.claim(&one, "t1");
    for shift in ["-86400", "86400", "-1900", "1900", "-1000000000"] {
        let ran = world.json_env(&two, &["task", "claim", "t1"], &[("LIZA_TEST_WALL_SHIFT", shift)]);
        assert_eq!((ran.exit, ran.code().as_str()), (3, "stale.held"), "{shift}: {}", ran.stdout);
        world.json_env(&one, &["task", "renew", "t1"], &[("LIZA_TEST_WALL_SHIFT", shift)]).ok();
    }
    // Work continues with the clock a day back, and board and log stay valid.
    let back = [("LIZA_TEST_WALL_SHIFT", "-86400")];
    world.json_env(&HUMAN, &["note", "yesterday"], &back).ok();
    world.human(&["note", "today"]).ok();
    world.json_env(&HUMAN, &["validate"], &back).ok();
    world.sound();
}

#[test]
fn another_boot_ends_every_lease() {
    let (world, one, two) = two_coders();
    let worktree = world.claim(&one, "t1");
    crate::support::write(&worktree, "a.sh", "half\n");
    let boot = [("LIZA_TEST_BOOT", "00000000-0000-0000-0000-000000000000")];
    let row = world.json_env(&HUMAN, &["status"], &boot).ok().data()["tasks"][0].clone();
    assert!(row["why"].as_str().unwrap().contains("taken over"), "{row}");
    let data = world.json_env(&two, &["task", "claim", "t1"], &boot).ok().data();
    assert_eq!(data["epoch"], 2);
    assert!(worktree.join("a.sh").is_file(), "the former one's work stays");
    world.refused(&one, &["task", "renew", "t1"], 3, "stale.lease_lost");
    // If no other agent claims the task, its own agent goes on after a reboot.
    let (world, one, _) = two_coders();
    world.claim(&one, "t1");
    world.json_env(&one, &checkpoint_args("t1", &["a.sh", "tests/"], "echo ok", "ok"), &boot).ok();
}

#[test]
fn a_stale_epoch_in_the_environment_is_fenced() {
    let (world, one, two) = two_coders();
    let reviewer = world.register("code_reviewer", "reviewer-1");
    let commit = world.submit_work(&one, "t1", "a.sh", "x\n");
    world.liza(&reviewer, &["review", "claim", "t1"]).ok();
    world
        .liza(
            &reviewer,
            &["review", "reject", "t1", "--commit", &commit, "--reason", "r", "--issue", "major:a.sh:1:x"],
        )
        .ok();
    world.claim(&one, "t1");
    assert_eq!(world.show("t1")["epoch"], 2);
    // A process of the same agent, started for the first claim.
    let before = world.bytes();
    for args in [
        vec!["task", "renew", "t1"],
        vec!["task", "submit", "t1"],
        vec!["task", "sync", "t1"],
        vec!["task", "release", "t1"],
        vec!["task", "block", "t1", "--reason", "r", "--question", "q"],
        checkpoint_args("t1", &["a.sh"], "echo ok", "ok"),
    ] {
        let ran = world.json_env(&one, &args, &[("LIZA_CLAIM", "t1:1")]);
        assert_eq!((ran.exit, ran.code().as_str()), (3, "stale.epoch"), "{args:?}: {}", ran.stdout);
    }
    assert!(world.bytes() == before);
    world.json_env(&one, &["task", "renew", "t1"], &[("LIZA_CLAIM", "t1:2")]).ok();
    // The variable does not matter for other tasks, and an invalid value is a usage error.
    world.task("t2", &["two/"]);
    world.json_env(&two, &["task", "claim", "t2"], &[("LIZA_CLAIM", "t1:1")]).ok();
    for bad in ["t1", "t1:x", ":1", "../x:1"] {
        let ran = world.json_env(&one, &["note", "x"], &[("LIZA_CLAIM", bad)]);
        assert_eq!(ran.exit, 2, "{bad}: {}", ran.stdout);
    }
}

#[test]
fn losing_claims_change_nothing() {
    let world = World::new();
    world.task("t1", &["a.sh"]);
    let coders: Vec<Who> = (1..=8).map(|n| world.register("coder", &format!("coder-{n}"))).collect();
    let children: Vec<_> = coders
        .iter()
        .map(|coder| {
            let mut command = world.liza_command(coder, &world.root, &["--json", "task", "claim", "t1"]);
            command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
            command.start().unwrap()
        })
        .collect();
    let answers: Vec<_> = children
        .into_iter()
        .map(|child| crate::support::Ran::of(child.wait_with_output().unwrap()))
        .collect();
    let winners: Vec<_> = answers.iter().filter(|ran| ran.exit == 0).collect();
    assert_eq!(winners.len(), 1, "{answers:?}");
    for loser in answers.iter().filter(|ran| ran.exit != 0) {
        assert_eq!(loser.exit, 3, "{}", loser.stdout);
    }
    let worktree = std::path::PathBuf::from(winners[0].data()["worktree"].as_str().unwrap());
    assert_eq!(world.git_in(&worktree, &["status", "--porcelain"]), "");
    assert_eq!(std::fs::read_dir(world.path(".worktrees")).unwrap().count(), 1);
    assert_eq!(world.show("t1")["epoch"], 1);
    world.sound();
}

#[test]
fn unused_reservation_expires() {
    let (world, one, two) = two_coders();
    world.claim(&one, "t1");
    world.liza(&one, &["task", "block", "t1", "--reason", "r", "--question", "q"]).ok();
    world.human(&["task", "unblock", "t1", "--answer", "a"]).ok();
    world.later(1700, &two, &["task", "claim", "t1"]).exits(3);
    world.later(1900, &two, &["task", "claim", "t1"]).ok();
}

#[test]
fn blocked_task_releases_paths_after_an_hour() {
    let (world, one, two) = two_coders();
    world.task("t2", &["a.sh"]);
    world.claim(&one, "t1");
    world.liza(&one, &["task", "block", "t1", "--reason", "r", "--question", "q"]).ok();
    let ran = world.later(3500, &two, &["task", "claim", "t2"]).exits(1);
    assert_eq!(ran.code(), "refused.paths_overlap");
    world.later(3700, &two, &["task", "claim", "t2"]).ok();
    // The agent gets its paths back only when they are free again.
    world.later(3800, &HUMAN, &["task", "unblock", "t1", "--answer", "a"]).ok();
    let ran = world.later(3900, &one, &["task", "claim", "t1"]).exits(1);
    assert_eq!(ran.code(), "refused.paths_overlap");
    world.sound();
}
