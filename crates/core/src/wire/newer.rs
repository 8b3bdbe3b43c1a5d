//! Boards of a newer version, read as far as this program understands them: known fields are shown, unknown ones left
//! out. liza never writes such a board, so nothing is lost.

use super::graft::Graft;
use super::plain::Plain;
use super::prelude::*;
use super::tree::Step;
use super::{ForeignError, Limits, read_foreign_value};

const LIMITS: Limits = Limits { bytes: 96 * 1024 * 1024, depth: 64, tokens: 16 * 1024 * 1024 };

/// The readable part of the board.
pub struct Newer {
    pub board: Board,
    /// Values that are shown differently, for people.
    pub remarks: Vec<String>,
}

pub fn read(bytes: &[u8]) -> Result<Newer, ForeignError> {
    let Value::Object(mut top) = read_foreign_value(bytes, LIMITS)? else {
        return Err(ForeignError { line: None, path: None, message: "it is not a map".to_owned() });
    };
    let mut remarks = Vec::new();
    if !top.contains_key("end") {
        remarks.push("it has no last line `end:`, so it may be cut off".to_owned());
    }
    let mut board = Board::nothing();
    board.revision = top.get("revision").and_then(Value::as_u64).unwrap_or(0);
    if let Some(journal) = top.get("journal").cloned() {
        board.journal = fitting::<JournalMark>(journal).unwrap_or_default();
    }
    let tasks = match top.shift_remove("tasks") {
        Some(Value::Array(tasks)) => tasks,
        _ => Vec::new(),
    };
    for key in ["version", "revision", "journal", "end"] {
        top.shift_remove(key);
    }
    board.rest = rest(top, board.rest);
    for (at, value) in tasks.into_iter().enumerate() {
        match task(value, &mut remarks) {
            Some(task) => board.tasks.push(task),
            None => remarks.push(format!("tasks[{at}] cannot be read and is not shown")),
        }
    }
    Ok(Newer { board, remarks })
}

/// Each section on its own: an unreadable section does not affect the others.
fn rest(top: Map<String, Value>, nothing: Rest) -> Rest {
    let Ok(Value::Object(mut known)) = serde_json::to_value(&nothing) else { return nothing };
    for (key, value) in top {
        let mut tried = known.clone();
        tried.insert(key, value);
        if let Some(Value::Object(fits)) =
            fitting::<Rest>(Value::Object(tried)).and_then(|rest| serde_json::to_value(rest).ok())
        {
            known = fits;
        }
    }
    Rest::deserialize(Graft(&Plain::from(&Value::Object(known)))).unwrap_or(nothing)
}

fn task(value: Value, remarks: &mut Vec<String>) -> Option<Task> {
    let Value::Object(map) = value else { return None };
    let id = TaskId::new(map.get("id")?.as_str()?).ok()?;
    let (mut head, mut body) = (Map::new(), Map::new());
    for (key, value) in map {
        let half = if super::flat::is_head_key(&key) { &mut head } else { &mut body };
        half.insert(key, value);
    }
    let said = head.get("status").cloned().unwrap_or_default();
    let fits = |status: &Value| crate::board::Status::deserialize(Graft(&status.into())).is_ok();
    if !fits(&said) {
        let word = said.as_str().unwrap_or("nothing").to_owned();
        remarks.push(format!("{id} is {word}, a state this liza does not know; it is shown as BLOCKED"));
        head.insert("status".to_owned(), json!("BLOCKED"));
        body.insert(
            "blocked_reason".to_owned(),
            json!(format!("its state `{word}` belongs to a newer liza")),
        );
    }
    head.entry("role").or_insert_with(|| json!("coder"));
    let needed = [("title", id.as_str()), ("created_by", "nobody"), ("created_at", "1970-01-01T00:00:00Z")];
    for (key, value) in needed {
        body.entry(key).or_insert_with(|| json!(value));
    }
    Some(Task::new(fitting::<Head>(Value::Object(head))?, fitting::<Body>(Value::Object(body))?))
}

/// Reads `value` without the parts that do not fit: the field itself, or else the value that needs it.
fn fitting<T: DeserializeOwned>(mut value: Value) -> Option<T> {
    // Every round removes a part, so this ends; the bound is for a file made to be slow.
    for _ in 0..10_000 {
        match T::deserialize(Graft(&Plain::from(&value))) {
            Ok(read) => return Some(read),
            Err(misfit) => {
                let path = misfit.path();
                if path.is_empty() || !remove(&mut value, &path) {
                    return None;
                }
            }
        }
    }
    None
}

fn remove(value: &mut Value, path: &[Step]) -> bool {
    let Some((last, way)) = path.split_last() else { return false };
    let mut at = value;
    for step in way {
        let next = match step {
            Step::Key(key) => at.get_mut(key.as_str()),
            Step::Item(index) => at.get_mut(*index),
        };
        match next {
            Some(next) => at = next,
            None => return false,
        }
    }
    match (last, at) {
        (Step::Key(key), Value::Object(map)) => map.shift_remove(key.as_str()).is_some(),
        (Step::Item(index), Value::Array(items)) if *index < items.len() => {
            items.remove(*index);
            true
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newer_board_is_read_without_unknown_keys() {
        let text = r#"
version: 3
revision: 12
journal: {length: 5, hash: "ab", signed_by: me}
goal: {id: g, description: Ahead, spec_ref: s.md, status: IN_PROGRESS, mood: good}
sprint: {id: s, status: IN_PROGRESS, timeline: {started: "2026-01-20T15:30:00Z"}, velocity: 7}
config: {integration_branch: integration, max_parallel: 9, lease_seconds: "no number"}
agents:
  coder-1: {roles: [coder], incarnation: 1, token_hash: x, status: dreaming, registered_at: "2026-01-20T15:30:00Z", heartbeat: "2026-01-20T15:30:00Z"}
oracle: [1, 2]
tasks:
  - id: t1
    status: IDLE
    role: coder
    colour: blue
    depends_on: [t0]
    title: One
    created_by: human
    created_at: "2026-01-20T15:30:00Z"
    history:
      - {time: "2026-01-20T15:30:00Z", event: created, agent: human, mood: fine}
      - {time: "2026-01-20T15:31:00Z", event: pondered, agent: human}
  - {id: t2, status: PARKED, role: coder, title: Two, created_by: human, created_at: "2026-01-20T15:30:00Z"}
  - {id: "not an id", status: IDLE}
end: whatever
"#;
        let Newer { board, remarks } = read(text.as_bytes()).expect("it is read");
        assert_eq!(board.revision, 12);
        assert_eq!(board.journal.length, 5);
        assert_eq!(board.rest.goal.description, "Ahead");
        assert_eq!(board.rest.sprint.id, "s");
        assert_eq!(board.config().max_parallel, 9);
        assert_eq!(board.config().lease_seconds, 1800);
        assert!(board.rest.agents.is_empty());
        assert_eq!(board.tasks.len(), 2);
        assert_eq!(board.tasks[0].depends_on.len(), 1);
        assert_eq!(board.tasks[0].body().history.len(), 1);
        assert_eq!(board.tasks[1].status, crate::board::Status::Blocked);
        assert_eq!(remarks.len(), 2, "{remarks:?}");
        assert!(remarks[0].contains("PARKED") && remarks[1].contains("tasks[2]"), "{remarks:?}");
    }

    #[test]
    fn text_that_is_no_board_is_an_error() {
        assert!(read(b"- 1\n").is_err());
        assert!(read(b"a: 1\na: 2\n").is_err());
    }
}
