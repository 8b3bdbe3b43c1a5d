//! `task release`, `handoff`, `block`, `abandon` and `rescope` as commands. Their effects on a task are tested in
//! src/flow/tests/task_ends.rs.

use serde_json::json;

use crate::support::{HUMAN, World};

#[test]
fn feedback_shows_the_answer_of_an_unblock() {
    let world = World::new();
    let coder = world.register("coder", "coder-1");
    world.task("t1", &["src/"]);
    world.claim(&coder, "t1");
    let block = ["task", "block", "t1", "--reason", "unclear", "--question", "Which?"];
    world.refused(&world.register("coder", "coder-2"), &block, 3, "stale.lease_lost");
    assert_eq!(world.json(&coder, &block).ok().data()["status"], "BLOCKED");
    world.refused(&HUMAN, &["task", "unblock", "t1", "--answer", ""], 1, "refused.incomplete");
    world.human(&["task", "unblock", "t1", "--answer", "The second."]).ok();
    world.claim(&coder, "t1");
    let feedback = world.liza(&coder, &["task", "show", "t1", "--feedback"]).ok();
    assert!(feedback.stdout.contains("The second."), "{}", feedback.stdout);
}

#[test]
fn rescope_reads_a_plan_from_standard_input() {
    let world = World::new();
    world.task("big", &["src/"]);
    let plan =
        "- {id: part, title: p, spec_ref: specs/vision.md, done_when: [d], scope: {in: [a.sh, tests/]}}\n";
    let rescope = ["task", "rescope", "big", "--into", "-", "--reason", "two in one"];
    let ran = world.json_stdin(&HUMAN, &rescope, plan);
    assert_eq!(ran.ok().data()["superseded_by"], json!(["part"]));
    assert_eq!(world.status_of("part"), "IDLE");
    let again = ["task", "rescope", "big", "--by", "part", "--reason", "r"];
    world.refused(&HUMAN, &again, 1, "refused.transition");
    world.refused(&HUMAN, &["task", "rescope", "part", "--reason", "r"], 2, "usage.arguments");
}

#[test]
fn abandon_prints_the_dependents_it_strands() {
    let world = World::new();
    world.task("t1", &["a/"]);
    world.task_with("t2", &["b/"], &["--depends", "t1"]);
    let text = world.human(&["task", "abandon", "t1", "--reason", "not wanted"]).ok().stdout;
    assert!(text.contains("t1 is ABANDONED") && text.contains("t2"), "{text}");
    world.refused(&HUMAN, &["task", "abandon", "t1", "--reason", "again"], 1, "refused.transition");
}

#[test]
fn released_or_handed_off_task_is_claimable() {
    let world = World::new();
    let (one, two) = (world.register("coder", "coder-1"), world.register("coder", "coder-2"));
    world.task("t1", &["a.sh", "tests/"]);
    let first = world.claim(&one, "t1");
    let release = ["task", "release", "t1", "--reason", "out of time"];
    world.refused(&two, &release, 3, "stale.lease_lost");
    world.liza(&one, &release).ok();
    assert_ne!(first, world.claim(&two, "t1"));
    let handoff = ["task", "handoff", "t1", "--summary", "parser done", "--next", "write the tests"];
    world.refused(&one, &handoff, 3, "stale.lease_lost");
    world.liza(&two, &handoff).ok();
    world.claim(&one, "t1");
    let text = world.liza(&one, &["task", "show", "t1", "--feedback"]).ok().stdout;
    assert!(text.contains("parser done") && text.contains("write the tests"), "{text}");
}
