//! Tasks on the board: adding, finalizing, waiting for others.

use serde_json::{Value, json};

use crate::board::rules::{ChangeSpec, Rescope};
use crate::flow::testing::{Actor, Scene, task_id};

/// Everything a task needs to be claimable, with other fields on top.
fn complete(id: &str, more: Value) -> Value {
    let mut task = json!({
        "id": id, "title": "t", "done_when": ["d"], "spec_ref": "specs/vision.md",
        "scope": { "in": [format!("{id}/")] },
    });
    for (key, value) in more.as_object().expect("fields") {
        task[key] = value.clone();
    }
    task
}

#[test]
fn hostile_specs_are_refused() {
    let scene = Scene::new();
    std::os::unix::fs::symlink("/etc", scene.path("specs/link")).unwrap();
    std::os::unix::fs::symlink("vision.md", scene.path("specs/alias.md")).unwrap();
    for spec in [
        "/etc/passwd",
        "../x.md",
        ".git/config",
        ".liza/state.yaml",
        "specs/link/passwd",
        "specs/alias.md",
        "specs",
    ] {
        scene.refused("refused.value", || {
            scene.person().add(json!({ "id": "t1", "title": "t", "spec_ref": spec }), false)
        });
    }
    assert!(scene.board().tasks.is_empty());
}

#[test]
fn ids_are_unique_ignoring_case() {
    let scene = Scene::new();
    let person = scene.person();
    person.draft("Greet").unwrap();
    for id in ["Greet", "greet", "GREET"] {
        scene.refused("refused.id_taken", || person.draft(id));
    }
    let failure = scene.refused("refused.unknown_task", || person.claim("GREET"));
    assert!(failure.hint.as_ref().unwrap().contains("Greet"), "{failure:?}");
    // An ended task does not free its id either.
    person.abandon("Greet", "no").unwrap();
    scene.refused("refused.id_taken", || person.draft("greet"));
}

#[test]
fn finalize_names_everything_that_is_missing() {
    let scene = Scene::new();
    let person = scene.person();
    person.draft("t1").unwrap();
    let failure = scene.refused("refused.incomplete", || person.finalize(&["t1"]));
    let missing = failure.details["missing"].to_string();
    for part in ["done_when", "spec_ref", "scope"] {
        assert!(missing.contains(part), "{missing}");
    }
    person.add(complete("t2", json!({ "spec_ref": "specs/none.md" })), false).unwrap();
    let failure = scene.refused("refused.incomplete", || person.finalize(&["t2"]));
    assert!(failure.message.contains("specs/none.md"), "{failure:?}");
    scene.refused("refused.unknown_task", || person.finalize(&["nope"]));
    scene.task("t3", &["a/"]);
    scene.refused("refused.transition", || person.finalize(&["t3"]));
    person.add(complete("t4", json!({ "depends_on": ["ghost"] })), false).unwrap();
    let failure = scene.refused("refused.dependency_missing", || person.finalize(&["t4"]));
    assert_eq!(failure.details["dependency"], "ghost");
}

#[test]
fn finalize_of_several_is_all_or_nothing() {
    let scene = Scene::new();
    let person = scene.person();
    for (id, depends) in [("a", json!(["c"])), ("b", json!(["a"])), ("c", json!(["b"])), ("d", json!([]))] {
        person.add(complete(id, json!({ "depends_on": depends })), false).unwrap();
    }
    let failure = scene.refused("refused.cycle", || person.finalize_all());
    // Names the cycle itself, not all drafts.
    for id in ["a", "b", "c"] {
        assert!(failure.message.contains(id), "{failure:?}");
    }
    assert_eq!(failure.details["cycle"].as_array().unwrap().len(), 3, "{failure:?}");
    scene.refused("refused.cycle", || person.finalize(&["d", "a"]));
    person.finalize(&["d"]).unwrap();
    person.abandon("c", "cycle").unwrap();
    person.finalize_all().unwrap();
    assert_eq!(scene.status_of("a"), "IDLE");
    assert_eq!(scene.status_of("b"), "IDLE");
    scene.refused("refused.incomplete", || person.finalize_all());
}

#[test]
fn add_with_finalize_is_one_commit() {
    let scene = Scene::new();
    let before = scene.revision();
    scene.task("t1", &["src/"]);
    assert_eq!(scene.revision(), before + 1);
    scene.refused("refused.incomplete", || scene.person().add(json!({ "id": "t2", "title": "t" }), true));
    assert_eq!(scene.board().tasks.len(), 1);
}

#[test]
fn only_planners_and_people_plan() {
    let scene = Scene::new();
    let coder = scene.agent("coder", "coder-1");
    let planner = scene.agent("planner", "planner-1");
    scene.task("t1", &["src/"]);
    let rescope = Rescope {
        task: task_id("t1"),
        into: Vec::new(),
        existing: vec![task_id("t1")],
        reason: "r".to_owned(),
        specs_found: Vec::new(),
        pins: Vec::new(),
        strict: true,
        slices: true,
    };
    let change = ChangeSpec {
        spec: "specs/vision.md".to_owned(),
        change: "new".to_owned(),
        affects: Vec::new(),
        pin: None,
    };
    let role = "refused.role";
    scene.refused(role, || coder.draft("x"));
    scene.refused(role, || coder.finalize(&["t1"]));
    scene.refused(role, || coder.abandon("t1", "r"));
    scene.refused(role, || coder.commit(rescope));
    scene.refused(role, || coder.unblock("t1", "a", 0));
    scene.refused(role, || coder.commit(change));
    planner.add(complete("p1", json!({})), false).unwrap();
    planner.finalize(&["p1"]).unwrap();
    assert_eq!(scene.show("p1")["created_by"], "planner-1");
    // And a planner does not code: claiming is a breach of the role boundary.
    scene.tier0(&planner, "tier0.role_boundary", |planner| planner.claim("p1"));
}

#[test]
fn task_waits_until_dependency_is_merged() {
    let scene = Scene::new();
    let coder = scene.agent("coder", "coder-1");
    let reviewer = scene.agent("code_reviewer", "reviewer-1");
    scene.task("t1", &["a.sh", "tests/test_t1.sh"]);
    scene.task_with("t2", &["b.sh"], json!({ "depends_on": ["t1"] }));
    let row = scene.row("t2");
    assert_eq!((&row["node_state"], &row["waiting_on"]), (&json!("pending"), &json!(["t1"])));
    let failure = scene.refused("refused.dependency_unmet", || coder.claim("t2"));
    assert_eq!(failure.details["waiting_on"], json!(["t1"]));
    let commit = scene.submit_work(&coder, "t1", "a.sh", "echo a\n");
    scene.approve(&reviewer, "t1", &commit);
    scene.refused("refused.dependency_unmet", || coder.claim("t2"));
    reviewer.merge("t1").unwrap();
    let row = scene.row("t2");
    assert_eq!((&row["node_state"], &row["waiting_on"]), (&json!("ready"), &json!(["coder"])));
    // It starts from the work it waited for.
    let worktree = scene.claim(&coder, "t2");
    assert!(worktree.join("a.sh").is_file());
}

#[test]
fn only_tasks_with_overlapping_owned_paths_wait() {
    let scene = Scene::new();
    let (one, two): (Actor, Actor) = (scene.agent("coder", "coder-1"), scene.agent("coder", "coder-2"));
    scene.task("t1", &["src/**/*.sh"]);
    scene.task("t2", &["src/deep/x.*"]);
    scene.task_with("t3", &["src/deep/x.txt", "other/"], json!({ "owns": ["other/"] }));
    scene.claim(&one, "t1");
    let failure = scene.refused("refused.paths_overlap", || two.claim("t2"));
    assert_eq!(failure.details["waiting_on"], json!(["t1"]));
    assert_eq!(scene.row("t2")["node_state"], "blocked");
    assert!(scene.row("t2")["why"].as_str().unwrap().contains("t1"));
    scene.claim(&two, "t3");
    // One task at a time for each coder.
    scene.task("t4", &["four/"]);
    let failure = scene.refused("refused.holds_another", || two.claim("t4"));
    assert_eq!(failure.details["holds"], "t3");
    scene.refused("stale.held", || two.claim("t1"));
    scene.refused("refused.transition", || one.claim("t1"));
}
