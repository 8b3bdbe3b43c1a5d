//! The memory of reported alerts. Disposable: without it, the watcher reports some alerts twice.

use super::alert::*;
use crate::policy::prelude::*;

const HALTED: &str = "halted ";

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Memory {
    reported: BTreeSet<String>,
    /// When a switch was last seen to halt all agents.
    halted: Option<Wall>,
}

impl Memory {
    /// Reads the text of [`Memory::text`] and skips other lines.
    pub fn parse(text: &str) -> Self {
        Self {
            reported: text.lines().filter(|line| kind_of(line).is_some()).map(str::to_owned).collect(),
            halted: text.lines().find_map(|line| Wall::parse(line.strip_prefix(HALTED)?)),
        }
    }

    pub fn text(&self) -> String {
        let halted = self.halted.map(|at| format!("{HALTED}{at}\n")).unwrap_or_default();
        self.reported.iter().fold(halted, |text, key| text + key + "\n")
    }

    /// The alerts that were not reported yet; they now count as reported. Ended alerts are forgotten, so that their
    /// next occurrence is reported.
    pub fn news(&mut self, report: &Report) -> Vec<Alert> {
        let holds: BTreeSet<&str> = report.alerts.iter().map(|alert| alert.key.as_str()).collect();
        self.reported.retain(|key| {
            let unseen = report.blind && kind_of(key).is_some_and(Kind::needs_board);
            unseen || holds.contains(key.as_str()) || report.lingering.contains(key)
        });
        report.alerts.iter().filter(|alert| self.reported.insert(alert.key.clone())).cloned().collect()
    }

    pub fn holds(&self, kind: Kind) -> bool {
        self.reported.iter().any(|key| kind_of(key) == Some(kind))
    }

    /// Records that all agents are halted now; to the minute, so that the file is rarely written.
    pub fn note_halt(&mut self, now: Wall) {
        if self.halted.is_none_or(|at| !(0..60).contains(&now.since(at))) {
            self.halted = Some(now);
        }
    }

    pub fn halted(&self) -> Option<Wall> {
        self.halted
    }
}

fn kind_of(key: &str) -> Option<Kind> {
    Kind::parse(key.split_once(':')?.0)
}
