//! Copies of board, journal and archive below `.git`, and how they restore a removed or replaced `.liza`.

use std::path::Path;

use crate::crash::Saved;
use crate::support::process::Bounded as _;
use crate::support::{HUMAN, World};

fn board() -> World {
    let world = World::new();
    world.task("t1", &["a/"]);
    world.task("t2", &["b/"]);
    world.human(&["task", "abandon", "t2", "--reason", "not needed"]).ok();
    world.human(&["archive", "t2"]).ok();
    world.human(&["note", "first"]).ok();
    world
}

fn copy_dir(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for name in ["state.yaml", "log.yaml", "state.yaml.lock"] {
        std::fs::copy(from.join(name), to.join(name)).unwrap();
    }
}

#[test]
fn board_survives_git_clean() {
    let world = board();
    let (state, log) = (world.state(), std::fs::read(world.path(".liza/log.yaml")).unwrap());
    world.git(&["clean", "-fdxq"]);
    assert!(!world.path(".liza").exists());
    let ran = world.json(&HUMAN, &["status"]);
    assert_eq!((ran.exit, ran.code().as_str()), (6, "board.invalid"), "{}", ran.stdout);
    assert!(ran.json()["error"]["hint"].as_str().unwrap().contains("liza doctor --fix"), "{}", ran.stdout);
    let ran = world.json(&HUMAN, &["init", "another goal", "--yes"]);
    assert_eq!((ran.exit, ran.code().as_str()), (1, "refused.board_exists"), "{}", ran.stdout);
    world.human(&["doctor"]).exits(1);
    assert!(!world.path(".liza").exists(), "a look changes nothing");
    world.human(&["doctor", "--fix"]).ok();
    assert_eq!(world.state(), state);
    assert_eq!(std::fs::read(world.path(".liza/log.yaml")).unwrap(), log);
    world.human(&["task", "show", "t2"]).ok();
    world.human(&["note", "second"]).ok();
    world.sound();
}

/// Of the two copies the journal's is enough: it makes every board again.
#[test]
fn journal_copy_alone_restores_the_board() {
    let world = board();
    let state = world.state();
    std::fs::remove_file(world.path(".git/liza/state.yaml")).unwrap();
    world.git(&["clean", "-fdxq"]);
    world.human(&["doctor", "--fix"]).ok();
    assert_eq!(world.state(), state);
    world.human(&["task", "show", "t2"]).ok();
    world.human(&["note", "second"]).ok();
    world.sound();
}

/// The advice of `doctor` about a damaged copy works.
#[test]
fn damaged_journal_copy_is_named_and_made_again() {
    let world = board();
    let copy = world.path(".git/liza/log.yaml");
    let text = std::fs::read_to_string(&copy).unwrap();
    std::fs::write(&copy, text.replacen("first", "frist", 1)).unwrap();
    world.human(&["verify"]).exits(6);
    let found = world.human(&["doctor"]).exits(1);
    assert!(
        found.stdout.contains("differs from its copy below .git")
            && found.stdout.contains(".git/liza/log.yaml")
    );
    std::fs::remove_file(&copy).unwrap();
    world.human(&["note", "second"]).ok();
    world.human(&["verify"]).ok();
    world.sound();
}

/// A command that was at work when `.liza` was removed may have made its directory and lock again.
#[test]
fn emptied_board_directory_is_restored() {
    let world = board();
    let state = world.state();
    let lock = std::fs::read(world.path(".liza/state.yaml.lock")).unwrap();
    std::fs::remove_dir_all(world.path(".liza")).unwrap();
    std::fs::create_dir(world.path(".liza")).unwrap();
    std::fs::write(world.path(".liza/state.yaml.lock"), lock).unwrap();
    world.human(&["note", "x"]).exits(6);
    world.human(&["doctor", "--fix"]).ok();
    assert_eq!(world.state(), state);
    world.human(&["task", "show", "t2"]).ok();
    world.human(&["note", "second"]).ok();
    world.sound();
}

/// A backup is restored in two ways: written over the files in place, and renamed over them.
#[test]
fn old_board_journal_and_lock_are_noticed() {
    for in_place in [true, false] {
        let world = board();
        let backup = tempfile::tempdir().unwrap();
        copy_dir(&world.path(".liza"), backup.path());
        world.human(&["note", "the one that must not vanish"]).ok();
        let good = world.state();
        if !in_place {
            for name in ["state.yaml", "log.yaml", "state.yaml.lock"] {
                std::fs::remove_file(world.path(".liza").join(name)).unwrap();
            }
        }
        copy_dir(backup.path(), &world.path(".liza"));
        let ran = world.json(&HUMAN, &["note", "x"]);
        assert_eq!((ran.exit, ran.code().as_str()), (6, "board.invalid"), "{}", ran.stdout);
        world.human(&["verify"]).exits(6);
        world.human(&["validate"]).exits(6);
        world.human(&["doctor"]).exits(1);
        world.human(&["doctor", "--fix"]).ok();
        assert_eq!(world.state(), good, "in place: {in_place}");
        world.human(&["note", "y"]).ok();
        world.sound();
    }
}

#[test]
fn lost_journal_comes_back_from_its_copy() {
    let world = board();
    let log = std::fs::read(world.path(".liza/log.yaml")).unwrap();
    std::fs::remove_file(world.path(".liza/log.yaml")).unwrap();
    world.human(&["note", "x"]).exits(6);
    world.human(&["doctor", "--fix"]).ok();
    assert_eq!(std::fs::read(world.path(".liza/log.yaml")).unwrap(), log);
    world.sound();
}

#[test]
fn lost_archived_task_comes_back() {
    let world = board();
    let path = world.path(".liza/archive/t2.yaml");
    let text = std::fs::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    world.human(&["verify"]).exits(6);
    world.human(&["doctor", "--fix"]).ok();
    assert_eq!(std::fs::read(&path).unwrap(), text);
    std::fs::write(&path, [&text[..], b"# changed\n"].concat()).unwrap();
    world.human(&["verify"]).exits(6);
}

/// A whole journal is no proof while its copy contradicts it, and a whole board is none against both.
#[test]
fn forged_journal_or_board_is_not_restored() {
    let world = board();
    let (state, log) = (world.path(".liza/state.yaml"), world.path(".liza/log.yaml"));
    let saved = Saved::of(&world);
    world.human(&["note", "the false note"]).ok();
    let forged = (world.state(), std::fs::read(&log).unwrap());
    saved.restore();
    world.human(&["note", "the true note"]).ok();
    let copy = std::fs::read(world.path(".git/liza/log.yaml")).unwrap();
    std::fs::remove_file(&state).unwrap();
    std::fs::write(&log, forged.1).unwrap();
    let ran = world.human(&["doctor", "--fix"]).exits(1);
    assert!(ran.stdout.contains("contradict each other"), "{}", ran.stdout);
    world.human(&["note", "more"]).exits(6);
    assert_eq!(std::fs::read(world.path(".git/liza/log.yaml")).unwrap(), copy);
    // The advice: the false one is moved away.
    std::fs::rename(&log, world.home().join("false.yaml")).unwrap();
    world.human(&["doctor", "--fix"]).ok();
    assert!(world.state().contains("the true note") && !world.state().contains("the false note"));
    world.human(&["verify"]).ok();
    // Another board of the same revision.
    std::fs::remove_file(&state).unwrap();
    std::fs::write(&state, forged.0).unwrap();
    world.human(&["verify"]).exits(6);
    let ran = world.human(&["doctor"]).exits(1);
    assert!(ran.stdout.contains("state.yaml was replaced"), "{}", ran.stdout);
    world.human(&["doctor", "--fix"]).ok();
    assert!(world.state().contains("the true note") && !world.state().contains("the false note"));
    world.human(&["note", "more"]).ok();
    world.sound();
}

/// A restored backup whose board is damaged is not rebuilt: the copies are newer.
#[test]
fn damaged_backup_is_replaced_by_newer_copies() {
    let world = board();
    let saved = world.home().join("backup");
    copy_dir(&world.path(".liza"), &saved);
    world.human(&["note", "second"]).ok();
    let newest = world.state();
    copy_dir(&saved, &world.path(".liza"));
    std::fs::remove_file(world.path(".liza/state.yaml")).unwrap();
    world.human(&["doctor", "--fix"]).ok();
    assert_eq!(world.state(), newest);
    world.human(&["note", "third"]).ok();
    world.sound();
}

/// An agent's sandbox may keep the copies from being written: they lag behind, and the next command updates them.
#[test]
fn lagging_copies_are_no_damage() {
    let world = board();
    let copies = world.path(".git/liza");
    let aside = world.path(".git/elsewhere");
    std::fs::rename(&copies, &aside).unwrap();
    std::fs::write(&copies, "in the way").unwrap();
    world.human(&["note", "second"]).ok();
    std::fs::remove_file(&copies).unwrap();
    std::fs::rename(&aside, &copies).unwrap();
    world.human(&["verify"]).ok();
    world.human(&["note", "third"]).ok();
    let same = |name: &str| {
        std::fs::read(copies.join(name)).unwrap() == std::fs::read(world.path(".liza").join(name)).unwrap()
    };
    assert!(same("log.yaml") && same("state.yaml"));
    world.human(&["uninstall", "--yes"]).ok();
    assert!(!copies.exists());
    world.human(&["init", "again", "--yes", "--no-hooks"]).ok();
}

/// An agent may put links or pipes in place of the copies: liza follows no link and waits for no pipe.
#[test]
fn planted_links_and_pipes_are_left_alone() {
    let world = board();
    let copies = world.path(".git/liza");
    let victim = world.home().join("victim");
    std::fs::write(&victim, "the user's").unwrap();
    let plant = |name: &str| {
        std::fs::remove_file(copies.join(name)).unwrap();
        std::os::unix::fs::symlink(&victim, copies.join(name)).unwrap();
    };
    plant("log.yaml");
    plant("state.yaml");
    world.human(&["note", "past the links"]).ok();
    assert_eq!(std::fs::read_to_string(&victim).unwrap(), "the user's");
    std::fs::remove_file(copies.join("log.yaml")).unwrap();
    let mut pipe = world.command("mkfifo", &world.root);
    assert!(pipe.arg(copies.join("log.yaml")).finish_status().unwrap().success());
    world.human(&["note", "past the pipe"]).ok();
    world.human(&["status"]).ok();
    // An endless file in place of a copy is neither read nor waited for: the next change writes the copy again.
    std::fs::remove_file(copies.join("log.yaml")).unwrap();
    std::fs::File::create(copies.join("log.yaml")).unwrap().set_len(20 << 30).unwrap();
    assert!(world.human(&["verify"]).exits(6).stderr.contains("never wrote"));
    world.human(&["note", "past the endless file"]).ok();
    world.human(&["verify"]).ok();
    let elsewhere = world.home().join("elsewhere");
    std::fs::rename(&copies, &elsewhere).unwrap();
    std::fs::remove_file(elsewhere.join("log.yaml")).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &copies).unwrap();
    world.human(&["note", "past the directory"]).ok();
    assert!(!elsewhere.join("log.yaml").exists());
    std::fs::remove_file(&copies).unwrap();
    world.human(&["note", "copied anew"]).ok();
    world.sound();
}
