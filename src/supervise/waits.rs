//! How long runs and runners wait for something. These times are fixed; debug builds let tests shorten them.

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

/// How long a process that was asked twice has to end, and again after it was killed.
pub fn at_once() -> Duration {
    waiting_time("LIZA_TEST_AT_ONCE_MS", Duration::from_secs(5))
}

/// Between two looks of the breaker at a board that changes all the time: a pattern is hours in the making.
pub fn breaker_rest() -> Duration {
    waiting_time("LIZA_TEST_BREAKER_REST_MS", Duration::from_secs(3))
}

/// The time an agent has to end by itself after it was asked to: `run.grace_seconds`.
pub fn grace(seconds: u64) -> Duration {
    waiting_time("LIZA_TEST_GRACE_MS", Duration::from_secs(seconds))
}

/// How long a minute of a timebox lasts.
pub fn minute() -> Duration {
    waiting_time("LIZA_TEST_MINUTE_MS", Duration::from_secs(60))
}

/// Where something is capped, what is used is put on the board at least this often.
pub fn book_every() -> Duration {
    waiting_time("LIZA_TEST_BOOK_MS", Duration::from_secs(5))
}
