//! The display of `liza run`: a table that stays in place on a terminal, otherwise one line per event.

use std::cell::{Cell, RefCell};

use crate::cli::paint::Tone;
use crate::cli::prelude::*;
use crate::cli::times::for_people;
use crate::policy::overseer::Question;
use crate::supervise::team::{Row, RunDisplay};
use crate::supervise::{Event, Kind};
use crate::text::{display_width, fitted, shown, wrapped};

pub struct Live {
    ui: Ui,
    /// The number of terminal lines that the table takes now; 0 without a terminal.
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

    /// Removes the table, so that a line can be written above it.
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

impl RunDisplay for Live {
    fn event(&self, event: &Event) {
        if self.ui.json {
            self.ui.stream(&to_json_line(event));
        } else if self.on_terminal() {
            self.wipe();
            self.ui.stream(&self.ui.event_line(event));
            if matches!(event.event, Kind::ReviewWanted | Kind::Question) {
                // Rings the terminal bell: the run waits for a person.
                self.ui.raw("\u{7}");
            }
            self.draw();
        } else if !self.ui.quiet {
            self.ui.stream(&self.ui.event_line(event));
        }
    }

    fn is_watched(&self) -> bool {
        self.on_terminal()
    }

    fn redraw(&self, rows: &[Row], board: &Board) {
        if !self.on_terminal() {
            return;
        }
        // A wrapped line would count as two, and liza could not remove the table.
        let width = self.ui.width().saturating_sub(1);
        let mut text = format!("{}{}\n", view::goal_bar(board, Some(width)), fitted(&counts(board), width));
        text.extend(agent_lines(rows, width, self.ui.color).into_iter().map(|line| line + "\n"));
        for question in rows.iter().filter_map(|row| row.question.as_ref()) {
            text.extend(
                wrapped(&shown(&for_people(&question_text(question))), width)
                    .lines()
                    .map(|line| format!("{line}\n")),
            );
        }
        if *self.last.borrow() == text && self.drawn.get() > 0 {
            return;
        }
        self.wipe();
        *self.last.borrow_mut() = text;
        self.draw();
    }
}

/// One line per agent: id, task, duration, and its present action in the remaining room.
fn agent_lines(rows: &[Row], width: usize, color: bool) -> Vec<String> {
    let widest = |of: fn(&Row) -> &str| rows.iter().map(|row| display_width(of(row))).max().unwrap_or(0);
    let agents = widest(|row| &row.agent).min(width / 3);
    let tasks = widest(|row| row.task.as_deref().unwrap_or("-")).min(width / 5);
    let line = |row: &Row| {
        let since = row.since.map_or(String::new(), |since| lasted(since.as_secs()));
        let head = format!(
            "  {}  {}  {since:>6}  ",
            pad_to(&cut(&row.agent, agents), agents),
            pad_to(&cut(row.task.as_deref().unwrap_or("-"), tasks), tasks),
        );
        let doing = match &row.now {
            Some(now) => now,
            None => &row.doing,
        };
        let room = width.saturating_sub(display_width(&head));
        let doing = fitted(&shown_line(doing), room);
        let tone = match () {
            () if row.question.is_some() => Tone::Waits,
            () if row.doing.starts_with("stopped") => Tone::Bad,
            () if row.since.is_some() => Tone::Works,
            () => Tone::Faint,
        };
        if color {
            format!("{head}{}", tone.paint(&doing))
        } else {
            format!("{head}{doing}").trim_end().to_owned()
        }
    };
    rows.iter().map(line).collect()
}

/// Shortens a long name in the middle: similar names differ at their ends.
fn cut(name: &str, width: usize) -> String {
    let letters: Vec<char> = shown_line(name).chars().collect();
    if letters.len() <= width || width < 3 {
        return letters.into_iter().collect();
    }
    let (start, end) = (width / 2, width - width / 2 - 1);
    letters[..start].iter().chain(['…'].iter()).chain(&letters[letters.len() - end..]).collect()
}

fn lasted(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        _ => format!("{} h", seconds / 3600),
    }
}

/// A question to a person: what, since when, what to type, and what happens without an answer.
fn question_text(question: &Question) -> String {
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
    fn agent_line_fits_any_terminal_width() {
        let row = |agent: &str, task: Option<&str>, now: Option<&str>| Row {
            agent: agent.to_owned(),
            role: "coder".to_owned(),
            doing: "started".to_owned(),
            task: task.map(str::to_owned),
            since: task.map(|_| Duration::from_secs(75)),
            question: None,
            now: now.map(str::to_owned),
        };
        let rows = [
            row(
                "code-reviewer-12",
                Some("a-task-with-a-rather-long-name-2"),
                Some("Bash cargo test --workspace --all-targets and more of it"),
            ),
            row("coder-1", None, None),
        ];
        for width in 40..200 {
            let lines = agent_lines(&rows, width, false);
            assert_eq!(lines.len(), 2);
            assert!(lines.iter().all(|line| display_width(line) <= width), "{width}: {lines:?}");
        }
        let lines = agent_lines(&rows, 120, false);
        assert!(
            lines[0].contains("a-task-with-")
                && lines[0].contains("name-2")
                && lines[0].contains("cargo test"),
            "{}",
            lines[0]
        );
        assert!(lines[0].contains("1 min"), "{}", lines[0]);
    }

    #[test]
    fn question_shows_commands_and_halt_time() {
        let question: Question = serde_json::from_value(serde_json::json!({
            "id": "intervention-3", "agent": "coder-1", "task": "t1", "behaviour": "stagnation",
            "seen": "12000 tokens\u{1b}[2J", "asked": "2026-01-02T03:04:05Z", "due": "2026-01-02T03:09:05Z",
            "halts": true, "yes": "liza overseer halt coder-1 --reason stagnation", "no": "liza resume",
        }))
        .expect("a question");
        let text = question_text(&question);
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
