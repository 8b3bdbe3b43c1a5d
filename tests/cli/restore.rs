//! `doctor --restore` as a command. What it restores is tested in src/flow/tests/restore.rs.

use crate::support::{HUMAN, World};

#[test]
fn restore_refusal_says_why() {
    let world = World::new();
    let coder = world.register("coder", "coder-1");
    world.task("t1", &["1.sh"]);
    let revision = world.revision();
    world.refused(&HUMAN, &["doctor", "--restore", &revision.to_string()], 1, "refused.value");
    world.refused(&HUMAN, &["doctor", "--restore", "9999"], 1, "refused.value");
    world.refused(&HUMAN, &["doctor", "--restore", "0"], 6, "board.invalid");
    world.json(&HUMAN, &["doctor", "--restore", "1", "--fix"]).exits(2);
    // Refused while an intent is open.
    let ran = world.json_env(&coder, &["task", "claim", "t1"], &[("LIZA_CRASH_AT", "claim.added")]);
    assert_ne!(ran.exit, 0);
    let undone = world.json(&HUMAN, &["doctor", "--restore", "1"]);
    assert!(undone.exit == 0 || undone.code().starts_with("stale."), "{}", undone.stdout);
    // Without differences, nothing is written.
    world.human(&["doctor", "--fix"]).ok();
    world.human(&["note", "x"]).ok();
    let before = world.bytes();
    let last = (world.revision() - 1).to_string();
    world.human(&["doctor", "--restore", &last]).ok();
    assert_eq!(world.bytes(), before);
}

#[test]
fn abandoned_task_returns_from_a_damaged_board() {
    let world = World::new();
    let coder = world.register("coder", "coder-1");
    world.task("t1", &["1.sh"]);
    let revision = world.revision().to_string();
    world.human(&["task", "abandon", "t1", "--reason", "by mistake"]).ok();
    let damaged = world.state();
    std::fs::write(world.path(".liza/state.yaml"), &damaged[..damaged.len() / 2]).expect("written");
    let before = world.bytes();
    let shown = world.human(&["doctor", "--restore", &revision, "--dry-run"]).ok().stdout;
    assert!(shown.contains("t1: ABANDONED -> IDLE"), "{shown}");
    assert_eq!(world.bytes(), before, "a dry run changes nothing");
    world.refused(&coder, &["doctor", "--restore", &revision], 1, "refused.human_only");
    world.human(&["doctor", "--restore", &revision]).ok();
    assert_eq!(world.status_of("t1"), "IDLE");
    world.human(&["doctor"]).ok();
    world.sound();
}
