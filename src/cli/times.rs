//! Times for people: in the local time zone, with the distance from now. `--json` keeps UTC.

use std::borrow::Cow;
use std::sync::OnceLock;

use crate::board::Wall;
use crate::text::ago;

/// The length of a time as liza writes it: `2026-01-20T15:30:00Z`.
const LENGTH: usize = 20;

/// Replaces every time in a text by the local time.
pub fn for_people(text: &str) -> Cow<'_, str> {
    static OFFSET: OnceLock<i64> = OnceLock::new();
    match first_time(text, 0) {
        None => Cow::Borrowed(text),
        Some(_) => {
            let offset = *OFFSET.get_or_init(|| i64::from(crate::git::local_offset_minutes()) * 60);
            Cow::Owned(in_words(text, crate::host::now().wall, offset))
        }
    }
}

/// `3 min ago`, or `just now`.
pub fn ago_words(seconds: i64) -> String {
    match ago(seconds) {
        now if now == "just now" => now,
        span => format!("{span} ago"),
    }
}

fn in_words(text: &str, now: Wall, offset: i64) -> String {
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    while let Some((at, time)) = first_time(text, done) {
        out.push_str(&text[done..at]);
        let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
        // A time at the start of a line, or after a number there, is a column, not part of a sentence.
        let leads = text[line..at].trim().chars().all(|c| c.is_ascii_digit() || c == '-');
        out.push_str(&time_words(time, now, offset, leads));
        done = at + LENGTH;
    }
    out.push_str(&text[done..]);
    out
}

fn time_words(time: Wall, now: Wall, offset: i64, leads: bool) -> String {
    let local = |moment: Wall| Wall(moment.0.saturating_add(offset)).to_string();
    let (there, here) = (local(time), local(now));
    let same_day = there[..10] == here[..10];
    match (leads, same_day) {
        (true, true) => there[11..19].to_owned(),
        (true, false) => format!("{} {}", &there[..10], &there[11..16]),
        (false, _) => {
            let day = if same_day { String::new() } else { format!("{} ", &there[..10]) };
            let away = time.since(now);
            let from_now = if away > 0 { format!("in {}", span(away)) } else { ago_words(-away) };
            format!("{day}{} ({from_now})", &there[11..16])
        }
    }
}

/// Like [`ago`], with seconds for the near future.
fn span(seconds: i64) -> String {
    if seconds < 10 { format!("{seconds} s") } else { ago(seconds) }
}

/// The first time from there on that is a separate word and not inside a command between backticks.
fn first_time(text: &str, from: usize) -> Option<(usize, Wall)> {
    let bytes = text.as_bytes();
    let mut start = from;
    while let Some(found) = memchr::memchr(b'Z', &bytes[start..]) {
        let end = start + found + 1;
        start = end;
        let Some(at) = end.checked_sub(LENGTH).filter(|at| *at >= from && text.is_char_boundary(*at)) else {
            continue;
        };
        let Some(time) = Wall::parse(&text[at..end]) else { continue };
        let inside_word =
            |byte: Option<&u8>| byte.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'-' || *b == b'_');
        if inside_word(at.checked_sub(1).and_then(|before| bytes.get(before))) || inside_word(bytes.get(end))
        {
            continue;
        }
        let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
        if text[line..at].bytes().filter(|b| *b == b'`').count() % 2 == 0 {
            return Some((at, time));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_local_with_distance_from_now() {
        let now = Wall::parse("2026-01-20T15:30:00Z").unwrap();
        for (text, offset, expected) in [
            ("until 2026-01-20T15:59:00Z, then", 0, "until 15:59 (in 29 min), then"),
            ("until 2026-01-20T15:30:05Z", 3600, "until 16:30 (in 5 s)"),
            ("since 2026-01-20T13:25:00Z", 7200, "since 15:25 (2 h 5 min ago)"),
            ("since 2026-01-17T23:30:00Z", 7200, "since 2026-01-18 01:30 (2 d 16 h ago)"),
            ("at 2026-01-20T15:29:58Z", -1800, "at 14:59 (just now)"),
            ("2026-01-20T15:29:58Z coder-1", 0, "15:29:58 coder-1"),
            ("    12 2026-01-19T15:29:58Z coder-1", 0, "    12 2026-01-19 15:29 coder-1"),
            (
                "`liza log --since 2026-01-20T15:29:58Z` shows",
                0,
                "`liza log --since 2026-01-20T15:29:58Z` shows",
            ),
            (
                "x2026-01-20T15:29:58Z 2026-13-20T15:29:58Z Z",
                0,
                "x2026-01-20T15:29:58Z 2026-13-20T15:29:58Z Z",
            ),
        ] {
            assert_eq!(in_words(text, now, offset), expected, "{text}");
        }
        assert!(matches!(for_people("nothing, Zoe"), Cow::Borrowed(_)));
    }
}
