//! Plans as a whole, and which work `next` offers to whom.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::process::Bounded as _;
use crate::support::{HUMAN, Ran, Who, World};

const PLAN: &str = "tasks:
  - id: a
    title: First
    spec_ref: specs/vision.md
    done_when: [works]
    scope: {in: [a/]}
  - id: b
    title: Second
    spec_ref: specs/vision.md
    done_when: [works]
    scope: {in: [b/]}
    depends_on: [a]
  - id: c
    title: Add tests for everything
    spec_ref: specs/vision.md
    done_when: ['1', '2', '3', '4', '5', '6']
    scope: {in: [b/c.sh, c1, c2, c3, c4, c5]}
    depends_on: [a]
";

#[track_caller]
fn planned(world: &World, plan: &str, more: &[&str]) -> Ran {
    world.json_stdin(&HUMAN, &[&["plan", "-"], more].concat(), plan)
}

#[test]
fn a_plan_is_a_list_a_map_or_one_task() {
    let one = |id: &str| {
        format!(
            r#"{{"id":"{id}","title":"t","spec_ref":"specs/vision.md","done_when":["d"],"scope":{{"in":["{id}/"]}}}}"#
        )
    };
    let world = World::new();
    let before = world.revision();
    planned(&world, PLAN, &[]).ok();
    assert_eq!(world.revision(), before + 1);
    planned(&world, &format!("[{}, {}]", one("l1"), one("l2")), &[]).ok();
    planned(&world, &one("single"), &[]).ok();
    planned(&world, &format!(r#"{{"tasks":[{}]}}"#, one("m1")), &["--draft"]).ok();
    let states: Vec<(String, String)> = world
        .tasks()
        .iter()
        .map(|row| (row["id"].as_str().unwrap().to_owned(), row["status"].as_str().unwrap().to_owned()))
        .collect();
    let idle = ["a", "b", "c", "l1", "l2", "single"].map(|id| (id.to_owned(), "IDLE".to_owned()));
    assert_eq!(states[..6], idle);
    assert_eq!(states[6], ("m1".to_owned(), "DRAFT".to_owned()));
    world.sound();
}

#[test]
fn a_plan_is_all_or_nothing() {
    let world = World::new();
    world.task("taken", &["x/"]);
    let bad = [
        (PLAN.replace("id: c", "id: A"), 1, "refused.id_taken"),
        (PLAN.replace("id: c", "id: Taken"), 1, "refused.id_taken"),
        (PLAN.replacen("done_when: [works]", "done_when: []", 2), 1, "refused.incomplete"),
        (PLAN.replace("depends_on: [a]", "depends_on: [ghost]"), 1, "refused.dependency_missing"),
        (PLAN.replace("specs/vision.md", "specs/none.md"), 1, "refused.incomplete"),
        (PLAN.replace("[b/]", "[../b/]"), 2, "usage.input"),
        (PLAN.replace("title: Second", "titel: Second"), 2, "usage.input"),
        (PLAN.replace("title: Second", "title: Second\n    title: Twice"), 2, "usage.input"),
        ("tasks: []".to_owned(), 1, "refused.incomplete"),
        ("tasks: [".to_owned(), 2, "usage.input"),
        (format!("tasks: {}{}", "[".repeat(100_000), "]".repeat(100_000)), 2, "usage.input"),
        (PLAN.replace("depends_on: [a]", "depends_on: [b]"), 1, "refused.cycle"),
    ];
    for (plan, exit, code) in bad {
        let before = world.bytes();
        for more in [&[][..], &["--check"]] {
            let ran = planned(&world, &plan, more);
            assert_eq!(
                (ran.exit, ran.code().as_str()),
                (exit, code),
                "{}: {}",
                &plan[..plan.len().min(400)],
                ran.stdout
            );
        }
        assert!(world.bytes() == before);
    }
    assert_eq!(world.tasks().len(), 1);
}

#[test]
fn a_cycle_is_reported_as_the_cycle() {
    let world = World::new();
    let plan = PLAN.replacen("scope: {in: [a/]}", "scope: {in: [a/]}\n    depends_on: [b]", 1);
    let ran = planned(&world, &plan, &[]).exits(1);
    let error = ran.json()["error"].clone();
    assert_eq!(ran.code(), "refused.cycle");
    let mut cycle: Vec<&str> =
        error["details"]["cycle"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    cycle.sort_unstable();
    assert_eq!(cycle, ["a", "b"]);
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("a → b → a") || message.contains("b → a → b"), "{message}");
}

#[test]
fn plan_check_changes_nothing() {
    let world = World::new();
    let before = world.bytes();
    let data = planned(&world, PLAN, &["--check"]).ok().data();
    assert_eq!(data["tasks"], 3);
    assert_eq!(data["groups"], json!([["a"], ["b", "c"]]));
    let advice = data["advice"].to_string();
    for part in ["tests alone", "6 files", "6 criteria", "both own"] {
        assert!(advice.contains(part), "{part} in {advice}");
    }
    assert!(world.bytes() == before);
    // A plan that depends on tasks of the board is checked against them.
    planned(&world, PLAN, &[]).ok();
    let next = "- {id: d, title: t, spec_ref: specs/vision.md, done_when: [d], scope: {in: [d/]}, depends_on: [c]}\n";
    planned(&world, next, &["--check"]).ok();
}

#[test]
fn plan_of_100_megabytes_is_not_read() {
    let world = World::new();
    let big = world.home().join("big.yaml");
    std::fs::File::create(&big).unwrap().set_len(100 * 1024 * 1024).unwrap();
    let error = world.refused(&HUMAN, &["plan", big.to_str().unwrap()], 2, "usage.input");
    assert!(error["message"].as_str().unwrap().contains("larger"), "{error}");
}

#[test]
fn next_offers_coder_own_then_most_urgent() {
    let world = World::new();
    let (one, two) = (world.register("coder", "coder-1"), world.register("coder", "coder-2"));
    let reviewer = world.register("code_reviewer", "reviewer-1");
    world.task("low", &["low.sh", "tests/test_low.sh"]);
    world.task_with("high", &["high/"], &["--priority", "9"]);
    world.task_with("waits", &["w/"], &["--priority", "99", "--depends", "low"]);
    // The coder's own rejected task comes before more urgent ones.
    let commit = world.submit_work(&one, "low", "low.sh", "echo low\n");
    world.liza(&reviewer, &["review", "claim", "low"]).ok();
    world
        .liza(
            &reviewer,
            &[
                "review",
                "reject",
                "low",
                "--commit",
                &commit,
                "--reason",
                "wrong",
                "--issue",
                "major:low.sh:1:no",
            ],
        )
        .ok();
    let data = world.json(&one, &["next", "--role", "coder"]).ok().data();
    assert_eq!((&data["task"], &data["iteration"]), (&json!("low"), &json!(2)));
    let data = world.json(&two, &["next", "--role", "coder"]).ok().data();
    assert_eq!(data["task"], "high");
    assert!(Path::new(data["worktree"].as_str().unwrap()).is_dir());
    // No work left: null, exit 0, nothing changed.
    let third = world.register("coder", "coder-3");
    let before = world.bytes();
    let ran = world.json(&third, &["next", "--role", "coder"]).ok();
    assert!(ran.json()["data"].is_null() && ran.json()["ok"] == true, "{}", ran.stdout);
    assert!(world.bytes() == before);
    world.tier0(&third, &["next", "--role", "code_reviewer"], "tier0.role_boundary");
    world.refused(&third, &["next", "--role", "a b"], 2, "usage.argument");
}

#[test]
fn next_offers_reviewer_only_others_work() {
    let world = World::new();
    let both = world.register_roles(&["coder", "code_reviewer"], "both-1");
    let other = world.register("coder", "coder-1");
    world.submitted(&both, "mine", "mine.sh", "echo\n");
    assert!(world.json(&both, &["next", "--role", "code_reviewer"]).ok().data().is_null());
    let commit = world.submitted(&other, "theirs", "theirs.sh", "echo\n");
    let data = world.json(&both, &["next", "--role", "code_reviewer"]).ok().data();
    assert_eq!((&data["task"], &data["review_commit"]), (&json!("theirs"), &json!(commit)));
    assert!(Path::new(data["checkout"].as_str().unwrap()).join("theirs.sh").is_file());
    assert_eq!(world.violations(), 0, "looking for work is no breach");
}

#[test]
fn next_gives_the_planner_its_trigger() {
    let world = World::new();
    let planner = world.register("planner", "planner-1");
    let wake = || world.json(&planner, &["next", "--role", "planner"]).ok().data();
    assert_eq!(wake()["trigger"], "initial_planning");
    world.task("t1", &["a/"]);
    assert!(wake().is_null());
    world
        .human(&[
            "discover",
            "the parser drops lines",
            "--task",
            "t1",
            "--severity",
            "minor",
            "--urgency",
            "immediate",
        ])
        .ok();
    assert_eq!(wake()["trigger"], "immediate_discovery");
    world.human(&["task", "block", "t1", "--reason", "r", "--question", "q"]).ok();
    assert_eq!((&wake()["trigger"], &wake()["about"]), (&json!("blocked"), &json!(["t1"])));
    world.human(&["note", "use argparse"]).ok();
    assert_eq!(wake()["trigger"], "answered_note");
    // An agent's note is no answer; processed notes are no longer listed.
    world.liza(&planner, &["inbox", "--done", "note-1"]).ok();
    world.liza(&planner, &["note", "thinking aloud"]).ok();
    assert_eq!(wake()["trigger"], "blocked");
    world.liza(&planner, &["task", "unblock", "t1", "--answer", "a"]).ok();
    world.liza(&planner, &["inbox", "--done", "discovery-1"]).ok();
    assert!(wake().is_null(), "{}", wake());
}

#[test]
fn reports_of_agents_reach_the_inbox() {
    let world = World::new();
    let coder = world.register("coder", "coder-1");
    world.task("t1", &["a/"]);
    world.liza(&coder, &["note", "@specs/vision.md", "--task", "t1"]).ok();
    let anomaly = ["anomaly", "spec_ambiguity", "--task", "t1"];
    let error = world.refused(&coder, &anomaly, 1, "refused.incomplete");
    assert_eq!(error["details"]["missing"], json!(["question"]));
    world.liza(&coder, &[&anomaly[..], &["--detail", "question=Is = allowed?"]].concat()).ok();
    let error = world.refused(&coder, &["anomaly", "bad_mood", "--task", "t1"], 2, "usage.argument");
    assert!(error["message"].as_str().unwrap().contains("retry_loop"), "{error}");
    world.refused(
        &coder,
        &["anomaly", "retry_loop", "--task", "zz", "--detail", "count=3", "--detail", "error_pattern=x"],
        1,
        "refused.unknown_task",
    );
    world
        .liza(&coder, &["discover", "slow", "--task", "t1", "--severity", "nitpick", "--urgency", "deferred"])
        .ok();
    world.refused(
        &coder,
        &["discover", "slow", "--task", "t1", "--severity", "bad", "--urgency", "deferred"],
        2,
        "usage.argument",
    );
    world.human(&["spec-change", "names may be empty", "--spec", "specs/vision.md", "--affects", "t1"]).ok();
    let inbox = world.json(&HUMAN, &["inbox"]).ok().data();
    assert_eq!(inbox["human_notes"][0]["text"], "# Vision");
    assert_eq!(inbox["anomalies"][0]["details"]["question"], "Is = allowed?");
    assert_eq!(inbox["discovered"][0]["severity"], "nitpick");
    assert_eq!(inbox["spec_changes"][0]["affects"], json!(["t1"]));
    world.refused(&coder, &["inbox", "--done", "note-1"], 1, "refused.role");
    world.refused(&HUMAN, &["inbox", "--done", "note-1", "--done", "note-9"], 1, "refused.unknown_record");
    world
        .human(&[
            "inbox",
            "--done",
            "note-1",
            "--done",
            "anomaly-1",
            "--done",
            "discovery-1",
            "--done",
            "spec-change-1",
        ])
        .ok();
    let inbox = world.json(&HUMAN, &["inbox"]).ok().data();
    for kind in ["human_notes", "anomalies", "discovered", "spec_changes"] {
        assert_eq!(inbox[kind], json!([]), "{kind}");
    }
    world.refused(&HUMAN, &["inbox", "--done", "note-1"], 1, "refused.transition");
    world.sound();
}

/// Returns once the process watches the directory, or cannot be observed any more.
fn until_it_watches(pid: u32) {
    let fds = format!("/proc/{pid}/fd");
    for _ in 0..100_000 {
        let Ok(entries) = std::fs::read_dir(&fds) else { return };
        let watching = entries
            .flatten()
            .filter_map(|entry| std::fs::read_link(entry.path()).ok())
            .any(|target| target.to_string_lossy().contains("inotify"));
        if watching {
            return;
        }
        std::thread::yield_now();
    }
}

#[test]
fn waiting_next_takes_a_task_once_finalized() {
    let world = World::new();
    let coder: Who = world.register("coder", "coder-1");
    let mut waiting =
        world.liza_command(&coder, &world.root, &["--json", "next", "--role", "coder", "--wait", "120"]);
    waiting.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let child = waiting.start().unwrap();
    until_it_watches(child.id());
    world.task("t1", &["a/"]);
    let ran = Ran::of(child.wait_with_output().unwrap()).ok();
    assert_eq!(ran.data()["task"], "t1");
    assert_eq!(world.show("t1")["assigned_to"], "coder-1");
    assert!(world.json(&coder, &["next", "--role", "coder", "--wait", "0"]).ok().data().is_null());
}
