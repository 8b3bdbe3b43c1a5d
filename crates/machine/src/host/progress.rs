//! Reports long work: a wait or long disk work prints a line after a second, then every ten.
//!
//! The command line sets once where such lines go; the code below it has no other way to reach a person.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// How long liza may be silent.
pub const SILENCE: Duration = Duration::from_secs(1);
const AGAIN: Duration = Duration::from_secs(10);

type Narrator = Box<dyn Fn(&str) + Send + Sync>;

static NARRATOR: OnceLock<Narrator> = OnceLock::new();

/// Sets where progress lines go, for the whole process. Only the first call counts.
pub fn narrate_with(narrator: impl Fn(&str) + Send + Sync + 'static) {
    let _ = NARRATOR.set(Box::new(narrator));
}

/// One line for the person or agent that waits.
pub fn narrate(line: &str) {
    if let Some(narrator) = NARRATOR.get() {
        narrator(line);
    }
}

/// Runs work that cannot report itself, such as another program's, and reports it if it takes long.
pub fn saying<T>(what: &str, act: impl FnOnce() -> T) -> T {
    let (end, ended) = std::sync::mpsc::channel::<()>();
    let what = what.to_owned();
    // If no thread can be started, it runs silently.
    let _ = super::start_thread(move || {
        let mut progress = Progress::default();
        while let Err(std::sync::mpsc::RecvTimeoutError::Timeout) = ended.recv_timeout(SILENCE) {
            progress.tick(|| what.clone());
        }
    });
    let done = act();
    drop(end);
    done
}

/// A piece of work that reports itself if it takes long.
#[derive(Debug)]
pub struct Progress {
    started: Instant,
    next: Duration,
}

impl Default for Progress {
    fn default() -> Self {
        Self { started: Instant::now(), next: SILENCE }
    }
}

impl Progress {
    /// Reports the work if a line is due.
    pub fn tick(&mut self, what: impl FnOnce() -> String) {
        let elapsed = self.started.elapsed();
        if elapsed >= self.next {
            self.next = elapsed + AGAIN;
            narrate(&format!("{} ({} s)", what(), elapsed.as_secs()));
        }
    }
}
