//! Named points at which tests make a process die as if by `kill -9`, or stop. No effect in release builds.

/// Dies here if `LIZA_CRASH_AT` names this point, as `name` or, for the n-th time it is passed, `name:n`. Stops here
/// until it receives `SIGCONT`, if `LIZA_STOP_AT` names it.
#[cfg(debug_assertions)]
pub fn point(name: &str) {
    use rustix::process::Signal;
    for (variable, signal) in [("LIZA_CRASH_AT", Signal::KILL), ("LIZA_STOP_AT", Signal::STOP)] {
        if reached(variable, name) {
            let _ = rustix::process::kill_process(rustix::process::getpid(), signal);
        }
    }
}

#[cfg(debug_assertions)]
fn reached(variable: &'static str, name: &str) -> bool {
    use std::collections::BTreeMap;
    use std::sync::Mutex;
    static PASSED: Mutex<BTreeMap<&'static str, u32>> = Mutex::new(BTreeMap::new());
    let Ok(wanted) = std::env::var(variable) else { return false };
    let (wanted, nth) = match wanted.split_once(':') {
        Some((wanted, nth)) => (wanted.to_owned(), nth.parse().unwrap_or(1)),
        None => (wanted, 1),
    };
    if wanted != name {
        return false;
    }
    let Ok(mut passed) = PASSED.lock() else { return false };
    let count = passed.entry(variable).or_insert(0);
    *count += 1;
    *count == nth
}

#[cfg(not(debug_assertions))]
pub fn point(_: &str) {}
