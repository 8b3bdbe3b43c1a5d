//! Strings that some reader misreads; each must be read back unchanged.

use proptest::prelude::*;

use crate::wire::{emit, parse};

/// Texts that YAML 1.1 or 1.2 might take for another type.
#[rustfmt::skip]
pub(super) const NASTY: &[&str] = &[
    "", " ", "  ", " a", "a ", "\ta", "a\t", "\n", "a\n", "\na", "a\nb", "a\r\nb", "\r", "a\\", "\\n", "y",
    "Y", "n", "N", "yes", "Yes", "YES", "no", "No", "NO", "on", "On", "ON", "off", "Off", "OFF", "true",
    "True", "TRUE", "false", "False", "FALSE", "null", "Null", "NULL", "~", "none", "nil", "0", "1", "-1",
    "+1", "007", "0o17", "0x1F", "0b11", "1_000", "1:30", "190:20:30", "1.5", "-1.5", "1e3", "1.0e+3", ".5",
    "5.", ".inf", "-.inf", "+.INF", ".nan", ".NaN", "NaN", "inf", "Infinity", "1.2.3",
    "99999999999999999999999999", "12e4567", "0e0", "-0", "-", "--", "---", "...", "--- a", "- a", "-a",
    "2026-01-20", "2026-01-20T15:30:00Z", "2001-12-14 21:59:43.10 -5", "15:30", "<<", "=", "?", "? a", "?a",
    ":", ": a", "a:", "a: b", "a:b", "a :b", "#", "# a", "a #b", "a#b", "&a", "*a", "!a", "!!str a", "|",
    "|-", ">", "> a", "%", "%YAML 1.2", "@a", "`a`", "a`", "'", "''", "'a'", "it's", "\"", "\"\"", "\"a\"",
    "\"a", "[", "]", "[]", "[a]", "{", "}", "{}", "{a: b}", ",", "a, b", "a,b", "\\", "\\x41", "\\u0041",
    "\0", "a\0b", "\x07", "\x08", "\x0b", "\x0c", "\x1b[31m", "\x7f", "\u{80}", "\u{85}", "a\u{85}b",
    "\u{9f}", "\u{a0}", "\u{ad}", "\u{2028}", "\u{2029}", "a\u{2028}b", "\u{feff}", "\u{feff}a",
    "a\u{feff}", "\u{200b}", "\u{200d}", "\u{200e}", "\u{202e}evil", "\u{2066}", "\u{61c}", "\u{fffe}",
    "\u{ffff}", "\u{fdd0}", "\u{1fffe}", "\u{10ffff}", "\u{e0041}", "é", "日本", "🦀", "👩\u{200d}💻",
    "e\u{301}", "\u{fffd}", "ß: ü", "a  b", "a - b", "a ? b", "src/wire/mod.rs", "a.b-c_d", "null and void",
    "true story", "end: x", "  - id: T1", "key:\n  - a", "$(rm -rf)", "a & b", "use *ptr", "100%", "x = 1",
    "C:\\dir", "a\u{3000}b",
];

fn line_of(text: &str) -> String {
    let mut out = String::new();
    emit(&Doc { key: text.to_owned(), list: vec![text.to_owned()] }, 0, &mut out).unwrap();
    out
}

#[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
struct Doc {
    key: String,
    list: Vec<String>,
}

fn check(text: &str) {
    let out = line_of(text);
    assert_eq!(out.lines().count(), 3, "one line per string: {out:?}");
    let want = Doc { key: text.to_owned(), list: vec![text.to_owned()] };
    assert_eq!(parse::<Doc>(&out, 0).unwrap(), want, "{out:?}");
    assert_eq!(crate::wire::foreign::read_by_crate::<Doc>(&out).unwrap(), want, "{out:?}");
    assert_eq!(
        crate::wire::read_foreign::<Doc>(out.as_bytes(), Default::default()).unwrap(),
        want,
        "{out:?}"
    );
    let keyed = std::collections::BTreeMap::from([(text.to_owned(), text.to_owned())]);
    let mut out = String::new();
    if emit(&keyed, 4, &mut out).is_err() {
        assert!(text.len() > 100, "only long keys are refused: {text:?}");
        return;
    }
    assert_eq!(parse::<std::collections::BTreeMap<String, String>>(&out, 4).unwrap(), keyed, "{out:?}");
    let back: std::collections::BTreeMap<String, String> = crate::wire::foreign::read_by_crate(&out).unwrap();
    assert_eq!(back, keyed, "{out:?}");
}

#[test]
fn nasty_strings_come_back_equal() {
    const { assert!(NASTY.len() >= 90) };
    for text in NASTY {
        check(text);
    }
    for long in ["word ".repeat(50_000), "\u{1b}é".repeat(20_000), "a".repeat(100_000), ": # ".repeat(9_999)]
    {
        check(&long);
    }
}

#[test]
fn every_single_character_comes_back_equal() {
    let samples = ('\0'..='\u{3000}').chain('\u{fd00}'..='\u{10100}').chain(['\u{e0000}', char::MAX]);
    for c in samples {
        let text = format!("{c}");
        assert_eq!(parse::<Doc>(&line_of(&text), 0).unwrap().key, text);
    }
}

/// How many random cases; raised by hand for a long run.
pub(super) fn cases(usual: u32) -> ProptestConfig {
    #[expect(clippy::disallowed_methods, reason = "long runs by hand ask for more cases")]
    let cases = std::env::var("LIZA_WIRE_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(usual);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// Text of the characters that mean something to YAML, which plain random text seldom contains.
fn marked() -> impl Strategy<Value = String> {
    let marks = prop::sample::select(vec![
        "-", " ", ":", "#", "\n", "\t", "'", "\"", "\\", "[", "]", "{", "}", ",", "&", "*", "!", "|", ">",
        "%", "@", "`", "?", "~", "=", "<", "0", "1", "e", ".", "_", "+", "a", "x", "no", "y", "\r", "\u{85}",
        "\u{2028}", "\u{feff}", "é", "\u{202e}", "\0",
    ]);
    prop::collection::vec(marks, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(cases(3_000))]

    #[test]
    fn any_text_comes_back_equal(text in any::<String>()) {
        check(&text);
    }

    #[test]
    fn any_marked_text_comes_back_equal(text in marked()) {
        check(&text);
    }
}
