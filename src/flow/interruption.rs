//! The signals that ask this process to end. While a listener exists, it decides what happens; otherwise they end the
//! process as usual.
//!
//! Handlers stay once installed, so there is one set for the whole process: removing a handler does not restore the
//! default action.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::prelude::*;

struct Listening {
    /// The last signal that came while a listener existed; 0 for none.
    last_signal: Arc<AtomicUsize>,
    /// Whether no listener exists, and no other code has its own handlers.
    unheard: Arc<AtomicBool>,
    listeners: Mutex<usize>,
    /// Whether this process has its own handlers for these signals, and does not end by them.
    handled: AtomicBool,
}

fn listening() -> &'static Listening {
    static ONE: OnceLock<Listening> = OnceLock::new();
    ONE.get_or_init(|| Listening {
        last_signal: Arc::default(),
        unheard: Arc::default(),
        listeners: Mutex::new(0),
        handled: AtomicBool::new(false),
    })
}

/// The handlers are installed by the first listener.
fn install() {
    static ONCE: OnceLock<()> = OnceLock::new();
    ONCE.get_or_init(|| {
        let one = listening();
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            let number = usize::try_from(signal).unwrap_or_default();
            // In this order: if another thread takes the signal while `as_usual` begins, one of the two sees the other.
            let _ = signal_hook::flag::register_usize(signal, Arc::clone(&one.last_signal), number);
            let _ = signal_hook::flag::register_conditional_default(signal, Arc::clone(&one.unheard));
        }
    });
}

/// Other code in this process has its own handlers for these signals, for as long as the process lives.
pub fn leave_to_others() {
    let one = listening();
    let _listeners = one.listeners.lock().unwrap_or_else(PoisonError::into_inner);
    one.handled.store(true, Ordering::SeqCst);
    one.unheard.store(false, Ordering::SeqCst);
}

/// Listens until dropped.
pub struct Interruption(());

impl Interruption {
    pub fn listen() -> Self {
        let one = listening();
        let mut listeners = one.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        one.unheard.store(false, Ordering::SeqCst);
        install();
        // A command that continues after a signal has handled it.
        if *listeners == 0 && one.handled.load(Ordering::SeqCst) {
            one.last_signal.store(0, Ordering::SeqCst);
        }
        *listeners += 1;
        Self(())
    }

    /// The signal that came, if any.
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
            one.unheard.store(true, Ordering::SeqCst);
        }
    }
}

/// The signal that came while a listener existed.
pub fn signal() -> Option<i32> {
    i32::try_from(listening().last_signal.load(Ordering::SeqCst)).ok().filter(|signal| *signal != 0)
}

/// Runs long work that checks for no signal: meanwhile a signal ends this process, as it would without a listener.
pub fn as_usual<T>(act: impl FnOnce() -> T) -> T {
    let one = listening();
    let handled = one.handled.load(Ordering::SeqCst);
    if !handled {
        one.unheard.store(true, Ordering::SeqCst);
        // An earlier signal must not wait for it either.
        if let Some(signal) = signal() {
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    }
    let done = act();
    let listeners = one.listeners.lock().unwrap_or_else(PoisonError::into_inner);
    if *listeners > 0 {
        one.unheard.store(false, Ordering::SeqCst);
    }
    done
}

/// The failure of a command that a signal ended: each signal has its own exit code.
pub fn failure(what: &str) -> Failure {
    let (code, word) = match signal() {
        Some(SIGTERM) => (ErrorCode::SignalTerminated, "terminated"),
        Some(SIGHUP) => (ErrorCode::SignalHangup, "hung up"),
        _ => (ErrorCode::SignalInterrupted, "interrupted"),
    };
    failure!(code, "{word} {what}").hint("run the command again")
}
