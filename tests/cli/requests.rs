//! A repeated request gets the first answer and changes nothing; with other arguments it is refused.

use serde_json::{Value, json};

use crate::support::{HUMAN, Who, World};

/// Runs the command twice with one request id: the same data, and the board unchanged by the second.
#[track_caller]
fn twice(world: &World, who: &Who, args: &[&str], id: &str) -> Value {
    let mut all = args.to_vec();
    all.extend(["--request-id", id]);
    let first = world.json(who, &all).ok();
    let before = world.bytes();
    let refs = world.git(&["for-each-ref"]);
    let second = world.json(who, &all).ok();
    assert_eq!(second.data(), first.data(), "{args:?}");
    assert_eq!(second.json()["revision"], first.json()["revision"], "{args:?}");
    assert!(world.bytes() == before, "{args:?} changed the board");
    assert_eq!(world.git(&["for-each-ref"]), refs, "{args:?} moved refs");
    // Other arguments with the same id are refused.
    let mut other = args.to_vec();
    other.extend(["--request-id", id, "--board", ".liza"]);
    let ran = world.json(who, &other);
    assert_eq!((ran.exit, ran.code().as_str()), (1, "refused.request_reused"), "{args:?}: {}", ran.stdout);
    assert!(world.bytes() == before, "{args:?}");
    first.data()
}

#[test]
fn repeated_request_gets_the_first_answer() {
    let world = World::new();
    let coder = world.register("coder", "coder-1");
    let reviewer = world.register("code_reviewer", "reviewer-1");
    let add = [
        "task",
        "add",
        "--id",
        "t1",
        "--title",
        "t",
        "--done",
        "d",
        "--spec",
        "specs/vision.md",
        "--in",
        "a.sh",
        "--in",
        "tests/",
    ];
    twice(&world, &HUMAN, &add, "add");
    twice(&world, &HUMAN, &["task", "finalize", "t1"], "finalize");
    assert_eq!(twice(&world, &HUMAN, &["note", "hello"], "note")["id"], "note-1");
    let claim = twice(&world, &coder, &["task", "claim", "t1"], "claim");
    assert_eq!(claim["epoch"], 1);
    let worktree = std::path::PathBuf::from(claim["worktree"].as_str().unwrap());
    assert!(worktree.is_absolute());
    let checkpoint = crate::support::checkpoint_args(
        "t1",
        &["a.sh", "tests/x.sh"],
        "echo ok; echo ran >> ../../count",
        "ok",
    );
    twice(&world, &coder, &checkpoint, "checkpoint");
    twice(&world, &coder, &["task", "renew", "t1"], "renew");
    let commit = world.write_and_commit(&worktree, &[("a.sh", "x\n"), ("tests/x.sh", "echo ok\n")]);
    let submit = twice(&world, &coder, &["task", "submit", "t1"], "submit");
    assert_eq!(submit["review_commit"], commit);
    assert_eq!(world.read("count"), "ran\n", "the validation ran once");
    twice(&world, &reviewer, &["review", "claim", "t1"], "review");
    twice(&world, &reviewer, &["review", "approve", "t1", "--commit", &commit], "approve");
    let merge = twice(&world, &reviewer, &["merge", "t1"], "merge");
    assert_eq!(
        (&merge["outcome"], &merge["merge_commit"]),
        (&json!("merged"), &json!(world.git(&["rev-parse", "integration"])))
    );
    twice(&world, &HUMAN, &["agent", "retire", "coder-1"], "retire");
    world.sound();
}

#[test]
fn repeated_block_and_reject_get_first_answer() {
    let world = World::new();
    let coder = world.register("coder", "coder-1");
    let reviewer = world.register("code_reviewer", "reviewer-1");
    let commit = world.submitted(&coder, "t1", "a.sh", "x\n");
    world.liza(&reviewer, &["review", "claim", "t1"]).ok();
    let reject =
        ["review", "reject", "t1", "--commit", &commit, "--reason", "wrong", "--issue", "major:a.sh:1:x"];
    assert_eq!(twice(&world, &reviewer, &reject, "reject")["issues"], json!(["i1"]));
    assert_eq!(world.show("t1")["issues"].as_array().unwrap().len(), 1);
    twice(&world, &HUMAN, &["task", "block", "t1", "--reason", "r", "--question", "q"], "block");
    twice(&world, &HUMAN, &["task", "unblock", "t1", "--answer", "a"], "unblock");
    twice(
        &world,
        &coder,
        &["discover", "x", "--task", "t1", "--severity", "minor", "--urgency", "deferred"],
        "discover",
    );
    twice(&world, &coder, &["anomaly", "debt_created", "--task", "t1", "--detail", "what=x"], "anomaly");
    twice(&world, &HUMAN, &["task", "abandon", "t1", "--reason", "r"], "abandon");
    world.sound();
}

#[test]
fn repeated_conflict_request_gets_first_answer() {
    let team = crate::merging::Team::with_shared_file("shared.sh", "one\n");
    team.approve_conflicting_tasks("shared.sh", "first\n", "second\n");
    let world = &team.world;
    world.liza(&team.reviewer, &["merge", "t1"]).ok();
    let args = ["merge", "t2", "--request-id", "m"];
    let first = world.json(&team.reviewer, &args).exits(11);
    let before = world.bytes();
    let second = world.json(&team.reviewer, &args).exits(11);
    assert_eq!(second.data()["outcome"], first.data()["outcome"]);
    assert!(world.bytes() == before);
}

#[test]
fn request_ids_are_per_actor_and_not_for_refusals() {
    let world = World::new();
    let (one, two) = (world.register("coder", "coder-1"), world.register("coder", "coder-2"));
    world.task("t1", &["a/"]);
    world.json(&one, &["note", "mine", "--request-id", "r1"]).ok();
    let data = world.json(&two, &["note", "other text", "--request-id", "r1"]).ok().data();
    assert_eq!(data["id"], "note-2");
    // After a refusal the same request may succeed.
    world.task_with("t2", &["b/"], &["--depends", "t1"]);
    world.json(&one, &["task", "claim", "t2", "--request-id", "c1"]).exits(1);
    world.human(&["task", "rescope", "t1", "--by", "t2", "--reason", "r"]).exits(1);
    world.claim(&two, "t1");
    world.json(&one, &["task", "claim", "t1", "--request-id", "c2"]).exits(3);
    world.liza(&two, &["task", "release", "t1"]).ok();
    world.json(&one, &["task", "claim", "t1", "--request-id", "c2"]).ok();
    // Texts from files and standard input are part of the arguments.
    let note = |text: &str| world.json_stdin(&HUMAN, &["note", "-", "--request-id", "n1"], text);
    note("a").ok();
    note("a").ok();
    assert_eq!(note("b").exits(1).code(), "refused.request_reused");
    for bad in ["", "a\nb"] {
        world.refused(&HUMAN, &["note", "x", "--request-id", bad], 2, "usage.argument");
    }
}

#[test]
fn a_repeated_registration_rotates_the_token() {
    let world = World::new();
    let args = ["agent", "register", "--role", "coder", "--request-id", "r1"];
    let first = world.json(&HUMAN, &args).ok().data();
    let second = world.json(&HUMAN, &args).ok().data();
    assert_eq!(first["id"], second["id"]);
    assert_ne!(first["token"], second["token"]);
    assert_eq!(second["incarnation"], 2);
    let who = |data: &Value| Who {
        id: data["id"].as_str().map(str::to_owned),
        token: data["token"].as_str().map(str::to_owned),
    };
    world.refused(&who(&first), &["note", "x"], 1, "refused.identity");
    world.liza(&who(&second), &["note", "x"]).ok();
    assert_eq!(world.json(&HUMAN, &["agent", "list"]).ok().data()["agents"].as_array().unwrap().len(), 1);
}

#[test]
fn last_64_request_ids_are_kept() {
    let world = World::new();
    for number in 0..66 {
        world.human(&["note", &format!("n{number}"), "--request-id", &format!("r{number}")]).ok();
    }
    let notes = || world.json(&HUMAN, &["inbox"]).ok().data()["human_notes"].as_array().unwrap().len();
    assert_eq!(notes(), 66);
    world.human(&["note", "n65", "--request-id", "r65"]).ok();
    world.human(&["note", "n2", "--request-id", "r2"]).ok();
    assert_eq!(notes(), 66);
    world.human(&["note", "n0", "--request-id", "r0"]).ok();
    assert_eq!(notes(), 67, "forgotten, so it is a new one");
}

#[test]
fn a_command_that_changes_nothing_writes_nothing() {
    let world = World::new();
    world.human(&["pause"]).ok();
    let before = world.bytes();
    world.human(&["resume"]).ok();
    assert!(world.bytes() == before, "no lease ran, so there is nothing to extend");
}
