//! `log.yaml`: one record per line, each `- ` and a JSON object, so that the file is YAML and every line can be read
//! alone.

use super::graft::Graft;
use super::plain::Plain;
use super::prelude::*;
use super::state::hash;
use crate::board::call::{Actor, World};
use crate::board::intent::RequestKey;
use crate::board::rules::RefoundLog;

/// The predecessor of the first record.
pub const NO_RECORD: &str = "";

/// A committed change: enough to make the same board from the one before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    pub revision: u64,
    /// Hash of the line before.
    pub prev: String,
    pub by: Actor,
    pub at: Stamp,
    #[serde(default, skip_serializing_if = "is_default_world")]
    pub world: World,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<RequestKey>,
    #[serde(rename = "do")]
    pub what: Transition,
    /// Hash of the content of the resulting board.
    pub board: String,
}

fn is_default_world(world: &World) -> bool {
    world == &World::default()
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LogError {
    #[error("record {0} is cut off")]
    Torn(u64),
    #[error("record {number} cannot be read: {message}")]
    Malformed { number: u64, message: String },
    #[error("the chain is broken at record {number}: {message}")]
    Broken { number: u64, message: String },
}

impl Record {
    /// The line as it is appended, and its hash.
    pub fn line(&self) -> (String, String) {
        let line = format!("- {}\n", super::to_json_line(self));
        let hash = hash(line.as_bytes());
        (line, hash)
    }

    /// The refounding, if the record begins a new log after a lost or broken one.
    pub fn refounds(&self) -> Option<&RefoundLog> {
        match &self.what {
            Transition::RefoundLog(refound) if self.prev == NO_RECORD => Some(refound),
            _ => None,
        }
    }

    /// Reads one line, with or without its line end.
    pub fn parse(line: &str, number: u64) -> Result<Self, LogError> {
        let tree: Plain<'_> = read_line(line.trim_end_matches('\n'), number)?;
        // Parsed like foreign input: board types are compiled for one tree reader, not for three.
        Self::deserialize(Graft(&tree))
            .map_err(|misfit| LogError::Malformed { number, message: misfit.message })
    }
}

/// The JSON after the dash.
fn read_line<'l, T: Deserialize<'l>>(line: &'l str, number: u64) -> Result<T, LogError> {
    let malformed = |message: String| LogError::Malformed { number, message };
    let json = line.strip_prefix("- ").ok_or_else(|| malformed("it does not begin with `- `".to_owned()))?;
    serde_json::from_str(json).map_err(|error| malformed(error.to_string()))
}

/// Reads a run of whole lines and checks that each names the hash of the one before.
///
/// `prev` is the hash of the line above the first one.
pub fn read_chain(text: &str, mut prev: String) -> Result<Vec<Record>, LogError> {
    let mut records: Vec<Record> = Vec::new();
    for (at, line) in text.split_inclusive('\n').enumerate() {
        let number = records.last().map_or(at as u64 + 1, |record| record.revision + 1);
        if !line.ends_with('\n') {
            return Err(LogError::Torn(number));
        }
        let record = Record::parse(line, number)?;
        if record.prev != prev {
            return Err(LogError::Broken {
                number,
                message: "it does not follow the line before".to_owned(),
            });
        }
        if record.revision != number && !records.is_empty() {
            return Err(LogError::Broken {
                number,
                message: format!("found revision {}, expected {number}", record.revision),
            });
        }
        prev = hash(line.as_bytes());
        records.push(record);
    }
    Ok(records)
}

/// Whether whole lines follow one another, whatever they say: a record that only a newer liza knows is not broken.
///
/// `prev` and `revision` are what the first line must follow; without a revision it may have any.
pub fn check_chain(text: &str, mut prev: String, mut revision: Option<u64>) -> Result<(), LogError> {
    #[derive(Deserialize)]
    struct Link {
        revision: u64,
        prev: String,
    }
    for (at, line) in text.split_inclusive('\n').enumerate() {
        let number = revision.map_or(at as u64 + 1, |revision| revision + 1);
        if !line.ends_with('\n') {
            return Err(LogError::Torn(number));
        }
        let link: Link = read_line(line, number)?;
        let broken = |message: String| LogError::Broken { number, message };
        if link.prev != prev {
            return Err(broken("it does not follow the line before".to_owned()));
        }
        if revision.is_some() && link.revision != number {
            return Err(broken(format!("found revision {}, expected {number}", link.revision)));
        }
        prev = hash(line.as_bytes());
        revision = Some(link.revision);
    }
    Ok(())
}

/// A line of a log as far as this program understands it: from a newer liza, or from the older shell implementation.
#[derive(Debug)]
pub struct LooseRecord {
    pub revision: Option<u64>,
    pub time: String,
    pub by: String,
    pub event: String,
    pub what: Value,
}

impl LooseRecord {
    pub fn of(record: &Record) -> Self {
        let what = serde_json::to_value(&record.what).unwrap_or_default();
        Self {
            revision: Some(record.revision),
            time: record.at.wall.to_string(),
            by: record.by.id().to_string(),
            event: record.what.name().to_owned(),
            what,
        }
    }

    pub fn of_old(entry: super::v1::OldEntry) -> Self {
        let time = super::v1::loose_time(&entry.time).map_or(entry.time, |time| time.to_string());
        Self { revision: None, time, by: entry.agent, event: entry.action, what: entry.value }
    }

    fn of_value(value: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let what = value.get("do").cloned().unwrap_or_default();
        let event = match &what {
            Value::Object(map) => map.keys().next().cloned().unwrap_or_default(),
            other => text(other),
        };
        // The actor: a word, or a map around the id.
        let by = match value.get("by").unwrap_or(&Value::Null) {
            Value::Object(map) => {
                map.values().find_map(|inner| inner.get("id")).map(text).unwrap_or_default()
            }
            other => text(other),
        };
        let time = value.pointer("/at/wall").map(text).unwrap_or_default();
        Self { revision: value.get("revision").and_then(Value::as_u64), time, by, event, what }
    }
}

/// Reads whole lines with unknown transitions. If lines name the one before, the chain must hold.
pub fn read_loosely(text: &str) -> Result<Vec<LooseRecord>, LogError> {
    let mut prev: Option<String> = None;
    let mut records = Vec::new();
    for (at, line) in text.split_inclusive('\n').filter(|line| line.ends_with('\n')).enumerate() {
        let number = at as u64 + 1;
        let value: Value = read_line(line.trim_end(), number)?;
        if let (Some(named), Some(before)) = (value.get("prev").and_then(Value::as_str), &prev)
            && named != before
        {
            let message = "it does not follow the line before".to_owned();
            return Err(LogError::Broken { number, message });
        }
        prev = Some(hash(line.as_bytes()));
        records.push(LooseRecord::of_value(&value));
    }
    Ok(records)
}
