//! How work ends: blocked, replaced, abandoned, released.

use serde_json::json;

use crate::board::TaskId;
use crate::board::rules::Rescope;
use crate::flow::testing::{Actor, Answer, Scene, task_id};
use crate::wire::plan::read_plan;

#[test]
fn block_asks_and_unblock_answers() {
    let scene = Scene::new();
    let person = scene.person();
    let (coder, other) = (scene.agent("coder", "coder-1"), scene.agent("coder", "coder-2"));
    scene.task("t1", &["src/"]);
    scene.claim(&coder, "t1");
    let epoch = scene.show("t1")["epoch"].as_u64().unwrap();
    scene.refused("stale.lease_lost", || other.block("t1", "r", &["q"]));
    scene.refused("refused.incomplete", || coder.block("t1", " ", &["q"]));
    scene.refused("refused.incomplete", || coder.block("t1", "r", &["1", "2", "3", "4"]));
    let data = coder.block("t1", "unclear", &["Which?"]).unwrap();
    assert_eq!(data["status"], "BLOCKED");
    let task = scene.show("t1");
    assert_eq!(
        (&task["blocked_reason"], &task["blocked_questions"]),
        (&json!("unclear"), &json!(["Which?"]))
    );
    assert!(task["lease"].is_null() && task["epoch"].as_u64().unwrap() > epoch, "{task}");
    scene.refused("refused.transition", || coder.submit("t1"));
    scene.refused("refused.transition", || coder.claim("t1"));
    scene.refused("refused.incomplete", || person.unblock("t1", "", 0));
    person.unblock("t1", "The second.", 0).unwrap();
    let task = scene.show("t1");
    assert_eq!((&task["status"], &task["assigned_to"]), (&json!("IDLE"), &json!("coder-1")));
    scene.refused("stale.reserved", || other.claim("t1"));
    let claimed = coder.claim("t1").unwrap();
    assert_eq!(claimed["read_first"], true, "{claimed}");
    assert!(scene.show("t1")["answer"].to_string().contains("The second."), "{}", scene.show("t1"));
    // A draft that was blocked is a draft again.
    person.draft("t2").unwrap();
    person.block("t2", "r", &["q"]).unwrap();
    person.unblock("t2", "a", 0).unwrap();
    assert_eq!(scene.status_of("t2"), "DRAFT");
}

fn rescope_by(actor: &Actor, id: &str, by: &[&str]) -> Answer {
    let existing: Vec<TaskId> = by.iter().map(|id| task_id(id)).collect();
    let (into, specs_found) = (Vec::new(), Vec::new());
    actor.commit(Rescope {
        task: task_id(id),
        into,
        existing,
        reason: "r".to_owned(),
        specs_found,
        pins: Vec::new(),
        strict: true,
        slices: true,
    })
}

#[test]
fn dependents_follow_a_rescoped_task() {
    let scene = Scene::new();
    let person = scene.person();
    let coder = scene.agent("coder", "coder-1");
    let reviewer = scene.agent("code_reviewer", "reviewer-1");
    scene.task("big", &["src/"]);
    scene.task_with("after", &["after/"], json!({ "depends_on": ["big"] }));
    let plan =
        "- {id: part, title: p, spec_ref: specs/vision.md, done_when: [d], scope: {in: [a.sh, tests/]}}\n";
    let rescope = Rescope {
        task: task_id("big"),
        into: read_plan(plan.as_bytes()).unwrap(),
        existing: Vec::new(),
        reason: "two in one".to_owned(),
        specs_found: vec![task_id("part")],
        pins: Vec::new(),
        strict: true,
        slices: true,
    };
    assert_eq!(person.commit(rescope).unwrap()["superseded_by"], json!(["part"]));
    let old = scene.show("big");
    assert_eq!((&old["status"], &old["superseded_by"]), (&json!("SUPERSEDED"), &json!(["part"])));
    assert_eq!(scene.show("part")["parent"], "big");
    scene.refused("refused.dependency_unmet", || coder.claim("after"));
    let commit = scene.submit_work(&coder, "part", "a.sh", "echo a\n");
    scene.approve(&reviewer, "part", &commit);
    reviewer.merge("part").unwrap();
    scene.claim(&coder, "after");
    scene.refused("refused.transition", || rescope_by(&person, "big", &["part"]));
    scene.refused("refused.value", || rescope_by(&person, "after", &["after"]));
}

#[test]
fn abandon_names_dependents_that_cannot_start() {
    let scene = Scene::new();
    let person = scene.person();
    scene.task("t1", &["a/"]);
    scene.task_with("t2", &["b/"], json!({ "depends_on": ["t1"] }));
    scene.task_with("t3", &["c/"], json!({ "depends_on": ["t2"] }));
    let data = person.abandon("t1", "not wanted").unwrap();
    assert_eq!(data["stranded"], json!(["t2", "t3"]));
    assert_eq!(scene.show("t1")["end_reason"], "not wanted");
    assert!(scene.row("t2")["why"].as_str().unwrap().contains("never"), "{}", scene.row("t2"));
    scene.refused("refused.transition", || person.abandon("t1", "again"));
    scene.refused("refused.transition", || person.block("t1", "r", &["q"]));
}

/// The work continues from its commit, in a worktree of the next coder.
fn next_coder_continues(let_go: impl Fn(&Actor) -> Answer) -> (Scene, Actor) {
    let scene = Scene::new();
    let (one, two) = (scene.agent("coder", "coder-1"), scene.agent("coder", "coder-2"));
    scene.task("t1", &["a.sh", "tests/"]);
    let first = scene.claim(&one, "t1");
    scene.checkpoint(&one, "t1", &["a.sh", "tests/test_a.sh"]);
    let commit = scene.write_and_commit(&first, &[("a.sh", "half\n")]);
    scene.refused("stale.lease_lost", || let_go(&two));
    let_go(&one).unwrap();
    assert_eq!(scene.status_of("t1"), "IDLE");
    let second = scene.claim(&two, "t1");
    assert_ne!(first, second);
    assert_eq!(scene.git_in(&second, &["rev-parse", "HEAD"]), commit);
    let branch = scene.git_in(&second, &["rev-parse", "--abbrev-ref", "HEAD"]);
    assert!(branch.starts_with("task/t1."), "{branch}");
    assert_eq!(scene.git(&["rev-parse", "refs/liza/attempts/t1/1"]), commit);
    scene.refused("stale.lease_lost", || one.submit("t1"));
    scene.sound();
    (scene, two)
}

#[test]
fn release_keeps_the_work() {
    next_coder_continues(|actor| actor.release("t1", "out of time"));
}

#[test]
fn handoff_keeps_the_work_and_its_summary() {
    let (scene, two) = next_coder_continues(|actor| actor.hand_off("t1", "parser done", "write the tests"));
    let board = scene.board();
    let handed = board.rest.handoff.iter().rfind(|handoff| handoff.task_id == task_id("t1")).unwrap();
    let text = serde_json::to_string(handed).unwrap();
    assert!(text.contains("parser done") && text.contains("write the tests"), "{text}");
    scene.refused("refused.incomplete", || two.hand_off("t1", "", "x"));
}
