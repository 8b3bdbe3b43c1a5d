//! Retired words (CONTRIBUTING.md, "Retired words") stay out of the text that users and agents read.

use std::collections::BTreeMap;
use std::path::Path;

use super::{all_sources, is_of_tests, read, root, without_tests};

/// Retired words that stay: an agent id that cannot be registered, a JSON key, a file; and `specs/vision.md` as `init`
/// wrote it, which is compared with the template to see whether a person has edited it.
const NAMES: [(&str, usize); 4] = [
    ("specs/architecture/roles.md", 1),
    ("specs/cli.md", 2),
    ("specs/protocols/watch.md", 1),
    ("templates/vision.md", 1),
];

/// How many retired words a directory still has. Lower a number when its directory has fewer; never raise one.
/// A path that is in neither list may have none. `LIZA_RETIRED=1 … -- --nocapture` prints each use.
const ALLOWED: [(&str, usize); 5] = [
    // A reserved agent id, and texts that rules write on the board: a journal must replay to the same board.
    ("crates/core/src/board", 7),
    // The same agent id, and the name of a file.
    ("crates/core/src/wire", 1),
    ("crates/machine/src/store", 1),
    // A value of `liza watch --json`, and a trailer of merge commits.
    ("src/cli", 1),
    ("src/flow", 1),
];

fn allowances() -> impl Iterator<Item = (&'static str, usize)> {
    NAMES.into_iter().chain(ALLOWED)
}

/// Whole files that users and agents read. A golden file is what the program prints, help pages included (`tests/cli/golden.rs`).
const PAGES: [&str; 7] =
    ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs", "specs", "templates", "tests/golden"];

const TABLE: [&str; 2] = ["<!-- retired:begin -->", "<!-- retired:end -->"];

/// The retired words: first cells of the rows between the marks in CONTRIBUTING.md.
fn retired(contributing: &str) -> Vec<String> {
    let (_, rest) = contributing.split_once(TABLE[0]).expect("the table of retired words");
    let (table, _) = rest.split_once(TABLE[1]).expect("the end of the table of retired words");
    let cells = table.lines().filter_map(|row| row.strip_prefix("| `")?.split_once("` |"));
    cells.map(|(word, _)| word.to_owned()).collect()
}

/// A text without the table itself.
fn without_table(text: &str) -> String {
    match text.split_once(TABLE[0]).and_then(|(before, rest)| Some((before, rest.split_once(TABLE[1])?.1))) {
        Some((before, after)) => format!("{before}{after}"),
        None => text.to_owned(),
    }
}

/// The words of a line. `gates-act-for-nobody.md` and `nobody_waits` are one word each.
fn words(line: &str) -> impl Iterator<Item = String> + '_ {
    let of_word = |char: char| char.is_alphanumeric() || char == '_' || char == '-';
    line.split(move |char| !of_word(char)).map(str::to_lowercase)
}

/// The string literals of a source, one line each; comments are left out.
fn literals(source: &str) -> Vec<String> {
    let mut found = Vec::new();
    let code: String = source
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .fold(String::new(), |all, line| all + line + "\n");
    let mut rest = code.replace("'\"'", "").replace("'\\\"'", "");
    while let Some((before, after)) = rest.split_once('"') {
        let hashes = before.len() - before.trim_end_matches('#').len();
        let end = if before.trim_end_matches('#').ends_with('r') {
            after.find(&format!("\"{}", "#".repeat(hashes))).unwrap_or(after.len())
        } else {
            end_of_literal(after)
        };
        found.push(after[..end].replace("\\n", " ").replace('\\', " "));
        rest = after.get(end + 1..).unwrap_or_default().to_owned();
    }
    found
}

/// Where the quote stands that ends a literal.
fn end_of_literal(text: &str) -> usize {
    let mut escaped = false;
    for (at, char) in text.char_indices() {
        match char {
            '"' if !escaped => return at,
            _ => escaped = char == '\\' && !escaped,
        }
    }
    text.len()
}

/// The entry of `ALLOWED` that a file counts for: the longest path that contains it, or the file itself.
fn counted_for(file: &str) -> &str {
    let inside = |dir: &str| file == dir || file.strip_prefix(dir).is_some_and(|rest| rest.starts_with('/'));
    let paths = allowances().map(|(path, _)| path).filter(|path| inside(path));
    paths.max_by_key(|path| path.len()).unwrap_or(file)
}

fn relative(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

/// Every file that users read, with its text.
fn texts() -> Vec<(String, Vec<String>)> {
    let mut texts = Vec::new();
    for path in all_sources().into_iter().filter(|path| !is_of_tests(path)) {
        texts.push((relative(&path), literals(without_tests(&read(&path)))));
    }
    for entry in PAGES.iter().flat_map(|page| walkdir::WalkDir::new(root().join(page))).flatten() {
        if entry.file_type().is_file() {
            let bytes = std::fs::read(entry.path()).expect("a page");
            let text = without_table(&String::from_utf8_lossy(&bytes));
            texts.push((relative(entry.path()), text.lines().map(str::to_owned).collect()));
        }
    }
    texts
}

#[test]
#[expect(clippy::print_stdout, reason = "the counts are for a person who lowers them")]
fn retired_words_stay_out_of_user_text() {
    let retired = retired(&read(&root().join("CONTRIBUTING.md")));
    assert!(retired.len() >= 5, "the table of retired words has {} rows", retired.len());
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (file, lines) in texts() {
        for line in &lines {
            for word in words(line).filter(|word| retired.contains(word)) {
                let near =
                    format!("{file}: `{word}` in: {}", line.trim().chars().take(160).collect::<String>());
                found.entry(counted_for(&file).to_owned()).or_default().push(near);
            }
        }
    }
    if std::env::var_os("LIZA_RETIRED").is_some() {
        for (path, uses) in &found {
            println!("    (\"{path}\", {}),\n{}", uses.len(), uses.join("\n"));
        }
    }
    for (path, allowed) in allowances() {
        let has = found.get(path).map_or(0, Vec::len);
        if has < allowed {
            println!("{path} has {has} retired words: lower its {allowed}");
        }
    }
    let allowed: BTreeMap<&str, usize> = allowances().collect();
    found.retain(|path, uses| uses.len() > allowed.get(path.as_str()).copied().unwrap_or(0));
    let all: Vec<String> = found.into_values().flatten().collect();
    assert!(
        all.is_empty(),
        "retired words (CONTRIBUTING.md says what to write instead):\n{}",
        all.join("\n")
    );
}

#[test]
fn retired_words_are_found_in_literals_and_pages() {
    let source =
        "// nobody\nfn nobody() { say(\"Somebody \\\"waits\\\", nobody_waits\\nwhoever\", '\"', \"told\"); }";
    let said: Vec<String> =
        literals(source).iter().flat_map(|text| words(text).collect::<Vec<_>>()).collect();
    let found = |word: &str| said.iter().any(|one| one == word);
    assert!(found("somebody") && found("whoever") && found("told") && !found("nobody"), "{said:?}");
    let page = format!("a{}\n| `told` | say |\n{}b nobody", TABLE[0], TABLE[1]);
    assert_eq!(retired(&page), ["told"]);
    assert_eq!(without_table(&page), "ab nobody");
    assert!(words("gates-act-for-nobody.md").all(|word| word != "nobody"));
}
