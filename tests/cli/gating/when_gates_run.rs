//! When gates run, and what follows from their results.

use std::process::Stdio;

use serde_json::json;

use super::{asked, ends, gate_with, integration, status, team, tree_recording_gate};
use crate::merging::Team;
use crate::support::process::Bounded as _;
use crate::support::{HUMAN, Ran};
use crate::team::until;

const NO_BAD_WORD: &str = "! grep -rq BAD --include=*.sh .";

#[test]
fn submit_reports_a_failing_gate() {
    let team = team(&format!("  - name: words\n    command: '{NO_BAD_WORD}'\n    on: [submit, merge]\n"));
    let (world, coder) = (&team.world, &team.one);
    world.task("t1", &["a.sh", "tests/test_t1.sh"]);
    let worktree = world.claim(coder, "t1");
    world.checkpoint(coder, "t1", &["a.sh", "tests/test_t1.sh"]);
    world.write_and_commit(&worktree, &[("a.sh", "echo BAD\n"), ("tests/test_t1.sh", "echo ok\n")]);
    let error = world.refused(coder, &["task", "submit", "t1"], 7, "gate.red");
    assert_eq!(
        (&error["details"]["gate"], &error["details"]["lacking"]),
        (&json!("words"), &json!("failed"))
    );
    let log = error["details"]["log"].as_str().unwrap();
    assert!(world.path(log).is_file() && error["hint"].as_str().unwrap().contains(log), "{error}");
    assert_eq!(status(&team, "t1"), "WORKING");
    world.write_and_commit(&worktree, &[("a.sh", "echo good\n")]);
    let data = world.json(coder, &["task", "submit", "t1"]).ok().data();
    assert_eq!((&data["gates"][0]["name"], &data["gates"][0]["status"]), (&json!("words"), &json!("pass")));
    world.sound();
}

#[test]
fn approval_needs_every_required_gate() {
    let team = team(&format!("  - name: words\n    command: '{NO_BAD_WORD}'\n"));
    let world = &team.world;
    // It runs at submit only if its configuration says so.
    let commit = world.submitted(&team.one, "t1", "a.sh", "echo BAD\n");
    world.liza(&team.reviewer, &["review", "claim", "t1"]).ok();
    let approve = ["review", "approve", "t1", "--commit", &commit];
    let error = world.refused(&team.reviewer, &approve, 7, "gate.red");
    assert_eq!(error["details"]["gate"], "words");
    assert_eq!(status(&team, "t1"), "READY_FOR_REVIEW");
    // A gate that could not run has no result, and the refusal says so.
    gate_with(&team, "  - name: words\n    command: [no-such-program-anywhere]\n");
    let error = world.refused(&team.reviewer, &approve, 7, "gate.not_run");
    assert_eq!(error["details"]["lacking"], "could_not_run");
    assert!(error["message"].as_str().unwrap().contains("could not run"), "{error}");
    // A gate that was removed from liza.yaml or made optional counts as missing until a person retires it.
    gate_with(&team, "  []\n");
    let error = world.refused(&team.reviewer, &approve, 7, "gate.not_run");
    assert_eq!(
        (&error["details"]["gate"], &error["details"]["lacking"]),
        (&json!("words"), &json!("missing"))
    );
    world.write("liza.yaml", "version: 1\n");
    world.refused(&team.reviewer, &approve, 7, "gate.not_run");
    std::fs::remove_file(world.path("liza.yaml")).unwrap();
    world.refused(&team.reviewer, &approve, 7, "gate.not_run");
    gate_with(
        &team,
        &format!(
            "  - name: words\n    command: '{NO_BAD_WORD}'\n    optional: true\n    on: [submit, merge]\n"
        ),
    );
    world.refused(&team.reviewer, &approve, 7, "gate.not_run");
    let retire = ["gate", "retire", "words", "--reason", "words are free"];
    world.refused(&team.reviewer, &retire, 1, "refused.human_only");
    world.human(&retire).ok();
    world.refused(&HUMAN, &retire, 1, "refused.unknown_record");
    // An optional gate is shown and stops nothing.
    let data = world.json(&team.reviewer, &approve).ok().data();
    assert_eq!((&data["status"], &data["gates"][0]["status"]), (&json!("APPROVED"), &json!("fail")));
    world.sound();
}

#[test]
fn cheap_checks_run_before_gates() {
    let team = Team::new();
    gate_with(&team, &tree_recording_gate(&team, "g", "", "true"));
    let world = &team.world;
    let commit = world.submitted(&team.one, "t1", "a.sh", "echo a\n");
    // No reviewer has claimed the review.
    world.liza(&team.reviewer, &["review", "approve", "t1", "--commit", &commit]).exits(3);
    world.tier0(&team.one, &["review", "approve", "t1", "--commit", &commit], "tier0.role_boundary");
    assert!(asked(&team, "g").is_empty());
}

#[test]
fn red_merge_sends_task_back_with_evidence() {
    let team = team(
        "  - name: few\n    command: 'test $(ls parts 2>/dev/null | wc -l) -le 1 || { echo too many parts; exit 1; }'\n",
    );
    let world = &team.world;
    for (who, id) in [(&team.one, "t1"), (&team.two, "t2")] {
        let file = format!("parts/{id}");
        world.approved(who, &team.reviewer, id, &file, "x\n");
    }
    let data = world.json(&team.reviewer, &["merge", "t1"]).ok().data();
    assert_eq!((&data["gates"][0]["name"], &data["gates"][0]["status"]), (&json!("few"), &json!("pass")));
    let trailers = world.git(&["log", "-1", "--format=%(trailers:only)", "integration"]);
    assert!(trailers.contains("Liza-Gates: few"), "{trailers}");
    let before = team.head();
    let ran = world.json(&team.reviewer, &["merge", "t2"]).exits(7);
    assert_eq!((ran.code().as_str(), team.head()), ("gate.red", before));
    let data = ran.data();
    assert_eq!((&data["outcome"], &data["gate"]), (&json!("integration_failed"), &json!("few")));
    let log = data["log"].as_str().unwrap();
    assert!(world.read(log).contains("too many parts"), "{data}");
    assert!(ran.json()["error"]["hint"].as_str().unwrap().contains("liza task claim t2"));
    let failure = &world.show("t2")["integration_failure"];
    assert_eq!((&failure["gate"], &failure["log"]), (&json!("few"), &json!(log)));
    // The next coder sees the failure.
    world.claim(&team.two, "t2");
    let shown = world.liza(&team.two, &["task", "show", "t2"]).ok();
    assert!(shown.stdout.contains("few") && shown.stdout.contains(log), "{}", shown.stdout);
    world.sound();
}

#[test]
fn gate_that_cannot_run_sends_no_task_back() {
    let team = Team::new();
    let world = &team.world;
    world.approved(&team.one, &team.reviewer, "t1", "a.sh", "echo a\n");
    gate_with(&team, "  - name: slow\n    command: 'sleep 100'\n    timeout: 1\n");
    let before = team.head();
    let error = ends(&team, &team.reviewer, &["merge", "t1"], 7, "gate.not_run");
    assert!(error["message"].as_str().unwrap().contains("slow"), "{error}");
    assert_eq!((status(&team, "t1").as_str(), team.head()), ("APPROVED", before));
    gate_with(&team, "  - name: slow\n    command: 'true'\n");
    world.liza(&team.reviewer, &["merge", "t1"]).ok();
    world.sound();
}

#[test]
fn gates_of_a_known_tree_are_not_rerun() {
    let team = Team::new();
    gate_with(&team, &tree_recording_gate(&team, "g", "    on: [submit, merge]\n", "true"));
    let world = &team.world;
    // Submit, approval and merge check the same tree: integration has not moved.
    world.merge_task(&team.one, &team.reviewer, "t1", "a.sh", "echo a\n");
    let tree = world.git(&["rev-parse", "integration^{tree}"]);
    assert_eq!(asked(&team, "g"), [tree]);
    let gates = &world.show("t1")["gates"];
    assert_eq!((&gates["moment"], &gates["results"][0]["reused"]), (&json!("merge"), &json!(true)));
    // A changed command is run again.
    let commit = world.git(&["rev-parse", "integration"]);
    gate_with(&team, &tree_recording_gate(&team, "g", "", "true # again"));
    world.liza(&HUMAN, &["gate", "run", "--tree", &commit]).ok();
    assert_eq!(asked(&team, "g").len(), 2);
}

#[test]
fn red_integration_stops_merges_not_tasks() {
    let team = Team::new();
    let world = &team.world;
    world.approved(&team.one, &team.reviewer, "t1", "a.sh", "echo a\n");
    // The gate also fails on integration itself: not the task's fault.
    gate_with(&team, "  - name: licence\n    command: 'test -f LICENCE'\n");
    let before = team.head();
    let error = ends(&team, &team.reviewer, &["merge", "t1"], 7, "gate.integration_red");
    assert!(error["hint"].as_str().unwrap().contains("liza integration advance"), "{error}");
    assert!(world.path(error["details"]["log"].as_str().unwrap()).is_file(), "{error}");
    assert_eq!((status(&team, "t1").as_str(), team.head()), ("APPROVED", before));
    let red = integration(&team)["red"].as_str().unwrap().to_owned();
    assert!(red.contains("licence"), "{red}");
    assert!(world.human(&["status"]).ok().stdout.contains("fails its gates, so nothing is merged"));
    // `advance` refuses a failing commit, and a passing one ends the red state.
    world.git(&["checkout", "-q", "-b", "fix", "integration"]);
    world.write("b.sh", "echo b\n");
    world.git(&["add", "b.sh"]);
    world.git(&["commit", "-q", "-m", "no licence yet"]);
    ends(&team, &HUMAN, &["integration", "advance", "fix", "--reason", "fix"], 7, "gate.red");
    world.write("LICENCE", "free\n");
    world.git(&["add", "LICENCE"]);
    world.git(&["commit", "-q", "-m", "a licence"]);
    let data = world.json(&HUMAN, &["integration", "advance", "fix", "--reason", "fix"]).ok().data();
    assert_eq!(data["gates"][0]["status"], "pass");
    world.liza(&team.reviewer, &["merge", "t1"]).ok();
    assert!(integration(&team)["red"].is_null());
    world.sound();
}

#[test]
fn task_that_fixes_red_integration_is_merged() {
    let team = Team::new();
    let world = &team.world;
    gate_with(&team, "  - name: licence\n    command: 'test -f LICENCE'\n");
    world.merge_task(&team.one, &team.reviewer, "t1", "LICENCE", "free\n");
    assert_eq!(status(&team, "t1"), "MERGED");
}

#[test]
fn integration_moved_by_hand_is_gated_first() {
    let team = team(&format!("  - name: words\n    command: '{NO_BAD_WORD}'\n"));
    let world = &team.world;
    world.approved(&team.one, &team.reviewer, "t1", "a.sh", "echo a\n");
    world.git(&["checkout", "-q", "--detach", "integration"]);
    world.write("by-hand.sh", "echo BAD\n");
    world.git(&["add", "by-hand.sh"]);
    world.git(&["commit", "-q", "-m", "by hand"]);
    world.git(&["update-ref", "refs/heads/integration", "HEAD"]);
    // Its gates run first, so that the person who decides knows the results.
    let error = ends(&team, &team.reviewer, &["merge", "t1"], 7, "gate.integration_red");
    assert!(error["message"].as_str().unwrap().contains("by hand"), "{error}");
    let accept = ["integration", "advance", "integration", "--reason", "it was me"];
    ends(&team, &HUMAN, &accept, 7, "gate.integration_red");
    assert_eq!(status(&team, "t1"), "APPROVED");
    assert!(integration(&team)["red"].as_str().unwrap().contains("words"));
    // The fix and the failing commit are accepted together.
    world.write("by-hand.sh", "echo good\n");
    world.git(&["add", "by-hand.sh"]);
    world.git(&["commit", "-q", "-m", "fixed by hand"]);
    world.human(&["integration", "advance", "HEAD", "--reason", "fixed"]).ok();
    assert!(integration(&team)["red"].is_null());
    world.liza(&team.reviewer, &["merge", "t1"]).ok();
    // A passing commit stops merging too, until a person accepts it.
    world.approved(&team.two, &team.reviewer, "t2", "b.sh", "echo b\n");
    world.write("more.sh", "echo more\n");
    world.git(&["checkout", "-q", "--detach", "integration"]);
    world.git(&["add", "more.sh"]);
    world.git(&["commit", "-q", "-m", "more by hand"]);
    world.git(&["update-ref", "refs/heads/integration", "HEAD"]);
    ends(&team, &team.reviewer, &["merge", "t2"], 6, "board.integration_moved");
    world.human(&accept).ok();
    world.liza(&team.reviewer, &["merge", "t2"]).ok();
    world.sound();
}

#[test]
fn advance_is_one_step_of_first_parent_history() {
    let team = team(&format!("  - name: words\n    command: '{NO_BAD_WORD}'\n"));
    let world = &team.world;
    let before = team.head();
    world.git(&["checkout", "-q", "-b", "up", "integration"]);
    for (text, message) in [("echo BAD\n", "red"), ("echo good\n", "fixed")] {
        world.write("up.sh", text);
        world.git(&["add", "up.sh"]);
        world.git(&["commit", "-q", "-m", message]);
    }
    world.human(&["integration", "advance", "up", "--reason", "upstream"]).ok();
    // The failing commit is in the history, but not in the first-parent history that was gated.
    assert_eq!(world.git(&["rev-parse", "integration^1"]), before);
    assert_eq!(world.git(&["rev-parse", "integration^2"]), world.git(&["rev-parse", "up"]));
    world.sound();
}

#[test]
fn advance_restores_dropped_merges() {
    let team = team(&format!("  - name: words\n    command: '{NO_BAD_WORD}'\n"));
    let world = &team.world;
    let base = team.head();
    for id in ["t1", "t2"] {
        world.merge_task(&team.one, &team.reviewer, id, &format!("{id}.sh"), "echo\n");
    }
    let was = team.head();
    world.git(&["update-ref", "refs/heads/integration", &base]);
    world.human(&["integration", "advance", &was, "--reason", "put back"]).ok();
    assert_eq!(team.head(), was);
    world.sound();
}

#[test]
fn branch_moved_during_gates_is_not_approved() {
    let team = Team::new();
    let world = &team.world;
    let commit = world.submitted(&team.one, "t1", "a.sh", "echo a\n");
    let (begun, go) = (world.home().join("begun"), world.home().join("go"));
    let wait = format!(
        "  - name: slow\n    command: 'touch {}; until test -e {}; do sleep 0.02; done'\n",
        begun.display(),
        go.display()
    );
    gate_with(&team, &wait);
    world.liza(&team.reviewer, &["review", "claim", "t1"]).ok();
    let args = ["--json", "review", "approve", "t1", "--commit", &commit];
    let mut approve = world.liza_command(&team.reviewer, &world.path("."), &args);
    let approve = approve.stdout(Stdio::piped()).stderr(Stdio::piped()).start().expect("started");
    until("the gate runs", || begun.exists());
    world.write_and_commit(&world.path(".worktrees/t1"), &[("a.sh", "echo something else\n")]);
    std::fs::write(&go, "").unwrap();
    let ran = Ran::of(approve.wait_with_output().expect("ended")).exits(3);
    assert_eq!(ran.code(), "stale.commit");
    assert_eq!(status(&team, "t1"), "READY_FOR_REVIEW");
}

#[test]
fn task_that_breaks_a_gate_fails_integration() {
    let team = Team::new();
    let world = &team.world;
    for id in ["t1", "t2"] {
        world.approved(&team.one, &team.reviewer, id, &format!("{id}.sh"), "echo\n");
    }
    gate_with(&team, "  - name: check\n    command: 'if test -e t1.sh; then exit 127; fi'\n");
    let ran = world.json(&team.reviewer, &["merge", "--all"]).exits(7);
    assert_eq!(
        (status(&team, "t1").as_str(), status(&team, "t2").as_str()),
        ("INTEGRATION_FAILED", "MERGED")
    );
    let reason = world.show("t1")["integration_failure"]["reason"].to_string();
    assert!(reason.contains("can run on integration and not on the merged tree"), "{reason} {}", ran.stdout);
}

#[test]
fn queue_merges_task_that_fixes_red_integration() {
    let team = Team::new();
    let world = &team.world;
    world.approved(&team.one, &team.reviewer, "t1", "a.sh", "echo a\n");
    world.approved(&team.two, &team.reviewer, "t2", "LICENCE", "free\n");
    gate_with(&team, "  - name: licence\n    command: 'test -f LICENCE'\n");
    let ran = world.json(&team.reviewer, &["merge", "--all"]).exits(7);
    assert!(ran.data()["merges"].to_string().contains("licence"), "{}", ran.stdout);
    assert_eq!((status(&team, "t1").as_str(), status(&team, "t2").as_str()), ("APPROVED", "MERGED"));
    world.liza(&team.reviewer, &["merge", "--all"]).ok();
    assert_eq!(status(&team, "t1"), "MERGED");
}
