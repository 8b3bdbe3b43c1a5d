//! Alerts that need no readable board: switches, the disk, and damage to the board itself.

use super::{alert::*, limits::*};
use crate::board::SwitchKind;
use crate::policy::prelude::*;
use crate::text::bytes;

/// The facts around the board at one moment.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Outside {
    pub switches: Vec<SwitchMark>,
    pub room: Option<Room>,
    /// The integration branch, if another program moved it.
    pub moved: Option<Moved>,
    /// The text about a board that was replaced by an older copy.
    pub rolled_back: Option<String>,
    /// The spending limits.
    pub caps: crate::board::caps::Caps,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwitchMark {
    pub kind: SwitchKind,
    pub subject: Option<String>,
    pub reason: String,
    /// Distinguishes the file from an earlier or later one of its name.
    pub identity: String,
    pub since: Wall,
}

impl SwitchMark {
    fn name(&self) -> String {
        match &self.subject {
            None => self.kind.as_str().to_owned(),
            Some(subject) => format!("{}-{subject}", self.kind.as_str()),
        }
    }
}

/// Free bytes, and how many are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    pub free: u64,
    pub wanted: u64,
}

impl Room {
    pub fn is_low(self) -> bool {
        self.free < self.wanted
    }

    /// Whether there is enough space again, with a margin, so that a disk near its limit is not reported repeatedly.
    pub fn is_enough(self) -> bool {
        let (part, of) = ROOM_AGAIN;
        self.free / part >= self.wanted / of && !self.is_low()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    pub branch: String,
    /// Its current commit, if it has one.
    pub to: String,
    pub description: String,
    pub remedy: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub message: String,
    pub hint: String,
}

pub fn switch_set(outside: &Outside, _: &Stamp, report: &mut Report) {
    for switch in &outside.switches {
        let whom = switch.subject.as_deref().map_or("all agents".to_owned(), clipped_line);
        let reason = if switch.reason.is_empty() {
            String::new()
        } else {
            format!(": {}", clipped_line(&switch.reason))
        };
        let text = format!("{} is set for {whom}{reason}", switch.kind.as_str());
        let hint = "`liza resume` ends it";
        report.tell(Alert::new(Kind::SwitchSet, switch.name(), &switch.identity, text, hint).info());
    }
}

/// The last step is critical; the watcher makes it an escalation.
pub fn checkpoint_stale(outside: &Outside, now: &Stamp, report: &mut Report) {
    let checkpoints = outside
        .switches
        .iter()
        .filter(|switch| switch.kind == SwitchKind::Checkpoint && switch.subject.is_none());
    for switch in checkpoints {
        let age = now.wall.since(switch.since);
        let reached = CHECKPOINT_SECONDS.iter().rev().find(|(seconds, _)| age >= *seconds as i64);
        if let Some((next, _)) = CHECKPOINT_SECONDS.iter().find(|(seconds, _)| age < *seconds as i64) {
            report.look_again_in(next.saturating_sub(u64::try_from(age).unwrap_or(0)));
        }
        let Some((seconds, step)) = reached else { continue };
        let last = CHECKPOINT_SECONDS.iter().all(|(other, _)| other <= seconds);
        let text = format!("CHECKPOINT has halted all agents for {}; no person has resumed", ago(age));
        let hint = "read the newest report in .liza/reports, then `liza resume`";
        let occurrence = format!("{}:{step}", switch.identity);
        let alert = Alert::new(Kind::CheckpointStale, "CHECKPOINT", occurrence, text, hint);
        report.tell(if last { alert.critical() } else { alert });
    }
}

pub fn disk_low(outside: &Outside, _: &Stamp, report: &mut Report) {
    let Some(room) = outside.room else { return };
    if room.is_low() {
        let (free, wanted) = (bytes(room.free), bytes(room.wanted));
        let text =
            format!("only {free} are free on the board's disk; below {wanted} liza starts no new work");
        let hint = "`liza gc --dry-run` lists what can be removed";
        report.tell(Alert::new(Kind::DiskLow, "disk", "", text, hint).critical());
    } else if !room.is_enough() {
        report.lingering.insert(key(Kind::DiskLow, "disk", ""));
    }
}

/// Reported again for another damage: the key is the damage, not the time.
pub fn invalid_board(problem: &Problem, report: &mut Report) {
    let digest = blake3::hash(problem.message.as_bytes()).to_hex();
    let text = format!("the board cannot be trusted: {}", clipped_line(&problem.message));
    report.tell(Alert::new(Kind::InvalidBoard, "board", &digest[..16], text, &problem.hint).critical());
}
