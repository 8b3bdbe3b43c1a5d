//! Rebases an edit by hand onto the current board: applies the same changes, or names the conflicts.

use serde_json::{Map, Value};

use super::config::Config;
use super::records::{Note, next_id};
use super::rules::{AdoptEdit, TaskEdit};
use super::state::Board;
use super::task::Status;

/// Applies the edit of `base` to the board `now`. `file` is the name of a waiting edit, if it waits: notes that liza
/// took from that file become a person's.
pub fn rebase(
    edit: AdoptEdit,
    base: &Board,
    now: &Board,
    file: Option<&str>,
) -> Result<AdoptEdit, Vec<String>> {
    let mut conflicts = Vec::new();
    let mut rebased = AdoptEdit { edit: file.map(ToOwned::to_owned), ..AdoptEdit::default() };
    let (was, is) = (&base.rest.goal, &now.rest.goal);
    let mut one = |place: &str, wanted: Option<String>, was: &String, is: &String| {
        let wanted = wanted.filter(|wanted| wanted != is)?;
        if was != is {
            conflicts.push(format!("{place} was changed on the board meanwhile"));
        }
        Some(wanted)
    };
    rebased.goal_description =
        one("goal.description", edit.goal_description, &was.description, &is.description);
    rebased.goal_spec_ref = one("goal.spec_ref", edit.goal_spec_ref, &was.spec_ref, &is.spec_ref);
    if let Some(wanted) = edit.config {
        rebased.config = merge_config(base.config(), &wanted, now.config(), &mut conflicts);
    }
    if let Some(wanted) = edit.human_notes {
        let (was, is) = (&base.rest.human_notes, &now.rest.human_notes);
        rebased.human_notes = merge_notes(was, wanted, is, file, &mut conflicts);
    }
    for wanted in edit.tasks {
        let before = base.task(&wanted.id).map(TaskEdit::of);
        match now.task(&wanted.id) {
            Some(task) if TaskEdit::of(task) == wanted => {}
            Some(task) if !matches!(task.status, Status::Draft | Status::Idle) => {
                conflicts.push(format!("task {} is {} now", wanted.id, task.status));
            }
            Some(task) if Some(TaskEdit::of(task)) == before => rebased.tasks.push(wanted),
            Some(_) => conflicts.push(format!("task {} was changed on the board meanwhile", wanted.id)),
            None => conflicts.push(format!("task {} has left the board", wanted.id)),
        }
    }
    if conflicts.is_empty() { Ok(rebased) } else { Err(conflicts) }
}

/// Merges limit by limit: a limit that the edit does not change keeps its current value.
fn merge_config(base: &Config, wanted: &Config, now: &Config, conflicts: &mut Vec<String>) -> Option<Config> {
    let (base, wanted, mut merged) = (fields(base), fields(wanted), fields(now));
    for (key, value) in &wanted {
        if base.get(key) == Some(value) || merged.get(key) == Some(value) {
            continue;
        }
        if base.get(key) != merged.get(key) {
            conflicts.push(format!("config.{key} was changed on the board meanwhile"));
        }
        merged.insert(key.clone(), value.clone());
    }
    let merged = serde_json::from_value(Value::Object(merged)).ok()?;
    (merged != *now).then_some(merged)
}

fn fields(config: &Config) -> Map<String, Value> {
    match serde_json::to_value(config) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}

fn merge_notes(
    base: &[Note],
    wanted: Vec<Note>,
    now: &[Note],
    file: Option<&str>,
    conflicts: &mut Vec<String>,
) -> Option<Vec<Note>> {
    let mut merged = now.to_vec();
    for old in base {
        let new = wanted.iter().find(|note| note.id == old.id);
        if new == Some(old) {
            continue;
        }
        match (merged.iter().position(|note| note.id == old.id), new) {
            (Some(at), None) if merged[at] == *old => drop(merged.remove(at)),
            (Some(at), Some(new)) if merged[at] == *old => merged[at] = new.clone(),
            // The note has left the board, as the edit wanted.
            (None, None) => {}
            _ => conflicts.push(format!("{} was changed on the board meanwhile", old.id)),
        }
    }
    for mut note in wanted.into_iter().filter(|note| !base.iter().any(|old| old.id == note.id)) {
        let waits = |known: &&mut Note| {
            known.typed.as_deref() == file
                && file.is_some()
                && known.text == note.text
                && known.task_id == note.task_id
        };
        if let Some(known) = merged.iter_mut().find(waits) {
            // The planner may have processed the note while it was no answer.
            known.typed = None;
            known.processed_by = None;
            continue;
        }
        if merged.iter().any(|known| known.id == note.id) {
            note.id = next_id("note", merged.iter().map(|known| known.id.as_str()));
        }
        merged.push(note);
    }
    (merged != now).then_some(merged)
}

impl AdoptEdit {
    /// The changes on this board, line by line, for the person whose command applies the edit.
    pub fn changes(&self, board: &Board) -> Vec<String> {
        let mut lines = Vec::new();
        let goal = &board.rest.goal;
        let texts = [
            ("goal.description", &self.goal_description, &goal.description),
            ("goal.spec_ref", &self.goal_spec_ref, &goal.spec_ref),
        ];
        for (place, wanted, now) in texts {
            lines.extend(
                wanted.as_ref().map(|wanted| format!("{place}: {} -> {}", brief(now), brief(wanted))),
            );
        }
        if let Some(config) = &self.config {
            let (wanted, now) = (fields(config), fields(board.config()));
            let changed = wanted.iter().filter(|(key, value)| now.get(*key) != Some(value));
            lines.extend(changed.map(|(key, value)| {
                format!("config.{key}: {} -> {value}", now.get(key).unwrap_or(&Value::Null))
            }));
        }
        if let Some(notes) = &self.human_notes {
            lines.extend(note_changes(&board.rest.human_notes, notes));
        }
        for wanted in &self.tasks {
            lines.extend(board.task(&wanted.id).map(|task| task_changes(&TaskEdit::of(task), wanted)));
        }
        lines
    }

    /// Whether the edit changes more than notes: limits, goals or tasks, which bind agents.
    pub fn is_more_than_notes(&self) -> bool {
        let Self { goal_description, goal_spec_ref, config, human_notes: _, tasks, edit: _ } = self;
        goal_description.is_some() || goal_spec_ref.is_some() || config.is_some() || !tasks.is_empty()
    }
}

fn note_changes(now: &[Note], wanted: &[Note]) -> Vec<String> {
    let find = |notes: &'_ [Note], id: &str| notes.iter().position(|note| note.id == id);
    let mut lines = Vec::new();
    for note in wanted {
        let on = note.task_id.as_ref().map_or(String::new(), |task| format!(" on {task}"));
        match find(now, &note.id).map(|at| &now[at]) {
            None => lines.push(format!("{} is new{on}: {}", note.id, brief(&note.text))),
            Some(known) if known == note => {}
            Some(known) if known.text == note.text && known.typed.is_some() => {
                lines.push(format!("{} becomes a person's note{on}: {}", note.id, brief(&note.text)));
            }
            Some(known) => {
                lines.push(format!("{}{on}: {} -> {}", note.id, brief(&known.text), brief(&note.text)));
            }
        }
    }
    let gone = now.iter().filter(|note| find(wanted, &note.id).is_none());
    lines.extend(gone.map(|note| format!("{} is removed: {}", note.id, brief(&note.text))));
    lines
}

fn task_changes(now: &TaskEdit, wanted: &TaskEdit) -> String {
    let (Ok(Value::Object(was)), Ok(Value::Object(is))) =
        (serde_json::to_value(now), serde_json::to_value(wanted))
    else {
        return format!("task {}", wanted.id);
    };
    let changed = is.keys().chain(was.keys().filter(|key| !is.contains_key(*key)));
    let changed = changed.filter(|key| was.get(*key) != is.get(*key));
    let show = |value: Option<&Value>| brief(&value.map_or("nothing".to_owned(), ToString::to_string));
    let fields: Vec<String> =
        changed.map(|key| format!("{key} {} -> {}", show(was.get(key)), show(is.get(key)))).collect();
    format!("task {}: {}", wanted.id, fields.join("; "))
}

/// The text shortened to one line, for a list.
fn brief(text: &str) -> String {
    const LONGEST: usize = 160;
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("\"{}…\"", &line[..at]),
        None => format!("\"{line}\""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::edit::edit_between;
    use crate::board::rules::{SetAsideEdit, TypedNote};
    use crate::board::testing::{Bench, id};

    /// The board after a person's edit of an older board that another command has changed meanwhile.
    fn rebased(
        person: impl Fn(&mut Board),
        meanwhile: impl Fn(&mut Bench),
    ) -> Result<(AdoptEdit, Board), Vec<String>> {
        let mut bench = Bench::with_tasks(&["t"]);
        bench.ok("human", bench.note("the first"));
        let base = bench.board.clone();
        let mut edited = base.clone();
        person(&mut edited);
        let compared = edit_between(&base, &edited);
        assert!(compared.beyond.is_empty(), "{:?}", compared.beyond);
        meanwhile(&mut bench);
        let edit = rebase(compared.edit, &base, &bench.board, Some("1-a.yaml"))?;
        let mut after = bench.board.clone();
        edit.write_into(&mut after);
        Ok((edit, after))
    }

    fn typed(text: &str) -> impl Fn(&mut Board) + use<'_> {
        move |board| {
            let mut note = board.rest.human_notes[0].clone();
            (note.id, note.text) = ("note-2".to_owned(), text.to_owned());
            board.rest.human_notes.push(note);
        }
    }

    #[test]
    fn limits_the_edit_left_alone_stay() {
        let raised = |board: &mut Board| board.rest.config.max_review_cycles = 50;
        let (edit, after) =
            rebased(raised, |bench| bench.board.rest.config.max_parallel = 9).expect("an edit");
        assert_eq!((after.config().max_review_cycles, after.config().max_parallel), (50, 9));
        assert!(edit.is_more_than_notes());
        let both = rebased(raised, |bench| bench.board.rest.config.max_review_cycles = 7);
        assert_eq!(
            both.expect_err("a conflict"),
            ["config.max_review_cycles was changed on the board meanwhile"]
        );
        let (same, _) = rebased(raised, |bench| bench.board.rest.config.max_review_cycles = 50).expect("one");
        assert!(!same.is_more_than_notes(), "it is so already");
    }

    #[test]
    fn notes_of_both_sides_stay() {
        let (edit, after) =
            rebased(typed("typed"), |bench| drop(bench.ok("coder-1", bench.note("said")))).expect("an edit");
        let texts: Vec<&str> = after.rest.human_notes.iter().map(|note| note.text.as_str()).collect();
        assert_eq!(texts, ["the first", "said", "typed"]);
        let ids: std::collections::BTreeSet<&str> =
            after.rest.human_notes.iter().map(|note| note.id.as_str()).collect();
        assert_eq!(ids.len(), 3);
        assert!(!edit.is_more_than_notes());
    }

    #[test]
    fn note_typed_into_the_file_counts_as_a_persons() {
        let set_aside = |bench: &mut Bench| {
            let note = TypedNote { text: "typed".to_owned(), task: None };
            bench.ok("liza", SetAsideEdit { notes: vec![note], ..SetAsideEdit::of("1-a.yaml") });
            let waits = bench.board.rest.human_notes.last().expect("a note").clone();
            assert!(!waits.is_answer() && waits.by.is_human(), "{waits:?}");
        };
        let (edit, after) = rebased(typed("typed"), set_aside).expect("an edit");
        assert_eq!(after.rest.human_notes.len(), 2);
        assert!(after.rest.human_notes.iter().all(Note::is_answer));
        assert_eq!(edit.edit.as_deref(), Some("1-a.yaml"));
    }

    #[test]
    fn edit_conflicts_with_a_task_claimed_meanwhile() {
        let retitled = |board: &mut Board| {
            let mut edit = TaskEdit::of(board.task(&id("t")).expect("a task"));
            edit.title = "another".to_owned();
            edit.write_into(board);
        };
        let (edit, _) = rebased(retitled, |_| {}).expect("an edit");
        assert_eq!(edit.tasks.len(), 1);
        let begun = rebased(retitled, |bench| drop(bench.claim("coder-1", "t")));
        assert_eq!(begun.expect_err("a conflict"), ["task t is WORKING now"]);
    }
}
