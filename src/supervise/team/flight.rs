//! One runner of a run: how it is started, what it says, and how it is known to have ended.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::host::start_thread;
use crate::policy::run::Start;

use super::super::event::ChildAnswer;
use super::super::next_piece::Piece;
use super::super::prelude::*;
use crate::store::files::FileIdentity;

/// How long the run reads the output of a runner that has ended: another process may keep its pipe open for ever.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// So much is kept of what a runner complains about.
const LOG_MOST: usize = 256 * 1024;

pub enum Wake {
    Board,
    Signal(i32),
    Said(AgentId, Box<Event>),
    /// The runner's last word, if it failed.
    Failed(AgentId, Option<ErrorCode>, String),
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
    pub failure: Option<(Option<ErrorCode>, String)>,
    /// The last thing it had to remark.
    pub notice: String,
    /// Its agent was cut off at a limit.
    pub limited: bool,
    /// Its agent was halted.
    pub halted: bool,
    /// Its provider has no quota for the moment.
    pub parked: bool,
    /// How the task stood when it was started.
    pub found: Option<Found>,
    /// Since when it has nothing to do and could get something.
    pub free_since: Option<Instant>,
    /// Which liza.yaml there was when it was started.
    pub settings: Option<FileIdentity>,
}

/// A runner that cannot be listened to is ended.
fn ended_without<T>(child: &mut Child, thread: std::io::Result<T>) -> std::io::Result<()> {
    thread.map(|_| ()).inspect_err(|_| child.end())
}

impl Flight {
    pub fn take_off(
        runner: Program,
        log: PathBuf,
        start: Start,
        found: Option<Found>,
        tx: &Sender<Wake>,
    ) -> std::io::Result<Self> {
        // Ctrl-C is for the run alone.
        let mut child = runner.own_group().streams(Streams::Apart).keeping_stdin().start()?;
        let over = Arc::new(AtomicBool::new(false));
        let (heard, all_heard) = channel::<()>();
        if let Some(pipe) = child.stdout.take() {
            let (agent, tx, over, heard) = (start.agent.clone(), tx.clone(), over.clone(), heard.clone());
            ended_without(
                &mut child,
                start_thread(move || {
                    listen_to(pipe, &agent, &tx, &over);
                    drop(heard);
                }),
            )?;
        }
        if let Some(pipe) = child.stderr.take() {
            // A run does without it if there can be none.
            let file = crate::host::place::new_file(&log).ok();
            ended_without(
                &mut child,
                start_thread(move || {
                    keep(pipe, file);
                    drop(heard);
                }),
            )?;
        }
        let (agent, tx) = (start.agent.clone(), tx.clone());
        child.on_exit(move || {
            let _ = all_heard.recv_timeout(LAST_WORDS);
            over.store(true, Ordering::Relaxed);
            let _ = tx.send(Wake::Exited(agent));
        })?;
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
            parked: false,
            found,
            free_since: None,
            settings: None,
        })
    }

    /// Whether it has done what it was given.
    pub fn is_free(&self) -> bool {
        self.free_since.is_some()
    }

    /// It can get the next piece of work.
    pub fn free(&mut self) {
        self.free_since = Some(Instant::now());
        self.start.task = None;
        (self.notice, self.doing) = (String::new(), "idle".to_owned());
        (self.limited, self.halted, self.found) = (false, false, None);
    }

    /// Gives it the next piece of work. One that has ended meanwhile is known to have done so soon.
    pub fn hand(&mut self, start: Start, found: Option<Found>) {
        let piece = Piece { task: start.task.clone() };
        if let Some(stdin) = &mut self.child.stdin {
            let _ = stdin.write_all(format!("{}\n", to_json_line(&piece)).as_bytes());
        }
        (self.start, self.found, self.free_since) = (start, found, None);
        (self.since, self.doing) = (Instant::now(), "starting".to_owned());
    }

    /// It leaves, for nothing more comes; until it has left, its seat is taken.
    pub fn dismiss(&mut self) {
        self.free_since = None;
        drop(self.child.stdin.take());
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn ask_to_end(&self) {
        self.child.signal(Signal::TERM);
    }

    /// Ends it and its group at once; its agent dies with it.
    pub fn kill(&self) {
        self.child.signal_group(Signal::KILL);
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

/// Passes on what a runner says. What comes when it is gone is not its own.
fn listen_to(pipe: impl Read, agent: &AgentId, tx: &Sender<Wake>, over: &AtomicBool) {
    let mut pipe = BufReader::new(pipe);
    let mut line = Vec::new();
    while pipe.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
        if !over.load(Ordering::Relaxed) {
            if let Ok(event) = serde_json::from_slice::<Event>(&line) {
                let _ = tx.send(Wake::Said(agent.clone(), Box::new(event)));
            } else if let Ok(answer) = serde_json::from_slice::<ChildAnswer>(&line)
                && !answer.ok
            {
                let error = answer.error.unwrap_or_default();
                let _ = tx.send(Wake::Failed(agent.clone(), error.code.parse().ok(), error.message));
            }
        }
        line.clear();
    }
}

/// Keeps the beginning and reads the rest, so that the writing process never waits.
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
    fn free_runner_reads_next_piece_and_ends() {
        let dir = tempfile::tempdir().unwrap();
        let runner = Program::new("sh").args(["-c", "read line; echo \"$line\" >&2; read more; exit 4"]);
        let agent = AgentId::new("coder-1").unwrap();
        let start = Start { agent: agent.clone(), role: Role::coder(), task: None, woken: Vec::new() };
        let (tx, rx) = channel();
        let log = dir.path().join("runner.log");
        let mut flight = Flight::take_off(runner, log.clone(), start.clone(), None, &tx).unwrap();
        flight.free();
        assert!(flight.is_free());
        flight.hand(Start { task: Some(TaskId::new("t1").unwrap()), ..start }, None);
        assert!(!flight.is_free());
        flight.dismiss();
        assert!(matches!(rx.recv_timeout(Duration::from_secs(30)), Ok(Wake::Exited(by)) if by == agent));
        assert_eq!(ended(flight.reap()), "ended with exit 4");
        assert_eq!(std::fs::read_to_string(&log).unwrap(), "{\"task\":\"t1\"}\n");
    }

    #[test]
    fn open_pipe_of_ended_runner_does_not_hold_run() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("runs/.coder-1/runner.log");
        let runner = Program::new("sh").args([
            "-c",
            "echo oops >&2; echo '{\"ok\":false,\"error\":{\"code\":\"refused.stuck\"}}'; sleep 600 & exit 3",
        ]);
        let agent = AgentId::new("coder-1").unwrap();
        let start = Start { agent: agent.clone(), role: Role::coder(), task: None, woken: Vec::new() };
        let (tx, rx) = channel();
        let mut flight = Flight::take_off(runner, log.clone(), start, None, &tx).unwrap();
        let next = || rx.recv_timeout(Duration::from_secs(30)).unwrap();
        assert!(
            matches!(next(), Wake::Failed(by, code, _) if by == agent && code == Some(ErrorCode::RefusedStuck))
        );
        assert!(matches!(next(), Wake::Exited(by) if by == agent));
        flight.kill();
        assert_eq!(ended(flight.reap()), "ended with exit 3");
        assert_eq!(flight.log(), Some(log.as_path()));
        assert_eq!(std::fs::read_to_string(&log).unwrap(), "oops\n");
    }
}
