//! Runs a configured command: bounded in time and output, in its own process group, without liza's secrets.
//!
//! A check (a gate, a validation) is started through `liza __hold --gate BOARD`: no process it detaches outlives it,
//! and no descendant can act on that board.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use rustix::process::Signal;

use super::capture::{Captured, OutputReader, write_log};
use super::interruption::Interruption;
use super::prelude::*;
use crate::host::{Child, HOLDER_PATIENCE, Program, Streams};
use crate::store::Machine;

/// How often a transient end (killed, or an exit above 128) is retried.
pub const RETRIES: u32 = 2;
pub const RETRY_AFTER: Duration = Duration::from_secs(1);
/// How often liza checks whether a command must stop.
const LOOK: Duration = Duration::from_millis(50);
/// How long to wait for the last output once the command has ended: a daemon it left may hold the pipe for ever.
const DRAIN: Duration = Duration::from_millis(500);
/// The same for a held command, which leaves no process: only a busy machine delays the last output.
const HELD_DRAIN: Duration = Duration::from_secs(10);

/// A command to run.
pub struct Job<'a> {
    /// Program and arguments.
    pub argv: Vec<OsString>,
    pub dir: &'a Path,
    /// Its whole environment.
    pub env: Vec<(OsString, OsString)>,
    /// The board that its processes may not act on; none if it is no check.
    pub held_for: Option<&'a Path>,
    /// Git does not search for a repository above this directory: the parent of a worktree without its `.git` file is the
    /// person's checkout.
    pub ceiling: Option<&'a Path>,
    pub timeout: Duration,
    /// Values that are removed from its output.
    pub secrets: &'a [Secret],
    /// A text to look for in all of its output.
    pub wanted: &'a str,
    /// Whether its standard output is captured separately.
    pub apart: bool,
}

impl<'a> Job<'a> {
    /// No check, without secrets; its output is only kept.
    pub fn new(
        argv: Vec<OsString>,
        dir: &'a Path,
        env: Vec<(OsString, OsString)>,
        timeout: Duration,
    ) -> Self {
        Self {
            argv,
            dir,
            env,
            held_for: None,
            ceiling: None,
            timeout,
            secrets: &[],
            wanted: "",
            apart: false,
        }
    }
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    Exited(i32),
    Killed(i32),
    TimedOut,
    /// The caller stopped it.
    Stopped,
    NotStarted(String),
    Lost(String),
}

/// The result of a command that ran.
pub struct Done {
    pub ended: Ended,
    pub output: Captured,
    /// Its standard output, if captured separately.
    pub stdout: Captured,
    pub duration: Duration,
}

/// Runs a command until it ends, its time is over, or `stopped` returns true.
pub fn execute(job: &Job<'_>, stopped: &dyn Fn() -> bool) -> Done {
    let started = Instant::now();
    let others = if job.held_for.is_some() { host::children() } else { BTreeSet::new() };
    let (ended, (output, stdout)) = match begin(job) {
        Ok((mut child, reader)) => {
            let mut ended = wait(&mut child, started + job.timeout, stopped);
            if job.held_for.is_some() && !end_strays(&others) && ended != Ended::Stopped {
                ended = Ended::Lost("it left processes that liza could not end".to_owned());
            }
            let drain = if job.held_for.is_some() { HELD_DRAIN } else { DRAIN };
            (ended, reader.finish(drain, job.wanted.is_empty()))
        }
        Err(error) => (Ended::NotStarted(format!("it could not be started: {error}")), Default::default()),
    };
    Done { ended, output, stdout, duration: started.elapsed() }
}

/// Runs an action that starts programs through a holder, and ends processes inherited from a killed holder.
pub fn leaving_nothing<T>(act: impl FnOnce() -> T) -> T {
    host::adopt_orphans();
    let others = host::children();
    let done = act();
    end_strays(&others);
    done
}

/// The shell command as program and arguments.
pub fn by_shell(command: &str) -> Vec<OsString> {
    vec!["sh".into(), "-c".into(), command.into()]
}

fn begin(job: &Job<'_>) -> std::io::Result<(Child, OutputReader)> {
    let (program, args) =
        job.argv.split_first().ok_or_else(|| std::io::Error::other("no program is named"))?;
    let program = match job.held_for {
        Some(board) => {
            // Processes that a killed holder leaves become children of this process, which ends them.
            host::adopt_orphans();
            Program::held_for_gate(board, program)
        }
        None => Program::new(program),
    };
    let streams = if job.apart { Streams::Apart } else { Streams::Together };
    let mut program = program.args(args).only_env(job.env.iter().cloned()).dir(job.dir);
    if let Some(ceiling) = job.ceiling {
        program = program.env("GIT_CEILING_DIRECTORIES", ceiling);
    }
    let mut child = program.own_group().streams(streams).start()?;
    match OutputReader::start(child.stdout.take(), child.stderr.take(), job.wanted.trim(), job.secrets) {
        Ok(reader) => Ok((child, reader)),
        Err(error) => {
            child.end();
            Err(error)
        }
    }
}

fn wait(child: &mut Child, deadline: Instant, stopped: &dyn Fn() -> bool) -> Ended {
    let mut left = deadline.saturating_duration_since(Instant::now());
    let ended = loop {
        match child.wait_within(LOOK.min(left)) {
            Ok(Some(status)) => break of_status(status),
            Ok(None) => {}
            Err(error) => break Ended::Lost(format!("it was lost: {error}")),
        }
        left = deadline.saturating_duration_since(Instant::now());
        let early_end =
            if stopped() { Some(Ended::Stopped) } else { left.is_zero().then_some(Ended::TimedOut) };
        if let Some(early_end) = early_end {
            child.end();
            break early_end;
        }
    };
    // Also the processes it left in the background.
    child.signal_group(Signal::KILL);
    ended
}

fn of_status(status: ExitStatus) -> Ended {
    match (status.code(), status.signal()) {
        (Some(code), _) => Ended::Exited(code),
        (None, signal) => Ended::Killed(signal.unwrap_or_default()),
    }
}

/// Ends processes inherited from a holder that was killed or gave up; spares those that existed before. False if that
/// fails.
fn end_strays(spared: &BTreeSet<u32>) -> bool {
    crate::host::end_descendants_except(spared, HOLDER_PATIENCE)
}

/// How a shell command ended.
#[derive(Debug)]
pub struct Ran {
    pub exit: Option<i32>,
    /// Why the command gave no result: not started, killed, out of time, interrupted.
    pub problem: Option<String>,
    pub found: bool,
    pub duration: Duration,
    pub interrupted: bool,
}

impl Ran {
    /// Whether it succeeded and printed the expected text.
    pub fn is_green(&self) -> bool {
        self.exit == Some(0) && self.found && self.problem.is_none()
    }
}

/// A shell command that liza runs as a check.
pub struct Check<'a> {
    /// The machine of the board on which it may not act.
    pub machine: &'a Machine,
    pub command: &'a str,
    pub dir: &'a Path,
    /// What its output must contain.
    pub expect: &'a str,
    pub timeout: Duration,
    pub log: &'a Path,
}

/// Runs a check, writes its output to the log, and returns whether it contains the expected text.
pub fn run(check: &Check<'_>) -> Ran {
    let _known_by_it = check.machine.take_check();
    // A unit test is not liza and cannot hold a command; and processes of other tests are children of the same
    // process.
    run_held(check, (!cfg!(test)).then_some(check.machine.home()))
}

fn run_held(check: &Check<'_>, held_for: Option<&Path>) -> Ran {
    let interruption = Interruption::listen();
    let mut tries = 0;
    loop {
        let job = Job::new(by_shell(check.command), check.dir, without_ours(), check.timeout);
        let job = Job { held_for, ceiling: Some(check.machine.worktrees()), wanted: check.expect, ..job };
        let done = execute(&job, &|| interruption.signal().is_some());
        let _ = write_log(check.machine.home(), check.log, check.command, &[&done.output]);
        let ran = outcome_of(&done, check.timeout);
        let transient = ran.exit.is_some_and(|code| code > 128) && !ran.interrupted;
        if !transient || tries == RETRIES {
            return ran;
        }
        tries += 1;
        let again = Instant::now() + RETRY_AFTER;
        while Instant::now() < again && interruption.signal().is_none() {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// The agent chooses the command, but the command must not get an identity to act with.
fn without_ours() -> Vec<(OsString, OsString)> {
    let ours = |name: &OsString| {
        let name = name.to_string_lossy();
        name.starts_with("GIT_") || name.starts_with("LIZA_")
    };
    std::env::vars_os().filter(|(name, _)| !ours(name)).collect()
}

fn outcome_of(done: &Done, timeout: Duration) -> Ran {
    let base = Ran {
        exit: None,
        problem: None,
        found: done.output.found,
        duration: done.duration,
        interrupted: false,
    };
    match &done.ended {
        Ended::Exited(code @ (126 | 127)) => Ran {
            exit: Some(*code),
            problem: Some(format!("the shell could not run it (exit {code})")),
            ..base
        },
        Ended::Exited(code) => Ran { exit: Some(*code), ..base },
        Ended::Killed(signal) => Ran {
            exit: Some(128 + signal),
            problem: Some(format!("it was killed by signal {signal}")),
            ..base
        },
        Ended::TimedOut => Ran { problem: Some(out_of_time(timeout)), ..base },
        Ended::Stopped => Ran { problem: Some("it was interrupted".to_owned()), interrupted: true, ..base },
        Ended::NotStarted(why) | Ended::Lost(why) => Ran { problem: Some(why.clone()), ..base },
    }
}

pub fn out_of_time(timeout: Duration) -> String {
    format!("it ran longer than {} s and was stopped", timeout.as_secs())
}

/// Runs a shell command in `dir` with extra environment variables. Returns how it ended and the end of its output.
pub fn run_command(
    command: &str,
    dir: &Path,
    environment: &[(&str, String)],
    timeout: Duration,
) -> (Ran, String) {
    let interruption = Interruption::listen();
    let mut env = without_ours();
    env.extend(environment.iter().map(|(name, value)| (name.into(), value.into())));
    let done = execute(&Job::new(by_shell(command), dir, env, timeout), &|| interruption.signal().is_some());
    let all = done.output.kept();
    let end = String::from_utf8_lossy(&all[all.len().saturating_sub(300)..]).trim().to_owned();
    (outcome_of(&done, timeout), end)
}

/// The output of a program, standard output and error: bounded in time and size, without input.
pub fn answer_of(
    program: &Path,
    args: &[String],
    env: &[(OsString, OsString)],
    dir: &Path,
    timeout: Duration,
) -> Result<Vec<u8>, String> {
    let interruption = Interruption::listen();
    let mut argv = vec![program.as_os_str().to_owned()];
    argv.extend(args.iter().map(OsString::from));
    let done = execute(&Job::new(argv, dir, env.to_vec(), timeout), &|| interruption.signal().is_some());
    match done.ended {
        Ended::Exited(_) | Ended::Killed(_) => Ok(done.output.kept()),
        Ended::TimedOut => Err(format!("it took longer than {} s", timeout.as_secs())),
        Ended::Stopped => Err("it was interrupted".to_owned()),
        Ended::NotStarted(why) | Ended::Lost(why) => Err(why),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(command: &str, expect: &str, timeout: Duration) -> (Ran, String) {
        let dir = tempfile::tempdir().expect("a directory");
        let log = dir.path().join("log");
        let machine = Machine::new(dir.path(), dir.path());
        let check = Check { machine: &machine, command, dir: dir.path(), expect, timeout, log: &log };
        let ran = run_held(&check, None);
        (ran, fs::read_to_string(&log).unwrap_or_default())
    }

    #[test]
    fn output_and_exit_code_are_seen() {
        let (done, log) = ran("echo 3 passed; exit 4", " 3 passed ", Duration::from_secs(10));
        assert_eq!((done.exit, done.found, done.problem), (Some(4), true, None));
        assert!(log.ends_with("3 passed\n"));
    }

    #[test]
    fn hanging_command_is_stopped_with_its_children() {
        let (done, _) = ran("sleep 600 & sleep 600", "x", Duration::from_millis(200));
        assert_eq!(done.exit, None);
        assert!(done.problem.expect("a problem").contains("longer than"));
    }

    #[test]
    fn long_output_keeps_head_and_tail() {
        let (done, log) = ran(
            "echo first; head -c 9000000 /dev/zero | tr '\\0' x; echo; echo last",
            "last",
            Duration::from_secs(20),
        );
        assert!(done.found && log.contains("first") && log.ends_with("last\n"));
        assert!(log.len() < 4 * super::super::capture::KEPT);
    }

    #[test]
    fn missing_program_is_no_result() {
        let (done, _) = ran("no-such-program-anywhere", "", Duration::from_secs(10));
        assert_eq!(done.exit, Some(127));
        assert!(done.problem.is_some());
    }

    #[test]
    fn daemon_holding_the_pipe_does_not_block() {
        let (done, _) = ran("setsid sleep 30 & echo ok", "ok", Duration::from_secs(10));
        assert_eq!(done.exit, Some(0));
    }
}
