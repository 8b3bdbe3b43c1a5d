//! A checkpoint before the work, a submission after it: liza checks both itself.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::board::history::{Assumption, Checkpoint, Plan};
use crate::board::rules::Renew;
use crate::flow::failure::Failure;
use crate::flow::testing::{Actor, Scene, checkpoint, finding, paths, task_id};
use crate::git::testing::write_in;

/// A claimed task that may change `a.sh`, `docs/` but not `docs/secret/`, and `tests/`.
fn claimed() -> (Scene, Actor, PathBuf) {
    let scene = Scene::new();
    let coder = scene.agent("coder", "coder-1");
    let scope = json!({ "in": ["a.sh", "docs/", "tests/"], "out": ["docs/secret/"] });
    scene.task_with("t1", &[], json!({ "scope": scope }));
    let worktree = scene.claim(&coder, "t1");
    (scene, coder, worktree)
}

fn good() -> Checkpoint {
    checkpoint(&["a.sh", "tests/test_a.sh"])
}

fn critical(texts: &[&str]) -> Checkpoint {
    let assumptions =
        texts.iter().map(|text| Assumption { text: (*text).to_owned(), critical: true }).collect();
    Checkpoint { assumptions, ..good() }
}

#[test]
fn every_weak_checkpoint_field_is_named() {
    let (scene, coder, _) = claimed();
    type Weaken = fn(&mut Checkpoint, &str);
    let intent: Weaken = |plan, text| plan.intent = text.to_owned();
    let risks: Weaken = |plan, text| plan.risks = text.to_owned();
    let command: Weaken = |plan, text| plan.validation.command = text.to_owned();
    let expect: Weaken = |plan, text| plan.validation.expect = text.to_owned();
    for (weaken, text, part) in [
        (intent, "", "intent"),
        (intent, "fix it", "intent"),
        (intent, "TODO", "intent"),
        (risks, " ", "risks"),
        (command, "", "validation"),
        (command, "true", "validation"),
        (command, ":", "validation"),
        (expect, "", "validation"),
    ] {
        let mut plan = good();
        weaken(&mut plan, text);
        let failure = scene.refused("refused.checkpoint_weak", || coder.checkpoint("t1", plan));
        let weak = failure.details["weak"].as_array().unwrap().clone();
        assert_eq!(weak.len(), 1, "{part} {text:?}: {failure:?}");
        assert!(weak[0].as_str().unwrap().starts_with(part), "{part} {text:?}: {failure:?}");
    }
    let mut empty = good();
    empty.assumptions.push(Assumption { text: String::new(), critical: false });
    scene.refused("refused.checkpoint_weak", || coder.checkpoint("t1", empty));
    coder.checkpoint("t1", good()).unwrap();
    let history = scene.show("t1")["history"].clone();
    let last = history.as_array().unwrap().last().unwrap().clone();
    assert_eq!(last["event"], "pre_execution_checkpoint");
    let checkpoint = &last["checkpoint"];
    assert_eq!(checkpoint["validation"], json!({ "command": "echo ok", "expect": "ok" }));
    assert_eq!(checkpoint["files_to_modify"], json!(["a.sh", "tests/test_a.sh"]));
}

#[test]
fn assumptions_over_budget_block_the_task() {
    let (scene, coder, _) = claimed();
    let data = coder.checkpoint("t1", critical(&["one", "two", "three"])).unwrap();
    assert_eq!((&data["status"], &data["critical_assumptions"]), (&json!("WORKING"), &json!(3)));
    let mut four = critical(&["one", "two", "three", "four"]);
    four.assumptions.push(Assumption { text: "harmless".to_owned(), critical: false });
    let data = coder.checkpoint("t1", four).unwrap();
    assert_eq!((&data["status"], &data["critical_assumptions"]), (&json!("BLOCKED"), &json!(4)));
    let task = scene.show("t1");
    assert!(task["blocked_reason"].as_str().unwrap().contains("Assumption budget"), "{task}");
    let questions = task["blocked_questions"].as_array().unwrap();
    assert!((1..=3).contains(&questions.len()) && questions[0].as_str().unwrap().contains("one"), "{task}");
    assert_eq!(task["failed_by"], json!(["coder-1"]));
}

#[test]
fn announced_files_are_checked_against_scope() {
    let (scene, coder, _) = claimed();
    let other = scene.agent("coder", "coder-2");
    scene.task_with("t2", &["docs/"], json!({ "owns": ["docs/theirs/"] }));
    scene.refused("refused.paths_overlap", || other.claim("t2"));
    let files = ["src/x.sh", "docs/secret/key", "a.sh"];
    let failure = scene.refused("refused.scope", || coder.checkpoint("t1", checkpoint(&files)));
    let listed = paths(&failure);
    assert_eq!(listed.len(), 2, "{failure:?}");
    assert!(listed[0].starts_with("src/x.sh (not inside scope IN"), "{failure:?}");
    assert!(listed[1].starts_with("docs/secret/key (inside scope OUT"), "{failure:?}");
    for file in ["../x", ".git/hooks/x"] {
        scene.refused("refused.value", || coder.checkpoint("t1", checkpoint(&[file])));
    }
}

#[test]
fn announced_file_of_another_live_task_is_refused() {
    let scene = Scene::new();
    let (one, two) = (scene.agent("coder", "coder-1"), scene.agent("coder", "coder-2"));
    scene.task_with("t1", &["docs/"], json!({ "owns": ["docs/mine/"], "kind": "docs" }));
    scene.task_with("t2", &["docs/"], json!({ "owns": ["docs/theirs/"] }));
    scene.claim(&one, "t1");
    scene.claim(&two, "t2");
    let failure = scene.refused("refused.scope", || one.checkpoint("t1", checkpoint(&["docs/theirs/x"])));
    assert!(paths(&failure)[0].contains("owned by task t2"), "{failure:?}");
    one.checkpoint("t1", checkpoint(&["docs/shared.md", "docs/mine/x"])).unwrap();
}

#[test]
fn checkpoint_after_the_work_is_refused() {
    type Act = fn(&Scene, &Path);
    let acts: [(&str, Act); 5] = [
        ("committed", |scene, tree| {
            scene.write_and_commit(tree, &[("a.sh", "x\n")]);
        }),
        ("staged", |scene, tree| {
            write_in(tree, "a.sh", "x\n");
            scene.git_in(tree, &["add", "a.sh"]);
        }),
        ("modified", |_, tree| write_in(tree, "README.md", "x\n")),
        ("untracked", |_, tree| write_in(tree, "a.sh", "x\n")),
        ("merge in progress", |scene, tree| {
            scene.git_in(tree, &["merge", "-q", "--no-commit", "--no-ff", "upstream"]);
        }),
    ];
    for (name, act) in acts {
        let (scene, coder, worktree) = claimed();
        scene.git(&["checkout", "-q", "-b", "upstream"]);
        scene.git(&["commit", "-q", "--allow-empty", "-m", "upstream"]);
        scene.git(&["checkout", "-q", "main"]);
        act(&scene, &worktree);
        let failure = scene.refused("refused.checkpoint_late", || coder.checkpoint("t1", good()));
        let way = if name == "merge in progress" { "git merge --abort" } else { "Keep the work: `git " };
        assert!(failure.hint.as_ref().unwrap().contains(way), "{name}: {failure:?}");
        scene.refused("refused.checkpoint_missing", || coder.submit("t1"));
    }
}

#[test]
fn sync_before_the_checkpoint_is_allowed() {
    let (scene, coder, worktree) = claimed();
    scene.write("upstream.txt", "new\n");
    scene.git(&["add", "upstream.txt"]);
    scene.git(&["commit", "-q", "-m", "upstream"]);
    scene.person().advance("main", "upstream").unwrap();
    let (_, conflicted) = coder.sync("t1").unwrap();
    assert!(!conflicted && worktree.join("upstream.txt").is_file());
    coder.checkpoint("t1", good()).unwrap();
}

#[test]
fn only_the_holder_checkpoints_and_submits() {
    let (scene, coder, worktree) = claimed();
    let renew = |actor: &Actor| actor.commit(Renew { task: task_id("t1"), epoch: None });
    for actor in [&scene.agent("coder", "coder-2"), &scene.person()] {
        scene.refused("stale.lease_lost", || actor.checkpoint("t1", good()));
        scene.refused("stale.lease_lost", || actor.submit("t1"));
        scene.refused("stale.lease_lost", || renew(actor));
        scene.refused("stale.lease_lost", || actor.sync("t1"));
    }
    renew(&coder).unwrap();
    scene.task("t2", &["two/"]);
    scene.tier0(&coder, "tier0.skipped_state", |coder| coder.submit("t2"));
    let unclaimed = coder.checkpoint("t2", checkpoint(&["two/x"])).unwrap_err();
    assert!(unclaimed.code.as_str().starts_with("refused."), "{unclaimed:?}");
    scene.refused("refused.unknown_task", || coder.submit("nope"));
    assert_eq!(scene.git_in(&worktree, &["status", "--porcelain"]), "");
}

/// The submission is refused with this code.
#[track_caller]
fn submit_refused(scene: &Scene, coder: &Actor, code: &str) -> Failure {
    scene.refused(code, || coder.submit("t1"))
}

#[test]
fn each_fault_of_a_submission_is_named() {
    let (scene, coder, worktree) = claimed();
    submit_refused(&scene, &coder, "refused.checkpoint_missing");
    coder.checkpoint("t1", checkpoint(&["a.sh", "docs/x.md", "docs/secret"])).unwrap_err();
    scene.checkpoint(&coder, "t1", &["a.sh", "docs/x.md", "tests/test_a.sh"]);
    submit_refused(&scene, &coder, "refused.empty");
    // Untracked, modified and staged files are all listed.
    write_in(&worktree, "a.sh", "echo\n");
    write_in(&worktree, "README.md", "changed\n");
    write_in(&worktree, "docs/x.md", "x\n");
    scene.git_in(&worktree, &["add", "docs/x.md"]);
    let listed = paths(&submit_refused(&scene, &coder, "refused.worktree_dirty"));
    for wanted in ["README.md (modified)", "a.sh (untracked)", "docs/x.md (staged)"] {
        assert!(listed.contains(&wanted.to_owned()), "{wanted} in {listed:?}");
    }
    scene.git_in(&worktree, &["checkout", "-q", "README.md"]);
    // Ignored files do not count.
    scene.write(".git/info/exclude", "/.liza/\n/.worktrees/\n*.log\n");
    write_in(&worktree, "noise.log", "x\n");
    // Outside scope, inside OUT, not announced: each path with its reason.
    scene.write_and_commit(
        &worktree,
        &[("src/x.sh", "x\n"), ("docs/secret/key", "x\n"), ("docs/more.md", "x\n"), ("größe\t.txt", "x\n")],
    );
    let listed = paths(&submit_refused(&scene, &coder, "refused.scope"));
    for (path, why) in [
        ("src/x.sh", "scope IN"),
        ("docs/secret/key", "scope OUT"),
        ("docs/more.md", "files_to_modify"),
        ("größe\t.txt", ""),
    ] {
        assert!(
            listed.iter().any(|item| item.starts_with(path) && item.contains(why)),
            "{path} in {listed:?}"
        );
    }
    assert_eq!(listed.len(), 4, "{listed:?}");
    assert_eq!(scene.status_of("t1"), "WORKING");
    // Removed again, it is accepted.
    scene.git_in(&worktree, &["rm", "-q", "-r", "src", "docs/secret", "docs/more.md", "größe\t.txt"]);
    scene.git_in(&worktree, &["commit", "-q", "-m", "out again"]);
    submit_refused(&scene, &coder, "refused.tests_missing");
    scene.write_and_commit(&worktree, &[("tests/test_a.sh", "sh a.sh\n")]);
    let data = coder.submit("t1").unwrap();
    assert_eq!(data["review_commit"], scene.git_in(&worktree, &["rev-parse", "HEAD"]));
    assert_eq!(data["files"], json!(["a.sh", "docs/x.md", "tests/test_a.sh"]));
    assert_eq!(
        (&data["validation"]["exit"], &data["validation"]["output_matched"]),
        (&json!(0), &json!(true))
    );
    submit_refused(&scene, &coder, "refused.transition");
    scene.sound();
}

#[test]
fn submitted_path_of_another_live_task_is_refused() {
    let scene = Scene::new();
    let (one, two) = (scene.agent("coder", "coder-1"), scene.agent("coder", "coder-2"));
    scene.task_with("t1", &["docs/"], json!({ "owns": ["docs/mine/"], "kind": "docs" }));
    let worktree = scene.claim(&one, "t1");
    scene.checkpoint(&one, "t1", &["docs/shared.md"]);
    scene.write_and_commit(&worktree, &[("docs/shared.md", "x\n")]);
    // Owned only after the checkpoint.
    scene.task("t2", &["docs/shared.md"]);
    scene.claim(&two, "t2");
    let failure = submit_refused(&scene, &one, "refused.scope");
    assert!(paths(&failure)[0].contains("owned by task t2"), "{failure:?}");
}

#[test]
fn attributes_modes_and_renames_hide_no_path() {
    let (scene, coder, worktree) = claimed();
    coder.checkpoint("t1", good()).unwrap();
    write_in(&worktree, ".gitattributes", "* -diff binary export-ignore linguist-generated\n");
    write_in(&worktree, "blob.bin", [0u8, 1, 2, 255]);
    scene.git_in(&worktree, &["mv", "README.md", "a.sh"]);
    std::os::unix::fs::symlink("/etc/passwd", worktree.join("link")).unwrap();
    scene.git_in(&worktree, &["add", "-A"]);
    scene.git_in(&worktree, &["commit", "-q", "-m", "hidden"]);
    let listed = paths(&submit_refused(&scene, &coder, "refused.scope"));
    for path in [".gitattributes", "blob.bin", "README.md", "link"] {
        assert!(listed.iter().any(|item| item.starts_with(path)), "{path} in {listed:?}");
    }
}

#[test]
fn head_must_be_the_task_branch_and_contain_its_base() {
    let (scene, coder, worktree) = claimed();
    coder.checkpoint("t1", good()).unwrap();
    scene.git_in(&worktree, &["checkout", "-q", "-b", "elsewhere"]);
    scene.write_and_commit(&worktree, &[("a.sh", "x\n")]);
    let failure = submit_refused(&scene, &coder, "refused.worktree_dirty");
    assert!(paths(&failure)[0].contains("task/t1"), "{failure:?}");
    scene.git_in(&worktree, &["checkout", "-q", "--orphan", "fresh"]);
    scene.git_in(&worktree, &["commit", "-q", "-m", "no base"]);
    scene.git_in(&worktree, &["branch", "-q", "-f", "task/t1", "HEAD"]);
    scene.git_in(&worktree, &["checkout", "-q", "task/t1"]);
    submit_refused(&scene, &coder, "refused.base_missing");
}

#[test]
fn worktree_without_its_git_file_is_refused() {
    let (scene, coder, worktree) = claimed();
    coder.checkpoint("t1", good()).unwrap();
    scene.write_and_commit(&worktree, &[("a.sh", "x\n")]);
    std::fs::remove_file(worktree.join(".git")).unwrap();
    scene.refused("git.worktree", || coder.submit("t1"));
    scene.refused("git.worktree", || coder.sync("t1"));
    scene.refused("git.worktree", || coder.checkpoint("t1", good()));
}

/// "a coder refused for it may announce test files once more": the command in the hint works as printed.
#[test]
fn coder_without_tests_announces_them_once_more() {
    let (scene, coder, worktree) = claimed();
    let only_code = || coder.checkpoint("t1", checkpoint(&["a.sh"]));
    let failure = scene.refused("refused.tests_missing", only_code);
    assert!(failure.hint.is_some_and(|hint| hint.contains("--file tests/")));
    // A directory that may hold tests counts; no file of it was written.
    scene.checkpoint(&coder, "t1", &["a.sh", "tests/"]);
    scene.write_and_commit(&worktree, &[("a.sh", "echo a\n")]);
    let failure = submit_refused(&scene, &coder, "refused.tests_missing");
    assert!(
        failure.hint.is_some_and(|hint| hint.contains("`liza task checkpoint t1 --file tests/test_NAME`"))
    );
    let files_alone = |files: &[&str]| Checkpoint {
        intent: String::new(),
        risks: String::new(),
        validation: Plan { command: String::new(), expect: String::new() },
        ..checkpoint(files)
    };
    scene.refused("refused.checkpoint_late", || coder.checkpoint("t1", files_alone(&["docs/x.md"])));
    coder.checkpoint("t1", files_alone(&["tests/test_a.sh"])).unwrap();
    let history = scene.show("t1")["history"].clone();
    let last = history.as_array().unwrap().last().unwrap().clone();
    assert_eq!(last["checkpoint"]["files_to_modify"], json!(["a.sh", "tests/", "tests/test_a.sh"]));
    assert_eq!(last["checkpoint"]["intent"], good().intent);
    scene.refused("refused.checkpoint_late", || coder.checkpoint("t1", files_alone(&["tests/test_b.sh"])));
    scene.write_and_commit(&worktree, &[("tests/test_a.sh", "sh a.sh\n")]);
    coder.submit("t1").unwrap();
    scene.sound();
}

#[test]
fn later_checkpoint_may_omit_test_files() {
    let (scene, coder, _) = claimed();
    let reviewer = scene.agent("code_reviewer", "reviewer-1");
    coder.checkpoint("t1", good()).unwrap();
    let worktree = scene.path(".worktrees/t1");
    let commit = scene.write_and_commit(&worktree, &[("a.sh", "x\n"), ("tests/test_a.sh", "sh a.sh\n")]);
    coder.submit("t1").unwrap();
    reviewer.reject("t1", &commit, "no name", &[finding("major", "a.sh", "greet the name")], &[]).unwrap();
    scene.claim(&coder, "t1");
    coder.checkpoint("t1", checkpoint(&["a.sh"])).unwrap();
    scene.write_and_commit(&worktree, &[("a.sh", "echo y\n")]);
    coder.submit("t1").unwrap();
}

#[test]
fn docs_task_with_code_files_is_refused() {
    let scene = Scene::new();
    let coder = scene.agent("coder", "coder-1");
    scene.task_with("d1", &["guide.sh", "guide.md"], json!({ "kind": "docs" }));
    let worktree = scene.claim(&coder, "d1");
    scene.checkpoint(&coder, "d1", &["guide.sh", "guide.md"]);
    scene.write_and_commit(&worktree, &[("guide.sh", "echo\n"), ("guide.md", "# Guide\n")]);
    let failure = scene.refused("refused.kind_mismatch", || coder.submit("d1"));
    assert_eq!(paths(&failure), ["guide.sh"]);
    scene.write("liza.yaml", "not_code: [guide.sh]\n");
    coder.submit("d1").unwrap();
}
