//! The id of a scenario: the same text always gives the same id.

use unicode_normalization::UnicodeNormalization;

/// The prefix of every such id.
const PREFIX: &str = "scenario-";
/// How many hexadecimal digits follow.
const DIGITS: usize = 12;

/// `scenario-` and 12 hexadecimal digits of blake3 over the text, in Unicode's normal form C and with each run of white space as one
/// space, so that line breaks and indentation change nothing.
pub fn ssot_id(text: &str) -> String {
    let normal: String = text.nfc().collect();
    let collapsed = normal.split_whitespace().collect::<Vec<_>>().join(" ");
    let hash = blake3::hash(collapsed.as_bytes()).to_hex();
    format!("{PREFIX}{}", &hash[..DIGITS])
}

/// Whether a text has the form of such an id.
pub fn is_ssot_id(text: &str) -> bool {
    let digits =
        |rest: &str| rest.len() == DIGITS && rest.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f'));
    text.strip_prefix(PREFIX).is_some_and(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_words_give_the_same_id() {
        let id = ssot_id("Add a --json flag");
        assert!(is_ssot_id(&id), "{id}");
        assert_eq!(ssot_id("  Add a\n\t--json   flag\n"), id);
        assert_ne!(ssot_id("add a --json flag"), id);
        // One character, or a letter and an accent.
        assert_eq!(ssot_id("caf\u{e9}"), ssot_id("cafe\u{301}"));
        assert_eq!(ssot_id("\u{212b}"), ssot_id("A\u{30a}"));
        // This id was published, so it must stay.
        assert_eq!(ssot_id("Greet people"), GREET);
    }

    const GREET: &str = "scenario-9e8a90f4e42f";

    #[test]
    fn other_forms_are_no_ids() {
        for text in ["", "scenario-", "scenario-0123456789ab0", "scenario-0123456789AB", "task-0123456789ab"]
        {
            assert!(!is_ssot_id(text), "{text}");
        }
        assert!(is_ssot_id("scenario-0123456789ab"));
    }
}
