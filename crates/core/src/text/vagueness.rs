//! Whether a reviewer can check a criterion, or whether it is vague.
//!
//! No reading of minds: it weighs things that can be measured (a command, a number, a file, a quoted output, what a program
//! returns, refuses or prints) against words that mean something else to each reader. `vagueness/labelled.tsv` is the yardstick.

/// Words that promise something without naming it.
const EMPTY: &str = "\
    acceptable accordingly adequate adequately appropriate appropriately better clean cleaned cleaner \
    cleanup consistently correctly easily easy effective efficient efficiently elegant enhance \
    enhanced everything fast faster fine flexible friendly good graceful gracefully high-quality \
    improve improved improvement improvements improves intuitive maintainable meaningful modern nice \
    nicely optimal optimise optimised optimize optimized performant polished production-ready proper \
    properly readable reasonable reasonably reliable reliably responsive robust robustly scalable \
    seamless seamlessly secure sensible simple smooth smoothly solid stable sufficient sufficiently \
    suitable thorough thoroughly useful user-friendly various well well-structured well-tested \
    well-documented works";

/// Phrases with the same effect.
const EMPTY_PHRASES: &str = "\
    all cases, and so on, as appropriate, as expected, as needed, as required, best practice, \
    edge cases, etc, if necessary, if needed, important parts, into account, where appropriate, \
    where possible";

/// Terms that contain such a word but have one meaning.
const TERMS: &str = "\
    clean checkout, clean clone, clean working tree, fast forward, fast-forward, secure attribute, \
    secure cookie, secure flag, sort is stable, sorting is stable, sorts stably, stable order, \
    stable sort";

/// Verbs that mean something with a specific object, and nothing with one of `GENERAL`.
const CAPABLE: &str = "can handle handled handles support supported supports";

const GENERAL: &str = "\
    anything case cases conditions error errors everything exceptions failures formats input inputs \
    issues it problems scenarios situations things timeouts whatever";

/// Actions of a program that a reviewer can observe, unless an empty word goes with them.
const OBSERVABLE: &str = "\
    accepted accepts adds answers appears asks begins contains created creates defaults deleted \
    deletes disabled dropped drops emits ends equal equals exists exits expires fails finds gives \
    ignored ignores keep keeps killed leaves lists logged matches names opens outputs passes prints \
    raises reads redirects refused refuses rejected rejects removed removes renders reported reports \
    responds retries returns rolls sends shows skipped skips sorted starts stays stops stored stores \
    throws unchanged warns writes yields";

/// Programs whose name in a criterion means that they are to be run.
const COMMANDS: &str = "\
    bash cargo clippy curl docker eslint git go gradle jest kubectl make mvn mypy node npm pnpm pytest \
    ruff shellcheck tox tsc yarn";

/// Numbers, and words that bound like a number.
const COUNTS: &str = "\
    both each every exactly four never no none nothing once one only three twice two zero";

/// The evidence for and against a criterion.
#[derive(Debug, Default)]
pub struct Weighed {
    /// Commands, numbers, names of files and things, quoted text.
    pub measurable: usize,
    /// Observable actions of a program.
    pub observable: usize,
    /// A bound or a count in words.
    pub counted: usize,
    /// The empty words, as written.
    pub empty: Vec<String>,
}

impl Weighed {
    pub fn of(criterion: &str) -> Self {
        let mut weighed = Self { measurable: quoted_parts(criterion), ..Self::default() };
        let mut lower = criterion.to_lowercase();
        for term in TERMS.split(", ") {
            if has_phrase(&lower, term) {
                weighed.measurable += 1;
                lower = lower.replace(term, " ");
            }
        }
        let plain = |raw: &str| trimmed(raw).to_lowercase();
        let left: Vec<String> = lower.split_whitespace().map(plain).collect();
        let in_term = |word: &String| !left.contains(word);
        let is_general = left.iter().any(|word| has_word(GENERAL, word));
        let phrases = EMPTY_PHRASES.split(", ").filter(|phrase| has_phrase(&lower, phrase));
        weighed.empty.extend(phrases.map(str::to_owned));
        for (at, raw) in criterion.split_whitespace().enumerate() {
            let word = trimmed(raw);
            let low = word.to_lowercase();
            if in_term(&low) {
                continue;
            } else if has_word(EMPTY, &low) {
                weighed.empty.push(low);
            } else if has_word(CAPABLE, &low) {
                weighed.observable += usize::from(!is_general);
            } else if is_measure(word, at == 0) || has_word(COMMANDS, &low) && low == word && at == 0 {
                weighed.measurable += 1;
            } else if has_word(OBSERVABLE, &low) {
                weighed.observable += 1;
            } else if has_word(COUNTS, &low) {
                weighed.counted += 1;
            }
        }
        weighed
    }

    /// An empty word needs something measurable to outweigh it; without anything measurable or observable, the
    /// criterion is vague anyway.
    pub fn is_vague(&self) -> bool {
        if self.empty.is_empty() {
            return self.measurable + self.observable + self.counted / 2 == 0;
        }
        2 * self.measurable + self.observable <= 2 * self.empty.len()
    }
}

pub fn is_vague(criterion: &str) -> bool {
    Weighed::of(criterion).is_vague()
}

/// Words of an intent that say that something is done, but not what.
const GENERIC: &str = "\
    a about add adjust all alter an and any app application apply area as at be behaviour behavior bit bug \
    bugs by change changes chore clean cleanup code codebase complete component components continue create \
    deal develop do docs done edit feature features file files finish fix fixes for from functionality \
    general handle implement implementation improve in into is issue issues it job logic make making modify \
    module modules more new of on our out part parts performance problem problems program project quality \
    refactor refactoring repo repository required requirements requested rework rewrite should software \
    solution some spec specification specified start story structure stuff system task test tests that the them \
    these thing things this ticket tidy to try up update updates use various way we what with work working \
    write";

/// Whether an intent names nothing that a reviewer could observe. An intent is written before the work, in fewer words
/// than a criterion: any named thing is enough, unless a word such as *improve* empties it and nothing outweighs that.
pub fn is_weak_intent(intent: &str) -> bool {
    // The first word of an intent is a verb: `make` and `go` are no commands there.
    let weighed = Weighed::of(&format!("to {intent}"));
    let words: Vec<String> = intent.split_whitespace().map(|word| trimmed(word).to_lowercase()).collect();
    let shows = |word: &String| has_word(OBSERVABLE, word) || has_word(OBSERVABLE, &format!("{word}s"));
    if weighed.measurable > 0 || words.iter().any(shows) {
        return false;
    }
    let says = |word: &&String| !word.is_empty() && !has_word(GENERIC, word) && !has_word(EMPTY, word);
    let named = words.iter().filter(says).count();
    if weighed.empty.is_empty() { named == 0 } else { named < 3 }
}

/// A number, a path, a flag, an identifier or an abbreviation of a protocol: a word with one meaning.
fn is_measure(word: &str, first: bool) -> bool {
    let has_digit = word.chars().any(|c| c.is_ascii_digit());
    let letters: Vec<char> = word.chars().filter(|c| c.is_alphabetic()).collect();
    let is_flag = word.starts_with("--") && letters.len() > 1;
    let is_path = word.contains('/') && word.len() > 2 && !word.starts_with("and/");
    let is_file = word.rsplit_once('.').is_some_and(|(name, ending)| {
        !name.is_empty()
            && (1..=5).contains(&ending.len())
            && ending.chars().all(|c| c.is_ascii_alphanumeric())
    });
    let is_identifier = word.contains('_') && letters.len() > 1;
    let is_camel =
        !first && word.chars().skip(1).any(char::is_uppercase) && word.chars().any(char::is_lowercase);
    has_digit || is_flag || is_path || is_file || is_identifier || is_camel
}

/// How many non-empty parts are in backquotes or double quotes.
fn quoted_parts(text: &str) -> usize {
    ['`', '"']
        .iter()
        .map(|mark| text.split(*mark).skip(1).step_by(2).filter(|part| !part.trim().is_empty()).count())
        .sum()
}

fn trimmed(raw: &str) -> &str {
    raw.trim_matches(|c: char| !c.is_alphanumeric() && !"-_/.%".contains(c)).trim_end_matches('.')
}

fn has_word(list: &str, word: &str) -> bool {
    list.split(' ').any(|listed| listed == word)
}

fn has_phrase(lower: &str, phrase: &str) -> bool {
    let boundary = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
    lower.match_indices(phrase).any(|(at, _)| {
        boundary(lower[..at].chars().next_back())
            // "best practices" and "edge cases" are the same in the plural.
            && boundary(lower[at + phrase.len()..].trim_start_matches('s').chars().next())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LABELLED: &str = include_str!("vagueness/labelled.tsv");

    const FOUND: &str = include_str!("vagueness/found.tsv");

    fn labelled() -> Vec<(bool, &'static str)> {
        rows_of(LABELLED)
    }

    fn rows_of(text: &'static str) -> Vec<(bool, &'static str)> {
        text.lines()
            .filter(|line| !line.starts_with('#') && !line.is_empty())
            .map(|line| {
                let (label, text) = line.split_once('\t').expect("a label and a text");
                assert!(matches!(label, "vague" | "checkable"), "{label}");
                (label == "vague", text)
            })
            .collect()
    }

    /// Precision and recall of the vague label, and the texts it gets wrong.
    fn score(rows: &[(bool, &str)]) -> (f64, f64, Vec<String>) {
        let (mut hit, mut called, mut are, mut wrong) = (0.0, 0.0, 0.0, Vec::new());
        for (vague, text) in rows {
            let says = is_vague(text);
            called += f64::from(u8::from(says));
            are += f64::from(u8::from(*vague));
            hit += f64::from(u8::from(says && *vague));
            if says != *vague {
                wrong.push(format!("{text:?} is {}", if *vague { "vague" } else { "checkable" }));
            }
        }
        (hit / called, hit / are, wrong)
    }

    #[test]
    #[expect(clippy::print_stdout, reason = "after a change of the word lists, the numbers show its effect")]
    fn labelled_vague_texts_are_recognised() {
        let all = labelled();
        let vague = all.iter().filter(|(vague, _)| *vague).count();
        assert!(
            all.len() >= 80 && vague * 2 >= all.len() - 4 && vague * 2 <= all.len() + 4,
            "{vague} of {}",
            all.len()
        );
        let held_out: Vec<_> =
            all.iter().enumerate().filter(|(at, _)| at % 3 == 2).map(|(_, row)| *row).collect();
        let seen: Vec<_> =
            all.iter().enumerate().filter(|(at, _)| at % 3 != 2).map(|(_, row)| *row).collect();
        // Found wrong after the first were labelled: they were inspected, so they say nothing about the held-out ones.
        let found: Vec<_> = rows_of(FOUND);
        for (name, rows) in [("seen", seen), ("held out", held_out), ("found", found)] {
            let (precision, recall, wrong) = score(&rows);
            println!("{name}: {} criteria, precision {precision:.3}, recall {recall:.3}", rows.len());
            assert!(precision >= 0.9, "{name}: precision {precision:.3}; {wrong:#?}");
            assert!(recall >= 0.8, "{name}: recall {recall:.3}; {wrong:#?}");
        }
    }

    #[test]
    fn intent_without_anything_observable_is_weak() {
        for text in [
            "improve the code",
            "Refactor the codebase",
            "make the code better",
            "fix all the bugs",
            "implement the task as specified",
            "work on the feature",
            "Improve performance",
            "clean up the parser properly",
        ] {
            assert!(is_weak_intent(text), "{text}");
        }
        for text in [
            "Implement greeting function with --name argument",
            "greet accepts --name",
            "Add a retry to the importer",
            "Improve the error of an unknown flag: print the usage",
            "split the parser into lexer and grammar",
            "make the greeting shout",
            "The cache drops its oldest entry",
            "rename Config to Settings",
            "Fix the crash on empty names",
        ] {
            assert!(!is_weak_intent(text), "{text}: {:?}", Weighed::of(text));
        }
    }

    #[test]
    fn measurable_text_outweighs_a_vague_word() {
        assert!(is_vague("fast"));
        assert!(!is_vague("fast: `bench parse` stays under 20 ms"));
        assert!(is_vague("returns proper errors"));
        assert!(!is_vague("returns an error for an empty name"));
        assert!(is_vague(""));
        for (vague, text) in [
            (false, "Users can log in with their Google account"),
            (false, "The parser handles nested comments"),
            (false, "Dropping a table asks for confirmation first"),
            (false, "Stable sort: equal keys keep their order"),
            (true, "Everything passes"),
            (true, "The page works in 2026"),
        ] {
            assert_eq!(is_vague(text), vague, "{text}: {:?}", Weighed::of(text));
        }
        assert_eq!(Weighed::of("as expected, etc.").empty, ["as expected", "etc"]);
        assert!(has_phrase("best practices, where possible", "best practice"));
        assert!(!has_phrase("fetch it", "etc"));
    }
}
