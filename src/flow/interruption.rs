//! The signals that ask this process to end. While somebody listens he decides what is done; otherwise they end it as they end
//! any program.
//!
//! Handlers stay once they are there, so this is one for the whole process: a handler that is taken away does not bring the
//! default action back.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::prelude::*;

struct Listening {
    /// The last signal that came while somebody listened; none is 0.
    asked: Arc<AtomicUsize>,
    /// Nobody listens, and nobody else has handlers of his own.
    nobody: Arc<AtomicBool>,
    listeners: Mutex<usize>,
    /// This process has handlers of its own for these signals, and does not end by them.
    handled: AtomicBool,
}

fn listening() -> &'static Listening {
    static ONE: OnceLock<Listening> = OnceLock::new();
    ONE.get_or_init(|| Listening {
        asked: Arc::default(),
        nobody: Arc::default(),
        listeners: Mutex::new(0),
        handled: AtomicBool::new(false),
    })
}

/// The handlers are there from the first listener on.
fn install() {
    static ONCE: OnceLock<()> = OnceLock::new();
    ONCE.get_or_init(|| {
        let one = listening();
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            let number = usize::try_from(signal).unwrap_or_default();
            let _ = signal_hook::flag::register_conditional_default(signal, Arc::clone(&one.nobody));
            let _ = signal_hook::flag::register_usize(signal, Arc::clone(&one.asked), number);
        }
    });
}

/// Somebody else in this process has handlers of his own for them, for as long as it lives.
pub fn leave_to_others() {
    let one = listening();
    let _listeners = one.listeners.lock().unwrap_or_else(PoisonError::into_inner);
    one.handled.store(true, Ordering::SeqCst);
    one.nobody.store(false, Ordering::SeqCst);
}

/// Listens for as long as it lives.
pub struct Interruption(());

impl Interruption {
    pub fn listen() -> Self {
        let one = listening();
        let mut listeners = one.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        one.nobody.store(false, Ordering::SeqCst);
        install();
        // Whoever goes on after a signal has dealt with it.
        if *listeners == 0 && one.handled.load(Ordering::SeqCst) {
            one.asked.store(0, Ordering::SeqCst);
        }
        *listeners += 1;
        Self(())
    }

    /// The signal that came, if one did.
    pub fn signal(&self) -> Option<i32> {
        signal()
    }
}

impl Drop for Interruption {
    fn drop(&mut self) {
        let one = listening();
        let mut listeners = one.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        *listeners = listeners.saturating_sub(1);
        if *listeners == 0 && !one.handled.load(Ordering::SeqCst) {
            one.nobody.store(true, Ordering::SeqCst);
        }
    }
}

/// The signal that came while somebody listened.
pub fn signal() -> Option<i32> {
    i32::try_from(listening().asked.load(Ordering::SeqCst)).ok().filter(|signal| *signal != 0)
}

/// Does something that may take long and asks nobody: meanwhile a signal ends this process, as it would if nobody listened.
pub fn as_usual<T>(act: impl FnOnce() -> T) -> T {
    let one = listening();
    let handled = one.handled.load(Ordering::SeqCst);
    if !handled {
        one.nobody.store(true, Ordering::SeqCst);
        // One that came before is not to wait for it either.
        if let Some(signal) = signal() {
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    }
    let done = act();
    let listeners = one.listeners.lock().unwrap_or_else(PoisonError::into_inner);
    if *listeners > 0 {
        one.nobody.store(false, Ordering::SeqCst);
    }
    done
}

/// What a command answers that was ended by it: each signal has an exit code of its own.
pub fn failure(what: &str) -> Failure {
    let (code, word) = match signal() {
        Some(SIGTERM) => (ErrorCode::SignalTerminated, "terminated"),
        Some(SIGHUP) => (ErrorCode::SignalHangup, "hung up"),
        _ => (ErrorCode::SignalInterrupted, "interrupted"),
    };
    failure!(code, "{word} {what}").hint("run the command again")
}
