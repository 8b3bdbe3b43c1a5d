//! What an agent prints: kept in files of bounded size, read for what it used, never held in memory.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::policy::team::Limits;
use crate::provider::{Meter, Secret, Usage};

/// The beginning of an output is kept up to this size, and of the rest at least as much of the end.
const KEPT: u64 = 16 * 1024 * 1024;

/// A file that keeps the beginning; what comes later goes to a second and a third one in turn, so that the end is kept.
struct BoundedLog {
    path: PathBuf,
    file: File,
    written: u64,
}

impl BoundedLog {
    fn create(path: &Path) -> std::io::Result<Self> {
        Ok(Self { path: path.to_owned(), file: open(path)?, written: 0 })
    }

    fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        if self.written >= KEPT {
            let tail = self.path.with_extension("tail.log");
            if tail.exists() {
                std::fs::rename(&tail, self.path.with_extension("tail-before.log"))?;
            } else {
                let _ = self.file.write_all(b"\n[... the end is in the file named tail ...]\n");
            }
            self.file = open(&tail)?;
            self.written = 0;
        }
        self.written += bytes.len() as u64;
        self.file.write_all(bytes)
    }
}

/// What an agent prints may be anything, so the file is as private as the board.
fn open(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)
}

/// What the session has used so far; shared with whoever reads its output.
#[derive(Clone)]
pub struct Gauge {
    meter: Arc<Mutex<Meter>>,
    /// Printed so far, on both streams.
    bytes: Arc<AtomicU64>,
}

impl Gauge {
    pub fn new(meter: Meter) -> Self {
        Self { meter: Arc::new(Mutex::new(meter)), bytes: Arc::default() }
    }

    pub fn usage(&self) -> Usage {
        self.meter.lock().unwrap_or_else(PoisonError::into_inner).usage().clone()
    }

    /// The counter that whoever reads a stream adds to.
    pub fn counter(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.bytes)
    }

    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    pub fn finish(&self, usage_file: Option<&[u8]>) {
        self.meter.lock().unwrap_or_else(PoisonError::into_inner).finish(usage_file);
    }

    fn feed(&self, chunk: &[u8]) -> Usage {
        let mut meter = self.meter.lock().unwrap_or_else(PoisonError::into_inner);
        meter.feed(chunk);
        meter.usage().clone()
    }
}

/// The first limit that is reached, in words.
pub fn reached(usage: &Usage, limits: &Limits) -> Option<String> {
    let over = |used: u64, limit: Option<u64>, what: &str| {
        limit.filter(|limit| used >= *limit).map(|limit| format!("{used} of {limit} {what} used"))
    };
    over(usage.turns, limits.turns, "turns").or_else(|| over(usage.tokens(), limits.tokens, "tokens"))
}

/// Reads until the end: to the file, and to the gauge if this is the stream that tells.
pub fn pump(
    mut from: impl Read,
    path: &Path,
    gauge: Option<(Gauge, Limits)>,
    secrets: Vec<Secret>,
    counter: &AtomicU64,
    mut on_limit: impl FnMut(String),
) {
    let mut log = BoundedLog::create(path).ok();
    let mut redactor = crate::provider::Redactor::of(&secrets);
    let mut told = false;
    let mut buffer = vec![0u8; 64 * 1024];
    loop {
        let count = match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(_) => break,
        };
        counter.fetch_add(count as u64, Ordering::Relaxed);
        // What is read from the output ends in events and reports, so it is read without the secrets too.
        let safe = redactor.feed(&buffer[..count]);
        if let Some((gauge, limits)) = &gauge {
            let usage = gauge.feed(&safe);
            if !told && let Some(why) = reached(&usage, limits) {
                told = true;
                on_limit(why);
            }
        }
        // A full disk must not stop the agent, nor fill its pipe.
        if log.as_mut().is_some_and(|log| log.write(&safe).is_err()) {
            log = None;
        }
    }
    let rest = redactor.finish();
    if let Some((gauge, _)) = &gauge {
        gauge.feed(&rest);
    }
    if let Some(log) = &mut log {
        let _ = log.write(&rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_keeps_its_beginning_and_its_end() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("out.log");
        let mut log = BoundedLog::create(&path).expect("a log");
        let block = vec![b'x'; 1024 * 1024];
        log.write(b"first").expect("written");
        for _ in 0..70 {
            log.write(&block).expect("written");
        }
        log.write(b"last").expect("written");
        drop(log);
        let head = std::fs::read(&path).expect("the head");
        assert!(head.starts_with(b"first") && head.len() < 20 * 1024 * 1024);
        let tail = std::fs::read(path.with_extension("tail.log")).expect("the tail");
        assert!(tail.ends_with(b"last"));
        let all: u64 = std::fs::read_dir(dir.path())
            .expect("dir")
            .flatten()
            .map(|e| e.metadata().expect("meta").len())
            .sum();
        assert!(all < 64 * 1024 * 1024, "{all}");
    }

    #[test]
    fn limits_are_named() {
        let limits = Limits { wall_seconds: None, turns: Some(5), tokens: Some(100) };
        assert_eq!(reached(&Usage::default(), &limits), None);
        let usage = Usage { turns: 5, ..Usage::default() };
        assert_eq!(reached(&usage, &limits).as_deref(), Some("5 of 5 turns used"));
        let usage = Usage { input_tokens: 60, output_tokens: 50, ..Usage::default() };
        assert_eq!(reached(&usage, &limits).as_deref(), Some("110 of 100 tokens used"));
    }
}
