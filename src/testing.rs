//! What unit tests of several rooms share.

use std::ops::{Deref, DerefMut};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

/// Far longer than any process of a unit test takes, also on a busy machine.
const DEADLINE: Duration = Duration::from_secs(120);

/// How far a sweep goes: a short way in the suite, the whole way with `LIZA_SWEEP=full` (`scripts/torture suite`).
#[expect(clippy::disallowed_methods, reason = "tests are steered by the environment")]
pub fn sweep<T>(short: T, full: T) -> T {
    if std::env::var_os("LIZA_SWEEP").is_some_and(|value| value == "full") { full } else { short }
}

/// A temporary directory, in memory where the machine has room there; `LIZA_TEST_ON_DISK` chooses the disk.
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
    finish_within(command, DEADLINE)
}

#[track_caller]
fn finish_within(command: &mut Command, deadline: Duration) -> Output {
    let what = format!("{command:?}");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = start_within(command, deadline);
    let child = running.child.take().expect("a process is waited for once");
    let output = child.wait_with_output().unwrap_or_else(|error| panic!("{what}: {error}"));
    assert!(
        !running.expired(),
        "killed after its deadline: {what}\nstdout: {}\nstderr: {}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

/// Starts a process that is killed at the deadline, or when this is dropped.
#[track_caller]
pub fn start(command: &mut Command) -> Running {
    start_within(command, DEADLINE)
}

#[track_caller]
fn start_within(command: &mut Command, deadline: Duration) -> Running {
    let child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let pid = child.id();
    let (ended, ending) = channel::<()>();
    let watcher = std::thread::spawn(move || {
        let expired = ending.recv_timeout(deadline) == Err(RecvTimeoutError::Timeout);
        if expired {
            kill_with_descendants(pid);
        }
        expired
    });
    Running { child: Some(child), ended: Some(ended), watcher: Some(watcher) }
}

pub struct Running {
    child: Option<Child>,
    ended: Option<Sender<()>>,
    watcher: Option<JoinHandle<bool>>,
}

impl Running {
    /// Ends the watch; true if the process was killed at its deadline.
    fn expired(&mut self) -> bool {
        self.ended = None;
        self.watcher.take().is_some_and(|watcher| watcher.join().unwrap_or(true))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.expired();
        if let Some(child) = &mut self.child
            && let Ok(None) = child.try_wait()
        {
            kill_with_descendants(child.id());
            let _ = child.wait();
        }
    }
}

impl Deref for Running {
    type Target = Child;
    fn deref(&self) -> &Child {
        self.child.as_ref().expect("a process is waited for once")
    }
}

impl DerefMut for Running {
    fn deref_mut(&mut self) -> &mut Child {
        self.child.as_mut().expect("a process is waited for once")
    }
}

/// The descendants first: without their parent they could no longer be found.
fn kill_with_descendants(pid: u32) {
    for one in crate::host::descendants_of(pid).into_iter().rev().chain([pid]) {
        if let Some(one) = i32::try_from(one).ok().and_then(Pid::from_raw) {
            let _ = kill_process(one, Signal::KILL);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The shell's child keeps the output open and has left the process group.
    #[test]
    #[cfg(target_os = "linux")]
    #[expect(clippy::disallowed_methods, reason = "the deadline of a process is what is tested")]
    fn deadline_kills_process_and_descendants() {
        let mut shell = Command::new("sh");
        shell.args(["-c", "echo begun; setsid sleep 600 & wait"]);
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            finish_within(&mut shell, Duration::from_millis(300))
        }));
        let why = ended.err().and_then(|why| why.downcast::<String>().ok()).expect("the test fails");
        assert!(why.contains("killed after its deadline") && why.contains("begun"), "{why}");
    }
}
