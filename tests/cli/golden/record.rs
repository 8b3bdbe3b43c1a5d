//! The answer of one command, as a golden file shows it.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use super::normalise::Normaliser;
use super::pretty::pretty;
use crate::support::{Ran, Who, World};

/// How much of an answer is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    Whole,
    /// Order and figures of the lines depend on scheduling: records the set of lines without figures, and of
    /// JSON the keys of the last answer.
    Reduced,
    /// Of a demo, the list of what it showed.
    Shown,
}

/// A command line, who typed it, and the answer.
pub struct Played {
    who: String,
    line: String,
    ran: Ran,
}

impl Played {
    pub fn new(who: &Who, line: &str, ran: Ran) -> Self {
        let who = who.id.clone().unwrap_or_else(|| "human".to_owned());
        Self { who, line: line.to_owned(), ran }
    }

    pub fn record(&self, normaliser: &mut Normaliser, extent: Extent) -> String {
        let mut text = format!("{}$ {}\nexit {}\n", self.who, self.line, self.ran.exit);
        for (name, said) in [("stdout", &self.ran.stdout), ("stderr", &self.ran.stderr)] {
            if said.is_empty() {
                continue;
            }
            let values = json_values(said).filter(|_| self.line.contains(" --json"));
            let said = match (values, extent) {
                (Some(values), Extent::Whole) => {
                    values.iter().map(|value| pretty(&normaliser.json(value))).collect()
                }
                (Some(values), _) => values.last().map(|answer| pretty(&keys(answer))).unwrap_or_default(),
                (None, Extent::Whole) => normaliser.text(said),
                (None, Extent::Reduced) => without_figures(&normaliser.text(said)),
                (None, Extent::Shown) if name == "stdout" => shown(said),
                (None, Extent::Shown) => continue,
            };
            let end = if said.ends_with('\n') { "" } else { "\n(no newline)\n" };
            text.push_str(&format!("--- {name}\n{said}{end}"));
        }
        text
    }
}

/// One value per line, if every line is a value.
fn json_values(text: &str) -> Option<Vec<Value>> {
    text.lines().map(|line| serde_json::from_str(line).ok()).collect()
}

/// The shape of an answer: its keys, and for each list the shape of the first item.
fn keys(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            Value::Object(fields.iter().map(|(key, item)| (key.clone(), keys(item))).collect())
        }
        Value::Array(items) => items.first().map(keys).into_iter().collect(),
        Value::String(_) => Value::from("string"),
        Value::Number(_) => Value::from("number"),
        other => other.clone(),
    }
}

/// The first column of the demo's final table.
fn shown(text: &str) -> String {
    let rows = text.lines().filter_map(|line| line.strip_prefix("  yes  "));
    rows.map(|row| format!("yes  {}\n", row.split("  ").next().unwrap_or_default())).collect()
}

/// Every different line once, sorted, each number as `#`.
fn without_figures(text: &str) -> String {
    let lines: BTreeSet<String> = text
        .lines()
        .map(|line| {
            let mut out = String::new();
            for letter in line.chars() {
                match letter {
                    '0'..='9' if out.ends_with('#') => {}
                    '0'..='9' => out.push('#'),
                    other => out.push(other),
                }
            }
            out
        })
        .collect();
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// A normaliser for output about this world.
pub fn with_normaliser<T>(world: &World, act: impl FnOnce(&mut Normaliser) -> T) -> T {
    let repository = git2::Repository::open(&world.root).ok();
    let database = repository.as_ref().and_then(|repository| repository.odb().ok());
    let objects = |id: &str| {
        let database = database.as_ref()?;
        let whole =
            git2::Oid::from_str(id).ok().and_then(|start| database.exists_prefix(start, id.len()).ok())?;
        let (_, kind) = database.read_header(whole).ok()?;
        Some((whole.to_string(), kind.str()))
    };
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let home = world.home();
    let program = Path::new(env!("CARGO_BIN_EXE_liza"));
    let mut places = vec![
        (text(&world.root), "<repo>"),
        (text(&home.canonicalize().unwrap_or_else(|_| home.to_owned())), "<home>"),
        (text(home), "<home>"),
        (text(program), "<liza>"),
    ];
    places.dedup();
    act(&mut Normaliser::new(&places, &objects))
}
