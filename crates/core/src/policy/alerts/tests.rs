//! Every alert: it fires, it nearly fires and does not, it is reported once, and again when its cause returns.

mod alone;
mod keeping;
mod rubber_stamps;
mod standing_still;
mod team;

use crate::board::{Stamp, SwitchKind, Wall, testing::Bench};

use super::{Kind, Memory, Outside, Report, Room, Situation, SwitchMark, of_board};

/// A board, its surroundings, and the memory of reported alerts.
pub struct Desk {
    pub bench: Bench,
    pub outside: Outside,
    pub memory: Memory,
    pub awake_since: Wall,
}

impl Desk {
    pub fn new(bench: Bench) -> Self {
        Self { bench, outside: Outside::default(), memory: Memory::default(), awake_since: Wall(0) }
    }

    pub fn report(&self) -> Report {
        of_board(&Situation {
            board: &self.bench.board,
            world: &self.bench.world,
            now: &self.bench.now,
            outside: &self.outside,
            awake_since: self.awake_since,
        })
    }

    /// The current alerts, as `kind subject`.
    pub fn holds(&self) -> Vec<String> {
        self.report()
            .alerts
            .iter()
            .map(|alert| {
                assert!(!alert.text.is_empty() && !alert.hint.is_empty(), "{alert:?}");
                format!("{} {}", alert.kind.as_str(), alert.subject)
            })
            .collect()
    }

    /// The subjects of one kind.
    pub fn of(&self, kind: Kind) -> Vec<String> {
        self.report()
            .alerts
            .into_iter()
            .filter(|alert| alert.kind == kind)
            .map(|alert| alert.subject)
            .collect()
    }

    /// The text of the only alert of one kind.
    #[track_caller]
    pub fn text(&self, kind: Kind) -> String {
        let report = self.report();
        let all: Vec<_> = report.alerts.iter().filter(|alert| alert.kind == kind).collect();
        assert_eq!(all.len(), 1, "{all:?}");
        all[0].text.clone()
    }

    /// The subjects of one kind that are not yet reported; afterwards all count as reported.
    pub fn news(&mut self, kind: Kind) -> Vec<String> {
        let report = self.report();
        // The memory survives being written and read.
        self.memory = Memory::parse(&self.memory.text());
        let news = self.memory.news(&report);
        news.into_iter().filter(|alert| alert.kind == kind).map(|alert| alert.subject).collect()
    }

    /// Advances the clock to the next check that the report asks for.
    #[track_caller]
    pub fn tick_to_due(&mut self) {
        let due = self.report().due_in.expect("something will be due");
        self.bench.tick(due);
    }

    pub fn set(&mut self, kind: SwitchKind, subject: Option<&str>, since: &Stamp) {
        self.outside.switches.push(SwitchMark {
            kind,
            subject: subject.map(str::to_owned),
            reason: "because".to_owned(),
            identity: format!("{}.7", self.outside.switches.len()),
            since: since.wall,
        });
    }
}

fn room(free: u64, wanted: u64) -> Option<Room> {
    Some(Room { free, wanted })
}

#[test]
fn alert_kinds_are_documented_and_distinct() {
    let page = include_str!("../../../../../specs/protocols/watch.md");
    for kind in Kind::ALL {
        let json = serde_json::to_value(kind).expect("a name");
        assert_eq!(json, kind.as_str());
        assert!(page.contains(&format!("| `{}` |", kind.as_str())), "{} is not in the page", kind.as_str());
    }
}
