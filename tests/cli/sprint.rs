//! Sprints: started, halted at their deadline, closed with figures and a draft of a retrospective.

use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::support::{HUMAN, World};

fn show(world: &World) -> Value {
    world.json(&HUMAN, &["sprint", "show"]).ok().data()
}

#[test]
fn sprint_is_started_changed_and_closed() {
    let world = World::new();
    let (coder, reviewer) = (world.register("coder", "c1"), world.register("code_reviewer", "r1"));
    for id in ["t1", "t2", "t3"] {
        world.task(id, &[&format!("{id}.txt"), &format!("tests/test_{id}.sh")]);
    }
    assert_eq!(show(&world)["id"], "sprint-1");
    let data = world
        .json(
            &HUMAN,
            &["sprint", "start", "--scope", "t1", "--scope", "t2", "--deadline", "2d", "--goal", "greet"],
        )
        .ok()
        .data();
    assert_eq!((&data["id"], &data["goal"]), (&"sprint-2".into(), &"greet".into()), "{data}");
    assert_eq!(show(&world)["former"], serde_json::json!(["sprint-1"]));
    let error = world.refused(&HUMAN, &["sprint", "start"], 1, "refused.transition");
    assert!(error["hint"].as_str().unwrap().contains("liza sprint close"), "{error}");
    world.refused(&coder, &["sprint", "close"], 1, "refused.human_only");
    world.human(&["sprint", "scope", "--add", "t3", "--drop", "t2"]).ok();
    world.refused(&HUMAN, &["sprint", "scope", "--drop", "t2"], 1, "refused.unknown_task");
    // t1 is rejected once and merged, t3 is blocked.
    let commit = world.submit_work(&coder, "t1", "t1.txt", "one\n");
    world.liza(&reviewer, &["review", "claim", "t1"]).ok();
    let issue = ["--reason", "it greets without a name", "--issue", "major:t1.txt:1:no greeting"];
    world.liza(&reviewer, &[&["review", "reject", "t1", "--commit", &commit][..], &issue].concat()).ok();
    let worktree = world.claim(&coder, "t1");
    world.checkpoint(&coder, "t1", &["t1.txt", "tests/test_t1.sh"]);
    let commit = world.write_and_commit(&worktree, &[("t1.txt", "hello\n")]);
    world.liza(&coder, &["task", "submit", "t1"]).ok();
    world.liza(&reviewer, &["review", "claim", "t1"]).ok();
    world.liza(&reviewer, &["review", "approve", "t1", "--commit", &commit, "--prior", "i1=resolved"]).ok();
    world.liza(&reviewer, &["merge", "t1"]).ok();
    world.human(&["task", "block", "t3", "--reason", "which tongue", "--question", "French or Latin?"]).ok();
    let figures = show(&world)["metrics"].clone();
    assert_eq!((&figures["tasks_total"], &figures["tasks_done"]), (&2.into(), &1.into()), "{figures}");
    let data = world.json(&HUMAN, &["sprint", "close", "--note", "half a success"]).ok().data();
    let path = world.path(data["retrospective"].as_str().unwrap());
    assert_eq!(path, world.path(".liza/reports/sprint-2.md"));
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let text = std::fs::read_to_string(&path).unwrap();
    for fact in [
        "Goal: greet",
        "Note: half a success",
        "What was done (1 of 2)",
        "t3 (t3): BLOCKED when the sprint ended",
        "t1, round 1, by r1: it greets without a name",
        "which tongue (still blocked)",
        "t3: French or Latin?",
        "1 of 2 verdicts were rejections",
    ] {
        assert!(text.contains(fact), "{fact} is not in\n{text}");
    }
    assert!(!text.contains("t2"), "{text}");
    // The metrics of the sprint are stored, whatever happens to its tasks later.
    world.human(&["task", "unblock", "t3", "--answer", "Latin"]).ok();
    let kept = world.json(&HUMAN, &["metrics", "--sprint", "sprint-2"]).ok().data();
    assert_eq!(kept["figures"]["tasks_blocked"], 1.0, "{kept}");
    assert_eq!(kept["figures"]["verdicts_rejections"], 1.0, "{kept}");
    world.refused(&HUMAN, &["sprint", "close"], 1, "refused.transition");
    world.refused(&HUMAN, &["metrics", "--sprint", "sprint-9"], 1, "refused.unknown_record");
    let data = world.json(&HUMAN, &["sprint", "start", "autumn"]).ok().data();
    assert_eq!(data["scope"], serde_json::json!([]), "{data}");
    // Earlier events do not count for the sprint, even in the same second.
    let fresh = show(&world)["metrics"].clone();
    for name in
        ["verdicts_total", "iterations_total", "work_seconds_count", "lead_seconds_count", "tokens_total"]
    {
        assert_eq!(fresh[name], 0, "{name} in {fresh}");
    }
    let ids: Vec<String> =
        show(&world)["tasks"].as_array().unwrap().iter().map(|task| task["id"].to_string()).collect();
    assert!(["\"t2\"", "\"t3\""].iter().all(|id| ids.contains(&(*id).to_owned())), "{ids:?}");
    assert_eq!(world.json(&HUMAN, &["sprint", "show", "sprint-2"]).ok().data()["note"], "half a success");
    world.sound();
}

#[test]
fn deadline_halts_the_team_once() {
    let world = World::new();
    world.task("t1", &["t1/"]);
    world.human(&["sprint", "start", "--deadline", "1h"]).ok();
    world.refused(&HUMAN, &["sprint", "scope", "--drop", "t1"], 1, "refused.unknown_task");
    world.later(3000, &HUMAN, &["watch", "--once"]).ok();
    assert!(!world.path(".liza/CHECKPOINT").exists());
    world.later(3700, &HUMAN, &["watch", "--once"]).ok();
    let reason = world.read(".liza/CHECKPOINT");
    assert!(reason.contains("sprint-2"), "{reason}");
    assert!(reason.contains("`liza sprint close` if it is over; then `liza resume`"), "{reason}");
    assert_eq!(show(&world)["timeline"]["halt"], "done");
    let coder = world.register("coder", "c1");
    assert_eq!(world.json(&coder, &["task", "claim", "t1"]).exit, 5);
    // A person who resumes is not halted again.
    world.human(&["resume"]).ok();
    world.later(3800, &HUMAN, &["watch", "--once"]).ok();
    assert!(!world.path(".liza/CHECKPOINT").exists());
    // Closing the sprint halts no agent and removes no switch; the answer names the switch that is still set.
    assert!(!world.human(&["sprint", "close"]).ok().stdout.contains("CHECKPOINT"));
    world.human(&["sprint", "start", "--deadline", "1h"]).ok();
    world.later(3700, &HUMAN, &["watch", "--once"]).ok();
    let closed = world.human(&["sprint", "close"]).ok().stdout;
    assert!(closed.contains("CHECKPOINT is still set: `liza resume`"), "{closed}");
    world.sound();
}

#[test]
fn next_watch_completes_a_killed_deadline() {
    for point in ["deadline.begun", "deadline.set"] {
        let world = World::new();
        world.human(&["sprint", "start", "--deadline", "90m"]).ok();
        let env = [("LIZA_TEST_ADVANCE", "6000"), ("LIZA_CRASH_AT", point)];
        assert_ne!(world.json_env(&HUMAN, &["watch", "--once"], &env).exit, 0, "{point}");
        assert_eq!(show(&world)["timeline"]["halt"], "begun", "{point}");
        world.later(6001, &HUMAN, &["watch", "--once"]).ok();
        assert_eq!(show(&world)["timeline"]["halt"], "done", "{point}");
        assert!(world.path(".liza/CHECKPOINT").exists(), "{point}");
        world.sound();
    }
}

#[test]
fn a_run_halts_at_the_deadline_too() {
    use crate::team::{EVERY_ROLE, add, scripted, start, until};
    let world = scripted(&format!("while [ ! -e \"$OUT/go\" ]; do sleep 0.05; done\n{EVERY_ROLE}"));
    add(&world, "t1");
    world.human(&["sprint", "start", "--deadline", "3s"]).ok();
    let child = start(&world, &["--json", "run", "--team", "coder=1", "--team", "code_reviewer=1"]);
    until("the run halts", || world.path(".liza/CHECKPOINT").exists());
    std::fs::write(world.home().join("out/go"), "").unwrap();
    until("it was seen to", || show(&world)["timeline"]["halt"] == "done");
    world.human(&["resume"]).ok();
    let output = child.wait_with_output().expect("it ends");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{text}");
    let notice = "\"event\":\"notice\",\"text\":\"CHECKPOINT is set: sprint sprint-2 has reached";
    assert_eq!(text.matches(notice).count(), 1, "{text}");
    assert_eq!(world.row("t1")["status"], "MERGED");
    world.sound();
}

#[test]
fn deadline_accepts_time_or_duration() {
    let world = World::new();
    for text in ["tomorrow", "8", "h", "-1h", "8h30m", "2026-13-01T00:00:00Z", ""] {
        assert_eq!(world.json(&HUMAN, &["sprint", "start", &format!("--deadline={text}")]).exit, 2, "{text}");
    }
    let error = world.refused(&HUMAN, &["sprint", "start", "--deadline", "yesterday"], 2, "usage.argument");
    assert!(error["hint"].as_str().unwrap().contains("--deadline 8h"), "{error}");
    world.refused(&HUMAN, &["sprint", "start", "--deadline", "2020-01-01T00:00:00Z"], 1, "refused.value");
    world.refused(&HUMAN, &["sprint", "start", "a/b"], 1, "refused.value");
    assert_eq!(show(&world)["id"], "sprint-1", "nothing was closed for it");
    let data = world.json(&HUMAN, &["sprint", "start", "--deadline", "2999-01-01T00:00:00Z"]).ok().data();
    assert_eq!(data["deadline"], "2999-01-01T00:00:00Z");
}
