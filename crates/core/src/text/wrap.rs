//! Wraps text to the columns of a terminal, without breaking words.

use super::words::display_width;

/// Breaks lines that are wider than `width` between words. Continuation lines are indented two columns more. A word
/// that is wider than a line stays whole, and so does a command between backticks: it can be copied.
pub fn wrapped(text: &str, width: usize) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 16);
    for line in text.split_inclusive('\n') {
        let (body, end) = line.strip_suffix('\n').map_or((line, ""), |body| (body, "\n"));
        if display_width(body) <= width {
            out.push_str(body);
        } else {
            wrap_line(&mut out, body, width);
        }
        out.push_str(end);
    }
    out
}

fn wrap_line(out: &mut String, line: &str, width: usize) {
    let margin = line.len() - line.trim_start_matches(' ').len();
    // In a narrow terminal, the indentation must leave space for words.
    let hanging = (margin + 2).min(width / 3);
    let mut column = margin;
    out.push_str(&line[..margin]);
    let mut first = true;
    for (gap, piece) in pieces(&line[margin..]) {
        let wide = display_width(piece);
        if !first && column + gap + wide > width {
            out.push('\n');
            out.push_str(&" ".repeat(hanging));
            column = hanging;
        } else {
            out.push_str(&" ".repeat(gap));
            column += gap;
        }
        out.push_str(piece);
        column += wide;
        first = false;
    }
}

/// The unbreakable pieces of a line, each with the blanks before it.
fn pieces(line: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut rest = line;
    while !rest.is_empty() {
        let start = rest.trim_start_matches(' ');
        let gap = rest.len() - start.len();
        if start.is_empty() {
            break;
        }
        let end = end_of_piece(start);
        found.push((gap, &start[..end]));
        rest = &start[end..];
    }
    found
}

/// The end of the piece: the next blank outside backticks.
fn end_of_piece(text: &str) -> usize {
    let mut inside = false;
    for (at, c) in text.char_indices() {
        match c {
            '`' if inside => inside = false,
            // A backtick without a partner quotes nothing.
            '`' => inside = text[at + 1..].contains('`'),
            ' ' if !inside => return at,
            _ => {}
        }
    }
    text.len()
}

/// Cuts a line to at most `width` columns at the end of a word; a cut line ends with `…`.
pub fn fitted(text: &str, width: usize) -> String {
    if display_width(text) <= width {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut column = 0;
    for c in text.chars() {
        column += display_width(c.encode_utf8(&mut [0; 4]));
        if column >= width {
            break;
        }
        kept.push(c);
    }
    // One whole word less is better than half a word, unless nothing would be left.
    let next_is_blank = text[kept.len()..].starts_with(' ');
    let at_word = if next_is_blank { Some(kept.len()) } else { kept.rfind(' ') };
    let end = at_word.filter(|at| *at > width / 3).unwrap_or(kept.len());
    format!("{}…", kept[..end].trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrapping_keeps_commands_whole() {
        let text = "  t1  waits for the reviewer; `liza review claim t1` takes it\nshort\n";
        assert_eq!(
            wrapped(text, 36),
            "  t1  waits for the reviewer;\n    `liza review claim t1` takes it\nshort\n"
        );
        assert_eq!(wrapped(text, 200), text);
        let long = "x".repeat(90);
        assert_eq!(wrapped(&long, 60), long);
        assert_eq!(wrapped("one ` two three", 8), "one `\n  two\n  three");
    }

    #[test]
    fn no_width_breaks_a_word() {
        let text = "The planner was woken for `liza task unblock greet --answer …` and for 漢字漢字, twice; see the report.";
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        for width in 20..200 {
            let set = wrapped(text, width);
            assert_eq!(words(&set), words(text), "{width}");
            let widest = set.lines().map(display_width).max().unwrap_or(0);
            assert!(widest <= width.max(40), "{width}: {set}");
        }
    }

    #[test]
    fn too_long_text_is_cut_at_a_word() {
        assert_eq!(fitted("Greet people by name", 40), "Greet people by name");
        assert_eq!(fitted("Greet people by name", 18), "Greet people by…");
        assert_eq!(fitted("Greet people by name", 16), "Greet people by…");
        assert_eq!(fitted("Supercalifragilistic", 10), "Supercali…");
        for width in 2..30 {
            assert!(display_width(&fitted("漢字 漢字漢字 and words", width)) <= width, "{width}");
        }
    }
}
