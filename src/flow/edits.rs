//! Edits of the board's file by hand: showing, applying and refusing them.

use super::prelude::*;
use crate::store::edits::Judged;
use crate::store::pending::{Settled, Word};

/// An edit by hand, and its difference from the board it was made from.
#[derive(Serialize)]
pub struct Looked {
    pub changes: Vec<String>,
    pub why_not: Option<String>,
    pub difference: String,
}

impl Context {
    /// A person's command applies or refuses edits by hand, and reports that. Without a person, or on an unreadable
    /// board, nothing happens.
    pub fn settle_edits(&self) -> Result<()> {
        let waits = match self.store.read(&Needs::Nothing) {
            Ok(snapshot) => {
                !snapshot.board.rest.pending_edits.is_empty()
                    || snapshot.warning.is_some_and(|warning| warning.starts_with(EDITED_BY_HAND))
            }
            Err(_) => false,
        };
        if waits && self.is_human() {
            let settled = self.store.settle_edits(&self.credentials, &host::now());
            self.report_edits(settled)?;
        }
        Ok(())
    }

    /// Reports what happened to edits by hand, even if the command failed.
    pub(super) fn report_edits<T>(&self, outcome: Result<T, StoreError>) -> Result<T, StoreError> {
        self.store.take_messages().into_iter().for_each(|text| self.narrate(text));
        outcome
    }
}

/// Refused edits that no person has seen, by the names that `settle` accepts.
pub fn refused(ctx: &Context) -> Vec<String> {
    ctx.store.refused_names()
}

pub fn look(ctx: &Context, board: &Board, file: &str) -> Result<Looked> {
    if !board.rest.pending_edits.iter().any(|edit| edit.file == file)
        && !ctx.store.refused_names().iter().any(|name| name == file)
    {
        return Err(failure!(Code::EditRefused, "no edit `{file}` waits for a person or was refused")
            .hint("`liza edits list` shows them"));
    }
    let (bytes, judged) = ctx.store.look_at_edit(board, file, &ctx.now)?;
    let edited = String::from_utf8_lossy(&bytes).into_owned();
    let base = ctx.store.origin_of_edit(&edited).unwrap_or_else(|| ctx.store.file_text());
    let (changes, why_not) = match judged {
        Judged::Adoptable(edit) => (edit.changes(board), None),
        Judged::Refused(why) => (Vec::new(), Some(why)),
    };
    Ok(Looked { changes, why_not, difference: difference(&base, &edited) })
}

/// Applies or refuses an edit, as the person decided.
pub fn settle(ctx: &Context, file: &str, word: Word) -> Result<Settled> {
    ctx.refuse_gate_process()?;
    let settled = ctx.store.settle_edit(file, word, &ctx.credentials, &host::now());
    let settled = ctx.report_edits(settled)?;
    match (&settled.why, word) {
        (Some(why), Word::Apply) => Err(Failure::new(
            Code::EditRefused,
            format!("the edit cannot be applied: {why}"),
        )
        .hint(format!("it is kept as {}; make the change with liza's commands", settled.kept.display()))),
        _ => Ok(settled),
    }
}

/// The difference between two boards as files, for a person to read.
pub fn difference(good: &str, edited: &str) -> String {
    let text = similar::TextDiff::from_lines(good, edited)
        .unified_diff()
        .context_radius(1)
        .header("state.yaml", "the edit")
        .to_string();
    const SHOWN: usize = 60;
    const LONGEST: usize = 200;
    let cut = |line: &str| match line.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    };
    let mut lines: Vec<String> = text.lines().take(SHOWN).map(cut).collect();
    if text.lines().count() > SHOWN {
        lines.push("… (more in the kept file)".to_owned());
    }
    lines.join("\n")
}
