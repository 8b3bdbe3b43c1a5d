//! Moments as the board sees them: wall time for people, the monotonic clock of one boot for decisions.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// A wall-clock second in UTC, written `YYYY-MM-DDTHH:MM:SSZ`. Shown to people, never used to judge a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Wall(pub i64);

/// The last second that still fits four digits of year.
const LAST_SECOND: i64 = 253_402_300_799;

impl Wall {
    pub fn plus_seconds(self, seconds: u64) -> Self {
        let seconds = i64::try_from(seconds).unwrap_or(i64::MAX);
        Self(self.0.saturating_add(seconds).min(LAST_SECOND))
    }

    /// Seconds from `earlier` to this moment; negative if the clock went back.
    pub fn since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }

    pub fn parse(text: &str) -> Option<Self> {
        let bytes: &[u8; 20] = text.as_bytes().try_into().ok()?;
        for (at, expected) in [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':'), (19, b'Z')] {
            if bytes[at] != expected {
                return None;
            }
        }
        let two = |at: usize| -> Option<i64> {
            let (tens, ones) = (bytes[at].wrapping_sub(b'0'), bytes[at + 1].wrapping_sub(b'0'));
            (tens <= 9 && ones <= 9).then(|| i64::from(tens * 10 + ones))
        };
        let (year, month, day) = (two(0)? * 100 + two(2)?, two(5)?, two(8)?);
        let (hour, minute, second) = (two(11)?, two(14)?, two(17)?);
        // A day that the month does not have would be written as another date, and a year before 1970 as 1970.
        let is_date = year >= 1970 && (1..=days_of_month(year, month)).contains(&day);
        if !is_date || hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        Some(Self(days_from_civil(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second))
    }

    /// Writes the text into this buffer.
    fn write_to(self, text: &mut [u8; 20]) -> &str {
        let seconds = self.0.clamp(0, LAST_SECOND);
        let (year, month, day) = civil_from_days(seconds.div_euclid(86_400));
        let rest = seconds.rem_euclid(86_400);
        text.copy_from_slice(b"0000-00-00T00:00:00Z");
        let fields = [
            (0, year / 100),
            (2, year % 100),
            (5, month),
            (8, day),
            (11, rest / 3600),
            (14, rest / 60 % 60),
            (17, rest % 60),
        ];
        for (at, value) in fields {
            // Two digits each: no remainder of 10 is larger than 9.
            text[at] = b'0' + (value / 10 % 10) as u8;
            text[at + 1] = b'0' + (value % 10) as u8;
        }
        std::str::from_utf8(text).unwrap_or_default()
    }
}

/// 0 if there is no such month.
fn days_of_month(year: i64, month: i64) -> i64 {
    match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 0,
    }
}

/// Days since 1970-01-01 of a date in the Gregorian calendar, by counting years from March.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day_of_year - (153 * shifted + 2) / 5 + 1)
}

impl fmt::Display for Wall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.write_to(&mut [0; 20]))
    }
}

impl Serialize for Wall {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.write_to(&mut [0; 20]))
    }
}

impl<'de> Deserialize<'de> for Wall {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(WallVisitor)
    }
}

struct WallVisitor;

impl serde::de::Visitor<'_> for WallVisitor {
    type Value = Wall;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a time")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Wall, E> {
        Wall::parse(text).ok_or_else(|| {
            E::custom(format_args!(
                "`{}` is not a time of the form 2026-01-20T15:30:00Z",
                text.escape_debug()
            ))
        })
    }
}

impl JsonSchema for Wall {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Time".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$"
        })
    }
}

/// The time of an event, as every rule gets it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stamp {
    pub wall: Wall,
    /// Nanoseconds of the monotonic clock, which all processes of one boot share; it stops in suspend.
    pub monotonic: u64,
    /// The id of the boot that `monotonic` belongs to.
    pub boot: String,
}

/// A future moment, compared by the monotonic clock of the boot in which it was set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Deadline {
    /// For people; a changed wall clock does not move the deadline.
    pub at: Wall,
    pub monotonic: u64,
    pub boot: String,
}

impl Deadline {
    pub fn after(now: &Stamp, seconds: u64) -> Self {
        Self {
            at: now.wall.plus_seconds(seconds),
            monotonic: now.monotonic.saturating_add(seconds.saturating_mul(NANOS_PER_SECOND)),
            boot: now.boot.clone(),
        }
    }

    /// A deadline passes at its exact instant; a deadline from before the last boot has passed.
    pub fn passed(&self, now: &Stamp) -> bool {
        self.boot != now.boot || now.monotonic >= self.monotonic
    }

    pub fn extend(&mut self, seconds: u64) {
        self.at = self.at.plus_seconds(seconds);
        self.monotonic = self.monotonic.saturating_add(seconds.saturating_mul(NANOS_PER_SECOND));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wall_time_round_trips() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_768_922_400, "2026-01-20T15:20:00Z"),
            (4_107_542_399, "2100-02-28T23:59:59Z"),
            (LAST_SECOND, "9999-12-31T23:59:59Z"),
        ] {
            assert_eq!(Wall(seconds).to_string(), text);
            assert_eq!(Wall::parse(text), Some(Wall(seconds)));
        }
        for day in (0..40_000).step_by(7) {
            let wall = Wall(day * 86_400 + 12_345);
            assert_eq!(Wall::parse(&wall.to_string()), Some(wall));
        }
    }

    #[test]
    fn impossible_times_are_refused() {
        for text in [
            "",
            "2026-02-30T00:00:00Z",
            "2100-02-29T00:00:00Z",
            "2026-01-00T00:00:00Z",
            "2026-00-01T00:00:00Z",
            "1969-12-31T23:59:59Z",
            "2026-13-01T00:00:00Z",
            "2026-01-01 00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-1-01T00:00:00Z0",
            "+026-01-01T00:00:00Z",
            "2026-01-01T00:00:60Z",
            "２026-01-01T00:00Z",
        ] {
            assert_eq!(Wall::parse(text), None, "{text}");
        }
    }

    #[test]
    fn months_have_the_days_of_the_calendar() {
        for (year, month) in (1970..2410).flat_map(|year| (1..=12).map(move |month| (year, month))) {
            let next = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
            let days = days_from_civil(next.0, next.1, 1) - days_from_civil(year, month, 1);
            assert_eq!(days_of_month(year, month), days, "{year}-{month}");
        }
    }

    #[test]
    fn deadline_passes_at_its_instant_or_reboot() {
        let now = Stamp { wall: Wall(1000), monotonic: 5_000, boot: "a".into() };
        let deadline = Deadline::after(&now, 1);
        let at = |monotonic: u64, boot: &str| Stamp { wall: Wall(0), monotonic, boot: boot.into() };
        assert!(!deadline.passed(&at(5_000 + NANOS_PER_SECOND - 1, "a")));
        assert!(deadline.passed(&at(5_000 + NANOS_PER_SECOND, "a")));
        assert!(deadline.passed(&at(5_000 + NANOS_PER_SECOND + 1, "a")));
        assert!(deadline.passed(&at(0, "b")));
    }
}
