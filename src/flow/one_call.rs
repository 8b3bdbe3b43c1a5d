//! One call of an agent command: the prompt in, its last message out. It acts for no agent: liza refuses whatever its processes ask
//! for. What it does in its directory is looked at afterwards.

use std::sync::{Arc, Mutex, PoisonError, mpsc};

use super::prelude::*;
use crate::host::{Child, Program, Streams, start_thread};
use crate::policy::provider::{OutputFormat, ProviderEntry};
use crate::provider::{Invocation, LastMessage, Meter, Redactor, Usage};

/// How long the rest of an output is waited for when the command has ended.
const DRAIN: Duration = Duration::from_secs(10);
/// How often reasons to end it and deadlines are looked for.
const TICK: Duration = Duration::from_millis(50);
/// So much of what it said on standard error is kept, for the message when it fails.
const MOST_COMPLAINT: usize = 16 * 1024;

/// What is started, and where.
pub struct OneCall<'a> {
    /// The directory of the board, which it may not change.
    pub home: &'a Path,
    pub dir: &'a Path,
    pub started: &'a Invocation,
    pub entry: &'a ProviderEntry,
    pub env: Vec<(OsString, OsString)>,
    pub secrets: &'a [Secret],
    pub wall_seconds: Option<u64>,
    /// Why it has to end before its time, as soon as it has.
    pub must_end: &'a dyn Fn() -> Option<&'static str>,
}

/// What came back.
pub struct Said {
    pub text: String,
    /// The tools it called.
    pub tools: Vec<String>,
    pub usage: Usage,
    pub took: Duration,
    /// Why it counts for nothing: it was stopped, or failed.
    pub why: Option<String>,
    /// Why it was ended before its time.
    pub stopped: Option<&'static str>,
    /// The last thing it said of its own accord, for the message when it fails.
    pub last_words: Option<String>,
}

impl OneCall<'_> {
    /// Makes the call; the reason, if the command cannot be started.
    pub fn make(self) -> Result<Said, String> {
        let Self { home, dir, started, entry, env, secrets, wall_seconds, must_end } = self;
        let began = Instant::now();
        let program = Program::held_for_gate(home, &started.program).args(&started.args);
        let program = program.dir(dir).only_env(env).own_group().streams(Streams::Apart);
        let child = program.stdin(started.stdin.clone()).start();
        let mut child = child.map_err(|error| format!("`{}` cannot be started: {error}", started.program))?;
        let heard = listen(&mut child, entry, secrets);
        let deadline = wall_seconds.map(|seconds| began + Duration::from_secs(seconds));
        let (why, stopped) = wait(&mut child, deadline, must_end);
        let Heard { mut last, mut meter, complaint } = heard.until(Instant::now() + DRAIN);
        let text = last.finish();
        let reported = started.usage_file.as_deref().and_then(|path| read_whole(path, 1024 * 1024).ok());
        meter.finish(reported.map(|(bytes, _)| bytes).as_deref());
        let usage = meter.usage().clone();
        let last_words =
            usage.last_error.clone().or_else(|| last_line(&complaint)).or_else(|| last_line(text.as_bytes()));
        Ok(Said { text, tools: last.calls, usage, took: began.elapsed(), why, stopped, last_words })
    }
}

/// What was understood of an output so far.
struct Heard {
    last: LastMessage,
    meter: Meter,
    /// The end of what was said on standard error.
    complaint: Vec<u8>,
}

struct Ears {
    heard: Arc<Mutex<Heard>>,
    ended: mpsc::Receiver<()>,
    streams: usize,
}

impl Ears {
    /// What was said, once the streams have ended, or at the deadline: a process that was set free may hold them for ever.
    fn until(self, deadline: Instant) -> Heard {
        for _ in 0..self.streams {
            if self.ended.recv_timeout(deadline.saturating_duration_since(Instant::now())).is_err() {
                break;
            }
        }
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        let empty = Heard {
            last: LastMessage::new(OutputFormat::Text),
            meter: Meter::default(),
            complaint: Vec::new(),
        };
        std::mem::replace(&mut *heard, empty)
    }
}

/// Reads both streams without secrets until they end. A program that cannot be listened to is ended.
fn listen(child: &mut Child, entry: &ProviderEntry, secrets: &[Secret]) -> Ears {
    let heard = Heard {
        last: LastMessage::new(entry.output.unwrap_or_default()),
        meter: Meter::new(entry),
        complaint: Vec::new(),
    };
    let heard = Arc::new(Mutex::new(heard));
    let (sender, ended) = mpsc::channel();
    let mut streams = 0;
    let mut begun = true;
    if let Some(out) = child.stdout.take() {
        let (heard, redactor, sender) = (Arc::clone(&heard), Redactor::of(secrets), sender.clone());
        streams += 1;
        begun &= start_thread(move || {
            pump(out, redactor, |bytes| {
                let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
                heard.last.feed(bytes);
                heard.meter.feed(bytes);
            });
            let _ = sender.send(());
        })
        .is_ok();
    }
    if let Some(err) = child.stderr.take() {
        let (heard, redactor) = (Arc::clone(&heard), Redactor::of(secrets));
        streams += 1;
        begun &= start_thread(move || {
            pump(err, redactor, |bytes| {
                let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
                heard.complaint.extend(bytes);
                let excess = heard.complaint.len().saturating_sub(MOST_COMPLAINT);
                heard.complaint.drain(..excess);
            });
            let _ = sender.send(());
        })
        .is_ok();
    }
    if !begun {
        child.end();
    }
    Ears { heard, ended, streams }
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

/// Waits for the end, or brings it about. Says why it counts as failed, and what ended it before its time.
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
