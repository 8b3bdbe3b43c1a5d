//! One runner process of a run: starts it, reads its events, and reports its end.

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
const OUTPUT_WAIT: Duration = Duration::from_secs(2);
/// How much of a runner's error output is kept.
const LOG_MOST: usize = 256 * 1024;

pub enum Wake {
    Board,
    Signal(i32),
    Event(AgentId, Box<Event>),
    /// The runner's error, if it failed.
    Failed(AgentId, Option<ErrorCode>, String),
    Exited(AgentId),
}

/// The state of a task when its runner started; if it is the same afterwards, the start had no effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskState {
    status: Status,
    epoch: u64,
    /// One of several needed approvals changes only this.
    approvals: usize,
}

impl TaskState {
    pub fn of(board: &Board, task: &TaskId) -> Option<Self> {
        let task = board.task(task)?;
        let approvals = task.approvals.as_ref().map_or(0, |given| given.by.len());
        Some(Self { status: task.status, epoch: task.epoch, approvals })
    }
}

pub struct RunnerProcess {
    child: Child,
    log: PathBuf,
    pub start: Start,
    pub since: Instant,
    pub doing: String,
    /// The error that it reported.
    pub failure: Option<(Option<ErrorCode>, String)>,
    /// Its last notice.
    pub notice: String,
    /// Its agent reached a limit.
    pub limited: bool,
    /// Its agent was halted.
    pub halted: bool,
    /// Its provider has no quota at present.
    pub parked: bool,
    /// The state of the task when it started.
    pub task_before: Option<TaskState>,
    /// Since when it is idle and can take work.
    pub free_since: Option<Instant>,
    /// The identity of liza.yaml when it started.
    pub settings: Option<FileIdentity>,
}

/// Ends a runner whose output cannot be read.
fn ended_without<T>(child: &mut Child, thread: std::io::Result<T>) -> std::io::Result<()> {
    thread.map(|_| ()).inspect_err(|_| child.end())
}

impl RunnerProcess {
    pub fn start(
        runner: Program,
        log: PathBuf,
        start: Start,
        task_before: Option<TaskState>,
        tx: &Sender<Wake>,
    ) -> std::io::Result<Self> {
        // Ctrl-C must reach the run only.
        let mut child = runner.own_group().streams(Streams::Apart).keeping_stdin().start()?;
        let over = Arc::new(AtomicBool::new(false));
        let (reader, all_read) = channel::<()>();
        if let Some(pipe) = child.stdout.take() {
            let (agent, tx, over, reader) = (start.agent.clone(), tx.clone(), over.clone(), reader.clone());
            ended_without(
                &mut child,
                start_thread(move || {
                    listen_to(pipe, &agent, &tx, &over);
                    drop(reader);
                }),
            )?;
        }
        if let Some(pipe) = child.stderr.take() {
            // A run does without it if there can be none.
            let file = crate::host::anchored_path::new_file(&log).ok();
            ended_without(
                &mut child,
                start_thread(move || {
                    keep(pipe, file);
                    drop(reader);
                }),
            )?;
        }
        let (agent, tx) = (start.agent.clone(), tx.clone());
        child.on_exit(move || {
            let _ = all_read.recv_timeout(OUTPUT_WAIT);
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
            task_before,
            free_since: None,
            settings: None,
        })
    }

    /// Whether its piece of work is done.
    pub fn is_free(&self) -> bool {
        self.free_since.is_some()
    }

    /// Marks it as ready for the next piece of work.
    pub fn free(&mut self) {
        self.free_since = Some(Instant::now());
        self.start.task = None;
        (self.notice, self.doing) = (String::new(), "idle".to_owned());
        (self.limited, self.halted, self.task_before) = (false, false, None);
    }

    /// Gives it the next piece of work. If it has ended meanwhile, [`Wake::Exited`] follows.
    pub fn hand(&mut self, start: Start, task_before: Option<TaskState>) {
        let piece = Piece { task: start.task.clone() };
        if let Some(stdin) = &mut self.child.stdin {
            let _ = stdin.write_all(format!("{}\n", to_json_line(&piece)).as_bytes());
        }
        (self.start, self.task_before, self.free_since) = (start, task_before, None);
        (self.since, self.doing) = (Instant::now(), "starting".to_owned());
    }

    /// Closes its input, which means no more work; its seat stays taken until it has ended.
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

    /// Kills it and its process group; its agent ends with it.
    pub fn kill(&self) {
        self.child.signal_group(Signal::KILL);
    }

    /// Call this only after it has ended.
    pub fn reap(&mut self) -> Option<ExitStatus> {
        self.child.wait().ok()
    }

    pub fn is_over(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// The file of its error output, if there is any.
    pub fn log(&self) -> Option<&Path> {
        let has_lines = self.log.metadata().is_ok_and(|meta| meta.len() > 0);
        has_lines.then_some(self.log.as_path())
    }
}

pub fn exit_words(status: Option<ExitStatus>) -> String {
    match (status.and_then(|status| status.code()), status.and_then(|status| status.signal())) {
        (Some(code), _) => format!("ended with exit {code}"),
        (None, Some(signal)) => format!("was killed by signal {signal}"),
        _ => "was lost".to_owned(),
    }
}

/// Passes on a runner's events. Output after its end comes from another process and is ignored.
fn listen_to(pipe: impl Read, agent: &AgentId, tx: &Sender<Wake>, over: &AtomicBool) {
    let mut pipe = BufReader::new(pipe);
    let mut line = Vec::new();
    while pipe.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
        if !over.load(Ordering::Relaxed) {
            if let Ok(event) = serde_json::from_slice::<Event>(&line) {
                let _ = tx.send(Wake::Event(agent.clone(), Box::new(event)));
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

/// Keeps the start of a stream and discards the rest, so that the writer never blocks.
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
        let mut running = RunnerProcess::start(runner, log.clone(), start.clone(), None, &tx).unwrap();
        running.free();
        assert!(running.is_free());
        running.hand(Start { task: Some(TaskId::new("t1").unwrap()), ..start }, None);
        assert!(!running.is_free());
        running.dismiss();
        assert!(matches!(rx.recv_timeout(Duration::from_secs(30)), Ok(Wake::Exited(by)) if by == agent));
        assert_eq!(exit_words(running.reap()), "ended with exit 4");
        assert_eq!(std::fs::read_to_string(&log).unwrap(), "{\"task\":\"t1\"}\n");
    }

    #[test]
    fn open_pipe_does_not_delay_end_of_runner() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("runner.log");
        let runner = Program::new("sh").args([
            "-c",
            "echo oops >&2; echo '{\"ok\":false,\"error\":{\"code\":\"refused.stuck\"}}'; sleep 600 & exit 3",
        ]);
        let agent = AgentId::new("coder-1").unwrap();
        let start = Start { agent: agent.clone(), role: Role::coder(), task: None, woken: Vec::new() };
        let (tx, rx) = channel();
        let mut running = RunnerProcess::start(runner, log.clone(), start, None, &tx).unwrap();
        let next = || rx.recv_timeout(Duration::from_secs(30)).unwrap();
        assert!(
            matches!(next(), Wake::Failed(by, code, _) if by == agent && code == Some(ErrorCode::RefusedStuck))
        );
        assert!(matches!(next(), Wake::Exited(by) if by == agent));
        running.kill();
        assert_eq!(exit_words(running.reap()), "ended with exit 3");
        assert_eq!(running.log(), Some(log.as_path()));
        assert_eq!(std::fs::read_to_string(&log).unwrap(), "oops\n");
    }
}
