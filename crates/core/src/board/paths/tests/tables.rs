//! Examples of the grammar.

use crate::board::paths::{PathPattern, RepoPath, any_overlap, inside};

fn pattern(text: &str) -> PathPattern {
    PathPattern::new(text).unwrap()
}

fn patterns(texts: &[&str]) -> Vec<PathPattern> {
    texts.iter().map(|text| pattern(text)).collect()
}

fn path(text: &str) -> RepoPath {
    RepoPath::new(text).unwrap()
}

#[test]
fn patterns_have_one_canonical_text() {
    for (text, canonical) in [
        ("./a", "a"),
        ("a//b", "a/b"),
        ("a/./b", "a/b"),
        ("././a/.//b", "a/b"),
        ("a/", "a/"),
        ("a//", "a/"),
        ("a/.", "a/"),
        ("a/**", "a/"),
        ("a/**/", "a/"),
        ("a/**/**", "a/"),
        ("a/**/**/b", "a/**/b"),
        ("**", "**"),
        ("**/", "**"),
        ("./**", "**"),
        ("**/**", "**"),
        ("**/a", "**/a"),
        ("*/", "*/"),
        ("*/**", "*/"),
    ] {
        assert_eq!(pattern(text).as_str(), canonical, "{text}");
        assert_eq!(pattern(canonical).as_str(), canonical, "{canonical} is not stable");
    }
    assert_eq!(path(".//a/./b").as_str(), "a/b");
    let stored = serde_json::to_string(&pattern("./src/**")).unwrap();
    assert_eq!(stored, "\"src/\"");
    assert_eq!(serde_json::from_str::<PathPattern>(&stored).unwrap(), pattern("src/"));
}

#[test]
fn patterns_match_listed_paths() {
    for (text, yes, no) in [
        (
            "src/main.rs",
            &["src/main.rs", "./src//main.rs"][..],
            &["src/main", "src/main.rs/x", "main.rs"][..],
        ),
        ("src/", &["src/a", "src/a/b"], &["src", "srcs/a", "a/src/b", "SRC/a"]),
        ("src/**", &["src/a", "src/a/b"], &["src"]),
        ("**", &["a", "a/b/c"], &[]),
        ("*", &["a", ".hidden"], &["a/b"]),
        ("*.rs", &["a.rs", ".rs", "a.b.rs"], &["a.rss", "a/b.rs", "A.RS"]),
        ("?.rs", &["a.rs", "é.rs"], &[".rs", "ab.rs"]),
        ("**/a", &["a", "x/a", "x/y/a"], &["a/x", "xa"]),
        ("a/**/b", &["a/b", "a/x/b", "a/x/y/b"], &["a", "b", "a/xb", "ab"]),
        ("a/*/b", &["a/x/b"], &["a/b", "a/x/y/b"]),
        ("*/", &["a/b", "a/b/c"], &["a"]),
        ("**/t*/**", &["t/a", "x/tests/a/b"], &["t", "x/tests"]),
        ("a*b*c", &["abc", "axxbyyc", "abcbc"], &["ab", "acb"]),
        ("[id].tsx", &["[id].tsx"], &["i.tsx"]),
        ("é*", &["été"], &["ete"]),
    ] {
        for path_text in yes {
            assert!(pattern(text).matches(&path(path_text)), "{text} should match {path_text}");
        }
        for path_text in no {
            assert!(!pattern(text).matches(&path(path_text)), "{text} should not match {path_text}");
        }
    }
}

/// A file may be named `a*b`; only in a pattern is `*` a wildcard.
#[test]
fn stars_in_a_path_are_letters() {
    assert!(pattern("a?b").matches(&path("a*b")));
    assert!(!pattern("axb").matches(&path("a*b")));
    assert!(!pattern("a??b").matches(&path("a*b")));
}

#[test]
fn listed_patterns_overlap() {
    for (a, b) in [
        ("a", "a"),
        ("a", "A"),
        ("Src/", "src/main.rs"),
        ("a/b", "A/*"),
        ("é", "É"),
        ("ſ", "s"),
        ("σ", "ς"),
        ("straße", "STRASSE"),
        ("STRAẞE", "strasse"),
        ("straße", "stra?e"),
        ("straße", "stra??e"),
        ("ﬁle", "file"),
        ("❤\u{fe0f}.md", "❤.md"),
        ("❤\u{fe0f}.md", "??.md"),
        ("❤\u{fe0f}.md", "?.md"),
        ("./a", "a"),
        ("a", "a/"),
        ("a", "a/b"),
        ("a", "A/b/c"),
        ("a/b", "A/b/*/c"),
        ("a/", "a/b/"),
        ("a/", "a/**"),
        ("**", "a"),
        ("**/x.rs", "src/"),
        ("src/**/x.rs", "src/x.rs"),
        ("src/*.rs", "src/main.*"),
        ("a*c", "ab*"),
        ("**/a/**", "b/**/c"),
        ("*", "*"),
        ("?", "*"),
        ("*/", "**/a"),
    ] {
        let example = pattern(a).overlaps(&pattern(b));
        assert!(example.is_some(), "{a} and {b} should overlap");
        assert!(pattern(b).overlaps(&pattern(a)).is_some(), "{b} and {a} should overlap");
        assert!(any_overlap(&patterns(&["zz", a]), &patterns(&[b])).is_some(), "{a} and {b} in lists");
    }
}

#[test]
fn listed_patterns_do_not_overlap() {
    for (a, b) in [
        ("a", "b"),
        ("a", "ab"),
        ("a/", "ab/"),
        ("a/b", "a/c"),
        ("src/*.rs", "src/*.md"),
        ("src/*", "src/deep/"),
        ("src/*", "src/deep/a.rs"),
        ("*", "a/b"),
        ("?", "ab"),
        ("a?c", "ab"),
        ("*/a", "a"),
        ("**/a.rs", "**/b.rs"),
        ("**/mod.rs", "README.md"),
        ("**/*.md", "src/main.rs"),
        ("a/b", "a/*/c"),
        ("*/tests", "x/tests/a.rs"),
        ("a/**/b", "a/**/c"),
        ("a*b", "b*a"),
        ("é", "e"),
    ] {
        assert_eq!(pattern(a).overlaps(&pattern(b)), None, "{a} and {b}");
        assert_eq!(pattern(b).overlaps(&pattern(a)), None, "{b} and {a}");
        assert_eq!(any_overlap(&patterns(&[a]), &patterns(&[b])), None, "{a} and {b} in lists");
    }
}

#[test]
fn overlap_shows_an_example_path() {
    for (a, b, example) in [
        ("src/", "SRC/main.rs", "src/main.rs"),
        ("src/*.rs", "src/main.*", "src/main.rs"),
        ("a", "a/", "a/x"),
        ("*", "*", "x"),
        ("a/**/z", "**/m/*", "a/m/z"),
    ] {
        assert_eq!(pattern(a).overlaps(&pattern(b)).as_deref(), Some(example), "{a} and {b}");
    }
}

#[test]
fn pattern_lists_cover_and_overlap() {
    let ours = patterns(&["docs/", "src/board/", "*.md"]);
    let theirs = patterns(&["src/text/", "README.MD", "tests/"]);
    assert_eq!(any_overlap(&ours, &theirs), Some((&ours[2], &theirs[1])));
    assert_eq!(any_overlap(&ours, &[]), None);
    assert_eq!(any_overlap(&[], &theirs), None);
    assert!(inside(&path("src/board/paths.rs"), &ours));
    assert!(!inside(&path("src/lib.rs"), &ours));
    assert!(!inside(&path("a"), &[]));
}

#[test]
fn many_stars_are_matched_quickly() {
    let deep = "**/a/".repeat(30);
    let stars = "*a".repeat(30);
    let (one, other) = (pattern(&format!("{deep}{stars}b")), pattern(&format!("{deep}{stars}c")));
    assert_eq!(one.overlaps(&other), None);
    assert!(one.overlaps(&one).is_some());
    let long = path(&format!("{}{}", "a/".repeat(1500), "a".repeat(200)));
    assert!(!one.matches(&long));
    let widest = pattern(&"*a/".repeat(1365));
    assert!(widest.overlaps(&pattern(&"*b/".repeat(1365))).is_none());
}

#[test]
fn long_literal_lists_are_matched_quickly() {
    let named =
        |root: &str| (0..1000).map(|n| pattern(&format!("{root}/dir{n}/file.rs"))).collect::<Vec<_>>();
    let (ours, theirs) = (named("ours"), named("theirs"));
    assert_eq!(any_overlap(&ours, &theirs), None);
    assert!(any_overlap(&ours, &ours[999..]).is_some());
}
