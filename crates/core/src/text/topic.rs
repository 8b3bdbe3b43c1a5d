//! Whether two texts are about the same matter, however they put it: three agents that meet the same outage say so in three
//! ways. [`similarity`](super::similarity) asks whether the same words come in the same order, which is another question.
//!
//! What is compared is the set of words that carry meaning. A word about the thing itself (a service, a file, a function)
//! counts in full; a word that stands in reports of any kind (`error`, `timeout`, `test`) counts little, because it says how
//! something fails and not what. The few synonyms are ways to write one name, not words that mean nearly the same.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use similar::{Algorithm, DiffOp, capture_diff_slices};

/// Two texts at least this alike are about the same topic. Chosen on the pairs of `pairs.tsv`, and checked on those of
/// `pairs_held_out.tsv`, which were written afterwards.
pub const SAME_TOPIC: f64 = 0.62;

/// Only the first bytes of a text are compared.
const LONGEST_COMPARED: usize = 2048;
const MOST_WORDS: usize = 64;
/// A word of at least this many hexadecimal digits, some of them decimal, is an id.
const SHORTEST_HEX_ID: usize = 7;
/// The weight of a word that is in reports of any kind.
const COMMON_WEIGHT: f64 = 0.15;
/// A text of little more than a name is compared by that name alone; if a longer text contains it, it counts this much.
const CONTAINED_WEIGHT: f64 = 0.775;

/// The words of a text that carry its topic, prepared for many comparisons.
#[derive(Debug)]
pub struct Topic {
    /// Sorted, each once.
    words: Vec<String>,
}

impl Topic {
    pub fn of(text: &str) -> Self {
        let end =
            text.char_indices().map(|(at, _)| at).find(|&at| at >= LONGEST_COMPARED).unwrap_or(text.len());
        let mut words: Vec<String> =
            pieces(&text[..end]).into_iter().filter_map(|word| normal(&word)).take(MOST_WORDS).collect();
        words.sort();
        words.dedup();
        Self { words }
    }

    /// A name for the topic: its specific words, or all if there is none.
    pub fn name(&self) -> String {
        let telling: Vec<&str> =
            self.words.iter().map(String::as_str).filter(|word| !is_common(word)).collect();
        let words =
            if telling.is_empty() { self.words.iter().map(String::as_str).collect() } else { telling };
        words.join("-")
    }

    pub fn is_same(&self, other: &Self) -> bool {
        self.likeness(other) >= SAME_TOPIC
    }

    /// From 0 (nothing in common) to 1.
    pub fn likeness(&self, other: &Self) -> f64 {
        if self.words.is_empty() && other.words.is_empty() {
            return 1.0;
        }
        let ops = capture_diff_slices(Algorithm::Myers, &self.words, &other.words);
        let shared: Vec<&String> = ops
            .iter()
            .filter_map(|op| match op {
                DiffOp::Equal { old_index, len, .. } => self.words.get(*old_index..old_index + len),
                _ => None,
            })
            .flatten()
            .collect();
        let (mine, theirs) = (weight(&self.words), weight(&other.words));
        let both = 2.0 * weight(shared.iter().copied()) / (mine + theirs);
        let distinctive = telling(shared.iter().copied());
        let (of_mine, of_theirs) = (telling(&self.words), telling(&other.words));
        if distinctive == 0.0 {
            // The same symptom of different things, unless neither names a thing.
            return if of_mine + of_theirs == 0.0 { both } else { both / 2.0 };
        }
        let contained = distinctive / of_mine.min(of_theirs);
        let shared_telling = 2.0 * distinctive / (of_mine + of_theirs);
        both.max((contained * shared_telling).sqrt() * CONTAINED_WEIGHT)
    }
}

/// How many of these words are specific.
fn telling<'w>(words: impl IntoIterator<Item = &'w String>) -> f64 {
    words.into_iter().map(|word| if is_common(word) { 0.0 } else { 1.0 }).sum()
}

fn weight<'w>(words: impl IntoIterator<Item = &'w String>) -> f64 {
    words.into_iter().map(|word| if is_common(word) { COMMON_WEIGHT } else { 1.0 }).sum()
}

/// Splits at every character that is no letter or digit, also inside `parse_header` and `api.example.org`; not inside
/// `GitHub`.
fn pieces(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    for c in text.chars() {
        // Chinese and Japanese put no blanks between words.
        let ideograph =
            matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{20000}'..='\u{3fffd}');
        if !c.is_alphanumeric() && !matches!(c, '\'' | '’') || ideograph {
            words.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
        }
        if ideograph {
            words.push(c.to_string());
        } else if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
    }
    words.extend((!word.is_empty()).then_some(word));
    words
}

/// The form in which a word is compared; nothing for one that says nothing.
fn normal(word: &str) -> Option<String> {
    // Line numbers, counts, ports and ids differ from time to time.
    if word.starts_with(|c: char| c.is_ascii_digit()) || is_hex_id(word) || IGNORED.contains(&word) {
        return None;
    }
    if word.is_ascii() && word.len() < 2 {
        return None;
    }
    let mut names = ONE_NAME.split(' ').filter_map(|name| name.split_once('='));
    Some(stem(names.find(|(as_written, _)| *as_written == word).map_or(word, |(_, name)| name)))
}

fn is_hex_id(word: &str) -> bool {
    word.len() >= SHORTEST_HEX_ID
        && word.bytes().all(|b| b.is_ascii_hexdigit())
        && word.bytes().any(|b| b.is_ascii_digit())
}

/// Takes the commonest endings off. Meant to bring the forms of a word together, not to find its root.
fn stem(word: &str) -> String {
    let mut stem = word;
    for ending in ENDINGS {
        if let Some(rest) = stem.strip_suffix(ending)
            && rest.chars().count() >= 4 - usize::from(*ending == "s")
            && !(*ending == "s" && rest.ends_with(['s', 'u', 'i']))
        {
            stem = rest;
            break;
        }
    }
    let mut stem = stem.to_owned();
    if stem.len() > 4 && stem.ends_with(['e', 'y', 'i']) {
        stem.pop();
    }
    let doubled = stem.bytes().rev().take(2).collect::<Vec<_>>();
    if stem.len() > 4 && doubled.len() == 2 && doubled[0] == doubled[1] && doubled[0].is_ascii_alphabetic() {
        stem.pop();
    }
    stem
}

/// Longest first, so that one comes off at most.
const ENDINGS: &[&str] = &[
    "izations", "ization", "ications", "ication", "ations", "ation", "ating", "ings", "ated", "ions", "ing",
    "ion", "ers", "ies", "ied", "ed", "es", "er", "s",
];

/// Several ways to write one name.
const ONE_NAME: &str = "\
    auth=authentication conf=config configuration=config db=database dir=directory docs=documentation \
    env=environment gh=github golang=go k8s=kubernetes licence=license npmjs=npm pg=postgres postgresql=postgres \
    py=python repo=repository sqlite3=sqlite yml=yaml";

/// Whether a normal form stands in reports of any kind.
fn is_common(word: &str) -> bool {
    static STEMS: LazyLock<BTreeSet<String>> =
        LazyLock::new(|| COMMON.iter().flat_map(|words| words.split(' ')).map(stem).collect());
    // `OperationalError` says no more than `error` does.
    STEMS.contains(word) || word.ends_with("error") || word.ends_with("exception")
}

/// Words of any sentence, and endings of names.
const IGNORED: &[&str] = &[
    "a", "an", "the", "and", "or", "but", "so", "of", "in", "on", "at", "to", "from", "for", "with", "by",
    "as", "into", "onto", "than", "is", "are", "was", "were", "be", "been", "being", "it", "its", "this",
    "that", "these", "those", "there", "here", "i", "we", "you", "they", "their", "our", "my", "do", "does",
    "did", "done", "has", "have", "had", "will", "would", "should", "can", "could", "may", "might", "must",
    "shall", "if", "when", "while", "whether", "what", "which", "who", "whom", "whose", "how", "why",
    "where", "then", "too", "also", "just", "only", "very", "any", "all", "some", "each", "every", "both",
    "always", "never", "now", "again", "still", "com", "org", "net", "io", "www", "http", "https", "rs",
    "js", "ts", "tsx", "sh", "md", "json", "src", "such", "named", "because", "since", "between", "during",
    "after", "before", "since", "about", "no", "not", "without", "per", "via", "out", "up", "one", "am",
    "pm",
];

/// Words that stand in reports of any kind: they say that and how something fails, not what.
const COMMON: [&str; 4] = [
    // that it fails
    "abort broken cannot corrupt crash denied deny down error exception fail failed failure fault \
     fails invalid issue killed missing offline outage panic panicked problem red refused rejected \
     responding timeout timed unable unavailable unreachable unexpected wrong unknown match mismatch \
     trouble lost",
    // how it was met
    "access accept answer answers answering available call code connect connection download exit \
     expected fetch fetching found gateway get got gives instead internal load open pull reach reached \
     reachable read reading report request requests respond response return returned run running runs \
     server service signal status time times try trying update use used using wait works write writing \
     bad many exceed limit rate",
    // where
    "agent api app ci class command core endpoint file files function gate host index job lib library \
     line local localhost main method mod module object package path port process program project \
     script system task test tests thread tool type url user value variable version sandbox staging \
     tenant client",
    // what specifications and reviews say of anything
    "case change clear define defined fix give given handle happen happens hard need nothing policy \
     public required say said says silent spec specification specified specify support undefined \
     unclear word assume assumed behaviour different first new old same set step stored taken two way",
];

#[cfg(test)]
mod tests {
    #![expect(clippy::print_stdout, reason = "the figures are to be seen")]

    use super::*;

    /// Label, the two texts.
    fn pairs(file: &'static str) -> Vec<(bool, &'static str, &'static str)> {
        file.lines()
            .filter(|line| !line.starts_with('#'))
            .map(|line| match line.split('\t').collect::<Vec<_>>()[..] {
                ["same", a, b] => (true, a, b),
                ["other", a, b] => (false, a, b),
                _ => panic!("not a pair: {line}"),
            })
            .collect()
    }

    /// Precision and recall of the threshold on these pairs; what it gets wrong is printed.
    fn judged<'p>(pairs: impl Iterator<Item = &'p (bool, &'static str, &'static str)>) -> (f64, f64) {
        let (mut right, mut said, mut there) = (0.0, 0.0, 0.0);
        for (same, a, b) in pairs {
            let likeness = Topic::of(a).likeness(&Topic::of(b));
            let found = likeness >= SAME_TOPIC;
            there += f64::from(u8::from(*same));
            said += f64::from(u8::from(found));
            right += f64::from(u8::from(*same && found));
            if found != *same {
                println!("{likeness:.2} and {}: {a} | {b}", if *same { "the same" } else { "others" });
            }
        }
        (right / said, right / there)
    }

    #[test]
    fn labelled_topic_pairs_are_distinguished() {
        let chosen_on = pairs(include_str!("pairs.tsv"));
        let held_out = pairs(include_str!("pairs_held_out.tsv"));
        let all: Vec<_> = chosen_on.iter().chain(&held_out).copied().collect();
        assert!(all.len() >= 150, "{}", all.len());
        for same in [true, false] {
            assert!(all.iter().filter(|pair| pair.0 == same).count() >= 60, "too few of one label");
        }
        for (name, some) in [("chosen on", chosen_on), ("held out", held_out), ("all", all)] {
            let (precision, recall) = judged(some.iter());
            println!("{name}, {} pairs: precision {precision:.3}, recall {recall:.3}", some.len());
            assert!(
                precision >= 0.9 && recall >= 0.8,
                "{name}: precision {precision:.3}, recall {recall:.3}"
            );
        }
    }

    #[test]
    fn topic_similarity_is_symmetric_and_a_ratio() {
        let texts = [
            "",
            "!!",
            "timeout",
            "PyPI is down",
            "the test failed",
            "a b c",
            "缺少空列表的测试",
            "3f2a9bc 12",
        ];
        for a in texts {
            let topic = Topic::of(a);
            assert!((topic.likeness(&topic) - 1.0).abs() < 1e-9, "{a:?}");
            for b in texts {
                let likeness = topic.likeness(&Topic::of(b));
                assert!((0.0..=1.0).contains(&likeness), "{likeness} for {a:?} and {b:?}");
                assert!((likeness - Topic::of(b).likeness(&topic)).abs() < 1e-9, "{a:?} {b:?}");
            }
        }
        let same = |a, b| Topic::of(a).is_same(&Topic::of(b));
        assert!(same("timed out", "timeout after 30 s") == same("timeout after 31 s", "timed out"));
    }

    #[test]
    fn topic_name_leaves_out_numbers_and_hashes() {
        assert_eq!(Topic::of("api.github.com returns 502 at 10:42").name(), "github");
        assert_eq!(Topic::of("exit 1").name(), "exit");
        assert_eq!(Topic::of("commit 3f2a9bc of parse_header, line 12").name(), "commit-head-pars");
    }

    #[test]
    fn long_texts_are_cut_at_a_character() {
        let long = "é".repeat(500_000);
        assert!((Topic::of(&long).likeness(&Topic::of(&long)) - 1.0).abs() < 1e-9);
        let many: String = (0..50_000).map(|n| format!("w{n}x ")).collect();
        assert!(Topic::of(&many).words.len() <= MOST_WORDS);
    }
}
