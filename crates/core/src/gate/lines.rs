//! Splits a program's output into lines of plain text, without terminal sequences.

/// The lines, without colours and other escape sequences. Overwritten text on the same line counts as lines too.
pub fn lines(output: &[u8]) -> Vec<String> {
    plain(&String::from_utf8_lossy(output)).split(['\n', '\r']).map(str::to_owned).collect()
}

fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\u{1b}' {
            out.push(c);
            continue;
        }
        match chars.peek() {
            // A control sequence: parameters, then one final character. None of them ends a line.
            Some('[') => {
                chars.next();
                while let Some(inside) = chars.next_if(|c| (' '..='~').contains(c)) {
                    if ('@'..='~').contains(&inside) {
                        break;
                    }
                }
            }
            // A title or a link, up to its end mark; one without an end does not hide the rest of the output.
            Some(']') => {
                while chars.next_if(|c| !matches!(c, '\u{7}' | '\u{1b}' | '\n' | '\r')).is_some() {}
                if chars.next_if_eq(&'\u{1b}').is_some() {
                    chars.next_if_eq(&'\\');
                } else {
                    chars.next_if_eq(&'\u{7}');
                }
            }
            // Such as the choice of a character set.
            _ => {
                while chars.next_if(|c| (' '..='/').contains(c)).is_some() {}
                chars.next_if(|c| ('0'..='~').contains(c));
            }
        }
    }
    out
}

/// The number a word is, if it is one.
pub fn number(word: &str) -> Option<u64> {
    (!word.is_empty() && word.len() <= 15 && word.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| word.parse().ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_and_titles_are_taken_out() {
        for (raw, wanted) in [
            ("\u{1b}[1m\u{1b}[32mok\u{1b}[0m", "ok"),
            ("\u{1b}[38;2;1;2;3mred\u{1b}[m", "red"),
            ("\u{1b}]0;title\u{7}rest", "rest"),
            ("\u{1b}]8;;http://a\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
            ("\u{1b}(Bx", "x"),
            ("plain é漢", "plain é漢"),
            ("\u{1b}", ""),
            ("a\u{1b}[", "a"),
        ] {
            assert_eq!(lines(raw.as_bytes()), [wanted], "{raw:?}");
        }
    }

    #[test]
    fn an_unfinished_sequence_ends_with_its_line() {
        assert_eq!(lines(b"\x1b]0;never ended\nnext"), ["", "next"]);
        assert_eq!(lines(b"\x1b[12\nnext"), ["", "next"]);
    }

    #[test]
    fn lines_end_at_cr_and_lf_in_any_bytes() {
        assert_eq!(lines(b"a\r\nb\rc\n\xff"), ["a", "", "b", "c", "\u{fffd}"]);
    }

    #[test]
    fn numbers_are_digits_only() {
        assert_eq!(number("12"), Some(12));
        for word in ["", "-1", "+1", "1.5", "x", "99999999999999999999"] {
            assert_eq!(number(word), None, "{word}");
        }
    }
}
