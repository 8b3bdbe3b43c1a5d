//! Each kind of hostile bundle is refused with its own message, and changes nothing.

use serde_json::{Value, json};

use super::{Scene, documented, put, text};
use crate::support::HUMAN;

fn new_file(path: &str) -> Value {
    json!([{ "file": path, "new_file": true, "hunks": [{ "start_line": 1, "old_text": "", "new_text": "x" }] }])
}

#[test]
fn each_hostile_bundle_gets_its_own_refusal() {
    let scene = Scene::new();
    let worktree = scene.claim_with_checkpoint(&scene.other, "t2");
    let outside = scene.world.home().join("outside");
    put(&outside, "file", b"outside\n");
    std::os::unix::fs::symlink(&outside, worktree.join("work/link")).expect("a link");
    scene.world.write_and_commit(&worktree, &[]);
    let right = blake3_of(&scene, "work/a.txt");
    let untouched = scene.everything(&worktree);
    let hunk =
        |start: u64, old: &str, new: &str| json!({ "start_line": start, "old_text": old, "new_text": new });
    let of_a = |more: Value| {
        let mut patch = json!({ "file": "work/a.txt", "hunks": [hunk(1, "one", "1")] });
        for (key, value) in more.as_object().expect("keys") {
            patch[key] = value.clone();
        }
        json!([patch])
    };
    let sum = "0".repeat(64);
    let cases = [
        (new_file("../evil"), "`../evil`: it leads upwards"),
        (new_file("work/../../evil"), "it leads upwards"),
        (new_file("/etc/evil"), "must be relative to the root"),
        (new_file("C:\\evil"), "`\\` may not be part of one"),
        (new_file("work\\evil"), "`\\` may not be part of one"),
        (new_file(".git"), "it leads into a directory of git"),
        (new_file(".GIT/config"), "it leads into a directory of git"),
        (new_file("work/.git/hooks/pre-commit"), "it leads into a directory of git"),
        (new_file(".git/hooks/post-checkout"), "it leads into a directory of git"),
        (new_file(".liza/PAUSE"), "it leads into a directory of liza"),
        (new_file(".worktrees/t2/x"), "it leads into a directory of liza"),
        (new_file("work/a\u{0}b"), "unseen character"),
        (new_file("work/\u{1b}[2Jx"), "unseen character"),
        (new_file("work/link/file"), "it leads through the symbolic link `work/link`"),
        (new_file("work/link"), "it is a symbolic link here"),
        (of_a(json!({ "mode": "120000" })), "a bundle may not contain symbolic links"),
        (of_a(json!({ "mode": "160000" })), "a bundle may not contain submodules"),
        (of_a(json!({ "renamed_from": "../outside" })), "`../outside`: it leads upwards"),
        (of_a(json!({ "hunks": [hunk(1, "one\ntwo", "x"), hunk(2, "two", "y")] })), "hunk 2 overlaps hunk 1"),
        (of_a(json!({ "hunks": [hunk(3, "three", "x"), hunk(1, "one", "y")] })), "hunk 2 overlaps hunk 1"),
        (of_a(json!({ "hunks": [hunk(0, "one", "x")] })), "start_line is 0"),
        (of_a(json!({ "new_blake3": "xyz" })), "64 lower-case hexadecimal digits"),
        (of_a(json!({ "shell": "rm -rf" })), "shell"),
        (
            of_a(json!({ "binary": { "new": "****" }, "hunks": [], "old_blake3": sum })),
            "its binary content is not base64",
        ),
        (json!([new_file("work/x")[0], new_file("work/x")[0]]), "`work/x`: it is named twice"),
        (
            json!([new_file("work/x")[0], new_file("work/x/y")[0]]),
            "`work/x` would be both a file and a directory",
        ),
        (json!([]), "there is no patch"),
    ];
    for (patches, why) in cases {
        let bundle = scene.written(patches);
        for args in [
            &["bundle", "check", text(&bundle), "--onto", "task/t2", "--task", "t2"][..],
            &["bundle", "apply", text(&bundle), "--task", "t2"],
        ] {
            let ran = scene.world.json(&scene.other, args).exits(1);
            assert_eq!(ran.code(), "refused.bundle", "{why}");
            let error = ran.json()["error"].clone();
            assert!(error["message"].as_str().expect("a message").contains(why), "{why}: {error}");
            assert!(
                error["details"]["problems"].as_array().is_some_and(|found| !found.is_empty()),
                "{error}"
            );
        }
        // Neither answer contains a raw control byte.
        let shown = scene.world.human(&["bundle", "check", text(&bundle), "--onto", "task/t2"]);
        assert!(!shown.stderr.chars().any(|c| c.is_control() && c != '\n'), "{:?}", shown.stderr);
    }
    // The bundle contradicts itself: the checksum of its result is wrong.
    let bundle = scene.written(of_a(json!({ "old_blake3": right, "new_blake3": sum })));
    let ran = scene.world.json(&scene.other, &["bundle", "apply", text(&bundle), "--task", "t2"]).exits(1);
    assert!(ran.stdout.contains("new_blake3 differs"), "{}", ran.stdout);
    assert_eq!(scene.everything(&worktree), untouched);
    assert_eq!(std::fs::read(outside.join("file")).expect("a file"), b"outside\n");
    assert_eq!(scene.world.git(&["for-each-ref", "refs/liza/bundles"]), "");
}

/// As `bundle create` itself computes it.
fn blake3_of(scene: &Scene, file: &str) -> String {
    let dir = scene.world.home().join("sum.patchbundle.json");
    let worktree = scene.claim_with_checkpoint_in(&scene.coder, "sum", "elsewhere/");
    std::fs::remove_file(worktree.join(file)).expect("a file");
    scene.world.write_and_commit(&worktree, &[]);
    scene.world.json(&scene.coder, &["bundle", "create", "sum", "--out", text(&dir)]).ok();
    let bundle: Value = serde_json::from_slice(&std::fs::read(&dir).expect("a bundle")).expect("JSON");
    scene.world.human(&["task", "abandon", "sum", "--reason", "only its sum is wanted"]).ok();
    bundle["patches"][0]["old_blake3"].as_str().expect("a sum").to_owned()
}

#[test]
fn file_that_is_no_bundle_is_refused() {
    let scene = Scene::new();
    let path = scene.world.home().join("x.patchbundle.json");
    let whole = documented(new_file("work/x"));
    let mut newer = whole.clone();
    newer["version"] = json!(2);
    let mut strange = whole.clone();
    strange["metadata"]["run"] = json!("rm -rf /");
    let mut name = whole.clone();
    name["metadata"]["id"] = json!("../../x");
    let mut author = whole.clone();
    author["metadata"]["author"] = json!("x\nReviewed-by: y");
    let many = documented(json!(vec![json!({ "file": "x", "deleted": true }); 10_001]));
    let hunks = documented(
        json!([{ "file": "x", "hunks": vec![json!({ "start_line": 1, "old_text": "", "new_text": "x" }); 100_001] }]),
    );
    let deep = format!("{{\"version\":1,\"patches\":{}{}}}", "[".repeat(5_000), "]".repeat(5_000));
    for (bytes, why) in [
        (b"".to_vec(), "no JSON object"),
        (b"version: 1\n".to_vec(), "no JSON object"),
        (b"{\"version\": 1".to_vec(), "EOF"),
        (b"{\"x\": \"\xff\"}".to_vec(), "not valid UTF-8"),
        (newer.to_string().into_bytes(), "it is of version 2; this liza reads version 1"),
        (strange.to_string().into_bytes(), "run"),
        (name.to_string().into_bytes(), "its id `../../x` is not"),
        (author.to_string().into_bytes(), "its author is not a name"),
        (many.to_string().into_bytes(), "it has 10001 patches; at most 10000 are allowed"),
        (hunks.to_string().into_bytes(), "it has 100001 hunks; at most 100000 are allowed"),
        (deep.into_bytes(), ""),
        (vec![b' '; 64 * 1024 * 1024 + 1], "a bundle has at most 67108864"),
    ] {
        std::fs::write(&path, bytes).expect("a file");
        let error = scene.world.refused(&HUMAN, &["bundle", "check", text(&path)], 1, "refused.bundle");
        assert!(error["message"].as_str().expect("a message").contains(why), "{why}: {error}");
    }
    scene.world.refused(&HUMAN, &["bundle", "check", "no-such-file"], 2, "usage.input");
    scene.world.refused(&HUMAN, &["bundle", "check", "."], 2, "usage.input");
}

#[test]
fn huge_or_case_clashing_bundle_is_refused() {
    let scene = Scene::new();
    let path = scene.world.home().join("many.patchbundle.json");
    let many = format!("{{\"version\":1,\"patches\":[{}1]}}", "1,".repeat(30_000_000));
    std::fs::write(&path, many).expect("a bundle");
    let error = scene.world.refused(&HUMAN, &["bundle", "check", text(&path)], 1, "refused.bundle");
    assert!(error["message"].as_str().expect("a message").contains("values"), "{error}");
    let new = |file: &str| json!({ "file": file, "new_file": true, "hunks": [{ "start_line": 1, "old_text": "", "new_text": "x" }] });
    let twins = scene.written(json!([new("work/One"), new("work/one")]));
    let error = scene.world.refused(&HUMAN, &["bundle", "check", text(&twins)], 1, "refused.bundle");
    assert!(error["message"].as_str().expect("a message").contains("only in case"), "{error}");
}
