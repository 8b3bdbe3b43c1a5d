//! Messages, anomalies and discoveries of an old board.

use super::OldTask;
use super::fields::{Extras, Fields, as_text, new_id};
use crate::board::review::Severity;
use crate::wire::prelude::*;
use crate::wire::to_json_line;

pub fn records(
    top: &mut Fields,
    rest: &mut Rest,
    tasks: &[OldTask],
    now: &Stamp,
    extras: &mut Extras,
    remarks: &mut Vec<String>,
) {
    let mut reader = Reader { tasks, now, extras, remarks };
    rest.human_notes = reader.each(top, "human_notes", Reader::note);
    rest.anomalies = reader.each(top, "anomalies", Reader::anomaly);
    rest.discovered = reader.each(top, "discovered", Reader::discovery);
    rest.spec_changes = reader.each(top, "spec_changes", Reader::spec_change);
    // One map by task; some old boards have a list.
    match top.map("handoff") {
        Some(map) => {
            for (task, value) in map.entries() {
                rest.handoff.extend(reader.handoff(value, Some(&task), &format!("handoff.{task}")));
            }
        }
        None => {
            for (at, value) in top.list("handoff").into_iter().enumerate() {
                rest.handoff.extend(reader.handoff(value, None, &format!("handoff[{at}]")));
            }
        }
    }
}

struct Reader<'r> {
    tasks: &'r [OldTask],
    now: &'r Stamp,
    extras: &'r mut Extras,
    remarks: &'r mut Vec<String>,
}

impl Reader<'_> {
    /// Every readable entry of a list.
    fn each<T>(
        &mut self,
        top: &mut Fields,
        key: &str,
        read: impl Fn(&mut Self, Value, usize) -> Option<T>,
    ) -> Vec<T> {
        top.list(key).into_iter().enumerate().filter_map(|(at, value)| read(self, value, at)).collect()
    }

    fn task(&self, fields: &mut Fields, keys: &[&str]) -> Option<TaskId> {
        keys.iter().find_map(|key| fields.fit(key, |value| new_id(self.tasks, &as_text(value)?).cloned()))
    }

    /// The map of an entry; another entry is kept as an extra.
    fn fields(&mut self, value: Value, place: &str) -> Option<Fields> {
        match value {
            Value::Object(map) => Some(Fields::new(map)),
            other => {
                self.extras.keep(place, other);
                None
            }
        }
    }

    fn misplaced<T>(&mut self, value: Value, place: String, why: &str) -> Option<T> {
        self.remarks.push(format!("{place} {why}; it is kept as an extra"));
        self.extras.keep(&place, value);
        None
    }

    fn note(&mut self, value: Value, at: usize) -> Option<Note> {
        let place = format!("human_notes[{at}]");
        let bare = |text: String| Note {
            id: format!("note-{}", at + 1),
            time: self.now.wall,
            by: AgentId::human(),
            task_id: None,
            text,
            processed_by: None,
            typed: None,
        };
        if let Some(text) = as_text(&value) {
            return Some(bare(text));
        }
        let whole = value.clone();
        let mut fields = self.fields(value, &place)?;
        let Some(text) = fields.text_of(&["note", "text", "message", "content", "answer"]) else {
            return self.misplaced(whole, place, "says nothing");
        };
        let note = Note {
            time: fields.time_of(&["timestamp", "time", "created"]).unwrap_or(self.now.wall),
            by: fields.agent_of(&["by", "author", "from"]).unwrap_or_else(AgentId::human),
            task_id: self.task(&mut fields, &["task", "task_id", "for"]),
            ..bare(text)
        };
        self.extras.leave(&place, fields);
        Some(note)
    }

    fn anomaly(&mut self, value: Value, at: usize) -> Option<Anomaly> {
        let place = format!("anomalies[{at}]");
        let whole = value.clone();
        let mut fields = self.fields(value, &place)?;
        let kind = fields.fit("type", |value| value.as_str()?.parse().ok());
        let task_id = self.task(&mut fields, &["task_id", "task"]);
        let (Some(kind), Some(task_id)) = (kind, task_id) else {
            return self.misplaced(whole, place, "has no known type or names no task of the board");
        };
        let details = match fields.map("details") {
            Some(map) => map
                .entries()
                .map(|(key, value)| (key, as_text(&value).unwrap_or_else(|| to_json_line(&value))))
                .collect(),
            None => Default::default(),
        };
        fields.text("id");
        let anomaly = Anomaly {
            id: format!("anomaly-{}", at + 1),
            kind,
            task_id,
            logged_by: fields
                .agent_of(&["logged_by", "reporter", "agent", "by"])
                .unwrap_or_else(AgentId::unknown),
            timestamp: fields.time_of(&["timestamp", "time"]).unwrap_or(self.now.wall),
            details,
            processed_by: None,
        };
        self.extras.leave(&place, fields);
        Some(anomaly)
    }

    fn discovery(&mut self, value: Value, at: usize) -> Option<Discovery> {
        let place = format!("discovered[{at}]");
        let whole = value.clone();
        let mut fields = self.fields(value, &place)?;
        let text = fields.text_of(&["description", "text", "desc", "what"]);
        let task_id = self
            .task(&mut fields, &["task_id", "task", "during", "discovered_in", "found_in", "source_task"]);
        let (Some(text), Some(task_id)) = (text, task_id) else {
            return self.misplaced(whole, place, "is empty or names no task of the board");
        };
        let severity = fields.fit("severity", |value| match value.as_str()? {
            "critical" | "blocker" => Some(Severity::Critical),
            "major" | "high" => Some(Severity::Major),
            "minor" | "medium" => Some(Severity::Minor),
            "nitpick" | "low" => Some(Severity::Nitpick),
            _ => None,
        });
        let urgency = fields.fit("urgency", |value| match value.as_str()? {
            "immediate" => Some(Urgency::Immediate),
            "deferred" => Some(Urgency::Deferred),
            _ => None,
        });
        let found = Discovery {
            id: format!("discovery-{}", at + 1),
            time: fields.time_of(&["timestamp", "time", "created"]).unwrap_or(self.now.wall),
            by: fields
                .agent_of(&["by", "agent", "discovered_by", "found_by"])
                .unwrap_or_else(AgentId::unknown),
            task_id,
            text,
            severity: severity.unwrap_or(Severity::Minor),
            urgency: urgency.unwrap_or(Urgency::Deferred),
            processed_by: None,
        };
        self.extras.leave(&place, fields);
        Some(found)
    }

    fn spec_change(&mut self, value: Value, at: usize) -> Option<SpecChange> {
        let place = format!("spec_changes[{at}]");
        let whole = value.clone();
        let mut fields = self.fields(value, &place)?;
        let spec = fields.text_of(&["spec", "spec_ref", "file"]);
        let change = fields.text_of(&["change", "summary", "description"]);
        let (Some(spec), Some(change)) = (spec, change) else {
            return self.misplaced(whole, place, "does not say which spec changed and how");
        };
        let affects = fields.fit("affects", super::fields::as_texts).unwrap_or_default();
        let change = SpecChange {
            id: format!("spec-change-{}", at + 1),
            time: fields.time_of(&["timestamp", "time"]).unwrap_or(self.now.wall),
            by: fields.agent_of(&["by", "agent", "triggered_by"]).unwrap_or_else(AgentId::unknown),
            spec,
            change,
            affects: affects.iter().filter_map(|old| new_id(self.tasks, old).cloned()).collect(),
            processed_by: None,
        };
        self.extras.leave(&place, fields);
        Some(change)
    }

    fn handoff(&mut self, value: Value, task: Option<&str>, place: &str) -> Option<Handoff> {
        let whole = value.clone();
        let mut fields = self.fields(value, place)?;
        let named = self.task(&mut fields, &["task_id", "task"]);
        let task_id = task.and_then(|old| new_id(self.tasks, old).cloned()).or(named);
        let (Some(task_id), Some(summary)) = (task_id, fields.text("summary")) else {
            return self.misplaced(whole, place.to_owned(), "is empty or names no task of the board");
        };
        let handoff = Handoff {
            task_id,
            time: fields.time_of(&["timestamp", "time"]).unwrap_or(self.now.wall),
            by: fields.agent_of(&["agent", "by", "from"]).unwrap_or_else(AgentId::unknown),
            epoch: 1,
            summary,
            next_action: fields.text_of(&["next_action", "next"]).unwrap_or_default(),
            package: None,
        };
        self.extras.leave(place, fields);
        Some(handoff)
    }
}
