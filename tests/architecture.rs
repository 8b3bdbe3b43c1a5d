//! Rules about the project that can be tests are tests.

#![allow(clippy::disallowed_methods, reason = "reads the project's own files")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn sources(dir: &Path) -> Vec<PathBuf> {
    walkdir::WalkDir::new(dir)
        .into_iter()
        .flatten()
        .map(walkdir::DirEntry::into_path)
        .filter(|path| path.extension().is_some_and(|ending| ending == "rs"))
        .collect()
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Who may use whom. `text` is words about words and knows nobody.
const MAY_USE: [(&str, &[&str]); 14] = [
    ("text", &[]),
    ("board", &["text"]),
    ("policy", &["board", "text"]),
    ("wire", &["board", "policy", "text"]),
    ("host", &["board"]),
    ("watch", &[]),
    ("provider", &["board", "policy", "text", "wire"]),
    ("prompt", &["board", "policy", "text"]),
    ("gate", &["board", "policy", "text", "wire"]),
    ("git", &["board", "text"]),
    ("store", &["board", "wire", "host"]),
    ("flow", &["board", "policy", "text", "wire", "host", "git", "store", "prompt", "provider", "gate"]),
    ("supervise", &["board", "policy", "text", "wire", "host", "store", "flow", "watch", "provider"]),
    (
        "cli",
        &[
            "board",
            "policy",
            "text",
            "wire",
            "host",
            "git",
            "store",
            "flow",
            "watch",
            "provider",
            "supervise",
        ],
    ),
];

#[test]
fn rooms_use_only_the_rooms_they_may() {
    let allowed: BTreeMap<&str, &[&str]> = MAY_USE.into_iter().collect();
    let mut wrong = Vec::new();
    let mut looked_at = 0;
    for (room, may) in &allowed {
        for path in sources(&root().join("src").join(room)) {
            // Tests of a room may build their scenes with others.
            if path.components().any(|part| part.as_os_str() == "tests" || part.as_os_str() == "model")
                || path.file_stem().is_some_and(|name| {
                    ["testing", "tests", "model", "replay_tests"].contains(&name.to_string_lossy().as_ref())
                })
            {
                continue;
            }
            looked_at += 1;
            let text = read(&path);
            let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
            for (number, line) in code.lines().enumerate() {
                for (at, _) in line.match_indices("crate::") {
                    let used: String = line[at + 7..]
                        .chars()
                        .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
                        .collect();
                    if used != *room && allowed.contains_key(used.as_str()) && !may.contains(&used.as_str()) {
                        wrong.push(format!("{}:{}: {room} uses {used}", path.display(), number + 1));
                    }
                }
            }
        }
    }
    assert!(looked_at > 60, "only {looked_at} files were looked at");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_room_is_in_the_table() {
    let rooms: BTreeSet<String> = std::fs::read_dir(root().join("src"))
        .expect("src")
        .flatten()
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    let table: BTreeSet<String> = MAY_USE.iter().map(|(room, _)| (*room).to_owned()).collect();
    assert_eq!(rooms, table);
}

#[test]
fn pure_rooms_have_no_door_to_the_world() {
    for room in ["board", "gate", "policy", "prompt", "text", "wire"] {
        for path in sources(&root().join("src").join(room)) {
            let text = read(&path);
            assert!(
                !text.contains("#![expect(clippy::disallowed_methods"),
                "{} opens a door",
                path.display()
            );
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            for effect in ["std::fs", "std::process", "std::env", "SystemTime", "Instant::now"] {
                let inside_tests = path.components().any(|part| part.as_os_str() == "tests");
                assert!(inside_tests || !code.contains(effect), "{} uses {effect}", path.display());
            }
        }
    }
}

/// A process without a deadline can keep the suite from ending.
#[test]
fn tests_start_processes_with_a_deadline() {
    let unbounded = [".output()", ".spawn()", ".status()"];
    for path in sources(&root().join("tests/cli")) {
        if path.ends_with("support/process.rs") {
            continue;
        }
        for (number, line) in read(&path).lines().enumerate() {
            let found = unbounded.iter().find(|call| line.contains(**call));
            assert!(
                found.is_none(),
                "{}:{}: use `finish`, `finish_status` or `start` of tests/cli/support/process.rs",
                path.display(),
                number + 1
            );
        }
    }
}

#[test]
fn files_stay_small() {
    for path in sources(&root().join("src")) {
        let lines = read(&path).lines().count();
        assert!(lines <= 700, "{} has {lines} lines", path.display());
    }
}

#[test]
fn one_file_names_the_yaml_crate() {
    let naming: Vec<String> = sources(&root().join("src"))
        .into_iter()
        .filter(|path| read(path).contains("serde_yaml::"))
        .map(|path| path.strip_prefix(root()).unwrap_or(&path).display().to_string())
        .collect();
    assert_eq!(naming, ["src/wire/foreign.rs"]);
}

/// Every requirement has a row; every test a row names is there.
#[test]
fn the_coverage_table_tells_the_truth() {
    let table = read(&root().join("specs/coverage.md"));
    let rows: BTreeMap<String, Vec<String>> = table
        .lines()
        .filter_map(|line| {
            let cells: Vec<String> =
                line.strip_prefix("| ")?.split('|').map(|cell| cell.trim().to_owned()).collect();
            let id = cells.first()?.clone();
            let letter = id.chars().next()?;
            let numbered = id[1..].parse::<u32>().is_ok();
            ("LBOPF".contains(letter) && numbered).then_some((id, cells))
        })
        .collect();
    for (letter, last) in [('L', 24), ('B', 14), ('O', 18), ('P', 15), ('F', 12)] {
        for number in 1..=last {
            assert!(rows.contains_key(&format!("{letter}{number}")), "{letter}{number} has no row");
        }
    }
    let mut all = String::new();
    for path in sources(&root().join("src")).into_iter().chain(sources(&root().join("tests"))) {
        all.push_str(&read(&path));
    }
    for (id, cells) in rows {
        let tests = cells.get(2).cloned().unwrap_or_default();
        if cells.iter().any(|cell| cell.contains("planned")) {
            continue;
        }
        let named: Vec<&str> = tests.split('`').skip(1).step_by(2).collect();
        assert!(!named.is_empty(), "{id} names no test");
        for name in named {
            let function = name.rsplit("::").next().unwrap_or(name);
            assert!(
                all.contains(&format!("fn {function}(")),
                "{id} names the test {name}, which is not there"
            );
        }
    }
}
