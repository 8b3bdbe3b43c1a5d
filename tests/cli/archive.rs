//! Archived tasks: each in its own file, off the board, still found, and its id never reused.

use serde_json::{Value, json};

use crate::support::process::Bounded as _;
use crate::support::{HUMAN, Who, World, sweep};

/// A coder and a reviewer.
fn team(world: &World) -> (Who, Who) {
    (world.register("coder", "coder-1"), world.register("code_reviewer", "reviewer-1"))
}

fn abandoned(world: &World, id: &str) {
    world.human(&["task", "add", "--id", id, "--title", id]).ok();
    world.human(&["task", "abandon", id, "--reason", "not wanted"]).ok();
}

fn archive(world: &World, args: &[&str]) -> Value {
    let mut all = vec!["archive"];
    all.extend(args);
    world.json(&HUMAN, &all).ok().data()
}

#[test]
fn archived_task_leaves_the_board_and_is_found() {
    let world = World::new();
    let (coder, reviewer) = team(&world);
    world.merge_task(&coder, &reviewer, "t1", "a.sh", "echo a\n");
    world.task_with("next", &["b.sh"], &["--depends", "t1"]);
    let before = world.show("t1");
    // A dry run changes nothing.
    let state = world.bytes();
    let planned = archive(&world, &["t1", "--dry-run"]);
    assert_eq!((&planned["archived"], &planned["dry_run"]), (&json!(["t1"]), &json!(true)));
    assert!(world.bytes() == state && !world.path(".liza/archive/t1.yaml").exists());

    let data = archive(&world, &["t1"]);
    assert_eq!(data["archived"], json!(["t1"]));
    assert!(!world.state().contains("- id: t1\n"), "{}", world.state());
    assert_eq!(world.json(&HUMAN, &["status"]).ok().data()["archived"], 1);
    // Only its owner may read the file, and any YAML reader can parse it.
    let text = world.read(".liza/archive/t1.yaml");
    assert!(text.contains("\nid: t1\nstatus: MERGED\n") && text.contains("\ntitle: t1\n"), "{text}");
    let mode = std::os::unix::fs::MetadataExt::mode(&world.path(".liza/archive/t1.yaml").metadata().unwrap());
    assert_eq!(mode & 0o777, 0o600);

    let mut shown = world.show("t1");
    assert_eq!(shown["archived"], true);
    shown.as_object_mut().unwrap().remove("archived");
    assert_eq!(shown, before, "everything is still there");
    let said = world.human(&["task", "show", "t1"]).ok().stdout;
    assert!(said.contains("t1: t1") && said.contains("archive/t1.yaml") && said.contains("MERGED"), "{said}");
    let diff = world.human(&["diff", "t1"]).ok().stdout;
    assert!(diff.contains("+echo a"), "{diff}");
    let log = world.human(&["log", "--task", "t1"]).ok().stdout;
    assert!(log.contains("archive_tasks t1") && log.contains("submit t1"), "{log}");

    // Tasks that depend on the archived task are ready, also tasks added later.
    assert_eq!(world.row("next")["node_state"], "ready");
    let graph = world.human(&["graph"]).ok().stdout;
    assert!(graph.contains("after t1 (archived, task state MERGED)"), "{graph}");
    assert_eq!(
        world.json(&HUMAN, &["graph"]).ok().data()["archived"],
        json!([{"id": "t1", "status": "MERGED"}])
    );
    for format in ["mermaid", "dot"] {
        let drawn = world.human(&["graph", "--format", format]).ok().stdout;
        assert!(drawn.contains("t1 (archived, task state MERGED)"), "{drawn}");
    }
    let got = world.json(&coder, &["next", "--role", "coder"]).ok().data();
    assert_eq!(got["task"], "next");
    world.task_with("later", &["c.sh"], &["--depends", "t1"]);

    // The id is never reused, whatever its case.
    for id in ["t1", "T1"] {
        let args = ["task", "add", "--id", id, "--title", "again"];
        world.refused(&HUMAN, &args, 1, "refused.id_taken");
    }
    let args = [
        "task",
        "add",
        "--id",
        "x",
        "--title",
        "x",
        "--spec",
        "specs/vision.md",
        "--done",
        "d",
        "--in",
        "x/",
        "--finalize",
        "--depends",
        "T1",
    ];
    world.refused(&HUMAN, &args, 1, "refused.dependency_missing");
    let error = world.refused(&HUMAN, &["task", "show", "T1"], 1, "refused.unknown_task");
    assert!(error["hint"].as_str().unwrap().contains("`t1`"), "{error}");
    let error = world.refused(&HUMAN, &["task", "abandon", "t1", "--reason", "r"], 1, "refused.unknown_task");
    assert!(error["message"].as_str().unwrap().contains("MERGED and archived"), "{error}");
    // Archiving again is no error and changes nothing.
    let state = world.bytes();
    assert_eq!(archive(&world, &["t1"])["already"], json!(["t1"]));
    assert!(world.bytes() == state);
    world.sound();
}

#[test]
fn archive_refuses_coders_and_unfinished_tasks() {
    let world = World::new();
    let (coder, reviewer) = team(&world);
    let planner = world.register("planner", "planner-1");
    abandoned(&world, "done");
    world.task("open", &["a/"]);
    for who in [&coder, &reviewer] {
        world.refused(who, &["archive", "done"], 1, "refused.role");
        world.refused(who, &["archive", "--all"], 1, "refused.role");
    }
    world.refused(&HUMAN, &["archive", "open"], 1, "refused.transition");
    world.refused(&HUMAN, &["archive", "done", "open"], 1, "refused.transition");
    world.refused(&HUMAN, &["archive", "never"], 1, "refused.unknown_task");
    world.refused(&HUMAN, &["archive", "done", "--all"], 2, "usage.arguments");
    assert!(!world.path(".liza/archive/done.yaml").exists(), "a refusal leaves no file");
    // A replaced task stays until its replacement is finished.
    world.task("old", &["b/"]);
    world.human(&["task", "rescope", "old", "--by", "open", "--reason", "one is enough"]).ok();
    world.refused(&HUMAN, &["archive", "old"], 1, "refused.still_needed");
    let data = world.json(&planner, &["archive", "--all"]).ok().data();
    assert_eq!(data["archived"], json!(["done"]));
    assert_eq!(data["stay"][0]["task"], "old");
    world.sound();
}

#[test]
fn archive_without_id_takes_only_old_tasks() {
    let world = World::new();
    abandoned(&world, "a");
    let data = archive(&world, &[]);
    assert_eq!((&data["archived"], &data["stay"][0]["task"]), (&json!([]), &json!("a")));
    let day = 86_400;
    let late = |days: i64, args: &[&str]| world.later(days * day, &HUMAN, args).ok().data();
    assert_eq!(late(13, &["archive"])["archived"], json!([]));
    // With a clock set before the end of the task, no task is old.
    assert_eq!(late(-40, &["archive", "--keep-days", "0"])["archived"], json!([]));
    assert_eq!(late(3, &["archive", "--keep-days", "2", "--dry-run"])["archived"], json!(["a"]));
    assert_eq!(late(15, &["archive"])["archived"], json!(["a"]));
}

#[test]
fn dependencies_follow_archived_replacements() {
    let world = World::new();
    let (coder, reviewer) = team(&world);
    for id in ["s1", "s2", "dead"] {
        world.task(id, &[&format!("{id}/")]);
    }
    world.task("real", &["r.sh", "tests/test_real.sh"]);
    world.task_with("waits", &["w/"], &["--depends", "s1"]);
    world.task_with("stranded", &["x/"], &["--depends", "dead"]);
    world.human(&["task", "rescope", "s1", "--by", "s2", "--reason", "r"]).ok();
    world.human(&["task", "rescope", "s2", "--by", "real", "--reason", "r"]).ok();
    world.human(&["task", "abandon", "dead", "--reason", "r"]).ok();
    world.refused(&coder, &["task", "claim", "waits"], 1, "refused.dependency_unmet");
    let commit = world.submit_work(&coder, "real", "r.sh", "echo r\n");
    world.approve(&reviewer, "real", &commit);
    world.liza(&reviewer, &["merge", "real"]).ok();
    // One after the other, so that every step of the chain is tried with archived tasks.
    for id in ["s1", "s2", "real", "dead"] {
        archive(&world, &[id]);
        assert_eq!(world.row("waits")["node_state"], "ready", "after {id}");
    }
    let row = world.row("stranded");
    assert_eq!(row["node_state"], "pending");
    assert!(
        row["why"].as_str().unwrap().contains("dead (ABANDONED, archived: it will never merge)"),
        "{row}"
    );
    world.refused(&coder, &["task", "claim", "stranded"], 1, "refused.dependency_unmet");
    world.claim(&coder, "waits");
    world.sound();
    // `plan --check` and `plan` treat a plan that names archived tasks alike.
    let plan = "- {id: p, title: p, spec_ref: specs/vision.md, done_when: [d], scope: {in: [p/]}, depends_on: [s1]}\n";
    world.json_stdin(&HUMAN, &["plan", "-", "--check"], plan).ok();
    world.json_stdin(&HUMAN, &["plan", "-"], plan).ok();
    assert_eq!(world.row("p")["node_state"], "ready");
}

#[test]
fn unreadable_archive_file_frees_no_id() {
    let world = World::new();
    let (coder, _) = team(&world);
    abandoned(&world, "a");
    world.task_with("b", &["b/"], &["--depends", "a"]);
    archive(&world, &["a"]);
    std::fs::write(world.path(".liza/archive/a.yaml"), "id: [\n").unwrap();
    world.refused(&coder, &["task", "claim", "b"], 6, "board.invalid");
    world.refused(&HUMAN, &["task", "add", "--id", "a", "--title", "a"], 6, "board.invalid");
    world.refused(&HUMAN, &["task", "show", "a"], 6, "board.invalid");
}

#[test]
fn settled_records_are_archived_and_stay_in_log() {
    let world = World::new();
    let (coder, _) = team(&world);
    world.task("t1", &["a/"]);
    world.claim(&coder, "t1");
    world.human(&["note", "the first word"]).ok();
    world.human(&["note", "the second word"]).ok();
    world
        .liza(
            &coder,
            &["discover", "something", "--task", "t1", "--severity", "minor", "--urgency", "deferred"],
        )
        .ok();
    world
        .liza(&coder, &["discover", "more", "--task", "t1", "--severity", "minor", "--urgency", "deferred"])
        .ok();
    world
        .liza(
            &coder,
            &["anomaly", "workaround", "--task", "t1", "--detail", "what=w", "--detail", "root_cause=r"],
        )
        .ok();
    world.liza(&coder, &["task", "handoff", "t1", "--summary", "a long story", "--next", "n"]).ok();
    world.human(&["task", "abandon", "t1", "--reason", "r"]).ok();
    let ids: Vec<String> = ["note-1", "discovered-1", "anomaly-1"].map(str::to_owned).into();
    let inbox = world.json(&HUMAN, &["inbox"]).ok().stdout;
    let ids: Vec<&str> = ids.iter().map(String::as_str).filter(|id| inbox.contains(*id)).collect();
    assert!(ids.len() >= 2, "{inbox}");
    for id in &ids {
        world.human(&["inbox", "--done", id]).ok();
    }
    archive(&world, &["t1"]);
    let state = world.state();
    assert!(!state.contains("the first word") && state.contains("the second word"), "{state}");
    assert!(!state.contains("a long story"), "what was said about the task left with it");
    assert!(world.human(&["log"]).ok().stdout.contains("the first word"));
    assert!(world.json(&HUMAN, &["inbox"]).ok().stdout.contains("note-2"));
    // The planner is not asked for a first plan because every task is finished.
    assert!(!world.json(&HUMAN, &["status"]).ok().stdout.contains("initial_planning"));
    world.sound();
}

#[test]
fn killed_archive_leaves_task_on_board() {
    for point in ["archive.written", "archive.files", "commit.5:1", "commit.6:1"] {
        let world = World::new();
        abandoned(&world, "a");
        world.dies_at(point, &HUMAN, &["archive", "a"]);
        assert!(world.path(".liza/archive/a.yaml").exists(), "{point}");
        // The board counts: the leftover file confuses no command, and doctor finds nothing.
        assert!(world.show("a")["archived"].is_null(), "{point}");
        world.sound();
        world.human(&["doctor"]).exits(0);
        let taken = world.json(&HUMAN, &["task", "add", "--id", "a", "--title", "a"]).exits(1);
        assert_eq!(taken.code(), "refused.id_taken", "{point}");
        world.task_with("b", &["b/"], &["--depends", "a"]);
        assert!(world.row("b")["why"].as_str().unwrap().contains("a (ABANDONED:"), "{point}");
        // A file with other content is overwritten.
        std::fs::write(world.path(".liza/archive/a.yaml"), "id: a\nstatus: MERGED\n").unwrap();
        let coder = world.register("coder", "coder-1");
        world.refused(&coder, &["task", "claim", "b"], 1, "refused.dependency_unmet");
        archive(&world, &["a"]);
        assert_eq!(world.show("a")["status"], "ABANDONED", "{point}");
        assert_eq!(world.show("a")["archived"], true, "{point}");
        world.recovers(point);
    }
    for point in ["commit.7:1", "commit.8:1", "archive.committed"] {
        let world = World::new();
        abandoned(&world, "a");
        world.dies_at(point, &HUMAN, &["archive", "a"]);
        assert_eq!(world.show("a")["archived"], true, "{point}");
        world.recovers(point);
        assert_eq!(archive(&world, &["a"])["already"], json!(["a"]), "{point}");
    }
}

#[test]
fn archiving_is_answered_once_for_each_request() {
    let world = World::new();
    abandoned(&world, "a");
    let args = ["archive", "--all", "--request-id", "r1"];
    let first = world.json(&HUMAN, &args).ok().data();
    let state = world.bytes();
    let again = world.json(&HUMAN, &args).ok().data();
    assert_eq!(first["archived"], again["archived"]);
    assert!(world.bytes() == state);
}

/// Many finished tasks, made in process.
pub fn finish_many(world: &World, prefix: &str, count: usize) {
    use liza::board::rules::Abandon;
    use liza::board::{Credentials, TaskId, Transition};
    use liza::store::{Proposal, Store};
    let plan: String = (0..count)
        .map(|number| {
            format!("- {{id: {prefix}{number}, title: t, spec_ref: specs/vision.md, done_when: [d], scope: {{in: [{prefix}/{number}/]}}}}\n")
        })
        .collect();
    world.json_stdin(&HUMAN, &["plan", "-"], &plan).ok();
    let store = Store::new(world.path(".liza"));
    for number in 0..count {
        let task = TaskId::new(&format!("{prefix}{number}")).unwrap();
        let what: Transition = Abandon { task, reason: "r".to_owned() }.into();
        store
            .commit_any(
                Proposal { credentials: &Credentials::Human, what, request: None },
                &liza::host::now(),
            )
            .unwrap();
    }
}

#[test]
fn crowded_board_archives_oldest_tasks() {
    let world = World::new();
    finish_many(&world, "f", 200);
    world.task("one", &["one/"]);
    world.task("two", &["two/"]);
    // Two hundred finished tasks may stay on the board.
    assert_eq!(world.tasks().len(), 202);
    let ran = world.human(&["task", "abandon", "one", "--reason", "r"]).ok();
    assert!(ran.stderr.contains("101 finished tasks were archived"), "{}", ran.stderr);
    let tasks = world.tasks();
    assert_eq!(tasks.len(), 101, "a hundred finished ones, and the one that is not");
    assert!(tasks.iter().any(|row| row["id"] == "one") && tasks.iter().any(|row| row["id"] == "two"));
    assert_eq!(world.show("f0")["archived"], true, "the oldest left");
    assert!(world.show("f199")["archived"].is_null(), "the youngest stayed");
    world.sound();
    // The command succeeds even if archiving after it fails.
    finish_many(&world, "g", 101);
    world.write("liza.yaml", "disk: {min_free_bytes: 9000000000000000}\n");
    let ran = world.human(&["task", "abandon", "two", "--reason", "r"]).ok();
    assert!(ran.stderr.contains("could not be archived"), "{}", ran.stderr);
    assert_eq!(world.status_of("two"), "ABANDONED");
    assert_eq!(world.tasks().len(), 202);
}

#[test]
fn archived_tasks_do_not_enlarge_the_board() {
    let many = sweep(60, 600);
    let world = World::new();
    let (coder, _) = team(&world);
    world.task("active", &["a/"]);
    let small = world.state().len();
    finish_many(&world, "f", many);
    let large = world.state().len();
    assert!(large > small * many / 12);
    let data = archive(&world, &["--all"]);
    assert_eq!(data["archived"].as_array().unwrap().len(), many);
    let after = world.state().len();
    assert!(after < small + 300, "{small} bytes before, {after} after");
    // The directory may also hold the index, which is derived from the task files.
    let files = std::fs::read_dir(world.path(".liza/archive")).unwrap().flatten();
    let tasks = files.filter(|file| file.path().extension().is_some_and(|kind| kind == "yaml"));
    assert_eq!(tasks.count(), many);
    for id in ["f0", &format!("f{}", many / 2), &format!("f{}", many - 1)] {
        assert_eq!(world.show(id)["archived"], true);
        world.refused(&HUMAN, &["task", "add", "--id", id, "--title", "t"], 1, "refused.id_taken");
    }
    world.task_with("depends", &["b/"], &["--depends", "f7"]);
    assert_eq!(world.tasks().len(), 2);
    assert_eq!(world.json(&coder, &["next", "--role", "coder"]).ok().data()["task"], "active");
    let text = world.human(&["status"]).ok().stdout;
    assert!(text.contains(&format!("{many} tasks archived")), "{text}");
    world.sound();
    // A former revision can be rebuilt: the log records which tasks were archived.
    let image = world.human(&["doctor", "--image", &(world.revision() - 3).to_string()]).ok().stdout;
    assert!(
        image.contains(&format!("archived: {many}")) || image.contains(&format!("- id: f{}", many - 1)),
        "the log plays it again"
    );
}

#[test]
fn concurrent_archive_commands_all_succeed() {
    let world = World::new();
    for number in 0..12 {
        abandoned(&world, &format!("t{number}"));
    }
    let children: Vec<_> = (0..6)
        .map(|_| {
            let mut command = world.liza_command(&HUMAN, &world.root, &["archive", "--all"]);
            command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::piped());
            command.start().unwrap()
        })
        .collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert!(world.tasks().is_empty());
    assert_eq!(world.json(&HUMAN, &["status"]).ok().data()["archived"], 12, "each left once");
    world.sound();
}
