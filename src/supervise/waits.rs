//! Waiting times of runs and runners. They are fixed; debug builds let tests shorten them.

use std::time::Duration;

use crate::host::waiting_time;
use crate::policy::restart::FIRST_PAUSE;

/// The longest sleep before a run or a runner looks again: leases and reservations end without a file changing.
pub fn tick() -> Duration {
    waiting_time("LIZA_TEST_TICK_MS", Duration::from_secs(5))
}

/// The first pause after a crash, and the pause after a start that changed nothing.
pub fn back_off() -> Duration {
    waiting_time("LIZA_TEST_BACKOFF_MS", FIRST_PAUSE)
}

/// How long a process may take to end after the second request, and again after a kill.
pub fn at_once() -> Duration {
    waiting_time("LIZA_TEST_AT_ONCE_MS", Duration::from_secs(5))
}

/// Time between two looks of the breaker at a busy board: patterns take hours to develop.
pub fn breaker_rest() -> Duration {
    waiting_time("LIZA_TEST_BREAKER_REST_MS", Duration::from_secs(3))
}

/// How long an agent may take to end after a request: `run.grace_seconds`.
pub fn grace(seconds: u64) -> Duration {
    waiting_time("LIZA_TEST_GRACE_MS", Duration::from_secs(seconds))
}

/// How long a minute of a timebox lasts.
pub fn minute() -> Duration {
    waiting_time("LIZA_TEST_MINUTE_MS", Duration::from_secs(60))
}

/// With a spend cap, usage is recorded on the board at least this often.
pub fn book_every() -> Duration {
    waiting_time("LIZA_TEST_BOOK_MS", Duration::from_secs(5))
}
