//! Times as shells write them.

use crate::board::Wall;

/// Reads a date, or a date and time in one of the usual forms: `T` or a blank between, seconds or not, a fraction, `Z`,
/// an offset, or neither (taken as UTC); or seconds since 1970.
pub fn loose_time(text: &str) -> Option<Wall> {
    let text = text.trim();
    if (9..=11).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse().ok().map(Wall);
    }
    let date = text.get(..10)?;
    let rest = text.get(10..)?.trim_start_matches(['T', 't', ' ']);
    let (clock, offset) = split_offset(rest)?;
    let clock = clock.split(['.', ',']).next().unwrap_or_default().trim();
    let clock = match clock.len() {
        0 => "00:00:00".to_owned(),
        5 => format!("{clock}:00"),
        _ => clock.to_owned(),
    };
    let wall = Wall::parse(&format!("{date}T{clock}Z"))?;
    Some(Wall(wall.0.checked_sub(offset)?)).filter(|wall| wall.0 >= 0)
}

/// The clock, and how many seconds it is ahead of UTC.
fn split_offset(text: &str) -> Option<(&str, i64)> {
    if let Some(clock) = text.strip_suffix(['Z', 'z']) {
        return Some((clock, 0));
    }
    if let Some(clock) = text.strip_suffix("UTC").or_else(|| text.strip_suffix("GMT")) {
        return Some((clock.trim_end(), 0));
    }
    let Some(at) = text.rfind(['+', '-']) else { return Some((text, 0)) };
    let digits: String = text[at + 1..].chars().filter(|c| *c != ':').collect();
    if !matches!(digits.len(), 2 | 4) || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let hours: i64 = digits[..2].parse().ok()?;
    let minutes: i64 = digits.get(2..).filter(|rest| !rest.is_empty()).map_or(Ok(0), str::parse).ok()?;
    if hours > 14 || minutes > 59 {
        return None;
    }
    let seconds = hours * 3600 + minutes * 60;
    Some((text[..at].trim_end(), if text.as_bytes()[at] == b'-' { -seconds } else { seconds }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_time_formats_give_the_same_time() {
        for text in [
            "2026-01-20T15:30:00Z",
            "2026-01-20T15:30:00.123456Z",
            "2026-01-20 15:30:00Z",
            "2026-01-20 15:30:00",
            "2026-01-20T15:30Z",
            "2026-01-20T15:30:00+00:00",
            "2026-01-20T17:30:00+02:00",
            "2026-01-20T10:30:00-0500",
            "2026-01-20T17:30:00+02",
            "2026-01-20 15:30:00 UTC",
            "1768923000",
            "  2026-01-20t15:30:00z ",
        ] {
            assert_eq!(
                loose_time(text).map(|wall| wall.to_string()).as_deref(),
                Some("2026-01-20T15:30:00Z"),
                "{text}"
            );
        }
        assert_eq!(
            loose_time("2026-01-20").map(|wall| wall.to_string()).as_deref(),
            Some("2026-01-20T00:00:00Z")
        );
    }

    #[test]
    fn text_without_a_time_gives_none() {
        for text in [
            "",
            "soon",
            "2026-13-01",
            "2026-01-20T25:00:00Z",
            "2026-01-20T15:30:00+99:00",
            "20.1.2026",
            "−1",
            "1969-12-31T23:00:00Z",
            "２026-01-20",
        ] {
            assert_eq!(loose_time(text), None, "{text}");
        }
    }
}
