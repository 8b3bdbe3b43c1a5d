//! Characters that affect a terminal or a reader without being visible.

/// Whether `c` must never reach a terminal, a report or a file name as it is.
///
/// One definition for printing and for checking names: a character that one of them let through and the
/// other did not would be a name that cannot be shown, or a text that can move the cursor.
///
/// These are: controls (C0, DEL, C1), marks that change the direction of writing, characters without width,
/// line and paragraph separators, tags, private use, noncharacters and everything Unicode has not assigned.
/// Blanks of any width and variation selectors are not among them. Newline and tab are: who wants them
/// allows them.
pub fn is_unseen(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control();
    }
    match c {
        // Assigned and printable by their category, but invisible.
        '\u{34f}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{17b4}'
        | '\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{3164}'
        | '\u{ffa0}' => true,
        // The standard library's table counts blanks other than the space as unprintable.
        '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => false,
        // Variation selectors choose between two drawings of the character before them.
        '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' => false,
        '\u{80}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{e0000}'..='\u{e0fff}' => true,
        _ => is_unprintable(c),
    }
}

/// Whether `c` is drawn onto the character before it.
pub fn is_combining(c: char) -> bool {
    !c.is_ascii() && c.escape_debug().len() > 1 && !is_unprintable(c)
}

/// Asks the standard library, which keeps the table of the Unicode version it was made with.
///
/// The letter in front matters: at the beginning of a text combining marks are escaped as well, and those
/// are part of ordinary words in many languages.
fn is_unprintable(c: char) -> bool {
    let mut after_a_letter = [b'a'; 5];
    let length = 1 + c.encode_utf8(&mut after_a_letter[1..]).len();
    std::str::from_utf8(&after_a_letter[..length]).is_ok_and(|text| text.escape_debug().nth(1) != Some(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_dangerous_class_is_unseen() {
        let ranges = [
            (0x00, 0x1f),
            (0x7f, 0x9f),
            (0xad, 0xad),
            (0x61c, 0x61c),
            (0x200b, 0x200f),
            (0x2028, 0x202e),
            (0x2060, 0x206f),
            (0xe000, 0xf8ff),
            (0xfdd0, 0xfdef),
            (0xfeff, 0xfeff),
            (0xfff9, 0xfffb),
            (0xfffe, 0xffff),
            (0x1fffe, 0x1ffff),
            (0x378, 0x379),
            (0xe0000, 0xe007f),
            (0xf0000, 0xfffff),
            (0x10_0000, 0x10_ffff),
        ];
        for (first, last) in ranges {
            for c in (first..=last).filter_map(char::from_u32) {
                assert!(is_unseen(c), "U+{:04X} would be printed", u32::from(c));
            }
        }
    }

    #[test]
    fn ordinary_letters_are_visible() {
        for c in " aZ0\\'\"`~éßñ\u{e9}\u{301}\u{a0}\u{3000}漢字かなกำहिन्दी한글עבריתعربى🦀\u{fe0f}→…".chars()
        {
            assert!(!is_unseen(c), "U+{:04X} would be escaped", u32::from(c));
        }
    }

    #[test]
    fn combining_marks_are_distinguished_from_letters() {
        for c in ['\u{301}', '\u{36f}', '\u{5b7}', '\u{93f}', '\u{fe0f}', '\u{3099}'] {
            let spacing_vowel = c == '\u{93f}';
            assert_eq!(is_combining(c), !spacing_vowel, "U+{:04X}", u32::from(c));
        }
        for c in "aé漢\"'\\\u{200b}\u{7f}".chars() {
            assert!(!is_combining(c), "U+{:04X}", u32::from(c));
        }
    }
}
