//! Marks all descendants of an agent's command with the identity of its runner.
//!
//! A process in its own pid namespace cannot see its runner, and one whose runner was killed has none. Both still
//! have the limits they inherited. So the holder of an agent's command lowers two limits that have no effect (`LOCKS`
//! since Linux 2.6, `RTTIME` only on real-time processes) to numbers that identify the runner. All descendants
//! inherit hard limits and cannot raise them without a privilege in the first user namespace, and the sum of the two
//! is constant: to take another identity, a process would have to raise one of them.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

#[cfg(target_os = "linux")]
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::board::{Mark, Process};

/// Marks this process, and so everything it starts, as started by this runner's agent. A descendant of another marked
/// process keeps its mark.
pub fn mark_as_agent(runner: &Process) {
    if own().is_none() {
        lower_to(Mark::of(runner));
    }
}

/// Marks this process, and so everything it starts, as started by a gate of this board.
pub fn mark_as_gate(board: &Path) {
    if let Some(mark) = gate_mark(board) {
        lower_to(mark);
    }
}

/// The mark of everything that a gate of this board starts.
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
