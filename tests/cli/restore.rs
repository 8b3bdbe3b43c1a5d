//! Bringing former revisions back: always as a new change, never against what happened in git.

use serde_json::Value;

use crate::support::{HUMAN, World, sweep, write};

fn bring_back(world: &World, revision: u64) -> Value {
    let before = world.bytes();
    let look = world.json(&HUMAN, &["doctor", "--restore", &revision.to_string(), "--dry-run"]).ok().data();
    assert_eq!(world.bytes(), before, "a dry run changes nothing");
    let done = world.json(&HUMAN, &["doctor", "--restore", &revision.to_string()]).ok().data();
    assert_eq!(look["tasks"], done["tasks"], "what was shown is what was done");
    world.sound();
    done
}

#[test]
fn every_one_of_the_last_revisions_comes_back_or_says_why_not() {
    let world = World::new();
    let (coder, other) = (world.register("coder", "coder-1"), world.register("coder", "coder-2"));
    let reviewer = world.register("code_reviewer", "reviewer-1");
    world.merge_task(&coder, &reviewer, "t1", "1.sh", "echo 1\n");
    let commit = world.submitted(&coder, "t2", "2.sh", "echo 2\n");
    world.liza(&reviewer, &["review", "claim", "t2"]).ok();
    let issue = "major:2.sh:1:wrong";
    let reject = ["review", "reject", "t2", "--commit", &commit, "--reason", "no", "--issue", issue];
    world.liza(&reviewer, &reject).ok();
    world.task("t3", &["3.sh"]);
    world.claim(&other, "t3");
    world.liza(&other, &["task", "block", "t3", "--reason", "unclear", "--question", "which?"]).ok();
    world.human(&["task", "unblock", "t3", "--answer", "this"]).ok();
    world.human(&["task", "abandon", "t3", "--reason", "no use"]).ok();
    let worktree = world.claim(&coder, "t2");
    world.checkpoint(&coder, "t2", &["2.sh", "tests/test_t2.sh"]);
    world.write_and_commit(&worktree, &[("2.sh", "echo better\n")]);
    let commit = world.json(&coder, &["task", "submit", "t2"]).ok().data()["review_commit"].clone();
    let commit = commit.as_str().expect("a commit").to_owned();
    world.liza(&reviewer, &["review", "claim", "t2"]).ok();
    world.liza(&reviewer, &["review", "approve", "t2", "--commit", &commit, "--summary", "fine"]).ok();
    world.approved(&other, &reviewer, "t4", "4.sh", "echo 4\n");
    world.human(&["task", "add", "--id", "t5", "--title", "a draft"]).ok();
    world.edit_state("max_review_cycles: 5", "max_review_cycles: 7");
    world.human(&["note", "limits"]).ok();
    world.liza(&reviewer, &["merge", "t4"]).ok();
    while world.revision() < 66 {
        world.human(&["note", "more"]).ok();
    }
    let newest = world.revision();
    let mut seen = 0;
    for revision in ((newest - 63)..newest).step_by(sweep(7, 1)) {
        let ran = world.json(&HUMAN, &["doctor", "--restore", &revision.to_string()]);
        match ran.exit {
            0 => {}
            1 => assert!(!ran.json()["error"]["hint"].is_null(), "{revision}: {}", ran.stdout),
            other => panic!("{revision}: exit {other}: {}", ran.stdout),
        }
        world.sound();
        assert_eq!(world.status_of("t1"), "MERGED", "{revision}: what has landed has landed");
        assert_eq!(world.status_of("t4"), "MERGED", "{revision}");
        seen += 1;
    }
    assert_eq!(seen, sweep(9, 63));
    assert!(world.read(".liza/log.yaml").contains("restore_revision"));
    world.human(&["doctor"]).ok();
}

#[test]
fn decisions_come_back_and_what_happened_stays() {
    let world = World::new();
    let (coder, other) = (world.register("coder", "coder-1"), world.register("coder", "coder-2"));
    let reviewer = world.register("code_reviewer", "reviewer-1");
    world.task("plain", &["p.sh"]);
    world.approved(&coder, &reviewer, "good", "g.sh", "echo g\n");
    world.merge_task(&coder, &reviewer, "landed", "l.sh", "echo l\n");
    world.approved(&coder, &reviewer, "later", "z.sh", "echo z\n");
    let then = world.revision();

    // A bad day: given up, rewritten, claimed, and yet something was merged and something added.
    world.human(&["task", "abandon", "good", "--reason", "by mistake"]).ok();
    world.edit_state("title: plain", "title: mistaken");
    world.human(&["note", "the edit is adopted"]).ok();
    let worktree = world.claim(&other, "plain");
    write(&worktree, "p.sh", "work\n");
    let head = world.write_and_commit(&worktree, &[("p.sh", "echo p\n")]);
    world.liza(&reviewer, &["merge", "later"]).ok();
    world.task("new", &["n.sh"]);
    let integration = world.git(&["rev-parse", "integration"]);
    let now = world.revision();

    // Agents may look, and no more.
    let revision = then.to_string();
    world.json(&coder, &["doctor", "--restore", &revision, "--dry-run"]).ok();
    world.refused(&coder, &["doctor", "--restore", &revision], 1, "refused.human_only");

    let done = bring_back(&world, then);
    assert_eq!(world.revision(), now + 1, "forward, never back");
    assert_eq!(done["landed"], serde_json::json!(["later"]));
    assert_eq!(done["added"], serde_json::json!(["new"]));
    assert_eq!(world.git(&["rev-parse", "integration"]), integration);
    assert_eq!(world.status_of("later"), "MERGED");
    assert_eq!(world.status_of("new"), "IDLE");

    // Nothing was handed in or judged since: the approval is as good as it was.
    assert_eq!(world.status_of("good"), "APPROVED");
    world.liza(&reviewer, &["merge", "good"]).ok();

    // The claim made since is fenced, its text is the former one, and its work is where the next claim starts.
    let plain = world.show("plain");
    assert_eq!((plain["status"].as_str(), plain["title"].as_str()), (Some("IDLE"), Some("plain")));
    let late = world.json_env(&other, &["task", "renew", "plain"], &[("LIZA_CLAIM", "plain:1")]);
    assert_eq!((late.exit, late.code().as_str()), (3, "stale.epoch"), "{}", late.stdout);
    let again = world.claim(&coder, "plain");
    assert_eq!(world.git_in(&again, &["rev-parse", "HEAD"]), head);
    let events = plain["history"].as_array().expect("history").clone();
    assert_eq!(events.last().expect("an event")["event"], "restored");
    world.sound();
}

#[test]
fn a_voided_or_overtaken_verdict_does_not_come_back() {
    let world = World::new();
    let coder = world.register("coder", "coder-1");
    let reviewer = world.register("code_reviewer", "reviewer-1");
    world.approved(&coder, &reviewer, "t1", "1.sh", "echo 1\n");
    let approved = world.revision();
    // The branch moves, the approval is void.
    world.write_and_commit(&world.path(".worktrees/t1"), &[("1.sh", "echo other\n")]);
    world.liza(&reviewer, &["merge", "t1"]).exits(3);
    assert_eq!(world.status_of("t1"), "REJECTED");
    bring_back(&world, approved);
    assert_eq!(world.status_of("t1"), "IDLE", "to be worked on, not approved");
    world.tier0(&reviewer, &["merge", "t1"], "tier0.unapproved_merge");
}

#[test]
fn an_approval_that_was_undone_stays_undone() {
    let world = World::new();
    let coder = world.register("coder", "coder-1");
    let reviewer = world.register("code_reviewer", "reviewer-1");
    world.task("t1", &["1.sh", "tests/test_t1.sh"]);
    let idle = world.revision();
    let commit = world.submit_work(&coder, "t1", "1.sh", "echo 1\n");
    world.approve(&reviewer, "t1", &commit);
    let approved = world.revision();
    bring_back(&world, idle);
    assert_eq!(world.status_of("t1"), "IDLE");
    world.human(&["doctor", "--restore", &approved.to_string()]).ok();
    assert_eq!(world.status_of("t1"), "IDLE", "to be handed in again");
    world.tier0(&reviewer, &["merge", "t1"], "tier0.unapproved_merge");
    world.sound();
}

#[test]
fn a_damaged_board_is_no_obstacle() {
    let world = World::new();
    world.task("t1", &["1.sh"]);
    let then = world.revision();
    world.human(&["task", "abandon", "t1", "--reason", "by mistake"]).ok();
    let good = world.state();
    let state = world.path(".liza/state.yaml");
    let first = world.read(".liza/images/1.yaml");
    for (number, text) in [&good[..good.len() / 2], "", &first].iter().enumerate() {
        std::fs::write(&state, text).expect("written");
        let broken = world.bytes();
        let revision = then.to_string();
        world.json(&HUMAN, &["doctor", "--restore", &revision, "--dry-run"]).ok();
        assert_eq!(world.bytes(), broken, "{number}");
        world.human(&["doctor", "--restore", &revision]).ok();
        assert_eq!(world.status_of("t1"), "IDLE", "{number}");
        world.sound();
        world.human(&["doctor"]).ok();
        world.human(&["task", "abandon", "t1", "--reason", "again"]).ok();
    }
    assert!(std::fs::read_dir(world.path(".liza/edits")).expect("kept").count() >= 3);
    std::fs::remove_file(&state).expect("removed");
    bring_back(&world, then);
}

#[test]
fn what_cannot_come_back_says_why() {
    let world = World::new();
    let coder = world.register("coder", "coder-1");
    world.task("t1", &["1.sh"]);
    let revision = world.revision();
    world.refused(&HUMAN, &["doctor", "--restore", &revision.to_string()], 1, "refused.value");
    world.refused(&HUMAN, &["doctor", "--restore", "9999"], 1, "refused.value");
    world.refused(&HUMAN, &["doctor", "--restore", "0"], 6, "board.invalid");
    world.json(&HUMAN, &["doctor", "--restore", "1", "--fix"]).exits(2);
    // While git work is under way nothing is turned round under it.
    let ran = world.json_env(&coder, &["task", "claim", "t1"], &[("LIZA_CRASH_AT", "claim.added")]);
    assert_ne!(ran.exit, 0);
    let undone = world.json(&HUMAN, &["doctor", "--restore", "1"]);
    assert!(undone.exit == 0 || undone.code().starts_with("stale."), "{}", undone.stdout);
    // Nothing differs: nothing is written.
    world.human(&["doctor", "--fix"]).ok();
    world.human(&["note", "x"]).ok();
    let before = world.bytes();
    let last = (world.revision() - 1).to_string();
    world.human(&["doctor", "--restore", &last]).ok();
    assert_eq!(world.bytes(), before);
}
