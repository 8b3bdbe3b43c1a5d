//! Switches: any file of that name counts; the commands they stop exit with 5, all others work.

use std::path::Path;

use serde_json::json;

use crate::support::{HUMAN, Who, World, checkpoint_args};

/// A board where every kind of work is possible: `idle`, `work` (held, checkpointed, committed), `sub` (submitted),
/// `rev` (under review by the reviewer), `app` (approved), `draft`.
struct Scene {
    world: World,
    coder: Who,
    free: Who,
    reviewer: Who,
    under_review: String,
}

fn scene() -> Scene {
    let world = World::new();
    let coder = world.register("coder", "coder-1");
    let free = world.register("coder", "coder-2");
    let reviewer = world.register("code_reviewer", "reviewer-1");
    world.approved(&coder, &reviewer, "app", "app.sh", "x\n");
    world.submitted(&coder, "sub", "sub.sh", "x\n");
    let under_review = world.submitted(&coder, "rev", "rev.sh", "x\n");
    world.liza(&reviewer, &["review", "claim", "rev"]).ok();
    world.task("work", &["work.sh", "tests/test_work.sh"]);
    world.claim(&coder, "work");
    world.checkpoint(&coder, "work", &["work.sh"]);
    world.write_and_commit(
        &world.path(".worktrees/work"),
        &[("work.sh", "x\n"), ("tests/test_work.sh", "x\n")],
    );
    world.task("idle", &["idle/"]);
    world
        .human(&[
            "task",
            "add",
            "--id",
            "draft",
            "--title",
            "t",
            "--done",
            "d",
            "--spec",
            "specs/vision.md",
            "--in",
            "draft/",
        ])
        .ok();
    world.write(
        "plan.yaml",
        "- {id: planned, title: t, spec_ref: specs/vision.md, done_when: [d], scope: {in: [new/]}}\n",
    );
    world.git(&["branch", "upstream"]);
    let dir = world.home().join("up");
    world.git(&["worktree", "add", "-q", dir.to_str().unwrap(), "upstream"]);
    world.write_and_commit(&dir, &[("up.txt", "x\n")]);
    Scene { world, coder, free, reviewer, under_review }
}

impl Scene {
    /// The commands that a switch stops.
    fn stopped(&self) -> Vec<(&Who, Vec<&str>)> {
        let commit = self.under_review.as_str();
        vec![
            (&self.free, vec!["task", "claim", "idle"]),
            (&self.free, vec!["next", "--role", "coder"]),
            (&self.reviewer, vec!["next", "--role", "code_reviewer"]),
            (&self.coder, vec!["task", "submit", "work"]),
            (&self.coder, vec!["task", "sync", "work"]),
            (&self.reviewer, vec!["review", "claim", "sub"]),
            (&self.reviewer, vec!["review", "approve", "rev", "--commit", commit]),
            (
                &self.reviewer,
                vec![
                    "review",
                    "reject",
                    "rev",
                    "--commit",
                    commit,
                    "--reason",
                    "r",
                    "--issue",
                    "major:rev.sh:1:x",
                ],
            ),
            (
                &self.reviewer,
                vec!["review", "discuss", "rev", "--commit", commit, "--reason", "r", "--question", "q"],
            ),
            (&self.reviewer, vec!["merge", "app"]),
            (&self.reviewer, vec!["merge", "--all"]),
            (&HUMAN, vec!["task", "finalize", "draft"]),
            (&HUMAN, vec!["plan", "plan.yaml"]),
            (&HUMAN, vec!["integration", "advance", "upstream", "--reason", "r"]),
            (&HUMAN, vec!["deliver", "--to", "release"]),
        ]
    }
}

fn set(path: &Path, kind: usize) {
    match kind {
        0 => std::fs::write(path, "looking at t3\n").unwrap(),
        1 => std::fs::create_dir(path).unwrap(),
        _ => std::os::unix::fs::symlink("/nonexistent/anywhere", path).unwrap(),
    }
}

fn unset(path: &Path) {
    if path.is_dir() { std::fs::remove_dir(path).unwrap() } else { std::fs::remove_file(path).unwrap() }
}

#[test]
fn each_listed_command_stops_under_each_switch() {
    let scene = scene();
    let world = &scene.world;
    let refs = world.git(&["for-each-ref", "--format=%(refname) %(objectname)", "refs/heads"]);
    for (number, name) in ["PAUSE", "ABORT", "CHECKPOINT"].into_iter().enumerate() {
        let path = world.path(".liza").join(name);
        set(&path, number);
        assert_eq!(world.json(&HUMAN, &["status"]).ok().data()["switch"], name);
        for (who, args) in scene.stopped() {
            let error = world.refused(who, &args, 5, "switch.set");
            assert!(error["message"].as_str().unwrap().contains(name), "{error}");
        }
        unset(&path);
    }
    assert_eq!(world.git(&["for-each-ref", "--format=%(refname) %(objectname)", "refs/heads"]), refs);
    // Files, directories and dangling links count alike.
    for kind in 0..3 {
        let path = world.path(".liza/ABORT");
        set(&path, kind);
        let error = world.refused(&scene.free, &["task", "claim", "idle"], 5, "switch.set");
        if kind == 0 {
            assert!(error.to_string().contains("looking at t3"), "{error}");
        }
        unset(&path);
    }
    world.claim(&scene.free, "idle");
}

#[test]
fn unlisted_commands_work_under_a_switch() {
    let scene = scene();
    let Scene { world, coder, reviewer, .. } = &scene;
    let spare = world.register("coder", "coder-3");
    world.task("idle2", &["idle2/"]);
    world.claim(&spare, "idle2");
    world.human(&["pause", "--reason", "lunch"]).ok();
    for (who, args) in [
        (coder, vec!["task", "renew", "work"]),
        (reviewer, vec!["review", "renew", "rev"]),
        (reviewer, vec!["review", "show", "rev"]),
        (reviewer, vec!["review", "release", "rev"]),
        (coder, vec!["note", "hello"]),
        (
            coder,
            vec![
                "anomaly",
                "trade_off",
                "--task",
                "work",
                "--detail",
                "what=a",
                "--detail",
                "why=b",
                "--detail",
                "debt_created=c",
            ],
        ),
        (coder, vec!["discover", "x", "--task", "work", "--severity", "minor", "--urgency", "deferred"]),
        (coder, vec!["agent", "heartbeat"]),
        (coder, vec!["task", "handoff", "work", "--summary", "s", "--next", "n"]),
        (&HUMAN, vec!["task", "add", "--id", "new", "--title", "t"]),
        (&HUMAN, vec!["task", "block", "idle", "--reason", "r", "--question", "q"]),
        (&HUMAN, vec!["task", "unblock", "idle", "--answer", "a"]),
        (&HUMAN, vec!["task", "abandon", "new", "--reason", "r"]),
        (&HUMAN, vec!["agent", "register", "--role", "coder"]),
        (&HUMAN, vec!["spec-change", "x", "--spec", "specs/vision.md"]),
        (&HUMAN, vec!["inbox"]),
        (&HUMAN, vec!["status"]),
        (&HUMAN, vec!["log"]),
        (&HUMAN, vec!["graph"]),
        (&HUMAN, vec!["diff", "app"]),
        (&HUMAN, vec!["task", "list"]),
        (&HUMAN, vec!["task", "show", "app"]),
        (&HUMAN, vec!["validate"]),
        (&HUMAN, vec!["verify"]),
        (&HUMAN, vec!["doctor"]),
        (&HUMAN, vec!["plan", "plan.yaml", "--check"]),
        (&HUMAN, vec!["agent", "retire", "coder-2"]),
    ] {
        let ran = world.json(who, &args);
        assert_eq!(ran.exit, 0, "{args:?}: {}", ran.stdout);
    }
    world.liza(&spare, &checkpoint_args("idle2", &["idle2/x", "idle2/tests/x.sh"], "echo ok", "ok")).ok();
    world.liza(&spare, &["task", "release", "idle2"]).ok();
    let text = world.human(&["status"]).ok().stdout;
    assert!(text.contains("PAUSE: lunch") && text.contains("liza resume"), "{text}");
    world.sound();
}

#[test]
fn single_task_or_agent_can_be_paused() {
    let scene = scene();
    let Scene { world, coder, free, reviewer, .. } = &scene;
    world.human(&["pause", "--task", "idle", "--reason", "rethinking"]).ok();
    assert!(world.path(".liza/PAUSE-idle").is_file());
    assert!(world.json(&HUMAN, &["status"]).ok().data()["switch"].is_null());
    world.refused(free, &["task", "claim", "idle"], 5, "switch.set");
    // Other tasks go on, and `next` skips this one.
    assert!(world.json(free, &["next", "--role", "coder"]).ok().data().is_null());
    world.liza(reviewer, &["merge", "app"]).ok();
    // Touching the file has the same effect.
    std::fs::write(world.path(".liza/PAUSE-coder-1"), "").unwrap();
    world.refused(coder, &["task", "submit", "work"], 5, "switch.set");
    world.liza(coder, &["note", "still here"]).ok();
    world.liza(reviewer, &["review", "approve", "rev", "--commit", &scene.under_review]).ok();
    world.refused(&HUMAN, &["pause", "--task", "ghost"], 1, "refused.unknown_task");
    world.refused(&HUMAN, &["pause", "--agent", "ghost"], 1, "refused.unknown_agent");
    world.refused(&HUMAN, &["pause", "--agent", "coder-1", "--task", "idle"], 2, "usage.arguments");
    world.human(&["resume", "--agent", "coder-1"]).ok();
    world.liza(coder, &["task", "submit", "work"]).ok();
    world.refused(free, &["task", "claim", "idle"], 5, "switch.set");
    let data = world.json(&HUMAN, &["resume"]).ok().data();
    assert_eq!(data["cleared"], json!(["PAUSE for idle"]));
    world.claim(free, "idle");
}

#[test]
fn only_a_person_resumes() {
    let world = World::new();
    let planner = world.register("planner", "planner-1");
    world.liza(&planner, &["pause", "--reason", "trouble"]).ok();
    world.refused(&planner, &["resume"], 1, "refused.human_only");
    assert!(world.path(".liza/PAUSE").is_file());
    let error = world.refused(&planner, &["checkpoint"], 1, "refused.human_only");
    assert!(error["hint"].as_str().unwrap().contains("liza task checkpoint"), "{error}");
    assert!(!world.path(".liza/CHECKPOINT").exists());
    world.human(&["pause", "--reason", "again"]).ok();
    assert!(world.read(".liza/PAUSE").contains("trouble"), "the first reason stays");
    world.human(&["abort", "--reason", "stop"]).ok();
    let data = world.json(&HUMAN, &["resume"]).ok().data();
    assert_eq!(data["cleared"].as_array().unwrap().len(), 2);
    let data = world.json(&HUMAN, &["resume"]).ok().data();
    assert_eq!(data["cleared"], json!([]));
    // A directory with content is moved aside, not deleted.
    std::fs::create_dir(world.path(".liza/PAUSE")).unwrap();
    std::fs::write(world.path(".liza/PAUSE/precious"), "x").unwrap();
    world.human(&["resume"]).ok();
    assert!(!world.path(".liza/PAUSE").exists());
    let kept = walkdir::WalkDir::new(world.path(".liza/trash"))
        .into_iter()
        .flatten()
        .any(|entry| entry.file_name() == "precious");
    assert!(kept);
}

#[test]
fn agents_stop_only_themselves_and_own_tasks() {
    let world = World::new();
    let (coder, other) = (world.register("coder", "coder-1"), world.register("coder", "coder-2"));
    world.task("t1", &["a/"]);
    world.task("t2", &["b/"]);
    world.claim(&coder, "t1");
    for args in [
        &["abort", "--reason", "mine"][..],
        &["pause"],
        &["pause", "--agent", "coder-2"],
        &["abort", "--task", "t2"],
    ] {
        let error = world.refused(&coder, args, 1, "refused.role");
        assert!(error["hint"].as_str().is_some_and(|hint| hint.contains("--agent coder-1")), "{error}");
    }
    for name in ["ABORT", "PAUSE", "PAUSE-coder-2", "ABORT-t2"] {
        assert!(!world.path(".liza").join(name).exists(), "{name}");
    }
    world.liza(&coder, &["pause", "--task", "t1", "--reason", "I wait for the answer"]).ok();
    world.liza(&coder, &["pause", "--agent", "coder-1"]).ok();
    assert!(world.path(".liza/PAUSE-t1").is_file() && world.path(".liza/PAUSE-coder-1").is_file());
    world.claim(&other, "t2");
    // Planner and overseer may, unless liza.yaml says otherwise.
    world.write("liza.yaml", "roles: {planner: {deny: [stop]}}\n");
    let planner = world.register("planner", "planner-1");
    let error = world.refused(&planner, &["abort"], 1, "refused.role");
    assert!(error["message"].as_str().is_some_and(|text| text.contains("roles.planner.deny")), "{error}");
    let overseer = world.register("overseer", "overseer-1");
    world.liza(&overseer, &["pause", "--agent", "coder-2"]).ok();
    world.liza(&overseer, &["abort", "--reason", "all of it is wrong"]).ok();
    assert!(world.path(".liza/ABORT").is_file());
}

#[test]
fn abort_outranks_checkpoint_outranks_pause() {
    let world = World::new();
    let coder = world.register("coder", "coder-1");
    world.task("t1", &["a/"]);
    for name in ["PAUSE", "CHECKPOINT", "ABORT"] {
        std::fs::write(world.path(".liza").join(name), "").unwrap();
        assert_eq!(world.json(&HUMAN, &["status"]).ok().data()["switch"], name);
        let error = world.refused(&coder, &["task", "claim", "t1"], 5, "switch.set");
        assert!(error["message"].as_str().unwrap().contains(name), "{error}");
    }
    // Files with similar names are no switches.
    world.human(&["resume"]).ok();
    for name in ["PAUSED", "pause", "PAUSE.txt", "ABORTED"] {
        std::fs::write(world.path(".liza").join(name), "").unwrap();
    }
    world.claim(&coder, "t1");
}

#[test]
fn resume_extends_leases_by_the_pause() {
    let world = World::new();
    let (one, two) = (world.register("coder", "coder-1"), world.register("coder", "coder-2"));
    world.task("t1", &["a/"]);
    world.claim(&one, "t1");
    let expires = world.show("t1")["lease"]["expires"]["at"].clone();
    world.human(&["pause"]).ok();
    world.later(5000, &two, &["task", "claim", "t1"]).exits(5);
    // The pause began an hour ago.
    let past = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    std::fs::File::options().write(true).open(world.path(".liza/PAUSE")).unwrap().set_modified(past).unwrap();
    let data = world.json(&HUMAN, &["resume"]).ok().data();
    assert!(data["extended_by"].as_u64().unwrap() >= 3600, "{data}");
    assert_eq!(data["tasks"], json!(["t1"]));
    assert_ne!(world.show("t1")["lease"]["expires"]["at"], expires);
    // 1800 s of lease plus 3600 s of pause.
    let ran = world.later(3600, &two, &["task", "claim", "t1"]);
    assert_eq!((ran.exit, ran.code().as_str()), (3, "stale.held"), "{}", ran.stdout);
    world.later(5500, &two, &["task", "claim", "t1"]).ok();
}

#[test]
fn checkpoint_switch_lists_what_waits_for_person() {
    let world = World::new();
    let coder = world.register("coder", "coder-1");
    let reviewer = world.register("code_reviewer", "reviewer-1");
    world.task("open", &["open/"]);
    world.claim(&coder, "open");
    let second = world.register("coder", "coder-2");
    world.merge_task(&second, &reviewer, "t1", "a.sh", "x\n");
    world.task("stuck", &["stuck/"]);
    world
        .human(&[
            "task",
            "block",
            "stuck",
            "--reason",
            "unclear spec",
            "--question",
            "Which one?",
            "--question",
            "Why?",
        ])
        .ok();
    world
        .human(&[
            "anomaly",
            "workaround",
            "--task",
            "stuck",
            "--detail",
            "what=skipped",
            "--detail",
            "root_cause=unknown",
        ])
        .ok();
    let data = world.json(&HUMAN, &["checkpoint", "--reason", "Friday"]).ok().data();
    let report = std::fs::read_to_string(data["report"].as_str().unwrap()).unwrap();
    for part in [
        "A greeting program",
        "Friday",
        "- MERGED: 1",
        "- BLOCKED: 1",
        "- WORKING: 1",
        "| stuck |",
        "| open |",
        "coder-1",
        "unclear spec",
        "Which one?",
        "Why?",
        "liza task unblock stuck --answer",
        "anomaly-1 workaround",
        "skipped",
        "liza resume",
    ] {
        assert!(report.contains(part), "{part} in {report}");
    }
    // Integration has two more commits since `open` was claimed.
    let row = report.lines().find(|line| line.starts_with("| open |")).unwrap();
    assert!(row.contains("| 2 |"), "{row}");
    assert!(world.path(".liza/CHECKPOINT").is_file());
    world.human(&["resume"]).ok();
}
