//! The memory of reported alerts.

use super::Desk;
use crate::board::{Wall, testing::Bench};
use crate::policy::alerts::{Kind, Memory};

fn blocked() -> Desk {
    let mut bench = Bench::with_tasks(&["t1"]);
    let block = bench.block("t1");
    bench.ok("human", block);
    Desk::new(bench)
}

#[test]
fn a_lost_memory_at_worst_repeats() {
    let mut desk = blocked();
    assert_eq!(desk.news(Kind::Blocked), ["t1"]);
    for rubbish in ["", "\u{0}\u{1}binary", "halted yesterday\n:::\nblocked", "{\"json\": true}"] {
        desk.memory = Memory::parse(rubbish);
        assert_eq!(desk.news(Kind::Blocked), ["t1"], "{rubbish:?}");
        assert!(desk.news(Kind::Blocked).is_empty());
    }
}

#[test]
fn ended_alerts_are_forgotten() {
    let mut desk = blocked();
    desk.news(Kind::Blocked);
    assert_eq!(desk.memory.text().lines().count(), 1, "{}", desk.memory.text());
    let unblock = desk.bench.unblock("t1");
    desk.bench.ok("human", unblock);
    desk.news(Kind::Blocked);
    assert_eq!(desk.memory.text(), "");
}

#[test]
fn keys_stay_on_their_line() {
    let mut desk = blocked();
    let now = desk.bench.now.clone();
    desk.set(crate::board::SwitchKind::Pause, Some("a\nblocked:t9:1 b"), &now);
    desk.news(Kind::Blocked);
    let text = desk.memory.text();
    assert_eq!(text.lines().count(), 2, "{text}");
    assert_eq!(Memory::parse(&text), desk.memory);
}

#[test]
fn a_halt_is_remembered_to_the_minute() {
    let mut memory = Memory::default();
    memory.note_halt(Wall(1000));
    memory.note_halt(Wall(1059));
    assert_eq!(memory.halted(), Some(Wall(1000)));
    memory.note_halt(Wall(1060));
    assert_eq!(Memory::parse(&memory.text()).halted(), Some(Wall(1060)));
    // The clock went back.
    memory.note_halt(Wall(10));
    assert_eq!(memory.halted(), Some(Wall(10)));
}
