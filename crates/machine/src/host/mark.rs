//! Marks all descendants of an agent's command with the identity of its runner.
//!
//! A process in its own pid namespace cannot see its runner, and one whose runner was killed has none. Both still
//! have the limits they inherited. So the holder of an agent's command lowers two limits that have no effect (`LOCKS`
//! since Linux 2.6, `RTTIME` only on real-time processes) to numbers that identify the runner. All descendants
//! inherit hard limits and cannot raise them without a privilege in the first user namespace, and the sum of the two
//! is constant: to take another identity, a process would have to raise one of them. The limits are read from /proc: a
//! process may make the system call for them fail (a filter, a tracer), and limits that cannot be read count as hidden.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

#[cfg(target_os = "linux")]
use rustix::process::{Resource, Rlimit, setrlimit};

use super::procfs;
use crate::board::{Hidden, Mark, Process};

/// Marks this process, and so everything it starts, as started by this runner's agent. A descendant of another marked
/// process keeps its mark.
pub fn mark_as_agent(runner: &Process) {
    if !matches!(own(), Ok(Some(_))) {
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
pub(super) fn own() -> Result<Option<Mark>, Hidden> {
    let mut buffer = [0; 4096];
    let limits = procfs::checked()?.read(procfs::this_pid(), "limits", &mut buffer);
    let limits = limits.ok().and_then(|bytes| std::str::from_utf8(bytes).ok()).ok_or(Hidden::Processes)?;
    let locks = hard_limit(limits, "Max file locks").ok_or(Hidden::Processes)?;
    let rttime = hard_limit(limits, "Max realtime timeout").ok_or(Hidden::Processes)?;
    let mark = locks.zip(rttime).map(|(locks, rttime)| Mark { locks, rttime });
    Ok(mark.filter(|mark| mark.is_plausible()))
}

/// The hard limit in one row of /proc/PID/limits; `None` inside means that there is no limit.
#[cfg(target_os = "linux")]
fn hard_limit(limits: &str, name: &str) -> Option<Option<u64>> {
    let row = limits.lines().find_map(|line| line.strip_prefix(name))?;
    match row.split_whitespace().nth(1)? {
        "unlimited" => Some(None),
        number => number.parse().ok().map(Some),
    }
}

#[cfg(not(target_os = "linux"))]
fn lower_to(_: Mark) {}

#[cfg(not(target_os = "linux"))]
pub(super) fn own() -> Result<Option<Mark>, Hidden> {
    Ok(None)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn hard_limits_are_read_from_their_rows() {
        let limits = "Limit                     Soft Limit           Hard Limit           Units     \n\
                      Max file locks            7                    4611686018427387904  locks     \n\
                      Max realtime timeout      unlimited            unlimited            us        \n";
        assert_eq!(hard_limit(limits, "Max file locks"), Some(Some(4_611_686_018_427_387_904)));
        assert_eq!(hard_limit(limits, "Max realtime timeout"), Some(None));
        assert_eq!(hard_limit(limits, "Max something"), None, "a missing row is no missing limit");
        assert_eq!(hard_limit("Max file locks\n", "Max file locks"), None);
        assert_eq!(hard_limit("Max file locks  1 x locks\n", "Max file locks"), None);
    }
}
