//! What stands around the board and needs no board to be told of: switches, the disk, and damage to the board itself.

use crate::board::{Stamp, SwitchKind, Wall};
use crate::text::{ago, bytes};

use super::alert::{Alert, Kind, Report, Severity, key};
use super::limits::{CHECKPOINT_SECONDS, ROOM_AGAIN};
use super::situation::said;

/// What was found around the board at one moment.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Outside {
    pub switches: Vec<SwitchMark>,
    pub room: Option<Room>,
    /// The integration branch, if it is not where liza left it.
    pub moved: Option<Moved>,
    /// What is said of a board that somebody put back to a former one.
    pub rolled_back: Option<String>,
    /// What work may cost.
    pub caps: crate::board::spent::Caps,
}

/// A switch that is set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwitchMark {
    pub kind: SwitchKind,
    pub subject: Option<String>,
    pub reason: String,
    /// Tells the file from another of its name, before or after it.
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

/// Free bytes, and how many there should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    pub free: u64,
    pub wanted: u64,
}

impl Room {
    pub fn is_low(self) -> bool {
        self.free < self.wanted
    }

    /// Enough again, with a gap to what is low, so that a disk at its limit is not told of all the time.
    pub fn is_enough(self) -> bool {
        let (part, of) = ROOM_AGAIN;
        self.free / part >= self.wanted / of && !self.is_low()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    pub branch: String,
    /// Where it is now, if anywhere.
    pub to: String,
    pub told: String,
    pub remedy: String,
}

/// Why the board cannot be trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub message: String,
    pub hint: String,
}

pub fn switch_set(outside: &Outside, _: &Stamp, report: &mut Report) {
    for switch in &outside.switches {
        let name = switch.name();
        let whom = match &switch.subject {
            None => "for everybody".to_owned(),
            Some(subject) => format!("for {}", said(subject)),
        };
        let reason =
            if switch.reason.is_empty() { String::new() } else { format!(": {}", said(&switch.reason)) };
        report.tell(
            Alert::new(Kind::SwitchSet, &name, &switch.identity)
                .severity(Severity::Info)
                .text(format!("{} is set {whom}{reason}", switch.kind.as_str()))
                .hint("`liza resume` ends it"),
        );
    }
}

/// The last step is told to be an escalation, and the watcher makes it one.
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
        report.tell(
            Alert::new(Kind::CheckpointStale, "CHECKPOINT", format_args!("{}:{step}", switch.identity))
                .severity(if last { Severity::Critical } else { Severity::Warning })
                .text(format!("CHECKPOINT has halted everybody for {}; nobody has resumed", ago(age)))
                .hint("read the newest report in .liza/reports, then `liza resume`"),
        );
    }
}

pub fn disk_low(outside: &Outside, _: &Stamp, report: &mut Report) {
    let Some(room) = outside.room else { return };
    if room.is_low() {
        report.tell(
            Alert::new(Kind::DiskLow, "disk", "")
                .severity(Severity::Critical)
                .text(format!(
                    "only {} are free where the board is; below {} nothing new is begun",
                    bytes(room.free),
                    bytes(room.wanted)
                ))
                .hint("`liza gc --dry-run` says what can be collected"),
        );
    } else if !room.is_enough() {
        report.lingering.insert(key(Kind::DiskLow, "disk", ""));
    }
}

/// Told anew when the damage is another: the key is what is wrong, not when.
pub fn invalid_board(problem: &Problem, report: &mut Report) {
    let digest = blake3::hash(problem.message.as_bytes()).to_hex();
    report.tell(
        Alert::new(Kind::InvalidBoard, "board", &digest[..16])
            .severity(Severity::Critical)
            .text(format!("the board cannot be trusted: {}", said(&problem.message)))
            .hint(problem.hint.clone()),
    );
}
