//! Starts the processes of tests, each with a deadline. At the deadline the process, its descendants and all processes
//! with the same HOME are killed, and the test fails with the process's output.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{Read, Result};
use std::ops::{Deref, DerefMut};
use std::os::unix::ffi::OsStrExt as _;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Far longer than any process of the suite takes, even on a busy machine.
pub const DEADLINE: Duration = Duration::from_secs(240);

/// The only ways in which tests start processes; `tests/architecture.rs` refuses others.
pub trait Bounded {
    /// Runs the process to its end and captures its output.
    fn finish(&mut self) -> Result<Output>;

    /// Runs the process to its end, with its output as configured.
    fn finish_status(&mut self) -> Result<ExitStatus>;

    /// Starts the process with its output as configured.
    fn start(&mut self) -> Result<Running>;

    fn start_within(&mut self, deadline: Duration) -> Result<Running>;
}

impl Bounded for Command {
    fn finish(&mut self) -> Result<Output> {
        self.stdout(Stdio::piped()).stderr(Stdio::piped()).start()?.wait_with_output()
    }

    fn finish_status(&mut self) -> Result<ExitStatus> {
        self.start()?.wait()
    }

    fn start(&mut self) -> Result<Running> {
        self.start_within(DEADLINE)
    }

    fn start_within(&mut self, deadline: Duration) -> Result<Running> {
        let what = format!("{self:?}");
        let child = self.spawn()?;
        let home = home_of(self);
        let watch = Watch::over(child.id(), home.clone(), deadline);
        Ok(Running { child: Some(child), home, watch, ends: Instant::now() + deadline, what })
    }
}

/// A running process. It is killed when this is dropped.
pub struct Running {
    child: Option<Child>,
    home: Option<OsString>,
    watch: Watch,
    ends: Instant,
    what: String,
}

impl Running {
    /// Waits for the process to end; fails the test at the deadline.
    #[track_caller]
    pub fn wait(&mut self) -> Result<ExitStatus> {
        let status = self.deref_mut().wait();
        self.watch.end();
        assert!(!self.watch.expired(), "killed after its deadline: {}", self.what);
        status
    }

    /// Waits for the process to end and for all output; fails the test at the deadline.
    #[track_caller]
    pub fn wait_with_output(mut self) -> Result<Output> {
        let mut child = self.child.take().expect("a process is waited for once");
        drop(child.stdin.take());
        let stdout = Reading::of(child.stdout.take());
        let stderr = Reading::of(child.stderr.take());
        let status = child.wait()?;
        // A detached process may keep the output open.
        let whole = stdout.ends_before(self.ends) && stderr.ends_before(self.ends);
        self.watch.end();
        let (stdout, stderr) = (stdout.bytes(), stderr.bytes());
        assert!(
            whole && !self.watch.expired(),
            "killed after its deadline: {}\nstdout: {}\nstderr: {}",
            self.what,
            String::from_utf8_lossy(&stdout),
            String::from_utf8_lossy(&stderr)
        );
        Ok(Output { status, stdout, stderr })
    }

    /// Lets the process run on after the test, until its deadline.
    pub fn leave(mut self) {
        self.child = None;
        self.watch.leave();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let Some(child) = &mut self.child else { return };
        if let Ok(None) = child.try_wait() {
            kill_family(child.id(), self.home.as_ref());
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

/// The output of a process, read by its own thread.
struct Reading {
    read: Arc<Mutex<Vec<u8>>>,
    ended: Receiver<()>,
}

impl Reading {
    fn of(pipe: Option<impl Read + Send + 'static>) -> Self {
        let read = Arc::new(Mutex::new(Vec::new()));
        let (end, ended) = channel();
        if let Some(mut pipe) = pipe {
            let read = Arc::clone(&read);
            std::thread::spawn(move || {
                let mut some = [0; 8192];
                while let Ok(count @ 1..) = pipe.read(&mut some) {
                    read.lock().expect("the bytes").extend(&some[..count]);
                }
                drop(end);
            });
        }
        Self { read, ended }
    }

    /// Whether the pipe is closed at that time, plus some time for killed processes to end.
    fn ends_before(&self, time: Instant) -> bool {
        let patience = time.saturating_duration_since(Instant::now()) + Duration::from_secs(5);
        self.ended.recv_timeout(patience) == Err(RecvTimeoutError::Disconnected)
    }

    fn bytes(&self) -> Vec<u8> {
        self.read.lock().expect("the bytes").clone()
    }
}

/// A thread that kills a process and its relatives at the deadline, unless it is cancelled before.
pub struct Watch {
    ended: Option<Sender<()>>,
    expired: Arc<AtomicBool>,
}

impl Watch {
    pub fn over(pid: u32, home: Option<OsString>, deadline: Duration) -> Self {
        let (ended, ending) = channel::<()>();
        let expired = Arc::new(AtomicBool::new(false));
        let watched = Arc::clone(&expired);
        std::thread::spawn(move || {
            if ending.recv_timeout(deadline).is_err_and(|why| why == RecvTimeoutError::Timeout) {
                watched.store(true, Ordering::SeqCst);
                kill_family(pid, home.as_ref());
            }
        });
        Self { ended: Some(ended), expired }
    }

    fn end(&mut self) {
        self.ended = None;
    }

    fn leave(&mut self) {
        std::mem::forget(self.ended.take());
    }

    fn expired(&self) -> bool {
        self.expired.load(Ordering::SeqCst)
    }
}

fn home_of(command: &Command) -> Option<OsString> {
    command.get_envs().find(|(name, _)| *name == "HOME").and_then(|(_, value)| value.map(OsString::from))
}

/// Kills a process, its descendants and all processes with this HOME, until none is left.
fn kill_family(pid: u32, home: Option<&OsString>) {
    for _ in 0..100 {
        let family = family(pid, home);
        for member in &family {
            if let Some(pid) = i32::try_from(*member).ok().and_then(rustix::process::Pid::from_raw) {
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
        }
        if family.is_empty() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn family(pid: u32, home: Option<&OsString>) -> BTreeSet<u32> {
    let home = home.map(|home| [b"HOME=", home.as_bytes()].concat());
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let living: Vec<(u32, u32)> = entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(|pid: u32| Some((pid, parent_of_living(pid)?)))
        .collect();
    let has_home = |pid: u32| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        home.as_ref().is_some_and(|home| environment.split(|byte| *byte == 0).any(|one| one == home))
    };
    let member = |(one, _): &&(u32, u32)| *one == pid || has_home(*one);
    let mut family: BTreeSet<u32> = living.iter().filter(member).map(|(one, _)| *one).collect();
    loop {
        let known = family.len();
        family.extend(
            living
                .iter()
                .filter(|(_, parent)| family.contains(parent))
                .map(|(one, _)| *one)
                .collect::<Vec<_>>(),
        );
        if family.len() == known {
            family.remove(&std::process::id());
            return family;
        }
    }
}

/// None for a process that has ended and was not waited for.
fn parent_of_living(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The program's name is in brackets and may contain any character.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    (!matches!(state, "Z" | "X")).then_some(parent)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The shell ends only when its child does; the child keeps the output open and has left the process group.
    #[test]
    fn deadline_kills_process_and_descendants() {
        let home = tempfile::tempdir().expect("a directory");
        let mut shell = Command::new("sh");
        shell.args(["-c", "echo begun; setsid sleep 600 & wait"]).env("HOME", home.path());
        shell.stdout(Stdio::piped()).stderr(Stdio::piped());
        let running = shell.start_within(Duration::from_millis(300)).expect("a shell");
        let pid = running.id();
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| running.wait_with_output()));
        let why = ended.err().and_then(|why| why.downcast::<String>().ok()).expect("the test fails");
        assert!(why.contains("killed after its deadline") && why.contains("begun"), "{why}");
        assert_eq!(family(pid, Some(&home.path().into())), BTreeSet::new());
    }

    /// The shell ends and leaves a process that keeps its output open.
    #[test]
    fn freed_process_does_not_block_a_test() {
        let mut shell = Command::new("sh");
        shell.args(["-c", "echo begun; setsid sleep 20 & exit 0"]);
        shell.stdout(Stdio::piped()).stderr(Stdio::piped());
        let running = shell.start_within(Duration::from_millis(300)).expect("a shell");
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| running.wait_with_output()));
        let why = ended.err().and_then(|why| why.downcast::<String>().ok()).expect("the test fails");
        assert!(why.contains("begun"), "{why}");
    }

    #[test]
    fn dropped_process_is_killed() {
        let mut sleep = Command::new("sleep");
        let running = sleep.arg("600").start().expect("sleep");
        let pid = running.id();
        drop(running);
        assert_eq!(family(pid, None), BTreeSet::new());
    }
}
