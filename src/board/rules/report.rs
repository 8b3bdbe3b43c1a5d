//! What is said through the board: notes, anomalies, discoveries, changes of specs; and that somebody dealt with it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::board::call::Call;
use crate::board::ids::TaskId;
use crate::board::records::{Anomaly, AnomalyKind, Discovery, Note, SpecChange, Urgency, next_number};
use crate::board::refusal::{Code, Refusal};
use crate::board::review::Severity;
use crate::board::state::Board;
use crate::board::transition::{Needs, Rule};

use super::common::{MOST_ITEMS, find, plans, text_given};

/// Unprocessed records one board may hold of a kind; the board is read by every command.
const MOST_RECORDS: usize = 5_000;

pub fn room_for(kind: &str, count: usize) -> Result<(), Refusal> {
    if count < MOST_RECORDS {
        return Ok(());
    }
    Refusal::new(Code::Limit, format!("the board holds {count} {kind}; that is the limit"))
        .hint("`liza archive` moves processed ones away")
        .err()
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AddNote {
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
}

impl Rule for AddNote {
    fn check(&self, board: &Board, _: &Call) -> Result<(), Refusal> {
        text_given("the note", &self.text)?;
        room_for("notes", board.rest.human_notes.len())?;
        self.task.as_ref().map_or(Ok(()), |id| find(board, id).map(|_| ()))
    }

    fn change(&self, board: &mut Board, call: &Call) -> Value {
        let number = next_number("note", board.rest.human_notes.iter().map(|note| note.id.as_str()));
        let id = format!("note-{number}");
        board.rest.human_notes.push(Note {
            id: id.clone(),
            time: call.now.wall,
            by: call.by.id(),
            task_id: self.task.clone(),
            text: self.text.clone(),
            processed_by: None,
        });
        json!({ "id": id })
    }

    fn needs(&self, _: &Board) -> Needs {
        Needs::Nothing
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogAnomaly {
    #[serde(rename = "type")]
    pub kind: AnomalyKind,
    pub task: TaskId,
    pub details: BTreeMap<String, String>,
}

/// Names of details stand in tables and reports.
fn is_key(key: &str) -> bool {
    (1..=64).contains(&key.len())
        && key.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

impl Rule for LogAnomaly {
    fn check(&self, board: &Board, _: &Call) -> Result<(), Refusal> {
        find(board, &self.task)?;
        room_for("anomalies", board.rest.anomalies.len())?;
        let missing: Vec<&str> = self
            .kind
            .required()
            .iter()
            .copied()
            .filter(|key| self.details.get(*key).is_none_or(|value| value.trim().is_empty()))
            .collect();
        if !missing.is_empty() {
            return Refusal::new(
                Code::Incomplete,
                format!("an anomaly of type {} needs the details {}", self.kind.as_str(), missing.join(", ")),
            )
            .hint("--detail KEY=VALUE for each of them")
            .detail("missing", missing)
            .err();
        }
        if self.details.len() > MOST_ITEMS {
            return Refusal::new(Code::Limit, format!("an anomaly has at most {MOST_ITEMS} details")).err();
        }
        if let Some(key) = self.details.keys().find(|key| !is_key(key)) {
            return Refusal::new(
                Code::Value,
                format!("`{}` cannot be the name of a detail", key.escape_debug()),
            )
            .hint("use up to 64 small letters, digits and `_`, such as root_cause")
            .detail("field", "details")
            .err();
        }
        self.details.iter().try_for_each(|(key, value)| text_given(&format!("detail {key}"), value))
    }

    fn change(&self, board: &mut Board, call: &Call) -> Value {
        let number = next_number("anomaly", board.rest.anomalies.iter().map(|anomaly| anomaly.id.as_str()));
        let id = format!("anomaly-{number}");
        board.rest.anomalies.push(Anomaly {
            id: id.clone(),
            kind: self.kind,
            task_id: self.task.clone(),
            logged_by: call.by.id(),
            timestamp: call.now.wall,
            details: self.details.clone(),
            processed_by: None,
        });
        json!({ "id": id, "type": self.kind })
    }

    fn needs(&self, _: &Board) -> Needs {
        Needs::Nothing
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Discover {
    pub text: String,
    pub task: TaskId,
    pub severity: Severity,
    pub urgency: Urgency,
}

impl Rule for Discover {
    fn check(&self, board: &Board, _: &Call) -> Result<(), Refusal> {
        text_given("the discovery", &self.text)?;
        room_for("discoveries", board.rest.discovered.len())?;
        find(board, &self.task).map(|_| ())
    }

    fn change(&self, board: &mut Board, call: &Call) -> Value {
        let number = next_number("discovery", board.rest.discovered.iter().map(|found| found.id.as_str()));
        let id = format!("discovery-{number}");
        board.rest.discovered.push(Discovery {
            id: id.clone(),
            time: call.now.wall,
            by: call.by.id(),
            task_id: self.task.clone(),
            text: self.text.clone(),
            severity: self.severity,
            urgency: self.urgency,
            processed_by: None,
        });
        json!({ "id": id, "urgency": self.urgency })
    }

    fn needs(&self, _: &Board) -> Needs {
        Needs::Nothing
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChangeSpec {
    pub spec: String,
    pub change: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub affects: Vec<TaskId>,
}

impl Rule for ChangeSpec {
    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        plans(board, call, "announce changes of specs")?;
        text_given("--spec", &self.spec)?;
        text_given("the change", &self.change)?;
        room_for("spec changes", board.rest.spec_changes.len())?;
        self.affects.iter().try_for_each(|id| find(board, id).map(|_| ()))
    }

    fn change(&self, board: &mut Board, call: &Call) -> Value {
        let number =
            next_number("spec-change", board.rest.spec_changes.iter().map(|change| change.id.as_str()));
        let id = format!("spec-change-{number}");
        board.rest.spec_changes.push(SpecChange {
            id: id.clone(),
            time: call.now.wall,
            by: call.by.id(),
            spec: self.spec.clone(),
            change: self.change.clone(),
            affects: self.affects.clone(),
            processed_by: None,
        });
        json!({ "id": id })
    }

    fn needs(&self, _: &Board) -> Needs {
        Needs::Nothing
    }
}

/// Somebody has dealt with these; they stay on the board, marked, until they are archived.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MarkProcessed {
    pub ids: Vec<String>,
}

impl Rule for MarkProcessed {
    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        plans(board, call, "mark records processed")?;
        if self.ids.is_empty() {
            return Refusal::new(Code::Incomplete, "there is nothing to mark").err();
        }
        for id in &self.ids {
            match self.state(board, id) {
                None => {
                    return Refusal::new(Code::UnknownRecord, format!("there is no record `{id}`"))
                        .hint("`liza inbox` lists what waits for the planner")
                        .err();
                }
                Some(true) => {
                    return Refusal::new(Code::Transition, format!("`{id}` is marked as processed already"))
                        .err();
                }
                Some(false) => {}
            }
        }
        Ok(())
    }

    fn change(&self, board: &mut Board, call: &Call) -> Value {
        let by = call.by.id();
        let rest = &mut board.rest;
        let marks = rest
            .human_notes
            .iter_mut()
            .map(|note| (&note.id, &mut note.processed_by))
            .chain(rest.anomalies.iter_mut().map(|anomaly| (&anomaly.id, &mut anomaly.processed_by)))
            .chain(rest.discovered.iter_mut().map(|found| (&found.id, &mut found.processed_by)))
            .chain(rest.spec_changes.iter_mut().map(|change| (&change.id, &mut change.processed_by)));
        for (id, mark) in marks {
            if self.ids.contains(id) {
                *mark = Some(by.clone());
            }
        }
        json!({ "processed": self.ids })
    }

    fn needs(&self, _: &Board) -> Needs {
        Needs::Nothing
    }
}

impl MarkProcessed {
    /// Whether the record is there, and whether it is marked.
    fn state(&self, board: &Board, id: &str) -> Option<bool> {
        let rest = &board.rest;
        let notes = rest.human_notes.iter().map(|note| (&note.id, note.processed_by.is_some()));
        let anomalies = rest.anomalies.iter().map(|anomaly| (&anomaly.id, anomaly.processed_by.is_some()));
        let found = rest.discovered.iter().map(|found| (&found.id, found.processed_by.is_some()));
        let changes = rest.spec_changes.iter().map(|change| (&change.id, change.processed_by.is_some()));
        notes
            .chain(anomalies)
            .chain(found)
            .chain(changes)
            .find(|(known, _)| *known == id)
            .map(|(_, done)| done)
    }
}
