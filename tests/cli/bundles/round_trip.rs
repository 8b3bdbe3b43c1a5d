//! Applying a bundle made of a branch produces the same tree.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::json;

use super::{Scene, TEXT, put, text};
use crate::support::HUMAN;

fn executable(path: &Path) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("rights");
}

#[test]
fn create_then_apply_gives_the_identical_tree() {
    let scene = Scene::with(
        &[
            ("work/text", TEXT.as_bytes()),
            ("work/unended", b"a\nb"),
            ("work/crlf", b"a\r\nb\r\nc\r\n"),
            ("work/empty", b""),
            ("work/to be emptied", b"x\n"),
            ("work/binary", b"\0\x01\xff"),
            ("work/old name", TEXT.as_bytes()),
            ("work/gone", b"gone\n"),
            ("work/run.sh", b"echo\n"),
            ("work/dir/inner", b"inner\n"),
            ("work/blank", b"\n"),
        ],
        "",
    );
    let worktree = scene.claim_with_checkpoint(&scene.coder, "t1");
    put(&worktree, "work/text", TEXT.replace("two\n", "2\n\n").replace("five\n", "five").as_bytes());
    put(&worktree, "work/unended", b"a\nb\n");
    put(&worktree, "work/crlf", b"a\r\nB\nc\r\n");
    put(&worktree, "work/empty", b"no more");
    put(&worktree, "work/to be emptied", b"");
    put(&worktree, "work/binary", b"\0\x02\xfe\n");
    put(&worktree, "work/ünï 日本 *?[x]", b"\xc3\xa9\n");
    put(&worktree, "work/-dash", b"\x1b[2J\n");
    put(&worktree, "work/new empty", b"");
    put(&worktree, "work/blank", b"\n\n");
    scene.world.git_in(&worktree, &["mv", "work/old name", "work/new name"]);
    std::fs::remove_file(worktree.join("work/gone")).expect("a file");
    executable(&worktree.join("work/run.sh"));
    // A directory becomes a file.
    std::fs::remove_dir_all(worktree.join("work/dir")).expect("a directory");
    put(&worktree, "work/dir", b"a file now\n");
    scene.world.git_in(&worktree, &["add", "-A"]);
    scene.world.git_in(&worktree, &["commit", "-q", "-m", "everything"]);

    let bundle = scene.made("t1");
    assert_eq!(std::fs::metadata(&bundle).expect("a file").permissions().mode() & 0o777, 0o600);
    let written: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&bundle).expect("a bundle")).expect("JSON");
    assert_eq!(written["version"], 1);
    assert_eq!(written["metadata"]["author"], "coder-1");
    assert_eq!(written["task"], "t1");
    assert_eq!(written["result_tree"], scene.tree("task/t1"));
    let renamed = written["patches"].as_array().expect("patches").iter();
    assert!(renamed.clone().any(|patch| patch["renamed_from"] == "work/old name"), "{written}");
    let task = scene.world.json(&HUMAN, &["task", "show", "t1"]).ok().data();
    assert_eq!(
        task["patch_bundle"],
        format!(".liza/bundles/{}", bundle.file_name().unwrap().to_string_lossy())
    );

    scene.world.human(&["task", "abandon", "t1", "--reason", "only its bundle is wanted"]).ok();
    let second = scene.claim_with_checkpoint(&scene.other, "t2");
    let before = scene.world.git(&["status", "--porcelain"]);
    let checked =
        scene.world.json(&scene.other, &["bundle", "check", text(&bundle), "--task", "t2"]).ok().data();
    assert_eq!((&checked["applies"], &checked["unverified"]), (&json!(true), &json!([])));
    let data =
        scene.world.json(&scene.other, &["bundle", "apply", text(&bundle), "--task", "t2"]).ok().data();
    assert_eq!(scene.tree("task/t2"), scene.tree("task/t1"));
    assert_eq!(data["commit"], scene.world.git(&["rev-parse", "task/t2"]));
    assert_eq!(scene.world.git_in(&second, &["status", "--porcelain"]), "");
    assert_eq!(std::fs::read(second.join("work/crlf")).expect("a file"), b"a\r\nB\nc\r\n");
    assert_eq!(scene.world.git(&["status", "--porcelain"]), before, "the user's checkout");
    let message = scene.world.git(&["log", "-1", "--format=%B", "task/t2"]);
    assert!(
        message.contains("Liza-Bundle: PB-") && message.contains("Liza-Bundle-Author: coder-1"),
        "{message}"
    );
    // The agent that made the bundle counts as an implementer.
    let task = scene.world.json(&HUMAN, &["task", "show", "t2"]).ok().data();
    assert_eq!(task["implementers"], json!(["coder-2", "coder-1"]));
    scene.world.json(&scene.other, &["task", "submit", "t2"]).ok();
    scene.world.human(&["verify"]).ok();
    scene.world.human(&["validate"]).ok();
}

/// Small and seeded, so that a failure is reproducible.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }

    fn content(&mut self) -> Vec<u8> {
        if self.below(8) == 0 {
            return (0..self.below(30)).map(|_| u8::try_from(self.below(256)).unwrap_or(0)).collect();
        }
        let lines = ["", "a", "b\r", "ünï", "\t x ", "\u{1b}"];
        let mut text: Vec<&str> = Vec::new();
        for _ in 0..self.below(12) {
            text.push(lines[self.below(lines.len())]);
        }
        let mut text = text.join("\n");
        if self.below(3) > 0 {
            text.push('\n');
        }
        text.into_bytes()
    }
}

#[test]
fn random_edits_come_back_as_the_identical_tree() {
    const ROUNDS: usize = 8;
    const NAMES: [&str; 6] = ["plain", "with space", "ünïcode", "sub/deep/file", "-x", "sub/other"];
    let mut dice = Dice(0xb17d1e);
    let mut files = Vec::new();
    for round in 0..ROUNDS {
        for name in NAMES {
            if dice.below(4) > 0 {
                files.push((format!("w{round}/{name}"), dice.content()));
            }
        }
    }
    let borrowed: Vec<(&str, &[u8])> =
        files.iter().map(|(name, bytes)| (name.as_str(), &bytes[..])).collect();
    let scene = Scene::with(&borrowed, "");
    for round in 0..ROUNDS {
        let (one, two, dir) = (format!("a{round}"), format!("b{round}"), format!("w{round}/"));
        let worktree = scene.claim_with_checkpoint_in(&scene.coder, &one, &dir);
        for name in NAMES {
            let path = worktree.join(&dir).join(name);
            match dice.below(6) {
                0 => drop(std::fs::remove_file(&path)),
                1 if path.is_file() => executable(&path),
                2 if path.is_file() => {
                    std::fs::rename(&path, path.with_file_name(format!("moved {}", dice.below(9))))
                        .expect("a name");
                }
                3 | 4 => put(&worktree, &format!("{dir}{name}"), &dice.content()),
                _ => {}
            }
        }
        put(&worktree, &format!("{dir}always"), format!("round {round}").as_bytes());
        scene.world.git_in(&worktree, &["add", "-A"]);
        scene.world.git_in(&worktree, &["commit", "-q", "-m", "random"]);
        let bundle = scene.made(&one);
        scene.world.human(&["task", "abandon", &one, "--reason", "only its bundle is wanted"]).ok();
        let second = scene.claim_with_checkpoint_in(&scene.coder, &two, &dir);
        scene.world.json(&scene.coder, &["bundle", "apply", text(&bundle), "--task", &two]).ok();
        assert_eq!(
            scene.tree(&format!("task/{two}")),
            scene.tree(&format!("task/{one}")),
            "round {round}: {}",
            std::fs::read_to_string(&bundle).unwrap_or_default()
        );
        assert_eq!(scene.world.git_in(&second, &["status", "--porcelain"]), "", "round {round}");
        scene.world.human(&["task", "abandon", &two, "--reason", "done"]).ok();
    }
}

#[test]
fn create_names_changes_a_bundle_cannot_hold() {
    let scene = Scene::new();
    let worktree = scene.claim_with_checkpoint(&scene.coder, "t1");
    scene.world.refused(&scene.coder, &["bundle", "create", "t1"], 1, "refused.empty");
    std::os::unix::fs::symlink("a.txt", worktree.join("work/link")).expect("a link");
    scene.world.write_and_commit(&worktree, &[]);
    let error = scene.world.refused(&scene.coder, &["bundle", "create", "t1"], 1, "refused.bundle");
    assert!(
        error["message"]
            .as_str()
            .expect("a message")
            .contains("`work/link` cannot be in a bundle: it is a symbolic link")
    );
    scene.world.refused(&scene.coder, &["bundle", "create", "t9"], 1, "refused.unknown_task");
    scene.world.task_with("t2", &["other/"], &["--kind", "docs"]);
    scene.world.refused(&scene.coder, &["bundle", "create", "t2"], 1, "refused.transition");
    assert_eq!(std::fs::read_dir(scene.world.path(".liza/bundles")).expect("a directory").count(), 0);
}

#[test]
fn bundles_are_numbered_and_never_overwritten() {
    let scene = Scene::new();
    let worktree = scene.claim_with_checkpoint(&scene.coder, "t1");
    scene.world.write_and_commit(&worktree, &[("work/a.txt", "other\n")]);
    let (first, second) = (scene.made("t1"), scene.made("t1"));
    assert!(
        text(&first).ends_with("-001.patchbundle.json") && text(&second).ends_with("-002.patchbundle.json")
    );
    let out = scene.world.home().join("mine.patchbundle.json");
    scene.world.json(&scene.reviewer, &["bundle", "create", "t1", "--out", text(&out)]).ok();
    let before = std::fs::read(&out).expect("a bundle");
    scene.world.refused(&scene.coder, &["bundle", "create", "t1", "--out", text(&out)], 1, "refused.value");
    assert_eq!(std::fs::read(&out).expect("a bundle"), before);
    // The number of a removed bundle is not reused, and an agent that does not work on the task does not change its bundle.
    assert!(String::from_utf8_lossy(&before).contains("-003\""), "{}", String::from_utf8_lossy(&before));
    assert!(scene.world.show("t1")["patch_bundle"].as_str().expect("a path").contains("-002."));
    for place in [".git/x.json", ".liza/x.json", ".worktrees/x.json"] {
        let out = scene.world.path(place);
        scene.world.refused(
            &scene.coder,
            &["bundle", "create", "t1", "--out", text(&out)],
            1,
            "refused.value",
        );
        assert!(!out.exists());
    }
    std::fs::write(worktree.join("work/b.txt"), "not committed\n").expect("a file");
    let said = scene.world.json(&scene.coder, &["bundle", "create", "t1"]).ok().data();
    assert_eq!(said["uncommitted"], serde_json::json!(["work/b.txt"]), "{said}");
    scene.world.git_in(&worktree, &["checkout", "-q", "work/b.txt"]);
    // A bundle of merged work can still be made.
    scene.world.json(&scene.coder, &["task", "submit", "t1"]).ok();
    let commit = scene.world.git(&["rev-parse", "task/t1"]);
    scene.world.approve(&scene.reviewer, "t1", &commit);
    scene.world.liza(&scene.reviewer, &["merge", "t1"]).ok();
    let third = scene.made("t1");
    let files = |path: &Path| -> serde_json::Value {
        let bundle: serde_json::Value =
            serde_json::from_slice(&std::fs::read(path).expect("a bundle")).expect("JSON");
        bundle["patches"].clone()
    };
    assert_eq!(files(&third), files(&first));
}

/// Row D19: after a kill a bundle is absent or complete.
#[test]
fn killed_create_leaves_no_partial_bundle() {
    let scene = Scene::new();
    let worktree = scene.claim_with_checkpoint(&scene.coder, "t1");
    scene.world.write_and_commit(&worktree, &[("work/a.txt", "other\n")]);
    for (point, count) in [("bundle.making", 0), ("bundle.made", 1)] {
        scene
            .world
            .json_env(&scene.coder, &["bundle", "create", "t1"], &[("LIZA_CRASH_AT", point)])
            .exits(-1);
        let found: Vec<_> = std::fs::read_dir(scene.world.path(".liza/bundles"))
            .expect("a directory")
            .flatten()
            .map(|entry| entry.path())
            .collect();
        assert_eq!(found.len(), count, "{point}: {found:?}");
        for path in found {
            scene.world.json(&HUMAN, &["bundle", "check", text(&path)]).ok();
        }
    }
    scene.made("t1");
    scene.world.human(&["validate"]).ok();
}
