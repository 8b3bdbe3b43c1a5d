//! Two texts side by side, for a person who has to decide between them.

use super::{shown::shown_line, words::display_width, words::pad_to};

/// A narrower column holds no sentence.
const NARROWEST: usize = 20;

/// Prints two texts in columns of this width each, under their titles. Words stay whole if they fit, and no text can
/// imitate a line of liza.
pub fn side_by_side(left: (&str, &str), right: (&str, &str), width: usize) -> String {
    let width = width.max(NARROWEST);
    let (one, other) = (wrapped(left.1, width), wrapped(right.1, width));
    let mut lines = vec![format!("{} | {}", pad_to(left.0, width), right.0)];
    lines.push(format!("{}-+-{}", "-".repeat(width), "-".repeat(width)));
    for at in 0..one.len().max(other.len()) {
        let cell = |cells: &[String]| cells.get(at).cloned().unwrap_or_default();
        lines.push(format!("{} | {}", pad_to(&cell(&one), width), cell(&other)).trim_end().to_owned());
    }
    lines.join("\n")
}

fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for line in text.trim().lines() {
        let mut present = String::new();
        for word in shown_line(line).split_whitespace() {
            let mut word = word.to_owned();
            if !present.is_empty() && display_width(&present) + 1 + display_width(&word) > width {
                lines.push(std::mem::take(&mut present));
            }
            while display_width(&word) > width {
                let rest = word.split_off(fitting(&word, width));
                lines.push(std::mem::replace(&mut word, rest));
            }
            if !present.is_empty() {
                present.push(' ');
            }
            present.push_str(&word);
        }
        lines.push(present);
    }
    lines
}

/// How many bytes of a word fit into so many columns.
fn fitting(word: &str, width: usize) -> usize {
    let mut taken = 0;
    for (at, c) in word.char_indices() {
        taken += display_width(c.encode_utf8(&mut [0; 4]));
        if taken > width {
            return at.max(c.len_utf8());
        }
    }
    word.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_text_stays_in_its_column() {
        let text = side_by_side(("coder", "keep it short and simple"), ("reviewer", "one\ntwo\nthree"), 20);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines,
            [
                "coder                | reviewer",
                "---------------------+---------------------",
                "keep it short and    | one",
                "simple               | two",
                "                     | three",
            ]
        );
    }

    #[test]
    fn wide_word_is_cut_and_control_bytes_shown() {
        let text = side_by_side(("a", &"x".repeat(45)), ("b", "\u{1b}[2J"), 20);
        assert!(text.lines().all(|line| display_width(line) <= 43), "{text}");
        assert!(!text.contains('\u{1b}'));
        assert_eq!(side_by_side(("a", ""), ("b", ""), 0).lines().count(), 2);
    }
}
