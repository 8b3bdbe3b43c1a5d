//! What unit tests of several rooms share.

/// How far a sweep goes: a short way in the suite, the whole way with `LIZA_SWEEP=full` (`scripts/torture suite`).
#[expect(clippy::disallowed_methods, reason = "tests are steered by the environment")]
pub fn sweep<T>(short: T, full: T) -> T {
    if std::env::var_os("LIZA_SWEEP").is_some_and(|value| value == "full") { full } else { short }
}
