//! Running somebody's command: bounded in time and output, in a process group of its own, without our secrets.

use std::ffi::OsString;
use std::fs::{DirBuilder, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

/// How much of the beginning and of the end of the output is kept.
const KEPT: usize = 1024 * 1024;
/// A transient end (killed, or an exit above 128) is tried again this often.
const RETRIES: u32 = 2;
const RETRY_AFTER: Duration = Duration::from_secs(1);
/// How long to wait for the last output once the command has ended: a daemon it left may hold the pipe for ever.
const DRAIN: Duration = Duration::from_millis(500);

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    pub exit: Option<i32>,
    /// Why it does not count as having run: not started, killed, out of time, interrupted.
    pub problem: Option<String>,
    pub found: bool,
    pub duration: Duration,
    pub interrupted: bool,
}

/// Runs a shell command in `dir`, writes its output to `log`, and says whether it contains `expect`.
pub fn run(command: &str, dir: &Path, expect: &str, timeout: Duration, log: &Path) -> Ran {
    let mut tries = 0;
    loop {
        let ran = run_once(command, dir, expect, timeout, log);
        let transient = ran.exit.is_some_and(|code| code > 128) && !ran.interrupted;
        if !transient || tries == RETRIES {
            return ran;
        }
        tries += 1;
        std::thread::sleep(RETRY_AFTER);
    }
}

/// Runs a shell command in `dir` that is told something through its environment. Returns how it ended and the end of what
/// it printed.
pub fn tell(command: &str, dir: &Path, environment: &[(&str, String)], timeout: Duration) -> (Ran, String) {
    let (ran, captured) = run_captured(command, dir, environment, "", timeout);
    let Some(Captured { head, tail, .. }) = captured else { return (ran, String::new()) };
    let end = if tail.is_empty() { head } else { tail };
    let end = String::from_utf8_lossy(&end[end.len().saturating_sub(300)..]).trim().to_owned();
    (ran, end)
}

fn run_once(command: &str, dir: &Path, expect: &str, timeout: Duration, log: &Path) -> Ran {
    let (ran, captured) = run_captured(command, dir, &[], expect, timeout);
    if let Some(captured) = captured {
        let _ = write_log(log, command, &captured);
    }
    ran
}

fn run_captured(
    command: &str,
    dir: &Path,
    environment: &[(&str, String)],
    expect: &str,
    timeout: Duration,
) -> (Ran, Option<Captured>) {
    let started = Instant::now();
    let failed = |problem: String| {
        let (duration, interrupted) = (started.elapsed(), false);
        (Ran { exit: None, problem: Some(problem), found: false, duration, interrupted }, None)
    };
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(command).current_dir(dir).process_group(0).stdin(Stdio::null());
    for (name, _) in std::env::vars_os() {
        let name_text = name.to_string_lossy();
        // The command is the agent's to choose; the right to act as somebody is not its to have.
        if name_text.starts_with("GIT_") || name_text.starts_with("LIZA_") {
            shell.env_remove(&name);
        }
    }
    shell.envs(environment.iter().map(|(name, value)| (name, value)));
    let (reader, writer) = match std::io::pipe() {
        Ok(pipe) => pipe,
        Err(error) => return failed(format!("it could not be started: {error}")),
    };
    let both = writer.try_clone().map(|copy| (writer, copy));
    let (out, err) = match both {
        Ok(pair) => pair,
        Err(error) => return failed(format!("it could not be started: {error}")),
    };
    shell.stdout(Stdio::from(out)).stderr(Stdio::from(err));
    let child = shell.spawn();
    // Our copies of the pipe's end must go, or its reader never sees the end.
    drop(shell);
    let mut child = match child {
        Ok(child) => child,
        Err(error) => return failed(format!("it could not be started: {error}")),
    };
    let (sender, receiver) = mpsc::channel();
    let wanted = expect.trim().as_bytes().to_vec();
    std::thread::spawn(move || {
        let _ = sender.send(capture(reader, &wanted));
    });
    let ended = wait(&mut child, timeout);
    kill_group(&child);
    let captured = receiver.recv_timeout(DRAIN).unwrap_or_default();
    let duration = started.elapsed();
    let base = Ran { exit: None, problem: None, found: captured.found, duration, interrupted: false };
    let ran = match ended {
        Ended::Exited(status) => match (status.code(), status.signal()) {
            (Some(code @ (126 | 127)), _) => Ran {
                exit: Some(code),
                problem: Some(format!("the shell could not run it (exit {code})")),
                ..base
            },
            (Some(code), _) => Ran { exit: Some(code), ..base },
            (None, signal) => {
                let signal = signal.unwrap_or_default();
                Ran {
                    exit: Some(128 + signal),
                    problem: Some(format!("it was killed by signal {signal}")),
                    ..base
                }
            }
        },
        Ended::TimedOut => Ran {
            problem: Some(format!("it ran longer than {} s and was stopped", timeout.as_secs())),
            ..base
        },
        Ended::Interrupted => {
            Ran { problem: Some("it was interrupted".to_owned()), interrupted: true, ..base }
        }
        Ended::Lost(why) => Ran { problem: Some(why), ..base },
    };
    (ran, Some(captured))
}

/// What a program says, on either output, when it is asked something: bounded in time and size, nothing to read.
pub fn answer_of(
    program: &Path,
    args: &[String],
    env: &[(OsString, OsString)],
    dir: &Path,
    timeout: Duration,
) -> Result<Vec<u8>, String> {
    let refused = |error: std::io::Error| format!("it could not be started: {error}");
    let mut command = Command::new(program);
    command.args(args).env_clear().envs(env.iter().map(|(name, value)| (name, value)));
    command.current_dir(dir).process_group(0).stdin(Stdio::null());
    let (reader, writer) = std::io::pipe().map_err(refused)?;
    command.stdout(Stdio::from(writer.try_clone().map_err(refused)?)).stderr(Stdio::from(writer));
    let child = command.spawn();
    // Our copies of the pipe's end must go, or its reader never sees the end.
    drop(command);
    let mut child = child.map_err(refused)?;
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let _ = sender.send(capture(reader, &[]));
    });
    let ended = wait(&mut child, timeout);
    kill_group(&child);
    let captured = receiver.recv_timeout(DRAIN).unwrap_or_default();
    match ended {
        Ended::Exited(_) => Ok([captured.head, captured.tail].concat()),
        Ended::TimedOut => Err(format!("it took longer than {} s", timeout.as_secs())),
        Ended::Interrupted => Err("it was interrupted".to_owned()),
        Ended::Lost(why) => Err(why),
    }
}

enum Ended {
    Exited(std::process::ExitStatus),
    TimedOut,
    Interrupted,
    Lost(String),
}

fn wait(child: &mut Child, timeout: Duration) -> Ended {
    let interrupted = Arc::new(AtomicBool::new(false));
    let handlers: Vec<_> =
        [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP]
            .into_iter()
            .filter_map(|signal| signal_hook::flag::register(signal, Arc::clone(&interrupted)).ok())
            .collect();
    let ended = wait_until(child, Instant::now() + timeout, &interrupted);
    handlers.into_iter().for_each(|handler| {
        signal_hook::low_level::unregister(handler);
    });
    ended
}

fn wait_until(child: &mut Child, deadline: Instant, interrupted: &AtomicBool) -> Ended {
    let mut pause = Duration::from_millis(1);
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ended::Exited(status),
            Ok(None) => {}
            Err(error) => return Ended::Lost(format!("it was lost: {error}")),
        }
        if interrupted.load(Ordering::Relaxed) {
            return stop(child, Ended::Interrupted);
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return stop(child, Ended::TimedOut);
        }
        std::thread::sleep(pause.min(left));
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}

fn stop(child: &mut Child, why: Ended) -> Ended {
    kill_group(child);
    let _ = child.wait();
    why
}

/// Ends everything the command started in its group, also what it left in the background.
fn kill_group(child: &Child) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = rustix::process::kill_process_group(group, Signal::KILL);
    }
}

#[derive(Default)]
struct Captured {
    head: Vec<u8>,
    tail: Vec<u8>,
    dropped: u64,
    found: bool,
}

/// Keeps the beginning and the end, and looks for `wanted` in all of it.
fn capture(mut reader: impl Read, wanted: &[u8]) -> Captured {
    let mut kept = Captured { found: wanted.is_empty(), ..Captured::default() };
    let mut overlap: Vec<u8> = Vec::new();
    let mut buffer = vec![0u8; 64 * 1024];
    loop {
        let count = match reader.read(&mut buffer) {
            Ok(0) => return kept,
            Ok(count) => count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(_) => return kept,
        };
        let chunk = &buffer[..count];
        if !kept.found {
            overlap.extend_from_slice(chunk);
            kept.found = overlap.windows(wanted.len()).any(|window| window == wanted);
            let keep = overlap.len().min(wanted.len().saturating_sub(1));
            overlap.drain(..overlap.len() - keep);
        }
        let room = KEPT.saturating_sub(kept.head.len()).min(count);
        kept.head.extend_from_slice(&chunk[..room]);
        kept.tail.extend_from_slice(&chunk[room..]);
        if kept.tail.len() > 2 * KEPT {
            let excess = kept.tail.len() - KEPT;
            kept.tail.drain(..excess);
            kept.dropped += excess as u64;
        }
    }
}

/// The output may hold anything, so the file is as private as the board.
fn write_log(path: &Path, command: &str, captured: &Captured) -> std::io::Result<()> {
    if let Some(parent) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
    }
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    writeln!(file, "$ {command}")?;
    file.write_all(&captured.head)?;
    if captured.dropped > 0 {
        writeln!(file, "\n[… {} bytes left out …]", captured.dropped)?;
    }
    file.write_all(&captured.tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(command: &str, expect: &str, timeout: Duration) -> (Ran, String) {
        let dir = tempfile::tempdir().expect("a directory");
        let log = dir.path().join("log");
        let ran = run_once(command, dir.path(), expect, timeout, &log);
        (ran, std::fs::read_to_string(&log).unwrap_or_default())
    }

    #[test]
    fn output_and_exit_code_are_seen() {
        let (done, log) = ran("echo 3 passed; exit 4", " 3 passed ", Duration::from_secs(10));
        assert_eq!((done.exit, done.found, done.problem), (Some(4), true, None));
        assert!(log.ends_with("3 passed\n"));
    }

    #[test]
    fn a_command_that_hangs_is_stopped_with_its_children() {
        let (done, _) = ran("sleep 600 & sleep 600", "x", Duration::from_millis(200));
        assert_eq!(done.exit, None);
        assert!(done.problem.expect("a problem").contains("longer than"));
    }

    #[test]
    fn a_flood_keeps_head_and_tail() {
        let (done, log) = ran(
            "echo first; head -c 9000000 /dev/zero | tr '\\0' x; echo; echo last",
            "last",
            Duration::from_secs(20),
        );
        assert!(done.found && log.contains("first") && log.ends_with("last\n"));
        assert!(log.len() < 4 * KEPT);
    }

    #[test]
    fn a_missing_program_is_no_result() {
        let (done, _) = ran("no-such-program-anywhere", "", Duration::from_secs(10));
        assert_eq!(done.exit, Some(127));
        assert!(done.problem.is_some());
    }

    #[test]
    fn a_daemon_that_keeps_the_pipe_does_not_hold_us() {
        let (done, _) = ran("setsid sleep 30 & echo ok", "ok", Duration::from_secs(10));
        assert_eq!(done.exit, Some(0));
    }
}
