//! Reviewing a bundle: only an independent reviewer may, every item is answered, and no task changes its status.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::{Scene, text};
use crate::support::HUMAN;

/// A submitted task and its bundle.
fn submitted(scene: &Scene) -> PathBuf {
    let worktree = scene.claim_with_checkpoint(&scene.coder, "t1");
    scene.world.write_and_commit(&worktree, &[("work/a.txt", "other\n")]);
    let bundle = scene.made("t1");
    scene.world.json(&scene.coder, &["task", "submit", "t1"]).ok();
    bundle
}

fn kept(path: &str) -> Value {
    serde_json::from_slice(&std::fs::read(path).expect("a verdict")).expect("JSON")
}

#[test]
fn bundle_approval_names_the_next_command() {
    let scene = Scene::new();
    let bundle = submitted(&scene);
    let status = scene.world.row("t1")["status"].clone();
    let ran = scene
        .world
        .json(&scene.reviewer, &["bundle", "review", text(&bundle), "--answer", "1=yes: tried it"])
        .ok();
    let data = ran.data();
    assert_eq!(data["verdict"], "approve", "{data}");
    let path = data["path"].as_str().expect("a path");
    assert!(path.ends_with("-001.review-1.json") && path.contains(".liza/bundles/PB-"), "{path}");
    assert_eq!(std::fs::metadata(path).expect("a file").permissions().mode() & 0o777, 0o600);
    let verdict = kept(path);
    assert_eq!((&verdict["reviewer"], &verdict["verdict"]), (&json!("reviewer-1"), &json!("approve")));
    assert_eq!(verdict["checklist"], json!([{ "item": "it works", "yes": true, "text": "tried it" }]));
    assert_eq!(verdict["blake3"].as_str().map(str::len), Some(64));
    assert_eq!(scene.world.row("t1")["status"], status, "no task changes its state");
    let commit = scene.world.git(&["rev-parse", "task/t1"]);
    let next = data["next"].as_str().expect("a command");
    assert_eq!(next, format!("liza review claim t1 && liza review approve t1 --commit {commit}"));
    // The review records the tree of the bundle, which is that of the branch.
    assert_eq!(scene.tree(data["commit"].as_str().expect("a commit")), scene.tree("task/t1"));
    // A second verdict does not replace the first.
    let again = scene
        .world
        .json(&HUMAN, &["bundle", "review", text(&bundle), "--answer", "1=no: it does not"])
        .exits(1);
    let second = again.data()["path"].as_str().expect("a path").to_owned();
    assert!(second.ends_with(".review-2.json"), "{second}");
    assert_eq!(kept(path), verdict);
    assert_eq!(kept(&second)["reasons"], json!(["answered no: it works (it does not)"]));
    scene.world.human(&["verify"]).ok();
}

#[test]
fn bundle_review_answers_each_item_once() {
    let scene = Scene::new();
    let bundle = submitted(&scene);
    let review = |answers: &[&str], exit: i32, code: &str| {
        let mut args = vec!["bundle", "review", text(&bundle)];
        for answer in answers {
            args.extend(["--answer", answer]);
        }
        scene.world.refused(&scene.reviewer, &args, exit, code)
    };
    let error = review(&[], 1, "refused.feedback_incomplete");
    assert_eq!(error["details"]["checklist"], json!(["it works"]));
    assert!(error["hint"].as_str().expect("a hint").contains("1 it works"), "{error}");
    review(&["1=yes", "1=no"], 1, "refused.feedback_incomplete");
    review(&["1=yes", "2=yes"], 1, "refused.feedback_incomplete");
    review(&["0=yes"], 1, "refused.feedback_incomplete");
    review(&["1=perhaps"], 2, "usage.argument");
    review(&["yes"], 2, "usage.argument");
}

#[test]
fn implementer_cannot_review_own_bundle() {
    let scene = Scene::new();
    let bundle = submitted(&scene);
    let args = ["bundle", "review", text(&bundle), "--answer", "1=yes"];
    let both = scene.world.register_roles(&["coder", "code_reviewer"], "coder-1");
    scene.world.tier0(&both, &args, "tier0.self_approval");
    scene.world.tier0(&scene.other, &args, "tier0.role_boundary");
    // The author that a foreign bundle names may not review it.
    let path = scene.written(json!([{ "file": "README.md", "hunks": [{ "start_line": 1, "old_text": "hello", "new_text": "Hello" }] }]));
    let whole = std::fs::read_to_string(&path).expect("a bundle").replace("agent-1", "Reviewer-1");
    std::fs::write(&path, whole).expect("a bundle");
    scene.world.tier0(
        &scene.reviewer,
        &["bundle", "review", text(&path), "--answer", "1=yes"],
        "tier0.self_approval",
    );
    let data = scene.world.json(&HUMAN, &["bundle", "review", text(&path), "--answer", "1=yes"]).ok().data();
    assert_eq!((&data["verdict"], &data["next"]), (&json!("approve"), &Value::Null));
}

#[test]
fn unfit_or_unchecked_bundle_is_rejected() {
    let scene = Scene::new();
    let hunks =
        json!([{ "file": "work/b.txt", "hunks": [{ "start_line": 1, "old_text": "z", "new_text": "B" }] }]);
    let path = scene.written(hunks);
    let ran = scene.world.json(&HUMAN, &["bundle", "review", text(&path), "--answer", "1=yes"]).exits(11);
    assert_eq!(ran.data()["verdict"], "reject", "{}", ran.stdout);
    let mut whole = super::documented(
        json!([{ "file": "work/b.txt", "hunks": [{ "start_line": 1, "old_text": "b", "new_text": "B" }] }]),
    );
    whole["expected_checks"]["replay"] = json!(true);
    whole["expected_checks"]["diagnostics_count"] = json!(0);
    std::fs::write(&path, whole.to_string()).expect("a bundle");
    let data =
        scene.world.json(&HUMAN, &["bundle", "review", text(&path), "--answer", "1=yes"]).exits(1).data();
    assert_eq!(
        data["reasons"],
        json!([
            "check `replay` is expected to pass, and no gate of that name is configured",
            "at most 0 diagnostics are expected, and no gate counted them",
        ])
    );
}

#[test]
fn red_gate_rejects_the_bundle() {
    let scene = Scene::with(&[("work/a.txt", b"a\n")], "gates:\n- name: strict\n  command: \"false\"\n");
    let worktree = scene.claim_with_checkpoint(&scene.coder, "t1");
    scene.world.write_and_commit(&worktree, &[("work/a.txt", "other\n")]);
    let bundle = scene.made("t1");
    let written: Value = serde_json::from_slice(&std::fs::read(&bundle).expect("a bundle")).expect("JSON");
    assert_eq!(written["expected_checks"]["gates"], json!(["strict"]));
    let ran =
        scene.world.json(&scene.reviewer, &["bundle", "review", text(&bundle), "--answer", "1=yes"]).exits(7);
    assert_eq!(ran.data()["verdict"], "reject");
    assert!(ran.data()["reasons"][0].as_str().expect("a reason").contains("gate `strict`"), "{}", ran.stdout);
    assert_eq!(scene.world.row("t1")["status"], "WORKING");
}

#[test]
fn expected_check_makes_optional_gate_required() {
    let config = "gates:\n- {name: test, command: \"true\"}\n- {name: replay, command: \"grep -q right work/a.txt\", optional: true}\n";
    let scene = Scene::with(&[("work/a.txt", b"a\n")], config);
    let verdict = |text_of_a: &str, replay: bool| {
        let mut whole = super::documented(json!([
            { "file": "work/a.txt", "hunks": [{ "start_line": 1, "old_text": "a", "new_text": text_of_a }] },
        ]));
        whole["expected_checks"] =
            json!({ "compile": false, "test": true, "replay": replay, "diagnostics_count": null });
        let path = scene.world.home().join("expected.patchbundle.json");
        std::fs::write(&path, whole.to_string()).expect("a bundle");
        scene.world.json(&scene.reviewer, &["bundle", "review", text(&path), "--answer", "1=yes"])
    };
    let right = verdict("right", true).ok().data();
    assert_eq!(
        (&right["verdict"], &right["gates"]["results"][1]["status"]),
        (&json!("approve"), &json!("pass"))
    );
    verdict("wrong", false).ok();
    let wrong = verdict("wrong", true).exits(1).data();
    assert_eq!(wrong["reasons"], json!(["check `replay` is expected to pass, but its result is fail"]));
}

#[test]
fn bundle_schema_is_printed() {
    let scene = Scene::new();
    let schema = scene.world.json(&HUMAN, &["schema", "bundle"]).ok().data();
    assert!(schema["properties"]["reviewer_checklist"].is_object(), "{schema}");
}

/// Whatever a bundle says about its author, the board knows which agent made the same tree.
#[test]
fn implementer_of_same_tree_cannot_review_bundle() {
    let scene = Scene::new();
    let bundle = submitted(&scene);
    let mut whole: Value = serde_json::from_slice(&std::fs::read(&bundle).expect("a bundle")).expect("JSON");
    assert_eq!(whole["implementers"], json!(["coder-1"]));
    let object = whole.as_object_mut().expect("an object");
    for key in ["task", "implementers", "base_commit", "base_tree", "result_tree"] {
        object.remove(key);
    }
    whole["metadata"]["author"] = json!("unknown-author");
    let path = scene.world.home().join("stripped.patchbundle.json");
    std::fs::write(&path, whole.to_string()).expect("a bundle");
    scene.world.human(&["task", "abandon", "t1", "--reason", "its paths are wanted"]).ok();
    let both = scene.world.register_roles(&["coder", "code_reviewer"], "coder-1");
    let args = ["bundle", "review", text(&path), "--answer", "1=yes"];
    scene.world.tier0(&both, &args, "tier0.self_approval");
    let data = scene.world.json(&scene.reviewer, &args).ok().data();
    assert_eq!(data["verdict"], "approve");
    assert!(data["path"].as_str().expect("a path").contains(".liza/bundles/PB-"), "{data}");
    assert!(!scene.world.home().join("stripped.review.json").exists());
}

/// The tree that a bundle claims must be the tree it produces, also if it names no base.
#[test]
fn claimed_tree_must_match_the_built_tree() {
    let scene = Scene::new();
    let _ = submitted(&scene);
    let tree = scene.tree("task/t1");
    let mut whole = super::documented(
        json!([{ "file": "work/b.txt", "hunks": [{ "start_line": 1, "old_text": "b", "new_text": "evil" }] }]),
    );
    whole["task"] = json!("t1");
    whole["result_tree"] = json!(tree);
    let path = scene.world.home().join("claims.patchbundle.json");
    std::fs::write(&path, whole.to_string()).expect("a bundle");
    let args = ["bundle", "review", text(&path), "--answer", "1=yes"];
    let error = scene.world.refused(&scene.reviewer, &args, 1, "refused.bundle");
    assert!(error["message"].as_str().expect("a message").contains(&tree), "{error}");
    // For another base the claim is not compared, and the answer does not advise to approve the task.
    whole["base_tree"] = json!("0123456789012345678901234567890123456789");
    std::fs::write(&path, whole.to_string()).expect("a bundle");
    let data = scene.world.json(&scene.reviewer, &args).ok().data();
    assert_eq!(data["next"], Value::Null, "{data}");
}

#[test]
fn repeated_bundle_review_is_answered_once() {
    let scene = Scene::with(&[("work/a.txt", b"a\n")], "gates:\n- name: strict\n  command: \"true\"\n");
    let bundle = submitted(&scene);
    let results = scene.world.path(".liza/gates/t1.gate.json");
    let before = std::fs::read(&results).ok();
    let args = ["bundle", "review", text(&bundle), "--answer", "1=yes", "--request-id", "r1"];
    let first = scene.world.json(&scene.reviewer, &args).ok().data();
    let again = scene.world.json(&scene.reviewer, &args).ok().data();
    assert_eq!(again, first);
    let verdicts = std::fs::read_dir(scene.world.path(".liza/bundles")).expect("a directory");
    let verdicts = verdicts.flatten().filter(|file| file.file_name().to_string_lossy().contains(".review-"));
    assert_eq!(verdicts.count(), 1);
    assert_eq!(std::fs::read(&results).ok(), before, "what the task's own gates said stays");
    assert_eq!(first["gates"]["results"][0]["status"], "pass", "{first}");
}
