//! `bundle apply`: all or nothing, only by the holder after its checkpoint, and completed after a kill at any point.

use serde_json::json;

use super::{Scene, TEXT, put, text};
use crate::support::HUMAN;

/// A bundle that changes two files, and a second task it can be applied to.
fn ready() -> (Scene, std::path::PathBuf, std::path::PathBuf) {
    let scene = Scene::new();
    let changed = TEXT.replace("two", "2");
    let bundle = scene.bundle("t1", &[("work/a.txt", &changed), ("work/new.txt", "new\n")]);
    let worktree = scene.claim_with_checkpoint(&scene.other, "t2");
    (scene, bundle, worktree)
}

#[test]
fn apply_needs_holder_checkpoint_clean_worktree() {
    let scene = Scene::new();
    let bundle = scene.bundle("t1", &[("work/a.txt", "other\n")]);
    let args = ["bundle", "apply", text(&bundle), "--task", "t2"];
    scene.world.refused(&scene.other, &args, 1, "refused.unknown_task");
    scene.world.task_with("t2", &["work/"], &["--kind", "docs"]);
    scene.world.refused(&scene.other, &args, 1, "refused.transition");
    let worktree = scene.world.claim(&scene.other, "t2");
    let untouched = scene.everything(&worktree);
    scene.world.refused(&scene.other, &args, 1, "refused.checkpoint_missing");
    assert_eq!(scene.everything(&worktree), untouched);
    scene.world.checkpoint(&scene.other, "t2", &["work/"]);
    let untouched = scene.everything(&worktree);
    scene.world.refused(&scene.coder, &args, 3, "stale.lease_lost");
    scene.world.refused(&scene.reviewer, &args, 3, "stale.lease_lost");
    scene.world.human(&["pause", "--reason", "lunch"]).ok();
    scene.world.refused(&scene.other, &args, 5, "switch.set");
    scene.world.refused(&HUMAN, &args, 5, "switch.set");
    scene.world.human(&["resume"]).ok();
    assert_eq!(scene.everything(&worktree)[1], untouched[1]);
    put(&worktree, "work/mine", b"not committed\n");
    let error = scene.world.refused(&scene.other, &args, 1, "refused.worktree_dirty");
    assert!(error["message"].as_str().expect("a message").contains("work/mine"), "{error}");
    assert_eq!(std::fs::read(worktree.join("work/mine")).expect("a file"), b"not committed\n");
    std::fs::remove_file(worktree.join("work/mine")).expect("a file");
    // A person may apply it for the holder.
    scene.world.human(&args).ok();
    assert_eq!(std::fs::read(worktree.join("work/a.txt")).expect("a file"), b"other\n");
}

#[test]
fn bundle_scope_is_checked_as_at_submit() {
    let scene = Scene::new();
    let bundle = scene.bundle("t1", &[("work/a.txt", "other\n"), ("work/b.txt", "other\n")]);
    scene.world.task_with("t2", &["work/"], &["--kind", "docs"]);
    let worktree = scene.world.claim(&scene.other, "t2");
    scene.world.checkpoint(&scene.other, "t2", &["work/a.txt"]);
    let untouched = scene.everything(&worktree);
    let error = scene.world.refused(
        &scene.other,
        &["bundle", "apply", text(&bundle), "--task", "t2"],
        1,
        "refused.scope",
    );
    assert!(
        error["message"].as_str().expect("a message").contains("work/b.txt (not in files_to_modify"),
        "{error}"
    );
    assert_eq!(scene.everything(&worktree), untouched);
}

#[test]
fn red_gate_stops_bundle_apply() {
    let scene = Scene::with(
        &[("work/a.txt", TEXT.as_bytes())],
        "gates:\n- name: strict\n  command: \"! grep -q forbidden work/a.txt\"\n",
    );
    let bundle = scene.bundle("t1", &[("work/a.txt", "forbidden\n")]);
    let worktree = scene.claim_with_checkpoint(&scene.other, "t2");
    let untouched = scene.everything(&worktree);
    let ran = scene.world.json(&scene.other, &["bundle", "apply", text(&bundle), "--task", "t2"]).exits(7);
    assert_eq!(ran.code(), "gate.red");
    assert_eq!(ran.json()["error"]["details"]["gate"], "strict", "{}", ran.stdout);
    assert_eq!(scene.everything(&worktree), untouched);
    assert_eq!(std::fs::read(worktree.join("work/a.txt")).expect("a file"), TEXT.as_bytes());
    assert_eq!(scene.world.row("t2")["status"], "WORKING");
    let report = scene.world.json(&HUMAN, &["report"]).ok().data();
    assert_eq!(report["last_gate_results"]["t2"]["strict"]["status"], "fail", "{report}");
}

#[test]
fn apply_records_gates_on_task_file_and_report() {
    let gates = "gates:\n- {name: compile, command: \"true\"}\n- {name: test, command: \"grep -qx allowed work/a.txt\"}\n";
    let scene = Scene::with(&[("work/a.txt", TEXT.as_bytes())], gates);
    let bundle = scene.bundle("t1", &[("work/a.txt", "allowed\n")]);
    scene.claim_with_checkpoint(&scene.other, "t2");
    scene.world.json(&scene.other, &["bundle", "apply", text(&bundle), "--task", "t2"]).ok();
    let head = scene.world.git(&["rev-parse", "task/t2"]);
    let task = scene.world.show("t2");
    assert_eq!(
        (&task["gates"]["moment"], &task["gates"]["commit"]),
        (&"bundle".into(), &head.as_str().into())
    );
    let kept: serde_json::Value =
        serde_json::from_str(&scene.world.read(".liza/gates/t2.gate.json")).expect("JSON");
    let report = scene.world.json(&HUMAN, &["report"]).ok().data();
    for gate in ["compile", "test"] {
        assert_eq!(kept["gates"][gate]["status"], "pass", "{kept}");
        assert_eq!(report["last_gate_results"]["t2"][gate]["status"], "pass", "{report}");
    }
    let shown = scene.world.human(&["task", "show", "t2"]).ok();
    assert!(shown.stdout.contains("gates:     compile pass, test pass"), "{}", shown.stdout);
    scene.world.sound();
}

#[test]
fn bundle_gates_run_on_the_tree_that_lands() {
    let scene = Scene::with(
        &[("work/a.txt", TEXT.as_bytes())],
        "gates:\n- name: content\n  command: \"grep -qx allowed work/a.txt\"\n- {name: lint, command: \"false\", optional: true}\n",
    );
    let bundle = scene.bundle("t1", &[("work/a.txt", "allowed\n")]);
    let worktree = scene.claim_with_checkpoint(&scene.other, "t2");
    let data =
        scene.world.json(&scene.other, &["bundle", "apply", text(&bundle), "--task", "t2"]).ok().data();
    assert_eq!(data["gates"]["tree"], scene.tree("task/t2"), "{data}");
    assert_eq!(data["gates"]["commit"], scene.world.git(&["rev-parse", "task/t2"]));
    let said: Vec<_> = data["gates"]["results"]
        .as_array()
        .expect("results")
        .iter()
        .map(|one| one["status"].clone())
        .collect();
    assert_eq!(said, ["pass", "fail"], "an optional gate stops nothing: {data}");
    assert_eq!(scene.world.git_in(&worktree, &["status", "--porcelain"]), "");
    scene.world.human(&["verify"]).ok();
}

#[test]
fn second_apply_changes_nothing_and_says_so() {
    let (scene, bundle, worktree) = ready();
    let args = ["bundle", "apply", text(&bundle), "--task", "t2"];
    let first = scene.world.json(&scene.other, &args).ok().data();
    let before = scene.everything(&worktree);
    let again = scene.world.json(&scene.other, &args).ok().data();
    assert_eq!((&again["already_applied"], &again["commit"]), (&json!(true), &first["commit"]));
    assert_eq!(scene.everything(&worktree), before);
    // Also after further commits on the branch.
    scene.world.write_and_commit(&worktree, &[("work/a.txt", "more\n")]);
    let again = scene.world.json(&scene.other, &args).ok().data();
    assert_eq!((&again["already_applied"], &again["commit"]), (&json!(true), &first["commit"]));
    assert_eq!(std::fs::read(worktree.join("work/a.txt")).expect("a file"), b"more\n");
}

#[test]
fn next_apply_completes_a_killed_apply() {
    for point in ["bundle.built", "bundle.judged", "bundle.begun", "bundle.moved", "bundle.brought"] {
        let (scene, bundle, worktree) = ready();
        let args = ["bundle", "apply", text(&bundle), "--task", "t2"];
        // Ignored files stay as they are, before and after.
        put(&scene.world.root, ".git/info/exclude", b".liza\n.worktrees\n*.ignored\n");
        put(&worktree, "work/x.ignored", b"kept\n");
        scene.world.json_env(&scene.other, &args, &[("LIZA_CRASH_AT", point)]).exits(-1);
        scene.world.human(&["validate"]).ok();
        scene.world.human(&["verify"]).ok();
        scene.world.json(&scene.other, &args).ok();
        assert_eq!(scene.tree("task/t2"), scene.tree("task/t1"), "{point}");
        assert_eq!(scene.world.git_in(&worktree, &["status", "--porcelain"]), "", "{point}");
        assert_eq!(std::fs::read(worktree.join("work/new.txt")).expect("a file"), b"new\n", "{point}");
        assert_eq!(std::fs::read(worktree.join("work/x.ignored")).expect("a file"), b"kept\n", "{point}");
        let task = scene.world.json(&HUMAN, &["task", "show", "t2"]).ok().data();
        assert_eq!(task["implementers"], json!(["coder-2", "coder-1"]), "{point}");
        let noted = task["history"].as_array().expect("history").iter();
        assert_eq!(noted.filter(|line| line["event"] == "bundle_applied").count(), 1, "{point}");
        scene.world.json(&scene.other, &["task", "submit", "t2"]).ok();
    }
}

#[test]
fn apply_recovers_from_killed_git() {
    let (scene, bundle, worktree) = ready();
    let args = ["bundle", "apply", text(&bundle), "--task", "t2"];
    scene.world.json_env(&scene.other, &args, &[("LIZA_CRASH_AT", "bundle.moved")]).exits(-1);
    put(&worktree, "work/new.txt", b"ne");
    put(&scene.world.root, ".git/worktrees/t2/index.lock", b"");
    // Content that is neither old, new nor half written belongs to the user.
    put(&worktree, "work/a.txt", b"mine\n");
    let ran = scene.world.json(&scene.other, &args).ok();
    assert!(
        ran.stderr.contains("another process changed these files, so they stay as they are: work/a.txt"),
        "{}",
        ran.stderr
    );
    assert_eq!(std::fs::read(worktree.join("work/a.txt")).expect("a file"), b"mine\n");
    assert_eq!(std::fs::read(worktree.join("work/new.txt")).expect("a file"), b"new\n");
    scene.world.refused(&scene.other, &["task", "submit", "t2"], 1, "refused.worktree_dirty");
    scene.world.git_in(&worktree, &["checkout", "--", "work/a.txt"]);
    assert_eq!(scene.world.git_in(&worktree, &["status", "--porcelain"]), "");
    scene.world.json(&scene.other, &["task", "submit", "t2"]).ok();
}

#[test]
fn apply_overwrites_no_ignored_file() {
    let (scene, bundle, worktree) = ready();
    put(&scene.world.root, ".git/info/exclude", b".liza\n.worktrees\nnew.txt\n");
    put(&worktree, "work/new.txt", b"the only copy\n");
    let args = ["bundle", "apply", text(&bundle), "--task", "t2"];
    let error = scene.world.refused(&scene.other, &args, 1, "refused.worktree_dirty");
    assert!(
        error["message"].as_str().expect("a message").contains("work/new.txt (ignored by git)"),
        "{error}"
    );
    assert_eq!(std::fs::read(worktree.join("work/new.txt")).expect("a file"), b"the only copy\n");
    // Liza follows no untracked link either.
    std::fs::remove_file(worktree.join("work/new.txt")).expect("a file");
    let outside = scene.world.home().join("outside");
    std::fs::create_dir(&outside).expect("a directory");
    std::os::unix::fs::symlink(&outside, worktree.join("work/new.txt")).expect("a link");
    scene.world.refused(&scene.other, &args, 1, "refused.worktree_dirty");
    let below = scene.written(json!([
        { "file": "work/new.txt/x", "new_file": true, "hunks": [{ "start_line": 1, "old_text": "", "new_text": "x" }] },
    ]));
    scene.world.refused(
        &scene.other,
        &["bundle", "apply", text(&below), "--task", "t2"],
        1,
        "refused.worktree_dirty",
    );
    assert_eq!(std::fs::read_dir(&outside).expect("a directory").count(), 0);
}

/// The machine went down while git wrote the files: some are new, some old, one is missing.
#[test]
fn half_updated_worktree_is_completed() {
    let scene = Scene::new();
    let changed = TEXT.replace("two", "2");
    let files = [("work/a.txt", changed.as_str()), ("work/b.txt", "B\n"), ("work/new.txt", "new\n")];
    let first = scene.claim_with_checkpoint(&scene.coder, "t1");
    // One file changes only its mode.
    let runs = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(first.join("README.md"), runs).expect("rights");
    scene.world.write_and_commit(&first, &files);
    let bundle = scene.made("t1");
    scene.world.human(&["task", "abandon", "t1", "--reason", "only its bundle is wanted"]).ok();
    scene.world.task_with("t2", &["work/", "README.md"], &["--kind", "docs"]);
    let worktree = scene.world.claim(&scene.other, "t2");
    scene.world.checkpoint(&scene.other, "t2", &["work/", "README.md"]);
    let args = ["bundle", "apply", text(&bundle), "--task", "t2"];
    scene.world.json_env(&scene.other, &args, &[("LIZA_CRASH_AT", "bundle.moved")]).exits(-1);
    put(&worktree, "work/a.txt", changed.as_bytes());
    std::fs::remove_file(worktree.join("work/b.txt")).expect("a file");
    put(&worktree, "work/new.txt", b"new\n");
    // Content that is neither old nor new belongs to the user, and stays.
    put(&worktree, "work/mine", b"mine\n");
    let again = scene.world.json(&scene.other, &args).ok().data();
    assert_eq!(again["already_applied"], json!(true), "{again}");
    assert_eq!(std::fs::read(worktree.join("work/mine")).expect("a file"), b"mine\n");
    std::fs::remove_file(worktree.join("work/mine")).expect("a file");
    assert_eq!(scene.world.git_in(&worktree, &["status", "--porcelain"]), "");
    assert_eq!(std::fs::read(worktree.join("work/b.txt")).expect("a file"), b"B\n");
    assert_eq!(scene.tree("task/t2"), scene.tree("task/t1"));
}

#[test]
fn bundle_with_only_documented_keys_is_applied() {
    let scene = Scene::new();
    let worktree = scene.claim_with_checkpoint(&scene.other, "t2");
    let bundle = scene.written(json!([
        { "file": "work/a.txt", "hunks": [
            { "start_line": 2, "old_text": "two", "new_text": "2\n2.5" },
            { "start_line": 5, "old_text": "five", "new_text": "" },
        ]},
        { "file": "work/made.txt", "hunks": [{ "start_line": 1, "old_text": "", "new_text": "made" }] },
    ]));
    let checked =
        scene.world.json(&scene.other, &["bundle", "check", text(&bundle), "--task", "t2"]).ok().data();
    assert_eq!(checked["unverified"], json!(["work/a.txt"]), "{checked}");
    let ran = scene.world.liza(&scene.other, &["bundle", "apply", text(&bundle), "--task", "t2"]).ok();
    assert!(ran.stderr.contains("has no checksum"), "{}", ran.stderr);
    assert_eq!(std::fs::read(worktree.join("work/a.txt")).expect("a file"), b"one\n2\n2.5\nthree\nfour\n");
    assert_eq!(std::fs::read(worktree.join("work/made.txt")).expect("a file"), b"made\n");
}

#[test]
fn bundle_commits_are_recorded_and_kept() {
    let (scene, bundle, _) = ready();
    scene.world.json(&scene.other, &["bundle", "apply", text(&bundle), "--task", "t2"]).ok();
    let kept = scene.world.git(&["for-each-ref", "refs/liza/bundles"]);
    assert!(kept.contains("refs/liza/bundles/PB-"), "{kept}");
    scene.world.human(&["gc"]).ok();
    assert_eq!(scene.world.git(&["for-each-ref", "refs/liza/bundles"]), kept);
    assert!(bundle.exists());
    scene.world.human(&["verify"]).ok();
    let doctor = scene.world.json(&HUMAN, &["doctor"]);
    assert!(!doctor.stdout.contains("ref.orphan"), "{}", doctor.stdout);
}

/// The coder need not apply it again: `task submit` completes a killed apply.
#[test]
fn submit_completes_a_killed_apply() {
    for point in ["bundle.moved", "bundle.brought"] {
        let (scene, bundle, worktree) = ready();
        let args = ["bundle", "apply", text(&bundle), "--task", "t2"];
        scene.world.json_env(&scene.other, &args, &[("LIZA_CRASH_AT", point)]).exits(-1);
        scene.world.json(&scene.other, &["task", "submit", "t2"]).ok();
        assert_eq!(scene.tree("task/t2"), scene.tree("task/t1"), "{point}");
        assert_eq!(scene.world.git_in(&worktree, &["status", "--porcelain"]), "", "{point}");
        let task = scene.world.json(&HUMAN, &["task", "show", "t2"]).ok().data();
        assert_eq!(task["implementers"], json!(["coder-2", "coder-1"]), "{point}");
        scene.world.human(&["verify"]).ok();
    }
}

/// An agent that lost the task while the gates ran moves nothing, even if no other agent has claimed it.
#[test]
fn fenced_agent_cannot_apply_a_bundle() {
    let (scene, bundle, worktree) = ready();
    let head = scene.world.git(&["rev-parse", "task/t2"]);
    let args = ["--json", "bundle", "apply", text(&bundle), "--task", "t2"];
    let child = scene.world.stopped_at(&scene.other, "bundle.judged", &args);
    scene.world.human(&["lock", "release", "t2", "--reason", "it hangs"]).ok();
    crate::concurrency::signal(child.id(), "CONT");
    let ran = crate::support::Ran::of(child.wait_with_output().expect("liza ends")).exits(3);
    assert_eq!(ran.code(), "stale.epoch", "{}", ran.stdout);
    assert_eq!(scene.world.git(&["rev-parse", "task/t2"]), head);
    assert_eq!(scene.world.git_in(&worktree, &["status", "--porcelain"]), "");
    // The task cannot be released while the branch moves.
    let worktree = scene.world.claim(&scene.other, "t2");
    scene.world.checkpoint(&scene.other, "t2", &["work/"]);
    let child = scene.world.stopped_at(&scene.other, "bundle.moved", &args);
    let release = ["lock", "release", "t2", "--reason", "it hangs"];
    scene.world.refused(&HUMAN, &release, 3, "stale.in_progress");
    crate::concurrency::signal(child.id(), "CONT");
    crate::support::Ran::of(child.wait_with_output().expect("liza ends")).ok();
    assert_eq!(scene.world.git_in(&worktree, &["status", "--porcelain"]), "");
    assert_eq!(std::fs::read(worktree.join("work/new.txt")).expect("a file"), b"new\n");
}

/// The board decides who the implementers are: the agent that applies the bundle and the agents that made the work, not
/// those the file names.
#[test]
fn implementers_come_from_board_not_bundle() {
    let scene = Scene::new();
    let first = scene.claim_with_checkpoint(&scene.coder, "t1");
    scene.world.write_and_commit(&first, &[("work/a.txt", "other\n")]);
    scene.world.json(&scene.coder, &["task", "release", "t1", "--reason", "lunch"]).ok();
    let third = scene.world.register("coder", "coder-3");
    scene.world.claim(&third, "t1");
    scene.world.checkpoint(&third, "t1", &["work/"]);
    let data = scene.world.json(&third, &["bundle", "create", "t1"]).ok().data();
    let bundle = std::path::PathBuf::from(data["path"].as_str().expect("a path"));
    scene.world.human(&["task", "abandon", "t1", "--reason", "only its bundle is wanted"]).ok();
    scene.world.human(&["archive"]).ok();
    let mut whole: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&bundle).expect("a bundle")).expect("JSON");
    assert_eq!(whole["implementers"], json!(["coder-1", "coder-3"]));
    // The file names reviewer-1 as author, to bar it from the review.
    whole["metadata"]["author"] = json!("reviewer-1");
    whole["implementers"] = json!(["reviewer-1"]);
    let path = scene.world.home().join("claimed.patchbundle.json");
    std::fs::write(&path, whole.to_string()).expect("a bundle");
    scene.claim_with_checkpoint(&scene.other, "t2");
    scene.world.human(&["bundle", "apply", text(&path), "--task", "t2"]).ok();
    let task = scene.world.json(&HUMAN, &["task", "show", "t2"]).ok().data();
    assert_eq!(task["implementers"], json!(["coder-2", "human", "coder-1", "coder-3"]));
    scene.world.json(&scene.other, &["task", "submit", "t2"]).ok();
    scene.world.json(&scene.reviewer, &["review", "claim", "t2"]).ok();
}

#[test]
fn apply_keeps_files_below_replaced_directory() {
    let scene = Scene::with(&[("work/dir/a", b"a\n"), ("work/b.txt", b"b\n")], "");
    let worktree = scene.claim_with_checkpoint(&scene.other, "t2");
    put(&scene.world.root, ".git/info/exclude", b".liza\n.worktrees\n*.ignored\n");
    put(&worktree, "work/dir/deep/only.ignored", b"the only copy\n");
    let bundle = scene.written(json!([
        { "file": "work/dir/a", "deleted": true, "hunks": [{ "start_line": 1, "old_text": "a", "new_text": "" }] },
        { "file": "work/dir", "new_file": true, "hunks": [{ "start_line": 1, "old_text": "", "new_text": "x" }] },
    ]));
    let args = ["bundle", "apply", text(&bundle), "--task", "t2"];
    let untouched = scene.everything(&worktree);
    let error = scene.world.refused(&scene.other, &args, 1, "refused.worktree_dirty");
    assert!(error["message"].as_str().expect("a message").contains("work/dir/deep/only.ignored"), "{error}");
    assert_eq!(scene.everything(&worktree), untouched);
    std::fs::remove_dir_all(worktree.join("work/dir/deep")).expect("removed");
    scene.world.json(&scene.other, &args).ok();
    assert_eq!(std::fs::read(worktree.join("work/dir")).expect("a file"), b"x\n");
}

/// One file cannot be written after others were: branch and files are restored, and untracked files stay.
#[test]
fn failed_file_update_restores_the_branch() {
    let scene = Scene::new();
    let worktree = scene.claim_with_checkpoint(&scene.other, "t2");
    let head = scene.world.git(&["rev-parse", "task/t2"]);
    put(&scene.world.root, ".git/info/exclude", b".liza\n.worktrees\n*.ignored\n");
    put(&scene.world.root, ".git/info/attributes", b"*.bad filter=bad\n");
    for (key, value) in [("clean", "cat"), ("smudge", "false"), ("required", "true")] {
        scene.world.git(&["config", &format!("filter.bad.{key}"), value]);
    }
    scene.world.human(&["doctor", "--accept-git"]).ok();
    put(&worktree, "work/x.ignored", b"kept\n");
    let new = |file: &str| json!({ "file": file, "new_file": true, "hunks": [{ "start_line": 1, "old_text": "", "new_text": "x" }] });
    let bundle = scene.written(json!([
        { "file": "work/a.txt", "hunks": [{ "start_line": 2, "old_text": "two", "new_text": "2" }] },
        { "file": "work/b.txt", "deleted": true, "hunks": [{ "start_line": 1, "old_text": "b", "new_text": "" }] },
        new("work/fine"), new("work/x.bad"), new("work/b.txt/below"),
    ]));
    let args = ["bundle", "apply", text(&bundle), "--task", "t2"];
    let ran = scene.world.json(&scene.other, &args).exits(3);
    assert_eq!(ran.code(), "stale.worktree", "{}", ran.stdout);
    let error = ran.json()["error"].clone();
    let message = error["message"].as_str().expect("a message");
    assert!(message.contains("branch and files are as before") && !message.contains('\n'), "{error}");
    assert_eq!(scene.world.git(&["rev-parse", "task/t2"]), head);
    assert_eq!(scene.world.git_in(&worktree, &["status", "--porcelain"]), "");
    for (file, bytes) in [("a.txt", TEXT.as_bytes()), ("b.txt", b"b\n"), ("x.ignored", b"kept\n")] {
        assert_eq!(std::fs::read(worktree.join("work").join(file)).expect("a file"), bytes, "{file}");
    }
    assert!(!worktree.join("work/fine").exists());
    // No trace is left, and work on the task continues.
    scene.world.git(&["config", "filter.bad.smudge", "cat"]);
    scene.world.human(&["doctor", "--accept-git"]).ok();
    scene.world.json(&scene.other, &args).ok();
    assert_eq!(scene.world.git_in(&worktree, &["status", "--porcelain"]), "");
    scene.world.human(&["verify"]).ok();
}

#[test]
fn apply_refuses_checked_out_branch_and_index_lock() {
    let (scene, bundle, worktree) = ready();
    let args = ["bundle", "apply", text(&bundle), "--task", "t2"];
    let other = scene.world.home().join("beside");
    scene.world.git(&["worktree", "add", "-q", "--force", text(&other), "task/t2"]);
    let error = scene.world.refused(&scene.other, &args, 1, "refused.checked_out");
    assert!(error["message"].as_str().expect("a message").contains("beside"), "{error}");
    scene.world.git(&["worktree", "remove", "--force", text(&other)]);
    let lock =
        scene.world.git_in(&worktree, &["rev-parse", "--path-format=absolute", "--git-path", "index.lock"]);
    std::fs::write(&lock, b"").expect("a lock");
    let error = scene.world.refused(&scene.other, &args, 3, "stale.worktree");
    assert!(error["message"].as_str().expect("a message").contains("index.lock"), "{error}");
    std::fs::remove_file(&lock).expect("a file");
    scene.world.json(&scene.other, &args).ok();
}

#[test]
fn conflict_blocks_task_only_if_holder_applies() {
    let scene = Scene::new();
    scene.claim_with_checkpoint(&scene.other, "t2");
    let bundle = scene.written(json!([
        { "file": "work/a.txt", "hunks": [{ "start_line": 2, "old_text": "two\n", "new_text": "2" }] },
        { "file": "work/b.txt", "hunks": [{ "start_line": 9, "old_text": "b", "new_text": "B" }] },
    ]));
    let args = ["bundle", "apply", text(&bundle), "--task", "t2"];
    let ran = scene.world.json(&HUMAN, &args).exits(11);
    assert_eq!(scene.world.row("t2")["status"], "WORKING");
    assert!(ran.stdout.contains("old_text ends with a line feed"), "{}", ran.stdout);
    assert!(ran.stdout.contains("the expected lines begin at line 1"), "{}", ran.stdout);
    scene.world.json(&scene.other, &args).exits(11);
    assert_eq!(scene.world.row("t2")["status"], "BLOCKED");
}

#[test]
fn apply_leaves_detached_worktree_alone() {
    let (scene, bundle, worktree) = ready();
    scene.world.git_in(&worktree, &["checkout", "-q", "--detach"]);
    let untouched = scene.everything(&worktree);
    let args = ["bundle", "apply", text(&bundle), "--task", "t2"];
    scene.world.refused(&scene.other, &args, 1, "refused.worktree_dirty");
    assert_eq!(scene.everything(&worktree), untouched);
}

#[test]
fn repeated_apply_request_is_answered_once() {
    let (scene, bundle, worktree) = ready();
    let args = ["bundle", "apply", text(&bundle), "--task", "t2", "--request-id", "r1"];
    let first = scene.world.json(&scene.other, &args).ok();
    let before = scene.everything(&worktree);
    let again = scene.world.json(&scene.other, &args).ok();
    assert_eq!(again.data()["bundle"], first.data()["bundle"]);
    assert_eq!(scene.everything(&worktree), before);
    let create = ["bundle", "create", "t2", "--request-id", "r2"];
    let first = scene.world.json(&scene.other, &create).ok().data();
    assert_eq!(scene.world.json(&scene.other, &create).ok().data(), first);
}
