//! JSON for reading and for diffs: keys in their order, one line for a value that fits, and a multiline string as
//! its lines between `"""`.

use serde_json::Value;

const WIDTH: usize = 100;
const INDENT: usize = 2;

pub fn pretty(value: &Value) -> String {
    let mut text = String::new();
    write(&mut text, value, 0, 0);
    text.push('\n');
    text
}

/// `before` is the indentation of the line, `taken` the width already used after it.
fn write(text: &mut String, value: &Value, before: usize, taken: usize) {
    let line = one_line(value);
    let fits = before + taken + line.chars().count() <= WIDTH && !has_lines(value);
    let inner = before + INDENT;
    match value {
        _ if fits => text.push_str(&line),
        Value::String(said) if has_lines(value) => {
            text.push_str("\"\"\"");
            for part in said.lines() {
                start_line(text, 0, inner);
                text.extend(part.chars().flat_map(shown));
            }
            end(text, before, '"');
            text.push_str(if said.ends_with('\n') { "\"\"" } else { "\"\" (no newline)" });
        }
        Value::Array(items) if !items.is_empty() => {
            text.push('[');
            for (at, item) in items.iter().enumerate() {
                start_line(text, at, inner);
                write(text, item, inner, 1);
            }
            end(text, before, ']');
        }
        Value::Object(fields) if !fields.is_empty() => {
            text.push('{');
            for (at, (key, item)) in fields.iter().enumerate() {
                start_line(text, at, inner);
                let key = format!("{}: ", Value::from(key.as_str()));
                text.push_str(&key);
                write(text, item, inner, key.chars().count() + 1);
            }
            end(text, before, '}');
        }
        _ => text.push_str(&line),
    }
}

/// Whether it contains a multiline string.
fn has_lines(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(has_lines),
        Value::Object(fields) => fields.values().any(has_lines),
        Value::String(text) => text.trim_end_matches('\n').contains('\n'),
        _ => false,
    }
}

fn shown(letter: char) -> Vec<char> {
    if letter.is_control() { letter.escape_default().collect() } else { vec![letter] }
}

fn start_line(text: &mut String, at: usize, indent: usize) {
    text.push_str(if at == 0 { "\n" } else { ",\n" });
    text.push_str(&" ".repeat(indent));
}

fn end(text: &mut String, indent: usize, bracket: char) {
    text.push('\n');
    text.push_str(&" ".repeat(indent));
    text.push(bracket);
}

fn one_line(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(one_line).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(fields) if fields.is_empty() => "{}".to_owned(),
        Value::Object(fields) => {
            let fields: Vec<String> = fields
                .iter()
                .map(|(key, item)| format!("{}: {}", Value::from(key.as_str()), one_line(item)))
                .collect();
            format!("{{ {} }}", fields.join(", "))
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn short_json_takes_one_line() {
        let value = json!({ "b": 1, "a": [true, null, "x"], "c": {} });
        assert_eq!(pretty(&value), "{ \"b\": 1, \"a\": [true, null, \"x\"], \"c\": {} }\n");
    }

    #[test]
    fn long_json_breaks_where_it_must() {
        let long = "x".repeat(90);
        let value = json!({ "ok": true, "data": { "first": long, "list": [] }, "n": [1, 2] });
        let expected = format!(
            "{{\n  \"ok\": true,\n  \"data\": {{\n    \"first\": \"{long}\",\n    \"list\": []\n  }},\n  \"n\": [1, 2]\n}}\n"
        );
        assert_eq!(pretty(&value), expected);
        assert_eq!(serde_json::from_str::<Value>(&pretty(&value)).expect("JSON"), value);
    }

    #[test]
    fn multiline_strings_become_lines() {
        let value = json!({ "diff": "-a\n+\tb\n", "one": "line\n", "open": "x\ny" });
        let expected = [
            "{",
            "  \"diff\": \"\"\"",
            "    -a",
            "    +\\tb",
            "  \"\"\",",
            "  \"one\": \"line\\n\",",
            "  \"open\": \"\"\"",
            "    x",
            "    y",
            "  \"\"\" (no newline)",
            "}\n",
        ];
        assert_eq!(pretty(&value), expected.join("\n"));
    }
}
