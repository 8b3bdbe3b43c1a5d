//! Operations on branches for people only: resolving, advancing, delivering.

use serde_json::json;

use super::merging::Team;
use crate::board::CommitId;
use crate::flow::deliver::{Wanted, deliver, plan};
use crate::flow::failure::Failure;
use crate::flow::merge::{MergeOptions, Merged};
use crate::flow::testing::{Actor, Answer, Scene};
use crate::git::testing::write_in;

/// Two tasks in a real conflict, the second one BLOCKED.
fn blocked() -> Team {
    let team = Team::sharing("shared.sh", "one\n");
    team.rivals("shared.sh", "first\n", "second\n");
    team.lands("t1");
    team.conflicts("t2", "blocked");
    team
}

/// A commit on a person's branch that merges integration and the task.
fn resolution(scene: &Scene, more: &[(&str, &str)]) -> String {
    let dir = scene.outside("mine");
    scene.git(&["worktree", "add", "-q", "-b", "resolution", dir.to_str().unwrap(), "integration"]);
    scene.git_in(&dir, &["merge", "-q", "-s", "ours", "--no-commit", "task/t2"]);
    let mut files = vec![("shared.sh", "first and second\n"), ("tests/test_t2.sh", "echo ok\n")];
    files.extend(more);
    for (file, text) in files {
        write_in(&dir, file, text);
        scene.git_in(&dir, &["add", "-f", file]);
    }
    scene.git_in(&dir, &["commit", "-q", "-m", "both"]);
    scene.git_in(&dir, &["rev-parse", "HEAD"])
}

fn merge_resolved(actor: &Actor, commit: &str) -> Result<Merged, Failure> {
    let resolved = Some(CommitId::new(commit).unwrap());
    actor.merge_with("t2", &MergeOptions { resolve_trivial: false, resolved })
}

fn deliver_to(actor: &Actor, branch: &str) -> Answer {
    let ctx = actor.ctx();
    let wanted = Wanted {
        to: Some(branch),
        create: branch.starts_with("release/"),
        cwd: ctx.root(),
        unaudited: false,
    };
    deliver(&ctx, &plan(&ctx, &wanted)?).map(|(moved, _)| crate::flow::testing::json(moved))
}

#[test]
fn resolution_of_a_person_lands_like_a_merge() {
    let team = blocked();
    let (scene, person) = (&team.scene, team.scene.person());
    let commit = resolution(scene, &[]);
    scene.refused("refused.human_only", || merge_resolved(&team.reviewer, &commit));
    // It must contain the approved commit.
    let failure = merge_resolved(&person, &scene.git(&["rev-parse", "main"])).err().expect("a refusal");
    assert_eq!(failure.code.as_str(), "refused.not_ancestor");
    assert_eq!(scene.status_of("t2"), "BLOCKED");
    assert_eq!(merge_resolved(&person, &commit).unwrap().end.outcome.as_str(), "merged");
    assert_eq!(scene.git(&["show", "integration:shared.sh"]), "first and second");
    let task = scene.show("t2");
    assert_eq!((&task["status"], &task["blocked_reason"]), (&json!("MERGED"), &serde_json::Value::Null));
    scene.sound();
}

#[test]
fn resolution_cannot_smuggle_liza_files_in() {
    let team = blocked();
    let scene = &team.scene;
    let commit = resolution(scene, &[(".liza/state.yaml", "evil\n")]);
    let before = team.head();
    let failure = merge_resolved(&scene.person(), &commit).err().expect("a refusal");
    assert_eq!(failure.code.as_str(), "refused.scope");
    assert_eq!(team.head(), before);
    assert_eq!(scene.status_of("t2"), "BLOCKED");
    scene.sound();
}

#[test]
fn unblocked_conflict_may_be_retried() {
    let team = blocked();
    team.scene.person().unblock("t2", "try again", 0).unwrap();
    assert_eq!(team.scene.status_of("t2"), "APPROVED");
    team.conflicts("t2", "blocked");
    team.scene.sound();
}

/// A branch with one commit of a person, made without changing the checkout.
fn branch(scene: &Scene, name: &str, from: &str, files: &[(&str, &str)]) -> String {
    let dir = scene.outside(&format!("on-{name}"));
    scene.git(&["worktree", "add", "-q", "-b", name, dir.to_str().unwrap(), from]);
    for (file, text) in files {
        write_in(&dir, file, text);
        scene.git_in(&dir, &["add", "-f", file]);
    }
    scene.git_in(&dir, &["commit", "-q", "-m", name]);
    scene.git_in(&dir, &["rev-parse", "HEAD"])
}

#[test]
fn advance_fast_forwards_or_merges() {
    let team = Team::new();
    let Team { scene, one, reviewer, .. } = &team;
    let person = scene.person();
    let commit = branch(scene, "up1", "main", &[("up1.txt", "1\n")]);
    let data = person.advance("up1", "upstream").unwrap();
    assert_eq!((&data["branch"], &data["new"]), (&json!("integration"), &json!(commit)));
    assert_eq!(team.head(), commit);
    scene.merged(one, reviewer, "t1", "a.sh", "echo a\n");
    let before = team.head();
    let commit = branch(scene, "up2", "main", &[("up2.txt", "2\n")]);
    let data = person.advance(&commit, "a fix\nof two lines").unwrap();
    let new = data["new"].as_str().unwrap();
    assert_eq!(scene.git(&["log", "-1", "--format=%P", new]), format!("{before} {commit}"));
    assert_eq!(scene.git(&["show", "integration:a.sh"]), "echo a");
    assert_eq!(scene.git(&["show", "integration:up2.txt"]), "2");
    let log = String::from_utf8(scene.bytes().1).unwrap();
    assert!(log.contains("a fix"), "{log}");
    scene.refused("refused.empty", || person.advance("up2", "again"));
    scene.sound();
}

#[test]
fn advance_is_for_people_and_refuses_harm() {
    let Team { scene, one, reviewer, .. } = Team::new();
    let (planner, person) = (scene.agent("planner", "planner-1"), scene.person());
    branch(&scene, "up", "main", &[("up.txt", "1\n")]);
    for actor in [&one, &reviewer, &planner] {
        scene.refused("refused.human_only", || actor.advance("up", "r"));
        scene.refused("refused.human_only", || deliver_to(actor, "release"));
    }
    scene.refused("refused.incomplete", || person.advance("up", ""));
    scene.refused("refused.value", || person.advance("no-such", "r"));
    scene.refused("refused.value", || person.advance("--all", "r"));
    // Liza's own state is never committed.
    for (name, path) in [("evil1", ".liza/state.yaml"), ("evil2", ".worktrees/t1/x"), ("evil3", ".LIZA/x")] {
        branch(&scene, name, "main", &[(path, "evil\n")]);
        let failure = scene.refused("refused.scope", || person.advance(name, "r"));
        assert!(failure.message.contains(path), "{failure:?}");
    }
    scene.git(&["checkout", "-q", "integration"]);
    scene.refused("refused.checked_out", || person.advance("up", "r"));
    scene.git(&["checkout", "-q", "main"]);
    person.advance("up", "r").unwrap();
}

#[test]
fn conflicting_advance_changes_nothing() {
    let team = Team::new();
    let Team { scene, one, reviewer, .. } = &team;
    scene.merged(one, reviewer, "t1", "a.sh", "echo a\n");
    branch(scene, "up", "main", &[("a.sh", "echo other\n")]);
    let head = team.head();
    let failure = scene.person().advance("up", "r").unwrap_err();
    assert_eq!(failure.code.as_str(), "git.conflict");
    assert_eq!(failure.details["files"], json!(["a.sh"]));
    assert_eq!(team.head(), head);
    assert!(scene.board().rest.intents.is_empty());
    scene.sound();
}

#[test]
fn deliver_moves_a_branch_not_checked_out() {
    let Team { scene, one, reviewer, .. } = Team::new();
    let person = scene.person();
    let commit = scene.merged(&one, &reviewer, "t1", "a.sh", "echo a\n");
    scene.git(&["checkout", "-q", "-b", "elsewhere"]);
    let data = deliver_to(&person, "main").unwrap();
    assert_eq!((&data["branch"], &data["new"]), (&json!("main"), &json!(commit)));
    assert_eq!((&data["checkout"], &data["files"]), (&json!(null), &json!(2)));
    assert_eq!(scene.git(&["rev-parse", "main"]), commit);
    scene.refused("refused.empty", || deliver_to(&person, "main"));
    scene.refused("usage.argument", || deliver_to(&person, "integration"));
    scene.refused("refused.branch_move", || deliver_to(&person, "task/t1"));
    let failure = scene.refused("refused.value", || deliver_to(&person, "mian"));
    assert!(failure.hint.as_ref().unwrap().contains("did you mean `main`?"), "{failure:?}");
    // A missing branch is made on request.
    deliver_to(&person, "release/1").unwrap();
    assert_eq!(scene.git(&["rev-parse", "release/1"]), commit);
    for bad in ["-f", "a..b", "x y", "refs/../x"] {
        assert!(deliver_to(&person, bad).is_err(), "{bad}");
    }
    scene.sound();
}

#[test]
fn commits_of_the_target_are_merged_first() {
    let team = Team::new();
    let Team { scene, one, reviewer, .. } = &team;
    let person = scene.person();
    scene.merged(one, reviewer, "t1", "a.sh", "echo a\n");
    branch(scene, "release", "main", &[("mine.txt", "x\n")]);
    scene.git_in(&scene.outside("on-release"), &["checkout", "-q", "--detach"]);
    let data = deliver_to(&person, "release").unwrap();
    assert_eq!(data["advanced"], json!(true));
    assert_eq!(scene.git(&["rev-parse", "release"]), team.head());
    assert_eq!(scene.git(&["show", "integration:mine.txt"]), "x");
    // A conflicting target stays unchanged.
    scene.merged(one, reviewer, "t2", "b.sh", "echo b\n");
    let theirs = branch(scene, "other", "main", &[("b.sh", "echo mine\n")]);
    scene.git_in(&scene.outside("on-other"), &["checkout", "-q", "--detach"]);
    let failure = scene.refused("git.conflict", || deliver_to(&person, "other"));
    assert_eq!((failure.code.exit(), &failure.details["files"]), (11, &json!(["b.sh"])));
    assert_eq!(scene.git(&["rev-parse", "other"]), theirs);
    scene.sound();
}

#[test]
fn lost_integration_branch_error_has_remedy() {
    let team = Team::new();
    let Team { scene, one, reviewer, .. } = &team;
    scene.approved(one, reviewer, "t1", "a.sh", "echo a\n");
    let head = team.head();
    scene.git(&["branch", "-q", "-D", "integration"]);
    let failure = reviewer.merge("t1").err().expect("a failure");
    assert!(failure.code.as_str().starts_with("git."), "{failure:?}");
    let hint = failure.hint.unwrap();
    assert!(hint.contains(&format!("git branch integration {head}")), "{hint}");
    assert_eq!(scene.status_of("t1"), "APPROVED");
    scene.git(&["branch", "integration", &head]);
    team.lands("t1");
}
