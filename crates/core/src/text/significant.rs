//! The words of a text that carry its meaning.

use std::collections::BTreeSet;

/// Words that are in any sentence.
const COMMON: [&str; 74] = [
    "about", "after", "again", "all", "also", "and", "any", "are", "because", "been", "before", "being",
    "both", "but", "can", "cannot", "could", "did", "does", "each", "for", "from", "had", "has", "have",
    "here", "how", "instead", "into", "its", "just", "may", "more", "most", "must", "need", "needs", "nor",
    "not", "now", "off", "one", "only", "other", "out", "over", "please", "shall", "should", "some", "still",
    "such", "than", "that", "the", "their", "them", "then", "there", "these", "they", "this", "those", "too",
    "was", "were", "what", "when", "where", "which", "who", "will", "with", "would",
];
const SHORTEST: usize = 3;

/// The words that carry the meaning, each once and without its ending, so that `lists are handled` and `handling of a
/// list` give the same words. Numbers and short words are left out.
pub fn significant_words(text: &str) -> BTreeSet<String> {
    text.to_lowercase()
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.chars().count() >= SHORTEST && !COMMON.contains(word))
        .filter(|word| !word.chars().all(char::is_numeric))
        .map(|word| stem(word).to_owned())
        .collect()
}

/// The share of significant words that two texts have in common, from 0 to 1, in any order. A text with a single such
/// word gives 0.
pub fn shared_meaning(a: &str, b: &str) -> f64 {
    let (a, b) = (significant_words(a), significant_words(b));
    if a.len() < 2 || b.len() < 2 {
        return 0.0;
    }
    let common = a.intersection(&b).count();
    let count = |words: usize| f64::from(u32::try_from(words).unwrap_or(u32::MAX));
    2.0 * count(common) / count(a.len() + b.len())
}

/// Removes English endings, as far as possible without a dictionary.
fn stem(word: &str) -> &str {
    let mut word = word;
    if let Some(one) = word.strip_suffix('s').filter(|one| !one.ends_with('s') && one.len() >= 3) {
        word = one;
    }
    for ending in ["ing", "ed"] {
        if let Some(rest) = word.strip_suffix(ending).filter(|rest| rest.len() >= 4) {
            return rest;
        }
    }
    word.strip_suffix('e').filter(|rest| rest.len() >= 3).unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_and_order_do_not_count() {
        let same = shared_meaning("The empty list is not handled", "No handling of empty lists");
        assert!((same - 1.0).abs() < f64::EPSILON, "{same}");
        assert!(shared_meaning("names are not quoted", "names are not tested") < 0.6);
        assert!(shared_meaning("no", "no").abs() < f64::EPSILON, "too little to go by");
    }

    #[test]
    fn filler_words_are_left_out() {
        let words = significant_words("It should be 404, not 200, when the user is missing");
        assert_eq!(words.into_iter().collect::<Vec<_>>(), ["miss", "user"]);
    }
}
