//! Damaged, replaced and rolled-back boards: the next command notices, `doctor --fix` restores, and no work is lost.

use std::path::Path;
use std::process::Command;

use crate::support::process::Bounded as _;
use crate::support::{HUMAN, World, sweep};

fn board() -> World {
    let world = World::new();
    let coder = world.register("coder", "coder-1");
    world.task("t1", &["a/"]);
    world.claim(&coder, "t1");
    world.human(&["note", "first"]).ok();
    world.human(&["note", "second"]).ok();
    world
}

fn put(world: &World, bytes: &[u8]) {
    std::fs::write(world.path(".liza/state.yaml"), bytes).unwrap();
}

/// `doctor --fix` restores the good board and keeps the damaged file.
#[track_caller]
fn fixed_by_doctor(world: &World, good: &str) {
    world.human(&["doctor"]).exits(1);
    world.human(&["doctor", "--fix"]).ok();
    assert_eq!(world.state(), good);
    world.human(&["doctor"]).ok();
    world.sound();
}

#[test]
fn board_cut_at_any_line_is_found() {
    let world = board();
    let good = world.state();
    let mut cuts: Vec<usize> = vec![0];
    cuts.extend(good.match_indices('\n').map(|(at, _)| at + 1));
    assert_eq!(cuts.pop(), Some(good.len()));
    for (number, cut) in cuts.iter().enumerate().step_by(sweep(8, 1)) {
        put(&world, &good.as_bytes()[..*cut]);
        let ran = world.json(&HUMAN, &["note", "x"]);
        assert_eq!((ran.exit, ran.code().as_str()), (6, "board.invalid"), "cut at {cut}: {}", ran.stdout);
        assert!(ran.json()["error"]["hint"].as_str().unwrap().contains("doctor --fix"), "{}", ran.stdout);
        assert_eq!(world.state(), good[..*cut], "left for doctor");
        if number % sweep(40, 20) == 0 {
            world.human(&["status"]).exits(6);
            world.human(&["validate"]).exits(6);
            fixed_by_doctor(&world, &good);
        }
    }
    // A cut inside the last line loses no content, and is noticed too.
    for short in 1..=3 {
        put(&world, &good.as_bytes()[..good.len() - short]);
        world.human(&["note", "x"]).exits(6);
    }
    fixed_by_doctor(&world, &good);
    assert!(std::fs::read_dir(world.path(".liza/edits")).unwrap().count() > 2);
}

/// A fresh copy of the board's directory.
fn restore(world: &World, backup: &Path) {
    let live = world.path(".liza");
    std::fs::remove_dir_all(&live).unwrap();
    let ok = Command::new("cp").arg("-a").arg(backup).arg(&live).finish_status().unwrap();
    assert!(ok.success());
    // The copies show that this is an older board.
    let _ = std::fs::remove_dir_all(world.path(".git/liza"));
}

#[test]
fn flipped_bit_is_always_reported() {
    let world = board();
    let good = world.state();
    let backup = world.home().join("backup");
    assert!(
        Command::new("cp").arg("-a").arg(world.path(".liza")).arg(&backup).finish_status().unwrap().success()
    );
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    for _ in 0..sweep(20, 60) {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        let at = usize::try_from(seed % good.len() as u64).unwrap();
        let bit = 1u8 << ((seed >> 40) % 8);
        let mut bytes = good.clone().into_bytes();
        bytes[at] ^= bit;
        put(&world, &bytes);
        let context =
            format!("bit {bit} at {at}: {:?}", &good[at.saturating_sub(20)..(at + 20).min(good.len())]);
        let ran = world.human(&["note", "x"]);
        match ran.exit {
            6 => {}
            // A change of a text, a limit or the layout, which a person may make: reported, and kept.
            0 => assert!(ran.stderr.contains("by hand"), "{context}: {}", ran.stderr),
            other => panic!("{context}: exit {other}: {}", ran.stderr),
        }
        let kept = std::fs::read_dir(world.path(".liza/edits"))
            .unwrap()
            .any(|entry| std::fs::read(entry.unwrap().path()).unwrap() == bytes);
        let untouched = std::fs::read(world.path(".liza/state.yaml")).unwrap() == bytes;
        assert!(kept || untouched, "{context}: the bytes are gone");
        if ran.exit == 6 && !untouched {
            assert_eq!(world.state(), good, "{context}");
        }
        restore(&world, &backup);
    }
    world.sound();
}

#[test]
fn rolled_back_board_is_restored() {
    let world = board();
    let old = world.state();
    world.human(&["note", "third"]).ok();
    world.human(&["note", "fourth"]).ok();
    let good = world.state();
    put(&world, old.as_bytes());
    let ran = world.human(&["status"]).ok();
    assert!(ran.stderr.contains("rolled back"), "{}", ran.stderr);
    let ran = world.json(&HUMAN, &["note", "lost?"]).exits(6);
    assert!(ran.stdout.contains("rolled back"), "{}", ran.stdout);
    assert_eq!(world.state(), good);
    let log = world.read(".liza/log.yaml");
    assert!(log.contains("fourth") && !log.contains("lost?"));
    world.human(&["note", "fifth"]).ok();
    world.sound();
    // The same from each older image, and by doctor.
    let good = world.state();
    std::fs::copy(world.path(".liza/images/1.yaml"), world.path(".liza/state.yaml")).unwrap();
    fixed_by_doctor(&world, &good);
}

#[test]
fn lost_board_is_rebuilt_from_the_log() {
    let world = board();
    let good = world.state();
    std::fs::remove_file(world.path(".liza/state.yaml")).unwrap();
    for args in [["note", "x"].as_slice(), &["status"]] {
        let ran = world.json(&HUMAN, args).exits(6);
        assert!(ran.json()["error"]["hint"].as_str().unwrap().contains("doctor --fix"), "{}", ran.stdout);
        assert!(!world.path(".liza/state.yaml").exists());
    }
    fixed_by_doctor(&world, &good);
    // An agent may only look.
    let coder = world.register("coder", "coder-2");
    world.refused(&coder, &["doctor", "--fix"], 1, "refused.human_only");
}

#[test]
fn links_pipes_and_directories_are_not_followed() {
    for kind in ["symlink", "dangling", "fifo", "directory"] {
        let world = board();
        let good = world.state();
        let state = world.path(".liza/state.yaml");
        let elsewhere = world.home().join("elsewhere.yaml");
        std::fs::rename(&state, &elsewhere).unwrap();
        match kind {
            "symlink" => std::os::unix::fs::symlink(&elsewhere, &state).unwrap(),
            "dangling" => std::os::unix::fs::symlink("/nonexistent/x", &state).unwrap(),
            "fifo" => assert!(Command::new("mkfifo").arg(&state).finish_status().unwrap().success()),
            _ => std::fs::create_dir(&state).unwrap(),
        }
        for args in [["note", "x"].as_slice(), &["status"], &["validate"], &["verify"]] {
            let ran = world.json(&HUMAN, args);
            assert_eq!(ran.exit, 6, "{kind} {args:?}: {}", ran.stdout);
        }
        assert_eq!(std::fs::read_to_string(&elsewhere).unwrap(), good, "{kind}");
        fixed_by_doctor(&world, &good);
        assert!(std::fs::symlink_metadata(&state).unwrap().is_file(), "{kind}");
        assert_eq!(std::fs::read_to_string(&elsewhere).unwrap(), good, "{kind}");
    }
}

#[test]
fn hard_link_to_the_board_is_never_written() {
    let world = board();
    let link = world.home().join("link.yaml");
    std::fs::hard_link(world.path(".liza/state.yaml"), &link).unwrap();
    let before = std::fs::read(&link).unwrap();
    let ran = world.human(&["note", "x"]);
    assert!(matches!(ran.exit, 0 | 6), "{}", ran.stderr);
    assert_eq!(std::fs::read(&link).unwrap(), before);
}

#[test]
fn linked_log_and_lock_are_not_followed() {
    for name in ["log.yaml", "state.yaml.lock"] {
        let world = board();
        let state = world.state();
        let path = world.path(".liza").join(name);
        let elsewhere = world.home().join("elsewhere");
        std::fs::rename(&path, &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
        let before = std::fs::read(&elsewhere).unwrap();
        let ran = world.json(&HUMAN, &["note", "x"]);
        assert!(matches!(ran.exit, 6 | 9), "{name}: {} {}", ran.exit, ran.stdout);
        assert_eq!(std::fs::read(&elsewhere).unwrap(), before, "{name}");
        assert_eq!(world.state(), state, "{name}");
    }
}

#[test]
fn hostile_board_contents_are_refused_quickly() {
    let world = board();
    let good = world.state();
    let brackets = "[".repeat(100_000);
    let bomb =
        "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n";
    for bytes in [
        good.replacen("discovered: []", &format!("discovered: {brackets}"), 1).into_bytes(),
        good.replacen("messages: []", &format!("messages: {brackets}"), 1).into_bytes(),
        format!("{bomb}{good}").into_bytes(),
        good.replacen("goal:\n", "goal: {}\ngoal:\n", 1).into_bytes(),
        [good.as_bytes(), b"\xff\xfe"].concat(),
        good.replacen("sprint:", "spr\0int:", 1).into_bytes(),
        b"not a board at all\n".to_vec(),
        b"end: \"\"\n".to_vec(),
    ] {
        assert_ne!(bytes, good.as_bytes());
        put(&world, &bytes);
        let ran = world.json(&HUMAN, &["note", "x"]);
        assert_eq!(
            ran.exit,
            6,
            "{:?}: {}",
            String::from_utf8_lossy(&bytes[..80.min(bytes.len())]),
            ran.stdout
        );
        if world.bytes().0 != good.as_bytes() {
            fixed_by_doctor(&world, &good);
        }
        let _ = std::fs::remove_file(world.path(".liza/PAUSE"));
        for kept in std::fs::read_dir(world.path(".liza/edits")).unwrap().flatten() {
            if kept.file_name().to_string_lossy().starts_with("refused-") {
                std::fs::remove_file(kept.path()).unwrap();
            }
        }
    }
    let file = std::fs::File::create(world.path(".liza/state.yaml")).unwrap();
    file.set_len(100 * 1024 * 1024).unwrap();
    world.json(&HUMAN, &["note", "x"]).exits(6);
    world.json(&HUMAN, &["status"]).exits(6);
}

#[test]
fn edited_version_is_never_adopted() {
    let world = board();
    let good = world.state();
    // Not only the version differs, but other content, too.
    let other = good.replacen("\ngoal:\n", "\n# by another program\ngoal:\n", 1);
    // It may be of a newer liza: it is shown and not changed.
    let newer = other.replacen("version: 2", "version: 3", 1);
    put(&world, newer.as_bytes());
    for (args, exit) in [(["note", "x"].as_slice(), 6), (&["status"], 0), (&["doctor", "--fix"], 1)] {
        let ran = world.json(&HUMAN, args).exits(exit);
        assert!((ran.stdout + &ran.stderr).contains("newer"), "{args:?}");
        assert_eq!(world.state(), newer, "{args:?}");
    }
    // It cannot be an older board where liza has published boards: the last good one is restored.
    let older = other.replacen("version: 2", "version: 1", 1);
    put(&world, older.as_bytes());
    for args in [["note", "x"].as_slice(), &["status"]] {
        let ran = world.json(&HUMAN, args).exits(6);
        assert!(ran.stdout.contains("older"), "{args:?}: {}", ran.stdout);
        assert_eq!(world.state(), older, "{args:?}");
    }
    fixed_by_doctor(&world, &good);
}

#[test]
fn former_boards_can_be_printed() {
    let world = board();
    let first = world.read(".liza/images/1.yaml");
    assert_eq!(world.human(&["doctor", "--image", "1"]).ok().stdout, first);
    let revision = world.revision();
    for number in 1..=revision {
        let data = world.json(&HUMAN, &["doctor", "--image", &number.to_string()]).ok().data();
        assert!(data["state"].as_str().unwrap().contains(&format!("\nrevision: {number}\n")));
    }
    world.refused(&HUMAN, &["doctor", "--image", "9999"], 6, "board.invalid");
}

#[test]
fn flipped_board_version_is_damage() {
    let world = board();
    let good = world.state();
    for version in ["3", "1", "0", "12"] {
        put(&world, good.replacen("version: 2", &format!("version: {version}"), 1).as_bytes());
        let ran = world.json(&HUMAN, &["note", "x"]).exits(6);
        assert_eq!(ran.code(), "board.invalid", "{version}: {}", ran.stdout);
        assert!(ran.stdout.contains("doctor --fix") && !ran.stdout.contains("newer"), "{}", ran.stdout);
        fixed_by_doctor(&world, &good);
    }
    // A board that a newer liza may have written stays unchanged.
    let other = good.replacen("version: 2", "version: 3", 1).replacen("revision: ", "revision: 1", 1);
    put(&world, other.as_bytes());
    assert_eq!(world.json(&HUMAN, &["note", "x"]).exits(6).code(), "board.newer");
    put(&world, good.as_bytes());
    world.sound();
}
