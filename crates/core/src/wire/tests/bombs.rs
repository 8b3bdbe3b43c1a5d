//! Input made to exhaust time or memory. It must be refused before the general parser sees it.

use proptest::prelude::*;
use serde_json::Value;

use super::nasty::cases;
use crate::wire::foreign::read_by_crate;
use crate::wire::prescan::check_yaml;
use crate::wire::{Limits, read_foreign_value};

const MEBIBYTE: usize = 1 << 20;

fn filled(pattern: &str) -> String {
    pattern.repeat(MEBIBYTE / pattern.len())
}

#[test]
fn bombs_are_refused() {
    let laughs = "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\n".to_owned();
    let staircase: String = (0..1_400).map(|level| format!("{:level$}a:\n", "")).collect();
    let dash_stairs: String = (0..1_400).map(|level| format!("{:level$}-\n", "")).collect();
    let closing: String = "]".repeat(1_000);
    let bombs = [
        laughs,
        "a: &a [*a]\n".into(),
        filled("["),
        filled("{"),
        filled("x: ["),
        format!("a: {}", filled("[").split_off(10)),
        format!("a: {}", filled("{a: ").split_off(12)),
        format!("a:\n{}", filled("  [\n").split_off(12)),
        format!("a: {}{closing}", "[".repeat(1_000)),
        format!("{{\"a\": {}", filled("[").split_off(10)),
        format!("[{}", filled("{\"a\":").split_off(12)),
        filled("- "),
        filled("-\t"),
        filled("? "),
        filled("?\n"),
        filled("- ? "),
        filled("a: - "),
        filled("-\n"),
        filled("- a\n"),
        filled("- - - - a\n"),
        format!("a: [{}1]", filled("1,").split_off(12)),
        format!("a: [{}1]", filled("[],").split_off(12)),
        staircase,
        dash_stairs,
        format!("a: \"x\" {}", filled("[").split_off(16)),
        format!("a: 'x'{}", filled("[").split_off(16)),
        format!("a: |\n  x\nb: {}", filled("[").split_off(16)),
        format!("a: b # '\nc: {}", filled("[").split_off(16)),
        format!("a: b '\nc: {}", filled("[").split_off(16)),
        format!("a: [b'c, {}", filled("[").split_off(16)),
        format!("- |\n- {}", filled("[").split_off(16)),
        format!("|\n{}", filled("[").split_off(16)),
        format!("a: >1\n b\n{}", filled("[").split_off(16)),
        format!("a: \"\\\"\" \nb: {}", filled("[").split_off(32)),
        format!("é: \"é\"\n日: {}", filled("[").split_off(32)),
    ];
    for bomb in bombs {
        let start: String = bomb.chars().take(40).collect();
        assert!(read_foreign_value(bomb.as_bytes(), Limits::default()).is_err(), "{start:?}");
    }
}

#[test]
fn large_shallow_input_is_read() {
    let wide = [
        "-\n".repeat(100_000),
        "- a\n".repeat(50_000),
        format!("[{}1]", filled("1,").split_off(8)),
        format!("a: [{}1]", "1, ".repeat(50_000)),
        format!("a: {}", filled("word \n ").split_off(14)),
        format!("a: \"{}\"", filled("[").split_off(16)),
        format!("a: |\n{}", filled(" [{- \n").split_off(18)),
        format!("a: {}", " ".repeat(MEBIBYTE - 8)),
        format!("a: b\n{}", filled("\n").split_off(8)),
        format!("a: b\n{}", filled("#[\n").split_off(8)),
    ];
    for text in wide {
        let start: String = text.chars().take(40).collect();
        let read = read_foreign_value(text.as_bytes(), Limits::default());
        assert!(read.is_ok(), "{start:?}: {}", read.unwrap_err());
    }
}

fn height(value: &Value) -> usize {
    match value {
        Value::Array(list) => 1 + list.iter().map(height).max().unwrap_or(0),
        Value::Object(map) => 1 + map.values().map(height).max().unwrap_or(0),
        _ => 0,
    }
}

/// Text with many of the marks that the scan must not misread, in lines of small indentation.
fn marked_lines() -> impl Strategy<Value = String> {
    let marks = vec![
        "[", "]", "{", "}", "- ", "-", ": ", ":", ",", "\"", "'", "\\", "#", " #", "|\n", ">-\n", "|1\n",
        "\n", "\n ", "\n  ", "\n   ", " ", "a", "b: ", "a:\n", "- - ", "é", "'a'", "\"b\"", "?", "\t",
        "[a, ", "{a: ", "---\n", "|",
    ];
    prop::collection::vec(prop::sample::select(marks), 1..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(cases(20_000))]

    /// Only nesting that the scan does not count may remain: a list at its key's own column, a pair in a list.
    #[test]
    fn the_scan_never_sees_less_nesting_than_the_parser(text in marked_lines()) {
        for depth in 0..4 {
            if check_yaml(&text, depth, 1_000).is_ok() && let Ok(value) = read_by_crate::<Value>(&text) {
                prop_assert!(height(&value) <= 2 * depth, "depth {} of {:?}: {}", depth, text, value);
            }
        }
    }

    /// Comments are ignored everywhere; text that only looks like a comment is kept.
    #[test]
    fn words_of_comments_change_no_value(pieces in prop::collection::vec(prop::sample::select(commented()), 1..8)) {
        let text = pieces.concat();
        if let (Ok(ours), Ok(theirs)) =
            (read_foreign_value(text.as_bytes(), Limits::default()), read_by_crate::<Value>(&text))
        {
            prop_assert_eq!(ours, theirs, "{:?}", text);
        }
    }
}

fn commented() -> Vec<&'static str> {
    vec![
        "a: 1 # one\n",
        "# ä \"\n",
        "  # it's\n",
        "b: \"x # y\"\n",
        "c: 'x\n# y\n  z'\n",
        "d: \"x \\\" # y\n# z\"\n",
        "e: |\n  # kept\n  x # kept\n# gone\n",
        "f: [a\", \"b\n# c\"]\n",
        "g: x#y\n",
        "h:\n  - a # b\n  # c\n  - d\n",
        "i: {j: k} #\r\n",
        "# ends without a line ü",
    ]
}
