//! The time, read once per command.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::board::{Stamp, Wall};

/// The current time. In debug builds tests may shift it; in a release binary no caller may expire leases that way.
pub fn now() -> Stamp {
    now_exactly().0
}

/// The current time and the nanoseconds of its second, from one reading of the clock.
pub fn now_exactly() -> (Stamp, u32) {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let wall = Wall(i64::try_from(since.as_secs()).unwrap_or(i64::MAX));
    let stamp = shifted(Stamp { wall, monotonic: monotonic(), boot: boot_id().to_owned() });
    (stamp, since.subsec_nanos())
}

/// How many seconds this machine's time zone is ahead of UTC, by the program `date`; 0 if it cannot be run.
pub fn ahead_of_utc() -> i64 {
    let said =
        super::Program::new("date").arg("+%z").output().map(|output| output.stdout).unwrap_or_default();
    let said = String::from_utf8_lossy(&said);
    let (sign, digits) = match said.trim().split_at_checked(1) {
        Some(("+", digits)) => (1, digits),
        Some(("-", digits)) => (-1, digits),
        _ => return 0,
    };
    let number: i64 = digits.parse().ok().filter(|_| digits.len() == 4).unwrap_or(0);
    sign * (number / 100 * 3600 + number % 100 * 60)
}

fn monotonic() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(u64::try_from(time.tv_nsec).unwrap_or(0))
}

/// The id of this boot. A process that cannot read it may change nothing, because its clock cannot be compared.
pub(super) fn boot_id() -> &'static str {
    super::procfs::boot_id().unwrap_or("unknown")
}

/// How long to wait for something. In debug builds a test may set another time, in milliseconds.
#[cfg(debug_assertions)]
pub fn waiting_time(variable: &str, usual: Duration) -> Duration {
    let set = std::env::var(variable).ok().and_then(|text| text.parse().ok());
    set.map_or(usual, Duration::from_millis)
}

#[cfg(not(debug_assertions))]
pub fn waiting_time(_: &str, usual: Duration) -> Duration {
    usual
}

#[cfg(debug_assertions)]
fn shifted(mut stamp: Stamp) -> Stamp {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<i64>().ok());
    if let Some(seconds) = number("LIZA_TEST_ADVANCE") {
        stamp.wall = Wall(stamp.wall.0 + seconds);
        stamp.monotonic = stamp.monotonic.saturating_add_signed(seconds.saturating_mul(1_000_000_000));
    }
    if let Some(seconds) = number("LIZA_TEST_WALL_SHIFT") {
        stamp.wall = Wall(stamp.wall.0 + seconds);
    }
    if let Ok(boot) = std::env::var("LIZA_TEST_BOOT") {
        stamp.boot = boot;
    }
    stamp
}

#[cfg(not(debug_assertions))]
fn shifted(stamp: Stamp) -> Stamp {
    stamp
}

/// The time that a file changed now would get: the kernel's file clock ticks every few milliseconds.
pub fn file_clock() -> (i64, i64) {
    #[cfg(target_os = "linux")]
    let clock = rustix::time::ClockId::RealtimeCoarse;
    #[cfg(not(target_os = "linux"))]
    let clock = rustix::time::ClockId::Realtime;
    let now = rustix::time::clock_gettime(clock);
    // On other systems the tick is unknown.
    let margin = if cfg!(target_os = "linux") { 0 } else { 1 };
    (now.tv_sec - margin, now.tv_nsec)
}
