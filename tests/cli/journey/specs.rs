//! A goal without a spec is enough, and specs need not be committed.

use super::{Newcomer, plain_agent};
use crate::support::{HUMAN, World};

/// The prompt an agent would get for its task.
fn prompt(world: &World, role: &str, task: &str) -> String {
    let ran =
        world.human(&["agent", "run", "--role", role, "--task", task, "--explain", "--provider", "claude"]);
    assert_eq!(ran.exit, 0, "{}{}", ran.stdout, ran.stderr);
    ran.stdout
}

fn add(world: &World, id: &str, spec: &str) {
    let path = format!("{id}/");
    world
        .human(&[
            "task",
            "add",
            "--id",
            id,
            "--title",
            "T",
            "--spec",
            spec,
            "--done",
            "d",
            "--in",
            &path,
            "--finalize",
        ])
        .ok();
}

fn hash_of(world: &World, task: &str) -> String {
    world.json(&HUMAN, &["task", "show", task]).ok().data()["spec"]["hash"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

#[test]
fn unedited_vision_is_never_sent_to_agents() {
    let person = Newcomer::new(&[], &plain_agent());
    person.liza(&["init", "Say hello to all users", "--no-gate"]).ok();
    let world = &person.world;
    assert!(world.read("specs/vision.md").contains("Who needs it"), "the template is there");
    for (id, spec) in [("t1", "specs/vision.md"), ("t2", "goal")] {
        add(world, id, spec);
        let prompt_text = prompt(world, "coder", id);
        assert!(
            prompt_text.contains("Say hello to all users") && !prompt_text.contains("Who needs it"),
            "{prompt_text}"
        );
        assert_eq!(world.json(&HUMAN, &["task", "show", id]).ok().data()["spec"]["of"], "goal");
    }
    // Tasks are planned from the edited file, which is not committed.
    world.write("specs/vision.md", "# Vision\n\nIn capitals.\n");
    add(world, "t3", "specs/vision.md");
    assert!(prompt(world, "coder", "t3").contains("In capitals."));
    world.sound();
}

#[test]
fn spec_texts_are_pinned_stored_once_and_restored() {
    let world = World::new();
    world.write("specs/a.md", "# A\n\nfirst text\n");
    for id in ["idle", "busy", "draft"] {
        add(&world, id, "specs/a.md");
    }
    let first = hash_of(&world, "idle");
    assert_eq!((hash_of(&world, "busy"), hash_of(&world, "draft")), (first.clone(), first.clone()));
    let stored = || std::fs::read_dir(world.path(".liza/spec_texts")).unwrap().count();
    assert_eq!(stored(), 1, "one text, once");
    let coder = world.register("coder", "coder-1");
    world.claim(&coder, "busy");
    // A changed file alone has no effect; `spec-change` updates tasks that are not begun, and informs the other agents.
    world.write("specs/a.md", "# A\n\nsecond text\n");
    assert!(prompt(&world, "coder", "idle").contains("first text"));
    let data = world.json(&HUMAN, &["spec-change", "--spec", "specs/a.md", "other words"]).ok().data();
    assert_eq!(data["pinned"], serde_json::json!(["idle", "draft"]));
    assert_eq!(data["under_way"], serde_json::json!(["busy"]));
    assert!(prompt(&world, "coder", "idle").contains("second text"));
    assert_eq!(hash_of(&world, "busy"), first);
    let inbox = world.liza(&coder, &["message", "inbox"]).ok().stdout;
    assert!(inbox.contains("specs/a.md has changed since your task busy was planned"), "{inbox}");
    // Deleted and changed texts are restored from their copies; until then liza reads the copy.
    std::fs::remove_dir_all(world.path(".liza/spec_texts")).unwrap();
    std::fs::remove_file(world.path("specs/a.md")).unwrap();
    assert!(prompt(&world, "coder", "idle").contains("second text"));
    let ran = world.human(&["doctor"]).exits(1);
    assert!(ran.stdout.contains("spec_texts"), "{}", ran.stdout);
    world.human(&["doctor", "--fix"]).ok();
    assert_eq!(stored(), 2);
    // Without the copies, verify reports them missing.
    std::fs::remove_dir_all(world.path(".liza/spec_texts")).unwrap();
    std::fs::remove_dir_all(world.path(".git/liza/spec_texts")).unwrap();
    let ran = world.human(&["verify"]).exits(6);
    let said = format!("{}{}", ran.stdout, ran.stderr);
    assert!(said.contains("the text of the spec specs/a.md"), "{said}");
}

#[test]
fn edited_goal_text_is_stored_again() {
    let world = World::new();
    add(&world, "t1", "goal");
    let before = hash_of(&world, "t1");
    let ran = world.human(&["goal", "edit", "goal-1", "A greeting program in capitals"]).ok();
    assert!(ran.stdout.contains("t1: use the new text"), "{}", ran.stdout);
    assert_ne!(hash_of(&world, "t1"), before);
    assert!(prompt(&world, "coder", "t1").contains("in capitals"));
}
