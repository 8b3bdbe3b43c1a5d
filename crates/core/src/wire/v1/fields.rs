//! Takes known fields out of a map of any form; the others are extras.

use super::times::loose_time;
use crate::wire::prelude::*;
use crate::wire::state::hash;
use crate::wire::to_json_line;

const LONGEST_KEY: usize = 200;

/// Text as people write it: an unquoted number or flag is text too.
pub fn as_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    }
}

/// One text or a list of them.
pub fn as_texts(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::Array(items) => items.iter().map(as_text).collect(),
        other => as_text(other).map(|text| vec![text]),
    }
}

/// The text as a name, without characters that names may not contain; may be empty.
pub fn slug(text: &str) -> String {
    let kept: String = text
        .trim()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '-' })
        .take(64)
        .collect();
    kept.trim_start_matches(['-', '_']).to_owned()
}

/// The agent id for a name. A text that is not a valid id was typed by a person, so `coder 2` and `coder  2` are the
/// same agent.
pub fn agent_named(text: &str) -> Option<AgentId> {
    if text.trim().eq_ignore_ascii_case(AgentId::human().as_str()) {
        return Some(AgentId::human());
    }
    if let Ok(id) = AgentId::new(text.trim()) {
        return Some(id);
    }
    let mut kept = String::new();
    for c in slug(text).chars() {
        if !(c == '-' && kept.ends_with('-')) {
            kept.push(c);
        }
    }
    AgentId::new(kept.trim_end_matches('-')).ok()
}

pub fn as_agent(value: &Value) -> Option<AgentId> {
    agent_named(&as_text(value)?)
}

/// A map from which known fields are taken one by one.
#[derive(Debug, Clone, Default)]
pub struct Fields(Map<String, Value>);

impl Fields {
    pub fn new(map: Map<String, Value>) -> Self {
        Self(map)
    }

    /// Takes a value that fits; another value stays and becomes an extra. Null means absent.
    pub fn fit<T>(&mut self, key: &str, read: impl FnOnce(&Value) -> Option<T>) -> Option<T> {
        match self.0.get(key)? {
            Value::Null => {
                self.0.shift_remove(key);
                None
            }
            value => {
                let read = read(value)?;
                self.0.shift_remove(key);
                Some(read)
            }
        }
    }

    pub fn take(&mut self, key: &str) -> Option<Value> {
        self.fit(key, |value| Some(value.clone()))
    }

    pub fn text(&mut self, key: &str) -> Option<String> {
        self.fit(key, as_text)
    }

    /// The first of several synonyms.
    pub fn text_of(&mut self, keys: &[&str]) -> Option<String> {
        keys.iter().find_map(|key| self.text(key))
    }

    pub fn peek_text(&self, key: &str) -> Option<String> {
        as_text(self.0.get(key)?)
    }

    pub fn agent_of(&mut self, keys: &[&str]) -> Option<AgentId> {
        keys.iter().find_map(|key| self.fit(key, as_agent))
    }

    pub fn time_of(&mut self, keys: &[&str]) -> Option<crate::board::Wall> {
        keys.iter().find_map(|key| self.fit(key, |value| loose_time(&as_text(value)?)))
    }

    pub fn count(&mut self, key: &str) -> Option<u32> {
        self.fit(key, |value| value.as_u64().and_then(|number| u32::try_from(number).ok()))
    }

    pub fn texts(&mut self, key: &str) -> Vec<String> {
        self.fit(key, as_texts).unwrap_or_default()
    }

    pub fn map(&mut self, key: &str) -> Option<Fields> {
        self.fit(key, |value| value.as_object().cloned()).map(Fields)
    }

    pub fn list(&mut self, key: &str) -> Vec<Value> {
        self.fit(key, |value| value.as_array().cloned()).unwrap_or_default()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn entries(self) -> impl Iterator<Item = (String, Value)> {
        self.0.into_iter()
    }

    pub fn into_value(self) -> Value {
        Value::Object(self.0)
    }
}

/// Values that have no field on the board.
#[derive(Debug, Default)]
pub struct Extras(BTreeMap<String, Value>);

impl Extras {
    pub fn keep(&mut self, path: &str, value: Value) {
        // Two values with one name come from two readings of a map; both are kept.
        let mut key = path.to_owned();
        while self.0.contains_key(&key) {
            key.push('\'');
        }
        self.0.insert(key, value);
    }

    /// Keeps the rest of a map as extras.
    pub fn leave(&mut self, place: &str, fields: Fields) {
        for (key, value) in fields.entries() {
            let path = if place.is_empty() { key } else { format!("{place}.{key}") };
            self.keep(&path, value);
        }
    }

    pub fn into_texts(self) -> BTreeMap<String, String> {
        self.0.into_iter().map(|(key, value)| (short_key(key), to_json_line(&value))).collect()
    }
}

/// Shortens a key that is longer than the layout allows; a hash of the whole key keeps keys with the same beginning
/// distinct.
fn short_key(key: String) -> String {
    if key.len() <= LONGEST_KEY {
        return key;
    }
    let start: String = key.chars().take(40).collect();
    format!("{start}…{}", &hash(key.as_bytes())[..16])
}

/// The new id of a task of the old board.
pub fn new_id<'t>(tasks: &'t [super::OldTask], old: &str) -> Option<&'t TaskId> {
    tasks.iter().find(|task| task.said.id == old).map(|task| &task.whole.head.id)
}
