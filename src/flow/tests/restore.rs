//! Restoring former revisions: always as a new change, never against what happened in git.

use serde_json::{Value, json};

use crate::board::rules::{AddNote, Renew};
use crate::flow::restore::{carry_out, plan};
use crate::flow::testing::{Actor, Answer, Scene, finding, task_id};
use crate::testing::sweep;

/// `doctor --restore`
fn restore(actor: &Actor, revision: u64) -> Answer {
    let ctx = actor.ctx();
    let plan = plan(&ctx, revision)?;
    let data = serde_json::to_value(&plan).expect("a plan");
    carry_out(&ctx, plan).map(|_| data)
}

/// `doctor --restore --dry-run`
fn look(actor: &Actor, revision: u64) -> Answer {
    plan(&actor.ctx(), revision).map(|plan| serde_json::to_value(&plan).expect("a plan"))
}

fn bring_back(scene: &Scene, revision: u64) -> Value {
    let before = scene.bytes();
    let looked = look(&scene.person(), revision).unwrap();
    assert!(scene.bytes() == before, "a dry run changes nothing");
    let done = restore(&scene.person(), revision).unwrap();
    assert_eq!(looked["tasks"], done["tasks"], "what was shown is what was done");
    scene.sound();
    done
}

fn note(scene: &Scene, text: &str) {
    scene.person().commit(AddNote { text: text.to_owned(), task: None }).unwrap();
}

#[test]
fn every_recent_revision_returns_or_names_the_reason() {
    let scene = Scene::new();
    let person = scene.person();
    let (coder, other) = (scene.agent("coder", "coder-1"), scene.agent("coder", "coder-2"));
    let reviewer = scene.agent("code_reviewer", "reviewer-1");
    scene.merged(&coder, &reviewer, "t1", "1.sh", "echo 1\n");
    let commit = scene.submitted(&coder, "t2", "2.sh", "echo 2\n");
    reviewer.reject("t2", &commit, "no", &[finding("major", "2.sh", "wrong")], &[]).unwrap();
    scene.task("t3", &["3.sh"]);
    scene.claim(&other, "t3");
    other.block("t3", "unclear", &["which?"]).unwrap();
    person.unblock("t3", "this", 0).unwrap();
    person.abandon("t3", "no use").unwrap();
    let worktree = scene.claim(&coder, "t2");
    scene.checkpoint(&coder, "t2", &["2.sh", "tests/test_t2.sh"]);
    scene.write_and_commit(&worktree, &[("2.sh", "echo better\n")]);
    let commit = coder.submit("t2").unwrap()["review_commit"].as_str().expect("a commit").to_owned();
    scene.approve(&reviewer, "t2", &commit);
    scene.approved(&other, &reviewer, "t4", "4.sh", "echo 4\n");
    person.draft("t5").unwrap();
    scene.edit_state("max_review_cycles: 5", "max_review_cycles: 7");
    note(&scene, "limits");
    reviewer.merge("t4").unwrap();
    while scene.revision() < 66 {
        note(&scene, "more");
    }
    let newest = scene.revision();
    let mut seen = 0;
    for revision in ((newest - 63)..newest).step_by(sweep(7, 1)) {
        if let Err(failure) = restore(&person, revision) {
            assert!(failure.code.as_str().starts_with("refused."), "{revision}: {failure:?}");
            assert!(failure.hint.is_some(), "{revision}: {failure:?}");
        }
        scene.sound();
        assert_eq!(scene.status_of("t1"), "MERGED", "{revision}: what has landed has landed");
        assert_eq!(scene.status_of("t4"), "MERGED", "{revision}");
        seen += 1;
    }
    assert_eq!(seen, sweep(9, 63));
    assert!(String::from_utf8(scene.bytes().1).unwrap().contains("restore_revision"));
    scene.healthy();
}

#[test]
fn restore_undoes_decisions_not_events() {
    let scene = Scene::new();
    let person = scene.person();
    let (coder, other) = (scene.agent("coder", "coder-1"), scene.agent("coder", "coder-2"));
    let reviewer = scene.agent("code_reviewer", "reviewer-1");
    scene.task("plain", &["p.sh"]);
    scene.approved(&coder, &reviewer, "good", "g.sh", "echo g\n");
    scene.merged(&coder, &reviewer, "landed", "l.sh", "echo l\n");
    scene.approved(&coder, &reviewer, "later", "z.sh", "echo z\n");
    let then = scene.revision();

    // A bad day: abandoned, rewritten and claimed, and yet one task was merged and one added.
    person.abandon("good", "by mistake").unwrap();
    scene.edit_state("title: plain", "title: mistaken");
    note(&scene, "the edit is adopted");
    let worktree = scene.claim(&other, "plain");
    let head = scene.write_and_commit(&worktree, &[("p.sh", "echo p\n")]);
    reviewer.merge("later").unwrap();
    scene.task("new", &["n.sh"]);
    let integration = scene.git(&["rev-parse", "integration"]);
    let now = scene.revision();

    // Agents may only look.
    look(&coder, then).unwrap();
    scene.refused("refused.human_only", || restore(&coder, then));

    let done = bring_back(&scene, then);
    assert_eq!(scene.revision(), now + 1, "forward, never back");
    assert_eq!((&done["landed"], &done["added"]), (&json!(["later"]), &json!(["new"])));
    assert_eq!(scene.git(&["rev-parse", "integration"]), integration);
    assert_eq!(scene.status_of("later"), "MERGED");
    assert_eq!(scene.status_of("new"), "IDLE");

    // Nothing was submitted or judged since: the approval still counts.
    assert_eq!(scene.status_of("good"), "APPROVED");
    reviewer.merge("good").unwrap();

    // The later claim is fenced, the former text is restored, and the next claim starts from its work.
    let plain = scene.show("plain");
    assert_eq!((plain["status"].as_str(), plain["title"].as_str()), (Some("IDLE"), Some("plain")));
    let renew = Renew { task: task_id("plain"), epoch: Some(1) };
    scene.refused("stale.epoch", || other.commit(renew));
    let again = scene.claim(&coder, "plain");
    assert_eq!(scene.git_in(&again, &["rev-parse", "HEAD"]), head);
    let events = plain["history"].as_array().expect("history").clone();
    assert_eq!(events.last().expect("an event")["event"], "restored");
    scene.sound();
}

#[test]
fn voided_verdict_does_not_come_back() {
    let scene = Scene::new();
    let coder = scene.agent("coder", "coder-1");
    let reviewer = scene.agent("code_reviewer", "reviewer-1");
    scene.approved(&coder, &reviewer, "t1", "1.sh", "echo 1\n");
    let approved = scene.revision();
    // The branch moves, the approval is void.
    scene.write_and_commit(&scene.path(".worktrees/t1"), &[("1.sh", "echo other\n")]);
    let failure = reviewer.merge("t1").err().expect("a void approval");
    assert_eq!(failure.code.as_str(), "stale.approval_void");
    assert_eq!(scene.status_of("t1"), "REJECTED");
    bring_back(&scene, approved);
    assert_eq!(scene.status_of("t1"), "IDLE", "to be worked on, not approved");
    scene.tier0(&reviewer, "tier0.unapproved_merge", |reviewer| reviewer.merge("t1"));
}

#[test]
fn undone_approval_stays_undone() {
    let scene = Scene::new();
    let coder = scene.agent("coder", "coder-1");
    let reviewer = scene.agent("code_reviewer", "reviewer-1");
    scene.task("t1", &["1.sh", "tests/test_t1.sh"]);
    let idle = scene.revision();
    let commit = scene.submit_work(&coder, "t1", "1.sh", "echo 1\n");
    scene.approve(&reviewer, "t1", &commit);
    let approved = scene.revision();
    bring_back(&scene, idle);
    assert_eq!(scene.status_of("t1"), "IDLE");
    restore(&scene.person(), approved).unwrap();
    assert_eq!(scene.status_of("t1"), "IDLE", "to be submitted again");
    scene.tier0(&reviewer, "tier0.unapproved_merge", |reviewer| reviewer.merge("t1"));
    scene.sound();
}

#[test]
fn damaged_board_can_be_restored() {
    let scene = Scene::new();
    let person = scene.person();
    scene.task("t1", &["1.sh"]);
    let then = scene.revision();
    person.abandon("t1", "by mistake").unwrap();
    let state = scene.path(".liza/state.yaml");
    let good = std::fs::read_to_string(&state).unwrap();
    let first = std::fs::read_to_string(scene.path(".liza/images/1.yaml")).unwrap();
    for (number, text) in [&good[..good.len() / 2], "", &first].iter().enumerate() {
        std::fs::write(&state, text).expect("written");
        let broken = scene.bytes();
        look(&person, then).unwrap();
        assert!(scene.bytes() == broken, "{number}");
        restore(&person, then).unwrap();
        assert_eq!(scene.status_of("t1"), "IDLE", "{number}");
        scene.sound();
        scene.healthy();
        person.abandon("t1", "again").unwrap();
    }
    assert!(std::fs::read_dir(scene.path(".liza/edits")).expect("kept").count() >= 3);
    std::fs::remove_file(&state).expect("removed");
    bring_back(&scene, then);
}
