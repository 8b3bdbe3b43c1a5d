//! Hostile and mistaken texts.

use crate::board::paths::{PathError, PathPattern, RepoPath};

/// Texts that are neither path nor pattern on any file system.
const HOSTILE: &[&str] = &[
    "",
    ".",
    "./",
    "././.",
    "..",
    "../a",
    "a/..",
    "a/../b",
    "a/../../b",
    "./../a",
    "a/b/..",
    "..a/../..",
    "a/.. /b",
    "...",
    "a/.. ./b",
    "../",
    "/",
    "/etc/passwd",
    "//server/share",
    "/./a",
    "C:/x",
    "c:x",
    "C:\\x",
    "\\\\server\\share",
    "\\\\?\\C:\\x",
    "a\\b",
    "a\\..\\b",
    ".\\a",
    ".git",
    ".git/",
    ".git/config",
    ".GIT",
    ".Git/hooks/x",
    ".git ",
    ".Git ",
    ".git.",
    ".git. . ",
    ".git::$INDEX_ALLOCATION",
    ".git:x/config",
    "a/.git",
    "a/.GIT/config",
    "sub/.git./x",
    "git~1",
    "GIT~1/config",
    "git~2",
    "git~1.",
    "a/git~1/hooks",
    ".g\u{200c}it",
    ".git\u{feff}/x",
    "\u{200d}.git",
    ".gi\u{202e}t",
    "./.git/x",
    ".//.git",
    ".liza",
    ".liza/",
    ".liza/state.yaml",
    ".LIZA/x",
    ".Liza ",
    ".liza.",
    "./.liza/x",
    "liza~1/x",
    ".worktrees",
    ".WorkTrees/t1/a",
    "worktr~1",
    "a\0b",
    "\0",
    "a\nb",
    "a\rb",
    "a\tb",
    "a\u{1b}[2Jb",
    "a\u{7f}",
    "a\u{85}b",
    "a\u{202e}b",
    "a\u{2066}b",
    "a\u{200b}b",
    "a\u{2060}b",
    "a\u{feff}b",
    "a\u{2028}b",
    "a\u{e0041}b",
    "a\u{ad}b",
    "a\u{ffff}b",
    "a\u{61c}b",
    "e\u{301}.txt",
    "A\u{30a}",
    "\u{212b}",
    "\u{304b}\u{3099}",
    "\u{1112}\u{1161}\u{11ab}",
    "\u{f900}",
    "\u{9c7}\u{9be}",
];

#[test]
fn hostile_texts_are_neither_path_nor_pattern() {
    assert!(HOSTILE.len() >= 40);
    for text in HOSTILE {
        assert!(RepoPath::new(text).is_err(), "{text:?} was accepted as a path");
        assert!(PathPattern::new(text).is_err(), "{text:?} was accepted as a pattern");
        let stored = serde_json::to_string(text).unwrap();
        assert!(serde_json::from_str::<RepoPath>(&stored).is_err(), "{text:?} was read as a path");
        assert!(serde_json::from_str::<PathPattern>(&stored).is_err(), "{text:?} was read as a pattern");
    }
}

#[test]
fn each_refusal_says_what_is_wrong() {
    for (text, expected) in [
        ("", PathError::Empty),
        ("./", PathError::Empty),
        ("/a", PathError::Absolute),
        ("C:/a", PathError::Absolute),
        ("a/../b", PathError::Dots),
        ("A/.GIT/x", PathError::Private("git")),
        (".Liza", PathError::Private("liza")),
        ("a\\b", PathError::Backslash),
        ("a\u{1b}", PathError::Unseen('\u{1b}')),
        ("e\u{301}", PathError::TwoSpellings('\u{301}')),
        (&"a/".repeat(2049), PathError::TooLong),
        (&"a".repeat(256), PathError::NameTooLong),
    ] {
        assert_eq!(RepoPath::new(text).unwrap_err(), expected, "{text:?}");
        assert_eq!(PathPattern::new(text).unwrap_err(), expected, "{text:?}");
    }
    for text in ["a**", "**.rs", "a/***/b", "a/x**y/b"] {
        assert_eq!(PathPattern::new(text).unwrap_err(), PathError::StarsInsideName, "{text:?}");
    }
    for text in ["a/", "a/b//", "a/."] {
        assert_eq!(RepoPath::new(text).unwrap_err(), PathError::Directory, "{text:?}");
    }
}

/// Messages go to terminals and into JSON, where the character must have no effect.
#[test]
fn refusals_show_invisible_characters_escaped() {
    assert!(PathError::Unseen('\u{202e}').to_string().contains("`\\u{202e}`"));
    let message = serde_json::from_str::<PathPattern>("\"a\\u001b[2J\"").unwrap_err().to_string();
    assert!(message.starts_with("`a\\u{1b}[2J` cannot be a path pattern:"), "{message}");
}

#[test]
fn wildcards_reach_nothing_private() {
    for text in ["*", "**", ".gi?", ".g*/config", ".liz?/x", ".*/"] {
        assert!(PathPattern::new(text).is_ok(), "{text:?}");
    }
    for text in [".git/config", ".liza/x"] {
        assert!(RepoPath::new(text).is_err(), "{text:?}");
    }
}

#[test]
fn ordinary_names_are_accepted() {
    for text in [
        "a",
        "src/main.rs",
        "-a",
        "--help",
        "~",
        "~/a",
        "a~1",
        "a b/c d.txt",
        " a",
        "é.txt",
        "日本/か.md",
        "हिन्दी.md",
        "한글.txt",
        "ελληνικά",
        "🦀\u{fe0f}.rs",
        ".gitignore",
        ".github/workflows/ci.yml",
        ".gitmodules",
        "a/.liza",
        "liza.yaml",
        "a/.worktrees/b",
        "digit~1",
        "[id].tsx",
        "{a,b}",
        "!a",
        "ab:c",
        "#a",
        "$(id)",
        "a;b",
        "a|b",
        "..a",
        "a..b",
        ".a",
        "a.",
        "src/...a",
        "git",
        "GIT",
        "con",
        "a'b\"c`d",
    ] {
        assert_eq!(RepoPath::new(text).map(|path| path.to_string()), Ok(text.to_owned()));
        assert_eq!(PathPattern::new(text).map(|pattern| pattern.to_string()), Ok(text.to_owned()));
    }
}
