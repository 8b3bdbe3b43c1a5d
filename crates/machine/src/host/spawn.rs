//! Starts other programs: git, agents, their runners, gates and liza itself.
//!
//! The caller sets what differs: the environment, the input, where the output goes, and whether the program has its
//! own process group. A program that must not outlive this process is *held*: `liza __hold` stands in between and
//! ends it, and everything it started, when this process dies. The holder is an ordinary child and starts its program
//! from here too. The caller decides what to do with the output (keep, cut, search, count) and how long to wait.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Output, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};

use crate::board::Process;

use super::parallel::start_thread;
use super::process::{HOLD, HOLD_GATE, descendants_of, pid_of, process, this_program};
use super::procfs::this_pid;

/// How long a holder may take to end its program.
pub const HOLDER_PATIENCE: Duration = Duration::from_secs(10);

/// How long a program may print nothing before it is looked at; each look doubles it.
const FIRST_SILENCE: Duration = Duration::from_secs(2);
const LONGEST_SILENCE: Duration = Duration::from_secs(30);
const CHUNK: usize = 64 * 1024;

/// Reads what is there; true at the end.
fn read_more(pipe: Option<&mut impl Read>, into: &mut Vec<u8>) -> io::Result<bool> {
    let Some(pipe) = pipe else { return Ok(true) };
    let length = into.len();
    into.resize(length + CHUNK, 0);
    let read = loop {
        match pipe.read(&mut into[length..]) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => break read,
        }
    };
    into.truncate(length + *read.as_ref().unwrap_or(&0));
    Ok(read? == 0)
}

/// Where the output of a program goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Streams {
    /// To the streams of this process; it also reads this process's input.
    Inherited,
    /// Standard output and standard error through separate pipes.
    Apart,
    /// Both through one pipe, read as standard output.
    Together,
    /// Standard output through a pipe; standard error is dropped.
    OutputOnly,
}

/// A program to be started.
#[derive(Debug)]
pub struct Program {
    command: Command,
    streams: Streams,
    stdin: Option<Vec<u8>>,
    keeps_stdin: bool,
    is_held: bool,
    for_gate: bool,
}

impl Program {
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        let command = Command::new(program);
        let streams = Streams::Inherited;
        Self { command, streams, stdin: None, keeps_stdin: false, is_held: false, for_gate: false }
    }

    /// A program that dies with this process. Processes it leaves behind become children of this process, if that
    /// adopts orphans.
    pub fn held(program: impl AsRef<OsStr>) -> Self {
        let held = Self::new(this_program()).arg(HOLD).arg(this_pid().to_string()).arg("--").arg(program);
        Self { is_held: true, ..held }
    }

    /// A program that dies with this process, whose descendants do not outlive it and cannot act on this board.
    pub fn held_for_gate(board: &Path, program: impl AsRef<OsStr>) -> Self {
        let holder = Self::new(this_program()).args([HOLD, HOLD_GATE]).arg(board);
        let held = holder.arg(this_pid().to_string()).arg("--").arg(program);
        Self { is_held: true, for_gate: true, ..held }
    }

    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.command.arg(arg);
        self
    }

    pub fn args<S: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.command.args(args);
        self
    }

    pub fn dir(mut self, dir: &Path) -> Self {
        self.command.current_dir(dir);
        self
    }

    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Gives it this environment and no variable of this process.
    pub fn only_env(mut self, env: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        self.command.env_clear().envs(env);
        self
    }

    /// Withholds these variables of this process.
    pub fn without_env(mut self, is_kept_back: impl Fn(&str) -> bool) -> Self {
        for (name, _) in std::env::vars_os().filter(|(name, _)| is_kept_back(&name.to_string_lossy())) {
            self.command.env_remove(name);
        }
        self
    }

    /// Signals to this process's group, as by Ctrl-C, do not reach it; its own group can be ended as a whole.
    pub fn own_group(mut self) -> Self {
        // A holder makes its own session, which is also a group; the leader of a group could not.
        if !self.is_held {
            self.command.process_group(0);
        }
        self
    }

    pub fn streams(mut self, streams: Streams) -> Self {
        self.streams = streams;
        self
    }

    /// Its input. Without this call it has none, unless its streams are inherited.
    pub fn stdin(mut self, bytes: Option<Vec<u8>>) -> Self {
        self.stdin = bytes;
        self
    }

    /// Its input is written while it runs.
    pub fn keeping_stdin(mut self) -> Self {
        self.keeps_stdin = true;
        self
    }

    pub fn start(self) -> io::Result<Child> {
        let Self { mut command, streams, stdin, keeps_stdin, for_gate, .. } = self;
        let mut together = None;
        match streams {
            Streams::Inherited => &mut command,
            Streams::Apart => command.stdout(Stdio::piped()).stderr(Stdio::piped()),
            Streams::OutputOnly => command.stdout(Stdio::piped()).stderr(Stdio::null()),
            Streams::Together => {
                let (reader, writer) = io::pipe()?;
                together = Some(reader);
                command.stdout(writer.try_clone()?).stderr(writer)
            }
        };
        if stdin.is_some() || keeps_stdin {
            command.stdin(Stdio::piped());
        } else if streams != Streams::Inherited {
            command.stdin(Stdio::null());
        }
        let mut child = command.spawn()?;
        // Close this process's copies of the pipe's end, or its reader never sees the end.
        drop(command);
        let pid = pid_of(child.id()).ok_or_else(|| io::Error::other("the new process has no number"))?;
        // A thread feeds it while this one reads: with both pipes full neither side would continue.
        let kept = if keeps_stdin { child.stdin.take() } else { None };
        let feeder = child.stdin.take().zip(stdin).map(|(mut pipe, bytes)| {
            start_thread(move || {
                // It may stop reading early; its exit status then says why.
                let _ = pipe.write_all(&bytes);
            })
        });
        let feeder = feeder.transpose().inspect_err(|_| {
            let _ = child.kill().and_then(|()| child.wait());
        })?;
        let stdout = together.map(|pipe| ChildStdout::from(OwnedFd::from(pipe))).or(child.stdout.take());
        let stderr = child.stderr.take();
        Ok(Child { child, pid, feeder, for_gate, stdin: kept, stdout, stderr })
    }

    /// Runs it to its end, however long that takes, and returns all its output.
    pub fn output(self) -> io::Result<Output> {
        self.streams(Streams::Apart).start()?.output()
    }
}

/// A program that was started.
#[derive(Debug)]
pub struct Child {
    child: std::process::Child,
    pid: Pid,
    feeder: Option<JoinHandle<()>>,
    for_gate: bool,
    /// Set if the input is written while it runs.
    pub stdin: Option<ChildStdin>,
    pub stdout: Option<ChildStdout>,
    pub stderr: Option<ChildStderr>,
}

impl Child {
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn process(&self) -> Process {
        process(self.child.id())
    }

    /// Calls back when it has ended: the end of its output proves nothing, because other processes may hold the pipe.
    /// This does not reap it: until `wait` no other process can get its pid.
    ///
    /// If no thread can be started for that, ends the program: its end would never be noticed.
    pub fn on_exit(&mut self, tell: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let pid = self.pid;
        let started = start_thread(move || {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            while let Err(rustix::io::Errno::INTR) = rustix::process::waitid(WaitId::Pid(pid), options) {}
            tell();
        });
        started.map(|_| ()).inspect_err(|_| self.end())
    }

    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        self.child.wait()
    }

    /// Waits at most `patience` for its end, and returns as soon as it ends.
    pub fn wait_within(&mut self, patience: Duration) -> io::Result<Option<ExitStatus>> {
        if let Some(status) = self.child.try_wait()? {
            return Ok(Some(status));
        }
        // Only this process reaps it, so the pid is still its own.
        match rustix::process::pidfd_open(self.pid, rustix::process::PidfdFlags::empty()) {
            Ok(end) => {
                let timeout =
                    Timespec { tv_sec: patience.as_secs() as i64, tv_nsec: patience.subsec_nanos().into() };
                let _ = poll(&mut [PollFd::new(&end, PollFlags::IN)], Some(&timeout));
            }
            // An old kernel, or no descriptor is left.
            Err(_) => std::thread::sleep(patience.min(Duration::from_millis(5))),
        }
        self.child.try_wait()
    }

    /// Waits for its end and returns all its output.
    pub fn output(mut self) -> io::Result<Output> {
        self.child.stdout = self.stdout;
        self.child.stderr = self.stderr;
        let output = self.child.wait_with_output()?;
        if let Some(feeder) = self.feeder {
            let _ = feeder.join();
        }
        Ok(output)
    }

    /// The same for a program that prints to two pipes. Whenever nothing comes for a while, `is_stuck` is asked; once it says
    /// so, ends the program and returns none.
    pub fn output_unless(mut self, is_stuck: impl Fn(u32) -> bool) -> io::Result<Option<Output>> {
        let (mut out, mut err) = (self.stdout.take(), self.stderr.take());
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let mut patience = FIRST_SILENCE;
        while out.is_some() || err.is_some() {
            let timeout = Timespec { tv_sec: patience.as_secs() as i64, tv_nsec: 0 };
            let open = out.iter().map(AsFd::as_fd).chain(err.iter().map(AsFd::as_fd));
            let mut waiting: Vec<PollFd<'_>> =
                open.map(|pipe| PollFd::from_borrowed_fd(pipe, PollFlags::IN)).collect();
            match poll(&mut waiting, Some(&timeout)) {
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
                Ok(0) if is_stuck(self.id()) => {
                    // So that it removes its locks.
                    self.signal(Signal::TERM);
                    if !matches!(self.wait_within(Duration::from_secs(1)), Ok(Some(_))) {
                        self.end();
                    }
                    return Ok(None);
                }
                Ok(0) => patience = (patience * 2).min(LONGEST_SILENCE),
                Ok(_) => {
                    let ready: Vec<bool> = waiting.iter().map(|pipe| !pipe.revents().is_empty()).collect();
                    let first = out.is_some();
                    if first && ready[0] && read_more(out.as_mut(), &mut stdout)? {
                        out = None;
                    }
                    if ready.get(usize::from(first)) == Some(&true) && read_more(err.as_mut(), &mut stderr)? {
                        err = None;
                    }
                }
            }
        }
        let status = self.child.wait()?;
        if let Some(feeder) = self.feeder {
            let _ = feeder.join();
        }
        Ok(Some(Output { status, stdout, stderr }))
    }

    /// To be called before it is reaped.
    pub fn signal(&self, signal: Signal) {
        let _ = rustix::process::kill_process(self.pid, signal);
    }

    /// Reaches every process in its group, also those in the background.
    pub fn signal_group(&self, signal: Signal) {
        // A holder that has just been started has no group yet.
        if rustix::process::kill_process_group(self.pid, signal) == Err(rustix::io::Errno::SRCH) {
            self.signal(signal);
        }
    }

    /// Ends it and its group, with everything it holds for a gate, and waits for it.
    pub fn end(&mut self) {
        if self.for_gate {
            self.end_held();
        }
        self.signal_group(Signal::KILL);
        let _ = self.child.wait();
    }

    /// Makes the holder end its program, and does that itself if the holder cannot: it may be stopped.
    fn end_held(&mut self) {
        self.signal(Signal::USR1);
        // The held program may have stopped the holder.
        self.signal(Signal::CONT);
        let deadline = Instant::now() + HOLDER_PATIENCE;
        while Instant::now() < deadline {
            match self.child.try_wait() {
                Ok(None) => std::thread::sleep(Duration::from_millis(5)),
                _ => return,
            }
        }
        for pid in descendants_of(self.id()).into_iter().filter_map(pid_of) {
            let _ = rustix::process::kill_process(pid, Signal::KILL);
        }
    }
}
