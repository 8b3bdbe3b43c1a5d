//! `log.yaml`: one record a line, each `- ` and a JSON object, so that the file is YAML and every line stands alone.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::board::call::{Actor, World};
use crate::board::intent::RequestKey;
use crate::board::{Stamp, Transition};

use super::state::hash;

/// What a record chains to when there is none before it.
pub const NO_RECORD: &str = "";

/// A committed change: enough to make the same board again from the one before.
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

    /// Reads one line, with or without its line end.
    pub fn parse(line: &str, number: u64) -> Result<Self, LogError> {
        let json = line.trim_end_matches('\n').strip_prefix("- ").ok_or_else(|| LogError::Malformed {
            number,
            message: "it does not begin with `- `".to_owned(),
        })?;
        serde_json::from_str(json).map_err(|error| LogError::Malformed { number, message: error.to_string() })
    }
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
                message: format!("revision {} stands where {number} should", record.revision),
            });
        }
        prev = hash(line.as_bytes());
        records.push(record);
    }
    Ok(records)
}
