//! Spans of time for people.

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// Shorter spans are `just now`.
const JUST_NOW: i64 = 10;

/// Says how long something took or is ago: `just now`, `42 s`, `3 min`, `2 h 5 min`, `4 d 1 h`.
///
/// Never more than two units. A negative span (the clock went back, or two machines disagree) counts as fresh.
pub fn ago(seconds: i64) -> String {
    match seconds {
        ..JUST_NOW => "just now".to_owned(),
        JUST_NOW..MINUTE => format!("{seconds} s"),
        MINUTE..HOUR => format!("{} min", seconds / MINUTE),
        HOUR..DAY => two_units((seconds / HOUR, "h"), (seconds % HOUR / MINUTE, "min")),
        DAY.. => two_units((seconds / DAY, "d"), (seconds % DAY / HOUR, "h")),
    }
}

/// The seconds of a span as people write it: `30s`, `90m`, `90min`, `8h`, `2d`.
pub fn span(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "s" => 1,
        "m" | "min" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

fn two_units((large, large_unit): (i64, &str), (small, small_unit): (i64, &str)) -> String {
    match small {
        0 => format!("{large} {large_unit}"),
        _ => format!("{large} {large_unit} {small} {small_unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_spans_have_a_number_and_a_unit() {
        let read: Vec<Option<u64>> = ["90m", "2min", "8h", "2d", "30s"].map(span).to_vec();
        assert_eq!(read, [Some(5400), Some(120), Some(28_800), Some(172_800), Some(30)]);
        for text in ["", "8", "h", "-1h", "1.5h", "99999999999999999999d", "18446744073709551615d", "1w"] {
            assert_eq!(span(text), None, "{text}");
        }
    }

    #[test]
    fn spans_are_said_in_at_most_two_units() {
        for (seconds, expected) in [
            (i64::MIN, "just now"),
            (-1, "just now"),
            (0, "just now"),
            (9, "just now"),
            (10, "10 s"),
            (59, "59 s"),
            (60, "1 min"),
            (3 * 60 + 59, "3 min"),
            (3600, "1 h"),
            (2 * 3600 + 5 * 60, "2 h 5 min"),
            (86_399, "23 h 59 min"),
            (86_400, "1 d"),
            (4 * 86_400 + 3700, "4 d 1 h"),
            (400 * 86_400, "400 d"),
        ] {
            assert_eq!(ago(seconds), expected, "{seconds}");
        }
    }
}
