//! Foreign text inside Markdown: reports are read by people, and rendered by programs that obey markup.

use super::shown::{longest_backtick_run, shown, shown_line};

const SHORTEST_FENCE: usize = 3;

/// Sets a text as a code block that the text itself cannot close.
///
/// Of `label` (the language) only letters, digits and `+-_.` are kept: it stands outside the block.
pub fn fence(text: &str, label: &str) -> String {
    let text = shown(text);
    let label: String =
        label.chars().filter(|c| c.is_ascii_alphanumeric() || ['+', '-', '_', '.'].contains(c)).collect();
    let ticks = "`".repeat(SHORTEST_FENCE.max(longest_backtick_run(&text) + 1));
    let end_of_text = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    format!("{ticks}{label}\n{text}{end_of_text}{ticks}\n")
}

/// Writes a text so that it reads as itself inside a paragraph or a table cell.
///
/// Line breaks become blanks, since a table row is one line. A list bullet or a heading mark is only one at
/// the beginning of a line, so those are escaped there alone and `a-b` stays readable.
pub fn md_inline(text: &str) -> String {
    let words: Vec<&str> = text.split(['\n', '\r', '\t', ' ']).filter(|word| !word.is_empty()).collect();
    let line = words.join(" ");
    let line = shown_line(&line);
    let after_number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let numbered = line.len() - after_number.len();
    let mut out = String::with_capacity(line.len() + 8);
    for (at, c) in line.char_indices() {
        let opens_a_block = match c {
            '-' | '+' | '=' | ':' => at == 0,
            '.' | ')' => at == numbered,
            _ => false,
        };
        if opens_a_block || is_markup(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

fn is_markup(c: char) -> bool {
    matches!(c, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '~' | '&' | '#' | '!' | '$')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_is_longer_than_any_run_inside() {
        assert_eq!(fence("a", "sh"), "```sh\na\n```\n");
        assert_eq!(fence("", ""), "```\n```\n");
        assert_eq!(fence("```\nout\n````\n", ""), "`````\n```\nout\n````\n`````\n");
        assert_eq!(fence("a\u{1b}[2J\n", ""), "```\na\\u{1b}[2J\n```\n");
    }

    #[test]
    fn a_label_cannot_leave_its_line() {
        assert_eq!(fence("a", "sh\n# x`"), "```shx\na\n```\n");
    }

    #[test]
    fn cells_stay_cells() {
        for (text, expected) in [
            ("plain text", "plain text"),
            ("a|b", "a\\|b"),
            ("a\\|b", "a\\\\\\|b"),
            ("two\nlines\r\nhere", "two lines here"),
            ("`code` *bold* _it_", "\\`code\\` \\*bold\\* \\_it\\_"),
            ("<script>&lt;", "\\<script\\>\\&lt;"),
            ("[x](http://y)", "\\[x\\](http://y)"),
            ("![x](y)", "\\!\\[x\\](y)"),
            ("# head", "\\# head"),
            ("- item a-b", "\\- item a-b"),
            ("1. first 2.", "1\\. first 2."),
            ("12) x", "12\\) x"),
            ("---", "\\---"),
            ("    indented", "indented"),
            ("\u{1b}[0m", "\\\\u{1b}\\[0m"),
            ("~~gone~~", "\\~\\~gone\\~\\~"),
        ] {
            assert_eq!(md_inline(text), expected, "{text:?}");
        }
    }
}
