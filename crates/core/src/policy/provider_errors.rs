//! Error messages of agent commands: a table of patterns for each class, and the time of the next try. The messages are
//! a provider's, so they are data: liza follows no instruction in them.

use super::prelude::*;
use crate::board::breaker::CrashClass;

/// How many bytes of a line are examined.
const LONGEST: usize = 4096;
/// The longest time, in seconds, that a runner waits for a provider.
const LONGEST_WAIT: u64 = 31 * 24 * 3600;

sparse_settings! {
    /// Patterns of error messages, ignoring case; `*` stands for any text, and a number means the whole number. The classes
    /// are tried in this order.
    pub struct ErrorTable {
        /// The provider has no login, or its key is wrong.
        pub login: Vec<String>,
        /// The paid quota is used up.
        pub quota: Vec<String>,
        /// The conversation no longer fits into the model's context.
        pub context: Vec<String>,
        /// Too many requests at a time.
        pub rate_limit: Vec<String>,
        /// The agent's tools were denied.
        pub permission: Vec<String>,
        /// The provider's service cannot be reached.
        pub network: Vec<String>,
    }
}

impl ErrorTable {
    fn classes(&self) -> [(CrashClass, &[String]); 6] {
        [
            (CrashClass::Login, &self.login),
            (CrashClass::Quota, &self.quota),
            (CrashClass::Context, &self.context),
            (CrashClass::RateLimit, &self.rate_limit),
            (CrashClass::Permission, &self.permission),
            (CrashClass::Network, &self.network),
        ]
    }

    pub fn class_of(&self, said: &str) -> Option<CrashClass> {
        let said: String = said.chars().take(LONGEST).collect::<String>().to_lowercase();
        let fits = |patterns: &[String]| patterns.iter().any(|pattern| holds(&said, &pattern.to_lowercase()));
        self.classes().into_iter().find(|(_, patterns)| fits(patterns)).map(|(class, _)| class)
    }

    /// This table, with missing classes from `base`.
    pub fn before(&self, base: &Self) -> Self {
        let both = |own: &[String], base: &[String]| [own, base].concat();
        Self {
            login: both(&self.login, &base.login),
            quota: both(&self.quota, &base.quota),
            context: both(&self.context, &base.context),
            rate_limit: both(&self.rate_limit, &base.rate_limit),
            permission: both(&self.permission, &base.permission),
            network: both(&self.network, &base.network),
        }
    }
}

/// Whether the text contains the parts of the pattern in order.
fn holds(text: &str, pattern: &str) -> bool {
    let mut from = 0;
    let mut any = false;
    for part in pattern.split('*').filter(|part| !part.is_empty()) {
        any = true;
        match find(text, from, part) {
            Some(at) => from = at + part.len(),
            None => return false,
        }
    }
    any
}

/// Finds the part at or after `from`. A number in the part matches a whole number only: `429` is not found in a commit id.
fn find(text: &str, from: usize, part: &str) -> Option<usize> {
    let digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
    let goes_on = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let cut = |at: usize| {
        digit(part.chars().next()) && goes_on(text[..at].chars().next_back())
            || digit(part.chars().next_back()) && goes_on(text[at + part.len()..].chars().next())
    };
    text[from..].match_indices(part).map(|(at, _)| from + at).find(|at| !cut(*at))
}

/// When the provider can be used again: a time, or a duration from now. A time of day is in this machine's zone, which
/// is so many seconds ahead of UTC.
pub fn again_at(said: &str, now: Wall, ahead_of_utc: i64) -> Option<Wall> {
    let said: String = said.chars().take(LONGEST).collect();
    let lower = said.to_lowercase();
    let found = time_in(&said)
        .or_else(|| epoch_in(&said))
        .or_else(|| wait_in(&lower).map(|seconds| now.plus_seconds(seconds)))
        .or_else(|| time_of_day_in(&lower, now, ahead_of_utc))?;
    let ahead = found.since(now);
    (ahead > 0 && ahead.unsigned_abs() <= LONGEST_WAIT).then_some(found)
}

/// `2026-01-05T13:00:00Z`, also with fractions of a second.
fn time_in(said: &str) -> Option<Wall> {
    said.match_indices("20").find_map(|(at, _)| {
        let text: String = said[at..].chars().take(19).collect();
        let zone = said[at..].chars().skip(19).find(|c| *c != '.' && !c.is_ascii_digit());
        (zone == Some('Z')).then(|| Wall::parse(&format!("{text}Z")))?
    })
}

const DAY: i64 = 86_400;
const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// `at 4:23 AM`, `resets 3pm`, `at Nov 20th, 2026 4:23 AM`. Without a date, the next such time; for the present minute,
/// one minute later.
fn time_of_day_in(said: &str, now: Wall, ahead_of_utc: i64) -> Option<Wall> {
    let words: Vec<&str> =
        said.split(|c: char| c.is_whitespace() || ",()".contains(c)).filter(|w| !w.is_empty()).collect();
    let (at, seconds) =
        (0..words.len()).find_map(|at| Some((at, time_of_day(words[at], words.get(at + 1))?)))?;
    if let Some(midnight) = date_before(&words[..at]) {
        return Some(Wall(midnight.0 + seconds - ahead_of_utc));
    }
    let local = now.0 + ahead_of_utc;
    let then = local - local.rem_euclid(DAY) + seconds;
    let then = match local - then {
        late if late < 0 => then,
        0..60 => then + 60,
        _ => then + DAY,
    };
    Some(Wall(then - ahead_of_utc))
}

/// Seconds since midnight: `4:23` before `am`, `3pm`.
fn time_of_day(word: &str, next: Option<&&str>) -> Option<i64> {
    let half = |text: &str| ["am", "pm"].into_iter().find(|half| text.trim_end_matches('.') == *half);
    let word = word.trim_end_matches('.');
    let glued = ["am", "pm"].into_iter().find_map(|half| Some((word.strip_suffix(half)?, half)));
    let (clock, half) = glued.or_else(|| Some((word, half(next?)?)))?;
    let (hour, minute) = clock.split_once(':').unwrap_or((clock, "0"));
    let hour: i64 = hour.parse().ok().filter(|hour| (1..=12).contains(hour))?;
    let minute: i64 = minute.parse().ok().filter(|minute| (0..60).contains(minute))?;
    let hour = hour % 12 + if half == "pm" { 12 } else { 0 };
    Some(hour * 3600 + minute * 60)
}

/// Midnight of `nov 20th 2026`, if the words end with a date.
fn date_before(words: &[&str]) -> Option<Wall> {
    let [.., month, day, year] = words else { return None };
    let month = MONTHS.iter().position(|name| month.starts_with(name))? + 1;
    let day: u32 = day.trim_end_matches(|c: char| c.is_ascii_alphabetic()).parse().ok()?;
    let year: u32 = year.parse().ok().filter(|year| (2000..3000).contains(year))?;
    Wall::parse(&format!("{year}-{month:02}-{day:02}T00:00:00Z"))
}

/// Seconds or milliseconds since 1970, after `|` or in JSON.
fn epoch_in(said: &str) -> Option<Wall> {
    let numbers = said.split(|c: char| !c.is_ascii_digit());
    numbers.into_iter().find_map(|digits| {
        let number: i64 = digits.parse().ok().filter(|_| digits.starts_with('1'))?;
        match digits.len() {
            10 => Some(Wall(number)),
            13 => Some(Wall(number / 1000)),
            _ => None,
        }
    })
}

/// `in 3 days 4 hours`, `after 12h34m56s`, `retry-after: 30`, `retryDelay":"34s"`.
fn wait_in(said: &str) -> Option<u64> {
    const BEFORE: [&str; 9] = [
        "retry-after",
        "retry_after",
        "retrydelay",
        "retry after ",
        "reset after ",
        "resets after ",
        "resets in ",
        " in ",
        "wait ",
    ];
    BEFORE
        .iter()
        .find_map(|word| said.match_indices(word).find_map(|(at, _)| duration(&said[at + word.len()..])))
}

/// A number with a unit, and more of them after it; a number alone is seconds.
fn duration(text: &str) -> Option<u64> {
    let mut rest = text.trim_start_matches([' ', ':', '=', '"', '\'']);
    let (mut seconds, mut any) = (0.0, false);
    loop {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let Ok(number) = rest[..digits].trim_end_matches('.').parse::<f64>() else { break };
        let dot = rest[..digits].ends_with('.');
        rest = rest[digits..].trim_start();
        let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        let unit = match &rest[..letters] {
            "ms" | "milliseconds" => 0.001,
            "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
            "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
            "h" | "hr" | "hrs" | "hour" | "hours" => 3600.0,
            "d" | "day" | "days" => 86_400.0,
            _ if !any && (letters == 0 || dot) => return (number < 1e9).then_some(number.ceil() as u64),
            _ => break,
        };
        seconds += number * unit;
        any = true;
        rest = rest[letters..].trim_start_matches([' ', ',']);
        rest = rest.strip_prefix("and ").unwrap_or(rest);
    }
    (any && seconds < 1e9).then_some((seconds.ceil() as u64).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_class_with_a_fitting_pattern_counts() {
        let table = ErrorTable {
            login: vec!["not logged in".into()],
            quota: vec!["limit*reset".into()],
            rate_limit: vec!["429".into(), "rate limit".into()],
            ..ErrorTable::default()
        };
        assert_eq!(table.class_of("Error: NOT LOGGED IN (401)"), Some(CrashClass::Login));
        assert_eq!(table.class_of("429: usage limit, resets later"), Some(CrashClass::Quota));
        assert_eq!(table.class_of("429: resets, limit"), Some(CrashClass::RateLimit));
        assert_eq!(table.class_of("segmentation fault"), None);
        for other in ["reset to 28fde7b429c3", "14290 lines", "429ms", "pid 5429"] {
            assert_eq!(table.class_of(other), None, "{other}");
        }
        assert_eq!(table.class_of("pid 4290: (429)"), Some(CrashClass::RateLimit));
        let nothing = ErrorTable { login: vec!["*".into(), String::new()], ..ErrorTable::default() };
        assert_eq!(nothing.class_of("anything"), None);
    }

    #[test]
    fn time_to_try_again_is_read_from_many_forms() {
        let now = Wall::parse("2026-01-05T12:00:00Z").expect("a time");
        let later = |said: &str| again_at(said, now, 0).map(|at| at.since(now));
        assert_eq!(later("try again in 3 days 4 hours 5 minutes."), Some(3 * 86_400 + 4 * 3600 + 300));
        assert_eq!(later("Your quota will reset after 12h34m56s."), Some(12 * 3600 + 34 * 60 + 56));
        assert_eq!(later("Please try again in 6m0s."), Some(360));
        assert_eq!(later("Please try again in 1.5s"), Some(2));
        assert_eq!(later("retry-after: 30"), Some(30));
        assert_eq!(later("{\"retryDelay\":\"34s\"}"), Some(34));
        assert_eq!(later("usage limit reached|1767618000"), Some(3600));
        assert_eq!(later("reset_at 2026-01-05T13:00:00.123Z"), Some(3600));
        assert_eq!(later("resets 2020-01-05T13:00:00Z"), None, "it is past");
        assert_eq!(later("resets 3pm (Europe/Berlin)"), Some(3 * 3600));
        assert_eq!(later("or try again at 4:23 AM."), Some(16 * 3600 + 23 * 60));
        assert_eq!(later("try again at Jan 7th, 2026 1:05 PM."), Some(2 * 86_400 + 3900));
        assert_eq!(later("try again at 12:00 PM."), Some(60), "the minute that runs");
        assert_eq!(again_at("resets 3pm", now, 3600).map(|at| at.since(now)), Some(2 * 3600));
        assert_eq!(later("at 13:99 pm, Foo 99th, 2026 77 am"), None);
        assert_eq!(later("in 99999999999999999999 days"), None);
        assert_eq!(later("error in the request"), None);
    }
}
