//! Golden files: liza's output, recorded under `tests/golden`. A change of words or structure fails here until its
//! golden files are accepted, so the diff of a commit shows it. See `tests/golden/README.md`.

mod examples;
mod help;
mod normalise;
mod pretty;
mod record;
mod tour;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// With the value `write`, liza's present output replaces the golden files.
const VARIABLE: &str = "LIZA_GOLDEN";
const ACCEPT: &str = "LIZA_GOLDEN=write cargo test --test cli golden";

/// The folders under `tests/golden`; each belongs to one test.
const FOLDERS: [&str; 3] = ["examples", "help", "tour"];
/// Other files that may be there.
const OTHERS: [&str; 2] = [".gitattributes", "README.md"];

/// The golden files of one folder: name and text.
pub type Files = BTreeMap<String, String>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Compare,
    Write,
}

fn mode() -> Mode {
    match std::env::var(VARIABLE).as_deref() {
        Err(_) | Ok("") => Mode::Compare,
        Ok("write") => Mode::Write,
        Ok(other) => panic!("{VARIABLE} is `{other}`; only `write` is known"),
    }
}

fn golden_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

/// Compares a folder of golden files with liza's output, or replaces the folder in write mode.
#[track_caller]
pub fn check(folder: &str, printed: &Files) {
    assert!(FOLDERS.contains(&folder), "{folder} is not in the list of folders");
    let differences = settle(&golden_dir().join(folder), printed, mode());
    assert!(
        differences.is_empty(),
        "tests/golden/{folder}: {} of {} files differ\n\n{}\nto accept: {ACCEPT}\n",
        differences.len(),
        printed.len(),
        differences.join("\n")
    );
}

/// Every file that differs, with its diff. Nothing differs after a write.
fn settle(dir: &Path, printed: &Files, mode: Mode) -> Vec<String> {
    let recorded = recorded(dir);
    let mut differences = Vec::new();
    for (name, text) in printed {
        let before = recorded.get(name);
        if before == Some(text) {
            continue;
        }
        match mode {
            Mode::Write => crate::support::write(dir, name, text),
            Mode::Compare => {
                let kind = if before.is_some() { "recorded" } else { "missing" };
                differences.push(diff(name, kind, before.map_or("", String::as_str), text));
            }
        }
    }
    for (name, text) in recorded.iter().filter(|(name, _)| !printed.contains_key(*name)) {
        match mode {
            Mode::Write => std::fs::remove_file(dir.join(name)).expect("a golden file can be removed"),
            Mode::Compare => differences.push(diff(name, "stale: no test prints it", text, "")),
        }
    }
    differences
}

fn recorded(dir: &Path) -> Files {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries
        .map(|entry| {
            let text = std::fs::read_to_string(entry.path());
            let text = text.unwrap_or_else(|error| panic!("{}: {error}", entry.path().display()));
            (entry.file_name().to_string_lossy().into_owned(), text)
        })
        .collect()
}

fn diff(name: &str, kind: &str, before: &str, after: &str) -> String {
    similar::TextDiff::from_lines(before, after)
        .unified_diff()
        .header(&format!("{name} ({kind})"), &format!("{name} (printed now)"))
        .to_string()
}

#[test]
fn every_golden_folder_has_a_test() {
    let entries = std::fs::read_dir(golden_dir()).expect("the golden files").flatten();
    let unknown: Vec<String> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| !FOLDERS.contains(&name.as_str()) && !OTHERS.contains(&name.as_str()))
        .collect();
    assert!(unknown.is_empty(), "no test prints tests/golden/{}", unknown.join(", "));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(list: &[(&str, &str)]) -> Files {
        list.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
    }

    #[test]
    fn write_mode_records_and_removes() {
        let dir = tempfile::tempdir().expect("a directory");
        let printed = files(&[("a.txt", "one\n"), ("b.txt", "two\n")]);
        assert!(settle(dir.path(), &printed, Mode::Write).is_empty());
        assert!(settle(dir.path(), &printed, Mode::Compare).is_empty());
        let fewer = files(&[("a.txt", "other\n")]);
        assert!(settle(dir.path(), &fewer, Mode::Write).is_empty());
        assert_eq!(recorded(dir.path()), fewer);
    }

    #[test]
    fn every_golden_difference_prints_a_diff() {
        let dir = tempfile::tempdir().expect("a directory");
        let before = files(&[("changed.txt", "same\nold\n"), ("stale.txt", "gone\n")]);
        settle(dir.path(), &before, Mode::Write);
        let now = files(&[("changed.txt", "same\nnew\n"), ("missing.txt", "fresh\n")]);
        let found = settle(dir.path(), &now, Mode::Compare);
        let [changed, missing, stale] = found.as_slice() else { panic!("{found:?}") };
        assert!(changed.contains("--- changed.txt (recorded)"), "{changed}");
        assert!(changed.contains(" same\n-old\n+new\n"), "{changed}");
        assert!(missing.contains("--- missing.txt (missing)") && missing.contains("+fresh"), "{missing}");
        assert!(stale.contains("--- stale.txt (stale") && stale.contains("-gone"), "{stale}");
        // A comparison changes nothing.
        assert_eq!(recorded(dir.path()), before);
    }
}
