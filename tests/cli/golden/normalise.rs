//! Replaces what differs from run to run: times, durations, ids, secrets, sizes and paths. The rest is
//! the same on every machine.

use std::collections::HashMap;

use serde_json::{Map, Value};

/// Numbers of JSON answers that differ from run to run, by their key.
const NUMBERS: [(&str, &str); 16] = [
    ("after", "<bytes>"),
    ("age_seconds", "<seconds>"),
    ("before", "<bytes>"),
    ("bytes", "<bytes>"),
    ("cpu_ms", "<ms>"),
    ("duration_ms", "<ms>"),
    ("elapsed_seconds", "<seconds>"),
    ("extended_by", "<seconds>"),
    ("freed", "<bytes>"),
    ("monotonic", "<monotonic>"),
    ("pid", "<pid>"),
    ("prompt_bytes", "<bytes>"),
    ("review_seconds", "<seconds>"),
    ("seconds", "<seconds>"),
    ("started", "<ticks>"),
    ("work_seconds", "<seconds>"),
];
/// The same for strings, and for null in place of a string.
const STRINGS: [(&str, &str); 3] =
    [("boot", "<boot>"), ("installed", "<program>"), ("namespace", "<namespace>")];

/// Longer durations are settings, such as limits and leases, and stay. No test runs so long.
const SETTING_SECONDS: f64 = 300.0;

/// The full id and the type of the git object whose id starts like this.
pub type Objects<'a> = dyn Fn(&str) -> Option<(String, &'static str)> + 'a;

pub struct Normaliser<'a> {
    /// Paths and their replacements, the longest first.
    places: Vec<(String, &'static str)>,
    objects: &'a Objects<'a>,
    names: HashMap<String, String>,
    counts: HashMap<&'static str, usize>,
}

impl<'a> Normaliser<'a> {
    pub fn new(places: &[(String, &'static str)], objects: &'a Objects<'a>) -> Self {
        let mut places: Vec<_> = places.to_vec();
        places.sort_by_key(|(place, _)| std::cmp::Reverse(place.len()));
        Self { places, objects, names: HashMap::new(), counts: HashMap::new() }
    }

    pub fn text(&mut self, text: &str) -> String {
        let mut text = text.to_owned();
        for (place, name) in &self.places {
            text = text.replace(place.as_str(), name);
        }
        text = text.replace(concat!("liza ", env!("CARGO_PKG_VERSION")), "liza <version>");
        text = text.split_inclusive('\n').map(measure).collect();
        let mut out = String::with_capacity(text.len());
        let mut rest = text.as_str();
        while let Some(letter) = rest.chars().next() {
            let at_word = !out.ends_with(|before: char| before.is_alphanumeric() || before == '_');
            let Some(found) = at_word.then(|| self.at(rest)).flatten() else {
                out.push(letter);
                rest = &rest[letter.len_utf8()..];
                continue;
            };
            rest = &rest[found.length..];
            if found.varies_in_width {
                // Columns are padded to the width of the original text.
                squeeze(&mut out);
                let spaces = rest.len() - rest.trim_start_matches(' ').len();
                rest = &rest[spaces.saturating_sub(2)..];
            }
            out.push_str(&found.name);
        }
        out
    }

    /// By type: strings as text, and numbers whose key says that they vary.
    pub fn json(&mut self, value: &Value) -> Value {
        self.value("", value, false)
    }

    fn value(&mut self, key: &str, value: &Value, measured: bool) -> Value {
        let named = |list: &[(&str, &'static str)]| {
            list.iter().find(|(name, _)| *name == key).map(|(_, shown)| Value::from(*shown))
        };
        match value {
            Value::String(text) => named(&STRINGS).unwrap_or_else(|| Value::from(self.text(text))),
            Value::Null => named(&STRINGS).unwrap_or(Value::Null),
            Value::Number(_) if measured && key != "count" || is_measure(key) => Value::from("<seconds>"),
            Value::Number(_) => named(&NUMBERS).unwrap_or_else(|| value.clone()),
            Value::Array(items) => items.iter().map(|item| self.value(key, item, measured)).collect(),
            Value::Object(fields) => {
                let fields = fields.iter().map(|(key, item)| {
                    let measured = measured || key == "seconds";
                    (self.text(key), self.value(key, item, measured))
                });
                Value::Object(fields.collect::<Map<_, _>>())
            }
            other => other.clone(),
        }
    }

    /// The varying text that starts here.
    fn at(&mut self, rest: &str) -> Option<Found> {
        if let Some(length) = time(rest).or_else(|| time_for_people(rest)) {
            return Some(Found::new(length, "<time>"));
        }
        if let Some(length) = uuid(rest) {
            return Some(Found::new(length, "<uuid>"));
        }
        if let Some(length) = switch(rest) {
            return Some(Found::new(length, "<switch>"));
        }
        if fits(rest, BUNDLE) {
            return Some(Found::new(BUNDLE.len(), "PB-<date>-"));
        }
        if let Some(length) = span(rest) {
            return Some(Found::new(length, "<duration>").varying());
        }
        if let Some(length) = size(rest) {
            return Some(Found::new(length, "<size>").varying());
        }
        let id = hexadecimal(rest)?;
        let name = self.id(id)?;
        Some(Found::new(id.len(), name))
    }

    /// The name of an object id, whole or shortened, or of a digest.
    fn id(&mut self, id: &str) -> Option<String> {
        let (whole, kind) = match (self.objects)(id) {
            Some(found) => found,
            None if id.len() == 40 => (id.to_owned(), "commit"),
            None if id.len() == 12 || id.len() == 64 => (id.to_owned(), "hash"),
            None => return None,
        };
        if let Some(name) = self.names.get(&whole) {
            return Some(name.clone());
        }
        let count = self.counts.entry(kind).or_default();
        *count += 1;
        let name = format!("<{kind}-{count}>");
        self.names.insert(whole, name.clone());
        Some(name)
    }
}

/// A replacement: how many bytes, and by what.
struct Found {
    length: usize,
    name: String,
    varies_in_width: bool,
}

impl Found {
    fn new(length: usize, name: impl Into<String>) -> Self {
        Self { length, name: name.into(), varies_in_width: false }
    }

    fn varying(mut self) -> Self {
        self.varies_in_width = true;
        self
    }
}

/// At most two spaces at the end.
fn squeeze(text: &mut String) {
    while text.ends_with("   ") {
        text.pop();
    }
}

fn digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

/// Whether a word ends before this position.
fn ends_word(rest: &str) -> bool {
    !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_')
}

/// `lead_seconds_median`: a duration of `liza metrics`.
fn is_measure(name: &str) -> bool {
    name.contains("_seconds_") && !name.ends_with("_count")
}

/// A line of `liza metrics --csv` without its value if that is a duration, and a line of `liza agent run --explain`
/// without the size of a part of the prompt, which contains paths.
fn measure(line: &str) -> String {
    let is_number = |text: &str| !text.is_empty() && digits(text) == text.len();
    let is_part =
        |name: &str| name.starts_with("  ") && name.trim_start().bytes().all(|b| b.is_ascii_lowercase());
    match (line.trim_end().split_once(','), line.trim_end().split_once(": ")) {
        (Some((name, value)), _) if is_measure(name) && is_number(value) => format!("{name},<seconds>\n"),
        (_, Some((name, value))) if is_part(name) && is_number(value) => format!("{name}: <bytes>\n"),
        _ => line.to_owned(),
    }
}

/// Prefix of the ids of patch bundles.
const BUNDLE: &str = "PB-00000000-";

/// `2026-01-20T15:30:00Z`, also with fractions, or in the form of file names.
fn time(text: &str) -> Option<usize> {
    let forms = ["0000-00-00T00:00:00", "0000-00-00T000000", "00000000T000000"];
    let length = forms.into_iter().find(|form| fits(text, form))?.len();
    let fraction = match text[length..].strip_prefix('.') {
        Some(after) => 1 + digits(after),
        None => 0,
    };
    text[length + fraction..].starts_with('Z').then_some(length + fraction + 1)
}

/// `15:30 (in 29 min)`, `15:30:00`, also with a date before it.
fn time_for_people(text: &str) -> Option<usize> {
    let date = if fits(text, "0000-00-00 00:00") { "0000-00-00 ".len() } else { 0 };
    let clock = &text[date..];
    if fits(clock, "00:00:00") {
        return Some(date + "00:00:00".len()).filter(|length| ends_word(&text[*length..]));
    }
    if !fits(clock, "00:00") {
        return None;
    }
    let length = date + "00:00".len();
    let end = text[length..].strip_prefix(" (").and_then(|inside| Some((inside, inside.find(')')?)));
    match end.map(|(inside, end)| (&inside[..end], end)) {
        Some((span, end)) if span.starts_with("in ") || span.ends_with(" ago") || span == "just now" => {
            Some(length + 2 + end + 1)
        }
        _ => Some(length).filter(|length| date > 0 && ends_word(&text[*length..])),
    }
}

/// Whether the text starts like the form, where `0` stands for any digit.
fn fits(text: &str, form: &str) -> bool {
    text.len() >= form.len()
        && text.bytes().zip(form.bytes()).all(|(found, wanted)| match wanted {
            b'0' => found.is_ascii_digit(),
            _ => found == wanted,
        })
}

fn uuid(text: &str) -> Option<usize> {
    const PARTS: [usize; 5] = [8, 4, 4, 4, 12];
    let length = PARTS.iter().sum::<usize>() + PARTS.len() - 1;
    let candidate = text.get(..length)?;
    let parts: Vec<&str> = candidate.split('-').collect();
    let is_part = |(part, wanted): (&&str, &usize)| part.len() == *wanted && part.bytes().all(is_hexadecimal);
    (parts.len() == PARTS.len() && parts.iter().zip(&PARTS).all(is_part) && ends_word(&text[length..]))
        .then_some(length)
}

/// Identifies one setting of a switch: inode and time of its file.
fn switch(text: &str) -> Option<usize> {
    let hexadecimal = |text: &str| text.bytes().take_while(|byte| is_hexadecimal(*byte)).count();
    let inode = hexadecimal(text);
    let time = hexadecimal(text[inode..].strip_prefix('.')?);
    let length = inode + 1 + time;
    (inode > 0 && time == 16 && ends_word(&text[length..])).then_some(length)
}

fn is_hexadecimal(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}

/// A word of hexadecimal digits that may be an id.
fn hexadecimal(text: &str) -> Option<&str> {
    let length = text.bytes().take_while(|byte| is_hexadecimal(*byte)).count();
    let whole = length >= 7 && ends_word(&text[length..]);
    whole.then(|| &text[..length])
}

/// `3 s`, `1.5 s`, `12 ms`, `2 min`, `1 second`, `just now`.
fn span(text: &str) -> Option<usize> {
    const NOW: &str = "just now";
    if text.starts_with(NOW) && ends_word(&text[NOW.len()..]) {
        return Some(NOW.len());
    }
    let (length, value, unit) = quantity(text)?;
    let seconds = match unit {
        "ms" => value / 1000.0,
        "s" | "second" | "seconds" => value,
        "min" => value * 60.0,
        _ => return None,
    };
    (seconds < SETTING_SECONDS).then_some(length)
}

/// `12.0 KB`, `7 B`, `3 bytes`: sizes depend on the file system.
fn size(text: &str) -> Option<usize> {
    let (length, _, unit) = quantity(text)?;
    matches!(unit, "B" | "KB" | "MB" | "GB" | "TB" | "bytes").then_some(length)
}

/// A number, a space and a unit: the length of all, and both.
fn quantity(text: &str) -> Option<(usize, f64, &str)> {
    let whole = digits(text);
    let fraction = match text[whole..].strip_prefix('.').map(digits) {
        Some(count) if count > 0 => 1 + count,
        _ => 0,
    };
    let number = &text[..whole + fraction];
    let after = text[number.len()..].strip_prefix(' ')?;
    let unit = after.bytes().take_while(u8::is_ascii_alphabetic).count();
    let value = number.parse().ok()?;
    ends_word(&after[unit..]).then_some((number.len() + 1 + unit, value, &after[..unit]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const COMMIT: &str = "a04996852c638f31f13113d044406d39c5edf13d";

    fn known(id: &str) -> Option<(String, &'static str)> {
        COMMIT.starts_with(id).then(|| (COMMIT.to_owned(), "commit"))
    }

    fn normal(text: &str) -> String {
        let places = [("/tmp/x".to_owned(), "<home>"), ("/tmp/x/repo".to_owned(), "<repo>")];
        Normaliser::new(&places, &known).text(text)
    }

    #[test]
    fn temporary_paths_are_replaced() {
        assert_eq!(normal("in /tmp/x/repo/.liza and /tmp/x/tmp"), "in <repo>/.liza and <home>/tmp");
    }

    #[test]
    fn times_are_replaced() {
        for text in
            ["2026-01-20T15:30:00Z", "2026-01-20T15:30:00.123Z", "2026-01-20T153000Z", "20260120T153000Z"]
        {
            assert_eq!(normal(&format!("at {text}, x")), "at <time>, x");
            assert_eq!(normal(&format!("state-{text}-0.yaml")), "state-<time>-0.yaml");
        }
        for text in [
            "15:30 (in 29 min)",
            "15:30 (2 h 5 min ago)",
            "2026-01-20 15:30 (just now)",
            "15:30:01",
            "2026-01-20 15:30",
        ] {
            assert_eq!(normal(&format!("at {text}, x")), "at <time>, x");
        }
        for text in ["2026-01-20", "2026-01-20T15:30", "x2026-01-20T15:30:00Z", "15:30", "15:30 (or so)"] {
            assert_eq!(normal(text), text);
        }
    }

    #[test]
    fn spans_are_replaced_and_settings_stay() {
        for text in ["0 s", "12 s", "1.5 s", "30 ms", "1 second", "59 seconds", "2 min", "just now"] {
            assert_eq!(normal(&format!("since {text}, x")), "since <duration>, x", "{text}");
        }
        for text in ["600 s", "30 min", "12 minutes", "14 days", "t1 s", "3 sheep", "s 3", "unjust now"] {
            assert_eq!(normal(text), text);
        }
    }

    #[test]
    fn padding_around_spans_is_squeezed() {
        assert_eq!(normal("work      0 s         12 s  x"), "work  <duration>  <duration>  x");
        assert_eq!(normal("a 7 s b"), "a <duration> b");
    }

    #[test]
    fn sizes_are_replaced() {
        assert_eq!(normal("12.0 KB in all, 7 B, 20 bytes"), "<size> in all, <size>, <size>");
        assert_eq!(normal("3 B-sides, 4 KBs"), "<size>-sides, 4 KBs");
    }

    #[test]
    fn ids_are_numbered_as_they_appear() {
        let other = "b".repeat(40);
        let digest = "c".repeat(64);
        let text = format!("{other} {COMMIT} {} {digest} {}", &COMMIT[..12], &COMMIT[..7]);
        assert_eq!(normal(&text), "<commit-1> <commit-2> <commit-2> <hash-1> <commit-2>");
    }

    #[test]
    fn words_that_only_look_like_ids_stay() {
        for text in ["effaced", "1234567", "a1b2c3d4e5f60718", "deadbeef", "x04996852c63", "a0499685_x"] {
            assert_eq!(normal(text), text);
        }
        // Ids that liza shortens have this length; one in 300 has no letter.
        assert_eq!(normal("123456789012"), "<hash-1>");
    }

    #[test]
    fn boot_ids_are_replaced() {
        assert_eq!(normal("boot ebc3d0b7-4ac4-42bc-b861-95697eac8692."), "boot <uuid>.");
        assert_eq!(normal("ebc3d0b7-4ac4-42bc-b861-95697eac869"), "ebc3d0b7-4ac4-42bc-b861-95697eac869");
    }

    #[test]
    fn names_of_files_are_normalised() {
        assert_eq!(normal("checkpoint-26092.18e8e41964524865.md"), "checkpoint-<switch>.md");
        assert_eq!(normal("PB-20261117-001.review-1.json"), "PB-<date>-001.review-1.json");
    }

    #[test]
    fn figures_keep_their_counts() {
        let csv = "tasks_total,1\nlead_seconds_count,1\nlead_seconds_p90,17\nlease_seconds,1800\n";
        let expected =
            "tasks_total,1\nlead_seconds_count,1\nlead_seconds_p90,<seconds>\nlease_seconds,1800\n";
        assert_eq!(normal(csv), expected);
        assert_eq!(
            normal("prompt: 3\n  role: 1355\n  task: t1\n"),
            "prompt: 3\n  role: <bytes>\n  task: t1\n"
        );
    }

    #[test]
    fn json_is_normalised_by_type() {
        let value = json!({
            "revision": 3, "pid": 41, "at": "2026-01-20T15:30:00Z", "boot": "unknown", "lease_seconds": 1800,
            "spent": { "seconds": 4, "turns": 2 }, "seconds": { "lead": { "count": 1, "median": 7 } },
            "text": "claimed 3 s ago", "installed": null, "none": null,
        });
        let expected = json!({
            "revision": 3, "pid": "<pid>", "at": "<time>", "boot": "<boot>", "lease_seconds": 1800,
            "spent": { "seconds": "<seconds>", "turns": 2 },
            "seconds": { "lead": { "count": 1, "median": "<seconds>" } },
            "text": "claimed <duration> ago", "installed": "<program>", "none": null,
        });
        assert_eq!(Normaliser::new(&[], &known).json(&value), expected);
    }
}
