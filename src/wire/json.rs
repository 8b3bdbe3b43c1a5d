//! JSON for agents and logs, with nothing in it that could move a cursor or hide text.

use std::io;

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter, Serializer};

use super::chars::is_hidden;

/// `value` as JSON on one line, without the line end.
///
/// A value JSON cannot hold (a map whose keys are not text, a failing `Serialize`) becomes an object with the
/// single key `unprintable`, since the places that print have nobody left to tell.
pub fn to_json_line<T: Serialize + ?Sized>(value: &T) -> String {
    written(value, CompactFormatter)
}

/// `value` as JSON over several lines, indented by two, without a last line end.
pub fn to_json_pretty<T: Serialize + ?Sized>(value: &T) -> String {
    written(value, PrettyFormatter::new())
}

fn written<T: Serialize + ?Sized>(value: &T, layout: impl Formatter) -> String {
    let mut bytes = Vec::new();
    let result = value.serialize(&mut Serializer::with_formatter(&mut bytes, Escaping(layout)));
    match result
        .map_err(|error| error.to_string())
        .and_then(|()| String::from_utf8(bytes).map_err(|e| e.to_string()))
    {
        Ok(text) => text,
        Err(problem) => {
            written(&std::collections::BTreeMap::from([("unprintable", problem)]), CompactFormatter)
        }
    }
}

/// A layout of serde_json whose strings have every hidden character escaped.
struct Escaping<F>(F);

impl<F: Formatter> Formatter for Escaping<F> {
    fn write_string_fragment<W: ?Sized + io::Write>(&mut self, writer: &mut W, text: &str) -> io::Result<()> {
        let mut raw_from = 0;
        for (at, c) in text.char_indices().filter(|(_, c)| is_hidden(*c)) {
            writer.write_all(&text.as_bytes()[raw_from..at])?;
            for unit in c.encode_utf16(&mut [0; 2]) {
                write!(writer, "\\u{unit:04x}")?;
            }
            raw_from = at + c.len_utf8();
        }
        writer.write_all(&text.as_bytes()[raw_from..])
    }

    fn begin_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_array(writer)
    }
    fn end_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array(writer)
    }
    fn begin_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_array_value(writer, first)
    }
    fn end_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array_value(writer)
    }
    fn begin_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object(writer)
    }
    fn end_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object(writer)
    }
    fn begin_object_key<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_object_key(writer, first)
    }
    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object_value(writer)
    }
    fn end_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object_value(writer)
    }
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
