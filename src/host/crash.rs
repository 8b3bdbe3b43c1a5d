//! Named points at which tests let a process die as if by `kill -9`. They do nothing in release builds.

/// Dies here if `LIZA_CRASH_AT` names this point, as `name` or, for the n-th time it is passed, `name:n`.
#[cfg(debug_assertions)]
pub fn point(name: &str) {
    use std::collections::BTreeMap;
    use std::sync::Mutex;
    static PASSED: Mutex<BTreeMap<String, u32>> = Mutex::new(BTreeMap::new());
    let Ok(wanted) = std::env::var("LIZA_CRASH_AT") else { return };
    let (wanted, nth) = match wanted.split_once(':') {
        Some((wanted, nth)) => (wanted.to_owned(), nth.parse().unwrap_or(1)),
        None => (wanted, 1),
    };
    if wanted != name {
        return;
    }
    let Ok(mut passed) = PASSED.lock() else { return };
    let count = passed.entry(wanted).or_insert(0);
    *count += 1;
    if *count == nth {
        let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    }
}

#[cfg(not(debug_assertions))]
pub fn point(_: &str) {}
