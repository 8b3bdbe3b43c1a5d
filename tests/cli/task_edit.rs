//! `liza task edit` as a command. The effects on a board are tested in crates/core/src/board/tests/editing.rs.

use serde_json::json;

use crate::support::{HUMAN, World};

#[test]
fn task_edit_records_old_and_new_values() {
    let world = World::new();
    let planner = world.register("planner", "planner-1");
    let coder = world.register("coder", "coder-1");
    world.task("t1", &["src/"]);
    let edit = ["task", "edit", "t1", "--title", "Other words", "--tag", "small", "--priority", "-2"];
    world.refused(&coder, &edit, 1, "refused.role");
    let data = world.json(&planner, &edit).ok().data();
    let fields: Vec<&str> =
        data["changes"].as_array().unwrap().iter().filter_map(|one| one["field"].as_str()).collect();
    assert_eq!((fields, &data["judged_anew"]), (vec!["title", "priority", "tags"], &json!(false)));
    let task = world.show("t1");
    assert_eq!(
        (&task["title"], &task["priority"], &task["tags"]),
        (&json!("Other words"), &json!(-2), &json!(["small"]))
    );
    let line = task["history"].as_array().unwrap().last().unwrap().clone();
    assert_eq!((&line["event"], &line["agent"]), (&json!("edited"), &json!("planner-1")));
    assert_eq!((&line["changes"][1]["old"], &line["changes"][1]["new"]), (&json!("0"), &json!("-2")));
    let text = world.human(&["task", "show", "t1"]).ok().stdout;
    assert!(text.contains(r#"tags: [] → ["small"]"#), "{text}");
    world.refused(&planner, &edit, 1, "refused.value");
    world.refused(&planner, &["task", "edit", "t9", "--title", "x"], 1, "refused.unknown_task");
    world.sound();
}

#[test]
fn changed_criteria_void_submission_and_approval() {
    let world = World::new();
    let (coder, reviewer) =
        (world.register("coder", "coder-1"), world.register("code_reviewer", "reviewer-1"));
    let planner = world.register("planner", "planner-1");
    world.approved(&coder, &reviewer, "t1", "a.sh", "echo a\n");
    world.refused(&planner, &["task", "edit", "t1", "--done", "more"], 1, "refused.transition");
    world.liza(&planner, &["task", "block", "t1", "--reason", "more is wanted", "--question", "What?"]).ok();
    let edit = ["task", "edit", "t1", "--done", "it works", "--done", "it is fast", "--request-id", "e1"];
    let first = world.json(&planner, &edit).ok();
    assert_eq!(first.data()["judged_anew"], true);
    assert_eq!(world.json(&planner, &edit).ok().data(), first.data(), "a repeated request changes nothing");
    let task = world.show("t1");
    for gone in ["review_commit", "approval", "approvals", "red_team", "submission"] {
        assert_eq!(task[gone], json!(null), "{gone}");
    }
    let unblocked = world.json(&planner, &["task", "unblock", "t1", "--answer", "speed"]).ok().data();
    assert_eq!((&unblocked["status"], &unblocked["reserved_for"]), (&json!("IDLE"), &json!("coder-1")));
    let other = world.register("coder", "coder-2");
    world.refused(&other, &["task", "claim", "t1"], 3, "stale.reserved");
    world.tier0(&reviewer, &["merge", "t1"], "tier0.unapproved_merge");
    world.claim(&coder, "t1");
    world.sound();
}

#[test]
fn edit_clears_fields_and_reads_files() {
    let world = World::new();
    world.task_with("t1", &["src/"], &["--desc", "long", "--tag", "a", "--timebox", "9"]);
    world.human(&["task", "edit", "t1", "--clear", "desc", "--clear", "tag", "--clear", "timebox"]).ok();
    let task = world.show("t1");
    assert_eq!((&task["tags"], &task["timebox_minutes"]), (&json!(null), &json!(null)));
    world.refused(&HUMAN, &["task", "edit", "t1", "--clear", "done"], 1, "refused.incomplete");
    world.refused(&HUMAN, &["task", "edit", "t1", "--clear", "title"], 2, "usage.arguments");
    let whole = "id: t1\ntitle: New\nspec_ref: specs/vision.md\ndone_when: [d]\nscope: {in: [lib/]}\n";
    world.json_stdin(&HUMAN, &["task", "edit", "t1", "--from", "-"], whole).ok();
    assert_eq!((&world.show("t1")["title"], &world.show("t1")["owns"]), (&json!("New"), &json!(["lib/"])));
    let other = whole.replace("id: t1", "id: t2");
    assert_eq!(
        world.json_stdin(&HUMAN, &["task", "edit", "t1", "--from", "-"], &other).exits(2).code(),
        "usage.argument"
    );
}
