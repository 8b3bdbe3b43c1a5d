//! A task or a board as one flat map, as people and scripts see it: for JSON, and for files edited by hand.

use serde::de::{Error as _, MapAccess, Visitor};

use super::graft::Graft;
use super::plain::Plain;
use super::prelude::*;
use super::{ForeignError, Limits, read_foreign};
use crate::board::breaker::Breaker;

/// Keys of a task that belong to its head, in the order in which they are written; a test compares them with the struct.
pub(super) const HEAD_KEYS: [&str; 30] = [
    "id",
    "status",
    "kind",
    "role",
    "priority",
    "risk",
    "assigned_to",
    "epoch",
    "lease",
    "review_lease",
    "reserved_until",
    "holds_paths",
    "holds_paths_until",
    "depends_on",
    "owns",
    "superseded_by",
    "implementers",
    "failed_by",
    "iteration",
    "review_cycles_current",
    "review_cycles_total",
    "review_commit",
    "integration_fix",
    "red_team",
    "approvals",
    "goal",
    "single",
    "slice_kind",
    "workstream",
    "result",
];

/// The hash that liza writes with each task on the board; a person who edits a task may ignore it.
const HASH: &str = "hash";

pub(super) fn is_head_key(key: &str) -> bool {
    HEAD_KEYS.contains(&key)
}

/// The whole task; its body must be loaded.
pub fn task_value(task: &Task) -> Value {
    let mut map = Map::new();
    for part in [serde_json::to_value(task.head()), serde_json::to_value(task.body())] {
        if let Ok(Value::Object(part)) = part {
            map.extend(part);
        }
    }
    Value::Object(map)
}

/// The JSON Schema of a task as one map.
pub fn task_schema() -> Value {
    let merge = |mut a: Value, b: Value| {
        for key in ["properties", "$defs"] {
            if let Some(Value::Object(more)) = b.get(key).cloned() {
                let into =
                    a.as_object_mut().map(|map| map.entry(key).or_insert_with(|| Value::Object(Map::new())));
                if let Some(Value::Object(into)) = into {
                    into.extend(more);
                }
            }
        }
        if let (Some(Value::Array(all)), Some(Value::Array(more))) =
            (a.get_mut("required"), b.get("required"))
        {
            all.extend(more.iter().cloned());
        }
        a
    };
    let head = schemars::schema_for!(crate::board::task::Head).to_value();
    let body = schemars::schema_for!(crate::board::task::Body).to_value();
    let mut schema = merge(head, body);
    if let Some(map) = schema.as_object_mut() {
        map.insert("title".to_owned(), "Task".into());
        map.remove("description");
    }
    schema
}

/// The JSON Schema of `state.yaml`.
pub fn board_schema() -> Value {
    let mut schema = schemars::schema_for!(Rest).to_value();
    let mut task = task_schema();
    let defs = task.as_object_mut().and_then(|map| map.remove("$defs"));
    if let Some(map) = schema.as_object_mut() {
        map.insert("title".to_owned(), "Liza blackboard".into());
        map.remove("description");
        if let (Value::Object(into), Some(Value::Object(more))) =
            (map.entry("$defs").or_insert_with(|| Value::Object(Map::new())), defs.as_ref())
        {
            into.extend(more.clone());
        }
        if let Some(task) = task.as_object_mut() {
            task.remove("$schema");
            if let Some(Value::Object(properties)) = task.get_mut("properties") {
                properties.insert(HASH.to_owned(), serde_json::json!({ "type": "string" }));
            }
        }
        if let Some(Value::Object(properties)) = map.get_mut("properties") {
            properties.insert("version".to_owned(), serde_json::json!({ "const": VERSION }));
            properties.insert("revision".to_owned(), serde_json::json!({ "type": "integer", "minimum": 1 }));
            properties.insert("journal".to_owned(), schemars::schema_for!(JournalMark).to_value());
            properties.insert("tasks".to_owned(), serde_json::json!({ "type": "array", "items": task }));
            properties.insert("end".to_owned(), serde_json::json!({ "type": "string" }));
        }
        map.insert("additionalProperties".to_owned(), false.into());
    }
    schema
}

/// Every key a task may have.
static TASK_KEYS: std::sync::LazyLock<std::collections::BTreeSet<String>> = std::sync::LazyLock::new(|| {
    let schema = task_schema();
    schema["properties"].as_object().map(|map| map.keys().cloned().collect()).unwrap_or_default()
});

/// A key of a task. An unknown one is refused while it is read, so that the error names its own line.
struct TaskKey(String);

impl<'de> Deserialize<'de> for TaskKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Known;
        impl Visitor<'_> for Known {
            type Value = TaskKey;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a field of a task")
            }
            fn visit_str<E: serde::de::Error>(self, key: &str) -> Result<TaskKey, E> {
                if key == HASH || TASK_KEYS.contains(key) {
                    Ok(TaskKey(key.to_owned()))
                } else {
                    Err(E::custom(format_args!("unknown field `{}`", key.escape_debug())))
                }
            }
        }
        deserializer.deserialize_str(Known)
    }
}

/// A task as one flat map.
struct Flat(Task);

impl<'de> Deserialize<'de> for Flat {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Split;
        impl<'de> Visitor<'de> for Split {
            type Value = Flat;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a task")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Flat, A::Error> {
                let (mut head, mut body) = (Map::new(), Map::new());
                while let Some((TaskKey(key), value)) = access.next_entry::<TaskKey, Value>()? {
                    if key == HASH {
                        continue;
                    }
                    let half = if HEAD_KEYS.contains(&key.as_str()) { &mut head } else { &mut body };
                    half.insert(key, value);
                }
                let head = Deserialize::deserialize(Graft(&Plain::from(&Value::Object(head))))
                    .map_err(A::Error::custom)?;
                let body = Deserialize::deserialize(Graft(&Plain::from(&Value::Object(body))))
                    .map_err(A::Error::custom)?;
                Ok(Flat(Task::new(head, body)))
            }
        }
        deserializer.deserialize_map(Split)
    }
}

/// A task from a flat map, such as an archived one.
pub fn read_task(bytes: &[u8]) -> Result<Task, ForeignError> {
    read_foreign::<Flat>(bytes, Limits::of_bytes(96 * 1024 * 1024)).map(|flat| flat.0)
}

/// A note as a person types it: only the text, or some of its fields.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct NoteFields {
    id: Option<String>,
    time: Option<crate::board::Wall>,
    by: Option<AgentId>,
    task_id: Option<TaskId>,
    text: String,
    processed_by: Option<AgentId>,
    typed: Option<String>,
}

struct HandNote(NoteFields);

impl<'de> Deserialize<'de> for HandNote {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::String(text) => Ok(Self(NoteFields { text, ..NoteFields::default() })),
            other => NoteFields::deserialize(Graft(&Plain::from(&other))).map(Self).map_err(D::Error::custom),
        }
    }
}

/// Every key of the file, so that an unknown one is an error with its path.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Whole {
    version: u32,
    revision: u64,
    journal: JournalMark,
    goal: Goal,
    #[serde(default)]
    goals: Vec<Goal>,
    sprint: Sprint,
    config: Config,
    #[serde(default)]
    agents: std::collections::BTreeMap<AgentId, crate::board::Agent>,
    #[serde(default)]
    intents: Vec<crate::board::intent::Intent>,
    #[serde(default)]
    requests: Vec<Request>,
    #[serde(default)]
    discovered: Vec<crate::board::records::Discovery>,
    #[serde(default)]
    handoff: Vec<crate::board::records::Handoff>,
    #[serde(default)]
    human_notes: Vec<HandNote>,
    #[serde(default)]
    messages: Vec<crate::board::records::Message>,
    #[serde(default)]
    anomalies: Vec<crate::board::records::Anomaly>,
    #[serde(default)]
    spec_changes: Vec<crate::board::records::SpecChange>,
    #[serde(default)]
    circuit_breaker: Breaker,
    #[serde(default)]
    integration: Integration,
    #[serde(default)]
    expectations: Vec<crate::board::expectation::Expectation>,
    #[serde(default)]
    gate_ledger: crate::board::gate_ledger::GateLedger,
    #[serde(default)]
    interventions: Vec<crate::board::oversight::Intervention>,
    #[serde(default)]
    spent: crate::board::spent::Spent,
    #[serde(default)]
    spent_planning: crate::board::spent::Spent,
    #[serde(default)]
    run: Option<crate::board::marks::RunMark>,
    #[serde(default)]
    former_sprints: Vec<Sprint>,
    #[serde(default)]
    archived: u64,
    #[serde(default)]
    graph_id: Option<crate::board::GraphId>,
    #[serde(default)]
    git_settings: Option<crate::board::state::GitSettings>,
    #[serde(default)]
    pending_edits: Vec<crate::board::state::PendingEdit>,
    #[serde(default)]
    made_below: Option<crate::board::origin::Mark>,
    #[serde(default)]
    routes: Vec<crate::board::route::Route>,
    #[serde(default)]
    workstreams: Vec<crate::board::workstream::Workstream>,
    #[serde(default)]
    extra: std::collections::BTreeMap<String, String>,
    #[serde(default)]
    tasks: Vec<Flat>,
    #[serde(default)]
    #[expect(dead_code, reason = "known, and judged before this is read")]
    end: Option<Value>,
}

/// Reads a board that a person edited, strictly and slowly.
pub fn read_edited(bytes: &[u8], now: &Stamp) -> Result<Board, ForeignError> {
    let limits = Limits { bytes: 96 * 1024 * 1024, depth: 32, tokens: 16 * 1024 * 1024 };
    let whole: Whole = read_foreign(bytes, limits)?;
    if whole.version != VERSION {
        return Err(ForeignError {
            line: None,
            path: Some("version".to_owned()),
            message: format!("{} is not a version this program writes", whole.version),
        });
    }
    Ok(Board {
        revision: whole.revision,
        journal: whole.journal,
        tasks: whole.tasks.into_iter().map(|flat| flat.0).collect(),
        rest: Rest {
            goal: whole.goal,
            goals: whole.goals,
            sprint: whole.sprint,
            config: whole.config,
            agents: whole.agents,
            intents: whole.intents,
            requests: whole.requests,
            discovered: whole.discovered,
            handoff: whole.handoff,
            human_notes: finish_notes(whole.human_notes, now),
            messages: whole.messages,
            anomalies: whole.anomalies,
            spec_changes: whole.spec_changes,
            circuit_breaker: whole.circuit_breaker,
            integration: whole.integration,
            expectations: whole.expectations,
            gate_ledger: whole.gate_ledger,
            interventions: whole.interventions,
            spent: whole.spent,
            spent_planning: whole.spent_planning,
            run: whole.run,
            former_sprints: whole.former_sprints,
            archived: whole.archived,
            graph_id: whole.graph_id,
            git_settings: whole.git_settings,
            pending_edits: whole.pending_edits,
            made_below: whole.made_below,
            routes: whole.routes,
            workstreams: whole.workstreams,
            extra: whole.extra,
        },
    })
}

/// Completes notes that a person typed with the fields that need not be typed.
fn finish_notes(notes: Vec<HandNote>, now: &Stamp) -> Vec<Note> {
    let mut next = next_number("note", notes.iter().filter_map(|HandNote(note)| note.id.as_deref()));
    let mut fresh = || {
        let id = format!("note-{next}");
        next += 1;
        id
    };
    let finish = |HandNote(note): HandNote| Note {
        id: note.id.unwrap_or_else(&mut fresh),
        time: note.time.unwrap_or(now.wall),
        by: note.by.unwrap_or_else(AgentId::human),
        task_id: note.task_id,
        text: note.text,
        processed_by: note.processed_by,
        typed: note.typed,
    };
    notes.into_iter().map(finish).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_keys_are_those_of_the_struct() {
        let schema = schemars::schema_for!(crate::board::task::Head).to_value();
        let mut keys: Vec<&str> =
            schema["properties"].as_object().expect("a map").keys().map(String::as_str).collect();
        let mut listed = HEAD_KEYS.to_vec();
        keys.sort_unstable();
        listed.sort_unstable();
        assert_eq!(keys, listed);
    }

    #[test]
    fn head_and_body_share_no_key() {
        let schema = schemars::schema_for!(crate::board::task::Body).to_value();
        for key in schema["properties"].as_object().expect("a map").keys() {
            assert!(!HEAD_KEYS.contains(&key.as_str()), "{key} is in both halves");
            assert_ne!(key, HASH);
        }
    }
}
