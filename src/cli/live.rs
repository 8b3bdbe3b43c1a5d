//! A run as people watch it: a table that stays in place on a terminal, one line per event otherwise.

use std::cell::{Cell, RefCell};

use crate::cli::prelude::*;
use crate::policy::overseer::Question;
use crate::supervise::Event;
use crate::supervise::team::{Row, Stage};
use crate::text::shown;

pub struct Live {
    ui: Ui,
    /// How many lines of the terminal the table takes now; none where there is no terminal.
    drawn: Cell<usize>,
    last: RefCell<String>,
}

impl Live {
    pub fn new(ui: Ui) -> Self {
        Self { ui, drawn: Cell::new(0), last: RefCell::default() }
    }

    fn on_terminal(&self) -> bool {
        !self.ui.json && !self.ui.quiet && self.ui.is_terminal()
    }

    /// Takes the table away, so that a line can be written above it.
    fn wipe(&self) {
        let lines = self.drawn.replace(0);
        if lines > 0 {
            self.ui.raw(&format!("\x1b[{lines}A\x1b[J"));
        }
    }

    fn draw(&self) {
        let table = self.last.borrow();
        self.ui.raw(&table);
        self.drawn.set(table.lines().count());
    }
}

impl Stage for Live {
    fn event(&self, event: &Event) {
        if self.ui.json {
            self.ui.stream(&to_json_line(event));
        } else if self.on_terminal() {
            self.wipe();
            self.ui.stream(&shown_line(&event.line()));
            self.draw();
        } else if !self.ui.quiet {
            self.ui.stream(&shown_line(&event.line()));
        }
    }

    fn picture(&self, rows: &[Row], board: &Board) {
        if !self.on_terminal() {
            return;
        }
        let mut text = format!("{}\n", counts(board));
        for row in rows {
            let since = row.since.map_or(String::new(), |since| format!("{} s", since.as_secs()));
            text.line(format!(
                "  {} {} {} {since}",
                pad_to(&row.agent, 20),
                pad_to(row.task.as_deref().unwrap_or("-"), 24),
                pad_to(&shown_line(&row.doing), 12),
            ));
        }
        for question in rows.iter().filter_map(|row| row.question.as_ref()) {
            text.push_str(&asked(question));
        }
        // A line that wraps would be two, and the table could not be taken away again.
        let width = self.ui.width();
        let text: String = shown(&text)
            .lines()
            .map(|line| line.chars().take(width.saturating_sub(1)).chain(['\n']).collect::<String>())
            .collect();
        if *self.last.borrow() == text && self.drawn.get() > 0 {
            return;
        }
        self.wipe();
        *self.last.borrow_mut() = text;
        self.draw();
    }
}

/// A question on lines of its own: what, since when, what to type, and what happens without an answer.
fn asked(question: &Question) -> String {
    let (agent, behaviour) = (&question.agent, question.behaviour.as_str());
    format!(
        "{agent} waits for an answer since {}: {behaviour}, {}\n  halt it:      {}\n  let it go on: {}\n  {}\n",
        question.asked,
        shown_line(&question.seen),
        question.yes,
        question.no,
        question.otherwise()
    )
}

fn counts(board: &Board) -> String {
    let parts = commas(Status::ALL.into_iter().filter_map(|status| {
        let count = board.tasks.iter().filter(|task| task.status == status).count();
        (count > 0).then(|| format!("{status} {count}"))
    }));
    if parts.is_empty() { "no tasks yet".to_owned() } else { parts }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_says_what_to_type_and_when_the_halt_follows() {
        let question: Question = serde_json::from_value(serde_json::json!({
            "id": "intervention-3", "agent": "coder-1", "task": "t1", "behaviour": "stagnation",
            "seen": "12000 tokens\u{1b}[2J", "asked": "2026-01-02T03:04:05Z", "due": "2026-01-02T03:09:05Z",
            "halts": true, "yes": "liza overseer halt coder-1 --reason stagnation", "no": "liza resume",
        }))
        .expect("a question");
        let text = asked(&question);
        assert_eq!(text.lines().count(), 4, "{text}");
        for part in [
            "coder-1 waits for an answer since 2026-01-02T03:04:05Z: stagnation, 12000 tokens",
            "halt it:      liza overseer halt coder-1 --reason stagnation\n",
            "let it go on: liza resume\n",
            "is halted at 2026-01-02T03:09:05Z",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains('\u{1b}'), "{text:?}");
    }
}
