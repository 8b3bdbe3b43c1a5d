//! The ways out of work: blocked, replaced, given up, let go.

use serde_json::json;

use crate::support::{HUMAN, World};

#[test]
fn block_asks_and_unblock_answers() {
    let world = World::new();
    let (coder, other) = (world.register("coder", "coder-1"), world.register("coder", "coder-2"));
    world.task("t1", &["src/"]);
    world.claim(&coder, "t1");
    let epoch = world.show("t1")["epoch"].as_u64().unwrap();
    world.refused(
        &other,
        &["task", "block", "t1", "--reason", "r", "--question", "q"],
        3,
        "stale.lease_lost",
    );
    world.refused(
        &coder,
        &["task", "block", "t1", "--reason", " ", "--question", "q"],
        1,
        "refused.incomplete",
    );
    let four = [
        "task",
        "block",
        "t1",
        "--reason",
        "r",
        "--question",
        "1",
        "--question",
        "2",
        "--question",
        "3",
        "--question",
        "4",
    ];
    world.refused(&coder, &four, 1, "refused.incomplete");
    let data = world
        .json(&coder, &["task", "block", "t1", "--reason", "unclear", "--question", "Which?"])
        .ok()
        .data();
    assert_eq!(data["status"], "BLOCKED");
    let task = world.show("t1");
    assert_eq!(
        (&task["blocked_reason"], &task["blocked_questions"]),
        (&json!("unclear"), &json!(["Which?"]))
    );
    assert!(task["lease"].is_null() && task["epoch"].as_u64().unwrap() > epoch, "{task}");
    world.refused(&coder, &["task", "submit", "t1"], 1, "refused.transition");
    world.refused(&coder, &["task", "claim", "t1"], 1, "refused.transition");
    world.refused(&HUMAN, &["task", "unblock", "t1", "--answer", ""], 1, "refused.incomplete");
    world.human(&["task", "unblock", "t1", "--answer", "The second."]).ok();
    let task = world.show("t1");
    assert_eq!((&task["status"], &task["assigned_to"]), (&json!("IDLE"), &json!("coder-1")));
    world.refused(&other, &["task", "claim", "t1"], 3, "stale.reserved");
    world.claim(&coder, "t1");
    let feedback = world.liza(&coder, &["task", "show", "t1", "--feedback"]).ok();
    assert!(feedback.stdout.contains("The second."), "{}", feedback.stdout);
    // A draft that was blocked is a draft again.
    world.human(&["task", "add", "--id", "t2", "--title", "t"]).ok();
    world.human(&["task", "block", "t2", "--reason", "r", "--question", "q"]).ok();
    world.human(&["task", "unblock", "t2", "--answer", "a"]).ok();
    assert_eq!(world.status_of("t2"), "DRAFT");
}

#[test]
fn rescope_replaces_and_dependents_follow() {
    let world = World::new();
    let coder = world.register("coder", "coder-1");
    let reviewer = world.register("code_reviewer", "reviewer-1");
    world.task("big", &["src/"]);
    world.task_with("after", &["after/"], &["--depends", "big"]);
    let plan =
        "- {id: part, title: p, spec_ref: specs/vision.md, done_when: [d], scope: {in: [a.sh, tests/]}}\n";
    let ran =
        world.json_stdin(&HUMAN, &["task", "rescope", "big", "--into", "-", "--reason", "two in one"], plan);
    assert_eq!(ran.ok().data()["superseded_by"], json!(["part"]));
    let old = world.show("big");
    assert_eq!((&old["status"], &old["superseded_by"]), (&json!("SUPERSEDED"), &json!(["part"])));
    assert_eq!(world.show("part")["parent"], "big");
    world.refused(&coder, &["task", "claim", "after"], 1, "refused.dependency_unmet");
    let commit = world.submit_work(&coder, "part", "a.sh", "echo a\n");
    world.approve(&reviewer, "part", &commit);
    world.liza(&reviewer, &["merge", "part"]).ok();
    world.claim(&coder, "after");
    world.refused(
        &HUMAN,
        &["task", "rescope", "big", "--by", "part", "--reason", "r"],
        1,
        "refused.transition",
    );
    world.refused(
        &HUMAN,
        &["task", "rescope", "after", "--by", "after", "--reason", "r"],
        1,
        "refused.value",
    );
    world.refused(&HUMAN, &["task", "rescope", "after", "--reason", "r"], 2, "usage.arguments");
}

#[test]
fn abandon_names_those_it_strands() {
    let world = World::new();
    world.task("t1", &["a/"]);
    world.task_with("t2", &["b/"], &["--depends", "t1"]);
    world.task_with("t3", &["c/"], &["--depends", "t2"]);
    let data = world.json(&HUMAN, &["task", "abandon", "t1", "--reason", "not wanted"]).ok().data();
    assert_eq!(data["stranded"], json!(["t2", "t3"]));
    assert_eq!(world.show("t1")["end_reason"], "not wanted");
    assert!(world.row("t2")["why"].as_str().unwrap().contains("never"), "{}", world.row("t2"));
    world.refused(&HUMAN, &["task", "abandon", "t1", "--reason", "again"], 1, "refused.transition");
    world.refused(
        &HUMAN,
        &["task", "block", "t1", "--reason", "r", "--question", "q"],
        1,
        "refused.transition",
    );
}

#[test]
fn release_and_handoff_keep_the_work() {
    for verb in ["release", "handoff"] {
        let world = World::new();
        let (one, two) = (world.register("coder", "coder-1"), world.register("coder", "coder-2"));
        world.task("t1", &["a.sh", "tests/"]);
        let first = world.claim(&one, "t1");
        world.checkpoint(&one, "t1", &["a.sh"]);
        let commit = world.write_and_commit(&first, &[("a.sh", "half\n")]);
        let args: &[&str] = match verb {
            "release" => &["task", "release", "t1", "--reason", "out of time"],
            _ => &["task", "handoff", "t1", "--summary", "parser done", "--next", "write the tests"],
        };
        world.refused(&two, args, 3, "stale.lease_lost");
        world.liza(&one, args).ok();
        assert_eq!(world.status_of("t1"), "IDLE");
        let second = world.claim(&two, "t1");
        assert_ne!(first, second);
        // The next one goes on from there, in a place of its own.
        assert_eq!(world.git_in(&second, &["rev-parse", "HEAD"]), commit, "{verb}");
        let branch = world.git_in(&second, &["rev-parse", "--abbrev-ref", "HEAD"]);
        assert!(branch.starts_with("task/t1."), "{branch}");
        assert_eq!(world.git(&["rev-parse", "refs/liza/attempts/t1/1"]), commit);
        if verb == "handoff" {
            let text = world.liza(&two, &["task", "show", "t1", "--feedback"]).ok().stdout;
            assert!(text.contains("parser done") && text.contains("write the tests"), "{text}");
            world.refused(
                &two,
                &["task", "handoff", "t1", "--summary", "", "--next", "x"],
                1,
                "refused.incomplete",
            );
        }
        world.refused(&one, &["task", "submit", "t1"], 3, "stale.lease_lost");
        world.sound();
    }
}
