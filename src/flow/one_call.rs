//! One call of a provider's command: the prompt in, the last message out. The call acts for no agent: liza refuses all commands of its
//! processes. The caller examines the directory afterwards.

use std::sync::{Arc, Mutex, PoisonError, mpsc};

use super::prelude::*;
use crate::host::{Child, Program, Streams, start_thread};
use crate::policy::provider::{OutputFormat, ProviderEntry};
use crate::provider::{Invocation, LastMessage, Meter, Redactor, Usage};

/// How long liza waits for the rest of the output after the command has ended.
const DRAIN: Duration = Duration::from_secs(10);
/// How often liza checks deadlines and other reasons to end the call.
const TICK: Duration = Duration::from_millis(50);
/// How much of standard error is kept, for the message of a failure.
const MOST_STDERR: usize = 16 * 1024;

/// The command, its directory and its limits.
pub struct OneCall<'a> {
    /// The directory of the board, which it may not change.
    pub home: &'a Path,
    pub dir: &'a Path,
    pub started: &'a Invocation,
    pub entry: &'a ProviderEntry,
    pub env: Vec<(OsString, OsString)>,
    pub secrets: &'a [Secret],
    pub wall_seconds: Option<u64>,
    /// Returns a reason as soon as the call must end early.
    pub must_end: &'a dyn Fn() -> Option<&'static str>,
}

/// The result of a call.
pub struct CallResult {
    pub text: String,
    /// The tools it called.
    pub tools: Vec<String>,
    pub usage: Usage,
    pub took: Duration,
    /// Why the result does not count: the call was stopped or failed.
    pub why: Option<String>,
    /// Why the call was ended early.
    pub stopped: Option<&'static str>,
    /// The last error or line of output, for the message of a failure.
    pub last_line_of_output: Option<String>,
}

impl OneCall<'_> {
    /// Makes the call; an error if the command cannot start.
    pub fn make(self) -> Result<CallResult, String> {
        let Self { home, dir, started, entry, env, secrets, wall_seconds, must_end } = self;
        let began = Instant::now();
        let program = Program::held_for_gate(home, &started.program).args(&started.args);
        let program = program.dir(dir).only_env(env).own_group().streams(Streams::Apart);
        let child = program.stdin(started.stdin.clone()).start();
        let mut child = child.map_err(|error| format!("`{}` cannot be started: {error}", started.program))?;
        let output = read_output(&mut child, entry, secrets);
        let deadline = wall_seconds.map(|seconds| began + Duration::from_secs(seconds));
        let (why, stopped) = wait(&mut child, deadline, must_end);
        let OutputSoFar { mut last, mut meter, stderr } = output.until(Instant::now() + DRAIN);
        let text = last.finish();
        let reported = started.usage_file.as_deref().and_then(|path| read_whole(path, 1024 * 1024).ok());
        meter.finish(reported.map(|(bytes, _)| bytes).as_deref());
        let usage = meter.usage().clone();
        let last_line_of_output =
            usage.last_error.clone().or_else(|| last_line(&stderr)).or_else(|| last_line(text.as_bytes()));
        Ok(CallResult {
            text,
            tools: last.calls,
            usage,
            took: began.elapsed(),
            why,
            stopped,
            last_line_of_output,
        })
    }
}

/// The parsed output so far.
struct OutputSoFar {
    last: LastMessage,
    meter: Meter,
    /// The end of standard error.
    stderr: Vec<u8>,
}

struct OutputThreads {
    output: Arc<Mutex<OutputSoFar>>,
    ended: mpsc::Receiver<()>,
    streams: usize,
}

impl OutputThreads {
    /// The output, once the streams have ended, or at the deadline: a detached process may keep them open for ever.
    fn until(self, deadline: Instant) -> OutputSoFar {
        for _ in 0..self.streams {
            if self.ended.recv_timeout(deadline.saturating_duration_since(Instant::now())).is_err() {
                break;
            }
        }
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        let empty = OutputSoFar {
            last: LastMessage::new(OutputFormat::Text),
            meter: Meter::default(),
            stderr: Vec::new(),
        };
        std::mem::replace(&mut *output, empty)
    }
}

/// Reads both streams, without secrets, until they end. Ends a program whose output cannot be read.
fn read_output(child: &mut Child, entry: &ProviderEntry, secrets: &[Secret]) -> OutputThreads {
    let output = OutputSoFar {
        last: LastMessage::new(entry.output.unwrap_or_default()),
        meter: Meter::new(entry),
        stderr: Vec::new(),
    };
    let output = Arc::new(Mutex::new(output));
    let (sender, ended) = mpsc::channel();
    let mut streams = 0;
    let mut begun = true;
    if let Some(out) = child.stdout.take() {
        let (output, redactor, sender) = (Arc::clone(&output), Redactor::of(secrets), sender.clone());
        streams += 1;
        begun &= start_thread(move || {
            pump(out, redactor, |bytes| {
                let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
                output.last.feed(bytes);
                output.meter.feed(bytes);
            });
            let _ = sender.send(());
        })
        .is_ok();
    }
    if let Some(err) = child.stderr.take() {
        let (output, redactor) = (Arc::clone(&output), Redactor::of(secrets));
        streams += 1;
        begun &= start_thread(move || {
            pump(err, redactor, |bytes| {
                let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
                output.stderr.extend(bytes);
                let excess = output.stderr.len().saturating_sub(MOST_STDERR);
                output.stderr.drain(..excess);
            });
            let _ = sender.send(());
        })
        .is_ok();
    }
    if !begun {
        child.end();
    }
    OutputThreads { output, ended, streams }
}

fn pump(mut from: impl Read, mut redactor: Redactor, mut pass: impl FnMut(&[u8])) {
    let mut buffer = vec![0u8; 64 * 1024];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => pass(&redactor.feed(&buffer[..count])),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    pass(&redactor.finish());
}

/// Waits for the end of the command, or ends it. Returns why the call failed, and why it was ended early.
fn wait(
    child: &mut Child,
    deadline: Option<Instant>,
    must_end: &dyn Fn() -> Option<&'static str>,
) -> (Option<String>, Option<&'static str>) {
    use std::os::unix::process::ExitStatusExt;
    loop {
        match child.wait_within(TICK) {
            Ok(Some(status)) => {
                let why = match (status.code(), status.signal()) {
                    (Some(0), _) => None,
                    (Some(127), _) => Some("its command was not found".to_owned()),
                    (Some(code), _) => Some(format!("exit {code}")),
                    (None, signal) => Some(format!("killed by signal {}", signal.unwrap_or_default())),
                };
                return (why, None);
            }
            Ok(None) => {}
            Err(error) => return (Some(format!("it was lost: {error}")), None),
        }
        if let Some(why) = must_end() {
            child.end();
            return (Some(why.to_owned()), Some(why));
        }
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            child.end();
            return (Some("its time is over".to_owned()), None);
        }
    }
}

fn last_line(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    text.lines().map(str::trim).rfind(|line| !line.is_empty()).map(|line| clipped(line, 300).into_owned())
}
