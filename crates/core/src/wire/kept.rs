//! The long lists at the top level of a board. A change adds an entry at the end of one of them, or changes a late
//! one. The text of the entries above it is copied from the board that was read, as it is for unchanged tasks.

use memchr::memmem;

use super::prelude::*;

/// The first entries of a list, which are unchanged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct KeptEntries<'t> {
    pub key: &'static str,
    pub count: usize,
    pub text: &'t str,
}

/// Shorter lists are written again.
const FEW: usize = 4;

/// The start of an entry of a list at the top level.
const ENTRY: &str = "  - ";

/// `top` is the text that `former` was read from.
pub(super) fn kept_entries<'t>(top: &'t str, former: &Rest, new: &Rest) -> Vec<KeptEntries<'t>> {
    let kept = [
        unchanged("discovered", &former.discovered, &new.discovered),
        unchanged("handoff", &former.handoff, &new.handoff),
        unchanged("human_notes", &former.human_notes, &new.human_notes),
        unchanged("messages", &former.messages, &new.messages),
        unchanged("anomalies", &former.anomalies, &new.anomalies),
        unchanged("spec_changes", &former.spec_changes, &new.spec_changes),
    ];
    let known = kept.into_iter().filter(|(_, count)| *count >= FEW);
    known
        .filter_map(|(key, count)| Some(KeptEntries { key, count, text: text_of(top, key, count)? }))
        .collect()
}

fn unchanged<T: PartialEq>(key: &'static str, former: &[T], new: &[T]) -> (&'static str, usize) {
    (key, former.iter().zip(new).take_while(|(former, new)| former == new).count())
}

/// The text of the first entries of the list with this key.
fn text_of<'t>(top: &'t str, key: &str, count: usize) -> Option<&'t str> {
    let line = format!("\n{key}:\n");
    let start = memmem::find(top.as_bytes(), line.as_bytes())? + line.len();
    let list = top.get(start..).filter(|list| list.starts_with(ENTRY))?;
    let next = format!("\n{ENTRY}");
    let mut starts = memmem::find_iter(list.as_bytes(), next.as_bytes()).map(|at| at + 1);
    let last = if count == 1 { 0 } else { starts.nth(count - 2)? };
    // The lines of an entry are indented; so the next line that is not belongs to another key.
    let mut end = last + ENTRY.len();
    loop {
        end += memchr::memchr(b'\n', &list.as_bytes()[end..])? + 1;
        if list[end..].starts_with(ENTRY) || !list[end..].starts_with(' ') {
            return Some(&list[..end]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOP: &str = "goal:\n  id: g\nhandoff:\n  - id: h\nhuman_notes:\n  - id: a\n    list:\n      - x\n  - id: b\n    text: c\n  - id: d\nmessages:\n  - id: m\nspec_changes: []\n";

    #[test]
    fn text_of_entries_ends_with_their_last_line() {
        let one = "  - id: a\n    list:\n      - x\n";
        let two = "  - id: b\n    text: c\n";
        assert_eq!(text_of(TOP, "human_notes", 1), Some(one));
        assert_eq!(text_of(TOP, "human_notes", 2), Some(format!("{one}{two}").as_str()));
        assert_eq!(text_of(TOP, "human_notes", 3), Some(format!("{one}{two}  - id: d\n").as_str()));
        assert_eq!(text_of(TOP, "messages", 1), Some("  - id: m\n"));
        assert_eq!(text_of(TOP, "spec_changes", 1), None);
        assert_eq!(text_of(TOP, "anomalies", 1), None);
    }

    #[test]
    fn changed_entry_and_all_after_it_are_written_again() {
        let note = |number: usize, text: &str| Note {
            id: format!("note-{number}"),
            time: Wall(0),
            by: AgentId::new("human").expect("a name"),
            task_id: None,
            text: text.to_owned(),
            processed_by: None,
            typed: None,
        };
        let mut former = Board::nothing().rest;
        former.human_notes = (1..=6).map(|number| note(number, "as it was: \"so\"")).collect();
        let mut top = String::new();
        crate::wire::emit(&former, 0, &mut top).expect("written");
        let mut new = former.clone();
        new.human_notes.push(note(7, "more"));
        assert_eq!(kept_entries(&top, &former, &new).first().map(|kept| kept.count), Some(6));
        new.human_notes[4].processed_by = Some(AgentId::new("planner-1").expect("a name"));
        let kept = kept_entries(&top, &former, &new);
        assert_eq!(kept.first().map(|kept| (kept.key, kept.count)), Some(("human_notes", 4)));
        let (mut whole, mut copied) = (String::new(), String::new());
        crate::wire::emit(&new, 0, &mut whole).expect("written");
        crate::wire::emit::emit_beside(&new, &kept, &mut copied).expect("written");
        assert_eq!(whole, copied);
        new.human_notes.remove(0);
        assert_eq!(kept_entries(&top, &former, &new), []);
    }
}
