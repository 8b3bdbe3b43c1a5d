//! Directory trees that liza makes, moves and deletes, when an agent or a user has replaced parts of them.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::gates::{configure, said, with_gates};
use crate::support::process::Bounded as _;
use crate::support::{HUMAN, Ran, World, write};

fn findings(world: &World, args: &[&str]) -> Vec<Value> {
    let mut all = vec!["doctor"];
    all.extend(args);
    world.json(&HUMAN, &all).data()["findings"].as_array().cloned().unwrap_or_default()
}

fn finding(world: &World, args: &[&str], code: &str) -> Option<Value> {
    findings(world, args).into_iter().find(|finding| finding["code"] == code)
}

/// Whether this machine allows mounts in a private namespace.
pub(crate) fn can_mount() -> bool {
    let mut probe = Command::new("unshare");
    probe.args(["--mount", "--map-root-user", "mount", "-t", "tmpfs", "none", "/mnt"]);
    let can = probe.finish().is_ok_and(|ran| ran.status.success());
    if !can {
        crate::support::skip("no mount namespaces here");
    }
    can
}

/// Runs a script in its own mount namespace; `$LIZA` is the program.
pub(crate) fn mounted(world: &World, script: &str) -> Ran {
    let mut command = world.command("unshare", &world.root);
    command.args(["--mount", "--map-root-user", "sh", "-ec", script]);
    command.env("LIZA", env!("CARGO_BIN_EXE_liza"));
    Ran::of(command.finish().expect("unshare"))
}

#[test]
fn symlinked_worktree_keeps_other_git_record() {
    let world = World::new();
    let (one, two) = (world.register("coder", "coder-1"), world.register("coder", "coder-2"));
    world.task("t1", &["a.sh", "tests/"]);
    world.task("t2", &["b.sh"]);
    let (first, second) = (world.claim(&one, "t1"), world.claim(&two, "t2"));
    write(&second, "b.sh", "precious\n");
    world.liza(&one, &["task", "release", "t1"]).ok();
    world.human(&["task", "abandon", "t1", "--reason", "not needed"]).ok();
    // The agent replaces its worktree by a link to the other one.
    std::fs::rename(&first, world.path("elsewhere")).expect("moved");
    symlink(&second, &first).expect("a link");
    world.human(&["archive", "t1"]).ok();
    let pruned = world.json(&HUMAN, &["worktree", "prune", "--save"]).ok().data();
    assert!(!pruned["pruned"].to_string().contains("t2"), "{pruned}");
    // No command that removes a worktree touches the other one.
    world.json(&HUMAN, &["doctor", "--fix"]);
    assert_eq!(std::fs::read(second.join("b.sh")).expect("still there"), b"precious\n");
    world.git_in(&second, &["status"]);
    world.git_in(&second, &["rev-parse", "--verify", "refs/heads/task/t2"]);
    let records = world.git(&["worktree", "list", "--porcelain"]);
    assert!(records.contains(second.to_str().expect("text")), "{records}");
}

#[test]
fn link_in_place_of_claimed_worktree_is_refused() {
    let world = World::new();
    let (one, two) = (world.register("coder", "coder-1"), world.register("coder", "coder-2"));
    world.task("t1", &["a.sh"]);
    world.task("t2", &["b.sh"]);
    let (first, second) = (world.claim(&one, "t1"), world.claim(&two, "t2"));
    std::fs::rename(&first, world.path("elsewhere")).expect("moved");
    symlink(&second, &first).expect("a link");
    let refused = world.refused(&one, &["task", "submit", "t1"], 8, "git.worktree");
    assert!(refused["message"].as_str().unwrap_or_default().contains("is a link"), "{refused}");
}

#[test]
fn worktrees_link_is_refused_with_reason() {
    let world = World::new();
    let coder = world.register("coder", "coder-1");
    world.task("t1", &["a.sh"]);
    std::fs::create_dir(world.home().join("disk")).expect("a directory");
    symlink(world.home().join("disk"), world.path(".worktrees")).expect("a link");
    let ran = world.liza(&coder, &["task", "claim", "t1"]);
    assert_ne!(ran.exit, 0, "{ran:?}");
    assert!(ran.stderr.contains(".worktrees") && ran.stderr.contains("is a link"), "{ran:?}");
    assert!(finding(&world, &[], "file.odd").is_some());
}

/// A test that makes that many nested directories.
fn nesting(count: u32) -> String {
    format!(
        "import os\nfor _ in range({count}):\n    os.mkdir('d')\n    os.chdir('d')\nopen('last', 'w').write('x')\n"
    )
}

#[test]
fn forty_thousand_nested_directories_stop_no_gate() {
    if Command::new("python3").arg("--version").finish().is_err() {
        crate::support::skip("there is no python3 here");
        return;
    }
    let world = World::bare_repo();
    world.write("nest.py", &nesting(40_000));
    world.commit_all("a test that leaves directories");
    world.human(&["init", "A greeting program"]).ok();
    configure(
        &world,
        json!([{ "name": "nest", "command": "python3 nest.py && test ! -e left && touch left" }]),
    );
    for _ in 0..2 {
        assert_eq!(said(&world, "nest")["status"], "pass", "{}", said(&world, "nest"));
    }
    assert_eq!(finding(&world, &[], "place.not_emptied"), None);
    assert!(!world.path(".worktrees/.gates/1/d").exists(), "nothing is left of it");
}

#[test]
fn gates_skip_worktree_that_cannot_be_emptied() {
    if !can_mount() {
        return;
    }
    let world = with_gates(json!([{ "name": "ok", "command": "true" }]));
    assert_eq!(said(&world, "ok")["status"], "pass");
    let ran = mounted(
        &world,
        r#"mkdir .worktrees/.gates/1/mounted
        mount -t tmpfs none .worktrees/.gates/1/mounted
        echo kept > .worktrees/.gates/1/mounted/file
        rm .worktrees/.gates/1/.git
        "$LIZA" gate run --tree main --gate ok --fresh
        test "$(cat .worktrees/.gates/1/mounted/file)" = kept
        "$LIZA" doctor || true
        "$LIZA" doctor --fix || true"#,
    );
    assert_eq!(ran.exit, 0, "{ran:?}");
    assert!(ran.stderr.contains("cannot be cleaned"), "{ran:?}");
    assert!(ran.stdout.contains(".gates/1 is the rest of a gate worktree"), "{ran:?}");
    assert!(ran.stdout.contains("another file system is mounted in it"), "{ran:?}");
    // Without the mount it is deleted, and that is verified.
    let fixed = finding(&world, &["--fix"], "place.not_emptied").expect("named");
    assert_eq!(fixed["fixed"], true, "{fixed}");
    assert!(!world.path(".worktrees/.gates/1").exists());
}

#[test]
fn worktrees_on_another_file_system_are_pruned() {
    if !can_mount() {
        return;
    }
    let world = World::new();
    let (coder, reviewer) = (world.register("coder", "coder-1"), world.register("code_reviewer", "r-1"));
    world.task("t1", &["a.sh", "tests/"]);
    let (coder_id, coder_token) = (coder.id.clone().expect("id"), coder.token.clone().expect("token"));
    let script = format!(
        r#"mkdir -p .worktrees
        mount -t tmpfs none .worktrees
        export LIZA_AGENT_ID={coder_id} LIZA_AGENT_TOKEN={coder_token}
        "$LIZA" task claim t1
        echo work > .worktrees/t1/a.sh
        ln -s nowhere .worktrees/t1/link
        "$LIZA" task release t1
        unset LIZA_AGENT_ID LIZA_AGENT_TOKEN
        "$LIZA" task abandon t1 --reason "not needed"
        "$LIZA" archive t1
        "$LIZA" worktree prune --save
        test ! -e .worktrees/t1
        "$LIZA" trash list
        "$LIZA" trash restore t1
        test "$(cat .worktrees/t1/a.sh)" = work
        test "$(readlink .worktrees/t1/link)" = nowhere
        "$LIZA" worktree prune --save
        "$LIZA" trash empty --all --yes || "$LIZA" trash empty --older-than 0d || true"#
    );
    let ran = mounted(&world, &script);
    assert_eq!(ran.exit, 0, "{ran:?}");
    assert!(ran.stdout.contains("t1"), "{ran:?}");
    let _ = reviewer;
    let tree = world.path(".liza/trash/t1/tree/a.sh");
    assert!(tree.exists() || !world.path(".liza/trash/t1").exists(), "{ran:?}");
}

#[test]
fn tmpdir_inside_worktree_does_not_block_checkpoint() {
    let world = World::new();
    let coder = world.register("coder", "coder-1");
    world.task("t1", &["a.sh", "tests/"]);
    let worktree = world.claim(&coder, "t1");
    let tmp = worktree.join("tmp");
    std::fs::create_dir(&tmp).expect("a directory");
    let args = crate::support::checkpoint_args("t1", &["a.sh", "tests/"], "echo ok", "ok");
    let mut command = world.liza_command(&coder, &worktree, &args);
    Ran::of(command.env("TMPDIR", &tmp).finish().expect("liza")).ok();
    let mut command = world.liza_command(&coder, &worktree, &["task", "release", "t1"]);
    Ran::of(command.env("TMPDIR", worktree.join("missing")).finish().expect("liza")).ok();
    assert_eq!(std::fs::read_dir(&tmp).expect("a directory").count(), 0);
    let left = std::fs::read_dir(world.path(".git")).expect("a directory").flatten();
    let left: Vec<_> = left.filter(|entry| entry.file_name().to_string_lossy().contains("scratch")).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn doctor_repairs_links_of_moved_repository() {
    let world = World::new();
    let (coder, reviewer) = (world.register("coder", "coder-1"), world.register("code_reviewer", "r-1"));
    world.submitted(&coder, "t0", "z.sh", "echo z\n");
    world.liza(&reviewer, &["review", "claim", "t0"]).ok();
    world.task("t1", &["a.sh", "tests/test_t1.sh"]);
    let worktree = world.claim(&coder, "t1");
    world.checkpoint(&coder, "t1", &["a.sh", "tests/test_t1.sh"]);
    write(&worktree, "a.sh", "half\n");
    let new = world.home().join("renamed");
    std::fs::rename(&world.root, &new).expect("moved");
    let world = world.moved_to(&new);
    let found = finding(&world, &[], "worktree.moved").expect("named");
    assert_eq!((&found["fixable"], &found["fixed"]), (&json!(true), &json!(false)), "{found}");
    let fixed = findings(&world, &["--fix"]);
    let moved: Vec<&Value> = fixed.iter().filter(|one| one["code"] == "worktree.moved").collect();
    assert!(moved.len() >= 2 && moved.iter().all(|one| one["fixed"] == true), "{fixed:?}");
    let worktree = new.join(".worktrees/t1");
    world.write_and_commit(&worktree, &[("a.sh", "whole\n"), ("tests/test_t1.sh", "echo ok\n")]);
    world.liza(&coder, &["task", "submit", "t1"]).ok();
    world.git_in(&new.join(".worktrees/.review/t0"), &["status"]);
    world.sound();
}

#[test]
fn ignored_files_in_scope_are_listed_and_kept() {
    let world = World::bare_repo();
    world.write(".gitignore", "*.env\n/data/\n/build/\n");
    world.commit_all("ignore");
    world.human(&["init", "A greeting program"]).ok();
    let coder = world.register("coder", "coder-1");
    world.task("t1", &["app.env", "a.sh", "data/", "tests/"]);
    let worktree = world.claim(&coder, "t1");
    world.checkpoint(&coder, "t1", &["a.sh", "tests/test_t1.sh"]);
    write(&worktree, "app.env", "KEY=1\n");
    write(&worktree, "data/deep/rows.csv", "1,2\n");
    write(&worktree, "build/out.o", "not in scope\n");
    world.write_and_commit(&worktree, &[("a.sh", "echo a\n"), ("tests/test_t1.sh", "echo ok\n")]);
    let submitted = world.liza(&coder, &["task", "submit", "t1"]).ok().stderr;
    assert!(submitted.contains("app.env") && submitted.contains("data/deep/rows.csv"), "{submitted}");
    assert!(!submitted.contains("build/out.o"), "{submitted}");

    world.task("t2", &["b.env"]);
    let worktree = world.claim(&coder, "t2");
    write(&worktree, "b.env", "KEY=2\n");
    let released = world.liza(&coder, &["task", "release", "t2"]).ok().stderr;
    assert!(released.contains("b.env (ignored by git)"), "{released}");
    let refs = world.git(&["for-each-ref", "--format=%(refname)", "refs/liza/wip/t2"]);
    assert_eq!(world.git(&["show", &format!("{}:b.env", refs.lines().next().expect("a ref"))]), "KEY=2");
}

#[test]
fn release_names_sparse_file_instead_of_reading_it() {
    let world = World::new();
    let coder = world.register("coder", "coder-1");
    world.task("t1", &["big.bin", "small.txt"]);
    let worktree = world.claim(&coder, "t1");
    let sparse = std::fs::File::create(worktree.join("big.bin")).expect("a file");
    if sparse.set_len(20 << 30).is_err() {
        crate::support::skip("no file of 20 GB can be made here");
        return;
    }
    let args = crate::support::checkpoint_args("t1", &["big.bin"], "echo ok", "ok");
    let late = world.liza(&coder, &args);
    assert_ne!(late.exit, 0, "the file was there before the checkpoint: {late:?}");
    write(&worktree, "small.txt", "kept\n");
    let released = world.liza(&coder, &["task", "release", "t1"]).ok().stderr;
    assert!(released.contains("`big.bin` has 21474836480 bytes"), "{released}");
    let refs = world.git(&["for-each-ref", "--format=%(refname)", "refs/liza/wip/t1"]);
    let kept = world.git(&["ls-tree", "--name-only", refs.lines().next().expect("a ref")]);
    assert!(kept.contains("small.txt") && !kept.contains("big.bin"), "{kept}");
    assert_eq!(worktree.join("big.bin").metadata().expect("there").size(), 20 << 30);
}

#[test]
fn repository_at_path_that_is_not_text_works() {
    let world = World::bare_repo();
    let name = OsString::from_vec(b"repo-\xff\xfe".to_vec());
    let root = world.home().join(name);
    std::fs::rename(&world.root, &root).expect("moved");
    let world = world.moved_to(&root);
    world.human(&["init", "A greeting program"]).ok();
    let (coder, reviewer) = (world.register("coder", "coder-1"), world.register("code_reviewer", "r-1"));
    world.task("t1", &["a.sh", "tests/"]);
    for args in [["status"].as_slice(), &["task", "claim", "t1"], &["worktree", "list"], &["doctor"]] {
        for json in [false, true] {
            let who = if args[0] == "task" { &coder } else { &HUMAN };
            let ran = if json { world.json(who, args) } else { world.liza(who, args) };
            assert!((0..=20).contains(&ran.exit), "{args:?}: {ran:?}");
            assert!(!ran.stderr.contains("panicked"), "{args:?}: {ran:?}");
            if json {
                assert!(ran.json()["ok"].is_boolean(), "{args:?}: {ran:?}");
            }
        }
    }
    let worktree = root.join(".worktrees/t1");
    world.checkpoint(&coder, "t1", &["a.sh", "tests/test_t1.sh"]);
    let odd = worktree.join(OsString::from_vec(b"tests/odd-\xff".to_vec()));
    std::fs::create_dir_all(worktree.join("tests")).expect("a directory");
    std::fs::write(&odd, "x").expect("a file");
    let refused = world.liza(&coder, &["task", "submit", "t1"]);
    assert!(refused.exit > 0 && !refused.stderr.contains("panicked"), "{refused:?}");
    std::fs::remove_file(odd).expect("removed");
    world.write_and_commit(&worktree, &[("a.sh", "echo a\n"), ("tests/test_t1.sh", "echo ok\n")]);
    let data = world.json(&coder, &["task", "submit", "t1"]).ok().data();
    world.approve(&reviewer, "t1", data["review_commit"].as_str().expect("a commit"));
    world.liza(&reviewer, &["merge", "t1"]).ok();
    world.sound();
}

#[test]
fn argument_that_is_not_text_is_an_error() {
    let world = World::new();
    let mut command = world.liza_command(&HUMAN, &world.root, &["note"]);
    let ran = Ran::of(command.arg(OsString::from_vec(b"\xff\xfe".to_vec())).finish().expect("liza"));
    assert_eq!(ran.exit, 2, "{ran:?}");
    assert!(!ran.stderr.contains("panicked") && ran.stderr.contains("hint"), "{ran:?}");
    // Also beside a good argument, where the command line is recorded under the lock.
    let mut command =
        world.liza_command(&HUMAN, &world.root, &["--request-id", "r1", "note", "fine", "--board"]);
    let board = world.path(".liza");
    Ran::of(command.arg(Path::new(&board)).finish().expect("liza")).ok();
}

/// A link in the place of a directory below `.liza`: no file of liza's is written where it leads.
#[test]
fn link_in_place_of_board_directory_is_refused() {
    let world = World::new();
    let aside = tempfile::tempdir_in(world.home()).unwrap();
    for name in ["runs", "images", "gates", "trash", "locks", "tokens"] {
        let (dir, target) = (world.path(".liza").join(name), aside.path().join(name));
        std::fs::rename(&dir, &target).unwrap();
        std::os::unix::fs::symlink(&target, &dir).unwrap();
        let before = std::fs::read_dir(&target).unwrap().count();
        let ran = world.json(&HUMAN, &["note", "x"]);
        assert_eq!((ran.exit, ran.code().as_str()), (6, "board.invalid"), "{name}: {}", ran.stdout);
        let message = ran.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(message.contains(&format!(".liza/{name}` is a link")), "{message}");
        assert_eq!(std::fs::read_dir(&target).unwrap().count(), before, "{name}");
        assert!(world.human(&["doctor"]).exits(1).stdout.contains("is not a directory"), "{name}");
        std::fs::remove_file(&dir).unwrap();
        std::fs::rename(&target, &dir).unwrap();
    }
    world.human(&["note", "x"]).ok();
    world.sound();
}
