//! Boards that another program wrote: the older shell implementation, or a newer liza.

use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;

use serde_json::Value;

use crate::support::process::Bounded as _;
use crate::support::{HUMAN, World, write};

const FRESH: &str = include_str!("fixtures/v1-fresh.yaml");
const MID_SPRINT: &str = include_str!("fixtures/v1-mid-sprint.yaml");
const ODD: &str = include_str!("fixtures/v1-odd.yaml");
const LOG: &str = include_str!("fixtures/v1-log.yaml");

/// A repository with a board as the old scripts left it.
fn old(state: &str) -> World {
    let world = World::bare_repo();
    put_old(&world, state);
    world
}

fn put_old(world: &World, state: &str) {
    world.write(".liza/state.yaml", state);
    world.write(".liza/log.yaml", LOG);
    world.write(".liza/state.yaml.lock", "");
    world.write(".liza/alerts.log", "");
    world.write(".git/info/exclude", "/.liza/\n/.worktrees/\n");
}

/// A worktree as the old scripts made it, with a commit on its branch.
fn old_worktree(world: &World, id: &str, file: &str) -> String {
    let path = format!(".worktrees/{id}");
    world.git(&["worktree", "add", "-q", &path, "-b", &format!("task/{id}"), "integration"]);
    let test = format!("tests/test_{id}.sh");
    world.write_and_commit(&world.path(&path), &[(file, "work\n"), (&test, "echo ok\n")])
}

/// The old board during a sprint, with its repository.
fn mid_sprint() -> World {
    let world = World::bare_repo();
    world.git(&["branch", "integration"]);
    let base = world.git(&["rev-parse", "integration"]);
    let first = old_worktree(&world, "task-1", "users.txt");
    // Merged by the old scripts, and its worktree removed.
    world.git(&["worktree", "remove", ".worktrees/task-1"]);
    world.git(&["worktree", "add", "-q", ".worktrees/merge", "integration"]);
    let merging = world.path(".worktrees/merge");
    world.git_in(&merging, &["merge", "-q", "--no-ff", "-m", "Merge task-1", "task/task-1"]);
    let merged = world.git_in(&merging, &["rev-parse", "HEAD"]);
    world.git(&["worktree", "remove", ".worktrees/merge"]);
    let second = old_worktree(&world, "task-2", "orders.txt");
    old_worktree(&world, "task-3", "payments.txt");
    world.write(".worktrees/task-3/unsaved.txt", "not committed\n");
    let fifth = old_worktree(&world, "task-5", "limits.txt");
    let seventh = old_worktree(&world, "task-7", "metrics.txt");
    let state = MID_SPRINT
        .replace("@BASE@", &base)
        .replace("@REVIEW1@", &first[..8])
        .replace("@MERGE1@", &merged[..10])
        .replace("@REVIEW2@", &second)
        .replace("@REVIEW5@", &fifth[..7])
        .replace("@REVIEW7@", &seventh);
    put_old(&world, &state);
    world
}

/// Every file under `.liza`, byte for byte.
fn files(world: &World) -> Vec<(String, Vec<u8>)> {
    let root = world.path(".liza");
    let mut all: Vec<(String, Vec<u8>)> = walkdir::WalkDir::new(&root)
        .into_iter()
        .flatten()
        .filter(|entry| entry.file_type().is_file())
        .map(|entry| (entry.path().display().to_string(), std::fs::read(entry.path()).expect("a file")))
        .collect();
    all.sort();
    all
}

/// Commands that would change something, one of each kind.
const CHANGING: [&[&str]; 23] = [
    &["note", "x"],
    &["task", "claim", "task-1"],
    &["task", "finalize", "--all"],
    &["task", "abandon", "task-1", "--reason", "x"],
    &["task", "renew", "task-1"],
    &["task", "submit", "task-1"],
    &["review", "claim", "task-5"],
    &["merge", "task-7"],
    &["agent", "register", "--role", "coder"],
    &["next", "--role", "coder"],
    &["pause"],
    &["checkpoint"],
    &["discover", "x", "--task", "task-1", "--severity", "minor", "--urgency", "deferred"],
    &["integration", "advance", "HEAD", "--reason", "x"],
    &["deliver", "--to", "main"],
    &["resume"],
    &["verify"],
    &["merge", "--all"],
    &["worktree", "prune"],
    &["gc"],
    &["archive"],
    &["trash", "empty", "--older-than", "0"],
    &["trash", "restore", "kept"],
];

/// Something in the trash that was moved there from beside the board.
fn put_trash(world: &World) {
    world.write(".liza/trash/kept/tree/file.txt", "the only copy\n");
    world.write(".liza/trash/kept/origin", &format!("{}\n", world.path("kept").display()));
}

#[test]
fn version_1_board_is_read_only() {
    let world = mid_sprint();
    put_trash(&world);
    let before = files(&world);
    for args in [
        ["status"].as_slice(),
        &["status", "--all"],
        &["task", "list"],
        &["task", "show", "task-3"],
        &["task", "show", "task-1"],
        &["log"],
        &["graph"],
        &["agent", "list"],
        &["validate"],
    ] {
        let ran = world.human(args).ok();
        assert!(
            ran.stderr.contains("older shell implementation (version 1): read-only"),
            "{args:?}: {}",
            ran.stderr
        );
        assert!(ran.stderr.contains("liza doctor --fix"), "{args:?}: {}", ran.stderr);
        assert!(files(&world) == before, "{args:?}");
    }
    for args in CHANGING {
        let ran = world.json(&HUMAN, args);
        assert_eq!((ran.exit, ran.code().as_str()), (6, "board.older"), "{args:?}: {}", ran.stdout);
        let hint = ran.json()["error"]["hint"].as_str().expect("a hint").to_owned();
        assert!(hint.contains("liza doctor --fix"), "{args:?}: {hint}");
        assert!(files(&world) == before, "{args:?} changed something");
    }
    let found = world.json(&HUMAN, &["doctor"]).exits(1).data()["findings"].clone();
    assert!(found[0]["what"].as_str().expect("words").contains("older shell implementation"), "{found}");
    assert_eq!(found[0]["fixable"], true);
    let remedy = found[0]["remedy"].as_str().expect("words");
    for text in [
        "task-7: it was approved by code-reviewer-2, but approvals are not carried over",
        "task-8: the older board says MERGED, but integration does not contain its commit; it is BLOCKED",
        "liza.yaml will be made",
    ] {
        assert!(remedy.contains(text), "{text}: {remedy}");
    }
    assert!(!remedy.contains("branch integration will be made"), "it is there: {remedy}");
    assert!(files(&world) == before);
    world.refused(&HUMAN, &["init", "Another"], 1, "refused.board_exists");
}

#[test]
fn version_1_statuses_are_translated() {
    let world = mid_sprint();
    let states: Vec<String> =
        world.tasks().iter().map(|row| row["status"].as_str().expect("a state").to_owned()).collect();
    assert_eq!(
        states,
        ["MERGED", "REJECTED", "WORKING", "BLOCKED", "READY_FOR_REVIEW", "SUPERSEDED", "APPROVED", "MERGED"]
    );
    assert_eq!(world.row("task-3")["assigned_to"], "coder-2");
    let task = world.show("task-2");
    assert_eq!(task["scope"]["in"][0], "orders.txt");
    assert!(task["rejection_reason"].as_str().expect("a reason").contains("not idempotent"));
    let records = world.json(&HUMAN, &["log"]).ok().data()["records"].clone();
    assert_eq!(records.as_array().expect("records").len(), 3);
    assert_eq!(records[0]["event"], "initialized");
    assert_eq!(records[2]["time"], "2026-01-20T12:20:00Z");
    let text = world.human(&["log", "--task", "task-2"]).ok().stdout;
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(text.contains("2026-01-20 14:06 coder-1 claimed task-2"), "{text}");
}

/// Migrates, and returns doctor's findings.
#[track_caller]
fn migrated(world: &World) -> Value {
    let state = world.state();
    let found = world.json(&HUMAN, &["doctor", "--fix"]).data()["findings"].clone();
    assert_eq!(found[0]["fixed"], true, "{found}");
    world.sound();
    let record = world.json(&HUMAN, &["log", "-n", "1"]).ok().data()["records"][0].clone();
    assert_eq!(record["event"], "migrate", "{record}");
    let kept = world.path(".liza").join(record["do"]["migrate"]["kept"].as_str().expect("a place"));
    assert_eq!(std::fs::read_to_string(kept.join("state.yaml")).expect("kept"), state);
    assert_eq!(std::fs::read_to_string(kept.join("log.yaml")).expect("kept"), LOG);
    assert!(found[0]["remedy"].as_str().expect("words").contains("edits/v1-"), "{found}");
    found
}

#[test]
fn fresh_version_1_board_is_migrated_and_usable() {
    let world = old(FRESH);
    migrated(&world);
    assert_eq!(world.git(&["rev-parse", "integration"]), world.git(&["rev-parse", "main"]));
    assert_eq!(world.git(&["status", "--porcelain"]), "?? liza.yaml");
    let task = world.show("task-1");
    assert_eq!(task["status"], "IDLE");
    assert_eq!(task["done_when"].as_array().expect("criteria").len(), 2);
    assert_eq!(
        task["scope"]["in"],
        serde_json::json!(["hello/__init__.py", "hello/__main__.py", "tests/test_hello.py"])
    );
    assert!(task["scope"]["out"].to_string().contains("documentation"), "{task}");
    assert_eq!(world.status_of("task-3"), "DRAFT");
    let state = world.state();
    for line in
        ["  lease_seconds: 1200\n", "  max_coder_iterations: 7\n", "  config.coder_poll_interval: \"30\"\n"]
    {
        assert!(state.contains(line), "{line} in {state}");
    }
    let coder = world.register("coder", "coder-1");
    let reviewer = world.register("code_reviewer", "code-reviewer-1");
    world.refused(&coder, &["task", "claim", "task-2"], 1, "refused.dependency_unmet");
    let worktree = world.claim(&coder, "task-1");
    world.checkpoint(&coder, "task-1", &["hello/__init__.py", "tests/test_hello.py"]);
    world.write_and_commit(&worktree, &[("hello/__init__.py", "x\n"), ("tests/test_hello.py", "y\n")]);
    let commit = world.json(&coder, &["task", "submit", "task-1"]).ok().data()["review_commit"].clone();
    world.approve(&reviewer, "task-1", commit.as_str().expect("a commit"));
    world.liza(&reviewer, &["merge", "task-1"]).ok();
    world.claim(&coder, "task-2");
    world.sound();
    world.human(&["doctor"]).ok();
}

#[test]
fn sprint_continues_after_the_migration() {
    let world = mid_sprint();
    migrated(&world);
    let states: Vec<(String, String)> = world
        .tasks()
        .iter()
        .map(|row| {
            (
                row["id"].as_str().expect("an id").to_owned(),
                row["status"].as_str().expect("a state").to_owned(),
            )
        })
        .collect();
    for (id, state) in [
        ("task-1", "MERGED"),
        ("task-2", "REJECTED"),
        ("task-3", "IDLE"),
        ("task-4", "BLOCKED"),
        ("task-5", "READY_FOR_REVIEW"),
        ("task-6", "SUPERSEDED"),
        // No approval is carried over.
        ("task-7", "READY_FOR_REVIEW"),
        // The repository has no commit that proves its merge.
        ("task-8", "BLOCKED"),
    ] {
        assert!(states.contains(&(id.to_owned(), state.to_owned())), "{id}: {states:?}");
    }
    assert!(world.show("task-8")["blocked_reason"].as_str().expect("why").contains("does not contain"));
    let records = world.json(&HUMAN, &["inbox"]).ok().stdout;
    for text in ["Return what you have", "Logging is missing", "protocol implies Y", "429 added"] {
        assert!(records.contains(text), "{text}: {records}");
    }
    let state = world.state();
    for extra in
        ["agents:", "discovered[0].recommendation", "handoff.task-3.files_modified", "sprint.scope.stretch"]
    {
        assert!(state.contains(extra), "{extra}");
    }
    // Old checkpoints and events stay in the history.
    let first = world.show("task-1");
    assert_eq!(first["history"][2]["checkpoint"]["intent"], "Add a retry decorator");
    assert!(first["history"][5]["detail"].as_str().expect("kept").contains("tests_ran"), "{first}");
    // Approved or under review before: reviewed and merged now.
    let reviewer = world.register("code_reviewer", "code-reviewer-1");
    world.tier0(&reviewer, &["merge", "task-7"], "tier0.unapproved_merge");
    for id in ["task-7", "task-5"] {
        let commit = world.show(id)["review_commit"].as_str().expect("a commit").to_owned();
        assert_eq!(commit.len(), 40);
        world.approve(&reviewer, id, &commit);
        world.liza(&reviewer, &["merge", id]).ok();
    }
    // Claimed before: the same agent registers again and goes on in its worktree with all its files.
    let coder = world.register("coder", "coder-2");
    let worktree = world.claim(&coder, "task-3");
    assert_eq!(worktree, world.path(".worktrees/task-3"));
    assert!(worktree.join("unsaved.txt").exists() && worktree.join("payments.txt").exists());
    // Rejected before: another agent starts from the base, and the earlier work stays.
    let other = world.register("coder", "coder-9");
    let fresh = world.claim(&other, "task-2");
    assert_ne!(fresh, world.path(".worktrees/task-2"));
    assert!(world.path(".worktrees/task-2/orders.txt").exists());
    let feedback = world.liza(&other, &["task", "show", "task-2", "--feedback"]).ok().stdout;
    assert!(feedback.contains("not idempotent"), "{feedback}");
    world.human(&["task", "unblock", "task-4", "--answer", "return what you have"]).ok();
    world.sound();
}

/// Whatever the old board says about implementers and approvers, an implementer's own approval merges nothing.
#[test]
fn migration_drops_implementers_own_approval() {
    let world = World::bare_repo();
    world.git(&["branch", "integration"]);
    let tasks = [
        ("b", "APPROVED", "assigned_to: coder-1\n    approved_by: Coder-1"),
        ("c", "APPROVED", "assigned_to: null\n    approved_by: coder-1"),
        ("d", "READY_FOR_REVIEW", "assigned_to: null"),
        (
            "e",
            "APPROVED",
            "assigned_to: coder-2\n    approved_by: coder-1\n    history:\n      - {event: CLAIMED, agent: coder-1}\n      - {event: implementation_complete, agent: coder-1}",
        ),
        ("f", "APPROVED", "assigned_to: coder 2\n    approved_by: coder  2"),
    ];
    let mut state =
        "version: 1\ngoal: {id: g, description: g, spec_ref: specs/vision.md}\ntasks:\n".to_owned();
    for (id, status, rest) in tasks {
        let commit = old_worktree(&world, id, &format!("{id}.txt"));
        state.push_str(&format!(
            "  - id: {id}\n    description: {id}\n    status: {status}\n    done_when: x\n    scope: \"IN: {id}.txt, tests/test_{id}.sh\"\n    worktree: .worktrees/{id}\n    review_commit: {commit}\n    {rest}\n"
        ));
    }
    put_old(&world, &state);
    migrated(&world);
    let coders = ["coder-1", "coder-2"].map(|id| {
        world.json(&HUMAN, &["agent", "register", "--role", "coder", "--id", id]).ok();
        world.register("code_reviewer", id)
    });
    for (id, own) in [("b", 0), ("e", 0), ("e", 1), ("f", 1)] {
        assert_eq!(world.status_of(id), "READY_FOR_REVIEW", "{id}");
        world.tier0(&coders[own], &["merge", id], "tier0.unapproved_merge");
        world.tier0(&coders[own], &["review", "claim", id], "tier0.self_approval");
    }
    for id in ["c", "d"] {
        assert_eq!(world.status_of(id), "IDLE", "{id}");
        world.json(&coders[0], &["review", "claim", id]).exits(1);
        let task = world.show(id);
        let last = task["history"].as_array().expect("history").last().expect("a line").clone();
        assert!(last["detail"].as_str().expect("why").contains("names no implementer"), "{last}");
        assert_eq!(task["attempts"][0]["branch"], format!("task/{id}"), "the work is kept");
    }
    assert!(world.show("b")["extra"]["approved_by"].to_string().contains("Coder-1"));
    world.sound();
}

#[test]
fn version_1_board_reports_missing_log_and_lease() {
    let world = World::bare_repo();
    put_old(
        &world,
        "version: 1\ntasks:\n  - {id: t, description: t, status: CLAIMED, assigned_to: coder-1}\n  - {id: u, description: u, status: BLOCKED}\n",
    );
    std::fs::remove_file(world.path(".liza/log.yaml")).expect("removed");
    let ran = world.human(&["log"]).ok();
    assert!(ran.stderr.contains("has no journal"), "{}", ran.stderr);
    let shown = world.human(&["task", "show", "t"]).ok().stdout;
    assert!(!shown.contains("1970") && !shown.contains("lease:"), "{shown}");
    assert!(world.human(&["status"]).ok().stdout.contains("coder-1"));
    assert_eq!(world.show("u")["blocked_questions"].as_array().expect("questions").len(), 1);
    let found = world.json(&HUMAN, &["doctor"]).exits(1).data()["findings"].clone();
    assert!(
        found[0]["remedy"].as_str().expect("words").contains("branch integration will be made"),
        "{found}"
    );
}

#[test]
fn odd_version_1_board_loses_nothing() {
    let world = old(ODD);
    world.human(&["status"]).ok();
    world.human(&["log"]).ok();
    let found = migrated(&world);
    let remedy = found[0]["remedy"].as_str().expect("words");
    for text in [
        "`fix.auth flow` is called `fix-auth-flow`",
        "was in a dependency cycle",
        "PARKED",
        "ABANDONED",
        "coder-1",
    ] {
        assert!(remedy.contains(text), "{text}: {remedy}");
    }
    let row = |id: &str| world.status_of(id);
    assert_eq!(row("fix-auth-flow"), "IDLE");
    assert_eq!(row("TASK-1"), "IDLE");
    assert_eq!(row("task-1-2"), "IDLE");
    assert_eq!(row("undone"), "DRAFT");
    assert_eq!(row("parked"), "BLOCKED");
    assert_eq!(row("gone"), "ABANDONED");
    assert_eq!(row("self"), "IDLE");
    assert_eq!(row("blocked"), "BLOCKED");
    assert_eq!(world.show("blocked")["blocked_questions"].as_array().expect("questions").len(), 3);
    assert_eq!(world.git(&["rev-parse", "trunk"]), world.git(&["rev-parse", "main"]));
    // The new board contains everything that the old one did.
    let state = world.state();
    for text in [
        "weary",
        "100000",
        "12.5",
        "fold me",
        "3h",
        "high",
        "nowhere",
        "soon",
        "contemplated",
        "deep",
        "started by hand",
        "remember the milk",
        "for nobody",
        "pinned",
        "mute",
        "gremlin",
        "no task",
        "said",
        "just a sentence",
        "d?",
        "coder_poll_interval",
        "everything around the login page",
        "1234567",
        "handoff_pending",
        "abc",
        "and more of it",
    ] {
        assert!(state.contains(text), "{text} is lost:\n{state}");
    }
    let coder = world.register("coder", "coder-1");
    world.claim(&coder, "fix-auth-flow");
    world.human(&["task", "unblock", "parked", "--answer", "go on"]).ok();
    world.sound();
}

#[test]
fn unreadable_board_is_not_migrated() {
    for (name, state) in [
        ("a repeated key", "version: 1\ngoal: {id: a}\ngoal: {id: b}\ntasks: []\n"),
        ("an alias", "version: 1\ngoal: &g {id: a}\nother: *g\ntasks: []\n"),
        ("no map", "version: 1\n- a\n"),
        ("a bomb", &format!("version: 1\ntasks: {}\n", "[".repeat(100_000))),
    ] {
        let world = old(state);
        let before = files(&world);
        world.human(&["status"]).exits(6);
        world.json(&HUMAN, &["note", "x"]).exits(6);
        let ran = world.json(&HUMAN, &["doctor", "--fix"]).exits(1);
        assert_eq!(ran.data()["findings"][0]["fixed"], false, "{name}");
        assert!(files(&world) == before, "{name}");
    }
}

#[test]
fn only_a_person_migrates_a_board() {
    let world = old(FRESH);
    let agent = crate::support::Who { id: Some("coder-1".to_owned()), token: Some("x".to_owned()) };
    let before = files(&world);
    let ran = world.json(&agent, &["doctor", "--fix"]);
    assert_eq!(ran.exit, 1, "{}", ran.stdout);
    assert!(files(&world) == before);
}

#[test]
fn killed_migration_recovers_at_any_step() {
    for point in ["migrate.prepared", "migrate.kept", "migrate.image", "migrate.log", "migrate.state"] {
        let world = old(FRESH);
        let output = world
            .liza_command(&HUMAN, &world.root, &["doctor", "--fix"])
            .env("LIZA_CRASH_AT", point)
            .finish()
            .expect("liza runs");
        assert_eq!(output.status.signal(), Some(9), "{point}: {output:?}");
        if point == "migrate.state" {
            world.human(&["status"]).ok();
            let kept =
                std::fs::read_dir(world.path(".liza/edits")).expect("edits").flatten().next().expect("kept");
            assert_eq!(std::fs::read_to_string(kept.path().join("state.yaml")).expect("kept"), FRESH);
        } else {
            assert_eq!(world.state(), FRESH, "{point}: the old board stands");
            let ran = world.human(&["log"]).ok();
            assert!(ran.stdout.contains("initialized"), "{point}: {}", ran.stdout);
            world.json(&HUMAN, &["note", "x"]).exits(6);
            migrated(&world);
        }
        world.human(&["note", "after"]).ok();
        world.sound();
        // The next `doctor --fix` removes other users' permissions on the old board's files.
        world.human(&["doctor", "--fix"]).ok();
        world.human(&["doctor"]).ok();
    }
}

#[test]
fn lock_of_the_old_scripts_blocks_migration() {
    let world = old(FRESH);
    let lock = std::fs::File::open(world.path(".liza/state.yaml.lock")).expect("the lock");
    lock.lock().expect("locked");
    let before = world.bytes();
    let ran = world.json_env(&HUMAN, &["doctor", "--fix"], &[("LIZA_LOCK_TIMEOUT", "0")]);
    assert_eq!((ran.exit, ran.code().as_str()), (4, "busy.lock"), "{}", ran.stdout);
    assert!(world.bytes() == before);
    drop(lock);
    migrated(&world);
}

/// After a migration the old file is a stale copy: it is not migrated again over newer changes.
#[test]
fn restored_old_copy_is_a_rollback() {
    let world = old(FRESH);
    migrated(&world);
    world.human(&["note", "new life"]).ok();
    let good = world.state();
    world.write(".liza/state.yaml", FRESH);
    let ran = world.json(&HUMAN, &["status"]).exits(6);
    assert!(ran.stdout.contains("old copy"), "{}", ran.stdout);
    world.json(&HUMAN, &["note", "x"]).exits(6);
    assert_eq!(world.state(), FRESH, "left for doctor");
    world.human(&["doctor", "--fix"]).ok();
    assert_eq!(world.state(), good);
    // The mark may be lost, too.
    world.write(".liza/state.yaml", FRESH);
    std::fs::remove_file(world.path(".liza/state.yaml.lock")).expect("removed");
    world.human(&["status"]).exits(6);
    world.human(&["doctor", "--fix"]).ok();
    assert_eq!(world.state(), good);
    world.sound();
}

/// A board as a later version might write it.
fn newer() -> World {
    let world = World::new();
    let coder = world.register("coder", "coder-1");
    world.task("t1", &["a/"]);
    world.task("t2", &["b/"]);
    world.claim(&coder, "t1");
    world.human(&["note", "first"]).ok();
    let state = world
        .state()
        .replacen("version: 2\n", "version: 3\n", 1)
        .replacen("goal:\n", "oracle:\n  says: \"wait\"\ngoal:\n  mood: good\n", 1)
        .replacen("    status: IDLE\n", "    status: PARKED\n    parked_by: ghost\n", 1)
        .replacen("    title: t1\n", "    title: t1\n    colour: blue\n", 1);
    let log = world.read(".liza/log.yaml")
        + "- {\"revision\":99,\"at\":{\"wall\":\"2026-01-20T15:30:00Z\"},\"by\":\"human\",\"do\":{\"consult_oracle\":{\"task\":\"t2\"}},\"seal\":1}\n";
    write(&world.root, ".liza/state.yaml", &state);
    write(&world.root, ".liza/log.yaml", &log);
    write(&world.root, ".liza/state.yaml.lock", "{\"revision\":99,\"format\":\"of tomorrow\"}");
    world
}

#[test]
fn newer_board_is_shown_and_never_changed() {
    let world = newer();
    world.write(".liza/PAUSE", "a person paused it\n");
    put_trash(&world);
    let before = files(&world);
    for args in [
        ["status"].as_slice(),
        &["task", "list"],
        &["task", "show", "t1"],
        &["log"],
        &["graph"],
        &["agent", "list"],
    ] {
        let ran = world.human(args).ok();
        assert!(ran.stderr.contains("newer liza (version 3): read-only here"), "{args:?}: {}", ran.stderr);
        assert!(files(&world) == before, "{args:?}");
    }
    let status = world.human(&["status"]).ok();
    assert!(status.stderr.contains("t2 is PARKED"), "{}", status.stderr);
    assert!(status.stdout.contains("A greeting program"), "{}", status.stdout);
    assert_eq!(world.row("t1")["assigned_to"], "coder-1");
    let log = world.human(&["log"]).ok().stdout;
    assert!(log.contains("begin_claim") && log.contains("consult_oracle t2"), "{log}");
    for args in CHANGING.into_iter().chain([["validate"].as_slice()]) {
        let ran = world.json(&HUMAN, args);
        assert_eq!((ran.exit, ran.code().as_str()), (6, "board.newer"), "{args:?}: {}", ran.stdout);
        assert!(files(&world) == before, "{args:?} changed something");
    }
    for args in [["doctor"].as_slice(), &["doctor", "--fix"]] {
        let found = world.json(&HUMAN, args).exits(1).data()["findings"].clone();
        assert!(found[0]["what"].as_str().expect("words").contains("newer liza (version 3)"), "{found}");
        assert!(files(&world) == before, "{args:?}");
    }
}

/// A board of this version whose log holds a record that only a later release knows.
#[test]
fn records_of_a_newer_liza_are_shown() {
    let world = World::new();
    world.human(&["note", "first"]).ok();
    let log = world.read(".liza/log.yaml").replace("\"add_note\"", "\"sing_note\"");
    let state = world.state();
    write(&world.root, ".liza/log.yaml", &log.replace("sing_note", "add_chan"));
    // The same length, so that the board still records the right length of its log.
    let ran = world.human(&["log"]).ok();
    assert!(ran.stderr.contains("newer liza"), "{}", ran.stderr);
    assert!(ran.stdout.contains("add_chan"), "{}", ran.stdout);
    assert_eq!(world.state(), state);
    // A line that does not continue the chain is no newer record but damage.
    let broken = world.read(".liza/log.yaml").replacen("A greeting program", "A greeting pr0gram", 1);
    write(&world.root, ".liza/log.yaml", &broken);
    world.human(&["log"]).exits(6);
    assert!(Path::new(&world.path(".liza/log.yaml")).exists());
}

#[test]
fn killed_migration_leaves_no_half_written_file() {
    let world = old(FRESH);
    world.dies_at("init.file", &HUMAN, &["doctor", "--fix"]);
    assert!(!world.path("liza.yaml").exists(), "half a file would stop every command");
    migrated(&world);
    assert!(world.read("liza.yaml").contains("version: 1"));
    assert_eq!(world.git(&["status", "--porcelain"]), "?? liza.yaml");
    // The same for a new board.
    let world = World::bare_repo();
    world.dies_at("init.file", &HUMAN, &["init", "A greeting program"]);
    assert!(!world.path("liza.yaml").exists());
    world.human(&["init", "A greeting program"]).ok();
    world.sound();
}
