//! Words, lists and columns for messages.

use std::borrow::Cow;

use super::unseen::is_combining;

/// Declares an enum whose variants are words: `ALL`, `as_str`, `parse`, `Display`, serde and the JSON schema all come from
/// one list. Other derives, such as `Default`, stand before `enum`; attributes of a variant, such as `#[serde(alias)]`,
/// before the variant.
macro_rules! words {
    ($(#[$meta:meta])* $vis:vis enum $name:ident {
        $($(#[$variant_meta:meta])* $variant:ident = $word:literal),* $(,)?
    }) => {
        $(#[$meta])*
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash,
            serde::Serialize, serde::Deserialize, schemars::JsonSchema,
        )]
        $vis enum $name {
            $($(#[$variant_meta])* #[serde(rename = $word)] $variant),*
        }

        impl $name {
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),* }
            }

            pub fn parse(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|one| one.as_str() == text)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }
    };
}
pub(crate) use words;

/// Cuts a text to at most `max_chars` characters; a cut text ends with `…`, which counts.
pub fn clipped(text: &str, max_chars: usize) -> Cow<'_, str> {
    // A text of few bytes has few characters; most texts end here.
    if text.len() <= max_chars || text.chars().nth(max_chars).is_none() {
        return Cow::Borrowed(text);
    }
    let Some(kept) = max_chars.checked_sub(1) else { return Cow::Borrowed("") };
    Cow::Owned(text.chars().take(kept).chain(['…']).collect())
}

/// A count with its noun: `1 task`, `3 tasks`, `2 branches`, `0 entries`.
pub fn plural(n: usize, noun: &str) -> String {
    if n == 1 {
        return format!("1 {noun}");
    }
    let hisses = ["s", "x", "ch", "sh"].iter().any(|end| noun.ends_with(end));
    match noun.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'i', 'o', 'u']) => format!("{n} {stem}ies"),
        _ if hisses => format!("{n} {noun}es"),
        _ => format!("{n} {noun}s"),
    }
}

/// Joins words as a sentence does: `a`, `a and b`, `a, b and c`.
pub fn list_words<S: AsRef<str>>(words: impl IntoIterator<Item = S>) -> String {
    let words: Vec<S> = words.into_iter().collect();
    let Some((last, others)) = words.split_last() else { return String::new() };
    if others.is_empty() {
        return last.as_ref().to_owned();
    }
    let others: Vec<&str> = others.iter().map(AsRef::as_ref).collect();
    format!("{} and {}", others.join(", "), last.as_ref())
}

/// Moves every line that has text `spaces` to the right.
pub fn indent(text: &str, spaces: usize) -> String {
    let margin = " ".repeat(spaces);
    text.split_inclusive('\n')
        .map(|line| if line.trim().is_empty() { line.to_owned() } else { format!("{margin}{line}") })
        .collect()
}

/// How many columns a text takes on a terminal, as far as one can know.
///
/// Terminals disagree about emoji made of several characters; a table may be a column off there, and
/// nothing depends on it.
pub fn display_width(text: &str) -> usize {
    text.chars().map(char_width).sum()
}

/// Fills a text with blanks on its right up to `width` columns; a longer text stays unchanged.
pub fn pad_to(text: &str, width: usize) -> String {
    let missing = width.saturating_sub(display_width(text));
    format!("{text}{:missing$}", "")
}

fn char_width(c: char) -> usize {
    match c {
        ' '..='~' => 1,
        _ if is_combining(c) => 0,
        _ if is_wide(c) => 2,
        _ => 1,
    }
}

/// East Asian wide and full-width characters, and the emoji that are drawn as wide.
fn is_wide(c: char) -> bool {
    matches!(c,
        '\u{1100}'..='\u{115f}' | '\u{231a}' | '\u{231b}' | '\u{23e9}'..='\u{23ec}' | '\u{23f0}' | '\u{23f3}'
        | '\u{2614}' | '\u{2615}' | '\u{26a1}' | '\u{26d4}' | '\u{2705}' | '\u{2728}' | '\u{274c}' | '\u{274e}'
        | '\u{2753}'..='\u{2755}' | '\u{2757}' | '\u{2795}'..='\u{2797}' | '\u{2b50}' | '\u{2b55}'
        | '\u{2e80}'..='\u{303e}' | '\u{3041}'..='\u{a4cf}' | '\u{a960}'..='\u{a97f}' | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}' | '\u{fe30}'..='\u{fe6f}' | '\u{ff01}'..='\u{ff60}' | '\u{ffe0}'..='\u{ffe6}'
        | '\u{1f300}'..='\u{1f64f}' | '\u{1f680}'..='\u{1f6ff}' | '\u{1f7e0}'..='\u{1f7eb}'
        | '\u{1f900}'..='\u{1f9ff}' | '\u{1fa70}'..='\u{1faff}' | '\u{20000}'..='\u{3fffd}')
}

#[cfg(test)]
mod tests {
    use super::*;

    words! {
        #[derive(Default)]
        enum Tide {
            #[default]
            Low = "low",
            /// The sea is high.
            #[serde(alias = "flood")]
            High = "high water",
        }
    }

    #[test]
    fn enum_and_its_words_agree_everywhere() {
        assert_eq!(Tide::ALL, [Tide::Low, Tide::High]);
        assert_eq!(Tide::default().as_str(), "low");
        assert_eq!(Tide::parse("high water"), Some(Tide::High));
        assert_eq!(Tide::parse("High"), None);
        assert_eq!(format!("{:>4}", Tide::Low), " low");
        assert_eq!(serde_json::json!(Tide::High), "high water");
        assert_eq!(serde_json::from_str::<Tide>("\"flood\"").ok(), Some(Tide::High));
        assert!(serde_json::from_str::<Tide>("\"ebb\"").is_err());
        let schema = schemars::schema_for!(Tide).to_value().to_string();
        assert!(schema.contains("high water") && schema.contains("The sea is high."), "{schema}");
    }

    #[test]
    fn clipping_counts_characters_and_its_own_mark() {
        for (text, max, expected) in [
            ("", 0, ""),
            ("abc", 3, "abc"),
            ("abcd", 3, "ab…"),
            ("äöüß", 4, "äöüß"),
            ("äöüßé", 4, "äöü…"),
            ("abc", 1, "…"),
            ("abc", 0, ""),
        ] {
            assert_eq!(clipped(text, max), expected, "{text:?} to {max}");
        }
    }

    #[test]
    fn nouns_follow_their_number() {
        for (n, noun, expected) in [
            (0, "task", "0 tasks"),
            (1, "task", "1 task"),
            (2, "task", "2 tasks"),
            (2, "branch", "2 branches"),
            (2, "entry", "2 entries"),
            (2, "day", "2 days"),
            (3, "pass", "3 passes"),
            (1, "entry", "1 entry"),
        ] {
            assert_eq!(plural(n, noun), expected);
        }
    }

    #[test]
    fn lists_read_like_a_sentence() {
        assert_eq!(list_words(Vec::<String>::new()), "");
        assert_eq!(list_words(["a"]), "a");
        assert_eq!(list_words(["a", "b"]), "a and b");
        assert_eq!(list_words(["a", "b", "c"]), "a, b and c");
    }

    #[test]
    fn only_lines_with_text_are_moved() {
        assert_eq!(indent("a\n\n  b\n", 2), "  a\n\n    b\n");
        assert_eq!(indent("", 4), "");
    }

    #[test]
    fn columns_line_up() {
        for (text, width) in [
            ("abc", 3),
            ("é", 1),
            ("e\u{301}", 1),
            ("漢字", 4),
            ("한글", 4),
            ("🦀", 2),
            ("ok ✅", 5),
            ("", 0),
        ] {
            assert_eq!(display_width(text), width, "{text:?}");
        }
        assert_eq!(pad_to("漢", 4), "漢  ");
        assert_eq!(pad_to("abcd", 2), "abcd");
    }
}
