//! The validation command that liza runs at submit: limited in time and output, without secrets, and only a pass counts.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::process::Bounded as _;
use crate::support::{HUMAN, Ran, Who, World, paths, write};

/// A task with committed work whose validation is this command.
fn ready(validate: &str, expect: &str) -> (World, Who, PathBuf) {
    let world = World::new();
    let coder = world.register("coder", "coder-1");
    world.task("t1", &["a.sh", "tests/"]);
    let worktree = world.claim(&coder, "t1");
    world.checkpoint_with(&coder, "t1", &["a.sh", "tests/test_a.sh"], validate, expect);
    world.write_and_commit(&worktree, &[("a.sh", "echo a\n"), ("tests/test_a.sh", "echo ok\n")]);
    (world, coder, worktree)
}

/// Failed: exit 7, nothing changed, and the named file holds the output.
#[track_caller]
fn red(world: &World, coder: &Who) -> (Value, String) {
    let error = world.refused(coder, &["task", "submit", "t1"], 7, "gate.validation");
    assert_eq!(world.status_of("t1"), "WORKING");
    let log = error["details"]["log"].as_str().expect("a log").to_owned();
    assert!(log.starts_with(".liza/runs/t1/"), "{log}");
    let text = world.read(&log);
    (error, text)
}

#[test]
fn red_validation_changes_nothing_and_keeps_log() {
    let (world, coder, worktree) =
        ready("sh tests/test_a.sh && echo to-stderr >&2; test -e fixed && echo passed", "passed");
    let (error, log) = red(&world, &coder);
    assert_eq!(error["details"]["exit"], 1);
    assert!(
        log.contains("$ sh tests/test_a.sh") && log.contains("ok\n") && log.contains("to-stderr"),
        "{log}"
    );
    // Once fixed, the same command passes; the log is the new one.
    std::fs::write(world.path(".git/info/exclude"), "fixed\n").unwrap();
    write(&worktree, "fixed", "");
    let data = world.json(&coder, &["task", "submit", "t1"]).ok().data();
    assert_eq!(
        data["validation"]["command"],
        "sh tests/test_a.sh && echo to-stderr >&2; test -e fixed && echo passed"
    );
    assert!(world.read(data["validation"]["log"].as_str().unwrap()).contains("passed"));
    world.sound();
}

#[test]
fn validation_needs_exit_code_and_output() {
    for (command, expect, why) in [
        ("echo passed; exit 3", "passed", "exited with 3"),
        ("echo failed", "passed", "does not contain"),
        ("no-such-program-anywhere", "ok", "could not run"),
        ("./a.sh", "a", "could not run"),
        ("kill -9 $$", "ok", "killed"),
    ] {
        let (world, coder, _) = ready(command, expect);
        let (error, _) = red(&world, &coder);
        assert!(error["message"].as_str().unwrap().contains(why), "{command}: {error}");
    }
    // Blanks around the expected text are ignored; the text may be anywhere in the output, also on standard error.
    let (world, coder, _) = ready("echo 'xx 3 passed xx' >&2", "  3 passed\n");
    world.liza(&coder, &["task", "submit", "t1"]).ok();
}

#[test]
fn hanging_validation_is_stopped_with_children() {
    let (world, coder, _) = ready("echo started; sleep 300 & echo $! > ../../child; sleep 300", "ok");
    world.edit_state("validation_timeout_seconds: 600", "validation_timeout_seconds: 1");
    world.human(&["note", "shorter"]).ok();
    let (error, log) = red(&world, &coder);
    assert!(error["message"].as_str().unwrap().contains("longer than 1 s"), "{error}");
    assert!(log.contains("started"), "{log}");
    let child = world.read("child").trim().to_owned();
    let state = std::fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
    assert!(state.is_empty() || state.contains(" Z "), "still there: {state}");
}

#[test]
fn validation_output_flood_keeps_its_end() {
    let (world, coder, _) =
        ready("echo first; head -c 20000000 /dev/zero | tr '\\0' x; echo; echo LAST", "LAST");
    let data = world.json(&coder, &["task", "submit", "t1"]).ok().data();
    let log = world.read(data["validation"]["log"].as_str().unwrap());
    assert!(log.contains("first") && log.ends_with("LAST\n") && log.len() < 5_000_000, "{}", log.len());
    assert!(world.state().len() < 100_000);
}

#[test]
fn validation_that_changes_worktree_is_refused() {
    for (command, left) in [("echo x >> a.sh; echo ok", "a.sh"), ("git rm -q a.sh; echo ok", "a.sh")] {
        let (world, coder, _) = ready(command, "ok");
        let error = world.refused(&coder, &["task", "submit", "t1"], 1, "refused.worktree_dirty");
        assert!(paths(&error)[0].starts_with(left), "{command}: {error}");
    }
    // A commit made by the validation is not the commit that was checked before.
    let commit = "git -c user.name=x -c user.email=x@x commit -q --allow-empty -m sly; echo ok";
    let (world, coder, _) = ready(commit, "ok");
    world.refused(&coder, &["task", "submit", "t1"], 3, "stale.commit");
}

#[test]
fn validation_files_do_not_count_as_work() {
    let (world, coder, worktree) =
        ready("mkdir -p cache/x; echo x > cache/x/y; echo x > junk; echo ok", "ok");
    let reviewer = world.register("code_reviewer", "code-reviewer-1");
    let ran = world.liza(&coder, &["task", "submit", "t1"]).ok();
    assert!(
        ran.stderr.contains("files that the validation made are not submitted: cache/ and junk"),
        "{}",
        ran.stderr
    );
    // The files stay, and the next iteration is not refused because of them.
    world.liza(&reviewer, &["review", "claim", "t1"]).ok();
    let reject = ["review", "reject", "t1", "--reason", "not yet", "--issue", "major:a.sh:1:say b"];
    world.liza(&reviewer, &reject).ok();
    world.claim(&coder, "t1");
    world.checkpoint_with(&coder, "t1", &["a.sh", "tests/test_a.sh"], "echo x >> junk; echo ok", "ok");
    write(&worktree, "a.sh", "echo b\n");
    world.git_in(&worktree, &["commit", "-qam", "say b"]);
    // A file that the agent left counts as uncommitted work.
    write(&worktree, "forgotten", "");
    let error = world.refused(&coder, &["task", "submit", "t1"], 1, "refused.worktree_dirty");
    assert_eq!(paths(&error), ["forgotten (untracked)"]);
    std::fs::remove_file(worktree.join("forgotten")).unwrap();
    // A file that the agent has added to git is its work, whatever made it first.
    world.git_in(&worktree, &["add", "junk"]);
    let error = world.refused(&coder, &["task", "submit", "t1"], 1, "refused.worktree_dirty");
    assert_eq!(paths(&error), ["junk (staged)"]);
    world.git_in(&worktree, &["rm", "-q", "--cached", "junk"]);
    world.liza(&coder, &["task", "submit", "t1"]).ok();
    assert_eq!(world.show("t1")["attempts"][0]["byproducts"], json!(["cache/", "junk"]));
    world.sound();
}

#[test]
fn validation_sees_no_token_or_git_variables() {
    let (world, coder, worktree) =
        ready("env > ../../seen; pwd; git rev-parse --show-toplevel; echo ok", "ok");
    let file = world.path(".liza/tokens/coder-1");
    let env = [
        ("LIZA_AGENT_TOKEN_FILE", file.to_str().unwrap()),
        ("LIZA_CLAIM", "t1:1"),
        ("GIT_DIR", "/nonexistent"),
        ("GIT_INDEX_FILE", "/nonexistent"),
        ("GIT_CONFIG_COUNT", "0"),
        ("KEPT", "yes"),
    ];
    let data = world.json_env(&coder, &["task", "submit", "t1"], &env).ok().data();
    let seen = world.read("seen");
    let token = coder.token.clone().unwrap();
    assert!(!seen.contains(&token) && !seen.contains("tokens/"), "{seen}");
    for line in seen.lines() {
        let allowed = line.starts_with("GIT_CEILING_DIRECTORIES=");
        assert!(allowed || !line.starts_with("LIZA_") && !line.starts_with("GIT_"), "{line}");
    }
    assert!(seen.contains("KEPT=yes"));
    let log = world.read(data["validation"]["log"].as_str().unwrap());
    assert_eq!(log.matches(worktree.to_str().unwrap()).count(), 2, "{log}");
}

#[test]
fn validation_gets_no_standard_input() {
    let (world, coder, _) = ready("cat > ../../got; echo ok", "ok");
    world.liza_with(&coder, &["task", "submit", "t1"], b"secret", &[]).ok();
    assert_eq!(world.read("got"), "");
}

#[test]
fn claim_is_checked_again_after_validation() {
    // While the command runs, a person releases the task: the submission is too late.
    let (world, coder, _) =
        ready("touch ../../started; while test ! -e ../../taken; do sleep 0.02; done; echo ok", "ok");
    let mut command = world.liza_command(&coder, &world.root, &["--json", "task", "submit", "t1"]);
    let submitting = command.stdout(std::process::Stdio::piped()).start().expect("liza runs");
    while !world.path("started").exists() {
        std::thread::yield_now();
    }
    world.human(&["task", "release", "t1", "--reason", "mine"]).ok();
    world.write("taken", "");
    let ran = Ran::of(submitting.wait_with_output().expect("liza ends"));
    assert!(matches!(ran.exit, 1 | 3), "{} {}", ran.exit, ran.stdout);
    assert_eq!(world.status_of("t1"), "IDLE");
    assert!(world.show("t1")["review_commit"].is_null());
    // A switch set meanwhile stops the submission as well.
    let (world, coder, _) = ready("touch ../../.liza/PAUSE; echo ok", "ok");
    let ran = world.json(&coder, &["task", "submit", "t1"]).exits(5);
    assert_eq!(ran.code(), "switch.set");
    assert_eq!(world.status_of("t1"), "WORKING");
}

#[test]
fn submitted_commits_survive_a_garbage_collection() {
    let (world, coder, worktree) = ready("echo ok", "ok");
    let data = world.json(&coder, &["task", "submit", "t1"]).ok().data();
    let commit = data["review_commit"].as_str().unwrap().to_owned();
    // The branch is rewritten and the reflog deleted.
    world.git_in(&worktree, &["reset", "-q", "--hard", "HEAD~1"]);
    world.git(&["reflog", "expire", "--expire=now", "--all"]);
    world.git(&["gc", "-q", "--prune=now"]);
    assert_eq!(world.git(&["cat-file", "-t", &commit]), "commit");
    world.git(&["fsck", "--no-dangling"]);
}

#[test]
fn validation_result_is_in_task_history() {
    let (world, coder, _) = ready("echo ok", "ok");
    world.liza(&coder, &["task", "submit", "t1"]).ok();
    let task = world.show("t1");
    assert_eq!((&task["status"], &task["lease"]), (&json!("READY_FOR_REVIEW"), &Value::Null));
    let submission = &task["submission"];
    assert_eq!(submission["tests"], json!(["tests/test_a.sh"]));
    assert_eq!(submission["validation"]["exit"], 0);
    let events: Vec<&str> =
        task["history"].as_array().unwrap().iter().filter_map(|line| line["event"].as_str()).collect();
    assert_eq!(events, ["created", "finalized", "claimed", "pre_execution_checkpoint", "submitted"]);
    let ran: Ran = world.liza(&HUMAN, &["task", "show", "t1"]).ok();
    assert!(ran.stdout.contains("READY_FOR_REVIEW"));
}
