//! Changing one value of a YAML file that people wrote: comments, order and every other line stay as they are.
//!
//! The text is edited line by line, and the result is read again: it must be the old tree with exactly that value changed. What
//! this file does not understand (anchors, several documents, values over many lines in odd places) is refused, not guessed.

use super::foreign::{Limits, read_foreign_value};
use super::prelude::*;
use super::{is_plain, to_json_pretty};

/// A step on the path to a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    Key(String),
    Index(usize),
}

/// The way that a dotted text names: `gates.test.command`, `team.0.count`, `prices."gpt-5.1".input`.
///
/// An element of a list goes by its number, or by its `name`.
pub fn path_of(text: &str, tree: &Value) -> Result<Vec<Step>, String> {
    let mut at = Some(tree);
    let mut path = Vec::new();
    for word in words(text)? {
        let step = match at {
            Some(Value::Array(items)) => match element(items, &word) {
                Some(index) => Step::Index(index),
                None => {
                    return Err(format!(
                        "`{word}` is not an element of the list: give its number or its name"
                    ));
                }
            },
            _ => Step::Key(word),
        };
        at = at.and_then(|value| value_at(value, std::slice::from_ref(&step)));
        path.push(step);
    }
    Ok(path)
}

/// The path and the value to set: a name that no element of a list has means a new element with that name.
pub fn target_of(text: &str, tree: &Value, value: Value) -> Result<(Vec<Step>, Value), String> {
    let words = words(text)?;
    for (number, word) in words.iter().enumerate() {
        let before = words[..number].iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(".");
        let list = match number {
            0 => tree.as_array(),
            _ => value_at(tree, &path_of(&before, tree)?).and_then(Value::as_array),
        };
        let named = |items: &Vec<Value>| items.iter().all(|item| item.get("name").is_some());
        let Some(items) = list.filter(|items| element(items, word).is_none() && named(items)) else {
            continue;
        };
        let mut path = path_of(&before, tree)?;
        path.push(Step::Index(items.len()));
        let rest: Vec<Step> = words[number + 1..].iter().cloned().map(Step::Key).collect();
        let mut new = Map::from_iter([("name".to_owned(), Value::from(word.as_str()))]);
        if let Value::Object(more) = nested(&rest, &value) {
            new.extend(more);
        }
        return Ok((path, Value::Object(new)));
    }
    Ok((path_of(text, tree)?, value))
}

/// The index of the element with this name or number; the number after the last one is a new element.
fn element(items: &[Value], word: &str) -> Option<usize> {
    let by_name = items.iter().position(|item| item.get("name").and_then(Value::as_str) == Some(word));
    by_name.or_else(|| word.parse::<usize>().ok().filter(|number| *number <= items.len()))
}

/// A value as written after a key.
pub fn inline_value(text: &str) -> Result<Value, String> {
    let mut whole = read_foreign_value(format!("value: {text}\n").as_bytes(), Limits::default())
        .map_err(|error| error.message)?;
    Ok(whole["value"].take())
}

/// The words between the dots; a word in double quotes may contain dots.
pub fn words(text: &str) -> Result<Vec<String>, String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for c in text.chars() {
        match c {
            '"' => quoted = !quoted,
            '.' if !quoted => words.push(String::new()),
            c => words.last_mut().into_iter().for_each(|word| word.push(c)),
        }
    }
    if quoted || words.iter().any(|word| word.trim().is_empty()) {
        return Err(format!("`{text}` is not a key: words separated by dots, such as gating.keep"));
    }
    Ok(words)
}

/// The value at a path.
pub fn value_at<'v>(tree: &'v Value, path: &[Step]) -> Option<&'v Value> {
    path.iter().try_fold(tree, |at, step| match step {
        Step::Key(key) => at.get(key.as_str()),
        Step::Index(index) => at.get(*index),
    })
}

/// Sets a value; missing maps on the path are created.
pub fn put(tree: &mut Value, path: &[Step], value: Value) -> Result<(), String> {
    let Some((step, rest)) = path.split_first() else {
        *tree = value;
        return Ok(());
    };
    match step {
        Step::Key(key) => {
            if tree.is_null() {
                *tree = Value::Object(Map::new());
            }
            let map =
                tree.as_object_mut().ok_or_else(|| format!("`{key}` is below a value that is not a map"))?;
            put(map.entry(key.clone()).or_insert(Value::Null), rest, value)
        }
        Step::Index(index) => {
            let list = tree.as_array_mut().ok_or("a number is below a value that is not a list")?;
            if *index == list.len() {
                list.push(Value::Null);
            }
            put(&mut list[*index], rest, value)
        }
    }
}

/// The text with the value changed, or why that is not possible.
pub fn set(text: &str, path: &[Step], value: &Value) -> Result<String, String> {
    let limits = Limits::default();
    let read = |text: &str| {
        if text.trim().is_empty() {
            return Ok(Value::Object(Map::new()));
        }
        read_foreign_value(text.as_bytes(), limits).map_err(|error| error.to_string())
    };
    let mut wanted = read(text)?;
    if wanted.is_null() {
        wanted = Value::Object(Map::new());
    }
    put(&mut wanted, path, value.clone())?;
    let edited = if text.trim_start().starts_with('{') {
        format!("{}\n", to_json_pretty(&wanted))
    } else {
        let mut file = File { lines: text.lines().map(str::to_owned).collect() };
        let all = 0..file.lines.len();
        file.set_in_map(all, 0, path, value)?;
        file.lines.join("\n") + "\n"
    };
    let found = read(&edited).map_err(|why| by_hand(&why))?;
    if found == wanted { Ok(edited) } else { Err(by_hand("another value would change too")) }
}

fn by_hand(why: &str) -> String {
    format!("liza cannot edit a file of this form ({why}); change it with an editor")
}

struct File {
    lines: Vec<String>,
}

type Range = std::ops::Range<usize>;

impl File {
    /// The indentation of a line; none for blank lines and comments.
    fn indent(&self, at: usize) -> Option<usize> {
        let line = &self.lines[at];
        let text = line.trim_start();
        (!text.is_empty() && !text.starts_with('#')).then(|| line.len() - text.len())
    }

    /// The first line with text.
    fn first(&self, range: Range) -> Option<usize> {
        range.into_iter().find(|at| self.indent(*at).is_some())
    }

    /// The end of the block that begins above `from`: the next line that is indented less than `least`.
    fn end_of(&self, from: usize, to: usize, least: usize, also: impl Fn(&str) -> bool) -> usize {
        let outside = |at: &usize| {
            self.indent(*at).is_some_and(|indent| {
                indent < least && !(indent + 1 == least && also(self.lines[*at].trim_start()))
            })
        };
        let end = (from..to).find(outside).unwrap_or(to);
        // Blank lines and comments at the end belong to the next block.
        (from..end).rev().find(|at| self.indent(*at).is_some()).map_or(from, |last| last + 1)
    }

    /// Sets a value in the map whose keys have this indentation in these lines.
    fn set_in_map(
        &mut self,
        range: Range,
        indent: usize,
        path: &[Step],
        value: &Value,
    ) -> Result<(), String> {
        let Some((Step::Key(key), rest)) = path.split_first() else {
            return Err(by_hand("there is a list where a map was expected"));
        };
        let line = range
            .clone()
            .find(|at| self.indent(*at) == Some(indent) && key_of(&self.lines[*at]) == Some(key));
        let Some(line) = line else {
            let end = self.end_of(range.start, range.end, indent, |_| false);
            let end = if indent == 0 { self.lines.len() } else { end };
            let new = rendered(indent, &shown_key(key), &nested(rest, value));
            self.lines.splice(end..end, new);
            return Ok(());
        };
        let end = self.end_of(line + 1, range.end, indent + 1, |text| text.starts_with("- ") || text == "-");
        let (head, inline, comment) = split_inline(&self.lines[line]);
        let (head, inline, comment) = (head.to_owned(), inline.to_owned(), comment.to_owned());
        let below = self.first(line + 1..end);
        if rest.is_empty() {
            let mut new = rendered(indent, head.trim_start(), value);
            if let (Some(first), false) = (new.first_mut(), comment.is_empty() || below.is_some()) {
                first.push_str(&format!("  {comment}"));
            }
            self.lines.splice(line..end, new);
            return Ok(());
        }
        match below {
            Some(first) if inline.is_empty() => {
                let inner = self.indent(first).unwrap_or_default();
                if self.lines[first].trim_start().starts_with('-') {
                    self.set_in_list(first..end, inner, rest, value)
                } else {
                    self.set_in_map(first..end, inner, rest, value)
                }
            }
            Some(_) => Err(by_hand("a value takes several lines")),
            None => {
                let mut whole = match inline.as_str() {
                    "" => Value::Null,
                    text => inline_value(text).map_err(|why| by_hand(&why))?,
                };
                put(&mut whole, rest, value.clone())?;
                let comment = if comment.is_empty() { comment } else { format!("  {comment}") };
                self.lines[line] = format!("{head}: {}{comment}", flow(&whole));
                Ok(())
            }
        }
    }

    /// Sets a value in the list whose dashes have this indentation in these lines.
    fn set_in_list(
        &mut self,
        range: Range,
        indent: usize,
        path: &[Step],
        value: &Value,
    ) -> Result<(), String> {
        let Some((Step::Index(index), rest)) = path.split_first() else {
            return Err(by_hand("there is a map where a list was expected"));
        };
        let dashes: Vec<usize> = range.clone().filter(|at| self.indent(*at) == Some(indent)).collect();
        let Some(start) = dashes.get(*index).copied() else {
            let new = format!("{}- {}", " ".repeat(indent), flow(&nested(rest, value)));
            let end = self.end_of(range.start, range.end, indent, |_| false);
            self.lines.insert(end, new);
            return Ok(());
        };
        let end = dashes.get(index + 1).copied().unwrap_or(range.end);
        let end = self.end_of(start + 1, end, indent + 1, |_| false);
        let line = &self.lines[start];
        let text = line[indent + 1..].trim_start();
        let inner = line.len() - text.len();
        if rest.is_empty() || text.starts_with(['{', '[', '"', '\'']) || key_of(text).is_none() {
            if end != start + 1 && !rest.is_empty() {
                return Err(by_hand("an element takes several lines"));
            }
            let (text, comment) = split_comment(text);
            let mut whole = inline_value(text).map_err(|why| by_hand(&why))?;
            put(&mut whole, rest, value.clone())?;
            let comment = if comment.is_empty() { String::new() } else { format!("  {comment}") };
            let new = format!("{}- {}{comment}", " ".repeat(indent), flow(&whole));
            self.lines.splice(start..end, [new]);
            return Ok(());
        }
        // The dash is read as a space: the element is a map.
        let dash = indent..indent + 1;
        self.lines[start].replace_range(dash.clone(), " ");
        let outcome = self.set_in_map(start..end, inner, rest, value);
        self.lines[start].replace_range(dash, "-");
        outcome
    }
}

/// The key at the beginning of a line of a map.
fn key_of(line: &str) -> Option<&str> {
    let text = line.trim_start();
    if let Some(quote) = text.chars().next().filter(|c| matches!(c, '"' | '\'')) {
        let (key, rest) = text[1..].split_once(quote)?;
        return rest.trim_start().starts_with(':').then_some(key);
    }
    let (key, rest) = text.split_once(':')?;
    (rest.is_empty() || rest.starts_with(' ')).then(|| key.trim_end())
}

/// The parts of a line of a map: its key with the text before it, its value, and its comment.
fn split_inline(line: &str) -> (&str, &str, &str) {
    let start = line.len() - line.trim_start().len();
    let quoted = line[start..].chars().next().filter(|c| matches!(c, '"' | '\''));
    let from = quoted.and_then(|quote| line[start + 1..].find(quote)).map_or(start, |at| start + at + 2);
    let colon = line[from..].find(':').map_or(line.len(), |at| from + at);
    let (value, comment) = split_comment(line.get(colon + 1..).unwrap_or_default());
    (&line[..colon], value.trim(), comment)
}

/// A value and the comment after it.
fn split_comment(text: &str) -> (&str, &str) {
    let (mut quote, mut before) = (None, ' ');
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (None, '"' | '\'') if !before.is_alphanumeric() => quote = Some(c),
            (Some(open), c) if c == open && before != '\\' => quote = None,
            (None, '#') if before.is_whitespace() => return (text[..at].trim(), text[at..].trim_end()),
            _ => {}
        }
        before = c;
    }
    (text.trim(), "")
}

fn nested(path: &[Step], value: &Value) -> Value {
    path.iter().rev().fold(value.clone(), |inner, step| match step {
        Step::Key(key) => Value::Object(Map::from_iter([(key.clone(), inner)])),
        Step::Index(_) => Value::Array(vec![inner]),
    })
}

/// The lines of a key and its value. A list of maps has one line per map; other values are on one line.
fn rendered(indent: usize, key: &str, value: &Value) -> Vec<String> {
    let pad = " ".repeat(indent);
    match value {
        Value::Array(items) if !items.is_empty() && items.iter().all(Value::is_object) => {
            let rows = items.iter().map(|item| format!("{pad}  - {}", flow(item)));
            std::iter::once(format!("{pad}{key}:")).chain(rows).collect()
        }
        _ => vec![format!("{pad}{key}: {}", flow(value))],
    }
}

fn shown_key(key: &str) -> String {
    if is_plain(key) { key.to_owned() } else { Value::from(key).to_string() }
}

/// A value on one line, as people write it.
pub fn flow(value: &Value) -> String {
    match value {
        Value::String(text) if is_plain(text) => text.clone(),
        Value::Array(items) => format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Value::Object(map) => {
            let pairs: Vec<String> =
                map.iter().map(|(key, value)| format!("{}: {}", shown_key(key), flow(value))).collect();
            format!("{{{}}}", pairs.join(", "))
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "# ours\nversion: 1\nprovider: claude  # the good one\n\n# who\nteam:\n  - {role: planner, count: 1}\n  - {role: coder, count: 2} # two\ngating:\n  keep: [target/]\n\ngates:\n  # quick\n  - name: test\n    command: cargo test\n    on: [submit, merge] # both\n  - name: lint\n    command: \"make # lint\"\nrun: {window: 4}\n";

    fn after(key: &str, value: Value) -> String {
        let tree = read_foreign_value(FILE.as_bytes(), Limits::default()).expect("yaml");
        let (path, value) = target_of(key, &tree, value).expect("a path");
        set(FILE, &path, &value).unwrap_or_else(|why| panic!("{key}: {why}"))
    }

    #[test]
    fn one_line_changes_and_the_others_stay() {
        for (key, value, old, new) in [
            ("provider", json("codex"), "provider: claude  #", "provider: codex  #"),
            ("team.1.count", json(3), "count: 2} # two", "count: 3}  # two"),
            (
                "gates.test.command",
                json("cargo test --all"),
                "command: cargo test\n",
                "command: cargo test --all\n",
            ),
            ("gates.lint.command", json("true"), "\"make # lint\"", "\"true\""),
            ("gates.test.on", json(vec!["merge"]), "on: [submit, merge] # both", "on: [merge]  # both"),
            ("run.window", json(2), "{window: 4}", "{window: 2}"),
            ("gating.keep", json(vec!["a/", "b/"]), "keep: [target/]", "keep: [a/, b/]"),
        ] {
            assert_eq!(after(key, value), FILE.replacen(old, new, 1), "{key}");
        }
    }

    #[test]
    fn missing_keys_are_added_where_they_belong() {
        assert_eq!(after("spend.run.usd", json(5)), format!("{FILE}spend: {{run: {{usd: 5}}}}\n"));
        assert_eq!(
            after("gates.test.optional", json(true)),
            FILE.replacen("# both\n", "# both\n    optional: true\n", 1)
        );
        assert_eq!(
            after("gates.docs.command", json("make docs")),
            FILE.replacen("lint\"\n", "lint\"\n  - {name: docs, command: make docs}\n", 1)
        );
        assert_eq!(set("", &[Step::Key("a".to_owned())], &json(1)).expect("text"), "a: 1\n");
        assert_eq!(set("gates:\n", &[Step::Key("gates".to_owned())], &json(1)).expect("text"), "gates: 1\n");
        assert_eq!(
            set("{\"a\": 1}", &[Step::Key("a".to_owned())], &json(2)).expect("text"),
            "{\n  \"a\": 2\n}\n"
        );
    }

    #[test]
    fn whole_blocks_are_replaced_up_to_the_next_key() {
        let gates = serde_json::json!([{"name": "x", "command": "make"}]);
        let text = after("gates", gates);
        assert!(text.contains("\n\ngates:\n  - {name: x, command: make}\nrun: {window: 4}\n"), "{text}");
    }

    #[test]
    fn unsupported_yaml_edit_is_refused() {
        for text in ["a: |\n  b\nc: 1\n", "a: [1,\n  2]\n"] {
            let path = [Step::Key("a".to_owned()), Step::Key("x".to_owned())];
            assert!(set(text, &path, &json(1)).is_err(), "{text}");
        }
        assert!(words("a..b").is_err() && words("a.\"b").is_err());
        assert_eq!(words("prices.\"m-1.2\".input").expect("words"), ["prices", "m-1.2", "input"]);
    }

    fn json(value: impl Into<Value>) -> Value {
        value.into()
    }
}
