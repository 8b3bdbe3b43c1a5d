//! Compares two reasons: an agent that goes in circles repeats them.

use similar::{Algorithm, capture_diff_slices, diff_ratio};

/// How much of a reason is compared. The comparison is quadratic at worst, and two reasons differ at their beginning.
const LONGEST_COMPARED: usize = 2048;

/// A word of at least this many hexadecimal digits, some of them decimal, is an id.
const SHORTEST_HEX_ID: usize = 7;

/// How alike two texts are, from 0 (no word in common) to 1 (the same words in the same order).
///
/// Case, white space and punctuation do not count, and numbers and hexadecimal ids are all alike: the same
/// failure comes back with another line number, duration or commit. A path is one word, so the same
/// complaint about another file is a little less alike. Two texts without any word are alike.
pub fn similarity(a: &str, b: &str) -> f64 {
    let (a, b) = (normal_words(a), normal_words(b));
    // The search may find fewer common words from the other side.
    let (a, b) = if a <= b { (a, b) } else { (b, a) };
    let ops = capture_diff_slices(Algorithm::Myers, &a, &b);
    f64::from(diff_ratio(&ops, a.len(), b.len()))
}

/// Whether two reasons are at least `threshold` alike.
pub fn same_reason(a: &str, b: &str, threshold: f64) -> bool {
    similarity(a, b) >= threshold
}

fn normal_words(text: &str) -> Vec<String> {
    let end = text.char_indices().map(|(at, _)| at).find(|&at| at >= LONGEST_COMPARED).unwrap_or(text.len());
    let text = &text[..end];
    let mut words: Vec<String> = Vec::new();
    for piece in text.to_lowercase().split(|c: char| !belongs_to_a_word(c)) {
        for word in words_of(piece) {
            // `1.2.3` and `12:5` count as one number.
            if word != "#" || words.last().is_none_or(|last| last != "#") {
                words.push(word);
            }
        }
    }
    words
}

/// Apostrophes belong inside a word, dots and slashes inside a path.
fn belongs_to_a_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '\'' | '’')
}

/// Splits the text between two separators into words: one, none, or one per ideograph.
fn words_of(piece: &str) -> Vec<String> {
    let piece = piece.trim_matches(|c: char| !c.is_alphanumeric());
    if is_hex_id(piece) {
        return vec!["#".to_owned()];
    }
    let mut words = Vec::new();
    let mut word = String::new();
    for c in piece.chars() {
        match c {
            '\'' | '’' => {}
            _ if c.is_numeric() || (matches!(c, '.' | '-') && word == "#") => {
                if !word.ends_with('#') {
                    word.push('#');
                }
            }
            // Chinese and Japanese have no blanks between words.
            '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{20000}'..='\u{3fffd}' => {
                words.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
                words.push(c.to_string());
            }
            // `30s` and `30 s` are the same.
            _ if word == "#" && c.is_alphabetic() => {
                words.push(std::mem::replace(&mut word, c.to_string()));
            }
            _ => word.push(c),
        }
    }
    words.extend((!word.is_empty()).then_some(word));
    words
}

fn is_hex_id(word: &str) -> bool {
    let digits = word.strip_prefix("0x").unwrap_or(word);
    let long_enough = digits.len() >= SHORTEST_HEX_ID || digits.len() < word.len();
    long_enough
        && digits.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-')
        && digits.bytes().any(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    const THRESHOLD: f64 = 0.85;

    #[test]
    fn the_same_reason_is_recognised() {
        for (a, b) in [
            ("", ""),
            ("Tests are missing.", "tests   are missing!"),
            ("The parser panics on empty input (line 12)", "The parser panics on empty input (line 48)"),
            ("assertion failed at src/lib.rs:10:5", "assertion failed at src/lib.rs:127:9"),
            ("commit 3f2a9bc does not build", "commit 91d0e4ff27 does not build"),
            ("Timed out after 30.5s", "timed out after 31.25 s"),
            ("test_17 fails with code 101", "test_4 fails with code 1"),
            ("It doesn't handle NaN", "it doesnt handle nan"),
            ("error in `src/main.rs:3`", "Error in \"src/main.rs:99\""),
            ("pointer 0x7ffe12 was freed twice", "pointer 0x1 was freed twice"),
            (
                "The new function has no test for the empty list and none for a list with one element",
                "The new function has no test for an empty list and none for a list with one element",
            ),
            ("mangler på prøver: 3 af 7", "Mangler på prøver – 5 af 7"),
            ("缺少空列表的测试，请补充说明", "缺少空列表的测试,请补充说明"),
            (
                "thread 'main' panicked at 'index out of bounds: the len is 3 but the index is 7'",
                "thread 'main' panicked at 'index out of bounds: the len is 0 but the index is 0'",
            ),
        ] {
            let alike = similarity(a, b);
            assert!(alike >= THRESHOLD, "{alike} for {a:?} and {b:?}");
            assert!(same_reason(a, b, THRESHOLD));
        }
    }

    #[test]
    fn different_reasons_stay_different() {
        for (a, b) in [
            ("", "Tests are missing"),
            ("Tests are missing", "The public function has no documentation"),
            ("The parser panics on empty input", "The parser accepts duplicate keys"),
            ("Scope: src/other.rs was changed", "The validation command was not run"),
            ("commit 3f2a9bc does not build", "commit 3f2a9bc has no tests"),
            ("error handling swallows the io error in read()", "names do not say what the function does"),
            ("缺少空列表的测试", "文档说明不清楚"),
        ] {
            let alike = similarity(a, b);
            assert!(alike <= 0.6, "{alike} for {a:?} and {b:?}");
            assert!(!same_reason(a, b, THRESHOLD));
        }
    }

    #[test]
    fn different_file_names_are_different_words() {
        assert_eq!(normal_words("In `src/a.rs:12:7`, see T-4."), ["in", "src/a.rs", "#", "see", "t-#"]);
        assert!(similarity("no test in src/a.rs", "no test in src/b.rs") < 1.0);
    }

    #[test]
    fn similarity_is_symmetric_and_a_ratio() {
        let texts = ["", "a b c d", "b a d c", "a a a a b", "#", "12 13", "d c b a a"];
        for a in texts {
            assert!((similarity(a, a) - 1.0).abs() < f64::EPSILON);
            for b in texts {
                assert!((0.0..=1.0).contains(&similarity(a, b)));
                assert!((similarity(a, b) - similarity(b, a)).abs() < 1e-6, "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn long_texts_are_cut_at_a_character() {
        let long = "é".repeat(500_000);
        assert!((similarity(&long, &long) - 1.0).abs() < f64::EPSILON);
        let many_words = "a b ".repeat(100_000);
        let others = "b c ".repeat(100_000);
        assert!(similarity(&many_words, &others) < THRESHOLD);
    }
}
