//! An edit of state.yaml with an editor waits for a person's command; until then the board continues without it.

use super::prelude::*;
use super::report::{MOST_NOTE_BYTES, note_bytes, room_for};

/// How many notes of one edit go on the board, and how much of each.
const MOST_NOTES: usize = 16;
const LONGEST_NOTE: usize = 8 * 1024;
/// How many edits may wait. One more replaces the last of them.
pub const MOST_PENDING: usize = 32;

logged! {
    #[derive(Default)]
    pub struct SetAsideEdit {
        /// The file's name below `edits/pending`.
        pub file: String,
        pub hash: String,
        /// The revision that was edited.
        pub base: u64,
        /// The agent or person whose command found the edit.
        pub found_by: String,
        pub at_work: Vec<AgentId>,
        pub notes: Vec<TypedNote>,
    }

    pub struct TypedNote {
        pub text: String,
        pub task: Option<TaskId>,
    }

    /// A person refuses an edit that was set aside.
    pub struct RefuseEdit {
        pub file: String,
        pub why: String,
    }
}

outcome!(EditSetAside { file: String, notes: Vec<String> });
outcome!(EditRefused { file: String });

impl SetAsideEdit {
    #[cfg(test)]
    pub fn of(file: &str) -> Self {
        Self { file: file.to_owned(), hash: "0".to_owned(), found_by: "human".to_owned(), ..Self::default() }
    }
}

impl Verb for SetAsideEdit {
    const OPERATION: Option<Operation> = None;
    type Outcome = EditSetAside;

    fn check(&self, _: &Board, call: &Call) -> Result<(), Refusal> {
        liza_only(call, "set an edit aside")?;
        text_given("the name of the edit", &self.file)
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        let by = AgentId::new(&self.found_by).unwrap_or_else(|_| AgentId::human());
        let (file, hash, at_work) = (self.file.clone(), self.hash.clone(), self.at_work.clone());
        let edit = PendingEdit { file, hash, base: self.base, found: call.now.wall, by, at_work };
        let pending = &mut board.rest.pending_edits;
        pending.retain(|known| known.file != edit.file);
        let replaced = (pending.len() >= MOST_PENDING).then(|| pending.pop()).flatten();
        pending.push(edit);
        if let Some(gone) = replaced {
            forget_notes_of(board, &gone.file);
        }
        let mut notes = Vec::new();
        for typed in self.notes.iter().take(MOST_NOTES) {
            let known = &board.rest.human_notes;
            let full = room_for("notes", known.len()).is_err()
                || note_bytes(board) + typed.text.len() > MOST_NOTE_BYTES
                || typed.text.len() > LONGEST_NOTE
                || text_given("the note", &typed.text).is_err();
            if full {
                continue;
            }
            let id = next_id("note", known.iter().map(|note| note.id.as_str()));
            board.rest.human_notes.push(Note {
                id: id.clone(),
                time: call.now.wall,
                by: AgentId::human(),
                task_id: typed.task.clone().filter(|task| board.task(task).is_some()),
                text: typed.text.clone(),
                processed_by: None,
                typed: Some(self.file.clone()),
            });
            notes.push(id);
        }
        EditSetAside { file: self.file.clone(), notes }
    }
}

impl Verb for RefuseEdit {
    const OPERATION: Option<Operation> = None;
    type Outcome = EditRefused;

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        human_only(call, "refuse an edit")?;
        pending(board, &self.file)
    }

    fn change(&self, board: &mut Board, _: &Call) -> Self::Outcome {
        no_longer_pending(board, &self.file);
        EditRefused { file: self.file.clone() }
    }
}

/// Refuses unless this edit waits.
pub fn pending(board: &Board, file: &str) -> Result<(), Refusal> {
    match board.rest.pending_edits.iter().any(|edit| edit.file == file) {
        true => Ok(()),
        false => Err(refusal!(Code::EditRefused, "no edit `{file}` waits for a person")
            .hint("`liza edits list` shows those that do")),
    }
}

/// Removes the settled edit, and with it those of its notes that no person's command adopted.
pub fn no_longer_pending(board: &mut Board, file: &str) {
    board.rest.pending_edits.retain(|edit| edit.file != file);
    forget_notes_of(board, file);
}

fn forget_notes_of(board: &mut Board, file: &str) {
    board.rest.human_notes.retain(|note| note.typed.as_deref() != Some(file));
}
