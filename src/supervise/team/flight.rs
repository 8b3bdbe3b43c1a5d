//! One runner of a run: how it is started, what it says, and how it is known to have ended.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};
use serde_json::Value;

use crate::board::{AgentId, Board, Status, TaskId};
use crate::policy::run::Start;

use super::super::event::Event;

/// How long the last words of a runner that has ended are listened to: somebody else may hold its pipe for ever.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// So much is kept of what a runner complains about.
const LOG_MOST: usize = 256 * 1024;

pub enum Wake {
    Board,
    Signal(i32),
    Said(AgentId, Box<Event>),
    /// The runner's last word, if it failed.
    Failed(AgentId, String, String),
    Exited(AgentId),
}

/// Where a task stood: while it is the same, nothing came of what was begun on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    status: Status,
    epoch: u64,
    /// An approval that is not enough changes nothing else.
    approvals: usize,
}

impl Found {
    pub fn of(board: &Board, task: &TaskId) -> Option<Self> {
        let task = board.task(task)?;
        let approvals = task.approvals.as_ref().map_or(0, |given| given.by.len());
        Some(Self { status: task.status, epoch: task.epoch, approvals })
    }
}

pub struct Flight {
    child: Child,
    log: PathBuf,
    pub start: Start,
    pub since: Instant,
    pub doing: String,
    /// Why it failed, as it said itself.
    pub failure: Option<(String, String)>,
    /// The last thing it had to remark.
    pub notice: String,
    /// Its agent was cut off at a limit.
    pub limited: bool,
    /// Its agent was halted.
    pub halted: bool,
    /// How the task stood when it was started.
    pub found: Option<Found>,
}

impl Flight {
    pub fn take_off(
        mut command: Command,
        log: PathBuf,
        start: Start,
        found: Option<Found>,
        tx: &Sender<Wake>,
    ) -> std::io::Result<Self> {
        // Ctrl-C is for the run alone.
        command.process_group(0).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let over = Arc::new(AtomicBool::new(false));
        let (heard, all_heard) = channel();
        if let Some(pipe) = child.stdout.take() {
            let (agent, tx, over, heard) = (start.agent.clone(), tx.clone(), over.clone(), heard.clone());
            std::thread::spawn(move || {
                listen_to(pipe, &agent, &tx, &over);
                drop(heard);
            });
        }
        if let Some(pipe) = child.stderr.take() {
            let file = new_log(&log);
            std::thread::spawn(move || {
                keep(pipe, file);
                drop(heard);
            });
        }
        tell_the_end(child.id(), start.agent.clone(), tx.clone(), all_heard, over);
        Ok(Self {
            child,
            log,
            start,
            since: Instant::now(),
            doing: "starting".to_owned(),
            failure: None,
            notice: String::new(),
            limited: false,
            halted: false,
            found,
        })
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    fn pid(&self) -> Option<Pid> {
        i32::try_from(self.child.id()).ok().and_then(Pid::from_raw)
    }

    pub fn ask_to_end(&self) {
        if let Some(pid) = self.pid() {
            let _ = rustix::process::kill_process(pid, Signal::TERM);
        }
    }

    /// Ends it and its group at once; its agent dies with it.
    pub fn kill(&self) {
        if let Some(pid) = self.pid() {
            let _ = rustix::process::kill_process_group(pid, Signal::KILL);
        }
    }

    /// To be called when it is known to have ended.
    pub fn reap(&mut self) -> Option<ExitStatus> {
        self.child.wait().ok()
    }

    pub fn is_over(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Where its complaints are, if it had any.
    pub fn log(&self) -> Option<&Path> {
        let said_something = self.log.metadata().is_ok_and(|meta| meta.len() > 0);
        said_something.then_some(self.log.as_path())
    }
}

pub fn ended(status: Option<ExitStatus>) -> String {
    match (status.and_then(|status| status.code()), status.and_then(|status| status.signal())) {
        (Some(code), _) => format!("ended with exit {code}"),
        (None, Some(signal)) => format!("was killed by signal {signal}"),
        _ => "was lost".to_owned(),
    }
}

/// Waits for the process itself: the end of its output proves nothing, as others may hold the pipe. It is not reaped by
/// that, so its number stays its own.
fn tell_the_end(id: u32, agent: AgentId, tx: Sender<Wake>, all_heard: Receiver<()>, over: Arc<AtomicBool>) {
    let pid = i32::try_from(id).ok().and_then(Pid::from_raw);
    std::thread::spawn(move || {
        if let Some(pid) = pid {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            while let Err(rustix::io::Errno::INTR) = rustix::process::waitid(WaitId::Pid(pid), options) {}
        }
        let _ = all_heard.recv_timeout(LAST_WORDS);
        over.store(true, Ordering::Relaxed);
        let _ = tx.send(Wake::Exited(agent));
    });
}

/// Passes on what a runner says. What comes when it is gone is not its own.
fn listen_to(pipe: impl Read, agent: &AgentId, tx: &Sender<Wake>, over: &AtomicBool) {
    let mut pipe = BufReader::new(pipe);
    let mut line = Vec::new();
    while pipe.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
        if !over.load(Ordering::Relaxed) {
            if let Ok(event) = serde_json::from_slice::<Event>(&line) {
                let _ = tx.send(Wake::Said(agent.clone(), Box::new(event)));
            } else if let Ok(answer) = serde_json::from_slice::<Value>(&line)
                && answer["ok"] == false
            {
                let text = |key: &str| answer["error"][key].as_str().unwrap_or_default().to_owned();
                let _ = tx.send(Wake::Failed(agent.clone(), text("code"), text("message")));
            }
        }
        line.clear();
    }
}

/// An empty file that only its owner can read; a run does without it if there can be none.
fn new_log(path: &Path) -> Option<std::fs::File> {
    crate::store::files::make_private_dirs(path.parent()?).ok()?;
    let _ = std::fs::remove_file(path);
    std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).ok()
}

/// Keeps the beginning and reads the rest, so that whoever writes is never held up.
fn keep(mut pipe: impl Read, mut file: Option<std::fs::File>) {
    let mut room = LOG_MOST;
    let mut buffer = [0; 8192];
    loop {
        match pipe.read(&mut buffer) {
            Ok(0) => return,
            Ok(read) => {
                let kept = read.min(room);
                room -= kept;
                if let (Some(to), Some(bytes)) = (&mut file, buffer.get(..kept))
                    && to.write_all(bytes).is_err()
                {
                    file = None;
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::Role;

    #[test]
    fn whoever_holds_the_pipe_of_a_runner_does_not_hold_the_run() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("runs/.coder-1/runner.log");
        let mut command = Command::new("sh");
        command.args([
            "-c",
            "echo oops >&2; echo '{\"ok\":false,\"error\":{\"code\":\"a.b\"}}'; sleep 600 & exit 3",
        ]);
        let agent = AgentId::new("coder-1").unwrap();
        let start = Start { agent: agent.clone(), role: Role::coder(), task: None, woken: Vec::new() };
        let (tx, rx) = channel();
        let mut flight = Flight::take_off(command, log.clone(), start, None, &tx).unwrap();
        let next = || rx.recv_timeout(Duration::from_secs(30)).unwrap();
        assert!(matches!(next(), Wake::Failed(by, code, _) if by == agent && code == "a.b"));
        assert!(matches!(next(), Wake::Exited(by) if by == agent));
        flight.kill();
        assert_eq!(ended(flight.reap()), "ended with exit 3");
        assert_eq!(flight.log(), Some(log.as_path()));
        assert_eq!(std::fs::read_to_string(&log).unwrap(), "oops\n");
    }
}
