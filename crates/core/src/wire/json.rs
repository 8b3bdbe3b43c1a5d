//! JSON for agents and logs, without characters that could move a cursor or hide text.

use std::fmt::Write as _;

use super::chars::is_hidden;
use super::prelude::*;

/// `value` as JSON on one line, without the line end.
///
/// A value JSON cannot hold (a map whose keys are not text, a failing `Serialize`) becomes an object with the
/// single key `unprintable`, since code that prints cannot report an error any more.
pub fn to_json_line<T: Serialize + ?Sized>(value: &T) -> String {
    without_hidden(serde_json::to_string(value))
}

/// `value` as JSON over several lines, indented by two, without a last line end.
pub fn to_json_pretty<T: Serialize + ?Sized>(value: &T) -> String {
    without_hidden(serde_json::to_string_pretty(value))
}

fn without_hidden(written: serde_json::Result<String>) -> String {
    let text = written.unwrap_or_else(|problem| json!({ "unprintable": problem.to_string() }).to_string());
    // A line end belongs to the layout: line ends in strings are already escaped.
    let must_go = |c: char| is_hidden(c) && c != '\n';
    let mut visible = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some((at, c)) = rest.char_indices().find(|(_, c)| must_go(*c)) {
        visible.push_str(&rest[..at]);
        for unit in c.encode_utf16(&mut [0; 2]) {
            let _ = write!(visible, "\\u{unit:04x}");
        }
        rest = &rest[at + c.len_utf8()..];
    }
    visible.push_str(rest);
    visible
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_escaped_and_read_back() {
        let nasty = "a\u{1b}[2J\u{7f}\u{85}\u{200b}\u{202e}\u{2028}\u{feff}\u{e0041}\0\n\t\"\\é日本🦀";
        let line = to_json_line(&[nasty]);
        assert!(!line.chars().any(is_hidden), "{line}");
        assert!(line.contains("é日本🦀"), "{line}");
        assert!(line.contains("\\udb40\\udc41"), "{line}");
        assert_eq!(serde_json::from_str::<Vec<String>>(&line).unwrap(), [nasty]);
    }

    #[test]
    fn layouts_are_those_of_serde_json() {
        let value = serde_json::json!({"a": [1, {"b": null}], "c": {}, "d": []});
        assert_eq!(to_json_line(&value), serde_json::to_string(&value).unwrap());
        assert_eq!(to_json_pretty(&value), serde_json::to_string_pretty(&value).unwrap());
    }

    #[test]
    fn an_impossible_value_still_gives_json() {
        let impossible = std::collections::BTreeMap::from([(vec![1], 1)]);
        assert_eq!(to_json_line(&impossible), r#"{"unprintable":"key must be a string"}"#);
    }
}
