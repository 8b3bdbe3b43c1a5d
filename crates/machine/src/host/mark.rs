//! The mark of a runner on all that descends from its agent's command.
//!
//! A process in a pid namespace of its own cannot see its runner, and one whose runner was killed has none. Both still
//! have the limits they inherited. So the holder of an agent's command lowers two limits that limit nothing (`LOCKS` has
//! no effect since Linux 2.6, `RTTIME` only on real-time processes) to numbers that say whose agent it is. Hard limits
//! are inherited through everything and cannot be raised again without a privilege in the first user namespace, and their
//! sum is constant: to become another's, one of the two would have to be raised.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

#[cfg(target_os = "linux")]
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::board::{Mark, Process};

/// Marks this process, and so everything it starts, as what the agent of this runner started. One that descends from
/// another marked process keeps the mark it has.
pub fn mark_as_agent(runner: &Process) {
    if own().is_none() {
        lower_to(Mark::of(runner));
    }
}

/// Marks this process, and so everything it starts, as what a gate of this board started.
pub fn mark_as_gate(board: &Path) {
    if let Some(mark) = gate_mark(board) {
        lower_to(mark);
    }
}

/// The mark of all that a gate of this board starts.
pub fn gate_mark(board: &Path) -> Option<Mark> {
    board.metadata().ok().map(|meta| Mark::of_gate(meta.dev(), meta.ino()))
}

#[cfg(target_os = "linux")]
fn lower_to(wanted: Mark) {
    for (resource, value) in [(Resource::Locks, wanted.locks), (Resource::Rttime, wanted.rttime)] {
        let _ = setrlimit(resource, Rlimit { current: Some(value), maximum: Some(value) });
    }
}

/// The mark of this process, if it has one.
#[cfg(target_os = "linux")]
pub(super) fn own() -> Option<Mark> {
    let [locks, rttime] = [Resource::Locks, Resource::Rttime].map(|resource| getrlimit(resource).maximum);
    Some(Mark { locks: locks?, rttime: rttime? }).filter(|mark| mark.is_plausible())
}

#[cfg(not(target_os = "linux"))]
fn lower_to(_: Mark) {}

#[cfg(not(target_os = "linux"))]
pub(super) fn own() -> Option<Mark> {
    None
}
