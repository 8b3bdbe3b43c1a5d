//! Captures a command's output: all of it is passed on, its start and end are kept.

use std::fs::{DirBuilder, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::process::{ChildStderr, ChildStdout};
use std::sync::{Arc, Mutex, mpsc};

use memchr::memmem::Finder;

use super::prelude::*;
use crate::provider::Redactor;
use crate::store::lock::open_no_follow;

/// How much of the start and of the end of the output is kept.
pub const KEPT: usize = 1024 * 1024;

/// The start and the end of an output.
#[derive(Debug, Default)]
pub struct Captured {
    head: Vec<u8>,
    tail: Vec<u8>,
    /// How many bytes between the two are left out.
    pub dropped: u64,
    /// Whether the wanted text occurred.
    pub found: bool,
}

impl Captured {
    fn add(&mut self, chunk: &[u8]) {
        let room = KEPT.saturating_sub(self.head.len()).min(chunk.len());
        self.head.extend_from_slice(&chunk[..room]);
        self.tail.extend_from_slice(&chunk[room..]);
        if self.tail.len() > 2 * KEPT {
            self.shorten();
        }
    }

    fn shorten(&mut self) {
        let excess = self.tail.len().saturating_sub(KEPT);
        self.tail.drain(..excess);
        self.dropped += excess as u64;
    }

    /// Everything kept; a line says how many bytes are left out.
    pub fn kept(&self) -> Vec<u8> {
        let marker = match self.dropped {
            0 => String::new(),
            bytes => format!("\n[… {bytes} bytes left out …]\n"),
        };
        [self.head.as_slice(), marker.as_bytes(), self.tail.as_slice()].concat()
    }
}

/// Two reading threads, and their output so far.
pub struct Ear {
    all: Arc<Mutex<Captured>>,
    out: Arc<Mutex<Captured>>,
    ended: mpsc::Receiver<()>,
    streams: usize,
}

impl Ear {
    /// Reads standard output and, if separate, standard error.
    pub fn listen(
        out: Option<ChildStdout>,
        err: Option<ChildStderr>,
        wanted: &str,
        secrets: &[Secret],
    ) -> std::io::Result<Self> {
        let (all, alone) = (Arc::default(), Arc::default());
        let (sender, ended) = mpsc::channel();
        let apart = err.is_some();
        let mut streams: Vec<(Box<dyn Read + Send>, _)> = Vec::new();
        if let Some(out) = out {
            streams.push((Box::new(out), if apart { vec![&all, &alone] } else { vec![&all] }));
        }
        if let Some(err) = err {
            streams.push((Box::new(err), vec![&all]));
        }
        let count = streams.len();
        for (reader, into) in streams {
            let into: Vec<Arc<Mutex<Captured>>> = into.into_iter().map(Arc::clone).collect();
            let redactor = Redactor::of(secrets);
            let (wanted, sender) = (wanted.as_bytes().to_vec(), sender.clone());
            crate::host::start_thread(move || {
                hear(reader, &into, redactor, &wanted);
                let _ = sender.send(());
            })?;
        }
        Ok(Self { all, out: alone, ended, streams: count })
    }

    /// The output, once no process can write more, or `patience` is over.
    pub fn heard(self, patience: Duration, nothing_wanted: bool) -> (Captured, Captured) {
        let deadline = Instant::now() + patience;
        for _ in 0..self.streams {
            let left = deadline.saturating_duration_since(Instant::now());
            if self.ended.recv_timeout(left).is_err() {
                break;
            }
        }
        let taken = |shared: &Mutex<Captured>| {
            let mut shared = shared.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            shared.shorten();
            shared.found |= nothing_wanted;
            std::mem::take(&mut *shared)
        };
        (taken(&self.all), taken(&self.out))
    }
}

/// Passes on what is read, without secrets, and looks for `wanted` in all of it.
fn hear(mut reader: impl Read, into: &[Arc<Mutex<Captured>>], mut redactor: Redactor, wanted: &[u8]) {
    let finder = Finder::new(wanted);
    let (mut found, mut overlap) = (wanted.is_empty(), Vec::new());
    let mut buffer = vec![0u8; 64 * 1024];
    loop {
        let count = match reader.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(_) => break,
        };
        if !found {
            overlap.extend_from_slice(&buffer[..count]);
            found = finder.find(&overlap).is_some();
            let keep = overlap.len().min(wanted.len().saturating_sub(1));
            overlap.drain(..overlap.len() - keep);
        }
        pass(into, &redactor.feed(&buffer[..count]), found);
    }
    pass(into, &redactor.finish(), found);
}

fn pass(into: &[Arc<Mutex<Captured>>], chunk: &[u8], found: bool) {
    for one in into {
        let mut one = one.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        one.found |= found;
        one.add(chunk);
    }
}

/// The output of each try, one below the other. It may hold anything, so the file is as private as the board.
pub fn write_log(path: &Path, command: &str, tries: &[&Captured]) -> std::io::Result<()> {
    if let Some(parent) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
    }
    // What ran may have put a pipe there: liza does not wait for its other end.
    let mut options = OpenOptions::new();
    let mut file = open_no_follow(path, options.write(true).create(true).truncate(true).mode(0o600))?;
    for (number, captured) in tries.iter().enumerate() {
        if number > 0 {
            writeln!(file, "\n[run again: try {}]", number + 1)?;
        }
        writeln!(file, "$ {command}")?;
        file.write_all(&captured.kept())?;
    }
    Ok(())
}
