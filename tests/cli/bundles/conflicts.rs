//! Row B9: conflicts with other tasks' paths and with changed files. Nothing is applied.

use super::{Scene, TEXT, text};
use crate::support::HUMAN;

#[test]
fn bundle_check_names_holder_of_owned_paths() {
    let scene = Scene::new();
    let bundle = scene.bundle("t1", &[("work/a.txt", "other\n")]);
    scene.world.json(&HUMAN, &["bundle", "check", text(&bundle)]).ok();
    scene.world.task_with("t2", &["work/"], &["--kind", "docs", "--owns", "work/b.txt"]);
    let worktree = scene.world.claim(&scene.other, "t2");
    scene.world.checkpoint(&scene.other, "t2", &["work/"]);
    let third = scene.world.register("coder", "coder-3");
    scene.world.task_with("t3", &["work/a.txt"], &["--kind", "docs"]);
    scene.world.claim(&third, "t3");

    let checked =
        scene.world.json(&scene.other, &["bundle", "check", text(&bundle), "--task", "t2"]).exits(11);
    let problems = checked.json()["data"]["problems"].clone();
    assert_eq!(problems[0]["kind"], "lock", "{problems}");
    let message = problems[0]["message"].as_str().expect("a message");
    assert_eq!(message, "`work/a.txt`: task t3 (coder-3) owns `work/a.txt`");
    assert_eq!(scene.world.row("t2")["status"], "WORKING", "a check changes nothing");
    // The holder's own paths are no conflict.
    scene.world.json(&third, &["bundle", "check", text(&bundle), "--task", "t3"]).ok();

    let head = scene.world.git(&["rev-parse", "task/t2"]);
    let applied =
        scene.world.json(&scene.other, &["bundle", "apply", text(&bundle), "--task", "t2"]).exits(11);
    assert_eq!(applied.code(), "git.conflict");
    assert_eq!(applied.json()["data"]["status"], "BLOCKED");
    assert_eq!(scene.world.git(&["rev-parse", "task/t2"]), head, "nothing was applied");
    assert_eq!(scene.world.git_in(&worktree, &["status", "--porcelain"]), "");
    let task = scene.world.json(&HUMAN, &["task", "show", "t2"]).ok().data();
    let reason = task["blocked_reason"].as_str().expect("a reason");
    assert!(reason.contains("task t3 (coder-3) owns `work/a.txt`"), "{reason}");
    assert_eq!(scene.world.row("t2")["node_state"], "blocked");
}

#[test]
fn bundle_conflicts_with_changed_base_file() {
    let scene = Scene::new();
    let changed = TEXT.replace("two", "2");
    let bundle = scene.bundle("t1", &[("work/a.txt", &changed)]);
    let worktree = scene.claim_with_checkpoint(&scene.other, "t2");
    // The hunk would still match, but the file has changed.
    scene.world.write_and_commit(&worktree, &[("work/a.txt", &TEXT.replace("five", "5"))]);
    let onto = ["bundle", "check", text(&bundle), "--task", "t2", "--onto", "task/t2"];
    let checked = scene.world.json(&scene.other, &onto).exits(11);
    assert_eq!(checked.json()["data"]["problems"][0]["kind"], "checksum", "{}", checked.stdout);
    assert_eq!(checked.json()["error"]["details"]["problems"][0]["file"], "work/a.txt");
    scene.world.json(&scene.other, &["bundle", "check", text(&bundle), "--task", "t2"]).ok();
    let head = scene.world.git(&["rev-parse", "task/t2"]);
    scene.world.json(&scene.other, &["bundle", "apply", text(&bundle), "--task", "t2"]).exits(11);
    assert_eq!(scene.world.git(&["rev-parse", "task/t2"]), head);
    assert_eq!(scene.world.row("t2")["status"], "BLOCKED");
}

#[test]
fn conflict_shows_lines_that_do_not_match() {
    let scene = Scene::with(&[("work/crlf", b"a\r\nb\r\n"), ("work/unended", b"a\nb")], "");
    for (patch, why) in [
        (
            serde_json::json!({ "file": "work/crlf", "hunks": [{ "start_line": 1, "old_text": "a", "new_text": "x" }] }),
            "its lines end with CRLF, those of the bundle do not",
        ),
        (
            serde_json::json!({ "file": "work/unended", "no_final_newline": { "old": false, "new": false },
                "hunks": [{ "start_line": 1, "old_text": "a", "new_text": "x" }] }),
            "the newline at its end: the file has none, but the bundle expects one",
        ),
        (
            serde_json::json!({ "file": "work/unended", "hunks": [{ "start_line": 9, "old_text": "a", "new_text": "x" }] }),
            "hunk 1 at line 9: the file has only 2 lines",
        ),
        (
            serde_json::json!({ "file": "work/unended", "hunks": [{ "start_line": 1, "old_text": "z", "new_text": "x" }] }),
            "it reads `a`, but the bundle expects `z`",
        ),
    ] {
        let bundle = scene.written(serde_json::json!([patch]));
        let ran = scene.world.json(&HUMAN, &["bundle", "check", text(&bundle)]).exits(11);
        let message = ran.json()["error"]["message"].as_str().expect("a message").to_owned();
        assert!(message.contains(why), "{message}");
    }
}

#[test]
fn declared_modules_must_match_files_and_locks() {
    let scene = Scene::with(&[("crates/core/lib.rs", b"a\n"), ("docs/guide.md", b"g\n")], "");
    let world = &scene.world;
    let bundle = |file: &str, modules: &[&str]| {
        let patches = serde_json::json!([{ "file": file, "hunks": [{ "start_line": 1, "old_text": "a", "new_text": "x" }] }]);
        let mut whole = super::documented(patches);
        whole["metadata"]["touched_modules"] = serde_json::json!(modules);
        let path = world.home().join("declared.patchbundle.json");
        std::fs::write(&path, whole.to_string()).expect("a bundle");
        path
    };
    // A module is named by its path, or by the name of its directory as in the specification.
    for modules in [&["crates/core"][..], &["core", "docs"], &["crates/core/lib.rs"], &[]] {
        let fits = bundle("crates/core/lib.rs", modules);
        world.json(&HUMAN, &["bundle", "check", text(&fits)]).ok();
    }
    let lies = bundle("crates/core/lib.rs", &["docs"]);
    let refused = world.json(&HUMAN, &["bundle", "check", text(&lies)]).exits(1);
    let problem = &refused.json()["error"]["details"]["problems"][0];
    assert_eq!(problem["kind"], "module", "{problem}");
    let message = problem["message"].as_str().expect("words");
    assert!(message.contains("is in none of the declared touched_modules (docs)"), "{message}");

    world.task_with("t2", &["docs/"], &["--kind", "docs"]);
    world.claim(&scene.other, "t2");
    for module in ["docs", "docs/guide.md"] {
        let declared = bundle("crates/core/lib.rs", &["core", module]);
        let locked = world.json(&HUMAN, &["bundle", "check", text(&declared)]).exits(11);
        let problem = &locked.json()["data"]["problems"][0];
        assert_eq!((&problem["kind"], &problem["file"]), (&"lock".into(), &module.into()));
        assert!(
            problem["message"].as_str().expect("words").contains("task t2 (coder-2) owns `docs/`"),
            "{problem}"
        );
    }
}
