//! What an agent prints: kept in files of bounded size, read for what it used, never held in memory.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::atomic::{AtomicU64, Ordering};

use super::prelude::*;
use crate::board::caps::Unit;
use crate::policy::prices::{Prices, price_of};
use crate::store::lock::open_no_follow;

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
    open_no_follow(path, OpenOptions::new().write(true).create(true).truncate(true).mode(0o600))
}

/// What the session has used so far; shared with the threads that read its output.
#[derive(Clone)]
pub struct Gauge {
    meter: Arc<Mutex<Meter>>,
    /// Printed so far, on both streams.
    bytes: Arc<AtomicU64>,
    tariff: Arc<Tariff>,
}

/// What tokens of a session cost, where its provider does not say.
#[derive(Debug, Default)]
pub struct Tariff {
    pub prices: Prices,
    /// The model that was asked for.
    pub model: Option<String>,
    pub provider: String,
}

impl Tariff {
    fn priced(&self, mut usage: Usage) -> Usage {
        let price = || price_of(&self.prices, usage.model.as_deref(), self.model.as_deref(), &self.provider);
        if usage.cost_usd.is_none()
            && let Some(price) = price()
        {
            usage.cost_usd = Some(price.of(usage.input_tokens, usage.output_tokens, usage.cached_tokens));
        }
        usage
    }
}

impl Gauge {
    pub fn new(meter: Meter, tariff: Tariff) -> Self {
        Self { meter: Arc::new(Mutex::new(meter)), bytes: Arc::default(), tariff: Arc::new(tariff) }
    }

    pub fn usage(&self) -> Usage {
        let usage = self.meter.lock().unwrap_or_else(PoisonError::into_inner).usage().clone();
        self.tariff.priced(usage)
    }

    /// The counter of printed bytes; each thread that reads a stream adds to it.
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
        self.tariff.priced(meter.usage().clone())
    }
}

/// How the words for a cap begin that is used up: other than a limit, it is no matter of one session.
pub const CAP_MARK: &str = "spend cap reached: ";

/// What a session may use: the limits of its role, and what is left of the caps.
#[derive(Clone, Default)]
pub struct Bounds {
    pub limits: Limits,
    /// With what was used before this session; others use of the same meanwhile.
    caps: Arc<Mutex<Vec<CapUse>>>,
}

impl Bounds {
    pub fn new(limits: Limits, caps: Vec<CapUse>) -> Self {
        Self { limits, caps: Arc::new(Mutex::new(caps)) }
    }

    pub fn are_capped(&self) -> bool {
        !self.caps.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// What others have used has changed.
    pub fn set_caps(&self, caps: Vec<CapUse>) {
        *self.caps.lock().unwrap_or_else(PoisonError::into_inner) = caps;
    }

    /// The first bound that is reached, in words.
    pub fn reached(&self, usage: &Usage) -> Option<String> {
        let over = |used: u64, limit: Option<u64>, what: &str| {
            limit.filter(|limit| used >= *limit).map(|limit| format!("{used} of {limit} {what} used"))
        };
        over(usage.turns, self.limits.turns, "turns")
            .or_else(|| over(usage.tokens(), self.limits.tokens, "tokens"))
            .or_else(|| self.cap_reached(usage))
    }

    fn cap_reached(&self, usage: &Usage) -> Option<String> {
        let caps = self.caps.lock().unwrap_or_else(PoisonError::into_inner);
        caps.iter().find_map(|cap| {
            let more = in_unit_of(cap, usage.tokens(), usage.cost_usd.unwrap_or(0.0));
            let now = CapUse { used: cap.used + more, ..cap.clone() };
            now.is_reached().then(|| cap_words(&now))
        })
    }
}

/// What was used, as this cap counts it.
pub fn in_unit_of(cap: &CapUse, tokens: u64, usd: f64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "no session uses 2^53 tokens")]
    match cap.unit {
        Unit::Tokens => tokens as f64,
        Unit::Usd => usd,
    }
}

/// Says which cap is used up.
pub fn cap_words(reached: &CapUse) -> String {
    format!("{CAP_MARK}{}", reached.describe())
}

/// Reads until the end: to the file, and to the gauge if this is the stream that tells.
pub fn pump(
    mut from: impl Read,
    path: &Path,
    gauge: Option<(Gauge, Bounds)>,
    secrets: Vec<Secret>,
    counter: &AtomicU64,
    mut on_limit: impl FnMut(String),
) {
    let mut log = BoundedLog::create(path).ok();
    let mut redactor = crate::provider::Redactor::of(&secrets);
    let mut reported = false;
    let mut buffer = vec![0u8; 64 * 1024];
    loop {
        let count = match from.read(&mut buffer) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Ok(0) | Err(_) => break,
            Ok(count) => count,
        };
        counter.fetch_add(count as u64, Ordering::Relaxed);
        // What is read from the output ends in events and reports, so it is read without the secrets too.
        let safe = redactor.feed(&buffer[..count]);
        if let Some((gauge, bounds)) = &gauge {
            let usage = gauge.feed(&safe);
            if !reported && let Some(why) = bounds.reached(&usage) {
                reported = true;
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
        let bounds = Bounds::new(limits, Vec::new());
        assert_eq!(bounds.reached(&Usage::default()), None);
        let usage = Usage { turns: 5, ..Usage::default() };
        assert_eq!(bounds.reached(&usage).as_deref(), Some("5 of 5 turns used"));
        let usage = Usage { input_tokens: 60, output_tokens: 50, ..Usage::default() };
        assert_eq!(bounds.reached(&usage).as_deref(), Some("110 of 100 tokens used"));
    }

    #[test]
    fn earlier_and_other_spending_counts_against_cap() {
        let cap = |setting, unit, used, cap| CapUse { setting, unit, subject: "t1".to_owned(), used, cap };
        let bounds = Bounds::new(
            Limits::default(),
            vec![
                cap("spend.task.tokens", Unit::Tokens, 900.0, 1000.0),
                cap("spend.run.usd", Unit::Usd, 0.5, 1.0),
            ],
        );
        let usage = |tokens, cost| Usage { input_tokens: tokens, cost_usd: cost, ..Usage::default() };
        assert_eq!(bounds.reached(&usage(99, Some(0.4))), None);
        let words = bounds.reached(&usage(100, None)).expect("reached");
        assert_eq!(words, "spend cap reached: task `t1` has used 1000 of 1000 tokens (`spend.task.tokens`)");
        assert!(bounds.reached(&usage(0, Some(0.5))).expect("reached").contains("1.00 of 1.00 USD"));
        bounds.set_caps(vec![cap("spend.run.tokens", Unit::Tokens, 50.0, 60.0)]);
        assert!(bounds.reached(&usage(10, None)).expect("reached").contains("this run has used 60 of 60"));
    }
}
