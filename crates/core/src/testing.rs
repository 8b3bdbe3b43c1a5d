//! Helpers for the unit tests of several rooms.

#[path = "../../../tests/cli/support/process.rs"]
#[allow(dead_code, clippy::disallowed_methods, reason = "shared with the tests through the binary")]
mod process;

use std::process::{Command, Output, Stdio};

use process::Bounded;
pub use process::{Running, Watch};

/// The extent of a sweep: short in the suite, whole with `LIZA_SWEEP=full` (`scripts/torture suite`).
#[expect(clippy::disallowed_methods, reason = "tests are steered by the environment")]
pub fn sweep<T>(short: T, full: T) -> T {
    if std::env::var_os("LIZA_SWEEP").is_some_and(|value| value == "full") { full } else { short }
}

/// A temporary directory, in memory if there is space; `LIZA_TEST_ON_DISK` chooses the disk.
#[expect(clippy::disallowed_methods, reason = "tests are steered by the environment")]
pub fn temporary_dir() -> tempfile::TempDir {
    const ROOM: u64 = 1 << 30;
    let memory = std::path::Path::new("/dev/shm");
    let free = rustix::fs::statvfs(memory).map_or(0, |found| found.f_bavail.saturating_mul(found.f_frsize));
    let in_memory = (free >= ROOM && std::env::var_os("LIZA_TEST_ON_DISK").is_none())
        .then(|| tempfile::tempdir_in(memory).ok())
        .flatten();
    in_memory.unwrap_or_else(|| tempfile::tempdir().unwrap())
}

/// Runs a process to its end and captures what it prints; kills it and fails the test at the deadline.
#[track_caller]
pub fn finish(command: &mut Command) -> Output {
    command.stdin(Stdio::null());
    Bounded::finish(command).unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

/// Starts a process that is killed at the deadline, or when this is dropped.
#[track_caller]
pub fn start(command: &mut Command) -> Running {
    Bounded::start(command).unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

/// Kills the children of this process at the deadline: flows start git without one. Ends with the test that holds it.
pub fn deadline_of_children() -> Watch {
    Watch::over(std::process::id(), None, process::DEADLINE)
}
