//! Worktrees, branches and boards that people delete, move or edit, and what liza reports.

use crate::support::{HUMAN, World, write};

#[test]
fn next_claim_recreates_deleted_worktree() {
    let world = World::new();
    let coder = world.register("coder", "coder-1");
    world.task("t1", &["a.sh", "tests/"]);
    let worktree = world.claim(&coder, "t1");
    let head = world.write_and_commit(&worktree, &[("a.sh", "echo a\n")]);
    std::fs::remove_dir_all(&worktree).expect("removed");
    let doctor = world.human(&["doctor"]).exits(1);
    assert!(doctor.stdout.contains("the worktree of t1"), "{}", doctor.stdout);
    world.json(&coder, &["task", "submit", "t1"]).exits(8);
    world.liza(&coder, &["task", "release", "t1"]).ok();
    let again = world.claim(&coder, "t1");
    assert_ne!(again, worktree, "a name is used once");
    assert_eq!(world.git_in(&again, &["rev-parse", "HEAD"]), head, "what was committed is there");
    // Only git's record of the former directory is left.
    assert!(world.human(&["doctor"]).exits(1).stdout.contains(".worktrees/t1 on record"));
    world.human(&["doctor", "--fix"]).ok();
    world.human(&["doctor"]).ok();
}

#[test]
fn release_keeps_uncommitted_work() {
    let world = World::new();
    let (coder, stranger) = (world.register("coder", "coder-1"), world.register("coder", "coder-2"));
    for (task, verb) in [("t1", "release"), ("t2", "handoff")] {
        world.task(task, &[&format!("{task}.sh"), "docs/"]);
        let worktree = world.claim(&coder, task);
        write(&worktree, "docs/new.md", "only here\n");
        // A refused release leaves no trace.
        world.liza(&stranger, &["task", "release", task]).exits(3);
        assert_eq!(world.git(&["for-each-ref", &format!("refs/liza/wip/{task}")]), "");
        let mut args = vec!["task", verb, task];
        if verb == "handoff" {
            args.extend(["--summary", "half done", "--next", "see docs/new.md"]);
        }
        let ran = world.liza(&coder, &args).ok();
        let kept = format!("refs/liza/wip/{task}/1");
        assert!(ran.stderr.contains("docs/new.md") && ran.stderr.contains(&kept), "{}", ran.stderr);
        assert_eq!(world.git(&["show", &format!("{kept}:docs/new.md")]), "only here");
        // Both own docs/: the first task must be finished before the second.
        world.human(&["task", "abandon", task, "--reason", "done with it"]).ok();
    }
}

#[test]
fn claim_points_next_holder_to_the_feedback() {
    let world = World::new();
    let (first, second) = (world.register("coder", "coder-1"), world.register("coder", "coder-2"));
    world.task("t1", &["a.sh"]);
    let ran = world.liza(&first, &["task", "claim", "t1"]).ok();
    assert!(!ran.stdout.contains("read first"), "{}", ran.stdout);
    world.liza(&first, &["task", "handoff", "t1", "--summary", "half", "--next", "the rest"]).ok();
    let ran = world.liza(&second, &["task", "claim", "t1"]).ok();
    assert!(ran.stdout.contains("read first: liza task show t1 --feedback"), "{}", ran.stdout);
    let feedback = world.liza(&second, &["task", "show", "t1", "--feedback"]).ok();
    assert!(feedback.stdout.contains("the rest"), "{}", feedback.stdout);
}

#[test]
fn verify_fails_on_an_edited_board() {
    let world = World::new();
    world.edit_state("max_review_cycles: 5", "max_review_cycles: 6");
    let ran = world.json(&HUMAN, &["verify"]).exits(6);
    assert!(ran.stdout.contains("edited by hand"), "{}", ran.stdout);
    let doctor = world.human(&["doctor"]).exits(1);
    assert!(doctor.stdout.contains("next command adopts it"), "{}", doctor.stdout);
    world.human(&["note", "on record now"]).ok();
    world.sound();
}

#[test]
fn integration_moved_by_hand_can_be_accepted() {
    let world = World::new();
    world.write("by-hand.txt", "x\n");
    world.commit_all("by hand");
    world.git(&["branch", "-f", "integration", "main"]);
    let ran = world.json(&HUMAN, &["verify"]).exits(6);
    assert!(ran.stdout.contains("integration advance integration"), "{}", ran.stdout);
    assert!(world.human(&["doctor"]).exits(1).stdout.contains("integration"));
    world.human(&["integration", "advance", "integration", "--reason", "it is right"]).ok();
    world.sound();
    world.human(&["doctor"]).ok();
    world.refused(
        &HUMAN,
        &["integration", "advance", "integration", "--reason", "again"],
        1,
        "refused.empty",
    );
}

#[test]
fn unknown_names_are_reported_as_unknown() {
    let world = World::new();
    world.refused(&HUMAN, &["next", "--role", "wizard"], 1, "refused.unknown_role");
    let ran = world.json(&HUMAN, &["--board", "nowhere", "status"]).exits(2);
    assert!(ran.stdout.contains("nowhere"), "{}", ran.stdout);
    // Every answer contains the revision.
    assert_eq!(world.json(&HUMAN, &["task", "show", "ghost"]).exits(1).json()["revision"], 1);
}
