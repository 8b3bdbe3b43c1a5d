//! Reports through the board: notes, anomalies, discoveries and changes of specs; and which of them are processed.

use super::prelude::*;

/// The most unprocessed records of one kind: every command reads the board.
const MOST_RECORDS: usize = 5_000;

pub fn room_for(kind: &str, count: usize) -> Result<(), Refusal> {
    if count < MOST_RECORDS {
        return Ok(());
    }
    Err(refusal!(Code::Limit, "the board holds {count} {kind}; that is the limit")
        .hint("`liza archive` moves processed ones away"))
}

/// Bytes that the unprocessed notes of a board may have together.
pub const MOST_NOTE_BYTES: usize = 4 * 1024 * 1024;

pub fn note_bytes(board: &Board) -> usize {
    board.rest.human_notes.iter().map(|note| note.text.len()).sum()
}

logged! {
    pub struct AddNote {
        pub text: String,
        pub task: Option<TaskId>,
    }
}

impl Verb for AddNote {
    const OPERATION: Option<Operation> = Some(Operation::Report);
    type Outcome = Recorded;

    fn check(&self, board: &Board, _: &Call) -> Result<(), Refusal> {
        text_given("the note", &self.text)?;
        room_for("notes", board.rest.human_notes.len())?;
        let bytes = note_bytes(board);
        if bytes + self.text.len() > MOST_NOTE_BYTES {
            let more = self.text.len();
            return Err(refusal!(
                Code::Limit,
                "the notes on the board have {bytes} bytes; with {more} more they pass the limit of {MOST_NOTE_BYTES}"
            )
            .hint("`liza archive` moves processed ones away"));
        }
        self.task.as_ref().map_or(Ok(()), |id| find(board, id).map(|_| ()))
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        let id = next_id("note", board.rest.human_notes.iter().map(|note| note.id.as_str()));
        board.rest.human_notes.push(Note {
            id: id.clone(),
            time: call.now.wall,
            by: call.by.id(),
            task_id: self.task.clone(),
            text: self.text.clone(),
            processed_by: None,
            typed: None,
        });
        Recorded { id }
    }
}

logged! {
    pub struct LogAnomaly {
        #[serde(rename = "type")]
        pub kind: AnomalyKind,
        pub task: TaskId,
        pub details: BTreeMap<String, String>,
    }
}

/// Whether the name of a detail fits into tables and reports.
fn is_key(key: &str) -> bool {
    (1..=64).contains(&key.len())
        && key.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

outcome!(AnomalyLogged {
    id: String,
    #[serde(rename = "type")]
    kind: AnomalyKind
});

impl Verb for LogAnomaly {
    const OPERATION: Option<Operation> = Some(Operation::Report);
    type Outcome = AnomalyLogged;

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
            return Err(Refusal::new(
                Code::Incomplete,
                format!("an anomaly of type {} needs the details {}", self.kind.as_str(), missing.join(", ")),
            )
            .hint("--detail KEY=VALUE for each of them")
            .detail("missing", missing));
        }
        if self.details.len() > MOST_ITEMS {
            return Err(refusal!(Code::Limit, "an anomaly has at most {MOST_ITEMS} details"));
        }
        if let Some(key) = self.details.keys().find(|key| !is_key(key)) {
            return Err(refusal!(Code::Value, "`{}` cannot be the name of a detail", key.escape_debug())
                .hint("use up to 64 small letters, digits and `_`, such as root_cause")
                .detail("field", "details"));
        }
        self.details.iter().try_for_each(|(key, value)| text_given(&format!("detail {key}"), value))
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        let id = note_anomaly(board, call, self.kind, &self.task, self.details.clone());
        AnomalyLogged { id, kind: self.kind }
    }
}

logged! {
    pub struct Discover {
        pub text: String,
        pub task: TaskId,
        pub severity: Severity,
        pub urgency: Urgency,
    }
}

outcome!(Discovered { id: String, urgency: Urgency });

impl Verb for Discover {
    const OPERATION: Option<Operation> = Some(Operation::Report);
    type Outcome = Discovered;

    fn check(&self, board: &Board, _: &Call) -> Result<(), Refusal> {
        text_given("the discovery", &self.text)?;
        room_for("discoveries", board.rest.discovered.len())?;
        find(board, &self.task).map(|_| ())
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        let id = note_discovery(board, call, &self.task, self.text.clone(), self.severity, self.urgency);
        Discovered { id, urgency: self.urgency }
    }
}

logged! {
    pub struct ChangeSpec {
        pub spec: String,
        pub change: String,
        pub affects: Vec<TaskId>,
        /// The new text of the spec: pinned for the DRAFT and IDLE tasks that refer to it.
        pub pin: Option<PinnedSpec>,
    }
}

outcome!(SpecChanged {
    id: String,
    /// Tasks that now follow the new text.
    #[serde(default)]
    pinned: Vec<TaskId>,
    /// Claimed tasks, which follow the text they had.
    #[serde(default)]
    under_way: Vec<TaskId>,
});

/// The file of a reference to a spec, without its section.
pub fn spec_file(spec_ref: &str) -> &str {
    spec_ref.split('#').next().unwrap_or_default()
}

impl Verb for ChangeSpec {
    const OPERATION: Option<Operation> = Some(Operation::Plan);
    type Outcome = SpecChanged;

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        plans(board, call, "announce changes of specs")?;
        text_given("--spec", &self.spec)?;
        text_given("the change", &self.change)?;
        room_for("spec changes", board.rest.spec_changes.len())?;
        self.affects.iter().try_for_each(|id| find(board, id).map(|_| ()))
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        let id = next_id("spec-change", board.rest.spec_changes.iter().map(|change| change.id.as_str()));
        let mut affects = self.affects.clone();
        let (mut pinned, mut under_way) = (Vec::new(), Vec::new());
        if let Some(pin) = &self.pin {
            let named = spec_file(&self.spec);
            let goes_by =
                |_: &Board, task: &Task| task.body().spec_ref.as_deref().map(spec_file) == Some(named);
            (pinned, under_way) = super::goal::pin_anew(board, call, pin, goes_by);
            let more = pinned.iter().chain(&under_way).filter(|id| !self.affects.contains(id));
            affects.extend(more.cloned());
        }
        board.rest.spec_changes.push(SpecChange {
            id: id.clone(),
            time: call.now.wall,
            by: call.by.id(),
            spec: self.spec.clone(),
            change: self.change.clone(),
            affects,
            processed_by: None,
        });
        SpecChanged { id, pinned, under_way }
    }

    fn needs(&self, _: &Board) -> Needs {
        if self.pin.is_some() { Needs::Everything } else { Needs::Nothing }
    }
}

/// Marks these records as processed; they stay on the board until they are archived.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MarkProcessed {
    pub ids: Vec<String>,
}

outcome!(Processed { processed: Vec<String> });

impl Verb for MarkProcessed {
    const OPERATION: Option<Operation> = Some(Operation::Plan);
    type Outcome = Processed;

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        plans(board, call, "mark records processed")?;
        if self.ids.is_empty() {
            return Err(refusal!(Code::Incomplete, "there is nothing to mark"));
        }
        for id in &self.ids {
            match self.state(board, id) {
                None => {
                    return Err(refusal!(Code::UnknownRecord, "there is no record `{id}`")
                        .hint("`liza inbox` lists what waits for the planner"));
                }
                Some(true) => {
                    return Err(refusal!(Code::Transition, "`{id}` is marked as processed already"));
                }
                Some(false) => {}
            }
        }
        Ok(())
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
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
        Processed { processed: self.ids.clone() }
    }
}

impl MarkProcessed {
    /// Whether the record is marked as processed; none if there is no such record.
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
