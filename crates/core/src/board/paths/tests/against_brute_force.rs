//! The decisions against a plain reading of the grammar over every path of a small world.
//!
//! There are two worlds, each large enough that whatever two of its patterns have in common shows itself in it:
//! * deep: patterns of three parts, names of two signs; paths of up to five names of two letters;
//! * wide: patterns of one name of five signs; names of up to eight letters.

use std::sync::LazyLock;

use proptest::prelude::*;

use crate::board::paths::{PathPattern, RepoPath, any_overlap, inside};

type World = Vec<Vec<String>>;

static DEEP: LazyLock<World> = LazyLock::new(|| paths_of(&names_up_to(2), 5));
static WIDE: LazyLock<World> = LazyLock::new(|| paths_of(&names_up_to(8), 1));

fn names_up_to(letters: usize) -> Vec<String> {
    let mut names = Vec::new();
    let mut longest = vec![String::new()];
    for _ in 0..letters {
        longest =
            longest.iter().flat_map(|name| ["a", "b"].map(|letter| format!("{name}{letter}"))).collect();
        names.extend(longest.iter().cloned());
    }
    names
}

fn paths_of(names: &[String], depth: usize) -> World {
    let mut paths = World::new();
    let mut longest: World = vec![Vec::new()];
    for _ in 0..depth {
        let longer = |path: &Vec<String>, name: &String| path.iter().chain([name]).cloned().collect();
        longest = longest.iter().flat_map(|path| names.iter().map(move |name| longer(path, name))).collect();
        paths.extend(longest.iter().cloned());
    }
    paths
}

/// The grammar, read directly; exponential, so only for short texts.
fn reads(pattern: &[&str], path: &[&str]) -> bool {
    match (pattern.split_first(), path.split_first()) {
        (None, rest) => rest.is_none(),
        (Some((&"**", [])), rest) => rest.is_some(),
        (Some((&"**", more)), rest) => {
            reads(more, path) || rest.is_some_and(|(_, shorter)| reads(pattern, shorter))
        }
        (Some((name, more)), Some((first, shorter))) => {
            reads_name(name.as_bytes(), first.as_bytes()) && reads(more, shorter)
        }
        (Some(_), None) => false,
    }
}

fn reads_name(pattern: &[u8], name: &[u8]) -> bool {
    match (pattern.split_first(), name.split_first()) {
        (None, rest) => rest.is_none(),
        (Some((b'*', more)), rest) => {
            reads_name(more, name) || rest.is_some_and(|(_, shorter)| reads_name(pattern, shorter))
        }
        (Some((b'?', more)), Some((_, shorter))) => reads_name(more, shorter),
        (Some((letter, more)), Some((first, shorter))) => letter == first && reads_name(more, shorter),
        (Some(_), None) => false,
    }
}

/// `dir/` is `dir/**`.
fn names_of(pattern: &str) -> Vec<&str> {
    let mut names: Vec<&str> = pattern.split('/').collect();
    if names.last() == Some(&"") {
        names.pop();
        names.push("**");
    }
    names
}

fn reads_path(pattern: &str, path: &str) -> bool {
    reads(&names_of(pattern), &path.split('/').collect::<Vec<_>>())
}

fn is_written_out(pattern: &[&str]) -> bool {
    !pattern.iter().any(|name| name.contains(['*', '?']))
}

/// One is a literal file name, and the other continues below it.
fn is_in_the_way(file: &[&str], other: &[&str]) -> bool {
    is_written_out(file) && other.starts_with(file)
}

fn overlap_in(world: &World, a: &str, b: &str) -> bool {
    let (a, b) = (a.to_lowercase(), b.to_lowercase());
    let (a, b) = (names_of(&a), names_of(&b));
    is_in_the_way(&a, &b)
        || is_in_the_way(&b, &a)
        || world.iter().any(|path| {
            let path: Vec<&str> = path.iter().map(String::as_str).collect();
            reads(&a, &path) && reads(&b, &path)
        })
}

fn agrees_with(world: &World, a: &str, b: &str) -> Result<(), TestCaseError> {
    let (one, other) = (PathPattern::new(a).unwrap(), PathPattern::new(b).unwrap());
    let (a, b) = (a.trim_start_matches("./"), b.trim_start_matches("./"));
    let expected = overlap_in(world, a, b);
    let example = one.overlaps(&other);
    prop_assert_eq!(example.is_some(), expected, "{} and {}: {:?}", one, other, example);
    prop_assert_eq!(other.overlaps(&one).is_some(), expected);
    let lists = [std::slice::from_ref(&one), std::slice::from_ref(&other)];
    prop_assert_eq!(any_overlap(lists[0], lists[1]).is_some(), expected);
    if let Some(example) = example {
        let example: Vec<&str> = example.split('/').collect();
        for text in [a, b] {
            let text = text.to_lowercase();
            let names = names_of(&text);
            let fits = reads(&names, &example) || is_in_the_way(&names, &example);
            prop_assert!(fits, "{} has nothing to do with {:?}", text, example);
        }
    }
    Ok(())
}

fn some_name(longest: usize) -> impl Strategy<Value = String> {
    let sign = prop_oneof![3 => Just("a"), 3 => Just("b"), 1 => Just("A"), 2 => Just("?"), 3 => Just("*")];
    prop::collection::vec(sign, 1..=longest).prop_map(|signs| one_star_each(&signs.concat()))
}

/// Two stars side by side mean the same as one, and the grammar does not allow them inside a name.
fn one_star_each(name: &str) -> String {
    let mut signs: Vec<char> = name.chars().collect();
    signs.dedup_by(|sign, before| *sign == '*' && *before == '*');
    signs.into_iter().collect()
}

fn some_pattern() -> impl Strategy<Value = String> {
    let part = prop_oneof![4 => some_name(2), 1 => Just("**".to_owned())];
    (prop::collection::vec(part, 1..=3), any::<bool>(), any::<bool>()).prop_map(|(parts, dir, dotted)| {
        // Two names and a directory are as deep as three names.
        let parts = if dir { &parts[..parts.len().min(2)] } else { &parts[..] };
        format!("{}{}{}", if dotted { "./" } else { "" }, parts.join("/"), if dir { "/" } else { "" })
    })
}

const ODD_LETTERS: &[char] = &[
    'ß', 'ẞ', 's', 'S', 'ſ', 'ﬁ', 'f', 'i', 'I', 'ı', 'İ', 'σ', 'ς', 'Σ', 'ŉ', 'é', 'É', '❤', '\u{fe0f}',
    'ǆ', 'ǅ',
];

fn some_path() -> impl Strategy<Value = String> {
    let name = prop::collection::vec(prop_oneof![4 => Just("a"), 3 => Just("b"), 1 => Just("A")], 1..=4);
    prop::collection::vec(name.prop_map(|letters| letters.concat()), 1..=5).prop_map(|names| names.join("/"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: crate::testing::sweep(1_000, 10_000), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn overlap_of_deep_patterns_is_exact(a in some_pattern(), b in some_pattern()) {
        agrees_with(&DEEP, &a, &b)?;
    }

    #[test]
    fn overlap_of_wide_patterns_is_exact(a in some_name(5), b in some_name(5)) {
        agrees_with(&WIDE, &a, &b)?;
    }

    #[test]
    fn matching_is_exact(text in some_pattern(), file in some_path()) {
        let pattern = PathPattern::new(&text).unwrap();
        let path = RepoPath::new(&file).unwrap();
        let expected = reads_path(text.trim_start_matches("./"), &file);
        prop_assert_eq!(pattern.matches(&path), expected, "{} and {}", pattern, path);
        prop_assert_eq!(inside(&path, &[pattern]), expected);
    }

    /// If both patterns allow a file, their overlap was reported before.
    #[test]
    fn no_file_is_granted_twice(a in some_pattern(), b in some_pattern(), file in some_path()) {
        let (one, other) = (PathPattern::new(&a).unwrap(), PathPattern::new(&b).unwrap());
        let path = RepoPath::new(&file).unwrap();
        if one.matches(&path) && other.matches(&path) {
            prop_assert!(one.overlaps(&other).is_some(), "{} and {} both have {}", one, other, path);
        }
    }

    /// The same with letters that have several cases, forms or no width, where folding could fail.
    #[test]
    fn no_file_of_odd_letters_is_granted_twice(
        letters in prop::collection::vec((prop::sample::select(ODD_LETTERS), 0..5, 0..5), 1..=6),
    ) {
        let file: String = letters.iter().map(|(letter, _, _)| *letter).collect();
        let wild = |letter: char, how: i32| if how == 0 { '?' } else if how == 1 { '*' } else { letter };
        let one: String = letters.iter().map(|&(letter, how, _)| wild(letter, how)).collect();
        let other: String = letters.iter().map(|&(letter, _, how)| wild(letter, how)).collect();
        let pattern = |text: &str| PathPattern::new(&one_star_each(text)).unwrap();
        let path = RepoPath::new(&file).unwrap();
        prop_assert!(pattern(&one).matches(&path) && pattern(&other).matches(&path));
        prop_assert!(pattern(&one).overlaps(&pattern(&other)).is_some(), "{} and {}", one, other);
        prop_assert!(any_overlap(&[pattern(&one)], &[pattern(&other)]).is_some());
        let shouted = file.to_uppercase();
        if let Ok(shouted) = PathPattern::new(&shouted) {
            prop_assert!(pattern(&file).overlaps(&shouted).is_some(), "{} and {}", file, shouted);
        }
    }

    #[test]
    fn any_text_is_accepted_stably_or_refused(text in "\\PC{0,12}|[a./*?~ :-]{0,12}|(\\.git|\\.liza|a|\\.|\\*|/){0,6}") {
        if let Ok(pattern) = PathPattern::new(&text) {
            prop_assert_eq!(PathPattern::new(pattern.as_str()), Ok(pattern.clone()));
            prop_assert!(pattern.overlaps(&pattern).is_some());
        }
        if let Ok(path) = RepoPath::new(&text) {
            prop_assert_eq!(RepoPath::new(path.as_str()), Ok(path.clone()));
            let leaves = |name: &str| [".", "..", ""].contains(&name) || name.eq_ignore_ascii_case(".git");
            prop_assert!(!path.as_str().split('/').any(leaves));
        }
    }
}
