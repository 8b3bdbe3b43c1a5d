//! Foreign text made fit to be printed: whatever could act on the terminal becomes visible text.
//!
//! Task texts, file names and the output of agents and gates all end on a person's terminal or in a report.
//! An escape sequence there can recolour, rewrite or hide what stands before it, and a direction mark can make
//! a name read as another. The result cannot be turned back (a text that says `\u{1b}` looks like an
//! escaped escape): it is for reading only.

use std::borrow::Cow;
use std::fmt::Write;

use super::unseen::is_unseen;

/// Makes a text of several lines safe to print: newlines and tabs stay, all other invisible characters become visible.
pub fn shown(text: &str) -> Cow<'_, str> {
    escaped(text, |c| is_unseen(c) && c != '\n' && c != '\t')
}

/// Makes a text safe to print inside one line: newlines and tabs become visible too.
pub fn shown_line(text: &str) -> Cow<'_, str> {
    escaped(text, is_unseen)
}

/// Sets a text between backticks, on one line.
///
/// A text that has backticks itself gets a longer run of them around it, as Markdown wants it, so that it
/// cannot end the quotation early.
pub fn quoted(text: &str) -> String {
    let text = shown_line(text);
    let ticks = "`".repeat(longest_backtick_run(&text) + 1);
    let room = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{ticks}{room}{text}{room}{ticks}")
}

/// The length of the longest run of backticks in `text`: quotation marks and fences must be longer.
pub(super) fn longest_backtick_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

fn escaped(text: &str, unwanted: impl Fn(char) -> bool) -> Cow<'_, str> {
    let Some(first) = text.find(&unwanted) else { return Cow::Borrowed(text) };
    let (clean, rest) = text.split_at(first);
    let mut out = String::with_capacity(text.len() + 16);
    out.push_str(clean);
    for c in rest.chars() {
        match c {
            _ if !unwanted(c) => out.push(c),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            // Writing to a String cannot fail.
            _ => drop(write!(out, "\\u{{{:x}}}", u32::from(c))),
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{fence, md_inline};

    /// Texts that affect a terminal, a pager, a log reader or the eye.
    const HOSTILE: &[&str] = &[
        "\u{1b}[31mred",
        "\u{1b}[2J\u{1b}[H",
        "\u{1b}]0;title\u{7}",
        "\u{1b}]8;;http://evil\u{1b}\\click\u{1b}]8;;\u{1b}\\",
        "\u{1b}]52;c;cm0gLXJm\u{7}",
        "\u{1b}[?1049h",
        "\u{1b}[1A\u{1b}[2Kapproved",
        "\u{1b}P+q\u{1b}\\",
        "\u{1b}c",
        "\u{1b}_payload\u{1b}\\",
        "\u{9b}31m",
        "\u{9d}0;x\u{9c}",
        "\u{90}q\u{9c}",
        "\u{85}next line",
        "a\u{8}b",
        "ok\rfailed",
        "a\u{b}b",
        "a\u{c}b",
        "a\u{0}b",
        "\u{7}\u{7}",
        "a\u{e}b\u{f}",
        "a\u{7f}b",
        "\u{1a}",
        "\u{4}",
        "user\u{202e}txt.exe",
        "\u{202a}a\u{202c}",
        "\u{202b}a",
        "\u{202d}a",
        "\u{2066}a\u{2069}",
        "\u{2067}a",
        "\u{2068}a",
        "a\u{200e}b",
        "a\u{200f}b",
        "a\u{61c}b",
        "a\u{200b}b",
        "a\u{200c}b",
        "a\u{200d}b",
        "a\u{2060}b",
        "\u{feff}a",
        "a\u{ad}b",
        "a\u{2028}b",
        "a\u{2029}b",
        "a\u{e0041}\u{e007f}b",
        "\u{e0001}a",
        "a\u{ffff}b",
        "a\u{fdd0}b",
        "a\u{10ffff}b",
        "a\u{e000}b",
        "a\u{378}b",
        "a\u{206a}b",
        "a\u{2063}b",
        "a\u{3164}b",
        "a\u{115f}b",
        "\u{fff9}a\u{fffa}b\u{fffb}",
        "a\u{180e}b",
    ];

    #[test]
    fn hostile_characters_are_always_escaped() {
        assert!(HOSTILE.len() >= 40);
        for text in HOSTILE {
            let one_line = |out: &str| !out.chars().any(is_unseen);
            let lines = |out: &str| !out.chars().any(|c| is_unseen(c) && c != '\n' && c != '\t');
            assert!(lines(&shown(text)), "{text:?}");
            assert!(one_line(&shown_line(text)), "{text:?}");
            assert!(one_line(&quoted(text)), "{text:?}");
            assert!(one_line(&md_inline(text)), "{text:?}");
            assert!(lines(&fence(text, text)), "{text:?}");
            assert_ne!(shown(text), *text, "{text:?} was taken for harmless");
        }
    }

    #[test]
    fn the_escaped_character_can_be_read() {
        assert_eq!(shown("\u{1b}[31m"), "\\u{1b}[31m");
        assert_eq!(shown("a\n\tb\r"), "a\n\tb\\r");
        assert_eq!(shown_line("a\n\tb"), "a\\n\\tb");
    }

    #[test]
    fn harmless_text_is_not_copied() {
        for text in ["", "plain", "zwei Zeilen\nmit\tTab", "é漢🦀\u{fe0f}"] {
            assert!(matches!(shown(text), Cow::Borrowed(same) if same == text));
        }
    }

    #[test]
    fn quotation_cannot_be_left_early() {
        assert_eq!(quoted("a"), "`a`");
        assert_eq!(quoted("a`b"), "``a`b``");
        assert_eq!(quoted("`a``"), "``` `a`` ```");
        assert_eq!(quoted("a\nb"), "`a\\nb`");
    }
}
