//! Writes a Markdown page into a string, line by line. This cannot fail.

use super::prelude::*;
use crate::policy::view::Scene;

macro_rules! line {
    ($text:expr) => { let _ = writeln!($text); };
    ($text:expr, $($arg:tt)*) => { let _ = writeln!($text, $($arg)*); };
}

/// The title of a section, separated by blank lines.
macro_rules! heading {
    ($text:expr, $($title:tt)*) => { let _ = writeln!($text, "\n## {}\n", format_args!($($title)*)); };
}

pub(super) use {heading, line};

/// The first rows of a list, and the number of the others.
pub(super) fn rows_of(text: &mut String, rows: Vec<String>, most: usize) {
    let more = rows.len().saturating_sub(most);
    for row in rows.into_iter().take(most) {
        line!(text, "- {row}");
    }
    if more > 0 {
        line!(text, "- … and {more} more");
    }
}

/// What a task waits for, as a cell of a table.
pub(super) fn waits_for(scene: &Scene<'_>, task: &Task) -> String {
    scene.waiting(task).map_or("-".to_owned(), |waiting| md_inline(&waiting.why).to_string())
}
